"""Sail, a Spark-compatible engine in Rust, beside the others: a process with its own packages.

It reads the very data files of the tables, through its own Spark Connect server. Times are its own,
from the text to the answer as Arrow.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from bench.environments import Environment

PACKAGES = ("pysail==0.7.2", "pyspark-client==4.1.3")
_SERVE = """
import json, sys, time
import pyarrow as pa
from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession
server = SparkConnectServer()
server.start(background=True)
_, port = server.listening_address
spark = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
out = sys.stdout
for line in sys.stdin:
    told = json.loads(line)
    try:
        if "view" in told:
            spark.read.parquet(*told["files"]).createOrReplaceTempView(told["view"])
            answer = {}
        else:
            began = time.perf_counter()
            rows = spark.sql(told["sql"]).toArrow()
            answer = {"s": time.perf_counter() - began}
            if told["into"]:
                with pa.OSFile(told["into"], "wb") as f, pa.ipc.new_file(f, rows.schema) as w:
                    w.write_table(rows)
    except Exception as error:
        answer = {"error": str(error)[:500]}
    print("\\x02" + json.dumps(answer), file=out, flush=True)
"""
_MARK = "\x02"


class SailError(Exception):
    """What Sail said of a statement that it can't run."""


class Sail:
    """A running server, asked over its standard input."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process, self._folder = process, folder

    def view(self, name: str, files: Sequence[str]) -> None:
        """Makes a view over the files; SailError."""
        self._ask({"view": name, "files": list(files)})

    def run(self, sql: str) -> float:
        """Seconds that the statement takes; SailError."""
        return float(str(self._ask({"sql": sql, "into": ""})["s"]))

    def rows(self, sql: str) -> pa.Table:
        """The statement's answer; SailError."""
        path = self._folder / "sail.arrow"
        self._ask({"sql": sql, "into": str(path)})
        with pa.memory_map(str(path)) as file:
            return pa.ipc.open_file(file).read_all()

    def _ask(self, told: Mapping[str, object]) -> dict[str, object]:
        into, out = self._process.stdin, self._process.stdout
        assert into is not None and out is not None
        into.write(json.dumps(told) + "\n")
        into.flush()
        for line in out:
            if line.startswith(_MARK):
                answer: dict[str, object] = json.loads(line[1:])
                if "error" in answer:
                    raise SailError(str(answer["error"]))
                return answer
        raise SailError("Sail has ended")


@contextmanager
def sail(env: Path, folder: Path, log: Path) -> Iterator[Sail]:
    """A server with an environment of its own at `env`, made where it isn't there."""
    own = Environment(env)
    own.install(*PACKAGES)
    with log.open("w") as said:
        process = subprocess.Popen(
            [own.python, "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
        try:
            yield Sail(process, folder)
        finally:
            process.kill()
            process.wait()
