"""EXPLAIN and WHY NOT over a shop: what people read, word by word, and the JSON by its schema."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest

import accelerator
from accelerator import Accelerator
from accelerator.errors import (
    ConfigError,
    RowsGuardError,
    StatementError,
    StatementTimeoutError,
)
from accelerator.planning.plans.explain_tree import size
from accelerator.query.statements.nodes import ExplainAnalyze, Other, Query
from accelerator.query.statements.parse import parse_statement
from tests.accelerator.explained import world
from tests.support.pristine import catalog_of

_HERE = Path(__file__).parent
_SCHEMA = json.loads(
    (Path(__file__).parents[3] / "docs/formats/explain.schema.json").read_text("utf-8")
)
_STATEMENTS = [
    one.strip() for one in (_HERE / "statements.sql").read_text("utf-8").split(";\n") if one.strip()
]
_SIZES = re.compile(r"\b[\d.]+ (?:B|kB|MB)\b")
_NUMBERS = re.compile(r"\b\d{8,}\b")


@pytest.fixture(scope="module")
def acc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accelerator]:
    root = tmp_path_factory.mktemp("shop")
    world.make(root)
    with accelerator.open(root) as session:
        yield session
        assert not session.spark_started


def _plain(text: str) -> str:
    """Without what differs from one machine, or run, to the next."""
    lines = [_NUMBERS.sub("‹id›", _SIZES.sub("‹size›", line)) for line in text.splitlines()]
    # Notes stand in a column of their own, whose place follows from texts alone.
    return "\n".join(line.rstrip() for line in lines)


def _shown(acc: Accelerator) -> str:
    found = []
    for sql in _STATEMENTS:
        rows = [
            f"{one['cube']}: {one['reason']} [{one['code']}]"
            + (" nearest" if one["nearest"] else "")
            + "".join(f"\n    {one[key]}" for key in ("ddl", "cost") if one[key])
            for one in acc.why_not(sql)
        ]
        found.append("\n".join([f"-- {sql}", acc.explain(sql), "-- why not", *rows]))
    return _plain("\n\n".join(found)) + "\n"


def test_the_words_of_each_statement(acc: Accelerator) -> None:
    golden = _HERE / "golden.txt"
    shown = _shown(acc)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown, encoding="utf-8")
    assert len(_STATEMENTS) >= 30
    assert shown == golden.read_text("utf-8"), "UPDATE_GOLDEN=1 takes what is shown now"


@pytest.mark.parametrize("sql", _STATEMENTS)
def test_what_holds_of_every_explanation(acc: Accelerator, sql: str) -> None:
    told = json.loads(acc.explain(sql, format="json"))
    jsonschema.validate(told, _SCHEMA)
    reasons = [(one["code"], one["reason"]) for one in told["cannot"]]
    assert len(reasons) == len(set(reasons))
    plan = acc.plan(sql)[0]
    by_rows = plan.refused() or any(leaf.unaided() for leaf in plan.leaves())
    assert sum(one["nearest"] for one in told["cannot"]) == bool(by_rows)
    rows = acc.why_not(sql)
    made = [one["ddl"] for one in rows if one["ddl"]]
    assert len(made) == len(set(made))
    for ddl in made:
        assert not re.search(r"\b[dmt]\d\b|`", ddl), ddl
    steps = [one["step"] for one in told["steps"]]
    assert not ("table metadata" in steps and any(one.startswith("rows of") for one in steps[:1]))
    if told["rewritten"] and told["plain"] and not told.get("selects"):
        assert told["bytes_read"] <= told["plain"]["bytes"]


def test_plain_sparks_bytes_are_those_of_the_files_that_bounds_leave(acc: Accelerator) -> None:
    whole = json.loads(acc.explain("SELECT count(*) FROM shop.orders", format="json"))
    april = json.loads(
        acc.explain("SELECT note FROM shop.orders WHERE day > '2024-04-01'", format="json")
    )
    assert (whole["plain"]["files"], whole["plain"]["rows"]) == (4, 8000)
    assert (april["plain"]["files"], april["plain"]["rows"]) == (1, 2000)
    assert 0 < april["plain"]["bytes"] < whole["plain"]["bytes"]


@pytest.mark.parametrize(
    ("sql", "rewritten"),
    [(_STATEMENTS[0], True), ("SELECT region, max(weight) FROM shop.orders GROUP BY region", True)],
)
def test_analyze_runs_it(acc: Accelerator, sql: str, rewritten: bool) -> None:
    told = json.loads(acc.explain(sql, format="json", analyze=True))
    jsonschema.validate(told, _SCHEMA)
    ran = told["ran"]
    assert (ran["rows"], ran["metrics"]["rewritten"]) == (4, rewritten)
    assert 0 < ran["metrics"]["bytes_read"] <= told["bytes_read"]
    assert {"plan", "duckdb", "else"} <= set(ran["stages_ms"])
    took = ran["metrics"]["planning_ms"] + ran["metrics"]["execution_ms"]
    assert 0 < ran["stages_ms"]["duckdb"] <= took <= 1.001 * sum(ran["stages_ms"].values())
    lines = acc.query(f"EXPLAIN ANALYZE {sql}").arrow()["plan"].to_pylist()
    assert any(line.startswith("ran        4 rows in ") for line in lines)
    assert acc.explain(sql).explanation.ran is None


def test_what_explain_analyze_may_stand_before() -> None:
    query = "SELECT 1"
    assert parse_statement(f"EXPLAIN ANALYZE {query}") == ExplainAnalyze(Query(query, query))
    assert parse_statement(f"explain analyze (format json) {query}") == ExplainAnalyze(
        Query(query, query), "json"
    )
    for sparks in ("TABLE t COMPUTE STATISTICS", "TABLES IN db COMPUTE STATISTICS NOSCAN"):
        assert isinstance(parse_statement(f"EXPLAIN ANALYZE {sparks}"), Other)


def test_a_notebook_shows_it(acc: Accelerator) -> None:
    sql = "SELECT count(*) FROM shop.events WHERE kind = 'buy' AND size <> 7"
    shown = acc.explain(f"{sql} AND kind <> '<script>alert(1)'")
    assert isinstance(shown, str)
    page = shown._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "left by partition" in page
    assert pickle.loads(pickle.dumps(shown)) == str(shown)
    assert acc.explain(sql, format="json")._repr_html_() is None
    tree = acc.query(_STATEMENTS[0]).explain().splitlines()
    assert tree[1:] == acc.explain(_STATEMENTS[0]).splitlines()[1:]


def test_names_from_a_warehouse_are_data(tmp_path: Path) -> None:
    hostile = "a\x1b[31m <b>\nrests on   nothing"
    catalog = catalog_of(tmp_path)
    catalog.create_namespace("d")
    schema = pa.schema([(hostile, pa.int64()), ("v", pa.int64())])
    catalog.create_table("d.t", schema).append(pa.table({hostile: [1], "v": [2]}))
    quoted = "`" + hostile + "`"
    with accelerator.open(tmp_path) as session:
        sql = f"SELECT {quoted}, sum(v) FROM d.t WHERE {quoted} > 0 GROUP BY {quoted}"
        shown = session.explain(sql)
        (row,) = [one for one in session.why_not(sql) if "CUBE" in (one["ddl"] or "")]
        assert "\x1b" not in shown
        assert "\nrests on   nothing" not in shown
        page = shown._repr_html_().replace("<b>lake.d.t</b>", "")
        assert "<b>" not in page
        assert "\x1b" not in page
        session.query(row["ddl"])  # what is suggested is SQL, whatever the names
        assert session.query(sql).metrics.cubes
        assert not session.spark_started


def test_analyze_is_bound_as_the_query_is(
    acc: Accelerator, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sql = "SELECT region, max(weight) FROM shop.orders GROUP BY region"
    config = {"guard_rows_max": 10, "guard_exempt_users": ["ada"]}
    with accelerator.open(acc.config.warehouse, **config) as guarded:
        assert "all rows of" in guarded.explain(sql)  # which reads nothing
        for ask in (lambda: guarded.query(f"EXPLAIN ANALYZE {sql}"),
                    lambda: guarded.execute(f"EXPLAIN ANALYZE {sql}"),
                    lambda: guarded.explain(sql, analyze=True)):  # fmt: skip
            with pytest.raises(RowsGuardError):
                ask()
        assert "\nran " in guarded.explain(sql, analyze=True, user="ada")
    slow = (
        "SELECT sum(a.id * b.id * c.id) FROM shop.orders a JOIN shop.orders b"
        " ON a.region = b.region JOIN shop.orders c ON a.region = c.region"
    )
    with pytest.raises(StatementTimeoutError):
        acc.query(f"EXPLAIN ANALYZE {slow}", timeout_s=0.2)
    with pytest.raises(StatementTimeoutError):
        acc.explain(slow, analyze=True, timeout_s=0.2)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a AS (SELECT 9 AS item) INSERT INTO shop.items SELECT item, 'a', 'b' FROM a",
        "FROM shop.items INSERT INTO shop.items SELECT item, brand, category",
    ],
)
def test_analyze_writes_nothing(acc: Accelerator, sql: str) -> None:
    with pytest.raises(StatementError, match=r"a query|runs queries"):
        acc.query(f"EXPLAIN ANALYZE {sql}")


@pytest.mark.parametrize("format", ["JSON", "html", None])
def test_a_format_that_is_none(acc: Accelerator, format: Any) -> None:
    with pytest.raises(ConfigError, match="format"):
        acc.explain("SELECT 1", format=format)
    with pytest.raises(StatementError, match="TEXT"):
        acc.query("EXPLAIN ANALYZE (FORMAT HTML) SELECT 1")


def test_parameters_in_it(acc: Accelerator) -> None:
    sql = "SELECT id FROM shop.orders WHERE id = ?"
    for words in ("ACCELERATE", "ANALYZE"):
        told = acc.query(f"EXPLAIN {words} {sql}", [17]).arrow()["plan"].to_pylist()
        assert any("id = 17" in line for line in told)
    codes = acc.query(f"EXPLAIN WHY NOT {sql}", [17]).arrow()["code"].to_pylist()
    assert codes == ["index_none"]


def test_what_plain_spark_reads_of_shared_selects_and_hints(acc: Accelerator) -> None:
    def files(sql: str) -> int | None:
        plain = json.loads(acc.explain(sql, format="json"))["plain"]
        return None if plain is None else int(plain["files"])

    shared = (
        "WITH t AS (SELECT * FROM shop.orders) SELECT max(a.weight) FROM t a JOIN t b USING (id)"
    )
    assert files(shared) == 8
    assert files("WITH t AS (SELECT * FROM shop.orders) SELECT max(brand) FROM shop.items") == 1
    hinted = "SELECT /*+ BROADCAST(i) */ max(id) FROM shop.orders JOIN shop.items i USING (item)"
    assert files(hinted) == 5
    assert files("SELECT * FROM shop.nowhere") is None


def test_parts_that_read_all_rows(acc: Accelerator) -> None:
    """Each part's reason is told, though another part uses the cube; one of them is nearest."""
    sql = (
        "WITH a AS (SELECT region, sum(price) AS s FROM shop.orders GROUP BY region),"
        " b AS (SELECT region, max(weight) AS m FROM shop.orders GROUP BY region)"
        " SELECT a.region, s, m FROM a JOIN b ON a.region = b.region"
    )
    rows = acc.why_not(sql)
    (row,) = [one for one in rows if one["nearest"]]
    assert "sales_by_region" in row["cube"] and row["ddl"].startswith("CREATE CUBE")
    assert "suggested  CREATE CUBE" in acc.explain(sql)


@pytest.mark.parametrize(
    ("select", "name", "alias"),
    [
        ("date_trunc('MONTH', day)", "orders_by_date_trunc_month_day", "date_trunc_month_day"),
        ("year(day), month(day)", "orders_by_year_day_month_day", "month_day"),
        ("CASE WHEN note = 'a  b' THEN 1 ELSE 2 END", "orders_by_case_is_note", "'a  b'"),
    ],
)
def test_names_of_a_suggestion(acc: Accelerator, select: str, name: str, alias: str) -> None:
    keys = select if "CASE" not in select else "1"
    shown = acc.explain(f"SELECT {select}, max(weight) FROM shop.orders GROUP BY {keys}")
    line = next(line for line in shown.splitlines() if line.startswith("suggested"))
    assert f"CREATE CUBE {name} AS" in line and alias in line, line


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (12_949, "12.9 kB"), (999_600, "1.00 MB"),
     (5_123_456_789, "5.12 GB"), (123_456_789_012, "123 GB")],
)  # fmt: skip
def test_sizes(number: int, text: str) -> None:
    assert size(number) == text


def test_of_what_is_no_query(acc: Accelerator) -> None:
    told: dict[str, Any] = json.loads(acc.explain("SHOW CUBES", format="json"))
    jsonschema.validate(told, _SCHEMA)
    assert told["cannot"][0]["code"] == "not_a_query"
    with pytest.raises(StatementError, match="runs queries"):
        acc.explain("SHOW CUBES", analyze=True)
