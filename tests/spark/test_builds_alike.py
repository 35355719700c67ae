"""What is built in process, and what Spark builds: each can stand for the other.

One table with deletes, a renamed and an added column; cubes, over floats too, with joins that find
partners, none, or several; an index of each kind, and one on a relate column.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasketches import kll_doubles_sketch
from msgspec.structs import fields

from accelerator.builds.segments.duckdb_job import InProcess
from accelerator.engines.sketch_functions import hll_count
from accelerator.errors import EngineError
from accelerator.session.session import Accelerator
from accelerator.store import SegmentRecord, local_path

pytestmark = pytest.mark.spark
LIVE = True

_CUBES = {
    "plain": "SELECT g, day, count(*) AS n, sum(l) AS s, sum(i) AS i, sum(m) AS m, min(t) AS lo,"
    " max(s) AS hi, avg(l) AS a, bool_or(b) AS b FROM {f} GROUP BY g, day",
    "computed": "SELECT year(day) AS y, trunc(day, 'MM') AS mon, coalesce(k, 0) AS k,"
    " count(l) AS c, sum(l) FILTER (WHERE b) AS f, sum(m * (1 - m)) AS p,"
    " count_if(i IS NULL) AS z FROM {f}"
    " WHERE g <> 'x' GROUP BY year(day), trunc(day, 'MM'), coalesce(k, 0)",
    "distinct": "SELECT k, count(DISTINCT s) AS s, count(DISTINCT day) AS d, count(*) AS n,"
    " count(DISTINCT l) AS l FROM {f} GROUP BY k",
    "whole": "SELECT count(*) AS n, max(l) AS l FROM {f} WHERE k = 3",
    "inner": "SELECT name, g, count(*) AS n, sum(l) AS s FROM {f} JOIN {d} ON k = key"
    " GROUP BY name, g",
    "left": "SELECT name, count(*) AS n, count(key) AS c FROM {f} LEFT JOIN {d} ON k = key"
    " GROUP BY name",
    "floats": "SELECT g, count(x) AS n, sum(x) AS s, avg(x) AS a, min(x) AS lo, max(x) AS hi,"
    " min(y) AS ly, sum(y) FILTER (WHERE b) AS f FROM {f} GROUP BY g",
    "float_keys": "SELECT x, y, count(*) AS n, sum(l) AS s FROM {f} GROUP BY x, y",
    "moments": "SELECT k, stddev(l) AS s, var_pop(y) AS y, variance(m) AS m, stddev_pop(i) AS i"
    " FROM {f} GROUP BY k",
    "sketches": "SELECT g, approx_count_distinct(s) AS n, approx_count_distinct(k) AS k,"
    " approx_count_distinct(k) FILTER (WHERE b) AS f, approx_percentile(l, 0.5) AS m,"
    " approx_percentile(y, 0.9) FILTER (WHERE b) AS y, count(*) AS c FROM {f} GROUP BY g",
    "upper": "SELECT upper(s) AS u, l, count(*) AS n FROM {f} GROUP BY upper(s), l",
    "pattern": "SELECT s ILIKE 's1%' AS u, count(*) AS n FROM {f} GROUP BY s ILIKE 's1%'",
    "twice": "SELECT name, count(*) AS n FROM {f} JOIN {t} ON k = key GROUP BY name",
}
_BY_SPARK = ("pattern",)
"""Cubes that aren't built in process."""
_INDEXES = {
    "BITMAP": "k",
    "BLOOM": "l",
    "BOUNDS": "i",
    "RANGE": "id",
    "NGRAM_BITMAP": "s2",
    "NGRAM_BLOOM": "s2",
    "TOKEN_BITMAP": "s2",
    "TOKEN_BLOOM": "g",
    "BITMAP ": "name",
}
_OWN = {"id", "cube_id", "path", "bytes", "facts", "inputs"}


@pytest.fixture(scope="module")
def tables(spark_warehouse: Any) -> dict[str, str]:
    sql = spark_warehouse.spark.sql
    made = {name: f"lake.d.alike_{name}" for name in "fdt"}
    sql(
        f"CREATE TABLE {made['f']} (id INT, k INT, g STRING, s STRING, i INT, l BIGINT,"
        " m DECIMAL(9, 2), day DATE, t TIMESTAMP, b BOOLEAN, x DOUBLE, y FLOAT)"
        " USING iceberg PARTITIONED BY (g)"
        " TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"
    )
    for low in (0, 300):
        sql(
            f"INSERT INTO {made['f']} SELECT id, if(id % 11 = 0, NULL, id % 7),"
            " element_at(array('a', 'x', NULL, 'é'), 1 + CAST(id % 4 AS INT)),"
            " if(id % 5 = 0, NULL, concat('s', id % 13)), if(id % 3 = 0, NULL, id),"
            " if(id % 17 = 0, NULL, id * 1000000007), CAST(id % 300 AS DECIMAL(9, 2)) / 100,"
            " date_add(DATE '2023-12-20', CAST(id % 60 AS INT)),"
            " TIMESTAMP '2024-02-29 12:00:00' + make_interval(0, 0, 0, 0, 0, 0, id % 99),"
            " id % 2 = 0,"
            " element_at(array(0D, -0D, 1 / 3D, NULL, double('NaN'), -1e300, 0.1D, 2.5D,"
            " double('-Infinity'), 7D), 1 + CAST(pmod(hash(id), 10) AS INT)),"
            " if(id % 19 = 0, NULL, CAST((id % 23 - 7) / 3D AS FLOAT))"
            f" FROM range({low}, {low + 300}, 1, 1)"
        )
    sql(f"DELETE FROM {made['f']} WHERE id % 29 = 3")
    sql(f"ALTER TABLE {made['f']} RENAME COLUMN s TO s2")
    sql(f"ALTER TABLE {made['f']} ADD COLUMN s STRING")
    for name, rows in (("d", "(1, 'one'), (2, 'two'), (3, NULL)"), ("t", "(1, 'one'), (1, 'uno')")):
        sql(f"CREATE TABLE {made[name]} (key INT, name STRING) USING iceberg")
        sql(f"INSERT INTO {made[name]} VALUES {rows}")
    return made


@pytest.fixture(scope="module")
def pair(
    spark_warehouse: Any, tables: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Accelerator, Accelerator]]:
    """One that builds by Spark, and one that builds in process."""
    made = [
        spark_warehouse.attach(store=str(tmp_path_factory.mktemp("alike") / "store"))
        for _ in range(2)
    ]
    for builder in (made[1].services.builder, made[1].services.index_builder):
        builder._spark_runs = lambda: False
    yield made[0], made[1]
    for acc in made:
        acc.close()


def _built(acc: Accelerator, name: str, select: str) -> list[SegmentRecord]:
    acc.query(f"CREATE CUBE {name} AS {select}")
    record = acc.services.store.registry().cubes[name]
    version = acc.services.store.table(record.table_uuid)
    return sorted(version.of(record.id), key=lambda one: one.files[0].path)


def _cells(segment: SegmentRecord) -> tuple[Any, list[dict[str, Any]]]:
    """The file's columns, and the segment's cells in their order; sets in any order."""
    if not segment.rows:
        return None, []
    table = pq.ParquetFile(local_path(segment.path)).read()
    schema = [(field.name, _shown(field.type)) for field in table.schema]
    rows = [row for row in table.to_pylist() if row.pop("segment") == segment.id]
    for row in rows:
        row |= {name: sorted(one) for name, one in row.items() if isinstance(one, list)}
        # Floating states may differ in the last digits; dimensions may not.
        floats = {name: one for name, one in row.items() if isinstance(one, float)}
        row |= {n: _digits(one) if n[0] == "s" else repr(one) for n, one in floats.items()}
        row |= {n: _sketched(one) for n, one in row.items() if isinstance(one, bytes)}
        times = {n: t.replace(tzinfo=None) for n, t in row.items() if isinstance(t, datetime)}
        row |= times
    return schema, rows


@pytest.mark.parametrize("name", _CUBES)
def test_segments_are_alike(
    pair: tuple[Accelerator, Accelerator], tables: dict[str, str], name: str
) -> None:
    select = _CUBES[name].format(**tables)
    theirs, ours = (_built(acc, f"alike_{name}", select) for acc in pair)
    assert len(theirs) == len(ours) > 1
    builder = pair[1].services.builder
    target = builder.target(pair[1].services.store.registry().cubes[f"alike_{name}"])
    here = builder._in_process(target, target.pinned[0].live_files())
    assert (here is None) == (name in _BY_SPARK)
    for spark, duckdb in zip(theirs, ours, strict=True):
        for field in fields(SegmentRecord):
            if field.name not in _OWN:
                assert getattr(spark, field.name) == getattr(duckdb, field.name), field.name
        assert spark.facts["bounds"] == duckdb.facts["bounds"]
        assert spark.facts.keys() == duckdb.facts.keys()
        (schema, cells), (own_schema, own_cells) = _cells(spark), _cells(duckdb)
        assert schema == own_schema
        assert sorted(cells, key=repr) == sorted(own_cells, key=repr)
        assert _leading(cells) == _leading(own_cells)
    for acc in pair:
        assert acc.query(select).metrics.cubes == (f"alike_{name}",)
    plain = pair[0].spark.sql(select).toArrow()
    for acc in pair:
        assert _bag(acc.query(select).arrow()) == _bag(plain)


def test_a_column_that_was_widened_since(
    pair: tuple[Accelerator, Accelerator], spark_warehouse: Any
) -> None:
    """The cube was defined on an INT and a narrower DECIMAL; files hold either."""
    sql, table = spark_warehouse.spark.sql, "lake.d.alike_widened"
    sql(f"CREATE TABLE {table} (k INT, p DECIMAL(5, 2), v INT) USING iceberg")
    sql(f"INSERT INTO {table} VALUES (1, 1.50, 7), (2, NULL, 8), (NULL, 9.99, NULL)")
    select = f"SELECT k, p, count(*) AS n, max(v) AS m FROM {table} GROUP BY k, p"
    for acc in pair:
        _built(acc, "alike_widened", select)
    sql(f"ALTER TABLE {table} ALTER COLUMN k TYPE BIGINT")
    sql(f"ALTER TABLE {table} ALTER COLUMN p TYPE DECIMAL(12, 2)")
    sql(f"INSERT INTO {table} VALUES (5000000000, 123456789.25, 1), (1, 1.50, 2)")
    made = []
    for acc in pair:
        assert acc.query("BUILD CUBE alike_widened").arrow().num_rows == 1
        record = acc.services.store.registry().cubes["alike_widened"]
        found = acc.services.store.table(record.table_uuid).of(record.id)
        made.append(sorted(found, key=lambda one: (one.files[0].path, one.fields)))
    assert len(made[0]) > 2  # those of before are there as well
    for spark, duckdb in zip(*made, strict=True):
        assert _cells(spark) == _cells(duckdb)
    plain = _bag(pair[0].spark.sql(select).toArrow())
    for acc in pair:
        answer = acc.query(select)
        assert answer.metrics.cubes == ("alike_widened",)
        assert _bag(answer.arrow()) == plain
    assert not pair[1].fallbacks


def test_what_fails_in_process_is_built_by_spark(
    pair: tuple[Accelerator, Accelerator], tables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it has written a file, or while rows without partners are counted."""
    for step, only in (("write", "min(i) AS x"), ("missing", "max(i) AS x")):
        real = getattr(InProcess, step)

        def failing(self: InProcess, *args: Any, real: Any = real) -> None:
            real(self, *args)
            raise EngineError("the disk is full")

        name = f"alike_failing_{step}"
        select = _CUBES["inner"].format(**tables).replace("sum(l) AS s", only)
        with monkeypatch.context() as patched:
            patched.setattr(InProcess, step, failing)
            ours = _built(pair[1], name, select)
        theirs = _built(pair[0], name, select)
        for spark, duckdb in zip(theirs, ours, strict=True):
            assert spark.edges == duckdb.edges
            assert sorted(_cells(spark)[1], key=repr) == sorted(_cells(duckdb)[1], key=repr)
        files = {local_path(one.path) for one in ours if one.rows}
        (folder,) = {str(Path(path).parent.parent) for path in files}
        assert {str(path) for path in Path(folder).rglob("*.parquet")} == files
        assert pair[1].query(select).metrics.cubes == (name,)


@pytest.mark.parametrize("kind", _INDEXES)
def test_indexes_are_alike(
    pair: tuple[Accelerator, Accelerator], tables: dict[str, str], kind: str
) -> None:
    """The very same bytes, whether they stand in bundles or in sidecars."""
    column = _INDEXES[kind]
    if column == "name":
        pair[0].query(
            f"ALTER TABLE {tables['f']} ADD RELATE COLUMN name FROM {tables['d']}.name"
            f" ON {tables['f']}.k = {tables['d']}.key"
        )
    name, made = f"alike_{kind.strip().lower()}_{column}", []
    for acc in pair:
        acc.query(f"CREATE INDEX {name} ON {tables['f']} USING {kind.strip()} ({column})")
        record = acc.services.store.registry().indexes[name]
        version = acc.services.store.table(record.table_uuid)
        made.append(sorted(version.of(record.id), key=lambda s: (s.is_bundle, s.files[0].path)))
    assert len(made[0]) == len(made[1]) > 0
    for spark, here in zip(*made, strict=True):
        assert spark.files == here.files
        assert spark.dimensions == here.dimensions
        assert spark.fields == here.fields
        assert spark.facts.keys() == here.facts.keys()
        assert _bytes(spark) == _bytes(here)


def _bytes(artifact: SegmentRecord) -> bytes:
    return Path(local_path(artifact.path)).read_bytes()


def _sketched(state: bytes) -> Any:
    """What a sketch estimates: HLL and KLL sketches begin with their kinds in the third byte."""
    match state[2]:
        case 7:
            return hll_count([state])
        case 15:
            sketch = kll_doubles_sketch.deserialize(state)
            ranks = [] if sketch.is_empty() else [n / 100 for n in range(101)]
            return sketch.n, sketch.k, [sketch.get_quantile(one) for one in ranks]
    return state


def _digits(value: Any) -> Any:
    """A floating value without its last digits, and without the sign of a zero."""
    return f"{value + 0.0:.10g}" if isinstance(value, float) else value


def _shown(type_: pa.DataType) -> str:
    """Spark writes times of 96 bits, and says of a set that nothing in it is NULL."""
    if pa.types.is_list(type_):
        return f"set of {type_.value_type}"
    return "timestamp" if pa.types.is_timestamp(type_) else str(type_)


def _leading(cells: list[dict[str, Any]]) -> list[list[Any]]:
    """What the rows of a segment are sorted by."""
    names = [name for name in (cells[0] if cells else ()) if name.startswith("d")][:3]
    return [[row[name] for name in names] for row in cells]


def _bag(table: Any) -> list[str]:
    rows = ({name: _digits(one) for name, one in row.items()} for row in table.to_pylist())
    return sorted(map(repr, rows))
