"""Whether a cube answers a block: the conditions of `docs/rewriting.md`, 3, each with its code.

Order: map table occurrences, compare joins, eliminate what only the cube joins, prove that the
cube keeps every row that the block needs, express predicates and keys over dimensions, derive the
aggregates. What can't be proven declines.

Tables that only the block has are its delta (3.1): their rows are joined to cells as they would be
to the fact's rows. A condition over dimensions and the delta's columns is the same for all rows of
a cell, so these meet the same rows of the delta, and a state counts once for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from itertools import islice, permutations, product

from cubes.definition import CubeDefinition
from cubes.match.derive_aggregates import Deriver
from cubes.match.dimension_expressions import check_delta
from cubes.match.occurrence_view import OccurrenceView, translated
from cubes.match_result import Delta, Match, Needs
from rewrite.bind.select import loose_columns
from rewrite.ir.block import Block, equal_columns
from rewrite.ir.expr import Column, Expr, canonical, columns, occurrences
from rewrite.ir.implication import implies
from rewrite.reason import Declined, DeclinedError
from rewrite.render.readable import words

_MAPPINGS_MAX = 64
_VIEWS_MAX = 64


def match(block: Block, cube: CubeDefinition) -> Match | Declined:
    """The match by the first mapping of occurrences that works, else why the nearest one doesn't.

    Those that leave the fewest tables to the delta come first; theirs is the reason, too.
    """
    if cube.fact.uuid not in block.tables:
        return Declined("fact_not_in_query")
    refused = _refused(block, cube)
    if refused is not None:
        return refused
    declined, hidden = _lacking(block, cube), _hidden(block, cube)
    if declined is None and hidden:
        declined = Declined("column_not_in_cube", f"The column {hidden[0].name}.")
    tried: list[dict[int, int]] = []
    for mapping in _mappings(block, cube, {c.occurrence for c in hidden}):
        if len(tried) >= _MAPPINGS_MAX:
            break
        if mapping in tried:
            continue
        tried.append(mapping)
        try:
            _check_delta(block, cube, mapping)
            return _Attempt(block, cube, mapping).match()
        except DeclinedError as error:
            if declined is None or len(mapping) == len(block.occurrences):
                declined = error.declined
    return declined or Declined("table_not_in_cube")


def hides(block: Block, cube: CubeDefinition) -> bool:
    """Whether the block searches a column of the fact that no part of the cube shows."""
    return _refused(block, cube) is not None


def _refused(block: Block, cube: CubeDefinition) -> Declined | None:
    """A quick no, by such a column: the same one to all cubes that show the same columns."""
    key = cube.fact.uuid, cube.shown_fact
    if key not in block.kept:
        searched = block.searched_alone.get(cube.fact.uuid, {})
        hidden = (column for field, column in searched.items() if field not in cube.shown_fact)
        column = next(hidden, None)
        block.kept[key] = (
            None if column is None else Declined("column_not_in_cube", f"The column {column.name}.")
        )
    refused: Declined | None = block.kept[key]
    return refused


def _hidden(block: Block, cube: CubeDefinition) -> list[Column]:
    """The columns of the cube's tables that the block groups or filters by and it doesn't show."""
    shown, uuids = cube.shown, cube.table_uuids
    return [c for u, c in block.searched if u in uuids and (u, c.field_id) not in shown]


def _mappings(block: Block, cube: CubeDefinition, hidden: Set[int]) -> Iterator[dict[int, int]]:
    """Injective maps of occurrences of the block to the cube's, the same table each.

    What isn't mapped is the delta: tables that stand more often in the block than in the cube, then
    those of `hidden` columns as well, at last all.
    """
    facts = [o.index for o in block.occurrences if o.table.uuid == cube.fact.uuid]
    for fact in facts:
        by_table: dict[str, list[int]] = {}
        for other in block.occurrences:
            if other.index != fact:
                by_table.setdefault(other.table.uuid, []).append(other.index)
        choices = []
        for uuid, mine in by_table.items():
            theirs = [i for i, t in enumerate(cube.tables) if i and t.uuid == uuid]
            if len(theirs) >= len(mine):
                seen = [one for one in mine if one not in hidden]
                tried = islice(
                    permutations(theirs, len(seen)), _MAPPINGS_MAX
                )  # there are n! of them
                choices.append([dict(zip(seen, one, strict=True)) for one in tried])
        for combination in product(*choices):
            yield {fact: 0} | {k: v for part in combination for k, v in part.items()}
    for fact in facts:
        yield {fact: 0}


def _lacking(block: Block, cube: CubeDefinition) -> Declined | None:
    """That a table of the block stands more often there than in the cube."""
    if all(times <= cube.times[uuid] for uuid, times in block.tables.items()):
        return None
    lacks = (
        o.table for o in block.occurrences if cube.times[o.table.uuid] < block.tables[o.table.uuid]
    )
    lacking = next(lacks)
    again = "Another one of" if cube.times[lacking.uuid] else "The table"
    return Declined("table_not_in_cube", f"{again} {lacking.name}.")


def _check_delta(block: Block, cube: CubeDefinition, mapping: Mapping[int, int]) -> None:
    """DeclinedError where the block's delta can't be joined to any cell of the cube."""
    delta = frozenset(o.index for o in block.occurrences).difference(mapping)
    if not delta:
        return
    fact = next(mine for mine, theirs in mapping.items() if theirs == 0)
    if delta not in block.kept:
        block.kept[delta] = None
        try:
            check_delta(block.conditions, delta)
        except DeclinedError as error:
            block.kept[delta] = error.declined
    if isinstance(refused := block.kept[delta], Declined):
        raise DeclinedError(refused.code, refused.detail)
    if (delta, fact) not in block.kept:
        joins = [c for c in block.conditions if not occurrences(c).isdisjoint(delta)]
        found = dict.fromkeys(c for one in joins for c in columns(one) if c.occurrence == fact)
        block.kept[delta, fact] = tuple(found)
    for column in block.kept[delta, fact]:
        if column.field_id not in cube.fact_fields:
            raise DeclinedError("column_not_in_cube", f"The column {column.name}.")


class _Attempt:
    """One mapping tried; raises `DeclinedError` at the first condition that fails."""

    def __init__(self, block: Block, cube: CubeDefinition, mapping: dict[int, int]) -> None:
        self._block, self._cube, self._mapping = block, cube, mapping
        self._inverse = {theirs: mine for mine, theirs in mapping.items()}
        self._fact = self._inverse[0]
        self._delta = frozenset(o.index for o in block.occurrences).difference(mapping)
        self._complete: set[int] = set()
        self._unique: set[int] = set()

    def match(self) -> Match:
        if self._fact in self._block.null_supplied:
            raise DeclinedError("fact_null_supplying")
        kept = self._cached_elimination()
        padded = self._check_left_edges()
        view = self._view(padded)
        self._check_implied(view.conjuncts, kept)
        where = tuple(
            view.expressed.predicate(c)
            for c in self._block.conjuncts
            if not view.done or canonical(c, view.classes.find) not in view.done
        )
        keys = tuple(view.expressed.expression(k) for k in self._block.keys)
        delta = tuple(self._joined(view))
        self._check_outputs()
        deriver = Deriver(self._cube, view, self._block, self._fact)
        finals = deriver.finals()
        named = tuple(sorted((v, q) for q, v in self._mapping.items() if v))
        needs = Needs(
            frozenset(self._complete), frozenset(self._unique), named, tuple(deriver.bounded)
        )
        return Match(self._fact, keys, where, deriver.slots, finals, needs, delta)

    def _joined(self, view: OccurrenceView) -> Iterator[Delta]:
        """The delta as it's joined: its inner occurrences, then each left edge in order."""
        for occurrence in sorted(self._delta - self._block.null_supplied):
            yield Delta(occurrence)
        for edge in self._block.left_edges:
            if edge.occurrence in self._delta:
                yield Delta(edge.occurrence, tuple(map(view.expressed.predicate, edge.on)))

    def _translate(self, expr: Expr) -> Expr:
        """The cube's expression in the block's occurrences."""
        return translated(expr, self._inverse)

    def _view(self, padded: tuple[Expr, ...]) -> OccurrenceView:
        """The cube in the block's occurrences; kept with the cube, since statements repeat."""
        key = (tuple(sorted(self._inverse.items())), padded, self._delta)
        view: OccurrenceView | None = self._cube.views.get(key)
        if view is None:
            view = OccurrenceView.of(self._cube, self._inverse, padded, self._delta)
            if len(self._cube.views) < _VIEWS_MAX:
                self._cube.views[key] = view
        return view

    def _cached_elimination(self) -> Set[int]:
        """`_eliminate`, which is asked once of the occurrences that are mapped."""
        key = frozenset(self._mapping.values())
        found = self._cube.views.get(key)
        if found is None:
            try:
                found = self._eliminate(), frozenset(self._unique), frozenset(self._complete)
            except DeclinedError as error:
                found = error.declined
            if len(self._cube.views) < _VIEWS_MAX:
                self._cube.views[key] = found
        if isinstance(found, Declined):
            raise DeclinedError(found.code, found.detail)
        kept, unique, complete = found
        self._unique, self._complete = set(unique), set(complete)
        return kept

    def _eliminate(self) -> Set[int]:
        """Leave out what only the cube joins, leaf first; returns the occurrences that stay."""
        kept = set(self._mapping.values())
        extra = set(range(len(self._cube.tables))) - kept
        edges = {e.occurrence: e for e in self._cube.edges}
        while extra:
            leaf = next(
                (s for s in sorted(extra, reverse=True) if self._is_leaf(s, kept | extra)), None
            )
            if leaf is None or leaf not in edges:
                name = self._cube.tables[max(extra)].name
                raise DeclinedError("join_not_counted", f"The cube's join with {name}.")
            self._unique.add(leaf)
            if not edges[leaf].left:
                self._complete.add(leaf)
            extra.discard(leaf)
        return kept

    def _is_leaf(self, occurrence: int, present: set[int]) -> bool:
        """Nothing of the cube but the occurrence's own join (and unused dimensions) names it."""
        own = set(self._cube.join_conjuncts(occurrence))
        pairs = zip(self._cube.conjuncts, self._cube.conjunct_tables, strict=True)
        rest: list[Set[int]] = [named for c, named in pairs if c not in own]
        rest += [
            occurrences(c)
            for edge in self._cube.left_edges
            if edge.occurrence != occurrence and edge.occurrence in present
            for c in edge.on
        ]
        left_out = set(range(len(self._cube.tables))) - present
        return not any(occurrence in named and not named & left_out for named in rest)

    def _check_left_edges(self) -> tuple[Expr, ...]:
        """Left edges match whole; left against inner needs every row to have had a partner.

        Returns the ONs of cube's left edges that, for want of padded rows, hold on all its rows.
        """
        if not self._block.left_edges and not self._cube.left_edges:
            return ()
        held: list[Expr] = []
        mine = {e.occurrence: e.on for e in self._block.left_edges}
        theirs = {e.occurrence for e in self._cube.left_edges}
        plain = {canonical(c) for c in self._block.conjuncts}
        for own, cubes in self._mapping.items():
            if own not in mine and cubes not in theirs:
                continue
            on = {canonical(self._translate(c)) for c in self._cube.join_conjuncts(cubes)}
            if own in mine and cubes in theirs:
                same = {canonical(c) for c in mine[own]} == on
            elif own in mine:
                same = {canonical(c) for c in mine[own]} == on and self._counted(cubes)
            else:
                same = on <= plain and self._counted(cubes)
                held += [self._translate(c) for c in self._cube.join_conjuncts(cubes)]
            if not same:
                name = self._cube.tables[cubes].name
                raise DeclinedError("join_differs", f"The join with {name}.")
        return tuple(held)

    def _counted(self, occurrence: int) -> bool:
        if occurrence not in {e.occurrence for e in self._cube.edges}:
            return False
        self._complete.add(occurrence)
        return True

    def _check_implied(self, conjuncts: tuple[Expr, ...], kept: Set[int]) -> None:
        """Every row that the block needs is in the cube: P_Q implies P_V."""
        block = self._block
        mine_left = {e.occurrence: e.on for e in block.left_edges}
        cube = self._cube
        for original, named, conjunct in zip(
            cube.conjuncts, cube.conjunct_tables, conjuncts, strict=True
        ):
            if not named <= kept:
                if any(original in self._cube.join_conjuncts(o) for o in named - kept):
                    continue
                raise DeclinedError(
                    "predicate_not_implied", "The cube filters on a table left out."
                )
            if mine_left and any(
                self._inverse.get(o) in mine_left and original in cube.join_conjuncts(o)
                for o in named
            ):
                continue
            if canonical(conjunct, block.classes.find) in block.canonical_conjuncts:
                continue
            pair = equal_columns(conjunct)
            if pair is not None:
                if block.classes.find(pair[0]) == block.classes.find(pair[1]):
                    continue
                raise DeclinedError(
                    "join_differs", "An equality of the cube isn't in the statement."
                )
            if not implies(block.conjuncts, conjunct, block.classes.find):
                kept_rows = f"It keeps only rows where {words(conjunct)}."
                raise DeclinedError("predicate_not_implied", kept_rows)

    def _check_outputs(self) -> None:
        if any(loose_columns(e, self._block.keys) for e in self._block.results):
            raise DeclinedError("block_unsupported", "A column is neither grouped nor aggregated.")
