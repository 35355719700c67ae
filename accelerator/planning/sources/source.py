"""What a source of states is, and the files that none has served yet.

Theory: `docs/rewriting.md`, 1. A statement's states are fixed before sources are asked: a source
gives these, or leaves a file to the next. So each file has one source, and a new kind of source is
one file beside these.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from msgspec import Struct

from accelerator.iceberg import LiveFile
from accelerator.planning.plans.cover_value import MANIFEST, Passed, Share, StoredStates, UsedRelate
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.planning.survey import Believed
    from indexes.bounds import Flags


class Unserved(Struct, frozen=True, dict=True):
    """Data files of one fact: named, or marked in a survey of all of them; neither: all there are.

    A table's files may be many, so they are named only where somebody needs them.
    """

    named: tuple[LiveFile, ...] | None = None
    marked: tuple[Believed, Flags] | None = None

    def within(self, known: Believed) -> Flags:
        """Which of the survey's files these are."""
        if self.marked is not None and self.marked[0].survey is known.survey:
            return self.marked[1]
        if self.named is None and self.marked is None:
            return np.ones(len(known), dtype=bool)
        return known.survey.among(self.live)

    def without(self, known: Believed, served: Flags) -> Unserved:
        """Less those of the survey's files that are served."""
        return Unserved(marked=(known, self.within(known) & ~served))

    @cached_property
    def live(self) -> tuple[LiveFile, ...]:
        """The files themselves; ValueError of all of a fact, which nobody has listed."""
        if self.marked is not None:
            known, flags = self.marked
            return known.live(flags)
        if self.named is None:
            raise ValueError("the files of a fact are asked for before anybody has listed them")
        return self.named


class CoverResult(Struct, frozen=True):
    """What a source gives for some files, the files that are left, and why those are."""

    shares: tuple[Share, ...]
    left: Unserved
    passed: tuple[Passed, ...] = ()


class Filled(Struct, frozen=True):
    """What is served of files beside a cube's segments, and its cells, by these relate columns."""

    served: CoverResult
    cells: StoredStates | None = None
    relates: tuple[UsedRelate, ...] = ()

    @classmethod
    def none(cls, left: Unserved, code: str) -> Filled:
        """Nothing, for that reason."""
        return cls(CoverResult((), left, (Passed(MANIFEST, code, len(left.live)),)))


class Source(Protocol):
    """One way to have the states of data files, for one statement and one fact."""

    def serve(self, left: Unserved, /) -> CoverResult | Declined:
        """Its share of these files. Declined where, for what it finds, no cover may be made."""
