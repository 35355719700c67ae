"""The cube that a table's manifests are: what of a block they tell, whatever its predicate.

Theory: `docs/rewriting.md`, 1, the source *manifest*. Its dimensions are the columns that must have
one value in a file, its states the counts, minima and maxima that manifests hold. So the matcher
says what follows from them, and which files serve is another question.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from msgspec import Struct
from msgspec.structs import replace

from cubes.definition import CubeDefinition, CubeTable, Dimension, StoredState
from cubes.degenerate.block_cube import itself
from cubes.match.match import match
from cubes.match_result import Match
from cubes.may_raise import Sure, unsafe
from rewrite.ir.block import Block
from rewrite.ir.expr import Column, Expr, columns
from rewrite.reason import Declined

_KINDS = {"count": ("count",), "min": ("min",), "max": ("max",)}
_OF_VALUES = frozenset({"count_if", "sum", "avg"})
"""Functions that only a dimension's values give: a value times its rows."""


class Manifested(Struct, frozen=True):
    """The cube that the manifests are for a block, and how it answers the block.

    Where they don't tell its keys or states, `tells` is False: then they say at most which files
    need not be read. Where `raises`, not even that: all rows are read, and each condition is
    tested of each, since it may raise an error.
    """

    cube: CubeDefinition
    match: Match
    tells: bool = True
    raises: bool = False

    @property
    def used(self) -> tuple[Expr, ...]:
        """What is asked of each file: the expressions of its dimensions and states."""
        states = (s.argument for s in self.cube.states if s.argument is not None)
        return (*(d.expr for d in self.cube.dimensions), *states)

    def is_certain(self, fixed: Set[int]) -> bool:
        """Whether files surely have one value in the cube's dimensions: those of `fixed` fields."""
        fields = {c.field_id for d in self.cube.dimensions for c in columns(d.expr)}
        return fields <= fixed


def manifested(
    block: Block,
    fixed: Set[int],
    held: Set[int] = frozenset(),
    *,
    always: bool = False,
    sure: Sure = lambda _: False,
) -> Manifested | Declined:
    """Whether the block's keys and aggregates are such as manifests tell.

    `fixed` are the ids of fields by which the table is partitioned as they are, `held` those of
    fields of which indexes know who has which value. Where they tell nothing, it's as good if they
    say which files need not be read; `always`: or that all need be.
    """
    if len(block.occurrences) != 1:
        return Declined("metadata_one_table")
    found = unsafe(block.conjuncts, sure)
    if found is not None:
        whole = itself(block) if always and found.code == "may_raise" else found
        return Manifested(*whole, tells=False, raises=True) if isinstance(whole, tuple) else found
    name = "manifests", frozenset(fixed), frozenset(held)
    if name not in block.apart:
        block.apart[name] = _matched(block, fixed, held)
    cube, matched = block.apart[name]
    if isinstance(matched, Declined):
        declined = Declined("metadata_lacks", matched.detail or matched.sentence)
    elif matched.needs.bounded:
        declined = Declined("metadata_lacks", "The bounds of a sum of two columns.")
    else:
        return Manifested(cube, matched)
    return _untold(block, always=always) or declined


def _matched(
    block: Block, fixed: Set[int], held: Set[int]
) -> tuple[CubeDefinition, Match | Declined]:
    told = fixed | held
    cube = _cube(block, told if _grouped(block) <= told else fixed)
    return cube, match(replace(block, conjuncts=()), cube)


def _untold(block: Block, *, always: bool) -> Manifested | None:
    """The cube that is the block itself, of which manifests tell nothing."""
    found = itself(block) if block.conjuncts or always else None
    return Manifested(*found, tells=False) if isinstance(found, tuple) else None


def _cube(block: Block, fixed: Set[int]) -> CubeDefinition:
    """The cube that the manifests of the block's table are, as far as the block has use for it."""
    fact = block.occurrences[0]
    grouped = dict.fromkeys(c for k in block.keys for c in _sorted(columns(k)))
    for call in block.aggregates:
        wanted = [] if call.where is None else [call.where]
        if call.distinct or call.function in _OF_VALUES:
            wanted += call.args
        found = dict.fromkeys(c for e in wanted for c in _sorted(columns(e)))
        if all(c.field_id in fixed for c in found):
            grouped |= found
    states: dict[tuple[str, Column | None], StoredState]
    states = {("rows", None): StoredState("rows", None, None, "bigint")}
    for call in block.aggregates:
        argument = call.args[0] if len(call.args) == 1 else None
        kinds = _KINDS.get(call.function, ())
        if isinstance(argument, Column) and argument not in grouped and argument.type is not None:
            for kind in kinds:
                type_ = "bigint" if kind == "count" else argument.type
                states[kind, argument] = StoredState(kind, argument, None, type_)
    return CubeDefinition(
        tables=(CubeTable(fact.table.name, fact.table.uuid, fact.alias, None),),
        left_edges=(),
        conjuncts=(),
        dimensions=tuple(Dimension(c.name, c) for c in grouped),
        measures=(),
        states=tuple(states.values()),
    )


def _grouped(block: Block) -> Set[int]:
    """The fields of which a cell must have one value."""
    found = {c.field_id for key in block.keys for c in columns(key)}
    for call in block.aggregates:
        wanted = [] if call.where is None else [call.where]
        if call.distinct or call.function in _OF_VALUES:
            wanted += call.args
        found |= {c.field_id for e in wanted for c in columns(e)}
    return found


def _sorted(found: Iterable[Column]) -> list[Column]:
    return sorted(found, key=lambda c: c.field_id)
