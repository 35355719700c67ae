"""A cube's segments made of a finer cube's cells: the same cells and counters as Spark makes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from accelerator.errors import BuildError
from accelerator.session.session import Accelerator
from accelerator.store import SegmentRecord, local_path
from cubes.definition import from_dict
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

F, D = "lake.d.fine_f", "lake.d.fine_d"
_FACTS = (
    "SELECT CAST(id AS INT) % 7 AS k, nullif(concat('g', id % 3), 'g2') AS g, CAST(id AS INT) % 11"
    " AS i, nullif(CAST(id AS INT) % 5, 3) AS v, CAST(id AS DECIMAL(9,2)) / 4 AS c, CAST(id % 5 AS"
    " DOUBLE) / 8 - 0.25 AS x, id * 1000000007 AS w, date_add(DATE '2024-01-28', CAST(id % 40 AS"
    " INT)) AS d, TIMESTAMP '2024-01-01 00:00:00' + make_dt_interval(0, CAST(id AS INT)) AS t,"
    " id % 2 = 0 AS b FROM range({0}, {1}, 1, 1)"
)
_FINE = (
    f"SELECT k, f.g, i, d, t, b, name, f.x, count(*), sum(v), avg(c), min(w), max(w), sum(w),"
    " count(DISTINCT w), count(DISTINCT c), stddev(v), sum(x), approx_count_distinct(w),"
    f" approx_percentile(x, 0.5), sum(i), max(name) FROM {F} AS f JOIN {D} ON k = dk"
    " GROUP BY k, f.g, i, d, t, b, name, f.x"
)
_MADE = {
    "by_name": f"SELECT name, count(*), sum(v), avg(c), stddev(v), sum(w) FROM {F} JOIN {D}"
    " ON k = dk GROUP BY name",
    "alone": f"SELECT g, count(DISTINCT w), count(DISTINCT c), approx_count_distinct(w), sum(x),"
    f" approx_percentile(x, 0.5) FROM {F} GROUP BY g",
    "by_time": f"SELECT date_trunc('MONTH', t) AS m, hour(t) AS h, year(d) AS y, count(DISTINCT g),"
    f" count(DISTINCT i), max(d), sum(i) FROM {F} GROUP BY 1, 2, 3",
    "filtered": "SELECT k, sum(v) FILTER (WHERE b), count_if(i > 4), min(w), avg(v) FILTER (WHERE"
    f" i > 20) FROM {F} WHERE k > 1 AND g IS NOT NULL GROUP BY k",
    "total": f"SELECT count(*), sum(v), max(w), sum(i), stddev_pop(v) FROM {F}",
    "floats": f"SELECT x, count(*), sum(c) FROM {F} GROUP BY x",
}  # fmt: skip


@pytest.fixture
def tables(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    sql = spark_warehouse.sql
    sql(
        f"CREATE TABLE {F} USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read') AS"
        f" {_FACTS.format(0, 90)}"
    )
    sql(f"INSERT INTO {F} {_FACTS.format(90, 140)}")
    sql(
        f"CREATE TABLE {D} USING iceberg AS SELECT CAST(id AS INT) AS dk, concat('n', id % 4) AS"
        " name FROM range(7)"
    )
    yield Differential(acc)
    for name in acc.services.store.registry().cubes:
        acc.query(f"DROP CUBE {name} FORCE")
    for name in (F, D):
        sql(f"DROP TABLE {name} PURGE")


def _create(acc: Accelerator, name: str, select: str) -> dict[str, Any]:
    built: dict[str, Any] = acc.query(f"CREATE CUBE {name} AS {select}").arrow().to_pylist()[0]
    return built


def _segments(acc: Accelerator, name: str) -> dict[str, SegmentRecord]:
    """The newest segment of each data file."""
    record = acc.services.store.registry().cubes[name]
    found = sorted(acc.services.store.table(record.table_uuid).of(record.id), key=lambda s: s.id)
    live = acc.services.builder.coverage(acc.services.builder.target(record)).segments
    return {s.files[0].path: s for s in found if s in live}


def _cells(acc: Accelerator, name: str, segment: SegmentRecord) -> list[list[Any]]:
    """Its cells in one order; what states mean."""
    if not segment.rows:
        return []
    cube = from_dict(dict(acc.services.store.registry().cubes[name].definition))
    table = pq.read_table(local_path(segment.path), filters=[("segment", "=", segment.id)])
    assert table.num_rows == segment.rows
    rows = []
    for row in _in_utc(table.drop_columns(["segment"])).to_pylist():
        for index, state in enumerate(cube.states):
            value = row[f"s{index}"]
            if state.kind == "bitmap":
                row[f"s{index}"] = sorted(BitMap64.deserialize(value))
            elif state.kind == "set":
                row[f"s{index}"] = sorted(value)
            elif state.kind in ("hll", "kll"):
                row[f"s{index}"] = _told(state.kind, value)
        rows.append(list(row.values()))
    places = len(cube.dimensions)
    return sorted(rows, key=lambda row: [str(value) for value in row[:places]])


def _in_utc(table: pa.Table) -> pa.Table:
    """Instants as they are read, of either of the forms that they are written in."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            column = table.column(place).cast(pa.timestamp("us", field.type.tz))
            table = table.set_column(place, field.name, column.cast(pa.timestamp("us", "UTC")))
    return table


def _told(kind: str, value: bytes | None) -> Any:
    from datasketches import hll_sketch, kll_doubles_sketch

    if value is None:
        return None
    if kind == "hll":
        return round(hll_sketch.deserialize(value).get_estimate(), 6)
    sketch = kll_doubles_sketch.deserialize(value)
    return [sketch.get_quantile(q / 8) for q in range(9)] if sketch.n else None


def _alike(one: Any, two: Any) -> bool:
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_alike, one, two))
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-9) or (one != one and two != two)
    return bool(one == two)


def _compare(acc: Accelerator, derived: str, built: str) -> None:
    """All that the two cubes of one SELECT have stored, but where and of what."""
    mine, theirs = _segments(acc, derived), _segments(acc, built)
    assert mine.keys() == theirs.keys()
    for path, segment in mine.items():
        other = theirs[path]
        assert _alike(_cells(acc, derived, segment), _cells(acc, built, other)), (derived, path)
        for field in ("rows", "files", "dimensions", "edges", "fields", "settings", "format"):
            assert getattr(segment, field) == getattr(other, field), (derived, field)
        assert segment.facts["bounds"] == other.facts["bounds"]
        if segment.rows:
            assert _types(segment) == _types(other), derived


@pytest.mark.long
def test_the_same_as_of_rows(tables: Differential, acc: Accelerator) -> None:
    for name, select in _MADE.items():
        assert _create(acc, f"rows_{name}", select)["derived"] in (0, 2)
        if name != "total":  # so that none is made of another
            acc.services.store.change_cube(f"rows_{name}", disabled="for a test")
    assert _create(acc, "fine", _FINE)["derived"] == 0
    for name, select in _MADE.items():
        built = _create(acc, f"cells_{name}", select)
        assert (built["files"], built["segments"], built["derived"]) == (2, 2, 2), name
        _compare(acc, f"cells_{name}", f"rows_{name}")
        segment = next(iter(_segments(acc, f"cells_{name}").values()))
        assert "derived_from" in segment.facts
    acc.query("DROP CUBE fine")
    acc.query("DROP CUBE rows_total")
    tables.changed()
    tables.check([_shown(select) for select in _MADE.values()])


def _types(segment: SegmentRecord) -> list[str]:
    """The types as they are read: Spark writes instants as INT96, and elements as never NULL."""
    schema = pq.read_schema(local_path(segment.path))
    told = [str(field.type).replace(" not null", "") for field in schema]
    return ["timestamp[us, tz=UTC]" if one == "timestamp[ns]" else one for one in told]


def _shown(select: str) -> str:
    """The cube's SELECT without what is only an estimate."""
    for estimate in (
        " approx_count_distinct(w),",
        ", approx_percentile(x, 0.5)",
        " approx_percentile(x, 0.5)",
    ):
        select = select.replace(estimate, "")
    items, _, rest = select.removeprefix("SELECT ").partition(" FROM ")
    return f"SELECT {items.rstrip(', ')} FROM {rest}"


@pytest.mark.long
def test_table_changes(tables: Differential, acc: Accelerator) -> None:
    _create(acc, "fine", _FINE)
    assert _create(acc, "by_name", _MADE["by_name"])["derived"] == 2
    acc.spark.sql(f"INSERT INTO {F} {_FACTS.format(140, 170)}")
    acc.spark.sql(f"DELETE FROM {F} WHERE i = 3")
    built = acc.query("BUILD CUBE by_name").arrow().to_pylist()[0]
    assert (built["files"], built["derived"]) == (3, 0)  # the finer one isn't up to date
    acc.query("BUILD CUBE fine")
    assert _create(acc, "filtered", _MADE["filtered"])["derived"] == 3
    acc.query("COMPACT CUBE fine")
    assert _create(acc, "alone", _MADE["alone"])["derived"] == 3  # of what was merged
    tables.changed()
    tables.check([_shown(_MADE[name]) for name in ("by_name", "filtered", "alone")])
    acc.spark.sql(f"INSERT INTO {D} VALUES (6, 'twice')")
    assert _create(acc, "by_name_2", _MADE["by_name"])["derived"] == 0  # a dimension has changed
    tables.changed()
    tables.check([_shown(_MADE["by_name"])])
    acc.spark.sql(
        f"INSERT INTO {F} VALUES (9, 'g0', 1, 1, 1, 1, 1, DATE '2024-01-01', now(), true)"
    )
    acc.query("BUILD CUBE fine")
    built = acc.query("BUILD CUBE alone").arrow().to_pylist()[0]
    assert (built["files"], built["derived"]) == (1, 0)  # the join loses the row
    assert _create(acc, "alone_2", _MADE["alone"])["derived"] == 4  # of another cube of its SELECT
    tables.changed()
    tables.check([_shown(_MADE["alone"])])


def test_what_is_broken_is_not_made_of(tables: Differential, acc: Accelerator) -> None:
    _create(acc, "fine", _FINE)
    for segment in _segments(acc, "fine").values():
        path = Path(local_path(segment.path))
        path.write_bytes(bytes(path.stat().st_size))  # its size is as recorded
    built = _create(acc, "total", _MADE["total"])
    assert (built["files"], built["derived"]) == (2, 0)
    record = acc.services.store.registry().cubes["total"]
    root = Path(local_path(next(iter(_segments(acc, "total").values())).path)).parent.parent
    assert not list(root.glob("*/cells.parquet")), record
    tables.check([_shown(_MADE["total"])])


def test_a_cube_that_is_switched_off_gives_nothing(tables: Differential, acc: Accelerator) -> None:
    _create(acc, "fine", _FINE)
    acc.services.store.change_cube("fine", disabled="for a test")
    assert _create(acc, "total", _MADE["total"])["derived"] == 0


def test_the_finest_is_built_first(tables: Differential, acc: Accelerator) -> None:
    for name, select in (
        ("a_total", _MADE["total"]),
        ("b_name", _MADE["by_name"]),
        ("c_fine", _FINE),
    ):
        acc.query(f"CREATE CUBE {name} DEFERRED AS {select}")
    built = acc.query(f"BUILD ALL ON {F}").arrow().to_pylist()
    told = [(row["cube"], row["files"], row["derived"]) for row in built]
    assert told == [("c_fine", 2, 0), ("a_total", 2, 2), ("b_name", 2, 2)]
    tables.check([_shown(_MADE["total"]), _shown(_MADE["by_name"])])
    acc.query(f"CREATE CUBE a_gone DEFERRED AS SELECT b, count(*) FROM {F} GROUP BY b")
    acc.spark.sql(f"ALTER TABLE {F} DROP COLUMN b")
    with pytest.raises(BuildError, match="a_gone"):
        acc.query(f"BUILD ALL ON {F}")
    acc.spark.sql(f"INSERT INTO {F} SELECT * FROM {F} LIMIT 9")
    with pytest.raises(BuildError):
        acc.query(f"BUILD ALL ON {F}")
    assert len(_segments(acc, "a_total")) == 3  # what can be built is built before that
