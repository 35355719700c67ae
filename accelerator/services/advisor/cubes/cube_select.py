"""A block as the SELECT of a cube over one fact, and such SELECTs merged. Pure.

A star is a block without predicates: its fact is occurrence 0, each further occurrence is joined to
earlier ones by equalities or a left join, its keys are the cube's dimensions and its outputs the
measures. Two occurrences of two stars are the same where they're the same table, joined in the same
way to what is the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from accelerator.query.explain.suggest_cube import Select
from rewrite.facts import At
from rewrite.ir.block import Block, LeftEdge, Occurrence, Output, equal_columns
from rewrite.ir.expr import (
    Aggregate,
    Call,
    Column,
    Expr,
    canonical,
    columns,
    occurrences,
    transform,
)
from rewrite.reason import DeclinedError
from rewrite.render.readable import renderer

_TABLES_MAX = 24
"""A star with more of them is no candidate."""


def star(block: Block, fact: int, *, distinct: bool = False) -> Block:
    """The star that a block wants of a fact; DeclinedError where there is none.

    Distinct aggregates are counted by their arguments, which are dimensions; with `distinct` they
    are measures, too.
    """
    if block.rows or any(o.at != At() for o in block.occurrences):
        raise DeclinedError("block_unsupported", "Rows, or a past state.")
    if fact in block.null_supplied or len(block.occurrences) > _TABLES_MAX:
        raise DeclinedError("join_unsupported", "No cube's fact.")
    order = _order(block, fact)
    places = {old: new for new, old in enumerate(order)}
    moved = _Moved(places)
    select = Select(block, block.occurrences[fact])
    calls = [call for call in block.aggregates if distinct or not call.distinct]
    joins = tuple(moved.expr(c) for c in block.conjuncts if _joins(c))
    return _star(
        [moved.occurrence(block.occurrences[old]) for old in order],
        [LeftEdge(places[e.occurrence], moved.exprs(e.on)) for e in block.left_edges],
        joins,
        [moved.expr(key) for key in select.dimensions() if columns(key)],
        [call for call in map(moved.expr, calls) if isinstance(call, Aggregate)],
    )


def merged(one: Block, other: Block) -> Block:
    """The star that has what either has; a join that is inner in either is inner.

    Both are over the same fact; DeclinedError where they have too many tables together.
    """
    known = {name: number for number, name in enumerate(names(one))}
    places: dict[int, int] = {}
    added: list[Occurrence] = []
    for number, name in enumerate(names(other)):
        place = known.get(name)
        if place is None:
            place = len(one.occurrences) + len(added)
            added.append(replace(other.occurrences[number], index=place))
        places[number] = place
    if len(one.occurrences) + len(added) > _TABLES_MAX:
        raise DeclinedError("join_unsupported", "Too many tables.")
    moved = _Moved(places)
    left = {e.occurrence: e for e in one.left_edges}
    theirs = {places[e.occurrence]: e for e in other.left_edges}
    both = {places[number] for number in range(len(other.occurrences))} & set(
        range(len(one.occurrences))
    )
    edges = [e for e in left.values() if e.occurrence not in both or e.occurrence in theirs]
    edges += [
        LeftEdge(place, moved.exprs(e.on)) for place, e in theirs.items() if place not in both
    ]
    joins = (*one.conjuncts, *moved.exprs(other.conjuncts))
    return _star(
        [*one.occurrences, *added],
        edges,
        joins,
        [*one.keys, *moved.exprs(other.keys)],
        [*one.aggregates, *(c for c in moved.exprs(other.aggregates) if isinstance(c, Aggregate))],
    )


@lru_cache(4096)
def names(star: Block) -> tuple[str, ...]:
    """What each occurrence is, whichever star it stands in."""
    found: list[str] = []
    left = {e.occurrence: e.on for e in star.left_edges}
    for own in star.occurrences:
        number = own.index
        if not number:
            found.append(own.table.uuid)
            continue
        on = left.get(number) or tuple(c for c in star.conjuncts if _last(c) == number)
        known = (*found, "itself")
        texts = sorted(_text(c, known) for c in on)
        digest = hashlib.blake2b(repr((own.table.uuid, texts)).encode(), digest_size=12)
        name = digest.hexdigest()
        again = sum(one.startswith(name) for one in found)
        found.append(f"{name}/{again}" if again else name)
    return tuple(found)


@lru_cache(4096)
def key_names(star: Block) -> tuple[str, ...]:
    """What each key is, whichever star it stands in."""
    known = names(star)
    return tuple(_text(key, known) for key in star.keys)


@lru_cache(4096)
def measure_names(star: Block) -> tuple[str, ...]:
    """What each measure is, whichever star it stands in."""
    known = names(star)
    return tuple(_text(call, known) for call in star.aggregates)


def name_of(star: Block) -> str:
    """What a star is: equal for stars that are the same but for the order of their parts."""
    left = {names(star)[e.occurrence] for e in star.left_edges}
    parts = (
        sorted(names(star)),
        sorted(left),
        sorted(key_names(star)),
        sorted(measure_names(star)),
    )
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()


class _Moved:
    """Expressions with other numbers of occurrences."""

    def __init__(self, places: Mapping[int, int]) -> None:
        self._places = places

    def occurrence(self, one: Occurrence) -> Occurrence:
        return replace(one, index=self._places[one.index], path=(one.parts[-1],))

    def expr(self, expr: Expr) -> Expr:
        def change(node: Expr) -> Expr | None:
            if isinstance(node, Column):
                return replace(node, occurrence=self._places[node.occurrence])
            return None

        return transform(expr, change)

    def exprs(self, some: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(map(self.expr, some))


def _star(
    tables: Sequence[Occurrence],
    edges: Sequence[LeftEdge],
    joins: Sequence[Expr],
    keys: Sequence[Expr],
    calls: Sequence[Aggregate],
) -> Block:
    made = Block(
        occurrences=tuple(tables),
        left_edges=tuple(sorted(edges, key=lambda e: e.occurrence)),
        conjuncts=_once(joins, joins),
        keys=_once(keys, joins),
        outputs=tuple(Output(None, None, call) for call in _once(calls, ())),
        having=None,
        order=(),
        limit=None,
        grouped=True,
    )
    inner = {_last(c) for c in made.conjuncts}
    if any(e.occurrence in inner for e in made.left_edges):
        raise DeclinedError("join_unsupported", "A left join that a predicate makes an inner one.")
    return made


def _once(exprs: Sequence[Expr], joins: Sequence[Expr]) -> tuple[Expr, ...]:
    """Each once, of columns that a join makes equal the first; of joins the first way round."""
    is_joins = exprs is joins
    find = Block(
        (), (), () if is_joins else tuple(joins), (), (), None, (), None, True
    ).classes.find
    found: dict[Expr, Expr] = {}
    for one in exprs:
        found.setdefault(canonical(one, find), one)
    return tuple(found.values())


def _joins(conjunct: Expr) -> bool:
    return equal_columns(conjunct) is not None and len(occurrences(conjunct)) > 1


def _last(conjunct: Expr) -> int:
    return max(occurrences(conjunct))


def _order(block: Block, fact: int) -> list[int]:
    """The occurrences in an order in which each is joined to earlier ones."""
    left = {e.occurrence: e.on for e in block.left_edges}
    joins = [occurrences(c) for c in block.conjuncts if _joins(c)]
    order, waiting = [fact], [o.index for o in block.occurrences if o.index != fact]

    def is_joined(number: int) -> bool:
        seen = {*order, number}
        if number in left:
            return all(occurrences(c) <= seen for c in left[number])
        return any(number in named and named <= seen for named in joins)

    while waiting:
        found = next((number for number in waiting if is_joined(number)), None)
        if found is None:
            raise DeclinedError("join_unsupported", "A table that nothing joins.")
        order.append(found)
        waiting.remove(found)
    return order


def _text(expr: Expr, known: Sequence[str]) -> str:
    """The expression with what its columns are in the place of their names."""
    write = renderer(lambda c: f"<{known[c.occurrence]}.{c.field_id}>")
    if isinstance(expr, Call) and expr.op == "=":
        return " = ".join(sorted(map(write.text, expr.args)))
    return write.text(canonical(expr))


def facts_of(block: Block, rows: Sequence[int]) -> Iterator[int]:
    """The occurrences that may be the fact, those with most rows first."""
    found = [o.index for o in block.occurrences if o.index not in block.null_supplied]
    yield from sorted(found, key=lambda number: (-rows[number], number))
