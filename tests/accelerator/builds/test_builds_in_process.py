"""Small builds without a Spark session: what is built, what is counted, what is left to Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.builds.segments.duckdb_job import InProcess
from accelerator.errors import AcceleratorError, BuildError, EngineError, SparkMissingError
from accelerator.store import SegmentRecord, local_path
from tests.support.pristine import Pristine, catalog_of

_FACT = {
    "k": [1, 2, 2, None, 9],
    "g": ["a", "b", None, "a", "b"],
    "v": [1, 2**40, -(2**40), None, 5],
    "p": [Decimal("1.50"), None, Decimal("-2.25"), Decimal("0.00"), Decimal("9.99")],
    "d": [date(2026, 1, 1), date(2026, 2, 1), None, date(2026, 1, 1), date(2026, 1, 31)],
    "x": [0.5, None, 1.5, -0.0, 2.0],
}
_SCHEMA = pa.schema(
    [
        ("k", pa.int32()),
        ("g", pa.string()),
        ("v", pa.int64()),
        ("p", pa.decimal128(9, 2)),
        ("d", pa.date32()),
        ("x", pa.float64()),
    ]
)


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = pa.table(_FACT, schema=_SCHEMA)
    fact = catalog.create_table("d.f", _SCHEMA)
    for piece in (rows, rows.slice(0, 2), rows.slice(2)):
        fact.append(piece)
    dim = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "name": ["one", "two", "three"]})
    catalog.create_table("d.dim", dim.schema).append(dim)
    twice = pa.table({"id": pa.array([1, 1, 2], pa.int32()), "name": ["one", "uno", "two"]})
    catalog.create_table("d.twice", twice.schema).append(twice)


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(_fill)) as session:
        yield session
        assert not session.spark_started


def _segments(acc: Accelerator, cube: str) -> list[SegmentRecord]:
    record = acc.services.store.registry().cubes[cube]
    version = acc.services.store.table(record.table_uuid)
    return sorted(version.of(record.id), key=lambda s: s.files[0].sequence_number)


def test_a_cube_is_built_and_answers(acc: Accelerator) -> None:
    acc.query(
        "CREATE CUBE c AS SELECT g, year(d) AS y, count(*) AS n, sum(v) AS s, min(p) AS lo,"
        " max(d) AS hi, count(DISTINCT k) AS k, count(v) AS c, sum(p) AS t FROM d.f"
        " GROUP BY g, year(d)"
    )
    found = acc.query(
        "SELECT g, count(*) AS n, sum(v) AS s, min(p) AS lo, max(d) AS hi, count(DISTINCT k) AS k,"
        " count(v) AS c, sum(p) AS t FROM d.f GROUP BY g ORDER BY g"
    )
    assert found.metrics.cubes == ("c",)
    assert not acc.fallbacks
    rows = found.arrow().to_pylist()
    assert [(row["g"], row["n"]) for row in rows] == [(None, 2), ("a", 4), ("b", 4)]
    assert rows[1] == {
        "g": "a",
        "n": 4,
        "s": 2,
        "lo": Decimal("0.00"),
        "hi": date(2026, 1, 1),
        "k": 1,
        "c": 2,
        "t": Decimal("3.00"),
    }
    segments = _segments(acc, "c")
    assert [len(one.files) for one in segments] == [1, 1, 1]
    assert [one.rows for one in segments] == [3, 2, 3]


def test_rows_without_partners_are_counted(acc: Accelerator) -> None:
    for dimension in ("dim", "twice"):
        acc.query(
            f"CREATE CUBE {dimension} AS SELECT name, count(*) AS n, sum(v) AS s FROM d.f"
            f" JOIN d.{dimension} ON k = id GROUP BY name"
        )
    edges = [[(e.missing, e.unique) for e in one.edges] for one in _segments(acc, "dim")]
    assert edges == [[(2, True)], [(0, True)], [(2, True)]]
    edges = [[(e.missing, e.unique) for e in one.edges] for one in _segments(acc, "twice")]
    assert {unique for one in edges for _, unique in one} == {False}
    found = acc.query(
        "SELECT name, sum(v) AS s FROM d.f JOIN d.dim ON k = id GROUP BY name ORDER BY 1"
    )
    assert found.metrics.cubes == ("dim",)
    assert found.arrow().to_pylist() == [{"name": "one", "s": 2}, {"name": "two", "s": 0}]


def test_more_files_are_added_and_deletes_are_seen(acc: Accelerator) -> None:
    acc.query("CREATE CUBE c AS SELECT g, count(*) AS n, sum(v) AS s FROM d.f GROUP BY g")
    catalog = catalog_of(Path(acc.config.warehouse))
    catalog.load_table("d.f").append(pa.table(_FACT, schema=_SCHEMA).slice(0, 1))
    catalog.engine.dispose()
    assert len(_segments(acc, "c")) == 3
    acc.query("BUILD CUBE c")
    assert len(_segments(acc, "c")) == 4
    found = acc.query("SELECT sum(v) AS s, count(*) AS n FROM d.f")
    assert found.metrics.cubes == ("c",)
    assert found.arrow().to_pylist() == [{"s": 13, "n": 11}]


@pytest.mark.parametrize(
    "select",
    [
        "g, sum(x * 2) AS s FROM d.f GROUP BY g",
        "x + 1 AS y, count(*) AS n FROM d.f GROUP BY x + 1",
        "g, sum(v) FILTER (WHERE x > 1) AS s FROM d.f GROUP BY g",
        "g, count(*) AS n FROM d.f WHERE x > 1 GROUP BY g",
        "g, count(*) AS n FROM d.f WHERE k + 1 > 2 GROUP BY g",
        "g ILIKE 'a' AS u, count(*) AS n FROM d.f GROUP BY g ILIKE 'a'",
    ],
)
def test_what_is_not_proven_is_left_to_spark(acc: Accelerator, select: str) -> None:
    with pytest.raises(SparkMissingError, match=r"cube c can't be built in this process \(.*Java"):
        acc.query(f"CREATE CUBE c AS SELECT {select}")
    registry = acc.services.store.registry(fresh=True)
    assert not registry.cubes
    assert not registry.bin


def test_floats_are_summed_and_grouped(acc: Accelerator) -> None:
    fact = pa.table({"g": ["a"] * 8, "x": [0.0, -0.0, nan, -nan, inf, 0.1, 0.2, None]})
    catalog = catalog_of(Path(acc.config.warehouse))
    catalog.create_table("d.floats", fact.schema).append(fact)
    catalog.engine.dispose()
    acc.query("CREATE CUBE keys AS SELECT x, count(*) AS n FROM d.floats GROUP BY x")
    (segment,) = _segments(acc, "keys")
    cells = pq.read_table(local_path(segment.path)).to_pylist()
    found = [(repr(one["d0"]), one["s0"]) for one in cells]
    assert found == [("None", 1), ("0.0", 2), ("0.1", 1), ("0.2", 1), ("inf", 1), ("nan", 2)]
    acc.query(
        "CREATE CUBE sums AS SELECT g, avg(x) AS a, min(x) AS lo, max(x) AS hi, count(x) AS n"
        " FROM d.floats GROUP BY g"
    )
    found = acc.query("SELECT avg(x) AS a, min(x) AS lo, max(x) AS hi, count(x) AS n FROM d.floats")
    assert found.metrics.cubes == ("sums",)
    (row,) = found.arrow().to_pylist()
    assert isnan(row["a"])
    assert isnan(row["hi"])
    assert (row["lo"], row["n"]) == (0.0, 7)


def test_moments_are_kept(acc: Accelerator) -> None:
    acc.query("CREATE CUBE m AS SELECT g, stddev_pop(k) AS k, var_pop(p) AS p FROM d.f GROUP BY g")
    found = acc.query("SELECT g, stddev_pop(k) AS k FROM d.f GROUP BY g ORDER BY g")
    assert found.metrics.cubes == ("m",)
    # Of g = 'b' the values 2 and 9 are stored twice.
    assert [row["k"] for row in found.arrow().to_pylist()] == pytest.approx([0.0, 0.0, 3.5])


def test_without_java_nothing_is_published(acc: Accelerator) -> None:
    acc.query("CREATE CUBE c AS SELECT g, count(*) AS n FROM d.f GROUP BY g")
    with pytest.raises(SparkMissingError, match="the table of cube c is written by Spark"):
        acc.query("PUBLISH CUBE c")
    assert acc.services.store.registry(fresh=True).cubes["c"].published is None


@pytest.mark.parametrize("has_spark", [False, True])
def test_a_build_that_fails_here_leaves_nothing_and_is_sparks_if_there_is_one(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch, has_spark: bool
) -> None:
    monkeypatch.setattr("accelerator.builds.segments.builder.is_spark_installed", lambda: has_spark)
    written: list[str] = []
    real = InProcess.write

    def write(self: InProcess, *args: Any) -> None:
        real(self, *args)
        written.append("yes")
        raise EngineError("the disk is full")

    monkeypatch.setattr(InProcess, "write", write)
    why = "is built by Spark" if has_spark else "the disk is full"
    with pytest.raises(AcceleratorError, match=why):
        acc.query("CREATE CUBE c AS SELECT g, count(*) AS n FROM d.f GROUP BY g")
    assert written
    assert not [*Path(acc.config.store_root).rglob("*.parquet")]


@pytest.mark.usefixtures("no_java")
def test_the_setting_ends_it(pristine: Pristine) -> None:
    create = "CREATE CUBE c AS SELECT g, count(*) AS n FROM d.f GROUP BY g"
    with (
        accelerator.open(pristine.lake(_fill), build_in_process_bytes_max=0) as session,
        pytest.raises(AcceleratorError, match=r"Java|Spark"),
    ):
        session.query(create)


def _fill_zeros(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    values = [-0.0, 0.0, nan, -nan, 1.5, None, -0.0, -0.0]
    rows = pa.table({"x": values, "y": pa.array(values, pa.float32())})
    catalog.create_table("d.z", rows.schema).append(rows)


def test_zeros_of_both_signs_are_one_group_and_so_are_all_nans(
    pristine: Pristine, no_java: None
) -> None:
    with accelerator.open(pristine.lake(_fill_zeros, "zeros")) as session:
        for name in "xy":
            sql = f"SELECT {name} AS v, count(*) AS c FROM d.z GROUP BY {name}"
            built = session.query(f"CREATE CUBE of_{name} AS {sql}").arrow().to_pylist()
            assert built[0]["rows"] == 4
            found = session.query(sql)
            assert found.metrics.cubes == (f"of_{name}",)
            rows = {str(row["v"]): row["c"] for row in found.arrow().to_pylist()}
            assert rows == {"0.0": 4, "nan": 2, "1.5": 1, "None": 1}


def test_a_setting_that_changes_while_a_cube_is_built(
    pristine: Pristine, no_java: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells have the zone under which they were computed; no job ends under other settings."""
    acc = accelerator.open(pristine.lake(_fill), build_files_per_job=1)
    write, context, builder = InProcess.write, acc.services.context, acc.services.builder
    own = builder._settings
    zone, jobs = own()["time_zone"], list[int]()

    def changing(self: InProcess, *given: Any) -> None:
        write(self, *given)
        jobs.append(1)
        context.set("spark.sql.session.timeZone", "Asia/Tokyo")
        if len(jobs) == 2:
            builder._settings = lambda: {**own(), "ansi": "false"}

    monkeypatch.setattr(InProcess, "write", changing)
    with pytest.raises(BuildError, match=r"ansi\.enabled is off"):
        acc.query("CREATE CUBE c AS SELECT g, count(*) AS n FROM d.f GROUP BY g")
    (record,) = acc.services.store.registry(fresh=True).cubes.values()
    (built,) = acc.services.store.table(record.table_uuid).of(record.id)
    acc.close()
    assert len(jobs) == 2
    assert (dict(built.settings)["time_zone"], own()["time_zone"]) == (zone, "Asia/Tokyo")
