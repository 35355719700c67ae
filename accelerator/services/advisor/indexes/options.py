"""Indexes that may be made over one fact, and what each spares: told by building and asking them.

Which kinds are tried follows from what predicates ask (`kinds_for`); how much each leaves out is
what it leaves out of a sample of the table's files, beside bounds and the indexes that there are.
Two indexes that leave out more together than either alone are an option of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from accelerator.artifacts.relate.index_validity import PinnedRelate
from accelerator.common.arrow.spark_types import row_width
from accelerator.planning.survey import Survey
from accelerator.services.advisor.choose import Option, saved
from accelerator.services.advisor.cost_model import index_seconds, per_day
from accelerator.services.advisor.indexes.selectivity import Reach, Touched, share
from accelerator.services.advisor.indexes.trial_build import (
    FileSample,
    Planned,
    TrialIndexes,
    sample_of,
)
from accelerator.services.advisor.workload.filters import FAILS, FactFilters, Filtered, Possible
from accelerator.services.advisor.workload.queries import WorkloadQuery
from accelerator.store import BESIDE
from indexes.domains import NotIndexableError, domain_of
from indexes.kind import OptionError
from indexes.question import Among, IsNull, Like, Question, Tokens
from rewrite.ir.expr import Column, columns
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.artifacts.relate.path import Path
    from accelerator.artifacts.sidecars.probe import TableIndexes
    from accelerator.iceberg import PinnedTable
    from accelerator.services.advisor.cubes.options import AnalysisScope
    from accelerator.store import IndexRecord
    from rewrite.facts import ColumnFacts

PLANNED_MAX = 32
"""Indexes of one fact that are tried."""
_PAIRS_MAX = 16
_SHARE_MAX = 0.75
"""An index that leaves more than that to read isn't offered for a statement."""
_JOINT = 1.1
"""So many times as much as the better one of them two indexes spare together, to be offered."""
PAYS_DAYS = 30
_AS_GOOD, _AS_LARGE = 0.9, 0.5
"""What spares so much of what another does in so much of its bytes is offered in its place.

Beside an index that exists, and spares so much, no other one on the column is offered.
"""
_TEXT_KINDS = ("NGRAM_BLOOM", "NGRAM_BITMAP")


def kinds_for(question: Question, type_: str) -> tuple[str, ...]:
    """The kinds that may leave out files or rows for it, over a column of that Spark type.

    >>> kinds_for(Among((5,)), "bigint"), kinds_for(Compare("<", 5), "bigint")
    (('BLOOM', 'BITMAP'), ('RANGE', 'BITMAP'))
    """
    match question:
        case Among():
            return ("BLOOM", "BITMAP")
        case IsNull():
            return ("BITMAP",)
        case Like(starts=True, folded=False):
            return (*_TEXT_KINDS, "RANGE", "BITMAP")
        case Like():
            return _TEXT_KINDS
        case Tokens():
            return ("TOKEN_BLOOM", "TOKEN_BITMAP")
    return ("RANGE", "BITMAP") if type_ != "boolean" else ("BITMAP",)


class IndexAccess(Struct, frozen=True):
    """An option of indexes, and for which of the fact's blocks: the share that each leaves.

    `relates` are the relate columns that have to be added for it.
    """

    option: Option
    fact: PinnedTable
    planned: tuple[Planned, ...]
    leaves: Mapping[int, float]
    relates: Mapping[int, Possible]
    bytes: Mapping[str, float]
    seconds: Mapping[str, float]


class Standing(Struct, frozen=True):
    """An index that exists. `droppable`: nobody would miss it.

    `why` it's to go in any case, if it is.
    """

    option: Option
    record: IndexRecord
    droppable: bool
    why: str = ""


class FactReads(Struct, frozen=True):
    """What one fact's statements read now, of a sample of its files; by the block's number.

    `there` are the fields that have an index.
    """

    sample: FileSample
    reach: Reach
    indexes: TableIndexes | None
    filtered: tuple[Filtered, ...]
    now: Mapping[int, Touched]
    there: frozenset[int]


class FactAccess:
    """Of one fact; `asked` are its blocks, which are numbered from `first` on."""

    def __init__(
        self, scope: AnalysisScope, fact: PinnedTable, asked: Sequence[WorkloadQuery], first: int
    ) -> None:
        self._scope, self._fact, self._asked, self._first = scope, fact, asked, first
        self.filters = FactFilters(scope.services, scope.pin, fact)
        self.state = self._state()

    # What there is.

    @cached_property
    def standing(self) -> tuple[Standing, ...]:
        """Indexes that exist, which take bytes of the budget, whether anybody uses them or not."""
        scope, store = self._scope, self._scope.services.store
        found = []
        for record in self._records:
            size = sum(one.bytes for one in store.table(record.table_uuid).of(record.id))
            droppable = scope.is_unused_index(record) and not self._would_serve(record)
            option = Option(f"index {record.name}", size, 0.0, {}, fixed=not droppable)
            found.append(Standing(option, record, droppable))
        return tuple(found)

    @cached_property
    def _records(self) -> tuple[IndexRecord, ...]:
        """Of the indexes that there are, by name."""
        every, uuid = self._scope.services.store.registry().indexes, self._fact.facts.uuid
        named = sorted(every.items())
        return tuple(o for name, o in named if o.table_uuid == uuid and not name.endswith(BESIDE))

    def _would_serve(self, record: IndexRecord) -> bool:
        """Whether an index that nobody has used leaves something out for what was asked.

        Told where none are kept for a while: one that was made just now had no time to be used.
        """
        state = self.state
        if self._scope.keep or state is None:
            return False
        try:
            alone, key = self._existing(state.sample, record), record.field_id
            asked = [one for one in state.filtered if key in one.fields]
            return any(
                state.reach.touched(one.under({key}), alone).bytes
                < state.reach.touched(one.own, None).bytes
                for one in asked
            )
        except FAILS:  # what can't be read serves nobody
            self._scope.check()
            return False

    def _existing(self, sample: FileSample, only: IndexRecord | None = None) -> TableIndexes | None:
        """The indexes that there are, or the only one that counts, over the sample."""
        services, facts = self._scope.services, self._fact.facts
        records = self._records if only is None else (only,)
        mine = [one for one in records if one.disabled is None]
        relates = [
            PinnedRelate(path, self._fact, services.dimensions)
            for path in self.filters.relates.values()
        ]
        version = services.store.table(facts.uuid)
        return services.indexes.over(sample.statistics, facts, mine, version, relates)

    def _state(self) -> FactReads | None:
        """None where nobody filters, or nothing of the table can be looked at."""
        scope, fact = self._scope, self._fact
        try:
            filtered = self.filters.of(self._asked)
            if not filtered:
                return None
            sample = sample_of(fact)
            if sample is None and not fact.rows_told:
                return None
            if sample is None:
                scope.note(f"no data file of {fact.facts.name} is small enough to be looked at")
                return None
            named = {number for one in filtered for number in one.fields}
            own = [c for c in fact.facts.columns if c.field_id in named and domain_of(c.type)]
            read = [Column(0, c.field_id, c.name, c.type) for c in own]
            reach = Reach(fact, sample, read, scope.check)
            indexes = self._existing(sample)
            kept = [one for one in filtered if not self._is_doubtful(one, sample)]
            there = frozenset(one.field_id for one in self._records)
            now = {one.number: reach.touched(one.under(there), indexes) for one in kept}
        except FAILS as error:
            scope.check()
            scope.note(f"{fact.facts.name} can't be read here: {str(error)[:200]}")
            return None
        return FactReads(sample, reach, indexes, tuple(kept), now, there)

    def _is_doubtful(self, one: Filtered, sample: FileSample) -> bool:
        """Whether plain Spark's own answer depends on what is left out, so that nothing is."""
        asked = Survey(sample.statistics, one.own)
        real = [e for e in one.own if all(c.field_id > 0 for c in columns(e))]
        return isinstance(asked.believed(real), Declined)

    # What may be made.

    def offers(self) -> list[IndexAccess]:
        """Indexes that may be made and pay, then pairs of them."""
        state = self.state
        if state is None:
            return []
        scope = self._scope
        planned = self._planned(state)
        if not planned:
            return []
        try:
            dimensions = scope.services.dimensions
            trial = TrialIndexes(self._fact, state.sample, planned, dimensions, scope.check)
        except FAILS as error:
            scope.check()
            scope.note(f"no index of {self._fact.facts.name} is tried: {str(error)[:200]}")
            return []
        if not trial.tried:
            scope.note(
                f"no index can be made of {self._fact.facts.name}: in its data files the columns"
                " that are asked for have no field ids, or other types"
            )
            return []
        state = self._able(state, trial, planned)
        singles = [self._access(state, trial, (one,)) for one in planned if one.name in trial.tried]
        found = _without_wasteful([one for one in singles if one is not None])
        pairs = [self._access(state, trial, two) for two in self._pairs(found)]
        return [*found, *(p for p in pairs if p is not None and self._is_joint(p, found))]

    def _able(self, state: FactReads, trial: TrialIndexes, planned: Sequence[Planned]) -> FactReads:
        """Without blocks that all of these indexes together would spare too little.

        Fewer of them never leave out more, so they needn't be asked one after the other.
        """
        ids = {one.column.field_id for one in planned if one.name in trial.tried}
        indexes = trial.indexes(planned, state.indexes)
        kept = list[Filtered]()
        for one in state.filtered:
            self._scope.check()
            if state.now[one.number].bytes and ids & one.fields:
                then = state.reach.touched(one.under(state.there | ids), indexes)
                left = share(state.now[one.number], then, whole=state.sample.whole)
                if left <= _SHARE_MAX and self._scope.rates.left_ms(one.asked, left) > 0:
                    kept.append(one)
        return replace(state, filtered=tuple(kept))

    def _planned(self, state: FactReads) -> list[Planned]:
        """Indexes to try, those first whose statements take longest."""
        weights: dict[tuple[int, str], float] = {}
        for one in state.filtered:
            takes = one.asked.weight * self._scope.rates.now_ms(one.asked)
            kinds = {
                (column.field_id, kind)
                for column, question in one.asks
                for kind in kinds_for(question, column.type or "")
            }
            kinds |= {(number, "BOUNDS") for number, _ in kinds if self._lacks_bounds(number)}
            for each in kinds:
                weights[each] = weights.get(each, 0.0) + takes
        there = {(o.record.field_id, o.record.kind) for o in self.standing}
        found = list[Planned]()
        for number, kind in sorted(weights, key=lambda each: (-weights[each], each)):
            planned = self._plan(number, kind)
            if planned is not None and (number, kind) not in there and len(found) < PLANNED_MAX:
                found.append(planned)
        return found

    def _lacks_bounds(self, number: int) -> bool:
        column = self._column(number)
        if number < 0 or column is None or self.state is None:
            return False
        bounds = self.state.sample.statistics.column(number, column.type).bounds
        return not bounds.bounded.any() and not bounds.always_null.all()

    def _path(self, number: int) -> Path | None:
        possible = self.filters.possible.get(number)
        return self.filters.relates.get(number) if possible is None else possible.path

    def _column(self, number: int) -> ColumnFacts | None:
        path = self._path(number)
        if path is not None:
            return path.as_column
        return next((c for c in self._fact.facts.columns if c.field_id == number), None)

    def _plan(self, number: int, kind: str) -> Planned | None:
        """None for what can't be indexed so, or needs none since it's partitioned by."""
        column = self._column(number)
        if column is None or number in self._fact.fixed_fields:
            return None
        if kind == "BITMAP" and self._is_nearly_unique(number):
            return None
        found = Planned(kind, column, self._path(number))
        try:
            _as_it_takes = found.options
        except (NotIndexableError, OptionError):
            return None
        return found

    def _is_nearly_unique(self, number: int) -> bool:
        """Whether the table's own sketch says that most rows have a value of their own."""
        known = self._fact.sketched().get(number)
        return known is not None and known.distinct > self._fact.rows_told / 2

    def _access(
        self, state: FactReads, trial: TrialIndexes, planned: tuple[Planned, ...]
    ) -> IndexAccess | None:
        """None where it doesn't pay."""
        scope, ids = self._scope, {one.column.field_id for one in planned}
        indexes = trial.indexes(planned, state.indexes)
        saves, leaves = dict[int, float](), dict[int, float]()
        for one in state.filtered:
            scope.check()
            now = state.now[one.number]
            if not now.bytes or not ids <= one.fields:
                continue
            then = state.reach.touched(one.under(state.there | ids), indexes)
            left = share(now, then, whole=state.sample.whole)
            if left > _SHARE_MAX:
                continue
            spared = scope.rates.left_ms(one.asked, left)
            ms = per_day(spared, one.asked.weight, scope.workload.days)
            if ms > 0:
                saves[self._first + one.number] = ms
                leaves[self._first + one.number] = left
        if self._adds_little(state, planned, saves):
            return None
        sizes = {o.name: trial.tried[o.name].bytes * state.sample.scale for o in planned}
        seconds = {one.name: self._seconds(one, state.sample) for one in planned}
        names = " and ".join(sorted(sizes))
        option = Option(
            f"{self._fact.facts.uuid} {names}", sum(sizes.values()), sum(seconds.values()), saves
        )
        if saved([option]) * PAYS_DAYS <= option.build_s * 1000:
            return None
        relates = {number: one for number, one in self.filters.possible.items() if number in ids}
        return IndexAccess(option, self._fact, planned, leaves, relates, sizes, seconds)

    def _adds_little(
        self, state: FactReads, planned: Sequence[Planned], saves: Mapping[int, float]
    ) -> bool:
        """Whether indexes that exist on these columns spare nearly all that is spared with these.

        What a statement takes without any index is as many times what it takes now as bytes are.
        """
        if not {each.column.field_id for each in planned} <= state.there:
            return False
        scope, spared = self._scope, 0.0
        for one in state.filtered:
            now = state.now[one.number].bytes
            if self._first + one.number in saves and now:
                bare = state.reach.touched(one.own, None).bytes
                ms = scope.rates.now_ms(one.asked) * max(0.0, bare / now - 1)
                spared += per_day(ms, one.asked.weight, scope.workload.days)
        return spared >= _AS_GOOD * (spared + sum(saves.values()))

    def _seconds(self, one: Planned, sample: FileSample) -> float:
        every = row_width(column.type for column in self._fact.facts.columns)
        own = row_width([one.column.type]) / max(every, 1)
        return index_seconds(one.kind, sample.of_rows, sample.of_bytes * min(1.0, own))

    def _pairs(self, found: Sequence[IndexAccess]) -> Iterator[tuple[Planned, ...]]:
        """Of each block the two columns' best indexes that spare it most."""
        if self.state is None:
            return
        seen = set[frozenset[str]]()
        for one in self.state.filtered:
            number = self._first + one.number
            able = [each for each in found if number in each.option.saves]
            able.sort(key=lambda each: (-each.option.saves[number], each.option.bytes))
            best: dict[int, Planned] = {}
            for each in able:
                best.setdefault(each.planned[0].column.field_id, each.planned[0])
            two = tuple(best.values())[:2]
            names = frozenset(each.name for each in two)
            if len(two) == 2 and names not in seen and len(seen) < _PAIRS_MAX:
                seen.add(names)
                yield two

    def _is_joint(self, pair: IndexAccess, found: Sequence[IndexAccess]) -> bool:
        """Whether it spares some block clearly more than either of its indexes does."""
        alone = [one.option.saves for one in found if one.planned[0] in pair.planned]
        return any(
            ms > _JOINT * max((saves.get(number, 0.0) for saves in alone), default=0.0)
            for number, ms in pair.option.saves.items()
        )


def _without_wasteful(found: Sequence[IndexAccess]) -> list[IndexAccess]:
    """Without single indexes that another one on the column nearly replaces, in half the bytes."""

    def replaces(one: IndexAccess, other: IndexAccess) -> bool:
        if one.planned[0].column.field_id != other.planned[0].column.field_id:
            return False
        mine, theirs = one.option.saves, other.option.saves
        alike = sum(min(ms, mine.get(number, 0.0)) for number, ms in theirs.items())
        smaller = one.option.bytes <= _AS_LARGE * other.option.bytes
        return smaller and alike >= _AS_GOOD * sum(theirs.values())

    return [other for other in found if not any(replaces(one, other) for one in found)]
