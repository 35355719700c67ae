"""What counts as the same answer."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from bench.compare import Answer, difference


def _table(**columns: list[object]) -> Answer:
    return Answer.of(pa.table(columns))


def test_equal_answers_may_come_in_another_order() -> None:
    assert difference(_table(a=[1, 2, None]), _table(a=[None, 2, 1])) is None


def test_order_by_keys_keep_their_order() -> None:
    one, two = _table(a=[1, 2], b=[3, 3]), _table(a=[2, 1], b=[3, 3])
    assert difference(one, two, order_by=(1,)) is None
    assert "ORDER BY" in str(difference(one, two, order_by=(0,)))


@pytest.mark.parametrize(
    ("one", "two"),
    [([1], [2]), ([None], [0]), (["a"], ["a "]), ([1.0], [1.1]), ([1, 1, 2], [1, 2, 2])],
)
def test_other_values_differ(one: list[object], two: list[object]) -> None:
    assert difference(_table(a=one), _table(a=two)) is not None


def test_doubles_may_differ_in_the_last_digits() -> None:
    assert difference(_table(a=[0.1 + 0.2]), _table(a=[0.3])) is None
    assert difference(_table(a=[float("nan")]), _table(a=[float("nan")])) is None
    assert difference(_table(a=[float("nan")]), _table(a=[1.0])) is not None


def test_names_types_and_shape_count() -> None:
    assert "named" in str(difference(_table(a=[1]), _table(b=[1])))
    narrow = Answer.of(pa.table({"a": pa.array([1], pa.int32())}))
    assert "int32" in str(difference(_table(a=[1]), narrow))
    assert difference(_table(a=[1]), Answer(narrow.rows)) is None
    assert "rows" in str(difference(_table(a=[1]), _table(a=[1, 1])))
    assert "columns" in str(difference(_table(a=[1]), _table(a=[1], b=[1])))


def test_a_decimal_equals_the_same_integer_where_types_do_not_count() -> None:
    assert difference(Answer([(Decimal(2),), (Decimal(10),)]), _table(a=[10, 2])) is None
