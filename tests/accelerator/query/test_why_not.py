"""What would make a statement match: a proposed cube is created as it stands, and then matches."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.iceberg.rows import float_edges
from rewrite.reason import REASONS
from tests.support.extent import sized
from tests.support.statements import FOLDER, read

_FACT = pa.schema(
    [("k", pa.int64()), ("day", pa.date32()), ("v", pa.int32()), ("x", pa.float64()),
     ("select", pa.string())]
)  # fmt: skip
_DIMENSION = pa.schema([("id", pa.int64()), ("name", pa.string())])


@pytest.fixture(scope="module")
def acc(tmp_path_factory):
    root = tmp_path_factory.mktemp("why")
    properties = {"uri": f"sqlite:///{root / 'catalog.db'}", "warehouse": f"file://{root}/"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("d")
    catalog.create_table("d.facts", _FACT).append(pa.Table.from_pylist([{"v": 5}], _FACT))
    catalog.create_table("d.floats", _FACT).append(pa.Table.from_pylist([{"x": 1.5}], _FACT))
    catalog.create_table("d.dims", _DIMENSION).append(pa.Table.from_pylist([{}], _DIMENSION))
    with accelerator.open(root) as session:
        session.query(
            "CREATE CUBE small DEFERRED AS SELECT k, count(*) FROM lake.d.facts GROUP BY k"
        )
        yield session
        assert not session.spark_started


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT day, sum(v) FROM lake.d.facts GROUP BY day",
        "SELECT k, sum(v) FILTER (WHERE `select` = 'a' AND v > 2) FROM lake.d.facts GROUP BY k",
        "SELECT trunc(day, 'MM'), avg(v), count(DISTINCT v) FROM lake.d.facts"
        " GROUP BY ROLLUP (trunc(day, 'MM'))",
        "SELECT name, sum(v) FILTER (WHERE day > '2024-01-01') FROM lake.d.dims"
        " JOIN lake.d.facts ON k = id GROUP BY name",
        "SELECT f.k, d.name, max(v) FROM lake.d.facts f LEFT JOIN lake.d.dims d"
        " ON f.k = d.id AND d.name = 'x' GROUP BY 1, 2",
        "SELECT DISTINCT day, name FROM lake.d.facts, lake.d.dims WHERE k = id AND v > 3",
        "SELECT a.name AS a, b.name AS b, sum(v) FROM lake.d.facts JOIN lake.d.dims a ON k = a.id"
        " JOIN lake.d.dims b ON k = b.id GROUP BY a.name, b.name",
        "SELECT k, approx_percentile(x, 0.5), stddev(v) FROM lake.d.facts GROUP BY k"
        " HAVING sum(v) > 3 ORDER BY k",
    ],
)
def test_a_proposed_cube_would_match(acc, sql) -> None:
    (row,) = [row for row in acc.why_not(sql) if row["nearest"]]
    assert row["ddl"], row
    name = row["ddl"].split()[2]
    acc.query(row["ddl"].replace(f"CUBE {name} AS", f"CUBE {name} DEFERRED AS"))
    rows = {row["cube"]: row for row in acc.why_not(sql)}
    assert rows[name]["code"] == "cover_unavailable"
    assert rows[name]["ddl"] == f"BUILD CUBE {name}"
    acc.query(f"DROP CUBE {name}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT rand(), count(*) FROM lake.d.facts GROUP BY 1",
        "SELECT sum(DISTINCT x) FROM lake.d.facts",
    ],
)
def test_where_none_would_match_none_is_proposed(acc, sql) -> None:
    assert all(row["ddl"] is None for row in acc.why_not(sql))


def test_names_that_are_taken(acc) -> None:
    acc.query(
        "CREATE CUBE facts_by_day DEFERRED AS SELECT v, count(*) FROM lake.d.facts GROUP BY v"
    )
    ddl = [row["ddl"] for row in acc.why_not("SELECT day, sum(v) FROM lake.d.facts GROUP BY day")]
    assert any((text or "").startswith("CREATE CUBE facts_by_day1 AS") for text in ddl)
    acc.query("DROP CUBE facts_by_day")


def test_why_rows_of_a_file_are_read(tmp_path) -> None:
    """A row for each source that has the file not."""
    properties = {"uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"file://{tmp_path}/"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", pa.schema([("v", pa.int32()), ("w", pa.int32())]))
    for values in ([1, 2], [3, 9], [5, 9]):
        table.append(pa.table({"v": pa.array(values, pa.int32()), "w": pa.array([1, 2], "int32")}))
    with accelerator.open(tmp_path) as acc:
        sql = "SELECT count(*), max(w) FROM lake.d.t WHERE v > 3"
        told = {(row["cube"], row["code"]): row["reason"] for row in acc.why_not(sql)}
        assert told["table metadata", "file_mixed"].startswith(
            "Left to the next source, 1 data file: Some rows"
        )
        assert told["indexes", "index_lacks"].startswith(
            "Left to the next source, 1 data file: No index"
        )
        whole = acc.why_not("SELECT count(*), max(w) FROM lake.d.t WHERE v > 2")
        assert not [row for row in whole if row["cube"] == "indexes"]
        assert not acc.spark_started


@pytest.mark.parametrize(
    ("where", "kind", "code"),
    [
        ("k = 7", "BLOOM", "index_none"),
        ("`select` LIKE '%needle%'", "NGRAM_BLOOM", "index_none"),
        ("contains(`select`, 'needle')", "NGRAM_BLOOM", "index_none"),
        ("day BETWEEN DATE'2024-01-01' AND DATE'2024-02-01'", "RANGE", "index_none"),
        ("x > 0.5", "BOUNDS", "float_order"),
    ],
)
def test_the_index_that_would_help_has_its_ddl(acc, monkeypatch, where, kind, code) -> None:
    """A floating dimension serves only whole, so that no cube is proposed for `x > 0.5`."""
    monkeypatch.setattr(float_edges, "ROWS_MAX", 0)
    for outputs in ("*", "count(*)"):
        sql = f"SELECT {outputs} FROM lake.d.floats WHERE {where}"
        found = [row for row in acc.why_not(sql) if f"USING {kind} " in (row["ddl"] or "")]
        assert [row["code"] for row in found] == [code], acc.why_not(sql)
    name = found[0]["ddl"].split()[2]
    acc.query(f"{found[0]['ddl']} DEFERRED")
    assert not any(f"USING {kind}" in (row["ddl"] or "") for row in acc.why_not(sql))
    acc.query(f"DROP INDEX {name}")


def test_doubles_stand_in_the_way_and_no_missing_cube(acc, monkeypatch) -> None:
    monkeypatch.setattr(float_edges, "ROWS_MAX", 0)
    sql = "SELECT sum(v) FROM lake.d.floats WHERE x > 0.5"
    row = acc.why_not(sql)[0]
    assert (row["code"], row["nearest"]) == ("float_order", True)
    acc.query(row["ddl"])
    assert acc.query(sql).metrics.engine == "duckdb"
    acc.query(f"DROP INDEX {row['ddl'].split()[2]}")


def test_there_is_always_an_answer(acc) -> None:
    texts = [one.text for path in sorted(FOLDER.glob("*.slt")) for one in read(path).blocks]
    queries = [one for one in texts if one.lstrip("( ").upper().startswith(("SELECT", "WITH"))]
    tried = random.Random(48).sample(queries, k=sized(150, full=len(queries)))
    answered = ["SELECT 1", "SELECT k FROM lake.d.facts"]
    for sql in (*answered, *tried):
        rows = acc.why_not(sql)
        assert rows, sql
        assert all(row["code"] in REASONS and row["reason"] for row in rows), sql
    assert [acc.why_not(sql)[0]["code"] for sql in answered] == ["answered"] * 2
