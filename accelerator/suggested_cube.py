"""The CREATE CUBE by which a statement would be answered: proposed from it, and proven to match.

Its dimensions are the statement's keys and the columns of its predicates, so that other constants
are answered too; its measures are the statement's aggregates. What can't be written so, or wouldn't
match, isn't proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import count

from sqlglot.errors import SqlglotError

from accelerator.errors import AcceleratorError
from cubes.definition import define
from cubes.match import match
from cubes.plan import Match
from rewrite.block import Block, Occurrence, equal_columns
from rewrite.errors import DefinitionError
from rewrite.expr import Aggregate, Column, Expr, columns, occurrences, walk
from rewrite.facts import At
from rewrite.reason import DeclinedError
from rewrite.render import Renderer, quote

_NAME_MAX = 60


def suggested_cube(
    block: Block, bind: Callable[[str], Block], taken: Collection[str]
) -> str | None:
    """The DDL; None where no cube of that kind would answer. `taken` are names that cubes have."""
    if block.rows or any(o.at != At() for o in block.occurrences):
        return None
    for fact in (o for o in block.occurrences if o.index not in block.null_supplied):
        try:
            select = _Select(block, fact).text()
            found = match(block, define(bind(select)))
        except (DeclinedError, DefinitionError, AcceleratorError, SqlglotError):
            continue
        if isinstance(found, Match):
            return f"CREATE CUBE {_name(fact, taken)} AS {select}"
    return None


def _name(fact: Occurrence, taken: Collection[str]) -> str:
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in fact.parts[-1].lower())
    names = (f"{plain[:_NAME_MAX]}_cube{number or ''}" for number in count())
    return next(name for name in names if name not in taken)


class _Select:
    """The cube's SELECT, with the fact first."""

    def __init__(self, block: Block, fact: Occurrence) -> None:
        self._block = block
        others = [o for o in block.occurrences if o is not fact]
        self._order = [fact, *others]
        self._aliases = {o.index: f"t{place}" for place, o in enumerate(self._order)}
        self._render = Renderer("spark", self._column, self._aggregate)

    def _column(self, column: Column) -> str:
        return f"{self._aliases[column.occurrence]}.{quote(column.name, 'spark')}"

    def _aggregate(self, call: Aggregate) -> str:
        first, *rest = [*map(self._render.text, call.args[:1]), *call.args[1:]] or ["*"]
        # What stands behind the first one is a percentile's, whose numbers have no suffixes.
        shown = ", ".join((str(first), *(getattr(arg, "value", "") for arg in rest)))
        text = f"{call.function}({'DISTINCT ' if call.distinct else ''}{shown})"
        where = "" if call.where is None else f" FILTER (WHERE {self._render.text(call.where)})"
        return text + where

    def text(self) -> str:
        block = self._block
        keys = list(dict.fromkeys(map(self._render.text, self._dimensions())))
        calls = [self._render.text(call) for call in block.aggregates] or ["count(*)"]
        items = [f"{key} AS d{i}" for i, key in enumerate(keys)]
        items += [f"{call} AS m{i}" for i, call in enumerate(calls)]
        text = f"SELECT {', '.join(items)} FROM {' '.join(self._joined())}"
        return text + (f" GROUP BY {', '.join(keys)}" if keys else "")

    def _dimensions(self) -> Iterator[Expr]:
        yield from self._block.keys
        for conjunct in self._block.conjuncts:
            if equal_columns(conjunct) is None or len(occurrences(conjunct)) < 2:
                yield from sorted(columns(conjunct), key=lambda c: (c.occurrence, c.field_id))
        for call in self._block.aggregates:
            if call.where is not None:
                yield from sorted(columns(call.where), key=lambda c: (c.occurrence, c.field_id))
            for node in (n for arg in call.args for n in walk(arg)):
                if isinstance(node, Column) and call.distinct:
                    yield node

    def _joined(self) -> Iterator[str]:
        left = {edge.occurrence: edge.on for edge in self._block.left_edges}
        seen: set[int] = set()
        for place, own in enumerate(self._order):
            seen.add(own.index)
            table = ".".join(quote(part, "spark") for part in own.parts)
            named = f"{table} AS {self._aliases[own.index]}"
            if not place:
                yield named
                continue
            joins = [
                c
                for c in self._block.conjuncts
                if equal_columns(c) is not None
                and own.index in occurrences(c)
                and len(occurrences(c)) > 1
                and occurrences(c) <= seen
            ]
            on = left.get(own.index, tuple(joins))
            kind = "LEFT JOIN" if own.index in left else "JOIN"
            if not on:
                raise DeclinedError("join_unsupported", "A table that nothing joins.")
            yield f"{kind} {named} ON {' AND '.join(map(self._render.text, on))}"
