"""Covers by cubes: their segments first, then whatever else has the states of files they lack.

Theory: `docs/rewriting.md`, 1. Each class of files has the cheapest source that proves its states.
With joins manifests and bitmaps tell of the fact alone, so each join must be one that can go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.iceberg.pruning.column_ranges import range_of
from accelerator.planning.plans.candidate import Attempt
from accelerator.planning.plans.cover_value import Cover
from accelerator.planning.sources.choose import CoverCandidate, costed
from accelerator.planning.sources.rows import RawRows
from accelerator.planning.sources.segment import ChosenSegments
from accelerator.planning.sources.source import CoverResult, Filled, Unserved
from accelerator.store import CubeRecord
from cubes.coverage import Coverage
from cubes.definition import CubeDefinition
from cubes.match_result import Match
from cubes.may_raise import unsafe
from rewrite.ir.block import Block
from rewrite.ir.expr import Expr
from rewrite.ir.integer_ranges import raises_nothing
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.planning.sources.compose import FactAlone
    from accelerator.planning.survey import OverFiles

_FILES_MAX = 20_000
"""Files without a segment that are looked at one by one; with more a statement takes long."""


class CubeCovers:
    """Of one block; what is asked of a fact's files is asked once for all cubes.

    `judge` gives what is said of a fact alone, and the indexes over its files; `alone` what may
    tell the block's states of the fact alone, or why nothing may.
    """

    def __init__(
        self,
        block: Block,
        pinned: tuple[PinnedTable, ...],
        judge: Callable[[int], tuple[Sequence[Expr], OverFiles]],
        alone: Callable[[int], FactAlone | Declined],
    ) -> None:
        self._block, self._pinned, self._judge, self._alone = block, pinned, judge, alone
        self._passing: dict[tuple[int, tuple[tuple[str, int], ...]], CoverResult] = {}

    def of(
        self, record: CubeRecord, cube: CubeDefinition, match: Match, found: Coverage
    ) -> Attempt | CoverCandidate:
        """The candidate; `Attempt` with a reason where not a single segment is valid."""
        chosen = ChosenSegments(match, found).serve(Unserved())
        if isinstance(chosen, Declined):
            refused = tuple(sorted(found.refused.items()))
            return Attempt(record.name, chosen, 0, 0, len(found.uncovered), refused)
        passing, filled = self._lacking(match, chosen.left)
        told = filled.served
        (rows,) = RawRows().serve(told.left).shares
        cover = Cover(
            cube,
            match,
            (*chosen.shares, *passing.shares, *told.shares, rows),
            filled.cells,
            refused=found.refused,
            beside=self._beside(match, raw=rows.files > 0),
            relates=filled.relates,
            passed=(*chosen.passed, *told.passed),
        )
        return CoverCandidate(record.name, record.id, cover, costed(record.name, cover))

    def _lacking(self, match: Match, left: Unserved) -> tuple[CoverResult, Filled]:
        """Files that the cube lacks: those that may have a row that passes, and who tells them."""
        if not 0 < len(left.live) <= _FILES_MAX:
            return CoverResult((), left), Filled(CoverResult((), left))
        passing = self._passing_of(match.fact, left.live)
        if not passing.left.live:
            return passing, Filled(CoverResult((), passing.left))
        told = self._alone(match.fact)
        if isinstance(told, Declined):
            return passing, Filled.none(passing.left, told.code)
        return passing, told.filled(match, passing.left)

    def _passing_of(self, fact: int, files: tuple[LiveFile, ...]) -> CoverResult:
        """Without files of which no row passes what is said of the fact alone."""
        key = fact, tuple([file.key for file in files])
        if key not in self._passing:
            self._passing[key] = self._served(fact, files)
        return self._passing[key]

    def _served(self, fact: int, files: tuple[LiveFile, ...]) -> CoverResult:
        every = CoverResult((), Unserved(files))
        ranges = range_of(self._pinned)
        refused = unsafe(self._block.conjuncts, lambda call: raises_nothing(call, ranges))
        if refused is not None:
            return every
        own, over = self._judge(fact)
        if not own:
            return every
        # Imports Arrow's compute module, which answers from cubes alone have no use for.
        from accelerator.planning.sources.nothing import Nothing
        from accelerator.planning.survey import Survey

        # What ends the whole plan was asked of all live files before.
        known = Survey(self._pinned[fact].statistics_of(files), own, over).believed(())
        if isinstance(known, Declined):
            return every
        return Nothing(known).serve(Unserved(marked=(known, np.ones(len(files), dtype=bool))))

    def _beside(self, match: Match, *, raw: bool) -> int:
        numbers = read_beside(match, self._pinned, raw=raw)
        return sum(f.size_bytes for n in numbers for f in self._pinned[n].live_files())


def read_beside(match: Match, pinned: Sequence[PinnedTable], *, raw: bool) -> Iterator[int]:
    """The occurrences of which all rows are read: those joined to cells or to `raw` files."""
    for number in range(len(pinned)):
        if number in match.joined or (raw and number != match.fact):
            yield number
