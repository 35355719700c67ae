"""What keys mean, against dicts: composite keys, NULLs, chains, what has changed, doubles."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.artifacts.relate.lookup import DimensionLink, Keys, Lookup, Rows, changed, composed
from accelerator.errors import RelateColumnError, RelateKeyError
from tests.support.extent import sized

_TYPES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int32(): st.integers(-3, 6),
    pa.int64(): st.sampled_from([-(2**63), -1, 0, 1, 2**63 - 1]),
    pa.string(): st.sampled_from(["", "a", "b", "ab", "é", "a\0"]),
    pa.date32(): st.sampled_from([date(1, 1, 1), date(2020, 2, 29), date(9999, 12, 31)]),
    pa.decimal128(10, 2): st.sampled_from([Decimal("0.00"), Decimal("-1.50"), Decimal("7.25")]),
    pa.bool_(): st.booleans(),
}
_VALUES = st.none() | st.sampled_from(["v", "w", ""])


@st.composite
def _shapes(draw: st.DrawFn) -> list[pa.DataType]:
    return draw(st.lists(st.sampled_from(list(_TYPES)), min_size=1, max_size=3))


def _key(shape: list[pa.DataType]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*(st.none() | _TYPES[type_] for type_ in shape))


def _dimension(shape: list[pa.DataType]) -> st.SearchStrategy[dict[tuple[Any, ...], Any]]:
    return st.dictionaries(_key(shape), _VALUES, max_size=12)


def _columns(keys: list[tuple[Any, ...]], shape: list[pa.DataType]) -> tuple[pa.Array, ...]:
    return tuple(pa.array([key[i] for key in keys], type_) for i, type_ in enumerate(shape))


def _lookup(rows: dict[tuple[Any, ...], Any], shape: list[pa.DataType]) -> Lookup:
    keys, values = _columns(list(rows), shape), pa.array(list(rows.values()), pa.string())
    names = tuple(f"k{i}" for i in range(len(shape)))
    return composed([DimensionLink(Rows("d", names, keys, {7: values}))], 7)


def _whole(rows: dict[tuple[Any, ...], Any]) -> dict[tuple[Any, ...], Any]:
    """Rows whose key has no NULL: of `=` only these are found."""
    return {key: value for key, value in rows.items() if None not in key}


def _keys(keys: Keys) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in keys.columns), strict=True))


@given(st.data())
@settings(max_examples=sized(70, full=300))
def test_each_key_gets_its_partners_value(data: st.DataObject) -> None:
    shape = data.draw(_shapes())
    rows = data.draw(_dimension(shape))
    asked = data.draw(st.lists(_key(shape), max_size=20))
    asked += data.draw(st.permutations(list(rows)))
    lookup = _lookup(rows, shape)
    wanted = [_whole(rows).get(key) for key in asked]
    assert lookup.of(_columns(asked, shape)).to_pylist() == wanted
    assert sorted(map(repr, _keys(lookup.keys))) == sorted(map(repr, _whole(rows)))
    assert lookup.nbytes >= 0


@given(st.data())
@settings(max_examples=sized(70, full=300))
def test_changed_are_just_the_keys_whose_value_differs(data: st.DataObject) -> None:
    shape = data.draw(_shapes())
    old, new = data.draw(_dimension(shape)), data.draw(_dimension(shape))
    new = data.draw(st.sampled_from([new, {**old, **new}, old]))
    found = _keys(changed(_lookup(old, shape), _lookup(new, shape)))
    missing = object()
    before, after = _whole(old), _whole(new)
    wanted = {
        key
        for key in before.keys() | after.keys()
        if before.get(key, missing) != after.get(key, missing)
    }
    assert (set(found), len(found)) == (wanted, len(wanted))


@given(st.data())
@settings(max_examples=sized(50, full=200))
def test_a_chain_is_followed_key_by_key(data: st.DataObject) -> None:
    """From the fact to `d`, from there to `o`; a row of `d` may find no row there."""
    shape, further = data.draw(_shapes()), data.draw(_shapes())
    inner = data.draw(st.dictionaries(_key(shape), _key(further), max_size=10))
    outer = data.draw(_dimension(further))
    outward = dict(enumerate(_columns(list(inner.values()), further)))
    names = tuple(f"k{i}" for i in range(len(shape)))
    first = Rows("d", names, _columns(list(inner), shape), outward)
    values = {9: pa.array(list(outer.values()), pa.string())}
    second = Rows("o", ("k",) * len(further), _columns(list(outer), further), values)
    others = tuple((0, i) for i in range(len(further)))
    lookup = composed([DimensionLink(first), DimensionLink(second, others)], 9)
    known, end = _whole(inner), _whole(outer)
    asked = [*inner, *data.draw(st.lists(_key(shape), max_size=5))]
    wanted = [end.get(known[key]) if key in known else None for key in asked]
    assert lookup.of(_columns(asked, shape)).to_pylist() == wanted


def test_a_third_dimension_by_columns_of_both_before_it() -> None:
    first = Rows(
        "d", ("k",), (pa.array([1, 2, 3]),), {1: pa.array([10, 20, 99]), 2: pa.array("abc")}
    )
    second = Rows("o", ("k",), (pa.array([10, 20]),), {3: pa.array(["x", "y"])})
    third = Rows(
        "p",
        ("p", "q"),
        (pa.array(["x", "y", "x"]), pa.array(["a", "a", "b"])),
        {4: pa.array([7, 8, 9])},
    )
    links = [
        DimensionLink(first),
        DimensionLink(second, ((0, 1),)),
        DimensionLink(third, ((1, 3), (0, 2))),
    ]
    found = composed(links, 4).of([pa.array([1, 2, 3, None, 4])])
    assert found.to_pylist() == [7, None, None, None, None]


@given(st.data())
@settings(max_examples=sized(50, full=200))
def test_a_key_that_stands_twice_is_refused_and_shown(data: st.DataObject) -> None:
    shape = data.draw(_shapes())
    keys = data.draw(st.lists(_key(shape), min_size=1, max_size=12))
    rows = Rows("lake.d.x", ("p", "q", "r")[: len(shape)], _columns(keys, shape), {})
    whole = [key for key in keys if None not in key]
    twice = {key for key in whole if whole.count(key) > 1}
    if not twice:
        assert sorted(map(repr, _keys(Keys(rows.keyed().keys)))) == sorted(map(repr, whole))
        return
    with pytest.raises(RelateKeyError, match=r"of lake\.d\.x isn't unique") as caught:
        rows.keyed()
    shown = [f"({', '.join(map(str, key))}) × {whole.count(key)}" for key in twice]
    assert sum(one in caught.value.message for one in shown) >= min(len(twice), 5)
    assert caught.value.hint and isinstance(caught.value, RelateColumnError)


def test_some_of_many_doubles_are_shown() -> None:
    keys = (pa.array([n // 2 for n in range(16)]), pa.array(["a"] * 16))
    said = re.escape("the key (k, l) of d isn't unique: (0, a) × 2, (1, a) × 2, (2, a) × 2,")
    with pytest.raises(RelateKeyError, match=said) as caught:
        Rows("d", ("k", "l"), keys, {}).keyed()
    assert caught.value.message.endswith("(4, a) × 2 and 3 more")
    assert caught.value.code == "relate_key_not_unique"


def test_a_double_anywhere_on_the_path_is_refused() -> None:
    first = Rows("d", ("k",), (pa.array([1, 2]),), {1: pa.array([10, 20])})
    second = Rows("o", ("k",), (pa.array([10, 10]),), {2: pa.array(["x", "y"])})
    with pytest.raises(RelateKeyError, match="of o isn't unique"):
        composed([DimensionLink(first), DimensionLink(second, ((0, 1),))], 2)


def test_many_keys_of_several_columns_are_told_apart() -> None:
    """More pairs than 64 bits would number at once."""
    count = 70_000
    numbers = pa.array(range(count), pa.int64())
    keys = Keys((numbers, numbers, numbers, numbers, numbers))
    assert keys.places(keys.columns).equals(pa.array(range(count), pa.int32()))
    other = pa.array([*range(1, count), 0], pa.int64())
    assert keys.places((*keys.columns[:4], other)).null_count == count


def test_a_promoted_attribute_has_not_changed() -> None:
    old = Lookup(Keys((pa.array([1, 2]),)), pa.array([5, 6], pa.int32()))
    new = Lookup(Keys((pa.array([2, 1]),)), pa.array([6, 5], pa.int64()))
    assert len(changed(old, new)) == 0


def test_promoted_keys_have_not_changed_and_others_cannot_be_compared() -> None:
    values = pa.array(["x", "y"])

    def lookup(type_: pa.DataType) -> Lookup:
        return Lookup(Keys((pa.array([1, 2], pa.int32()).cast(type_),)), values)

    for old, new in (
        (pa.int32(), pa.int64()),
        (pa.decimal128(12, 2), pa.decimal128(14, 2)),
    ):
        assert len(changed(lookup(old), lookup(new))) == 0
    for old, new in (
        (pa.string(), pa.int64()),
        (pa.int64(), pa.int32()),
        (pa.decimal128(12, 2), pa.decimal128(14, 3)),
        (pa.int32(), pa.decimal128(12, 0)),
    ):
        with pytest.raises(pa.ArrowTypeError):
            changed(lookup(old), lookup(new))
