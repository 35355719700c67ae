"""Misuses that Spark surely refuses, and their neighbours that it answers."""

from __future__ import annotations

import pytest

from rewrite.analysis.misuse import misuse, unbound
from rewrite.analysis.unknown_names import LakeNames

_COLUMNS = ("store", "amount", "region", "day", "open")
_KNOWN = LakeNames(
    _COLUMNS,
    frozenset(_COLUMNS),
    {"store": "int", "amount": "bigint", "region": "string", "day": "date", "open": "boolean"},
)


class _Tables:
    def find(self, parts: tuple[str, ...]) -> LakeNames | None:
        return _KNOWN if parts[-1] in ("sales", "empty") else None

    def is_absent(self, parts: tuple[str, ...]) -> bool:
        return self.find(parts) is None

    def near(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        del parts
        return ()


@pytest.mark.parametrize(
    ("sql", "error", "column"),
    [
        ("SELECT store, sum(amount) FROM sales", "MISSING_GROUP_BY", 8),
        ("SELECT store FROM sales HAVING store > 1", "MISSING_GROUP_BY", 8),
        ("SELECT store + amount, count(*) FROM sales GROUP BY store", "MISSING_AGGREGATION", 16),
        ("SELECT s.region FROM sales s GROUP BY s.store", "MISSING_AGGREGATION", 8),
        ("SELECT *, count(*) FROM sales GROUP BY store", "MISSING_AGGREGATION", None),
        ("SELECT store FROM sales WHERE count(*) > 1", "INVALID_WHERE_CONDITION", None),
        ("SELECT sum(max(amount)) FROM sales", "NESTED_AGGREGATE_FUNCTION", None),
        ("SELECT store FROM sales GROUP BY 2", "GROUP_BY_POS_OUT_OF_RANGE", None),
        ("SELECT store, sum(amount) FROM sales GROUP BY sum(amount)", "GROUP_BY_AGGREGATE", None),
        ("SELECT store FROM sales a JOIN empty b ON a.store = b.store", "AMBIGUOUS_REFERENCE", 8),
        ("SELECT 1 UNION SELECT 1, 2", "NUM_COLUMNS_MISMATCH", None),
        ("SELECT store FROM sales WHERE 'x' < amount", "CAST_INVALID_INPUT", 37),
        ("SELECT max(store, amount) FROM sales", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", 8),
        ("SELECT store, nvl(amount) FROM sales", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", 15),
        ("SELECT make_timestamp(1, 2, 3, 4) FROM s", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", 8),
        ("WITH s AS (SELECT left('a')) TABLE s", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", 19),
        ("SELECT 1 AS a ORDER BY pi(2)", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", 24),
        ("SELECT store n FROM sales WHERE N = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION", 33),
        ("SELECT sum(day) FROM sales", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", 12),
        ("SELECT avg(s.open) FROM sales s", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", 12),
        ("SELECT store FROM sales WHERE region", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", 31),
        ("SELECT store FROM sales WHERE 5 < day", "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", 35),
    ],
)
def test_a_misuse_has_sparks_class(sql: str, error: str, column: int | None) -> None:
    fault = misuse(sql, _Tables())
    assert fault is not None
    assert fault.error_class == error
    assert (None if fault.at is None else fault.at.column) == column
    assert fault.hint or fault.suggestions
    hidden = misuse(sql, _Tables(), placed=False)
    assert hidden is not None
    assert hidden.at is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT store s, sum(amount) FROM sales GROUP BY s",
        "SELECT store + 1, sum(amount) FROM sales GROUP BY 1",
        "SELECT store, sum(amount) FROM sales GROUP BY ALL",
        "SELECT store, region, count(*) FROM sales GROUP BY ROLLUP (store, region)",
        "SELECT mode(region), count(*) FROM sales",
        "SELECT store, corr(amount, day) FROM sales GROUP BY store",
        "SELECT store, sum(amount) OVER (PARTITION BY region) FROM sales",
        "SELECT store, (SELECT max(amount) FROM empty) FROM sales",
        "SELECT store FROM sales WHERE amount > (SELECT avg(amount) FROM empty)",
        "SELECT store FROM sales s WHERE EXISTS (SELECT count(*) FROM empty e WHERE e.store = 1)",
        "SELECT store FROM sales WHERE EXISTS (SELECT max(sum(amount)) FROM empty)",
        "SELECT store FROM sales WHERE store IN (SELECT max(store) FROM empty)",
        "SELECT count(*) FROM sales GROUP BY EXISTS (SELECT count(*) FROM empty)",
        "SELECT store FROM sales LEFT SEMI JOIN empty e USING (store)",
        "SELECT store FROM sales JOIN empty e USING (store)",
        "SELECT store FROM sales WHERE store = '1'",
        "SELECT store FROM sales WHERE amount = 'Infinity'",
        "SELECT store FROM sales WHERE store = 'x' LIMIT 0",
        "SELECT store FROM sales WHERE store = 'x' AND region = 'y'",
        "SELECT store FROM sales upper(a, b, c)",
        "SELECT store FROM elsewhere, upper(a, b, c)",
        "WITH upper(a, b) AS (SELECT 1, 2) SELECT a FROM upper",
        "SELECT TRANSFORM(store, amount, region) USING 'cat' FROM sales",
        "SELECT substring(region FROM 2), trim(BOTH 'x' FROM region), dateadd(DAY, 1, day) FROM t",
        "SELECT mode() WITHIN GROUP (ORDER BY store) FROM sales",
        "SELECT least(*) FROM sales",
        "SELECT greatest(sales.*), nullif(1, *), if(store = 1, *) FROM sales",
        "SELECT mask(str => region, upperChar => 'x') FROM sales",
        "SELECT CAST(store AS DECIMAL(10, 2)), CAST(NULL AS MAP<INT, DECIMAL(10, 2)>) FROM sales",
        "SELECT aggregate(array(1), 0, (x, y) -> x + y) FROM sales",
        "SELECT store AS region FROM sales WHERE region = 'x'",
        "SELECT store AS user FROM sales WHERE user = 'x'",
        "SELECT store AS n FROM sales GROUP BY n HAVING n = 1 ORDER BY n",
        "SELECT sum(region), stddev(store), max(day), min(open) FROM sales WHERE open",
        "SELECT day + 1 FROM sales WHERE day = '2026-01-01' AND day > date_add(day, 1)",
        "SELECT store, nobody.x, count(*) FROM elsewhere",
        "SELECT 'a?b', sum(amount) FROM sales -- ?",
    ],
)
def test_what_may_be_right_has_none(sql: str) -> None:
    assert misuse(sql, _Tables()) is None
    assert unbound(sql) is None


def test_a_marker_without_a_value() -> None:
    for sql, column in (("SELECT 1 = ?", 12), ("SELECT 1 = :one", 12)):
        fault = unbound(sql)
        assert fault is not None
        assert fault.at is not None
        assert (fault.error_class, fault.at.column) == ("UNBOUND_SQL_PARAMETER", column)
    assert unbound("SELECT CAST(NULL AS STRUCT<date:INT>)") is None
