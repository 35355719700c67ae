"""A real S3 server in a process of its own, which counts requests and the bytes that it sends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

_COUNTS = "/requests-and-bytes"
REGION = "us-east-1"
BUCKET = "lake"
WAREHOUSE = f"s3://{BUCKET}/warehouse"
KEYS = {"aws_access_key_id": "k", "aws_secret_access_key": "secret"}


class Served(Struct, frozen=True):
    """What the server has answered since it was last asked."""

    requests: int
    bytes: int


class S3Server(Struct, frozen=True):
    """A running server."""

    endpoint: str

    @property
    def properties(self) -> dict[str, str]:
        """PyIceberg's properties for its buckets."""
        return {
            "s3.endpoint": self.endpoint,
            "s3.region": REGION,
            "s3.access-key-id": KEYS["aws_access_key_id"],
            "s3.secret-access-key": KEYS["aws_secret_access_key"],
        }

    @property
    def catalog_properties(self) -> dict[str, str]:
        """The properties of a catalog whose warehouse is in the bucket `lake`."""
        return {"warehouse": WAREHOUSE, **self.properties}

    @property
    def store_options(self) -> dict[str, str]:
        """The options of a store in its buckets, by obstore's names."""
        names = {"aws_endpoint": self.endpoint, "aws_region": REGION, "allow_http": "true"}
        return {**names, **KEYS}

    def served(self) -> Served:
        """The counts, which begin again."""
        with urllib.request.urlopen(f"{self.endpoint}{_COUNTS}") as answer:
            return Served(**json.loads(answer.read()))


@contextmanager
def s3_server(bucket: str = BUCKET) -> Iterator[S3Server]:
    """Inside, a server runs that has an empty bucket of that name."""
    home = Path(__file__).parents[1]
    path = os.pathsep.join(part for part in (str(home), os.environ.get("PYTHONPATH", "")) if part)
    command = [sys.executable, "-m", "bench.s3_server", bucket]
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=home, env=environment
    ) as process:
        try:
            if process.stdout is None or not (address := process.stdout.readline().strip()):
                raise RuntimeError("the S3 server didn't start")
            yield S3Server(address)
        finally:
            process.terminate()


class _Counting:
    """The server's application behind a count of what it answers."""

    def __init__(self, application: Any) -> None:
        self._application, self._lock = application, threading.Lock()
        self._requests = self._bytes = 0

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == _COUNTS:
            with self._lock:
                found = {"requests": self._requests, "bytes": self._bytes}
                self._requests = self._bytes = 0
            body = json.dumps(found).encode()
            start_response("200 OK", [("Content-Length", str(len(body)))])
            return [body]
        body = b"".join(self._application(environ, start_response))
        with self._lock:
            self._requests += 1
            self._bytes += len(body) if environ["REQUEST_METHOD"] == "GET" else 0
        return [body]


def _serve(bucket: str) -> None:
    from moto.backends import get_backend
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"  # clients keep their connections, as S3's do

        def log(self, *_: Any) -> None:
            """Nothing."""

    application = _Counting(DomainDispatcherApplication(create_backend_app))
    backend: Any = get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"]
    backend.create_bucket(bucket, "us-east-1")
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    _serve(sys.argv[1])
