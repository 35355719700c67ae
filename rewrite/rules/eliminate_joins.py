"""Joins that a statement can do without: what it wants of a dimension, the fact's rows say.

Theory: `docs/rewriting.md`, 6. A row of the fact meets one partner at most, since the dimension's
key is unique. So a left join of which nothing is used changes nothing. An inner join drops where
all that names the dimension is said in relate columns, and the row has a partner: that is so where
a predicate that isn't TRUE of NULL is TRUE of a relate column that comes from that partner, since
it's NULL of a row without one. These predicates must then be selected exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rewrite.ir.block import Block, Output, SortKey, equal_columns
from rewrite.ir.expr import Call, Column, Expr, columns, occurrences, transform
from rewrite.rules.push_through_joins import STRICT, Partner, Related, partners


class Reduced(Struct, frozen=True):
    """A block without some of its joins.

    `kept` are the occurrences of the statement's block that are left, in the order of the new
    numbers; `selected` are conjuncts on relate columns, numbered anew, that aren't in the block
    any more and must be TRUE of just the rows that are read. `through` gives the occurrences of the
    statement that each relate column stands for.
    """

    block: Block
    kept: tuple[int, ...]
    fact: int
    selected: tuple[Expr, ...]
    through: Mapping[int, tuple[int, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """Of relate columns that are used."""
        found = {c.field_id: c.name for e in self.selected for c in columns(e) if c.field_id < 0}
        return tuple(found.values())


class PinnedFacts(Struct, frozen=True):
    """What is asked of the tables as they're pinned.

    `unique`: whether an occurrence's rows differ in those fields, but for rows with a NULL there.
    `never_null`: whether a relate column is NULL of just those rows that lack a partner on its path
    through those occurrences.
    """

    unique: Callable[[int, frozenset[int]], bool]
    never_null: Callable[[int, tuple[int, ...]], bool]


class _Came(Struct, frozen=True):
    """A relate column of the fact, and the occurrences through which it comes."""

    column: Column
    through: tuple[int, ...]


class JoinElimination:
    """What stands for the columns of a block's dimensions, if these go.

    The fact must be inner or preserved: of a padded one nothing is said.
    """

    def __init__(
        self, block: Block, fact: int, relates: Sequence[Related], known: PinnedFacts
    ) -> None:
        self._block, self._fact, self._known = block, fact, known
        self._edges = {edge.occurrence: edge for edge in block.left_edges}
        self._came: dict[Column, _Came] = {}
        """By the dimension's attribute."""
        self._keys: dict[Column, Column] = {}
        """Of inner dimensions' keys, the column before it on the path that has the same value."""
        self._met: dict[int, dict[Column, Column]] = {}
        """The same by the dimension: one way to each."""
        self._reached: set[int] = set()
        """Inner occurrences of which a row has one partner at most, by some path."""
        states: dict[int, object] = {}
        for related in relates if fact not in block.null_supplied else ():
            for partner in partners(block, fact, related.path):
                self._learn(related, partner, states)

    def reduced(self, *, results: bool = False) -> Reduced | None:
        """The block without each join that it can do without; None where that's none.

        With `results` outputs and keys may be relate columns too, and `selected` stays in the
        block; then no join is left, or nothing is said.
        """
        block, fact = self._block, self._fact
        if fact in block.null_supplied:
            return None
        others = {o.index for o in block.occurrences} - {fact}
        gone = others & (self._reached | self._edges.keys())
        while gone and (gone == others or not results):
            # Keys are counted last, which reads dimensions: most joins are needed anyway.
            blamed = self._blamed(gone, results) or {o for o in gone if not self._is_met_once(o)}
            if not blamed:
                return self._without(gone, results)
            gone -= blamed
        return None

    def _learn(self, related: Related, partner: Partner, states: dict[int, object]) -> None:
        block, path = self._block, partner.occurrences
        self._reached.update(path)
        attribute = block.column(path[-1], related.attribute)
        if attribute is not None:
            # As in `pushed`, of partners that may be padded too: both must take the same state.
            there = [block.occurrences[o].table for o in path]
            state = tuple((t.uuid, t.snapshot_id, attribute.type) for t in there)
            if states.setdefault(related.field_id, state) != state:
                attribute = None
        padded = [o in self._edges for o in path]
        if padded != sorted(padded):  # an inner dimension behind a padded one
            return
        tables = (self._fact, *path)
        for occurrence, step in zip(path, related.path, strict=True):
            if occurrence in self._edges:
                continue
            met = {
                own: other
                for key in step.keys
                if (own := block.column(occurrence, key.own)) is not None
                and (other := block.column(tables[key.of], key.other)) is not None
            }
            if self._met.setdefault(occurrence, met) != met:
                return  # a partner by other keys, of which less or more would be proven
            self._keys |= met
        if attribute is not None and not partner.padded:
            relate = Column(self._fact, related.field_id, related.name, attribute.type)
            self._came.setdefault(attribute, _Came(relate, path))

    def _is_met_once(self, occurrence: int) -> bool:
        """Whether a row surely meets one row of it at most."""
        edge = self._edges.get(occurrence)
        if edge is None:
            return occurrence in self._reached  # its key is counted where its rows are looked up
        pairs = [pair for pair in map(equal_columns, edge.on) if pair is not None]
        own = [c for pair in pairs for c in pair if len({p.occurrence for p in pair}) > 1]
        fields = frozenset(c.field_id for c in own if c.occurrence == occurrence)
        return bool(fields) and self._known.unique(occurrence, fields)

    def _blamed(self, gone: set[int], results: bool) -> set[int]:
        """Those of the occurrences that can't go together with the others."""
        found: set[int] = set()
        for edge in self._block.left_edges:
            if edge.occurrence not in gone:
                found |= self._lacking(edge.on, gone, related=False)
        found |= self._lacking(self._block.keys, gone, related=results)
        found |= self._lacking(self._block.results, gone, related=results)
        for conjunct in self._conjuncts_naming(gone):
            lacking = self._lacking([conjunct], gone, related=True)
            if not lacking and not self._is_own(self._replaced(conjunct, gone)):
                # A relate column beside a table that stays can't be selected by.
                lacking = occurrences(conjunct) & gone
            found |= lacking
        return found or self._unproven(gone)

    def _conjuncts_naming(self, gone: set[int]) -> Iterator[Expr]:
        """Conjuncts that name one of those, but for the equalities by which rows meet them."""
        for conjunct in self._block.conjuncts:
            if occurrences(conjunct) & gone and not self._joins(conjunct, gone):
                yield conjunct

    def _joins(self, conjunct: Expr, gone: set[int]) -> bool:
        """Whether it's an equality that holds wherever the dimensions have a partner."""
        pair = equal_columns(conjunct)
        if pair is None:
            return False
        for own, other in (pair, pair[::-1]):
            if own.occurrence in gone and own in self._keys:
                same = self._stands(own, gone)
                if self._keys[own] == other or (same and same == self._stands(other, gone)):
                    return True
        return False

    def _is_own(self, expr: Expr) -> bool:
        named = columns(expr)
        return all(c.field_id > 0 for c in named) or occurrences(expr) == {self._fact}

    def _lacking(self, exprs: Sequence[Expr], gone: set[int], *, related: bool) -> set[int]:
        """Occurrences with a column in these for which nothing stands."""
        named = {c for e in exprs for c in columns(e) if c.occurrence in gone}
        found = ((c, self._stands(c, gone)) for c in named)
        return {
            c.occurrence
            for c, stands in found
            if stands is None or (stands.field_id < 0 and not related)
        }

    def _stands(self, column: Column, gone: set[int]) -> Column | None:
        """What has the column's value in every row that passes."""
        while column.occurrence in gone:
            before = self._keys.get(column)
            if before is None or (before.occurrence in gone and before not in self._keys):
                came = self._came.get(column) or self._came.get(before or column)
                return None if came is None else came.column
            column = before
        return column

    def _replaced(self, expr: Expr, gone: set[int]) -> Expr:
        def change(node: Expr) -> Expr | None:
            return self._stands(node, gone) if isinstance(node, Column) else None

        return transform(expr, change)

    def _unproven(self, gone: set[int]) -> set[int]:
        """Inner ones of which it isn't known that each row that is left has a partner."""
        proven = {o for came in self._proofs(gone) for o in came.through}
        more = {o for came in self._further(gone, proven) for o in came.through}
        return {o for o in gone if o not in self._edges} - proven - more

    def _proofs(self, gone: set[int]) -> list[_Came]:
        """Relate columns that aren't NULL in any row that passes."""
        said = [self._replaced(conjunct, gone) for conjunct in self._conjuncts_naming(gone)]
        return [
            came for came in self._came.values() if any(_rejects_null(e, came.column) for e in said)
        ]

    def _further(self, gone: set[int], proven: set[int]) -> list[_Came]:
        """Relate columns that may be asked for NULL, to see whether there is a partner."""
        found: list[_Came] = []
        done = set(proven) | set(self._edges)
        for came in self._came.values():
            new = set(came.through) - done
            inner = gone.issuperset(came.through) and not self._edges.keys() & set(came.through)
            if new and inner and self._known.never_null(came.column.field_id, came.through):
                found.append(came)
                done |= new
        return found

    def _without(self, gone: set[int], results: bool) -> Reduced:
        """The block without these."""
        block = self._block
        kept = tuple(o.index for o in block.occurrences if o.index not in gone)
        to = {old: new for new, old in enumerate(kept)}

        def there(expr: Expr) -> Expr:
            return transform(self._replaced(expr, gone), numbered)

        def numbered(node: Expr) -> Expr | None:
            return (
                replace(node, occurrence=to[node.occurrence]) if isinstance(node, Column) else None
            )

        told = [there(c) for c in block.conjuncts if not self._joins(c, gone)]
        proven = {o for came in self._proofs(gone) for o in came.through}
        for came in self._further(gone, proven):
            null = Call("is_null", (numbered(came.column) or came.column,), "boolean")
            told.append(Call("not", (null,), "boolean"))
        selected = tuple(c for c in told if any(column.field_id < 0 for column in columns(c)))
        by_number = {came.column.field_id: came.through for came in self._came.values()}
        made = replace(
            block,
            occurrences=tuple(replace(block.occurrences[old], index=to[old]) for old in kept),
            left_edges=tuple(
                replace(e, occurrence=to[e.occurrence], on=tuple(map(there, e.on)))
                for e in block.left_edges
                if e.occurrence not in gone
            ),
            conjuncts=tuple(c for c in told if results or c not in selected),
            keys=tuple(map(there, block.keys)),
            outputs=tuple(Output(o.name, o.alias, there(o.expr)) for o in block.outputs),
            having=None if block.having is None else there(block.having),
            order=tuple(
                SortKey(there(key.expr), key.descending, key.nulls_first) for key in block.order
            ),
        )
        exprs = (*selected, *made.keys, *made.results)
        used = {c.field_id for e in exprs for c in columns(e) if c.field_id < 0}
        through = {number: by_number[number] for number in sorted(used)}
        return Reduced(made, kept, to[self._fact], selected, through)


def _rejects_null(expr: Expr, column: Column) -> bool:
    """Whether the predicate is surely not TRUE where the column is NULL."""
    if not isinstance(expr, Call):
        return False
    if expr.op in ("and", "or"):
        told = (_rejects_null(arg, column) for arg in expr.args)
        return any(told) if expr.op == "and" else all(told)
    if expr.op == "not":
        inner = expr.args[0]
        if isinstance(inner, Call) and inner.op == "is_null":
            return inner.args == (column,)
        return isinstance(inner, Call) and inner.op in STRICT and _is_operand(inner, column)
    return expr.op in STRICT and _is_operand(expr, column)


def _is_operand(expr: Call, column: Column) -> bool:
    """Of `in` just the first: a NULL among the others leaves TRUE what is found."""
    return column in (expr.args[:1] if expr.op == "in" else expr.args)
