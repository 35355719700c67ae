"""The CREATE CUBE by which a statement would be answered: proposed from it, and proven to match.

Its dimensions are the statement's keys and the columns of its predicates, so that other constants
are answered too; its measures are the statement's aggregates. What can't be written so, or wouldn't
match, isn't proposed. Its names are those that a person would choose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count

from sqlglot.errors import SqlglotError

from accelerator.builds.segments.size_estimate import cell_bytes, merged_cells
from accelerator.engines.spark.lazy_engine import INSTALL
from accelerator.errors import AcceleratorError
from accelerator.iceberg import Pin, PinnedTable
from accelerator.query.explain.explanation import Suggestion
from cubes.definition import CubeDefinition, define_stored
from cubes.match.match import match
from cubes.match_result import Match
from rewrite.errors import DefinitionError
from rewrite.facts import At
from rewrite.ir.block import Block, Occurrence, equal_columns
from rewrite.ir.expr import ZONE, Aggregate, Call, Column, Expr, Literal, columns, occurrences, walk
from rewrite.reason import DeclinedError
from rewrite.render.readable import bare, dotted, renderer, without_parentheses

_NAME_MAX, _PART_MAX = 60, 30
_NOT_OF_NAMES = re.compile(r"\W+")
_LACKING = f"only Spark builds a cube for it: {INSTALL} and a Java add that"
_CHUNK = 80
"""Bytes of a column in a file, however few values it has; measured on cubes of one cell."""


def suggested_cube(
    block: Block,
    bind: Callable[[str], Block],
    taken: Collection[str],
    pin: Pin,
    can_build: Callable[[str, str, CubeDefinition], bool] = lambda *_: True,
) -> Suggestion | None:
    """The DDL and its cost; None where no cube of that kind would answer.

    `taken` are names that cubes have. `can_build` decides by name, SELECT and definition whether
    this installation builds the cube. Its fact is the largest table that can be.
    """
    if block.rows or any(o.at != At() for o in block.occurrences):
        return None

    def rows(one: Occurrence) -> int:
        table = pin.pinned(one.parts, one.at)
        return 0 if table is None else table.rows_told

    facts = [o for o in block.occurrences if o.index not in block.null_supplied]
    for fact in sorted(facts, key=lambda o: (-rows(o), o.index)):
        try:
            select = Select(block, fact)
            text = select.text()
            cube = define_stored(bind(text))
            found = match(block, cube)
        except (DeclinedError, DefinitionError, AcceleratorError, SqlglotError):
            continue
        if isinstance(found, Match):
            pinned = [pin.pinned(o.parts, o.at) for o in select.order]
            name = free(select.name(), taken)
            ddl = f"CREATE CUBE {bare(name)} AS {text}"
            if not can_build(name, text, cube):
                return Suggestion(ddl, lacking=_LACKING)
            return _costed(ddl, cube, [one for one in pinned if one is not None])
    return None


def _costed(ddl: str, cube: CubeDefinition, pinned: Sequence[PinnedTable]) -> Suggestion | None:
    """What its build reads, and about what its cells take, as far as sketches tell.

    None where it would take more than it spares.
    """
    if len(pinned) != len(cube.tables):
        return Suggestion(ddl)
    reads = sum(one.size_bytes for one in pinned)
    try:
        cells = merged_cells(cube, [one.sketched() for one in pinned]).cells_max
    except AcceleratorError:
        return Suggestion(ddl, reads)
    rows = pinned[0].rows_told
    if cells is None or not rows:
        return Suggestion(ddl, reads)
    if any(one.kind in _MANY for one in cube.states):
        return Suggestion(ddl, reads)
    files = max(1, len(pinned[0].live_files()))
    cells = min(files * cells, rows)  # until it's compacted each file has its own
    columns = len(cube.states) + len(cube.dimensions)
    then = round(cells * cell_bytes(cube, rows / max(cells, 1))) + files * columns * _CHUNK
    return Suggestion(ddl, reads, then) if then < reads else None


def _slug(text: str) -> str:
    """A word for a name: letters, digits and underscores of it."""
    return _NOT_OF_NAMES.sub("_", text.lower()).strip("_")[:_PART_MAX].strip("_")


_MANY = frozenset({"set", "bitmap", "hll", "kll"})
"""States whose sizes go by their values."""
_OF_UNITS = frozenset({"date_trunc", "trunc"})
_WORDS = {"neg": "minus", "=": "is", "<>": "not"}


def free(name: str, taken: Collection[str]) -> str:
    """The name, with a number where others have it."""
    return next(one for one in (f"{name}{number or ''}" for number in count()) if one not in taken)


class Select:
    """The SELECT of the cube that a block would want, with the fact first in `order`."""

    def __init__(self, block: Block, fact: Occurrence) -> None:
        self._block, self._fact = block, fact
        self.order = [fact, *(o for o in block.occurrences if o is not fact)]
        self._aliases = self._named_tables()
        self._render = renderer(self._column)

    def _named_tables(self) -> dict[int, str]:
        """What each table is called: by its name, with a number where that stands twice."""
        found: dict[int, str] = {}
        for one in self.order:
            found[one.index] = free(one.parts[-1], found.values())
        return found

    def _column(self, column: Column) -> str:
        if len(self.order) == 1:
            return bare(column.name)
        return dotted((self._aliases[column.occurrence], column.name))

    def _text(self, expr: Expr) -> str:
        return without_parentheses(self._render.text(expr))

    def name(self) -> str:
        """E.g. `orders_by_region_day`."""
        plain = _slug(self._fact.parts[-1]) or "cube"
        words = [_slug(one) for one in self._names(self._keys())]
        name = f"{plain}_by_{'_'.join(words)}" if words else f"{plain}_total"
        return name[:_NAME_MAX].rstrip("_")

    def _keys(self) -> list[Expr]:
        found = {self._text(key): key for key in reversed(list(self.dimensions()))}
        return list(reversed(found.values()))

    def _names(self, exprs: Sequence[Expr]) -> list[str]:
        """A name for each, of which none stands twice."""
        taken: list[str] = []
        for one in exprs:
            if isinstance(one, Column):
                name = one.name
            elif isinstance(one, Aggregate) and not one.args:
                name = f"{one.function}_all"
            else:
                name = _slug("_".join(filter(None, _words(one)))) or "value"
            taken.append(free(name.lower(), taken))
        return taken

    def text(self) -> str:
        """The SELECT; DeclinedError where SQL has no words for it, or nothing joins a table."""
        block, keys = self._block, self._keys()
        calls = list(block.aggregates) or [Aggregate("count", (), False, None, "bigint")]
        names = self._names([*keys, *calls])
        items = []
        for expr, name in zip((*keys, *calls), names, strict=True):
            said = isinstance(expr, Column) and expr.name.lower() == name
            items.append(self._text(expr) + ("" if said else f" AS {bare(name)}"))
        text = f"SELECT {', '.join(items)} FROM {' '.join(self._joined())}"
        return text + (f" GROUP BY {', '.join(map(self._text, keys))}" if keys else "")

    def dimensions(self) -> Iterator[Expr]:
        """Its keys and what its predicates name; some of them may stand twice."""
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
        for place, own in enumerate(self.order):
            seen.add(own.index)
            alias = self._aliases[own.index]
            named = dotted(own.parts) + ("" if own.parts[-1] == alias else f" AS {bare(alias)}")
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
            condition = " AND ".join(map(self._render.text, on))
            yield f"{kind} {named} ON {without_parentheses(condition)}"


def _words(expr: Expr) -> Iterator[str]:
    """The words of an expression, for a name."""
    for node in walk(expr):
        if isinstance(node, Column):
            yield node.name
        elif isinstance(node, Aggregate):
            yield node.function + ("_distinct" if node.distinct else "")
        else:
            word = _WORDS.get(node.op, node.op) if isinstance(node, Call) else ""
            yield word if word.replace("_", "").isalnum() else ""
            if isinstance(node, Call) and node.op in _OF_UNITS:
                units = (a for a in node.args if isinstance(a, Literal) and a.type != ZONE)
                yield from (str(one.value) for one in units)
