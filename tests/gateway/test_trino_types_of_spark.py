"""Spark's type texts in Trino's words, and what JDBC is told of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.gateway.catalog.trino_types import JdbcType, jdbc_type
from rewrite.dialects.trino.type_names import trino_type

_NAMES = st.sampled_from(["a", "b c", 'q"t', "Ü", "x9", "9x", "_"])
_PLAIN = st.sampled_from(
    [
        ("int", "integer"),
        ("string", "varchar"),
        ("decimal(10,2)", "decimal(10,2)"),
        ("timestamp", "timestamp(6) with time zone"),
    ]
)


def _quoted(name: str) -> str:
    return name if name in ("a", "x9", "_") else '"' + name.replace('"', '""') + '"'


def _nested(inner: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    rows = st.lists(st.tuples(_NAMES, inner), min_size=1, max_size=3)
    return (
        inner.map(lambda one: (f"array<{one[0]}>", f"array({one[1]})"))
        | st.tuples(inner, inner).map(
            lambda two: (f"map<{two[0][0]},{two[1][0]}>", f"map({two[0][1]}, {two[1][1]})")
        )
        | rows.map(
            lambda some: (
                f"struct<{','.join(f'{name}:{one[0]}' for name, one in some)}>",
                f"row({', '.join(f'{_quoted(name)} {one[1]}' for name, one in some)})",
            )
        )
    )


@given(st.recursive(_PLAIN, _nested, max_leaves=6))
def test_nested_types(pair: tuple[str, str]) -> None:
    spark, trino = pair
    assert trino_type(spark) == trino


@pytest.mark.parametrize(
    ("spark", "trino"),
    [
        ("boolean", "boolean"),
        ("bigint", "bigint"),
        ("float", "real"),
        ("double", "double"),
        ("binary", "varbinary"),
        ("date", "date"),
        ("timestamp_ntz", "timestamp(6)"),
        ("void", "unknown"),
        ("decimal(38, 0)", "decimal(38,0)"),
    ],
)
def test_plain_types(spark: str, trino: str) -> None:
    assert trino_type(spark) == trino


@pytest.mark.parametrize(
    "spark",
    [
        *("geometry", "array<int", "array<int>>", "struct<a int>", "struct<>", "map<int>", ""),
        *("decimal", "int(3,4)", "array<" * 5000 + "int" + ">" * 5000, "struct<a:b:int>"),
    ],
)
def test_what_isnt_known_stays(spark: str) -> None:
    assert trino_type(spark) == spark


@given(st.text("abs<>:,(12)tringmucp "))
def test_any_text_has_an_answer(spark: str) -> None:
    assert isinstance(trino_type(spark), str)


@pytest.mark.parametrize(
    ("trino", "told"),
    [
        ("bigint", JdbcType(-5, 19, radix=10)),
        ("double", JdbcType(8, 53, radix=2)),
        ("decimal(10,2)", JdbcType(3, 10, 2, 10)),
        ("varchar", JdbcType(12, 2147483647, octets=2147483647)),
        ("timestamp(6)", JdbcType(93, 28, 6)),
        ("timestamp(6) with time zone", JdbcType(2014, 62, 6)),
        ("time(0)", JdbcType(92, 8, 0)),
        ("time(3) with time zone", JdbcType(2013, 18, 3)),
        ("array(bigint)", JdbcType(2003)),
        ("row(a bigint)", JdbcType(2000)),
        ("map(varchar, bigint)", JdbcType(2000)),
    ],
)
def test_what_jdbc_is_told(trino: str, told: JdbcType) -> None:
    assert jdbc_type(trino) == told
