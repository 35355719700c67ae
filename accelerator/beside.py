"""Files that a cube lacks, answered by manifests and indexes of the fact.

Theory: `docs/rewriting.md`, 1. Each class of files has the cheapest source that proves its states:
segments where a cube has them, manifests and bitmaps where these tell the same states, else rows.
With joins that is so where each of them can go, which holds for every file alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from accelerator.cover_plan import Candidate, raw_bytes_of
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.joined_search import JoinedSearch, held_fields, indexes_over
from accelerator.plans import Beside
from accelerator.scene import Parts, Scene
from cubes.aligned import aligned
from cubes.manifest import Manifested, manifested
from rewrite.block import Block

if TYPE_CHECKING:
    from accelerator.joined_search import Alone
    from accelerator.survey import Survey

_FILES_MAX = 20_000
"""Files that are looked at one by one; beyond so many a statement takes long anyway."""


class BesideFiles:
    """Of one block; what is asked of a fact is asked once for all cubes."""

    def __init__(
        self,
        block: Block,
        pinned: tuple[PinnedTable, ...],
        scene: Scene,
        parts: Parts,
        joins: JoinedSearch,
        unique: Callable[[PinnedTable, frozenset[int]], bool],
    ) -> None:
        self._block, self._pinned, self._scene, self._parts = block, pinned, scene, parts
        self._joins, self._unique = joins, unique
        self._alone: dict[int, Alone | None] = {}
        self._single: tuple[Manifested, Survey] | None = None

    def filled(self, found: Candidate) -> Candidate:
        """The candidate without the files that need not be read; itself where that's none."""
        files = found.coverage.uncovered
        if not 0 < len(files) <= _FILES_MAX:
            return found
        told = self._told(found.match.fact, files)
        if told is None or told.manifests is None or told.manifests.cells is None:
            return found
        match, left = aligned(found.match, told.match), told.coverage.uncovered
        if match is None or len(left) == len(files):
            return found
        out = found.coverage.left_out + told.manifests.left_out
        coverage = replace(found.coverage, uncovered=left, left_out=out)
        raw = raw_bytes_of(found.match, coverage, self._pinned)
        return replace(
            found,
            coverage=coverage,
            raw_bytes=raw,
            tried=replace(found.tried, bytes=found.segment_bytes + raw, uncovered=len(left)),
            beside=Beside(told.manifests, told.cube, match),
        )

    def _told(self, fact: int, files: Sequence[LiveFile]) -> Candidate | None:
        if len(self._pinned) == 1:
            return self._of_one_table(files)
        if fact not in self._alone:
            block, pinned, scene = self._block, self._pinned, self._scene
            self._alone[fact] = self._joins.alone(block, fact, pinned, scene, self._unique)
        alone = self._alone[fact]
        if alone is None or alone.asked.left_out_afar:
            return None
        return alone.answered(self._pinned[fact], alone.asked.among(files))

    def _of_one_table(self, files: Sequence[LiveFile]) -> Candidate | None:
        # Imports Arrow's compute module.
        from accelerator.manifest_cover import manifest_candidate
        from accelerator.survey import survey

        table, block = self._pinned[0], self._block
        if self._single is None:
            told = manifested(block, table.fixed_fields, held_fields(table, self._scene))
            if not isinstance(told, Manifested) or not told.tells:
                return None
            over = indexes_over(table, self._scene, self._parts)
            self._single = told, survey(table, block.conjuncts, told.used, over)
        told, asked = self._single
        if asked.left_out_afar:
            return None
        among = asked.among(files)
        found = manifest_candidate(block, told, asked, table.deleted, among=among)
        return found if isinstance(found, Candidate) else None
