"""The source of files of which no row passes: there is nothing to know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelerator.planning.plans.cover_value import NOTHING, Share
from accelerator.planning.sources.source import CoverResult, Unserved

if TYPE_CHECKING:
    from accelerator.planning.survey import Believed


class Nothing:
    """By bounds, partitions and light indexes, as a survey without doubt has them."""

    def __init__(self, known: Believed) -> None:
        self._known = known

    def serve(self, left: Unserved) -> CoverResult:
        """See `Source`; with files that a Spark job has left out afar."""
        known = self._known
        out = left.within(known) & known.none_pass
        files = int(out.sum()) + known.survey.left_out_afar
        return CoverResult(
            (Share(NOTHING, files, skipped=known.skipped),), left.without(known, out)
        )
