"""A real S3 server in this process, behind a door that does harm to requests.

Harm is of four sorts: a request is refused unseen; it's done and then said to have failed (so the
client tries again what is done); it's done twice; or it's said to have failed and is done some
requests later. Where it has `tokens`, whose key is `VENDED` is turned away without one of them.
Answers to reads may be cut off in the middle, come slowly, or wait until `released` is set.
"""

from __future__ import annotations

import logging
import random
import threading
from contextlib import contextmanager

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

VENDED = "vended"
KEYS = {"aws_access_key_id": "k", "aws_secret_access_key": "s"}


class HarmfulDoor:
    """Counts all requests by their sort, and harms some.

    `share` of them at random, once it's told to; and the next ones as `plan` says. Who plans a
    request that is late gets it in `late`, to be called when it arrives. `reads` gives a read's
    harm by its key, or none. `sent` are keys, ranges and numbers of bytes of the answers to reads.
    """

    def __init__(self, app):
        self.app, self.share, self.random = app, 0.0, random.Random(7)
        self.plan, self.late = [], None
        self.tokens = set()
        self.reads, self.sent, self.released = None, [], threading.Event()
        self.counts, self.lock = {}, threading.Lock()

    def __call__(self, environ, start_response):
        vended = f"Credential={VENDED}/" in environ.get("HTTP_AUTHORIZATION", "")
        if vended and environ.get("HTTP_X_AMZ_SECURITY_TOKEN") not in self.tokens:
            start_response("400 Bad Request", [("Content-Type", "application/xml")])
            return [b"<Error><Code>ExpiredToken</Code><Message>It has expired</Message></Error>"]
        query = environ.get("QUERY_STRING", "")
        sort = "BULK_DELETE" if query.startswith("delete") else environ["REQUEST_METHOD"]
        # Arrow sends pieces, of which none says how many bytes they are together.
        size = -1 if environ.get("wsgi.input_terminated") else environ.get("CONTENT_LENGTH") or 0
        body = environ["wsgi.input"].read(int(size))
        with self.lock:
            self.counts[sort] = self.counts.get(sort, 0) + 1
            harmed = self.random.random() < self.share
            harm = self.random.choice(("refused", "unheard", "twice")) if harmed else ""
            if self.plan:
                harm = self.plan.pop(0)
        is_read, key = sort == "GET" and not query, environ["PATH_INFO"]
        if is_read and self.reads is not None:
            harm = self.reads(key) or harm
        if harm == "stuck":
            self.released.wait()
        if harm == "late":
            self.late(lambda: self._do(environ, body))
        if harm in ("unheard", "twice"):
            self._do(environ, body)
        if harm in ("refused", "unheard", "late"):
            start_response("503 Slow Down", [("Content-Length", "0")])
            return [b""]
        answer = self.app({**environ, "wsgi.input": _Body(body)}, start_response)
        if not is_read:
            return answer
        data = b"".join(answer)
        with self.lock:
            self.sent.append((key, environ.get("HTTP_RANGE", ""), len(data)))
        if harm == "slow":
            return self._slowly(data)
        return [data[: len(data) // 2] if harm == "cut" else data]

    def _slowly(self, data):
        """One byte each tenth of a second."""
        for place in range(len(data)):
            threading.Event().wait(0.1)
            yield data[place : place + 1]

    def _do(self, environ, body):
        list(self.app({**environ, "wsgi.input": _Body(body)}, lambda *_: None))


class _Body:
    """A request's body that was read already."""

    def __init__(self, data):
        self._data = data

    def read(self, size=-1):
        size = len(self._data) if size is None or size < 0 else size
        taken, self._data = self._data[:size], self._data[size:]
        return taken


@contextmanager
def serving():
    """The door of a running server, and its address."""
    door = HarmfulDoor(DomainDispatcherApplication(create_backend_app))
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    made = make_server("127.0.0.1", 0, door, threaded=True)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    try:
        yield door, f"http://127.0.0.1:{made.server_port}"
    finally:
        made.shutdown()
        thread.join()


def options_of(endpoint):
    """The `store_options` of the server."""
    return {"aws_endpoint": endpoint, "aws_region": "us-east-1", "allow_http": "true", **KEYS}


def make_bucket(endpoint, name):
    import boto3

    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **KEYS)
    client.create_bucket(Bucket=name)
