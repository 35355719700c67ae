"""Parameters as Spark has them: values and types are those of its own `args`, in both engines."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from accelerator.query.parameters import with_parameters
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark
LIVE = True

_DECIMALS = ("1.50", "-0.001", "1E-38", "5", "0", "-12", "123456789012345678901")
_VALUES: list[Any] = [
    *(None, True, False, 0, 5, -7, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63)),
    *(1.5, -0.0, 1e300, 5e-324, float("inf"), float("-inf"), float("nan")),
    *("", "x", "it's", 'a "b" `c`', "back\\slash\\n", "${spark.master}", "ü😀", "a\nb\x00c", "--"),
    *(b"", b"\x00'\xff", bytearray(b"ab")),
    *(date(2024, 2, 29), date(1600, 1, 1), date(9999, 12, 31)),
    *(datetime(2024, 1, 2, 3, 4, 5, 678), datetime(2024, 1, 2, tzinfo=UTC)),
    datetime(1960, 5, 6, 7, 8, 9, 10, timezone(timedelta(hours=-5, minutes=-30))),
]


@pytest.mark.parametrize("escaped", ["false", "true"])
def test_values_and_types_are_those_of_args(spark_warehouse: SparkWarehouse, escaped: str) -> None:
    session = spark_warehouse.spark.newSession()
    session.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    names = [f"c{n}" for n in range(len(_VALUES))]
    sql = f"SELECT {', '.join(f'? AS {name}' for name in names)}"
    ours = session.sql(with_parameters(sql, _VALUES)).toArrow()
    args = [one if not isinstance(one, datetime) or one.tzinfo else None for one in _VALUES]
    theirs = session.sql(sql, args=args).toArrow()
    for name, value in zip(names, _VALUES, strict=True):
        mine, its = ours.column(name), theirs.column(name)
        if isinstance(value, str):  # in which Spark's own `args` has backslashes, where escaped
            assert mine.to_pylist() == [value]
            assert mine.type == its.type
            continue
        if isinstance(value, datetime) and value.tzinfo is None:
            assert mine.to_pylist() == [value]
            assert str(mine.type) == "timestamp[us]"
            continue
        assert (str(mine.type), repr(mine.to_pylist())) == (str(its.type), repr(its.to_pylist()))


@pytest.mark.parametrize("value", list(map(Decimal, _DECIMALS)))
def test_decimals_keep_their_digits(spark_warehouse: SparkWarehouse, value: Decimal) -> None:
    """Spark's own `lit` gives each the type DECIMAL(38, 18)."""
    found = spark_warehouse.spark.sql(with_parameters("SELECT ? AS c", [value])).toArrow()
    assert found.column(0).to_pylist() == [value]
    text = format(value, "f")
    written = spark_warehouse.spark.sql(f"SELECT {text}BD AS c").toArrow()
    assert found.schema.types == written.schema.types


def test_answers_of_both_engines(spark_warehouse: SparkWarehouse) -> None:
    name = f"lake.d.{spark_warehouse.table('k INT, s STRING, d DECIMAL(9,2), t TIMESTAMP')}"
    spark_warehouse.sql(
        f"INSERT INTO {name} VALUES (1, 'it''s', 1.5, TIMESTAMP'2024-01-02 00:00:00Z'),"
        f" (2, 'x', 2.5, NULL), (3, NULL, NULL, TIMESTAMP'2025-01-02 00:00:00Z')"
    )
    with spark_warehouse.attach() as acc:
        for condition, values in (
            ("s = ?", ["it's"]),
            ("k IN (?, ?)", [1, 3]),
            ("d > ?", [Decimal("1.75")]),
            ("k + ? > ?", [2**40, 1.5]),
            ("t < ?", [datetime(2024, 6, 1, tzinfo=UTC)]),
            ("s <=> ?", [None]),
        ):
            sql = f"SELECT k FROM {name} WHERE {condition} ORDER BY k"
            plain = spark_warehouse.sql(with_parameters(sql, values))
            assert acc.query(sql, values).fetchall() == [(row.k,) for row in plain]
            assert [tuple(row) for row in acc.sql(sql, values).collect()] == [
                (row.k,) for row in plain
            ]
