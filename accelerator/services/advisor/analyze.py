"""From the query log to advice: what to make, what to drop, what that spares and takes.

Nothing is made or dropped. The fact of a block is the largest of its tables; all facts share the
budgets. What was left out, and why, is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from accelerator.errors import (
    AcceleratorError,
    AdviceError,
    UnknownTableError,
    WorkloadEmptyError,
)
from accelerator.iceberg import PinnedTable
from accelerator.query.explain.buildable import Buildable
from accelerator.services.advisor.choose import Option, choose, saved
from accelerator.services.advisor.cost_model import ReadRates, per_day
from accelerator.services.advisor.cubes.candidates import CubeCandidate, base
from accelerator.services.advisor.cubes.options import AnalysisScope, FactOffers, Offer, pays
from accelerator.services.advisor.indexes.clustering import FactOrder, Ordered
from accelerator.services.advisor.indexes.options import FactAccess, IndexAccess, Standing
from accelerator.services.advisor.indexes.wording import planned_digest
from accelerator.services.advisor.marginal_gain import MarginalGain
from accelerator.services.advisor.recommend import Choosable, Recommending
from accelerator.services.advisor.results import Judged
from accelerator.services.advisor.workload.digests import digest_of
from accelerator.services.advisor.workload.queries import WorkloadQuery, WorkloadReader
from accelerator.services.advisor.workload.workload import Workload, logged, now_utc
from accelerator.services.clustering.options import ROW_GROUP_BYTES
from accelerator.store.journals.advice import Advice
from rewrite.identifiers.qualified_name import joined, parts_of
from rewrite.ir.block import Block

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

_NOTES_MAX = 50
_DAYS_MAX = 3_650
_HALF_LIFE_MIN = 1e-6
_BYTES_MAX, _MINUTES_MAX = 2**62, 60.0 * 24 * _DAYS_MAX
_NOTE_MAX = 1_000
_OfFact = tuple[dict[str, tuple[CubeCandidate, float]], list[WorkloadQuery]]
"""Candidates by name, with what the blocks take that want each; the blocks."""


class AdviceBudget(Struct, frozen=True, kw_only=True):
    """What all cubes and indexes of the analyzed tables may take, and how the log is read.

    `bytes` of them, those of existing ones too; `build_minutes` of builds and rewrites. The log of
    the last `days` counts, where a run that is `half_life_days` old counts half. What wasn't of use
    for `keep_days` may be advised away. AdviceError for what can't be.
    """

    bytes: int = 1 << 30
    build_minutes: float = 60.0
    days: float = 14.0
    half_life_days: float = 7.0
    keep_days: float = 14.0

    def __post_init__(self) -> None:
        """Checks the numbers."""
        if self.bytes <= 0 or not 0 < self.build_minutes < float("inf"):
            raise AdviceError(
                "the budget is nothing: neither a cube nor an index can be made of it",
                hint="give bytes and build_minutes above 0, e.g. WITH (bytes = '1GB')",
            )
        if self.bytes > _BYTES_MAX or self.build_minutes > _MINUTES_MAX:
            raise AdviceError(
                f"the budget is {self.bytes:,} bytes and {self.build_minutes:g} minutes of builds",
                hint=f"give up to {_BYTES_MAX:,} bytes and {_MINUTES_MAX:,.0f} minutes",
            )
        is_known = 0 < self.days <= _DAYS_MAX and 0 <= self.keep_days <= _DAYS_MAX
        if not is_known or not _HALF_LIFE_MIN <= self.half_life_days <= _DAYS_MAX:
            raise AdviceError(
                f"days, half_life_days and keep_days are {self.days:g}, {self.half_life_days:g}"
                f" and {self.keep_days:g}",
                hint=f"give numbers of days, up to {_DAYS_MAX:,}, and a half-life of some moments",
            )


def analyze(
    services: Services,
    table: tuple[str, ...] | None,
    budget: AdviceBudget,
    now: Callable[[], datetime] = now_utc,
) -> Advice:
    """What the log advises for a table, or for all.

    WorkloadEmptyError where the log has nothing of it; UnknownTableError where there's no such
    table; StoreError, CatalogError where they can't be read.
    """
    with services.cancellation.tracked() as tag:
        return _Analysis(services, table, budget, now(), tag).advice()


class _Analysis:
    """One analysis, under one pin."""

    def __init__(
        self,
        services: Services,
        table: tuple[str, ...] | None,
        budget: AdviceBudget,
        now: datetime,
        tag: str,
    ) -> None:
        self._services, self._budget, self._now, self._tag = services, budget, now, tag
        self._pin = services.lake.pin()
        self._table = None if table is None else self._pinned(table)
        self._notes: list[str] = []
        self._buildable = Buildable(services)

    def _pinned(self, table: tuple[str, ...]) -> PinnedTable:
        found = self._pin.pinned(table)
        if found is None:
            name = joined(table)
            raise UnknownTableError(
                f"there is no Iceberg table {name}",
                hint="advice is about tables of this session's catalogs",
                unknown=name,
            )
        return found

    def _check(self) -> None:
        self._services.cancellation.check(self._tag)

    def advice(self) -> Advice:
        """All of it."""
        budget, services = self._budget, self._services
        judged = Judged(services, self._now, timedelta(days=budget.keep_days))
        services.log.unwritten()  # what this process has asked is written first
        workload = logged(
            services.store.files,
            days=budget.days,
            keep_days=budget.keep_days,
            half_life_days=budget.half_life_days,
            now=self._now,
            vain=judged.vain,
        )
        understood = WorkloadReader(services).understood(workload, self._check)
        scope = self._scope(workload)
        by_fact = self._by_fact(understood.blocks, scope)
        facts = [*sorted(by_fact), *sorted(self._facts_in_use() - by_fact.keys())]
        self._check_any(workload, facts)
        self._tell(workload, understood.left_out)
        blocks = list[WorkloadQuery]()
        offers = list[Choosable]()
        pinned = dict[str, PinnedTable]()
        for fact in facts:
            bases, asked = by_fact.get(fact, ({}, []))
            of_fact = FactOffers(scope, fact, asked, len(blocks))
            existing = [judged.existing(one) for one in of_fact.existing()]
            offers += existing
            if bases:
                offers += self._worth_trying(judged, existing, of_fact.new(bases, existing))
            table = self._pinned_fact(fact, asked)
            if table is not None:
                pinned[fact] = table
                offers += self._access(scope, judged, table, asked, len(blocks))
            blocks += asked
        total = sum(per_day(scope.rates.now_ms(one), one.weight, workload.days) for one in blocks)
        if note := self._buildable.note:
            self._note(note)
        chosen = self._chosen(offers)
        registry = services.store.registry()
        shares = MarginalGain(chosen, blocks, total)
        said = Recommending(offers, shares, registry, pinned, budget.keep_days)
        return Advice(
            made_ms=int(self._now.timestamp() * 1000),
            scope="" if self._table is None else self._table.facts.uuid,
            table="" if self._table is None else joined(self._table.parts),
            bytes_max=budget.bytes,
            build_s_max=budget.build_minutes * 60,
            statements=workload.statements,
            days=budget.days,
            total_ms=total,
            served_ms=saved(chosen),
            left_out=understood.left_out,
            notes=tuple(self._notes[:_NOTES_MAX]),
            recommendations=tuple(said.all()),
        )

    def _chosen(self, offers: Sequence[Choosable]) -> list[Option]:
        """The best choice; orders come last, for what they spare beside all others.

        An order takes no bytes, but it rewrites the table: what an index spares as well, an order
        isn't advised for.
        """
        most, left_s = self._budget.bytes, self._budget.build_minutes * 60
        able = [one for one in offers if not isinstance(one, Offer | Standing) or not one.why]
        others = [one.option for one in able if not isinstance(one, Ordered)]
        names = choose(others, most, left_s).names
        chosen = [one for one in others if one.name in names]
        left_s -= sum(one.build_s for one in chosen)
        ordered = [one for one in offers if isinstance(one, Ordered)]
        for one in sorted(ordered, key=lambda o: (-saved([o.option]), o.option.name)):
            more = saved([*chosen, one.option]) - saved(chosen)
            if one.option.build_s <= left_s and one.pays(more):
                chosen.append(one.option)
                left_s -= one.option.build_s
        return chosen

    def _access(
        self,
        scope: AnalysisScope,
        judged: Judged,
        fact: PinnedTable,
        asked: Sequence[WorkloadQuery],
        first: int,
    ) -> Iterator[Choosable]:
        """Indexes and the order of a fact: those that exist, and those that may be made."""
        self._check()
        access = FactAccess(scope, fact, asked, first)
        yield from map(judged.standing, access.standing)
        buildable = self._buildable
        found = access.offers()
        indexes = [one for one in found if buildable.index(one.fact, one.option.saves)]
        yield from self._worth_making(judged, indexes)
        order = FactOrder(scope, fact, access, first, ROW_GROUP_BYTES).offer()
        if order is not None and buildable.order(order.option.saves):
            yield order

    def _pinned_fact(self, fact: str, asked: Sequence[WorkloadQuery]) -> PinnedTable | None:
        """The table of that uuid at its newest state; None where it's gone."""
        names = {one.parts for each in asked for one in each.pinned if one.facts.uuid == fact}
        registry = self._services.store.registry()
        cubes, indexes = registry.cubes.values(), registry.indexes.values()
        names |= {parts_of(one.table) for one in cubes if one.table_uuid == fact}
        names |= {parts_of(one.table) for one in indexes if one.table_uuid == fact}
        found = (self._readable(name) for name in sorted(names))
        return next((one for one in found if one is not None and one.facts.uuid == fact), None)

    def _worth_trying(
        self, judged: Judged, existing: Sequence[Offer], new: Iterable[Offer]
    ) -> list[Offer]:
        """Those that weren't tried in vain not long ago, for what others weren't made for in vain.

        Otherwise what doesn't pay would be followed by what is nearly the same.
        """
        vain = {number for one in existing if one.why for number in one.option.saves}
        offers = [one for one in new if self._is_buildable(one)]
        found: list[Offer] = []
        for one in offers:
            left = {number: ms for number, ms in one.option.saves.items() if number not in vain}
            option = replace(one.option, saves=left)
            if not judged.failed(digest_of(one.cube)) and (not vain or pays(option)):
                found.append(replace(one, option=option))
        if len(found) < len(offers):
            count = len(offers) - len(found)
            self._note(f"{count} possible cubes were left out: the like were made in vain")
        return found

    def _is_buildable(self, offer: Offer) -> bool:
        candidate = offer.candidate
        if candidate is None:
            return True
        saves = offer.option.saves
        return self._buildable.cube(candidate.name, candidate.text, offer.cube, saves)

    def _readable(self, name: tuple[str, ...]) -> PinnedTable | None:
        """None where it can't be read: others are advised for all that."""
        try:
            return self._pin.pinned(name)
        except AcceleratorError as error:
            self._check()
            self._note(f"{joined(name)} can't be read here: {error.message[:200]}")
            return None

    def _worth_making(self, judged: Judged, offers: Sequence[IndexAccess]) -> list[IndexAccess]:
        """Those of which no index was made in vain not long ago."""
        uuids = [one.fact.facts.uuid for one in offers]
        found = [
            one
            for one, uuid in zip(offers, uuids, strict=True)
            if not any(judged.failed(planned_digest(uuid, each)) for each in one.planned)
        ]
        if len(found) < len(offers):
            count = len(offers) - len(found)
            self._note(f"{count} possible indexes were left out: they were made in vain")
        return found

    def _scope(self, workload: Workload) -> AnalysisScope:
        return AnalysisScope(
            services=self._services,
            pin=self._pin,
            workload=workload,
            rates=ReadRates.of(workload),
            now=self._now,
            keep=timedelta(days=self._budget.keep_days),
            counts=timedelta(days=self._budget.days),
            note=self._note,
            check=self._check,
            tag=self._tag,
        )

    def _facts_in_use(self) -> set[str]:
        """Tables that have cubes or indexes, which may be advised away."""
        registry = self._services.store.registry()
        found = {one.table_uuid for one in registry.cubes.values()}
        found |= {one.table_uuid for one in registry.indexes.values()}
        return found if self._table is None else found & {self._table.facts.uuid}

    def _check_any(self, workload: Workload, facts: Sequence[str]) -> None:
        if workload.statements == 0:
            raise WorkloadEmptyError(
                f"the query log has no finished query of the last {self._budget.days:g} days",
                hint="ask some, and analyze again; SHOW QUERIES lists what it has",
            )
        if not facts:
            name = "a table" if self._table is None else self._table.facts.name
            raise WorkloadEmptyError(
                f"no query of the log makes groups of {name}, or filters it",
                hint="SHOW QUERIES lists what it has; EXPLAIN says what a cube could answer of it",
            )

    def _tell(self, workload: Workload, left_out: Mapping[str, int]) -> None:
        if not workload.is_whole:
            self._note("the log has more statements than were read: the newest ones count")
        for why, count in sorted(left_out.items(), key=lambda one: (-one[1], one[0])):
            self._note(f"{count} statements gave nothing: {why}")

    def _note(self, text: str) -> None:
        """For people, each once."""
        if text[:_NOTE_MAX] not in self._notes:
            self._notes.append(text[:_NOTE_MAX])

    def _by_fact(self, blocks: Sequence[WorkloadQuery], scope: AnalysisScope) -> dict[str, _OfFact]:
        """Of each fact the candidates that its blocks want."""
        found: dict[str, _OfFact] = {}
        wanted = None if self._table is None else self._table.facts.uuid
        lost = 0
        for one in blocks:
            self._check()
            if wanted is not None and wanted not in one.block.tables:
                continue
            own = replace(one, block=_in_full(one.block, one.pinned))
            candidate = base(own.block, [table.rows_told for table in one.pinned], scope.bind)
            if candidate is None:
                lost += 0 if own.block.rows else one.runs
                fact = _largest(own)
            else:
                fact = candidate.cube.fact.uuid
            if fact is None or wanted not in (None, fact):
                continue
            bases, asked = found.setdefault(fact, ({}, []))
            if candidate is not None:
                known = bases.get(candidate.name, (candidate, 0.0))
                takes = one.weight * scope.rates.now_ms(one)
                bases[candidate.name] = known[0], known[1] + takes
            asked.append(own)
        if lost:
            self._note(f"{lost} statements have a part that no cube could answer")
        return found


def _largest(one: WorkloadQuery) -> str | None:
    """The largest of its tables that no join pads, of which something may be left out."""
    able = [o for o in one.block.occurrences if o.index not in one.block.null_supplied]
    if not able or not one.block.conditions:
        return None
    return max(able, key=lambda o: (one.pinned[o.index].rows_told, -o.index)).table.uuid


def _in_full(block: Block, pinned: Sequence[PinnedTable]) -> Block:
    """The block with tables by their full names: a cube's text holds in any session."""
    pairs = zip(block.occurrences, pinned, strict=True)
    full = tuple(replace(one, parts=table.parts) for one, table in pairs)
    return replace(block, occurrences=full)
