"""Trino's exact types of expressions, and what depends on them: `typeof`, the texts of times."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rewrite.dialects.trino.exact_types import common_type
from rewrite.errors import UntranslatedError
from tests.support.trino_answers import spark_text
from tests.support.trino_walk import types


def _asked(sql: str, zone: str = "UTC") -> str:
    return spark_text(sql, _columns, zone).replace("`c`.`s`.", "")


def _columns(parts: tuple[str, ...]) -> Mapping[str, str] | None:
    if parts[-1] == "deep":
        return {"a": "struct<b:decimal(9,2)>", "c": "array<int>", "v": "interval year"}
    return types(parts)


@pytest.mark.parametrize(
    ("operand", "type_"),
    [
        ("c_decimal", "decimal(9,2)"),
        ("c_local", "timestamp(6)"),
        ("c_moment", "timestamp(6) with time zone"),
        ("c_string", "varchar"),
        ("'abc'", "varchar(3)"),
        ("1.5", "decimal(2,1)"),
        ("2147483648", "bigint"),
        ("typeof(c_whole)", "varchar"),
        ("c_double * 2 - 1", "double"),
        ("c_real + c_real", "real"),
        ("CASE WHEN c_boolean THEN 1.5e0 ELSE 2 END", "double"),
        ("if(c_boolean, 'a', lower('XYZ'))", "varchar(3)"),
        ("TRY_CAST(c_string AS integer)", "integer"),
        ("TIMESTAMP '2024-01-31 00:00:00.12 UTC'", "timestamp(2) with time zone"),
    ],
)
def test_typeof(operand: str, type_: str) -> None:
    assert _asked(f"SELECT typeof({operand}) AS r FROM w") == f"SELECT '{type_}' AS r FROM `w`"


@pytest.mark.parametrize(
    "operand",
    [
        "c_whole + 1",
        "-c_long",
        "1 / 0",
        "CAST(c_string AS double)",
        "DATE '2024-13-01'",
        "sum(c_double)",
        "count(*)",
        "row_number() OVER (ORDER BY id)",
        "(SELECT max(id) FROM w)",
        "nosuch",
        "c_decimal * 2e0 * c_decimal / 0",
    ],
)
def test_what_typeof_refuses(operand: str) -> None:
    """What may raise or group, and what isn't known."""
    with pytest.raises(UntranslatedError):
        _asked(f"SELECT typeof({operand}) AS r FROM w")


@pytest.mark.parametrize(
    ("query", "type_"),
    [
        ("SELECT c_local + INTERVAL '1' DAY AS k FROM w", "timestamp(6)"),
        ("SELECT date_trunc('day', CAST(c_local AS timestamp(0))) AS k FROM w", "timestamp(0)"),
        ("SELECT INTERVAL '1' DAY * 2 + CAST(c_date AS timestamp(0)) AS k FROM w", "timestamp(3)"),
        ("SELECT max(c_local) AS k FROM w GROUP BY g", "timestamp(6)"),
        ("SELECT 'a' AS k UNION ALL SELECT 'abc'", "varchar(3)"),
        ("SELECT c_whole AS k FROM w UNION ALL SELECT c_long FROM w", "bigint"),
        ("SELECT k FROM (VALUES 1, NULL, 3000000000) AS v (k)", "bigint"),
        ("SELECT u.c_date AS k FROM w AS u JOIN w AS v USING (id)", "date"),
        ("SELECT c AS k FROM deep", "array(integer)"),
        ("SELECT sum(c_double) AS k FROM w", None),
        ("SELECT 1 / c_whole AS k FROM w", None),
        ("SELECT deep.a.b AS k FROM deep", None),
        ("SELECT v AS k FROM deep", None),
        ("SELECT c_decimal AS k FROM w FOR VERSION AS OF 7", None),
        ("SELECT c_decimal AS k FROM w UNION ALL SELECT 1.555 FROM w", None),
    ],
)
def test_types_follow_names(query: str, type_: str | None) -> None:
    sql = f"SELECT typeof(k) AS r FROM ({query}) AS q"
    if type_ is not None:
        assert _asked(sql).startswith(f"SELECT '{type_}' AS r FROM (")
        return
    with pytest.raises(UntranslatedError, match="exact type of its operand isn't known"):
        _asked(sql)


def test_columns_of_using_have_a_kind_without_one_type() -> None:
    """As before exact types were known: a type that differs takes nothing else away."""
    sql = (
        "SELECT round(k, 1) AS r FROM (SELECT c_decimal AS k FROM w) AS a"
        " JOIN (SELECT 1.5 AS k) AS b USING (k)"
    )
    assert _asked(sql).startswith("SELECT ROUND(k, 1) AS r")


@pytest.mark.parametrize(
    ("types_", "wanted"),
    [
        (["varchar(2)", "varchar"], "varchar"),
        (["unknown"], "unknown"),
        (["integer", None], None),
        (["integer", "real"], "real"),
        (["date", "timestamp(3)"], "timestamp(3)"),
        (["timestamp(0)", "timestamp(6)"], "timestamp(6)"),
        (["date", "timestamp(3) with time zone"], None),
        (["timestamp(3)", "timestamp(3) with time zone"], None),
        (["decimal(2,1)", "integer"], None),
        (["varchar(2)", "integer"], None),
        (["date", "integer"], None),
    ],
)
def test_common_type(types_: list[str | None], wanted: str | None) -> None:
    assert common_type(types_) == wanted


def test_texts_have_the_digits_of_the_type() -> None:
    assert "RPAD(SPLIT_PART(" in _asked("SELECT CAST(c_local AS varchar) AS r FROM w")
    assert ", 3, '0')" in _asked("SELECT CAST(CAST(c_local AS timestamp) AS varchar) AS r FROM w")
    whole = "SELECT CAST(k AS varchar) AS r FROM (SELECT TIMESTAMP '2024-01-31 00:00:00' AS k) AS q"
    assert _asked(whole).startswith("SELECT CAST(k AS STRING) AS r FROM")


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("CAST(c_local AS varchar(16))", "a text may have 29 letters"),
        ("CAST(c_moment AS varchar(32))", "a text may have 33 letters"),
        ("TRY_CAST(c_local AS varchar(40))", "may be rounded or written otherwise"),
        ("CAST(c_moment AT TIME ZONE 'Etc/GMT+3' AS varchar)", "another name for that zone"),
        ("hour(c_moment AT TIME ZONE 'utc')", "no time zone of that name"),
        ("CAST(element_at(array_agg(c_local), 1) AS varchar)", "how many digits it has"),
    ],
)
def test_texts_that_are_refused(expression: str, why: str) -> None:
    with pytest.raises(UntranslatedError, match=why):
        _asked(f"SELECT {expression} AS r FROM w")
