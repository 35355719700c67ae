"""Verdicts of bounds against the rows themselves, in three-valued logic.

Strategy: a few files of random values, NULLs and NaNs; their bounds, perhaps loosened or left out,
their counts, perhaps unknown; random predicates over one column. Each claim must hold on every row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.bounds import UNKNOWN, ColumnBounds, Verdict, among, compare, is_null

Truth = bool | None
_OPS = ("=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class File:
    """The rows of a file, and which of its statistics were written, how loosely."""

    rows: list[Any]
    loose: int
    has_bounds: str
    has_nulls: bool
    has_nans: bool


def _files(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[File]]:
    rows = st.lists(st.none() | values, max_size=4)
    often = st.sampled_from([True, True, True, False])
    sides = st.sampled_from(["lower upper", "lower upper", "lower", "upper", ""])
    file = st.builds(File, rows, st.sampled_from([0, 0, 1]), sides, often, often)
    return st.lists(file, min_size=1, max_size=4)


def _bounds(files: list[File], type_: pa.DataType) -> ColumnBounds:
    lower: list[Any] = []
    upper: list[Any] = []
    for file in files:
        solid = [v for v in file.rows if v is not None and v == v]
        low, high = (bool(solid) and side in file.has_bounds for side in ("lower", "upper"))
        lower.append(_loosened(min(solid), -file.loose) if low else None)
        upper.append(_loosened(max(solid), file.loose) if high else None)
    nulls = [sum(v is None for v in f.rows) if f.has_nulls else UNKNOWN for f in files]
    nans = [sum(v is not None and v != v for v in f.rows) for f in files]
    nans = [n if f.has_nans else UNKNOWN for n, f in zip(nans, files, strict=True)]
    rows = [len(f.rows) for f in files]
    return ColumnBounds(
        pa.array(lower, type_),
        pa.array(upper, type_),
        np.array(rows, dtype=np.int64),
        np.array(nulls, dtype=np.int64),
        np.array(nans, dtype=np.int64),
        pa.types.is_floating(type_),
    )


def _loosened(value: Any, by: int) -> Any:
    """A bound as a writer may truncate it: a shorter text below, a larger one above."""
    if isinstance(value, bytes):
        return value if by == 0 else value[:1] if by < 0 else value + b"\xff"
    return value + by


def _compared(value: Any, op: str, other: Any) -> Truth:
    if value is None:
        return None
    if isinstance(value, float) and value != value:
        return op in (">", ">=")
    return {
        "=": value == other,
        "<": value < other,
        "<=": value <= other,
        ">": value > other,
        ">=": value >= other,
    }[op]


Predicate = tuple[Any, ...]


def _predicates(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Predicate]:
    several = st.tuples(st.just("in"), st.lists(values, min_size=1, max_size=3))
    leaf = st.tuples(st.sampled_from(_OPS), values) | st.just(("null",)) | several
    return st.recursive(
        leaf,
        lambda inner: (
            st.tuples(st.just("not"), inner)
            | st.tuples(st.sampled_from(["and", "or"]), inner, inner)
        ),
        max_leaves=4,
    )


def _judged(predicate: Predicate, column: ColumnBounds) -> Verdict:
    match predicate:
        case ("null",):
            return is_null(column)
        case ("in", values):
            return among(column, values)
        case ("not", inner):
            return ~_judged(inner, column)
        case ("and", left, right):
            return _judged(left, column) & _judged(right, column)
        case ("or", left, right):
            return _judged(left, column) | _judged(right, column)
    return compare(column, *predicate)


def _truth(predicate: Predicate, value: Any) -> Truth:
    match predicate:
        case ("null",):
            return value is None
        case ("in", values):
            return None if value is None else any(value == one for one in values)
        case ("not", inner):
            found = _truth(inner, value)
            return None if found is None else not found
        case ("and", left, right):
            both = (_truth(left, value), _truth(right, value))
            return False if False in both else None if None in both else True
        case ("or", left, right):
            both = (_truth(left, value), _truth(right, value))
            return True if True in both else None if None in both else False
    return _compared(value, *predicate)


def _check(files: list[File], predicate: Predicate, type_: pa.DataType) -> Verdict:
    verdict = _judged(predicate, _bounds(files, type_))
    for index, file in enumerate(files):
        truths = [_truth(predicate, value) for value in file.rows]
        assert not verdict.all_true[index] or all(t is True for t in truths)
        assert not verdict.all_false[index] or all(t is False for t in truths)
        assert not verdict.none_true[index] or True not in truths
        assert not verdict.none_false[index] or False not in truths
    return verdict


_NUMBERS = st.integers(-3, 3)
_FLOATS = st.sampled_from([-1.5, -0.0, 0.0, 0.5, 1.5, math.nan, math.inf])
_TEXTS = st.sampled_from([b"", b"a", b"ab", b"b", b"ba", "ä".encode()])


@settings(deadline=None)
@given(_files(_NUMBERS), _predicates(_NUMBERS))
def test_claims_hold_on_numbers(files: list[File], predicate: Predicate) -> None:
    _check(files, predicate, pa.int64())


@settings(deadline=None)
@given(_files(_FLOATS), _predicates(st.sampled_from([-1.5, 0.0, 0.5, math.inf])))
def test_claims_hold_on_floats(files: list[File], predicate: Predicate) -> None:
    _check(files, predicate, pa.float64())


@settings(deadline=None)
@given(_files(_TEXTS), _predicates(_TEXTS))
def test_claims_hold_on_texts(files: list[File], predicate: Predicate) -> None:
    _check(files, predicate, pa.binary())


@settings(deadline=None)
@given(
    _files(_NUMBERS).map(lambda fs: [File(f.rows, 0, "lower upper", True, True) for f in fs]),
    _NUMBERS,
)
def test_tight_bounds_decide_ranges(files: list[File], value: int) -> None:
    """With exact statistics and one comparison nothing that could be claimed is missed."""
    for op in ("<", "<=", ">", ">="):
        verdict = _check(files, (op, value), pa.int64())
        for index, file in enumerate(files):
            truths = [_compared(row, op, value) for row in file.rows]
            if truths:
                assert verdict.all_true[index] == all(t is True for t in truths)
                assert verdict.none_true[index] == (True not in truths)


@settings(deadline=None)
@given(_files(_FLOATS).map(lambda fs: [File(f.rows, 0, "lower upper", True, True) for f in fs]))
def test_nan_hides_no_file_from_what_is_below(files: list[File]) -> None:
    for predicate in (("<", 0.5), ("=", 0.5), ("in", [0.5, 1.0])):
        verdict = _check(files, predicate, pa.float64())
        for index, file in enumerate(files):
            solid = [v for v in file.rows if v is not None and v == v]
            if not solid or (min(solid) >= 0.5 if predicate[0] == "<" else min(solid) > 1.0):
                assert verdict.none_true[index]


def test_a_constant_predicate() -> None:
    for value in (True, False, None):
        verdict = Verdict.constant(1, value)
        claims = (verdict.all_true, verdict.all_false, verdict.none_true, verdict.none_false)
        assert [bool(c[0]) for c in claims] == [
            value is True,
            value is False,
            value is not True,
            value is not False,
        ]
    assert not any(c.any() for c in (Verdict.unknown(2).all_true, Verdict.unknown(2).none_true))


def test_nan_is_above_every_number() -> None:
    files = [
        File([0.5, math.nan], 0, "lower upper", True, True),
        File([math.nan], 0, "", True, True),
    ]
    assert _check(files, (">", 1.5), pa.float64()).none_true.tolist() == [False, False]
    assert _check(files, (">", 0.0), pa.float64()).all_true.tolist() == [True, True]
    assert _check(files, ("<", 0.5), pa.float64()).none_true.tolist() == [True, True]
    assert _check(files, ("in", [0.5]), pa.float64()).all_true.tolist() == [False, False]
