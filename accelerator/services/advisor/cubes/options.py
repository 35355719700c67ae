"""What may be chosen over one fact: cubes that exist and candidates that pay, and what each spares.

A candidate answers a block where `match` proves it and what the proof needs counted holds: of a
cube that exists as its segments have counted, of a candidate as the profile has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from accelerator.errors import AcceleratorError
from accelerator.services.advisor.choose import Option, saved
from accelerator.services.advisor.cost_model import (
    ReadRates,
    build_seconds,
    cube_bytes,
    merged_bytes,
    per_day,
    read_share,
)
from accelerator.services.advisor.cubes.candidates import (
    CandidateMatch,
    CubeCandidate,
    answers,
    candidates,
    made,
)
from accelerator.services.advisor.cubes.cube_select import key_names, merged
from accelerator.services.advisor.cubes.table_profile import Profile
from accelerator.services.advisor.workload.queries import WorkloadQuery
from cubes.match.match import match
from cubes.match_result import Match
from rewrite.ir.block import Block, Occurrence, equal_columns
from rewrite.ir.expr import columns, occurrences
from rewrite.reason import DeclinedError

if TYPE_CHECKING:
    from datetime import datetime

    from accelerator.iceberg import Pin, PinnedTable
    from accelerator.query.runtime.services import Services
    from accelerator.services.advisor.workload.workload import Workload
    from accelerator.store import CubeRecord, IndexRecord, SegmentRecord
    from cubes.definition import CubeDefinition

Bases = Mapping[str, tuple[CubeCandidate, float]]
"""Candidates by name, each with what the blocks take that want it."""
PAYS_DAYS = 30
"""A cube that doesn't spare the time of its build within so many days isn't offered."""
_DIMENSION, _STATE = 0.5, 5.0
"""About the bytes of a cell, to compare merges by."""


class Offer(Struct, frozen=True):
    """An option, and what becomes of it: a candidate to create, or a cube that exists.

    `droppable`: nobody would miss the cube; `why` it's to go in any case, if it is.
    """

    option: Option
    cube: CubeDefinition
    answers: Sequence[CandidateMatch]
    candidate: CubeCandidate | None = None
    record: CubeRecord | None = None
    droppable: bool = False
    why: str = ""
    read: Mapping[int, float] = field(default_factory=dict)


class AnalysisScope(Struct, frozen=True):
    """What one analysis works with. `note` is told what people should know; `check` stops."""

    services: Services
    pin: Pin
    workload: Workload
    rates: ReadRates
    now: datetime
    keep: timedelta
    counts: timedelta
    note: Callable[[str], None]
    check: Callable[[], None]
    tag: str

    def bind(self, text: str) -> Block:
        """The normal form of a SELECT."""
        return self.services.planner.bind(text)[0]

    def is_unused_index(self, record: IndexRecord) -> bool:
        """Whether it surely left nothing out for as long as indexes are kept.

        Where none are kept for a while, those that nobody used in the time that counts.
        """
        last_us = self.services.uses.known().of_index(record.name, record.created_ms).last_us
        since = self.now - (self.keep or self.counts)
        if last_us is not None and last_us / 1_000_000 > since.timestamp():
            return False
        if not self.keep:
            return True
        if record.created_ms / 1000 > since.timestamp():
            return False
        return self.workload.since is not None and self.workload.since <= since

    def table(self, occurrence: Occurrence) -> PinnedTable | None:
        """The table of an occurrence, at its newest state."""
        return self.pin.pinned(occurrence.parts)


def pays(option: Option) -> bool:
    """Whether it spares the time of its build within `PAYS_DAYS`."""
    return saved([option]) * PAYS_DAYS > option.build_s * 1000


class FactOffers:
    """Of one fact; `asked` are its blocks, which are numbered from `first` on."""

    def __init__(
        self, scope: AnalysisScope, fact: str, asked: Sequence[WorkloadQuery], first: int
    ) -> None:
        self._scope, self._fact, self._asked, self._first = scope, fact, asked, first

    def existing(self) -> list[Offer]:
        """Cubes that there are; those that are in use are taken anyway."""
        scope = self._scope
        found: list[Offer] = []
        for record, cube in scope.services.planner.cubes_of(self._fact):
            if cube is None or record.disabled is not None:
                scope.note(f"the cube {record.name} answers nothing; it's left as it is")
                continue
            segments = scope.services.store.table(self._fact).of(record.id)
            size = merged_bytes(segments)
            proven = answers(cube, self._asked, _counted(segments)) if segments else []
            offer = self._offer(record.name, cube, proven, size, 0.0)
            droppable = self._is_unused(record)
            option = replace(offer.option, fixed=not droppable)
            found.append(replace(offer, option=option, record=record, droppable=droppable))
        return found

    def _is_unused(self, record: CubeRecord) -> bool:
        """Whether it surely answered nothing for as long as cubes are kept, and is ours alone."""
        scope = self._scope
        since = scope.now - scope.keep
        if record.published is not None:
            return False
        if not scope.keep:
            return True
        used = scope.workload.used.get(record.name)
        own = scope.services.uses.known().of_cube(record.name, record.created_ms).last_us or 0
        last = max(record.created_ms / 1000, own / 1_000_000)
        if (used is not None and used > since) or last > since.timestamp():
            return False
        return scope.workload.since is not None and scope.workload.since <= since

    def new(self, bases: Bases, existing: Sequence[Offer]) -> Iterator[Offer]:
        """Cubes that may be made, and pay."""
        profile = self._profile(bases)
        if profile is None:
            return
        scope, unknown = self._scope, 0

        def size(own: Block) -> float | None:
            cells = profile.about(own)
            each = _STATE * len(own.aggregates) + _DIMENSION * len(own.keys)
            return None if cells is None else cells * each

        for candidate in candidates(bases, scope.bind, size, scope.check):
            scope.check()
            cells = profile.cells(candidate.star)
            if cells is None:
                unknown += 1
                continue
            offer = self._candidate(self._ordered(candidate, profile), cells, profile)
            if pays(offer.option) and not _is_there(offer.cube, candidate, existing):
                yield offer
        if unknown:
            scope.note(f"{unknown} possible cubes were left out: their size can't be told here")

    def _candidate(self, candidate: CubeCandidate, cells: int, profile: Profile) -> Offer:
        cube, own = candidate.cube, candidate.star
        found = answers(cube, self._asked, _holds(profile, profile.places(own) or []))
        tables = [one for one in map(self._scope.table, own.occurrences) if one is not None]
        rows = profile.fact_rows
        values = [profile.values(name) or rows for name in key_names(own)]
        runs = profile.prefixes(own, range(len(own.keys)), cells)
        long = [profile.length(name) for name in key_names(own)]
        size = cube_bytes(cube, cells, rows, values, runs, long)
        build_s = build_seconds(cube, cells, tables)
        return replace(self._offer(candidate.name, cube, found, size, build_s), candidate=candidate)

    def _offer(
        self,
        name: str,
        cube: CubeDefinition,
        found: Sequence[CandidateMatch],
        size: float,
        build_s: float,
    ) -> Offer:
        """What the cube saves of each block in a day."""
        saves, read = {}, {}
        for answer in found:
            one = self._asked[answer.asked]
            read[answer.asked] = size * read_share(cube, answer.columns)
            spared = self._scope.rates.spared_ms(one, read[answer.asked])
            ms = per_day(spared, one.weight, self._scope.workload.days)
            if ms > 0:
                saves[self._first + answer.asked] = ms
        return Offer(Option(name, size, build_s, saves), cube, found, read=read)

    def _profile(self, bases: Bases) -> Profile | None:
        """Of as many of the candidates as one star can hold, the weightiest first."""
        order = sorted(bases.values(), key=lambda one: (-one[1], one[0].name))
        whole = order[0][0].star
        for candidate, _ in order[1:]:
            try:
                whole = merged(whole, candidate.star)
            except DeclinedError:
                continue
        scope = self._scope
        pinned = [scope.table(one) for one in whole.occurrences]
        known = [one for one in pinned if one is not None]
        if len(known) < len(pinned):
            return None
        try:
            return Profile(whole, known, scope.services.duckdb, scope.tag, scope.check)
        except (AcceleratorError, OSError, ValueError, KeyError) as error:
            scope.check()
            scope.note(f"{known[0].facts.name} can't be read here: {str(error)[:200]}")
            return None

    def _ordered(self, candidate: CubeCandidate, profile: Profile) -> CubeCandidate:
        """With its dimensions as its rows are sorted: what predicates name first, in long runs.

        So filters leave out row groups, and most columns take little.
        """
        searched = {
            (block.occurrences[c.occurrence].table.uuid, c.field_id)
            for block in (one.block for one in self._asked)
            for conjunct in block.conjuncts
            if equal_columns(conjunct) is None or len(occurrences(conjunct)) < 2
            for c in columns(conjunct)
        }
        own = candidate.star

        def is_searched(number: int) -> bool:
            named = columns(own.keys[number])
            uuids = {c: own.occurrences[c.occurrence].table.uuid for c in named}
            return {(uuids[c], c.field_id) for c in named} <= searched

        order = profile.order(own, is_searched)
        in_order = replace(own, keys=tuple(own.keys[number] for number in order))
        return made(in_order, self._scope.bind) or candidate


def _holds(profile: Profile, places: Sequence[int]) -> Callable[[Match], bool]:
    """Whether what a match needs counted is as it needs it, on the tables as they are."""

    def holds(found: Match) -> bool:
        needs = found.needs
        return all(places[one] in profile.unique for one in needs.unique) and all(
            places[one] in profile.complete for one in needs.complete
        )

    return holds


def _counted(segments: Sequence[SegmentRecord]) -> Callable[[Match], bool]:
    """As `_holds`, by what all segments of a cube have counted."""
    counts = [{one.edge: one for one in segment.edges} for segment in segments]

    def holds(found: Match) -> bool:
        needs = found.needs
        return all(
            all(edge in one and one[edge].missing == 0 for edge in needs.complete)
            and all(edge in one and one[edge].unique for edge in needs.unique)
            for one in counts
        )

    return holds


def _is_there(cube: CubeDefinition, candidate: CubeCandidate, existing: Sequence[Offer]) -> bool:
    """Whether a cube that exists has all that the candidate would, by no more dimensions."""
    for one in existing:
        if len(one.cube.dimensions) > len(cube.dimensions) or not one.option.bytes:
            continue
        try:
            proven = match(candidate.star, one.cube)
        except DeclinedError:
            continue
        if isinstance(proven, Match) and not proven.delta:
            return True
    return False
