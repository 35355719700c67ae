"""A real S3 server in a process of its own, which keeps its buckets in memory (moto's).

`python -m bench.s3_server` serves until its standard input ends, and prints its address.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BUCKET = "lake"
REGION = "us-east-1"
KEYS = {"aws_access_key_id": "k", "aws_secret_access_key": "s"}


@contextmanager
def served() -> Iterator[str]:
    """Gives the address of a server with one empty bucket; it ends with the block."""
    command = [sys.executable, "-m", "bench.s3_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdin is not None and one.stdout is not None
        try:
            endpoint = one.stdout.readline().strip()
            if not endpoint:
                raise RuntimeError("the S3 server didn't start: is moto[server] installed?")
            yield endpoint
        finally:
            one.stdin.close()


def catalog_properties(endpoint: str) -> dict[str, str]:
    """The properties of a catalog whose warehouse is in the bucket."""
    return {
        "warehouse": f"s3://{BUCKET}/warehouse",
        "s3.endpoint": endpoint,
        "s3.region": REGION,
        "s3.access-key-id": KEYS["aws_access_key_id"],
        "s3.secret-access-key": KEYS["aws_secret_access_key"],
    }


def store_options(endpoint: str) -> dict[str, str]:
    """The options of a store in the bucket, in obstore's names."""
    return {"aws_endpoint": endpoint, "aws_region": REGION, "allow_http": "true", **KEYS}


def main() -> None:
    """Serves until standard input ends."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    client = boto3.client("s3", endpoint_url=endpoint, region_name=REGION, **KEYS)
    client.create_bucket(Bucket=BUCKET)
    print(endpoint, flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
