"""Sources, asked one after the other: what each leaves goes to the next.

Imports Arrow's compute module, which answers from segments alone have no use for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from accelerator.artifacts.relate.expressions import spark_text_of
from accelerator.common.arrow.spark_types import is_known
from accelerator.iceberg.pruning.float_doubts import scanned_conditions
from accelerator.iceberg.pruning.spark_doubts import joined_pruning_doubt
from accelerator.planning.plans.candidate import ALL_ROWS, MANIFESTS, Attempt
from accelerator.planning.plans.cover_value import (
    ROWS,
    Cover,
    Passed,
    Share,
    StoredStates,
    UsedRelate,
)
from accelerator.planning.sources.choose import CoverCandidate, costed
from accelerator.planning.sources.index import Deleted, IndexCells
from accelerator.planning.sources.manifest import ManifestCells
from accelerator.planning.sources.nothing import Nothing
from accelerator.planning.sources.rows import RawRows, SelectedRows
from accelerator.planning.sources.source import CoverResult, Filled, Source, Unserved
from cubes.definition import CubeDefinition
from cubes.degenerate.block_cube import itself
from cubes.degenerate.manifest_cube import Manifested
from cubes.match_result import Match
from cubes.merge.align_slots import aligned
from rewrite.facts import TableFacts
from rewrite.ir.block import Block
from rewrite.ir.expr import Expr
from rewrite.reason import Declined
from rewrite.rules.eliminate_joins import Reduced

if TYPE_CHECKING:
    from accelerator.artifacts.relate.index_validity import PinnedRelate
    from accelerator.iceberg import PinnedTable
    from accelerator.planning.survey import Believed, Survey

_ADDED = frozenset({"rows", "count"})


def served(sources: Sequence[Source], left: Unserved) -> CoverResult | Declined:
    """The shares of these sources, and what they leave; Declined of the first that forbids it."""
    shares: list[Share] = []
    passed: list[Passed] = []
    for source in sources:
        found = source.serve(left)
        if isinstance(found, Declined):
            return found
        shares += found.shares
        passed += found.passed
        left = found.left
    return CoverResult(tuple(shares), left, tuple(passed))


class FactAlone(Struct, frozen=True, dict=True):
    """A block over one table, or over a join's fact in place of it, and who may tell its states.

    The survey is of the table's files; `reduced` is the join without its dimensions, which are
    `gone`, as `relates` say what is asked of them.
    """

    block: Block
    told: Manifested
    asked: Survey
    deleted: Deleted
    reduced: Reduced | None = None
    relates: tuple[PinnedRelate, ...] = ()
    gone: tuple[TableFacts, ...] = ()

    @cached_property
    def _believed(self) -> Believed | Declined:
        conditions, table = self.block.tested, self.asked.table
        if self.reduced is None and table is not None:
            conditions = scanned_conditions(self.block, table)
        return self.asked.believed(conditions, self.told.used)

    @cached_property
    def _cube(self) -> CubeDefinition | None:
        """The cube of which cells are told; None where they aren't, or are of nested types."""
        cube = self.told.cube
        types = (*(d.expr.type for d in cube.dimensions), *(s.type for s in cube.states))
        return cube if self.told.tells and all(map(is_known, types)) else None

    def _sources(self, known: Believed, *, sidecars: bool = True) -> list[Source]:
        cube = self._cube
        found: list[Source] = [Nothing(known)]
        if cube is not None:
            found.append(ManifestCells(cube, known))
        if sidecars:
            found.append(IndexCells(self.block.conjuncts, cube, known, self.deleted))
        return found

    def candidate(self, *, sidecars: bool = True, always: bool = False) -> Attempt | CoverCandidate:
        """The cover by all of them; `Attempt` with a reason where they don't spare a single file.

        But `always` a cover. `sidecars`: whether these are asked, which takes time.
        """
        asked = self.asked
        tried = Attempt(MANIFESTS, None, 0, 0, len(asked), decoding=asked.decoding)
        known = self._believed
        if isinstance(known, Declined):
            return replace(tried, declined=known)
        found = served([*self._sources(known, sidecars=sidecars), RawRows()], Unserved())
        if isinstance(found, Declined):
            return replace(tried, declined=found)
        cover = Cover(
            self.told.cube, self.told.match, found.shares, survey=asked, passed=found.passed
        )
        if not always and len(asked) and cover.files() == cover.files(ROWS):
            return replace(tried, declined=Declined("metadata_no_file"))
        if self._cube is not None:
            cover = replace(cover, cells=merged(self._cube, self.told.match, found.shares))
        if self.reduced is not None:
            relates = used_relates(self.relates)
            own, gone = self.block.conjuncts, self.gone
            cover = replace(cover, own=own, relates=relates, gone=gone)
        told = self._cube is not None and not len(asked)  # of no file
        title = ALL_ROWS if cover.is_whole and not told else MANIFESTS
        return CoverCandidate(
            title, None, cover, costed(title, cover, asked.decoding), self.reduced
        )

    def filled(self, match: Match, left: Unserved) -> Filled:
        """Files that a cube lacks; none are served where other states than its match's are told.

        Cells that are told merge with the cube's.
        """
        cube, own = self._cube, aligned(match, self.told.match)
        if cube is None or own is None or self.asked.left_out_afar:
            return Filled.none(left, "metadata_lacks")
        known = self._believed
        if isinstance(known, Declined):
            return Filled.none(left, known.code)
        found = served(self._sources(known), left)
        if isinstance(found, Declined):
            return Filled.none(left, found.code)
        if not any(one.files for one in found.shares):
            return Filled(CoverResult((), left, found.passed))
        return Filled(found, merged(cube, own, found.shares), used_relates(self.relates))


def joined_candidate(
    block: Block,
    fact: int,
    asked: Survey,
    pinned: Sequence[PinnedTable],
    *,
    always: bool = False,
    selected: Sequence[Expr] = (),
) -> Attempt | CoverCandidate:
    """The cover that reads what is left of the fact occurrence, which the survey is of.

    No state is stored: the block is its own cube, and its rows are read, aggregated and joined as a
    cube's raw rows are. What is proven of a file, or of rows in it, is proven by the fact's own
    columns and by relate columns, which have a dimension's attributes.

    `selected` are such of its conjuncts as the block doesn't have: of the rows that are read
    they're TRUE. `Attempt` with a reason where no file is left out, unless `always`, or where the
    rows that are selected aren't known.
    """
    tried = Attempt(MANIFESTS, None, decoding=asked.decoding)
    doubt = joined_pruning_doubt(block, pinned)
    if isinstance(doubt, Declined):
        return replace(tried, declined=doubt)
    own = itself(block, fact)
    if isinstance(own, Declined):
        return replace(tried, declined=own)
    tried = replace(tried, uncovered=len(asked))
    known = asked.believed(asked.own)
    if isinstance(known, Declined):
        return replace(tried, declined=known)
    asked.proofs = doubt
    found = served([Nothing(known), SelectedRows(known, selected)], Unserved())
    if isinstance(found, Declined):
        return replace(tried, declined=found)
    cover = Cover(
        *own,
        found.shares,
        beside=sum(table.size_bytes for i, table in enumerate(pinned) if i != fact),
        survey=asked,
        own=asked.own,
        relates=() if asked.indexes is None else used_relates(asked.indexes.relates),
    )
    if not always and cover.selection is None and cover.files() == cover.files(ROWS):
        return replace(tried, declined=Declined("metadata_no_file"))
    title = ALL_ROWS if cover.is_whole else MANIFESTS
    return CoverCandidate(title, None, cover, costed(title, cover, asked.decoding))


def merged(cube: CubeDefinition, match: Match, shares: Sequence[Share]) -> StoredStates:
    """The cells of shares, one row for each combination of dimension values.

    But where values are floats they stay as they are: Arrow passes over NaN, which is above all
    numbers.
    """
    table = pa.concat_tables([one.cells for one in shares if one.cells is not None])
    if table.num_rows and not any(map(pa.types.is_floating, table.schema.types)):
        merges = {
            f"s{i}": "sum" if state.kind in _ADDED else state.kind
            for i, state in enumerate(cube.states)
        }
        keys = [name for name in table.column_names if name not in merges]
        ordered = table.group_by(keys, use_threads=False)  # rows that tie stay as they were
        made = ordered.aggregate(list(merges.items()))
        titles = [*keys, *(f"{name}_{how}" for name, how in merges.items())]
        table = made.select(titles).rename_columns(table.column_names).cast(table.schema)
    return StoredStates(table, cube, match)


def used_relates(relates: Sequence[PinnedRelate]) -> tuple[UsedRelate, ...]:
    """As explain tells them."""
    return tuple(map(_used, relates))


def _used(relate: PinnedRelate) -> UsedRelate:
    path, expression = relate.path, relate.path.column.expression
    names = tuple(one.facts.name for one in path.dimensions)
    tables = ((), *(one.parts for one in path.dimensions))
    text = "" if expression is None else spark_text_of(expression, tables)
    return UsedRelate(path.column.name, names, relate.stale, text)
