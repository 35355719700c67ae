"""The vacuum's machine on the local disk and on a real S3 server; and for long, where that's asked.

Strategy: `test_vacuum_machine.py` says what is done and what must hold. On S3 harm is done to HTTP
requests: the client tries a request again, so that a repeated one finds done what it wanted to do;
or every try is harmed, and the store hears of a failure. What a test looks at it takes from the
server's memory, so that looking disturbs nothing.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, settings
from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID
from obstore.store import from_url

from accelerator.store.files.files import open_files
from tests.accelerator.store.doors import Door, World
from tests.accelerator.store.s3_server import make_bucket, options_of, serving
from tests.accelerator.store.vacuum_machine import VacuumMachine
from tests.support.extent import sized

RETRIES = 2
BUCKETS = itertools.count(1)


class DiskWorld(World):
    """A folder of the local disk."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        super().__init__(open_files(self.folder))

    def close(self):
        shutil.rmtree(self.folder)


class DiskMachine(VacuumMachine):
    def make_world(self):
        return DiskWorld()


class BucketGlass:
    """What a bucket holds, seen in the server's memory."""

    def __init__(self, bucket, files):
        self.keys = get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].buckets[bucket].keys
        self.uri = files.uri

    def list(self, prefix):
        start = f"store/{prefix}/" if prefix else "store/"
        return sorted(key.removeprefix("store/") for key in self.keys if key.startswith(start))

    def exists(self, path):
        return f"store/{path}" in self.keys

    def read(self, path):
        if not self.exists(path):
            raise FileNotFoundError(path)
        return self.keys[f"store/{path}"].value


class S3World(World):
    """A bucket of its own, on a server that is shared."""

    def __init__(self, server):
        self.http, endpoint = server
        self.bucket = f"machine{next(BUCKETS)}"
        make_bucket(endpoint, self.bucket)
        root, options = f"s3://{self.bucket}/store", options_of(endpoint)
        files = open_files(root, options)
        del options["allow_http"]
        pause = timedelta(milliseconds=1)
        files._store = from_url(  # it tries again as in production, but soon
            root,
            config=options,
            client_options={"allow_http": True},
            retry_config={
                "max_retries": RETRIES,
                "backoff": {"init_backoff": pause, "max_backoff": 2 * pause, "base": 2},
                "retry_timeout": timedelta(seconds=30),
            },
        )
        super().__init__(files, BucketGlass(self.bucket, files))
        self.http.plan = []

    def door(self):
        return S3Door(self)

    def close(self):
        self.http.plan = []
        get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].buckets.pop(self.bucket)


class S3Door(Door):
    """A process whose harm is done to its HTTP requests: to one try of one of them, or to all."""

    def _harm(self, operation):
        http, late = self.world.http, self.world.late
        http.late = lambda arrive: late.append([self.delay, arrive])
        http.plan = [self.how] * (1 if self.delay % 2 else RETRIES + 1)
        try:
            return operation()
        finally:
            http.plan = []


class S3Machine(VacuumMachine):
    server = None

    def make_world(self):
        return S3World(self.server)


@pytest.fixture(scope="module", autouse=True)
def server():
    with serving() as made:
        S3Machine.server = made
        yield
        S3Machine.server = None


def case(machine, examples, steps):
    """The machine as a test case, with its own measure."""
    made = type(f"{machine.__name__}{examples}", (machine,), {}).TestCase
    made.settings = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=examples < 100,  # the long runs look for what is new
        suppress_health_check=[HealthCheck.too_slow],
    )
    return made


TestOnDisk = case(DiskMachine, sized(3, full=6), 25)
TestOnS3 = case(S3Machine, sized(2, full=3), 20)


@pytest.mark.slow
@pytest.mark.timeout(3600)
class TestForLong:
    """Some ten minutes each."""

    TestInMemory = case(VacuumMachine, 2000, 40)
    TestOnDisk = case(DiskMachine, 1000, 40)
    TestOnS3 = case(S3Machine, 300, 30)
