"""Hostile text in every string that a store, a table's properties and its metadata keep.

Strategy: a table with all that the layer keeps of one (cubes, indexes of each kind, relate columns,
constraints, an order, a dropped cube) is read by sessions without Spark, each after one string was
replaced, checksums and all. The texts would copy, read or delete files of a folder that the kernel
watches. Invariants: nothing there is touched, whatever is asked, vacuums too; a statement ends in
rows, in a typed error, or at Spark, with one SELECT over tables of this lake.
"""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import sqlite3
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, nullcontext
from itertools import islice
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from sqlglot import exp

from accelerator.engines.spark.engine import SparkEngine
from accelerator.errors import UNFIT, AcceleratorError, EngineError
from accelerator.iceberg import CatalogSettings
from accelerator.session.session import Accelerator
from accelerator.store import local_path
from fuzz.bytes.seals import version_sealed
from tests.spark.conftest import SparkWarehouse
from tests.support.extent import sized
from tests.support.warehouse import RecordedWarehouse, attached
from tests.support.watched import Watched

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(1800),  # of the full run
]

_SECRET = 987_654_321
_KINDS = ("BITMAP", "BLOOM", "BOUNDS", "RANGE")
_WORDS = ("TOKEN_BLOOM", "NGRAM_BITMAP")


class _AskedError(EngineError):
    """Somebody wants Spark."""


class _NoSpark(SparkEngine):
    """Takes statements, and runs none."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(lambda: self.session, owned=False)

    @property
    def started(self) -> bool:
        return False

    @property
    def session(self) -> Any:
        return SimpleNamespace(sql=self._sql)

    @property
    def jvm(self) -> Any:
        raise _AskedError("no JVM here", hint="none")

    def _sql(self, text: str, *_: Any, **__: Any) -> Any:
        self.asked.append(text)
        raise _AskedError("no Spark here", hint="none")

    def register_functions(self) -> None:
        """None to register."""

    def tagged(self, tag: str) -> Any:
        return nullcontext()

    def shuffling(self, size_bytes: int) -> Any:
        return nullcontext()


class Planted:
    """The lake of the test, and what is planted in it."""

    def __init__(self, wh: RecordedWarehouse, folder: Path) -> None:
        self.folder, self.outside = folder, folder / "outside"
        self.outside.mkdir()
        self._secrets()
        self.store = folder / "store"
        self.table = f"lake.d.{wh.table('k INT, g STRING, v BIGINT, t STRING')}"
        self.dimension = f"lake.d.{wh.table('dk INT, land STRING')}"
        self._fill(wh)
        with wh.attach(store=str(self.store)) as acc:
            self._build(acc)
        self.catalog, self._kept = folder / "catalog.db", folder / "kept"
        self._kept_catalog = folder / "kept.db"
        for copied in (self._kept_catalog, self.catalog):
            shutil.copyfile(wh.recorded.catalog, copied)
        shutil.copytree(self.store, self._kept)
        self.root = wh.root
        self.location = self._location()
        self.queries = self._queries()
        self.watched = Watched(self.outside)
        self.problems: list[str] = []

    def _secrets(self) -> None:
        table = pa.table({"k": [_SECRET], "g": [str(_SECRET)], "v": [_SECRET], "t": ["x"]})
        pq.write_table(table, self.outside / "secret.parquet")
        (self.outside / "secret.csv").write_text(f"k\n{_SECRET}\n")
        (self.outside / "secret.json").write_text(json.dumps({"k": _SECRET}))

    def _fill(self, wh: SparkWarehouse) -> None:
        for at in range(2):
            wh.sql(
                f"INSERT INTO {self.table} SELECT CAST(id % 7 AS INT), concat('g', id % 5), id,"
                f" concat('word', id % 3, ' of ', id) FROM range({at * 100}, {at * 100 + 100})"
            )
        wh.sql(
            f"INSERT INTO {self.dimension} SELECT CAST(id AS INT), concat('l', id) FROM range(7)"
        )

    def _build(self, acc: Accelerator) -> None:
        f, d = self.table, self.dimension
        acc.execute(f"ALTER TABLE {d} ADD CONSTRAINT d_pk PRIMARY KEY (dk) NOT ENFORCED RELY")
        acc.execute(
            f"ALTER TABLE {f} ADD CONSTRAINT f_d FOREIGN KEY (k) REFERENCES {d} (dk)"
            " NOT ENFORCED RELY"
        )
        acc.execute(f"ALTER TABLE {f} ADD RELATE COLUMN land FROM {d}.land ON {f}.k = {d}.dk")
        for kind in _KINDS:
            acc.execute(f"CREATE INDEX of_{kind.lower()} ON {f} USING {kind} (v)")
        for kind in _WORDS:
            acc.execute(f"CREATE INDEX of_{kind.lower()} ON {f} USING {kind} (t)")
        acc.execute(f"CREATE INDEX of_land ON {f} USING BITMAP (land)")
        acc.execute(
            f"CREATE CUBE by_g AS SELECT g, land, count(*), sum(v) FROM {f} JOIN {d} ON k = dk"
            " WHERE g <> 'g4' GROUP BY g, land"
        )
        acc.execute(f"CREATE CUBE by_k AS SELECT k, count(*), max(v) FROM {f} GROUP BY k")
        acc.execute(f"CREATE CUBE gone AS SELECT t, count(*) FROM {f} GROUP BY t")
        acc.execute("DROP CUBE gone")

    def _queries(self) -> list[str]:
        f, d = self.table, self.dimension
        return [
            f"SELECT k, count(*), max(v) FROM {f} GROUP BY k",
            f"SELECT land, sum(v) FROM {f} JOIN {d} ON k = dk WHERE g <> 'g4' GROUP BY land",
            f"SELECT count(*), min(v) FROM {f}",
            f"SELECT count(*) FROM {f} WHERE v = 42",
            f"SELECT v FROM {f} JOIN {d} ON k = dk WHERE land = 'l3' AND v BETWEEN 3 AND 9",
            f"SELECT v FROM {f} WHERE t LIKE '%word1%'",
            "SHOW CUBES",
            f"SHOW INDEXES ON {f}",
            f"SHOW RELATE COLUMNS ON {f}",
            f"SHOW CONSTRAINTS ON {f}",
            "SHOW RECYCLE BIN",
            "UNDROP CUBE gone",
            f"VACUUM {f} FULL RETAIN 0 HOURS",
            "BUILD CUBE by_k",
            "BUILD INDEX of_bitmap",
            "DROP CUBE by_g",
            "DROP INDEX of_land",
            f"ALTER TABLE {f} DROP RELATE COLUMN land",
            f"ALTER TABLE {f} DROP CONSTRAINT f_d",
        ]

    def _location(self) -> Path:
        with closing(sqlite3.connect(self.catalog)) as found:
            name = self.table.rpartition(".")[2]
            (at,) = found.execute(
                "SELECT metadata_location FROM iceberg_tables WHERE table_name = ?", (name,)
            ).fetchone()
        return Path(local_path(str(at)))

    def texts(self) -> list[str]:
        """What is planted."""
        there = self.outside
        return [
            f"1); COPY (SELECT 1) TO '{there}/out.csv'; SELECT (1",
            f"x' UNION ALL SELECT k FROM read_csv('{there}/secret.csv') --",
            f"x`, (SELECT max(k) FROM parquet.`{there}/secret.parquet`) AS `y",
            f"x\", (SELECT max(k) FROM read_parquet('{there}/secret.parquet')) AS \"y",
            f"{there}/secret.parquet",
            f"file://{there}/secret.parquet",
            "../../outside/secret.parquet",
            f"{self.store}/../outside/secret.json",
            f"${{file:{there}/secret.json}}",
            "\x00",
            "\ud800",
            "",
            "%s{0}{x!r}",
            "9" * 3_000,
        ]

    def session(self) -> tuple[Accelerator, _NoSpark]:
        """One without Spark over the copied catalog."""
        properties = {"uri": f"sqlite:///{self.catalog}", "warehouse": self.root.as_uri() + "/"}
        catalogs, engine = [CatalogSettings("lake", "sql", properties)], _NoSpark()
        return attached(engine, catalogs, store=str(self.store), metadata_max_age_s=0), engine

    def restore(self) -> None:
        """The store as it was built."""
        shutil.rmtree(self.store)
        shutil.copytree(self._kept, self.store)

    def outcomes_of(self, metadata: Any, where: str) -> Counter[str]:
        """As `outcomes`, where the table's metadata file says that."""
        written = self.folder / "planted.metadata.json"
        written.write_text(json.dumps(metadata))
        with closing(sqlite3.connect(self.catalog)) as found:
            name = self.table.rpartition(".")[2]
            found.execute(
                "UPDATE iceberg_tables SET metadata_location = ? WHERE table_name = ?",
                (written.as_uri(), name),
            )
            found.commit()
        try:
            return self.outcomes(where)
        finally:
            shutil.copyfile(self._kept_catalog, self.catalog)
            self.restore()

    def outcomes(self, where: str = "") -> Counter[str]:
        """What came of the statements, and of those that went to Spark."""
        told: Counter[str] = Counter()
        try:
            acc, engine = self.session()
        except AcceleratorError as error:
            return Counter({type(error).__name__: 1})
        with closing(acc):
            for sql in self.queries:
                try:
                    rows = acc.query(sql).arrow().to_pylist()
                except AcceleratorError as error:
                    told[type(error).__name__] += 1
                except (*UNFIT, OSError, RuntimeError, pa.ArrowException):  # told at the end
                    self.problems.append(f"{where}: {sql}: {traceback.format_exc()[-700:]}")
                else:
                    told["rows"] += 1
                    if str(_SECRET) in repr(rows):
                        self.problems.append(f"{where}: {sql}: it has read the secret")
            for text in engine.asked:
                told["asked"] += 1
                self._check_text(text, where)
        if seen := self.watched.seen():
            self.problems.append(f"{where}: {seen}")
        return told

    def end(self) -> None:
        """Tells all that was wrong."""
        found, self.problems = self.problems, []
        kinds = {one[-120:]: one for one in found}  # where it was raised
        assert not found, f"{len(found)}, such as\n" + "\n\n".join(kinds.values())

    def _check_text(self, text: str, where: str) -> None:
        trees = sqlglot.parse(text, dialect="spark")
        tables = [one for tree in trees if tree for one in tree.find_all(exp.Table)]
        ours = all(one.catalog in ("lake", "") and "outside" not in one.name for one in tables)
        if len(trees) != 1 or not ours:
            self.problems.append(f"{where}: Spark is asked {text}")


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every string of a JSON, and every key; a key is its place with None behind it."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield (*path, key, None)
            yield from _places(one, (*path, key))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _places(one, (*path, at))
    elif isinstance(value, str):
        yield path


def _with(value: Any, path: tuple[Any, ...], text: str) -> Any:
    changed = copy.deepcopy(value)
    inner = changed
    is_key = path[-1] is None
    way = path[:-1] if is_key else path
    for key in way[:-1]:
        inner = inner[key]
    if is_key:
        inner[text] = inner.pop(way[-1])
    else:
        inner[way[-1]] = text
    return changed


@pytest.fixture(scope="module")
def planted(
    spark_warehouse: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Planted]:
    assert isinstance(spark_warehouse, RecordedWarehouse)
    found = Planted(spark_warehouse, tmp_path_factory.mktemp("hostile"))
    yield found
    found.watched.close()


def _newest(folder: Path) -> Path:
    return max(folder.glob("v*.json"))


def test_the_sound_lake_answers_without_spark(planted: Planted) -> None:
    told = planted.outcomes()
    planted.restore()
    assert told == {"rows": len(planted.queries)}
    planted.end()


def test_who_looks_is_seen(planted: Planted) -> None:
    (planted.outside / "secret.csv").read_text()
    assert planted.watched.seen() == ["secret.csv"]


_STEP = sized(11, full=1)
"""One place of so many, with all texts in turn: their number and this one have no divisor."""


def _planted(planted: Planted, whole: Any) -> Iterator[tuple[str, Any]]:
    """Changes of the JSON, and what is said of each where it fails."""
    texts = planted.texts()
    for number, place in islice(enumerate(_places(whole)), 0, None, _STEP):
        text = texts[number % len(texts)]
        yield f"{text[:60]!r} at {place}", _with(whole, place, text)


def _store_files(planted: Planted) -> list[Path]:
    files = [_newest(planted.store / "registry")]
    return files + [_newest(one) for one in (planted.store / "tables").glob("*/versions")]


@pytest.mark.long
def test_the_store(planted: Planted) -> None:
    """A version is sealed again; that of before isn't taken in its place."""
    told: Counter[str] = Counter()
    for file in _store_files(planted):
        whole = json.loads(file.read_bytes())
        for where, state in _planted(planted, whole["state"]):
            line = json.dumps({**whole, "state": state}, separators=(",", ":")).encode() + b"\n"
            file.write_bytes(version_sealed(Random(0), line))
            told += planted.outcomes(where)
            planted.restore()
    assert told["rows"] > 100, told
    planted.end()


def _cubes_of(whole: Any) -> dict[str, Any]:
    return whole["state"]["cubes"] if whole["kind"] == "table" else {}


def test_chunks_of_the_store(planted: Planted) -> None:
    """Each line is a segment; what names a chunk has its length and checksum."""
    for file in _store_files(planted):
        whole = json.loads(file.read_bytes())
        if any(one["chunks"] for one in _cubes_of(whole).values()):
            break
    told: Counter[str] = Counter()
    for cube, state in _cubes_of(whole).items():
        for at, (name, entries, *_) in enumerate(state["chunks"]):
            chunk = file.parents[1] / "chunks" / f"{name}.jsonl"
            head, *lines = chunk.read_text().splitlines()
            for where, first in _planted(planted, json.loads(lines[0])):
                data = "\n".join([head, json.dumps(first), *lines[1:], ""]).encode()
                chunk.write_bytes(data)
                changed = copy.deepcopy(whole)
                ref = [name, entries, len(data), hashlib.sha256(data).hexdigest()]
                changed["state"]["cubes"][cube]["chunks"][at] = ref
                line = json.dumps(changed, separators=(",", ":")).encode() + b"\n"
                file.write_bytes(version_sealed(Random(0), line))
                told += planted.outcomes(where)
                planted.restore()
    assert told["rows"] > 100, told
    planted.end()


def test_metadata_of_a_table(planted: Planted) -> None:
    """Schemas, snapshots, properties, and what our own properties say in JSON of theirs."""
    whole = json.loads(planted.location.read_bytes())
    ours = {
        k: json.loads(v) for k, v in whole["properties"].items() if k.startswith("accelerator.")
    }
    assert len(ours) >= 2
    told: Counter[str] = Counter()
    for where, inner in _planted(planted, ours):
        texts = {key: json.dumps(value) for key, value in inner.items()}
        told += planted.outcomes_of(
            {**whole, "properties": {**whole["properties"], **texts}}, where
        )
    for where, changed in _planted(planted, whole):
        told += planted.outcomes_of(changed, where)
    assert told["rows"] > 100, told
    planted.end()
