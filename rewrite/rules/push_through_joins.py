"""A dimension's predicates as predicates on the fact, which has what they need in relate columns.

Theory: `docs/rewriting.md`, 6. A relate column is what the one partner of a fact row has, NULL
where it has none; the partner's key is unique. So in a joined row, inner or with the fact
preserved, the dimension's attribute *is* the relate column, and a predicate that stands above the
join means the same of either. Only where an ON may pad a row that has a partner must the predicate
be one that isn't TRUE of NULL. An expression over attributes is the relate column likewise, as far
as it's NULL where the join pads: what the fact's key has no partner for is NULL there. What is
derived here may be true of more rows than the statement's predicate, never of fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct

from rewrite.ir.block import Block, equal_columns
from rewrite.ir.expr import (
    Call,
    Column,
    Expr,
    canonical,
    canonical_op,
    columns,
    is_null_where,
    transform,
)

"""The place of the fact in a path; its dimensions follow."""
STRICT = frozenset({"=", "<>", "<", "<=", ">", ">=", "in", "like"})
"""Operators that are NULL where the column beside constants is."""


class RelateKey(Struct, frozen=True):
    """A dimension's field that equals one of a table before it in the path, at place `of`."""

    of: int
    other: int
    own: int


class RelateStep(Struct, frozen=True):
    """A join of a path: the dimension's table, and its key."""

    uuid: str
    keys: tuple[RelateKey, ...]


class Related(Struct, frozen=True):
    """A relate column: field `attribute` of the last dimension of a path. Its own id is negative.

    Field ids of Iceberg are positive, so that it takes the place of a column's wherever one stands.
    Where there is an `expression`, it's that instead: a column's occurrence is the place of its
    dimension in the path, from 1 on, and its type the only one of which it holds.
    """

    field_id: int
    name: str
    path: tuple[RelateStep, ...]
    attribute: int
    expression: Expr | None = None


class Pushed(Struct, frozen=True):
    """Predicates on one occurrence, the fact: its own columns, and relate columns of it.

    `through` gives for each relate column the occurrences that are its path's dimensions.
    """

    conjuncts: tuple[Expr, ...]
    through: Mapping[int, tuple[int, ...]]


class Partner(Struct, frozen=True):
    """Occurrences along a path; `padded`: an ON may pad a row that has a partner."""

    occurrences: tuple[int, ...]
    padded: bool = False


def pushed(block: Block, fact: int, relates: Sequence[Related]) -> Pushed:
    """What every row of the fact occurrence satisfies that counts for the block's answer.

    The fact must be inner or preserved: of a padded one nothing is derived.
    """
    if fact in block.null_supplied:
        return Pushed((), {})
    known, maybe = dict[Expr, Column](), dict[Expr, Column]()
    through: dict[int, tuple[int, ...]] = {}
    states: dict[int, tuple[object, ...]] = {}
    for related in relates:
        for partner in partners(block, fact, related.path):
            value = _value(related, partner, block)
            if value is None:
                continue
            tables = [block.occurrences[o].table for o in partner.occurrences]
            state = tuple((t.uuid, t.snapshot_id, value.type) for t in tables)
            if states.setdefault(related.field_id, state) != state:
                continue  # the dimension stands there in two states, of which one is taken
            through.setdefault(related.field_id, partner.occurrences)
            relate = Column(fact, related.field_id, related.name, value.type)
            if partner.padded:
                maybe.setdefault(canonical(value), relate)
            elif isinstance(value, Column):
                known.setdefault(value, relate)
            else:
                known.setdefault(canonical(value, block.classes.find), relate)
    found = []
    for conjunct in block.conjuncts:
        derived = _derived(conjunct, block, fact, known, maybe)
        if derived is not None and columns(derived) and not _is_itself(derived):
            found.append(derived)
    used = {c.field_id for e in found for c in columns(e)}
    return Pushed(
        tuple(dict.fromkeys(found)), {one: at for one, at in through.items() if one in used}
    )


def _value(related: Related, partner: Partner, block: Block) -> Expr | None:
    """What the relate column is in a joined row, as the block has it; None where that isn't sure.

    Of an expression it isn't where a table lacks a column or has it of another type, nor where it
    isn't NULL of a row that the join pads: a key without a partner has NULL.
    """
    if related.expression is None:
        return block.column(partner.occurrences[-1], related.attribute)
    found = {
        one: block.column(partner.occurrences[one.occurrence - 1], one.field_id)
        for one in columns(related.expression)
    }
    if any(here is None or here.type != one.type for one, here in found.items()):
        return None
    value = transform(
        related.expression, lambda node: found[node] if isinstance(node, Column) else None
    )
    first, used = partner.occurrences[0], {c.occurrence for c in columns(value)}
    if partner.padded:
        sure = all(is_null_where(value, partial(_is_of, o)) for o in used)
    else:
        sure = first not in block.null_supplied or is_null_where(value, lambda _: True)
    return value if sure else None


def _is_of(occurrence: int, column: Column) -> bool:
    return column.occurrence == occurrence


def partners(block: Block, fact: int, path: Sequence[RelateStep]) -> Iterator[Partner]:
    """The occurrences that a path means in the block."""

    def further(before: Partner) -> Iterator[Partner]:
        place = len(before.occurrences) - 1
        if place == len(path):
            yield Partner(before.occurrences[1:], before.padded)
            return
        step = path[place]
        for one in block.occurrences:
            if one.table.uuid != step.uuid or one.index in before.occurrences:
                continue
            padded = _joined(block, before.occurrences, one.index, step)
            if padded is not None:
                yield from further(
                    Partner((*before.occurrences, one.index), before.padded or padded)
                )

    yield from further(Partner((fact,)))


def _joined(block: Block, before: tuple[int, ...], dimension: int, step: RelateStep) -> bool | None:
    """Whether the dimension may be padded beside its partner; None where it's joined otherwise."""
    pairs = [
        (block.column(before[key.of], key.other), block.column(dimension, key.own))
        for key in step.keys
    ]
    wanted = [frozenset(pair) for pair in pairs if None not in pair]
    if len(wanted) < len(pairs):
        return None
    edge = next((e for e in block.left_edges if e.occurrence == dimension), None)
    if edge is None:
        find = block.classes.find
        same = all(a and b and a.type == b.type and find(a) == find(b) for a, b in pairs)
        return False if same else None
    told = [equal_columns(one) for one in edge.on]
    has = [frozenset(pair) for pair in told if pair is not None]
    if any(pair not in has for pair in wanted):
        return None
    return any(pair is None or frozenset(pair) not in wanted for pair in told)


def _derived(
    expr: Expr,
    block: Block,
    fact: int,
    known: Mapping[Expr, Column],
    maybe: Mapping[Expr, Column],
) -> Expr | None:
    """What follows from the predicate for the fact alone; None for nothing.

    Of a conjunction what can be said, of a disjunction all or nothing.
    """
    whole = _of_expression(expr, block, known)
    if whole is not None:
        return whole
    if isinstance(expr, Call) and expr.op in ("and", "or"):
        parts = [_derived(arg, block, fact, known, maybe) for arg in expr.args]
        told = [part for part in parts if part is not None]
        if not told or (expr.op == "or" and len(told) < len(parts)):
            return None
        return told[0] if len(told) == 1 else Call(expr.op, tuple(told), expr.type)
    strict = _strict_in(expr)
    lacking = False

    def of_fact(node: Expr) -> Expr | None:
        nonlocal lacking
        if not isinstance(node, Column):
            found = _of_expression(node, block, known)
            return _of_expression(node, None, maybe) if found is None and node in strict else found
        found = _substitute(node, block, fact, known)
        if found is None and node in strict:
            found = maybe.get(node)
        lacking = lacking or found is None
        return found or node

    made = transform(expr, of_fact)
    return None if lacking else made


def _is_itself(expr: Expr) -> bool:
    """Whether it's a column's equality with itself, as a join's becomes."""
    return isinstance(expr, Call) and expr.op == "=" and len(set(expr.args)) == 1


def _strict_in(expr: Expr) -> Sequence[Expr]:
    """Operands of which the predicate is NULL where one is NULL."""
    if not isinstance(expr, Call) or expr.op not in STRICT:
        return ()
    return expr.args[:1] if expr.op == "in" else expr.args


def _of_expression(expr: Expr, block: Block | None, known: Mapping[Expr, Column]) -> Column | None:
    """The relate column that is this expression; with a block through its equal columns, too."""
    if not isinstance(expr, Call):
        return None
    op = canonical_op(expr.op)
    if not any(isinstance(one, Call) and one.op == op for one in known):
        return None
    return known.get(canonical(expr) if block is None else canonical(expr, block.classes.find))


def _substitute(
    column: Column, block: Block, fact: int, known: Mapping[Expr, Column]
) -> Column | None:
    """The fact's column that has the same value in every row that passes."""
    if column.occurrence == fact:
        return column
    if column in known:
        return known[column]
    if column.occurrence in block.null_supplied:
        return None
    representative = block.classes.find(column)
    for own in block.equals.get(representative, ()):
        if own.occurrence == fact:
            return own
        if own in known:
            return known[own]
    return None
