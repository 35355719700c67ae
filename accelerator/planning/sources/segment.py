"""The source that a cube is: its segments, each the cells of whole data files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from accelerator.artifacts.segments.records import COLUMN_BYTES
from accelerator.planning.plans.cover_value import SEGMENT, Passed, Share
from accelerator.planning.sources.source import CoverResult, Unserved
from accelerator.store import SegmentRecord
from cubes.coverage import Coverage
from cubes.match_result import Match
from cubes.sql.build import SEGMENT as SEGMENT_COLUMN
from rewrite.reason import Declined


class ChosenSegments:
    """Segments that hold under the pin."""

    def __init__(self, match: Match, found: Coverage) -> None:
        self._match, self._found = match, found

    def serve(self, _left: Unserved) -> CoverResult | Declined:
        """See `Source`: of all the fact's live files. Declined where not a single one is valid."""
        found = self._found
        if not found.segments:
            return _refused(found.refused)
        share = Share(
            SEGMENT,
            sum(len(one.files) for one in found.segments),
            bytes_read(found.segments, self._match.stored | {SEGMENT_COLUMN}),
            segments=found.segments,
        )
        lacking, refused = len(found.uncovered), _refused_text(found.refused)
        passed = (Passed(SEGMENT, "cover_unavailable", lacking, refused),) if lacking else ()
        return CoverResult((share,), Unserved(found.uncovered), passed)


def _refused(counts: Mapping[str, int]) -> Declined:
    code = next(iter(counts)) if len(counts) == 1 else "cover_unavailable"
    return Declined(code, _refused_text(counts) or "It has no segment.")


def _refused_text(counts: Mapping[str, int]) -> str:
    shown = ", ".join(f"{count} × {code}" for code, count in sorted(counts.items()))
    return f"Segments refused: {shown}." if shown else ""


def bytes_read(segments: Iterable[SegmentRecord], names: Collection[str]) -> int:
    """Bytes of those columns in the segments' files; statistics may leave out some of them."""
    total = 0
    for segment in segments:
        columns: Mapping[str, int] | None = segment.facts.get(COLUMN_BYTES)
        if columns is None:  # of a release that didn't count them
            total += segment.bytes
        else:
            total += sum(columns.get(name, 0) for name in names)
    return total
