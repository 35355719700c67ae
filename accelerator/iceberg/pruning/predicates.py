"""Predicates of a statement, judged by what the manifests say of each data file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Context, Decimal
from functools import reduce
from operator import and_, or_
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from accelerator.iceberg.statistics.file_statistics import Absences, Buckets
from accelerator.iceberg.tables.transforms import bucket_of
from indexes.bounds import ColumnBounds, Verdict, among, compare, is_null
from indexes.domains import domain_of
from indexes.inverted.dictionary import key_of
from indexes.question import Among, Compare, IsNull, Like, Question, Tokens, Within
from indexes.row_verdict import RowVerdict
from rewrite import types
from rewrite.ir.expr import Call, Column, Expr, Literal
from rewrite.ir.regex_literals import LiteralRuns, reading_of
from rewrite.ir.timestamps import micros_of

_TEXT_TESTS = types.TEXT_TESTS - {"like"}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_ENDS = {">": "low", ">=": "low", "<": "high", "<=": "high"}
_WITHIN = "within"
"""Of two comparisons of one column, which it's between."""
_EPOCH = date(1970, 1, 1).toordinal()
_ITEMS_MAX = 100
"""Items of a list that are compared one by one with every file's bounds."""
_BEHIND = b"\xff"
"""Behind every text that begins like what it's put after."""
_UNSURE: Any = object()
_EXACTLY = Context(prec=64)
"""Wider than any constant: Python's own context rounds to 28 digits."""


class ColumnEvidence(Protocol):
    """One column in n files."""

    @property
    def bounds(self) -> ColumnBounds:
        """Its counts and bounds."""
        ...

    @property
    def buckets(self) -> Mapping[int, Buckets]:
        """By their number, the bucket of each file's rows; negative where it isn't known."""
        ...

    @property
    def absences(self) -> Sequence[Absences]:
        """What indexes know of the column."""
        ...


class BoundsAlone(Struct, frozen=True):
    """A `ColumnEvidence` of counts and bounds, and nothing else."""

    bounds: ColumnBounds
    buckets: Mapping[int, Buckets] = field(default_factory=dict)
    absences: Sequence[Absences] = ()


class EvidenceTable(Protocol):
    """What is known of n files, or of n row groups."""

    def __len__(self) -> int: ...

    def column(self, field_id: int, type_: str) -> ColumnEvidence:
        """The column of that Spark type."""
        ...


def judge(conjuncts: Sequence[Expr], statistics: EvidenceTable) -> Verdict:
    """What is proven of the conjunction in each file; every column is of the one table."""
    files = len(statistics)
    return _conjunction(
        conjuncts,
        lambda value: Verdict.constant(files, value),
        lambda expr: _compare(expr, statistics),
        lambda _: True,
    )


class _Proof(Protocol):
    """A verdict of files, or of rows."""

    def __and__(self, other: Self, /) -> Self: ...

    def __or__(self, other: Self, /) -> Self: ...

    def __invert__(self) -> Self: ...


_P = TypeVar("_P", bound=_Proof)


def _conjunction(
    conjuncts: Sequence[Expr],
    constant: Callable[[bool | None], _P],
    leaf: Callable[[Expr], _P],
    settles: Callable[[_P], bool],
) -> _P:
    """What all of them are together: `leaf` tells of what is no constant, AND, OR or NOT.

    A range is asked as one where what's told `settles` it, else its two sides are.
    """

    def together(exprs: Sequence[Expr]) -> list[_P]:
        found, done = list[_P](), set[int]()
        for ranged in _ranges(exprs):
            told = leaf(ranged)
            if settles(told):
                found.append(told)
                done.update(map(id, ranged.args))
        return [*(proof(one) for one in exprs if id(one) not in done), *found]

    def proof(expr: Expr) -> _P:
        match expr:
            case Literal(value=value, type="boolean"):
                return constant(value == "true")
            case Literal(type="void"):
                return constant(None)
            case Call(op="and", args=args):
                return reduce(and_, together(args))
            case Call(op="or", args=args):
                return reduce(or_, map(proof, args))
            case Call(op="not", args=(inner,)):
                return ~proof(inner)
            case Call(op="<>", args=(left, right)):
                return ~leaf(Call("=", (left, right), "boolean"))
        return leaf(expr)

    return reduce(and_, together(conjuncts), constant(True))


def _ranges(conjuncts: Sequence[Expr]) -> list[Call]:
    """What follows of columns that are compared on both sides: both at once, as `_WITHIN`.

    Each alone may be so of many rows where both are of none.
    """
    ends: dict[Column, dict[str, tuple[Any, bool, Expr]]] = {}
    for expr in conjuncts:
        if isinstance(expr, Call) and expr.op in _ENDS:
            column, question = question_of(expr) or (None, None)
            if column is None or not isinstance(question, Compare):
                continue
            side, domain = _ENDS[question.op], domain_of(column.type or "")
            key = None if domain is None else key_of(question.value, domain)
            if key is None:
                continue
            found = key, question.op in ("<", ">"), expr
            known = ends.setdefault(column, {}).setdefault(side, found)
            if (found[0] > known[0]) == (side == "low") and found[:2] != known[:2]:
                ends[column][side] = found
    return [
        Call(_WITHIN, (both["low"][2], both["high"][2]), "boolean")
        for both in ends.values()
        if len(both) == 2
    ]


def _compare(expr: Expr, statistics: EvidenceTable) -> Verdict:
    """A predicate over one column."""
    match expr:
        case Call(op="is_null", args=(Column() as column,)):
            return _is_null(column, statistics)
        case Call(op="in", args=(Column() as column, *items)):
            if len(items) > _ITEMS_MAX:
                return _among(column, items, statistics)
            return reduce(or_, (_compared(column, "=", item, statistics) for item in items))
        case Call(op="like", args=(Column(type="string") as column, Literal() as pattern)):
            return _like(column, pattern.value, statistics)
        case Call(op=op) if op in _TEXT_TESTS:
            return _text_test(expr, statistics)
        case Call(op="<=>", args=(Column() as column, Literal() as literal)):
            return _same(column, literal, statistics)
        case Call(op="<=>", args=(Literal() as literal, Column() as column)):
            return _same(column, literal, statistics)
        case Column(type="boolean") as column:
            return _compared(column, "=", Literal("true", "boolean"), statistics)
        case Call(op=op, args=(low, high)) if op == _WITHIN:
            both = _compare(low, statistics) & _compare(high, statistics)
            return both.also(_by_indexes(expr, statistics))
        case Call(op=op) if op in types.TOKEN_TESTS:
            return _by_indexes(expr, statistics)
        case Call(op=op, args=(Column() as column, Literal() as literal)) if op in _FLIPPED:
            return _compared(column, op, literal, statistics)
        case Call(op=op, args=(Literal() as literal, Column() as column)) if op in _FLIPPED:
            return _compared(column, _FLIPPED[op], literal, statistics)
    return Verdict.unknown(len(statistics))


def _is_null(column: Column, statistics: EvidenceTable) -> Verdict:
    known = _statistics(column, statistics)
    found = is_null(known.bounds)
    for absences in known.absences:
        absent = absences.absent(IsNull())
        if absent is not None:  # never unknown itself
            no = np.zeros(len(absent), dtype=bool)
            found = found.also(Verdict(no, absent, absent, no))
    return found


def judge_rows(
    conjuncts: Sequence[Expr],
    rows: int,
    asked: Callable[[Column, Question], RowVerdict | None],
) -> RowVerdict:
    """What is proven of the conjunction for each row of a file; `asked` answers for one column."""

    def leaf(expr: Expr) -> RowVerdict:
        question = question_of(expr)
        found = None if question is None else asked(*question)
        return RowVerdict.unknown(rows) if found is None else found

    return _conjunction(
        conjuncts,
        lambda value: RowVerdict.constant(rows, value),
        leaf,
        lambda found: len(found.true.upper) < rows,
    )


def question_of(expr: Expr) -> tuple[Column, Question] | None:
    """What the predicate asks of one column, TRUE, FALSE and NULL alike; None for any other."""
    match expr:
        case Call(op="is_null", args=(Column() as column,)):
            return column, IsNull()
        case Call(op="in", args=(Column() as column, *items)):
            values = [_constant(item, column) for item in items]
            return None if any(v is _UNSURE for v in values) else (column, Among(tuple(values)))
        case Call(op=op, args=(Column(type="string") as column, Literal() as text)) if (
            op in types.TEXT_TESTS and text.type == "string"
        ):
            return column, _text_question(op, text.value)
        case Call(op=op, args=(Column(type="string") as column, Literal() as text)) if (
            op in types.TOKEN_TESTS and text.type == "string"
        ):
            wanted = _token_question(op, text.value)
            return None if wanted is None else (column, wanted)
        case Column(type="boolean") as column:
            return column, Among((1,))
        case Call(op="within", args=(low, high)):
            return _within(low, high)
        case Call(op=op, args=(Column() as column, Literal() as literal)) if op in _FLIPPED:
            return _comparison(column, op, literal)
        case Call(op=op, args=(Literal() as literal, Column() as column)) if op in _FLIPPED:
            return _comparison(column, _FLIPPED[op], literal)
    return None


def _comparison(column: Column, op: str, literal: Literal) -> tuple[Column, Question] | None:
    value = _constant(literal, column)
    if value is _UNSURE:
        return None
    return column, Among((value,)) if op == "=" else Compare(op, value)


def _within(low: Expr, high: Expr) -> tuple[Column, Question] | None:
    match question_of(low), question_of(high):
        case (Column() as column, Compare() as least), (_, Compare() as most):
            opens = least.op == ">", most.op == "<"
            return column, Within(least.value, most.value, *opens)
    return None


def _by_indexes(expr: Expr, statistics: EvidenceTable) -> Verdict:
    """What indexes alone know of a predicate."""
    asked = question_of(expr)
    found = Verdict.unknown(len(statistics))
    if asked is None:
        return found
    column, question = asked
    return _also_absent(found, _statistics(column, statistics), question)


def _constant(item: Expr, column: Column) -> Any:
    """Not of NULL: what's compared with it is NULL on every row."""
    return _value(item, column.type or "") if isinstance(item, Literal) else _UNSURE


def _among(column: Column, items: Sequence[Expr], statistics: EvidenceTable) -> Verdict:
    """A long list, looked through once for all files."""
    values = [
        _value(item, column.type or "") if isinstance(item, Literal) else _UNSURE for item in items
    ]
    files = len(statistics)
    if any(value is _UNSURE for value in values):
        return Verdict.unknown(files)
    known = _statistics(column, statistics)
    found = among(known.bounds, values).also(_outside(known, values, column.type or ""))
    return _also_absent(found, known, Among(tuple(values)))


def _also_absent(verdict: Verdict, known: ColumnEvidence, question: Question) -> Verdict:
    """With what indexes prove: files without a row that answers; the others may have NULLs."""
    for absences in known.absences:
        absent = absences.absent(question)
        if absent is not None:
            no = np.zeros(len(absent), dtype=bool)
            false = absent & known.bounds.never_null
            verdict = verdict.also(Verdict(no, false, absent, no))
    return verdict


def _outside(known: ColumnEvidence, values: Sequence[Any], type_: str) -> Verdict:
    """What buckets prove: files in whose bucket none of the values is have none, and no NULL."""
    outside = np.zeros(len(known.bounds.rows), dtype=bool)
    for number, buckets in known.buckets.items():
        wanted = list({bucket_of(value, type_, number) for value in values})
        outside |= (buckets >= 0) & ~np.isin(buckets, wanted)
    no = np.zeros(len(known.bounds.rows), dtype=bool)
    return Verdict(no, outside, outside, no)


def _like(column: Column, pattern: str, statistics: EvidenceTable) -> Verdict:
    """A pattern without escapes, by what it begins with."""
    start = re.split("[%_]", pattern, maxsplit=1)[0].encode()
    rest = pattern[len(start.decode()) :]
    known = _statistics(column, statistics)
    if not rest:
        return _equal(known, start, "string")
    begins = compare(known.bounds, ">=", start) & compare(known.bounds, "<=", start + _BEHIND)
    if rest != "%":
        no = Verdict.unknown(len(statistics)).all_true
        begins = Verdict(no, begins.all_false, begins.none_true, no)
    return _also_absent(begins, known, like_question(pattern))


def like_question(pattern: str) -> Like:
    """A pattern without escapes as indexes are asked for it.

    >>> like_question("a%b_c%")
    Like(runs=('a', 'b', 'c'), starts=True, ends=False, exact=False, folded=False)
    >>> like_question("").runs  # the empty text alone, and not every one
    ('',)
    """
    if not pattern:
        return Like(("",), starts=True, ends=True)
    runs = tuple(run for run in re.split("[%_]", pattern) if run)
    starts, ends = pattern[:1] not in ("%", "_", ""), pattern[-1:] not in ("%", "_", "")
    return Like(runs, starts, ends, exact="_" not in pattern)


def _text_test(expr: Expr, statistics: EvidenceTable) -> Verdict:
    """ILIKE, RLIKE, contains, startswith and endswith."""
    asked = question_of(expr)
    if asked is None:
        return Verdict.unknown(len(statistics))
    column, question = asked
    known, found = _statistics(column, statistics), Verdict.unknown(len(statistics))
    if isinstance(question, Like) and question.starts and not question.folded:
        start = question.runs[0].encode()
        found = compare(known.bounds, ">=", start) & compare(known.bounds, "<=", start + _BEHIND)
    return _also_absent(found, known, question)


def _text_question(op: str, text: str) -> Like:
    if op in ("like", "ilike"):
        found = like_question(text)
        return replace(found, folded=True) if op == "ilike" else found
    if op == "rlike":
        read = reading_of(text) or LiteralRuns(())
        return Like(read.runs, read.starts, exact=False, folded=read.folded)
    runs = (text,) if text else ()
    return Like(runs, op == "startswith" and bool(runs), op == "endswith" and bool(runs))


def _token_question(op: str, text: str) -> Tokens | None:
    """None where the test raises, or nobody here can cut the text."""
    from indexes.domains import NotIndexableError
    from indexes.text.tokens import tokens_of

    folded = op == "match"
    try:
        tokens = tokens_of(text, folded=folded)
    except NotIndexableError:
        return None
    return Tokens(tokens, folded) if folded or tokens == (text,) else None


def _same(column: Column, literal: Literal, statistics: EvidenceTable) -> Verdict:
    """`<=>`, which is never NULL."""
    if literal.type == "void":
        return _is_null(column, statistics)
    equal = _compared(column, "=", literal, statistics)
    return Verdict(equal.all_true, equal.none_true, equal.none_true, equal.all_true)


def _equal(known: ColumnEvidence, value: Any, type_: str) -> Verdict:
    found = compare(known.bounds, "=", value).also(_outside(known, [value], type_))
    return _also_absent(found, known, Among((value,)))


def _statistics(column: Column, statistics: EvidenceTable) -> ColumnEvidence:
    return statistics.column(column.field_id, column.type or "unknown")


def _compared(column: Column, op: str, item: Expr, statistics: EvidenceTable) -> Verdict:
    files = len(statistics)
    if isinstance(item, Literal) and item.type == "void":
        return Verdict.constant(files, None)
    value = _value(item, column.type or "") if isinstance(item, Literal) else _UNSURE
    if value is _UNSURE:
        return Verdict.unknown(files)
    known = _statistics(column, statistics)
    if op == "=":
        return _equal(known, value, column.type or "")
    return _also_absent(compare(known.bounds, op, value), known, Compare(op, value))


def _value(literal: Literal, type_: str) -> Any:
    """The constant as the column's bounds are kept; `_UNSURE` where comparing takes a cast."""
    exact = literal.type in types.EXACT or types.decimal_parts(literal.type) is not None
    parts = types.decimal_parts(type_)
    if exact and (type_ in types.EXACT or parts is not None):
        scaled = Decimal(literal.value).scaleb(parts[1] if parts is not None else 0, _EXACTLY)
        whole = int(scaled)
        return whole if whole == scaled and abs(whole) < 2**63 else _UNSURE
    if type_ == "date" and literal.type == "date":
        return date.fromisoformat(literal.value).toordinal() - _EPOCH
    if type_ == literal.type and type_ in types.TIMESTAMPS:
        return micros_of(literal.value)
    if type_ == "boolean" and literal.type == "boolean":
        return int(literal.value == "true")
    if type_ == "string" and literal.type == "string":
        return literal.value.encode()
    if type_ == "double" and literal.type == "double":
        return float(literal.value)
    return _UNSURE
