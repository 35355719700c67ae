"""A recorded lake: an Iceberg warehouse whose every state is kept, statement by statement.

A state's key is that of the state before and of the statement. What a statement did is kept as the
catalog's file after it; files of data and metadata are linked into a folder that nothing deletes.
Where a key is known, nothing is run: the catalog becomes the one that is kept. Promises: a state is
kept whole or not at all; several processes may use one lake at once, each with its own catalog.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from accelerator.engines.spark.engine import SparkEngine
from accelerator.engines.spark.session.settings import PACKAGES
from tests.support.recording import errors
from tests.support.recording.again import AGAIN
from tests.support.recording.live import CONF, LIVE
from tests.support.recording.records import FORMAT, Record, Records, digest, mode

_TABLES = "SELECT table_namespace, table_name, metadata_location FROM iceberg_tables ORDER BY 1, 2"
_BEGIN = "CREATE NAMESPACE lake.d"
_MEANS = ("properties", "refs", "schemas", "current-schema-id", "partition-specs", "sort-orders")


def root() -> Path:
    """Where records are kept; `TESTS_RECORDS` names another folder."""
    given = os.environ.get("TESTS_RECORDS")
    return Path(given) if given else Path(__file__).parents[3] / "build" / "records"


def versions() -> str:
    """What every record depends on: this format, the releases, and Spark's settings."""
    return digest(FORMAT, version("pyspark"), version("pyiceberg"), *PACKAGES, sorted(CONF.items()))


class RecordedLake:
    """One lake, at one state; `name` tells it from others."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = root() / versions()[:12] / name
        self._scratch = Path(tempfile.mkdtemp(prefix="accelerator-lake-"))
        self.warehouse = (self._scratch if mode() == "anew" else self.folder) / "warehouse"
        self._own()
        self.records = Records(self.folder / "records.db")
        self.catalog = self._scratch / "catalog.db"
        self._states = self.folder / "states"
        self._files = (self._scratch if mode() == "anew" else self.folder) / "files"
        self._new = self._states if mode() == "keep" else self._scratch / "states"
        for made in (self._states, self._new, self.warehouse):
            made.mkdir(parents=True, exist_ok=True)
        self._engine: SparkEngine | None = None
        self._replaced: set[str] = set()
        self.state, self._tables = "", list[tuple[str, str, str]]()
        self.begin()

    @property
    def engine(self) -> SparkEngine:
        """Real Spark over this lake; started by the first who needs it."""
        if self._engine is None:
            self._engine = LIVE.over(self.warehouse, self.catalog)
        return self._engine

    def step(
        self, text: str, run: Callable[[SparkEngine], object], *inputs: str
    ) -> pa.Table | None:
        """Changes the lake by `run`, or as it's kept; raises what Spark raised."""
        self.noticed()
        key = digest(self.state, text, *inputs)
        found, kept = self.records.get(f"step-{key}"), self._kept(key)
        if found is None or kept is None:
            found = errors.recorded(lambda: _result(run(self.engine)), text)
            self._keep(key)
            earlier = self.records.kept(f"step-{key}") if mode() == "anew" else None
            if earlier is not None:
                AGAIN.compare("step", earlier, found, lambda: found)
            self.records.put(f"step-{key}", "step", self.state, found)
        else:
            self._restore(kept)
        self.state, self._tables = key, self._now()
        return errors.given(found)

    def noticed(self) -> str:
        """The state's key; a commit that another than `step` has made is a state of its own."""
        now = self._now() if self.catalog.exists() else []
        if now == self._tables:
            return self.state
        before = {row[:2]: row[2] for row in self._tables}
        changed = [row for row in now if before.get(row[:2]) != row[2]]
        gone = sorted(before.keys() - {row[:2] for row in now})
        key = digest(self.state, "commit", gone, *(_meaning(row) for row in changed))
        kept = self._kept(key)
        if kept is None:
            self._keep(key)
        else:
            self._restore(kept)
            # What is kept stands in its place; who has it open may still read it.
            self._replaced |= {row[2] for row in changed} - {row[2] for row in self._now()}
        self.state, self._tables = key, self._now()
        return key

    def ask(self, kind: str, key: str, about: str, ask: Callable[[], pa.Table]) -> Record:
        """The record of a question at this state; `ask` asks real Spark."""
        named = f"{kind}-{digest(self.noticed(), key)}"

        def asked() -> Record:
            return errors.recorded(ask, about)

        found = self.records.get(named)
        if found is not None:
            if not self.records.is_own(named) and AGAIN.chosen(named):
                AGAIN.compare(kind, found, asked(), asked)
            return found
        found, kept = asked(), self.records.kept(named)
        if kept is not None and mode() == "anew":
            AGAIN.compare_elsewhere(kind, kept, found, asked)
        if kind != "segments" or found.error is None:  # our own code made it, which may be mended
            self.records.put(named, kind, self.state, found)
        return found

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Inside, no other process makes states of this lake."""
        with (self.folder / "lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield

    def begin(self) -> None:
        """Back to the beginning: no table, the namespace `lake.d`."""
        self.state, self._tables = digest("lake", versions()), []
        _link(self._files, self.warehouse)
        if self.catalog.exists():
            _copy(Path(":memory:"), self.catalog)
        self.step(_BEGIN, lambda engine: engine.session.sql(_BEGIN))

    def close(self) -> None:
        """Frees what this process has of it."""
        for location in self._replaced:
            _local(location).unlink(missing_ok=True)
        self.records.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    @cached_property
    def uri(self) -> str:
        """The catalog for PyIceberg."""
        return f"sqlite:///{self.catalog}"

    def _own(self) -> None:
        """Records of a folder that was moved here name paths that aren't there: they go."""
        told = self.folder / "folder"
        if told.exists() and told.read_text() != str(self.folder):
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        told.write_text(str(self.folder))

    def _kept(self, key: str) -> Path | None:
        return next((p for f in (self._new, self._states) if (p := f / f"{key}.db").exists()), None)

    def _keep(self, key: str) -> None:
        if mode() != "scratch":
            for location in {row[2] for row in self._now()} - {row[2] for row in self._tables}:
                table = _local(location).parents[1]
                if table.is_relative_to(self.warehouse):
                    _link(table, self._files / table.relative_to(self.warehouse))
        fresh = self._new / f".{key}-{os.getpid()}"
        _copy(self.catalog, fresh)
        fresh.replace(self._new / f"{key}.db")

    def _restore(self, kept: Path) -> None:
        _copy(kept, self.catalog)

    def _now(self) -> list[tuple[str, str, str]]:
        with closing(sqlite3.connect(self.catalog)) as db:
            try:
                return db.execute(_TABLES).fetchall()
            except sqlite3.OperationalError:  # nothing has made its tables yet
                return []


def _copy(source: Path, target: Path) -> None:
    """The one catalog becomes the other, in one transaction: others may have it open."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        new.execute("PRAGMA synchronous=OFF")
        old.backup(new)


def _link(source: Path, target: Path) -> None:
    """Files of the one folder stand in the other as well: what deletes one leaves the other."""
    for folder, _, names in os.walk(source):
        there = target / Path(folder).relative_to(source)
        new = [name for name in names if not (there / name).exists()]
        if new:
            there.mkdir(parents=True, exist_ok=True)
        for name in new:
            with suppress(FileExistsError, FileNotFoundError):
                os.link(Path(folder) / name, there / name)


def _meaning(row: tuple[str, str, str]) -> str:
    """What a commit has made of a table, but for times and random names."""
    metadata = json.loads(_local(row[2]).read_bytes())
    told = json.dumps({name: metadata.get(name) for name in _MEANS}, sort_keys=True)
    return f"{row[0]}.{row[1]}: {hashlib.sha256(told.encode()).hexdigest()}"


def _local(location: str) -> Path:
    return Path(location.removeprefix("file:").replace("///", "/"))


def _result(frame: object) -> pa.Table:
    """What a statement gave; a function's steps give nothing."""
    to_arrow = getattr(frame, "toArrow", None)
    return pa.table({}) if to_arrow is None else to_arrow()
