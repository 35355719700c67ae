"""The Trino door: kinds and time zones follow names, what isn't known to be alike is refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rewrite.dialects.translate import translated
from rewrite.errors import UnknownColumnError, UntranslatedError
from tests.support.trino_answers import spark_text

_TABLES: Mapping[str, Mapping[str, str]] = {
    "t": {
        "id": "int",
        "a": "int",
        "c": "decimal(9,2)",
        "x": "double",
        "r": "float",
        "s": "string",
        "d": "date",
        "z": "timestamp_ntz",
        "m": "timestamp",
        "o": "boolean",
        "st": "struct<z:timestamp_ntz,in:struct<m:timestamp>>",
        "l": "array<date>",
    },
    "u": {"id": "int", "k": "date", "a": "string"},
}
_BY_UTC = "HOUR(CAST('1970-01-01 00:00:00' AS TIMESTAMP_NTZ)"


def _columns(parts: tuple[str, ...]) -> Mapping[str, str] | None:
    return _TABLES.get(parts[-1])


def _client(sql: str, zone: str = "Europe/Berlin", engine: str | None = None) -> str:
    return spark_text(sql, _columns, zone, engine)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT hour(k) FROM (SELECT m FROM t) AS q (k)",
        "WITH w (k) AS (SELECT m FROM t) SELECT hour(k) FROM w",
        "WITH w (k) AS (SELECT m FROM t), v AS (SELECT * FROM w) SELECT hour(v.k) FROM v",
        "SELECT hour(r.i) FROM t AS r (a, b, e, f, g, h, j, y, i, n, o, p)",
        "SELECT hour(k) FROM (SELECT *, m AS k FROM t)",
        "SELECT hour(q.m) FROM (SELECT * FROM t JOIN u USING (id)) AS q",
        "SELECT hour(k) FROM (SELECT t.*, 1 FROM t) AS q (i, b, e, f, g, h, j, y, k, o, p, w, n)",
        "SELECT hour(k) FROM (SELECT m AS k FROM t UNION ALL SELECT max(m) FROM t) AS q",
        "SELECT hour(k) FROM (SELECT m FROM t EXCEPT SELECT m FROM t WHERE a > 1) AS q (k)",
        "SELECT hour(element_at(array_agg(m), 1)) FROM t",
        "SELECT hour(array_agg(m)[1]) FROM t",
        "SELECT hour(element_at(n, 1)) FROM (SELECT array_agg(m) AS n FROM t)",
        'SELECT hour(st."in".m) FROM t',
        'SELECT hour(e."in".m) FROM (SELECT st AS e FROM t)',
        "SELECT hour((SELECT max(m) FROM t)) FROM u",
        "SELECT (SELECT hour(t.m) FROM u WHERE u.id = t.id) FROM t",
        "SELECT count(*) FROM t AS x WHERE EXISTS (SELECT 1 FROM u WHERE hour(x.m) = 1)",
        "SELECT m AS k FROM t ORDER BY hour(k)",
        "SELECT hour(coalesce(k, m)) FROM (SELECT lag(m) OVER (ORDER BY id) AS k, m FROM t)",
    ],
)
def test_a_moment_is_one_under_any_name(sql: str) -> None:
    """Its hour is that in UTC, whatever Spark's time zone is."""
    assert _BY_UTC in _client(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT hour(k) FROM v",
        "SELECT hour(k) FROM (SELECT * FROM v) AS q",
        "SELECT k + INTERVAL '1' DAY FROM v",
        "SELECT date_trunc('day', k) FROM v",
        "SELECT extract(hour FROM k) FROM v",
        "SELECT k > 1 FROM v",
        "SELECT k FROM v WHERE o",
        "SELECT sum(k) FROM v",
        "SELECT CAST(k AS DOUBLE) FROM v",
        "SELECT k FROM v UNION ALL SELECT k FROM v",
        "SELECT coalesce(k, j) FROM v",
        "SELECT hour(m) FROM t, (SELECT m FROM v) AS q",
        "SELECT hour(q.k) FROM t AS q (k)",
        "SELECT date_trunc('day', k) FROM (SELECT d AS k FROM t UNION ALL SELECT s FROM t) AS q",
        "SELECT hour(k) FROM (VALUES (1, m)) AS q (i, k)",
    ],
)
def test_an_unknown_kind_is_refused(sql: str) -> None:
    with pytest.raises(UntranslatedError) as caught:
        _client(sql)
    assert "known" in caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    "expression",
    [
        "d = 'x'",
        "a = '1'",
        "s > 1",
        "d IN ('2024-01-01')",
        "d BETWEEN '2024-01-01' AND '2024-02-01'",
        "o = 1",
        "count(a, id)",
        "count(DISTINCT a, id)",
        "d + INTERVAL '1' HOUR",
        "INTERVAL '1' MINUTE + d",
        "z + INTERVAL '1' WEEK",
        "extract(hour FROM d)",
        "d + 1",
        "d - d",
        "o + 1",
        "s || a",
        "concat(s, d)",
        "lower(a)",
        "length(a)",
        "a LIKE '1%'",
        "sum(s)",
        "max(l)",
        "avg(d)",
        "bool_and(a)",
        "NOT a",
        "o AND a",
        "if(a, 1, 2)",
        "CASE WHEN s THEN 1 END",
        "CASE a WHEN 'x' THEN 1 END",
        "CASE WHEN o THEN 1 ELSE 'x' END",
        "coalesce(a, s)",
        "coalesce(r, a)",
        "nullif(a, s)",
        "year(s)",
        "hour(s)",
        "o IS TRUE",
        "s ILIKE 'x'",
        "lag(a, -1) OVER (ORDER BY id)",
        "lag(a, id) OVER (ORDER BY id)",
        "ntile(a) OVER (ORDER BY id)",
        "sum(a) OVER (ORDER BY d RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)",
        "INTERVAL '1' DAY",
        "a IN (SELECT a FROM u)",
        "(a, s) IN (SELECT id, k FROM u)",
        "greatest(a, s)",
        "CAST(m AS double)",
        "CAST(o AS decimal(5, 2))",
    ],
)
def test_errors_of_trino_are_no_answers(expression: str) -> None:
    with pytest.raises(UntranslatedError):
        _client(f"SELECT {expression} FROM t")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a AS k, count(*) FROM t GROUP BY k",
        "SELECT s, count(*) AS n FROM t GROUP BY s HAVING n > 1",
        "SELECT a AS k, k + 1 FROM t",
        "SELECT sum(a) AS k, sum(k) OVER () FROM t",
    ],
)
def test_an_alias_is_a_name_in_order_by_alone(sql: str) -> None:
    with pytest.raises(UnknownColumnError, match="alias of an output") as caught:
        _client(sql)
    assert caught.value.code == "column_unknown" and caught.value.hint


def test_having_does_not_take_an_alias_for_a_column() -> None:
    """Spark would compare the output."""
    with pytest.raises(UntranslatedError, match="Spark takes the output"):
        _client("SELECT a + 1 AS a FROM t GROUP BY a HAVING a > 1")
    assert "HAVING t.a > 1" in _client("SELECT a + 1 AS a FROM t GROUP BY a HAVING t.a > 1")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t WHERE s",
        "SELECT count(*) FROM t HAVING sum(a)",
        "SELECT t.id FROM t JOIN u ON t.id",
        "SELECT a FROM t JOIN (SELECT s AS id FROM t) AS q USING (id)",
        "SELECT a FROM t UNION SELECT s FROM t",
        "SELECT * FROM t UNION SELECT * FROM u",
        "VALUES (1), ('x')",
        "SELECT count(*) FROM t GROUP BY GROUPING SETS ((a), (), ())",
        "SELECT DISTINCT a FROM t GROUP BY ROLLUP (a) ORDER BY max(x)",
        "SELECT a, (SELECT max(k) FROM u WHERE u.id = t.a) FROM t GROUP BY ROLLUP (a)",
        "SELECT r FROM t UNION ALL SELECT 0.1",
        "SELECT r FROM t EXCEPT SELECT a FROM t",
        "SELECT x FROM t WHERE r IN (SELECT c FROM t)",
        "SELECT x FROM t WHERE (a, r) IN (SELECT a, c FROM t)",
        "SELECT x FROM t WHERE (a, d) IN (SELECT a, s FROM t)",
        "SELECT x FROM t WHERE (a, d) IN (SELECT a FROM t)",
        "SELECT x FROM t WHERE s IN (VALUES 1, 2)",
        "SELECT max(x) OVER (ORDER BY d RANGE INTERVAL '1' HOUR PRECEDING) FROM t",
        "SELECT max(x) OVER (ORDER BY m RANGE INTERVAL '1' DAY PRECEDING) FROM t",
        "SELECT max(x) OVER (ORDER BY z RANGE INTERVAL '1' MONTH PRECEDING) FROM t",
        "SELECT max(x) OVER (ORDER BY z ROWS INTERVAL '1' DAY PRECEDING) FROM t",
    ],
)
def test_statements_that_are_refused(sql: str) -> None:
    with pytest.raises(UntranslatedError):
        _client(sql)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("floor(c), floor(a)", "FLOOR(c), FLOOR(a)"),
        (
            "floor(x)",
            "CASE WHEN x <> 0e0 AND ABS(x) < 4503599627370496e0 THEN CAST(FLOOR(x) AS DOUBLE)"
            " ELSE x END",
        ),
        ("r > 1.1", "r > CAST(1.1 AS FLOAT)"),
        ("r + a", "r + CAST(a AS FLOAT)"),
        ("r > x", "r > x"),
        ("r / r", "CAST(r / r AS FLOAT)"),
        ("sum(r)", "CAST(SUM(r) AS FLOAT)"),
        ("approx_distinct(a)", "APPROX_COUNT_DISTINCT(a, 0.023)"),
        ("approx_distinct(a, 0.05)", "APPROX_COUNT_DISTINCT(a, 0.05)"),
        ("hour(d)", "HOUR(CAST(d AS TIMESTAMP_NTZ))"),
    ],
)
def test_what_is_written_out(expression: str, wanted: str) -> None:
    assert _client(f"SELECT {expression} FROM t") == f"SELECT {wanted} FROM `c`.`s`.`t`"


def test_subtotals_over_no_rows() -> None:
    sql = "SELECT a, sum(x) AS n FROM t GROUP BY ROLLUP (a) HAVING sum(x) > 1 ORDER BY n LIMIT 2"
    assert translated(sql, "trino", _columns) == (
        "SELECT a, SUM(x) AS n FROM t GROUP BY ROLLUP (a) HAVING SUM(x) > 1 UNION ALL"
        " SELECT MAX(a) AS `a`, SUM(x) AS n FROM t HAVING COUNT(*) = 0 AND (SUM(x) > 1)"
        " ORDER BY 2 NULLS LAST LIMIT 2"
    )
    for group in ("a, ROLLUP (id)", "GROUPING SETS ((a), (id))", "()", "a"):
        assert "UNION" not in translated(
            f"SELECT count(*) FROM t GROUP BY {group}", "trino", _columns
        )
    for group in ("CUBE (a)", "GROUPING SETS (())", "GROUPING SETS ((a), ())", "(), ROLLUP (a)"):
        assert "UNION" in translated(f"SELECT count(*) FROM t GROUP BY {group}", "trino", _columns)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x FROM t WHERE (a, c) IN (SELECT id, a FROM t)",
        "SELECT x FROM t WHERE NOT (a, d) IN (SELECT id, k FROM u)",
        "SELECT x FROM t WHERE a IN (VALUES (1), (2))",
        "SELECT MAX(x) OVER (ORDER BY d NULLS LAST RANGE BETWEEN INTERVAL '7' DAY PRECEDING AND"
        " CURRENT ROW) FROM t",
        "SELECT MAX(x) OVER (ORDER BY z DESC RANGE BETWEEN INTERVAL '2' HOUR PRECEDING AND"
        " INTERVAL '1' DAY FOLLOWING) FROM t",
    ],
)
def test_statements_that_mean_the_same(sql: str) -> None:
    assert translated(sql, "trino", _columns) == sql


def test_subtotals_are_ordered_by_more_than_outputs() -> None:
    of_outputs = translated(
        "SELECT a, sum(x), grouping(a) AS g FROM t GROUP BY ROLLUP (a)"
        " ORDER BY CASE WHEN g = 0 THEN a END",
        "trino",
        _columns,
    )
    assert of_outputs.endswith(" ORDER BY CASE WHEN `g` = 0 THEN `a` END NULLS LAST")
    more = "SELECT a, sum(id) AS n FROM t GROUP BY ROLLUP (a) ORDER BY n / count(*), a LIMIT 2"
    assert translated(more, "trino", _columns) == (
        "SELECT `a`, `n` FROM (SELECT a, SUM(id) AS n, ((SUM(id)) DIV COUNT(*)) AS `__key0` FROM t"
        " GROUP BY ROLLUP (a) UNION ALL SELECT MAX(a) AS `a`, SUM(id) AS n,"
        " ((SUM(id)) DIV COUNT(*)) AS `__key0` FROM t HAVING COUNT(*) = 0) AS `subtotals`"
        " ORDER BY `__key0` NULLS LAST, `a` NULLS LAST LIMIT 2"
    )
    unnamed = "SELECT a, sum(x) FROM t GROUP BY ROLLUP (a) ORDER BY min(x), abs(a)"
    assert _client(unnamed).endswith(
        " AS `subtotals` ORDER BY `__key0` NULLS LAST, ABS(`__output0`) NULLS LAST"
    )
    with pytest.raises(UntranslatedError):  # Spark's own name of the sum would be lost
        translated(unnamed, "trino", _columns)


def test_queries_inside_subtotals_keep_their_columns() -> None:
    sql = (
        "SELECT a FROM t GROUP BY ROLLUP (a)"
        " HAVING count(*) > (SELECT max(id) FROM u WHERE a = 'x')"
    )
    assert translated(sql, "trino", _columns).count("WHERE a = 'x'") == 2


@pytest.mark.parametrize(("call", "depth"), [("round({}, 1)", 5), ("ceil({})", 5)])
def test_nested_calls_have_a_bound(call: str, depth: int) -> None:
    """Each repeats its operand; without a bound six of them are megabytes."""
    nested = "x"
    for _ in range(depth):
        nested = call.format(nested)
    with pytest.raises(UntranslatedError, match="too long"):
        translated(f"SELECT {nested} FROM t", "trino", _columns)


def test_nested_subtotals_have_a_bound() -> None:
    nested = "t"
    for at in range(9):
        nested = f"(SELECT a, sum(x) AS x FROM {nested} GROUP BY ROLLUP (a)) AS q{at}"
    with pytest.raises(UntranslatedError, match="too long"):
        translated(f"SELECT * FROM {nested}", "trino", _columns)


def test_a_client_may_be_in_another_zone_than_spark() -> None:
    """Parts of moments go by UTC, whatever Spark's zone is; a clock of the client's is refused."""
    assert _client("SELECT hour(m) FROM t", "Asia/Tokyo", "UTC").startswith("SELECT HOUR(m)")
    assert _BY_UTC in _client("SELECT hour(m) FROM t", "UTC", "Europe/Berlin")
    with pytest.raises(UntranslatedError, match="isn't Spark's"):
        _client("SELECT CAST(z AS timestamp(6) with time zone) FROM t", "Europe/Berlin", "UTC")
    with pytest.raises(UntranslatedError, match="isn't Spark's"):
        _client("SELECT z < m FROM t", "Europe/Berlin", "UTC")
    steady = _client("SELECT CAST(z AS timestamp(6) with time zone) FROM t", "UTC", "Europe/Berlin")
    assert "TIMESTAMP_SECONDS" in steady


def test_time_travel_takes_kinds_of_all_states() -> None:
    """A column that once had another kind has none."""
    states = {("t", "\0"): {"z": "timestamp_ntz", "k": ""}}
    sql = "SELECT hour({}) FROM t FOR VERSION AS OF 12"
    assert "HOUR(z)" in translated(sql.format("z"), "trino", states.get)
    with pytest.raises(UntranslatedError):
        translated(sql.format("k"), "trino", states.get)
