"""What came of applied advice: the gain that was promised beside the one that the log tells.

A run that a cube or index answered is compared with the runs of its shape before there was one. So
it's told what pays, what doesn't after a fair time, and what isn't worth to be tried again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from accelerator.errors import StoreError
from accelerator.query.statements.definitions import table_uuid
from accelerator.query.statements.nodes import ShowAdviceResults
from accelerator.services.advisor.apply.record import TIMED_COLUMNS, raw_medians
from accelerator.services.advisor.cost_model import merged_bytes
from accelerator.services.advisor.workload.digests import record_digest
from accelerator.services.advisor.workload.workload import now_utc, run_ms
from accelerator.store.journals import ledger as apply_ledger
from accelerator.store.journals.claims import Claims
from accelerator.store.journals.ledger import UNPAID, AdviceLedger, AppliedAdvice
from accelerator.store.journals.medians import (
    MedianRange,
    SparedTime,
    first_runs,
    median_range,
    spared_time,
)
from accelerator.store.journals.query_log.reader import LIMIT_MAX, look
from accelerator.store.journals.run import runs_of

if TYPE_CHECKING:
    from accelerator.common.config.config import Config
    from accelerator.query.runtime.services import Services
    from accelerator.services.advisor.cubes.options import Offer
    from accelerator.services.advisor.indexes.options import Standing
    from accelerator.store import CubeRecord, IndexRecord, RegistryVersion

    Live = CubeRecord | IndexRecord

KEY = "advise"
"""Of the claims of who applies by itself."""
AGAIN_DAYS = 30.0
"""What didn't pay isn't advised again for so long."""
_DAY_MS = 86_400_000.0
_HOUR_DAYS = 1 / 24
_DAYS_MAX = 3_650
_VERDICTS = {True: "pays", False: "doesn't pay"}
"""Without one, the log has too few runs, or the trial goes on."""


class AdviceResult(Struct, frozen=True, kw_only=True):
    """One recommendation that was applied, and what the log has of it since.

    `status`: `in use`, `dropped`, `begun`, `failed`, of a drop `done` or `brought back`. `name` is
    the artifact's now. `runs` it answered in the last `days`, and spared `gain_ms` a day, by the
    medians of each shape's runs before and since: `before_ms` and `now_ms` are their means over the
    runs. A verdict rests on `least_ms` and `most_ms` a day, which no single run can change; of
    `untold` runs too few were there before. Runs that several answered are shared among these.
    `statements` of any kind came meanwhile. `bytes` are what it takes now. None: there's nothing to
    tell, as of a drop.
    """

    applied: AppliedAdvice
    status: str
    name: str
    days: float | None = None
    runs: int | None = None
    untold: int = 0
    gain_ms: float | None = None
    least_ms: float = 0.0
    most_ms: float = 0.0
    before_ms: float | None = None
    now_ms: float | None = None
    statements: int | None = None
    bytes: int | None = None

    @property
    def in_use(self) -> bool:
        """Whether what it made is there."""
        return self.status == "in use"


class TrialPeriod(Struct, frozen=True):
    """When it's told that a cube doesn't pay: after so many days, and statements of any kind.

    It doesn't where it spares less than that `share` of what was promised.
    """

    days: float = 7.0
    statements: int = 100
    share: float = 0.1

    @classmethod
    def of(cls, config: Config) -> TrialPeriod:
        """As the settings say."""
        return cls(
            config.advisor_trial_days, config.advisor_trial_statements, config.advisor_pays_share
        )

    def verdict(self, result: AdviceResult, now_ms: int) -> str:
        """Why it doesn't pay; empty if it does, or if that can't be told yet."""
        one = result.applied
        if not self._is_over(result, now_ms) or result.most_ms >= self.share * one.gain_ms:
            return ""
        return (
            f"{UNPAID}it spares {_seconds(result.most_ms)} s a day at most, {_seconds(one.gain_ms)}"
            f" s were promised; it answered {result.runs} of {result.statements} statements"
        )

    def pays(self, result: AdviceResult, now_ms: int) -> bool | None:
        """Decides whether it surely pays or surely doesn't; None if the log has too few runs."""
        if self.verdict(result, now_ms):
            return False
        is_enough = result.least_ms >= self.share * result.applied.gain_ms
        return True if self._is_over(result, now_ms) and is_enough else None

    def _is_over(self, result: AdviceResult, now_ms: int) -> bool:
        """Decides whether the trial had its time and statements, with runs to compare."""
        one = result.applied
        if not result.in_use or result.gain_ms is None or result.statements is None:
            return False
        age = (now_ms - one.ended_ms) / _DAY_MS
        if age < self.days or result.statements < self.statements or one.gain_ms <= 0:
            return False
        return 2 * result.untold <= (result.runs or 0)


def _seconds(ms: float) -> str:
    """For people: `0.0125`, `12.5`, `12,500`."""
    return f"{ms / 1000:,.0f}" if abs(ms) >= 1e6 else f"{ms / 1000:.3g}"


class Results:
    """Of all that was applied, as of one look at the store. StoreError where it can't be read."""

    def __init__(self, services: Services, now: datetime | None = None) -> None:
        self._services = services
        self.now = now or now_utc()
        self.ledger: AdviceLedger = apply_ledger.read(services.store.files)
        self.registry: RegistryVersion = services.store.registry(fresh=True)
        registry = self.registry
        every: list[Live] = [*registry.cubes.values(), *registry.indexes.values()]
        self._live = {one.id: one for one in every}

    def all(self) -> list[AdviceResult]:
        """The newest first."""
        created = [one for one in self.ledger.entries if one.creates and one.state == "done"]
        seen = _LogSince(self._services, created, self.ledger, self.now) if created else None
        found = [self._of(one, seen) for one in self.ledger.entries]
        return sorted(found, key=lambda one: (-one.applied.began_ms, one.applied.key))

    def unpaid(self, trial: TrialPeriod) -> dict[str, str]:
        """Why cubes and indexes that are in use don't pay, by their ids.

        One that was dropped and brought back isn't judged: somebody wants it.
        """
        if not any(one.creates and one.artifact_id in self._live for one in self.ledger.entries):
            return {}
        now_ms, back = int(self.now.timestamp() * 1000), self.brought_back()
        told = {one.applied.artifact_id: trial.verdict(one, now_ms) for one in self.all()}
        return {one: why for one, why in told.items() if why and one not in back}

    def brought_back(self) -> frozenset[str]:
        """The ids of cubes and indexes that were dropped, by advice or a person, and are there.

        A definition that the advisor dropped and a person made anew counts too.
        """
        return self._brought_back

    @cached_property
    def _brought_back(self) -> frozenset[str]:
        gone = {one.artifact_id for one in self._dropped_by_advice}
        found = (gone | self.ledger.acted("dropped", "undropped").keys()) & self._live.keys()
        auto = {one.artifact_id for one in self._dropped_by_advice if one.by == "auto"}
        digests = self._digests(auto - self._live.keys())
        if digests:
            others = [one for id, one in self._live.items() if id not in self._created_by_advisor]
            found |= {o.id for o in others if record_digest(self._services, o) in digests}
        return frozenset(found)

    def own(self) -> frozenset[str]:
        """The ids of cubes and indexes that the advisor made by itself and no person altered."""
        return (self._created_by_advisor & self._live.keys()) - self.ledger.acted("altered").keys()

    @cached_property
    def _created_by_advisor(self) -> frozenset[str]:
        every = self.ledger.entries
        return frozenset(one.artifact_id for one in every if one.creates and one.by == "auto")

    @property
    def _dropped_by_advice(self) -> list[AppliedAdvice]:
        return [one for one in self.ledger.entries if one.drops and one.state == "done"]

    def on_trial(self, days: float) -> frozenset[str]:
        """The ids of what the advisor has made by itself within so many days."""
        now_ms = self.now.timestamp() * 1000
        return frozenset(
            one.artifact_id
            for one in self.ledger.entries
            if one.creates and one.by == "auto" and one.state == "done"
            if one.artifact_id in self._live and abs(now_ms - one.ended_ms) < days * _DAY_MS
        )

    def dropped_lately(self) -> frozenset[str]:
        """The digests of what the advisor itself has dropped within `AGAIN_DAYS`."""
        since = self.now.timestamp() * 1000 - AGAIN_DAYS * _DAY_MS
        gone = {
            one.artifact_id
            for one in self.ledger.entries
            if one.drops and one.by == "auto" and one.state == "done" and one.ended_ms >= since
        }
        return self._digests(gone - self._live.keys())

    def not_again(self) -> frozenset[str]:
        """The digests of what was made, didn't pay, and was dropped within `AGAIN_DAYS`.

        An index that was dropped because it left nothing out didn't pay either.
        """
        since = self.now.timestamp() * 1000 - AGAIN_DAYS * _DAY_MS
        gone = {
            one.artifact_id
            for one in self.ledger.entries
            if one.drops
            and (one.reason.startswith(UNPAID) or one.action == "DROP INDEX")
            and one.state == "done"
            and one.ended_ms >= since
        }
        return self._digests(gone - self._live.keys())

    def unwanted(self) -> frozenset[str]:
        """The digests of definitions that people dropped, or that went without advice."""
        own = {one.artifact_id for one in self.ledger.entries if one.drops}
        made = {one.artifact_id for one in self.ledger.entries if one.state == "done"}
        acts = self.ledger.acted("dropped").values()
        by_people = {one.digest for one in acts if one.digest and one.id not in self._live}
        return self._digests(made - own - self._live.keys()) | by_people

    def _digests(self, ids: set[str]) -> frozenset[str]:
        entries = self.ledger.entries
        return frozenset(one.digest for one in entries if one.digest and one.artifact_id in ids)

    def _of(self, one: AppliedAdvice, seen: _LogSince | None) -> AdviceResult:
        live = self._live.get(one.artifact_id) if one.artifact_id else None
        name = one.name if live is None else live.name
        if one.state != "done":
            return AdviceResult(applied=one, status=one.state, name=name)
        if one.drops:
            status = "done" if live is None else "brought back"
            return AdviceResult(applied=one, status=status, name=name)
        if one.artifact_id == "":
            return AdviceResult(applied=one, status="done", name=name)
        status = "dropped" if live is None else "in use"
        until = None if live is not None else self._dropped_ms(one)
        told = AdviceResult(applied=one, status=status, name=name)
        if seen is not None:
            told = seen.of(told, self._names(told), until)
        return replace(told, bytes=None if live is None else self._bytes(live))

    def _dropped_ms(self, one: AppliedAdvice) -> int | None:
        """The time of its drop; None if it is there, or if no time is recorded."""
        id = one.artifact_id
        times = [d.ended_ms for d in self.ledger.entries if d.drops and d.artifact_id == id]
        times += [b.dropped_ms for b in self.registry.bin if b.cube.id == id]
        times += [o.at_ms for key, o in self.ledger.acted("dropped").items() if key == id]
        return min((time for time in times if time >= one.ended_ms), default=None)

    def _names(self, result: AdviceResult) -> tuple[tuple[str, int], ...]:
        """The names by which the log knows it, each with when it had it first, in Unix ms."""
        made, back = result.applied, self.ledger.acted("undropped")
        first = made.name, made.ended_ms
        act = back.get(made.artifact_id)
        if result.name == made.name:
            return (first,)
        return first, (result.name, made.ended_ms if act is None else act.at_ms)

    def _bytes(self, live: Live) -> int | None:
        """What its segments or records take; None where the store can't tell."""
        try:
            table = self._services.store.table(live.table_uuid)
        except StoreError:
            return None
        if live.id in {one.id for one in self.registry.indexes.values()}:
            return sum(one.bytes for one in table.of(live.id))
        return merged_bytes(table.of(live.id))


class _Ran(Struct, frozen=True):
    """One finished statement: when, its shape, how long it took, by how many it was answered.

    `is_first`: its process began with it.
    """

    at_ms: float
    shape: str
    ms: float
    sharers: int
    is_first: bool = False


_at = attrgetter("at_ms")


class _LogSince:
    """The log since the first of these entries was applied, or as far as it goes back."""

    def __init__(
        self,
        services: Services,
        entries: Sequence[AppliedAdvice],
        ledger: AdviceLedger,
        now: datetime,
    ) -> None:
        earliest = min(one.ended_ms for one in entries)
        since = datetime.fromtimestamp(earliest / 1000, UTC)
        oldest = now - timedelta(days=min(services.config.query_log_days or _DAYS_MAX, _DAYS_MAX))
        found = look(services.store.files, max(since, oldest), None, LIMIT_MAX)
        rows = found.rows.select(list(TIMED_COLUMNS)).to_pylist()
        cut = found.is_cut or len(rows) >= LIMIT_MAX
        self._since_ms = max(since, oldest).timestamp() * 1000
        if cut and rows:
            self._since_ms = min(row["started"] for row in rows).timestamp() * 1000
        self._now_ms = now.timestamp() * 1000
        self._times: list[float] = []
        self._by_name: dict[tuple[str, str], list[_Ran]] = defaultdict(list)
        self._ledger, self._raw = ledger, raw_medians(rows)
        first = first_runs(rows)
        for row in rows:
            self._take(row, is_first=row["id"] in first)
        self._times.sort()
        for ran in self._by_name.values():
            ran.sort(key=_at)

    def _take(self, row: Mapping[str, Any], *, is_first: bool) -> None:
        if row["state"] != "FINISHED" or row["shape"] is None:
            return
        at_ms = row["started"].timestamp() * 1000
        self._times.append(at_ms)
        ms = None if row["cached"] else run_ms(row)
        if ms is None:
            return
        cubes, indexes = row["cubes"] or (), row["indexes"] or ()
        one = _Ran(at_ms, row["shape"], ms, len(cubes) + len(indexes), is_first)
        for kind, names in (("cube", cubes), ("index", indexes)):
            for name in names:
                self._by_name[kind, name].append(one)

    def _before(self, shape: str) -> MedianRange | None:
        """Returns a shape's median without cubes, of the ledger or of more runs in the log."""
        told, logged = self._ledger.before(shape), self._raw.get(shape)
        if told is None or (logged is not None and logged.is_firm and not told.is_firm):
            return logged
        return told

    def of(
        self, result: AdviceResult, names: Sequence[tuple[str, int]], until_ms: float | None
    ) -> AdviceResult:
        """With what was seen of it, from when it was applied until then.

        `names` are those that it had, each with its first moment in Unix ms, the last one last.
        """
        one = result.applied
        begin, end = max(self._since_ms, one.ended_ms), min(until_ms or self._now_ms, self._now_ms)
        kind = "index" if "INDEX" in one.action else "cube"
        ran: list[_Ran] = []
        for (name, named_ms), (_, renamed_ms) in pairwise((*names, ("", end))):
            every = self._by_name.get((kind, name), [])
            low = bisect_left(every, max(begin, named_ms), key=_at)
            ran += every[low : bisect_right(every, min(end, renamed_ms), key=_at)]
        days = max((end - begin) / _DAY_MS, 0.0)
        shapes: dict[str, list[_Ran]] = defaultdict(list)
        for run in ran:
            shapes[run.shape].append(run)
        spared, times, untold = list[SparedTime](), list[tuple[float, float, int]](), 0
        for shape, some in shapes.items():
            before = self._before(shape)
            if before is None or not before.is_firm:
                untold += len(some)
                continue
            since = median_range(run.ms for run in some if not run.is_first)
            shares = [1 / run.sharers for run in some]
            spared.append(spared_time(before, since, sum(shares), max(shares)))
            if since is not None:
                times.append((before.middle, since.middle, len(some)))
        a_day, counted = 1 / max(days, _HOUR_DAYS), sum(runs for _, _, runs in times)
        return replace(
            result,
            days=days,
            runs=len(ran),
            untold=untold,
            gain_ms=sum(each.ms for each in spared) * a_day,
            least_ms=sum(each.at_least for each in spared) * a_day,
            most_ms=sum(each.at_most for each in spared) * a_day,
            before_ms=sum(ms * runs for ms, _, runs in times) / counted if counted else None,
            now_ms=sum(ms * runs for _, ms, runs in times) / counted if counted else None,
            statements=max(bisect_right(self._times, end) - bisect_left(self._times, begin), 0),
        )


class Judged:
    """What an analysis has to know of results: which cubes don't pay, what isn't tried again."""

    def __init__(self, services: Services, now: datetime, keep: timedelta) -> None:
        results = Results(services, now)
        newest = int((now - keep).timestamp() * 1000)
        back = results.ledger.acted("undropped")
        self._back = {id for id, one in back.items() if one.at_ms > newest}
        self._unpaid = results.unpaid(TrialPeriod.of(services.config))
        self._not_again = results.not_again()
        self._on_trial = results.on_trial(services.config.advisor_trial_days)
        since = now - timedelta(days=AGAIN_DAYS)
        told = {
            shape: datetime.fromtimestamp(ms / 1000, UTC)
            for shape, ms in results.ledger.vain_ms.items()
        }
        self._vain = {shape: at for shape, at in told.items() if since <= at <= now}

    def existing(self, offer: Offer) -> Offer:
        """The offer of a cube that there is; with why it's to go, if it doesn't pay.

        What the advisor has made, or a person has brought back, not long ago stays: otherwise it
        would be made and dropped in turns.
        """
        record = offer.record
        why = "" if record is None or record.published else self._unpaid.get(record.id, "")
        if not why and record is not None and record.id in self._on_trial | self._back:
            option = replace(offer.option, fixed=True)
            return replace(offer, option=option, droppable=False)
        if not why:
            return offer
        option = replace(offer.option, fixed=False)
        return replace(offer, option=option, droppable=True, why=why)

    @property
    def vain(self) -> Mapping[str, datetime]:
        """By shape, until when it was tried in vain to answer it: runs before don't count."""
        return self._vain

    def standing(self, standing: Standing) -> Standing:
        """An index that there is; with why it's to go, if it doesn't pay."""
        why = self._unpaid.get(standing.record.id, "")
        if not why and standing.record.id in self._on_trial:
            return replace(standing, option=replace(standing.option, fixed=True), droppable=False)
        if not why:
            return standing
        option = replace(standing.option, fixed=False)
        return replace(standing, option=option, droppable=True, why=why)

    def failed(self, digest: str) -> bool:
        """Whether that was tried, and didn't pay."""
        return digest in self._not_again


def show(statement: ShowAdviceResults, services: Services) -> Iterator[Mapping[str, Any]]:
    """SHOW ADVICE RESULTS: all that was applied for a table, or for any; the newest first."""
    services.log.unwritten()
    wanted = table_uuid(services, statement.table)
    running, results, trial = _running(services), Results(services), TrialPeriod.of(services.config)
    now_ms = int(results.now.timestamp() * 1000)
    for one in results.all():
        if wanted in (None, one.applied.table_uuid):
            pays = trial.pays(one, now_ms)
            verdict = None if pays is None else _VERDICTS[pays]
            yield {**_row(one, running), "verdict": verdict}


def _running(services: Services) -> str:
    """Returns the advisor's progress if it runs: `3/10` data files."""
    try:
        progress = runs_of(Claims(services.store.files), KEY).running
    except StoreError:
        return ""
    return "" if progress is None else f" {progress.done}/{progress.total or '?'}"


def _row(one: AdviceResult, running: str) -> Mapping[str, Any]:
    made = one.applied
    is_drop = made.drops
    return {
        "id": made.id,
        "action": made.action,
        "table": made.table,
        "name": one.name,
        "by": made.by,
        "status": one.status + (running if made.state == "begun" else ""),
        "applied": made.ended_ms or made.began_ms,
        "promised_ms_per_day": None if is_drop else made.gain_ms,
        "gain_ms_per_day": one.gain_ms,
        "runs": one.runs,
        "before_ms": one.before_ms,
        "now_ms": one.now_ms,
        "statements": one.statements,
        "days": one.days,
        "promised_bytes": made.bytes,
        "bytes": one.bytes,
        "promised_build_s": None if is_drop else made.build_s,
        "build_s": None if is_drop or made.state != "done" else made.built_s,
        "reason": made.reason,
    }
