"""What was asked, by shape: how often, how long it took, and texts that stand for it.

Runs fade: one that is a half-life old counts half. Answers that were kept from before cost next to
nothing, so they're counted, and weigh nothing. Pure, but for `logged`, which reads the log.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from accelerator.store.files.files import StoreFiles
from accelerator.store.journals.query_log.reader import LIMIT_MAX, look

SAMPLES_MAX = 3
"""Texts of a shape that are kept, the newest of each engine's runs first."""
SHAPES_MAX = 2_000
"""Shapes that are looked at, those that took longest; others are counted."""
CUT, TOO_MANY, IN_VAIN = "cut", "too_many_shapes", "tried_in_vain"
_DAY_S = 86_400.0
_READS_MAX = 20
"""Of what is older than what counts: a few million statements."""
RUN_COLUMNS = (
    *("started", "state", "sql", "sql_length", "dialect", "catalog", "schema", "shape"),
    *("queued_ms", "elapsed_ms", "execution_ms", "planning_ms", "engine", "cached"),
    *("cubes", "bytes_read"),
)


class ShapeSample(Struct, frozen=True):
    """A text of a shape, and by what its names and words are read."""

    sql: str
    dialect: str = "spark"
    catalog: str | None = None
    schema: str | None = None


class ShapeRuns(Struct, frozen=True):
    """The runs of one shape.

    `weight` is the sum of what runs weigh whose answers weren't kept from before. `raw_ms` and
    `raw_bytes` are medians of runs without a cube, `cube_ms` of those with some; None where there
    were none. `cubes` are those that answered, by name.
    """

    key: str
    samples: tuple[ShapeSample, ...]
    runs: int
    weight: float
    ms: float
    raw_ms: float | None = None
    raw_bytes: int | None = None
    cube_ms: float | None = None
    engine: str | None = None
    cubes: frozenset[str] = frozenset()
    newest: datetime | None = None


class Workload(Struct, frozen=True):
    """Shapes, those first that took longest.

    `statements` are the finished queries that were looked at; `left_out` how many of them aren't in
    the shapes, by reason. `days` is for how long they weigh: what is gained by all of them is
    gained once in so many days. `is_whole`: the log had no more of that time than was read.
    `since`: when the oldest of all finished statements began. `used`: when a cube last answered, by
    its name.
    """

    shapes: tuple[ShapeRuns, ...]
    statements: int
    days: float
    left_out: Mapping[str, int] = field(default_factory=dict)
    is_whole: bool = True
    since: datetime | None = None
    used: Mapping[str, datetime] = field(default_factory=dict)


def logged(
    files: StoreFiles,
    *,
    days: float,
    keep_days: float,
    half_life_days: float,
    now: datetime,
    vain: Mapping[str, datetime] = MappingProxyType({}),
) -> Workload:
    """The workload of the last days; what cubes answered is told of `keep_days`, too.

    Runs of a shape in `vain` don't count that began before then. StoreError where the store can't
    be listed.
    """
    since = now - timedelta(days=days)
    found = look(files, since, None, LIMIT_MAX)
    rows = found.rows.select(list(RUN_COLUMNS)).to_pylist()
    is_whole = not found.is_cut and len(rows) < LIMIT_MAX
    made = workload(rows, now=now, half_life_days=half_life_days, is_whole=is_whole, vain=vain)
    # Of the time before it, as far as it goes back beyond what counts, only who answered.
    back = now - timedelta(days=max(days, keep_days) * 2)
    used, first = dict(made.used), made.since
    until = min(row["started"] for row in rows) if rows else since
    for _ in range(_READS_MAX):
        older = look(files, back, until, LIMIT_MAX).rows
        if not older.num_rows:
            break
        for row in older.select(["started", "cubes"]).to_pylist():
            until = row["started"]
            for cube in row["cubes"] or ():
                used[cube] = max(used.get(cube, until), until)
        first = until
        if first <= now - timedelta(days=keep_days) or older.num_rows < LIMIT_MAX:
            break
    return replace(made, used=used, since=first)


def workload(
    rows: Iterable[Mapping[str, Any]],
    *,
    now: datetime,
    half_life_days: float,
    is_whole: bool = True,
    vain: Mapping[str, datetime] = MappingProxyType({}),
) -> Workload:
    """The log's rows by shape. A time in the future is now: clocks differ. `vain`: see `logged`."""
    runs: dict[str, list[Mapping[str, Any]]] = {}
    left_out: Counter[str] = Counter()
    used: dict[str, datetime] = {}
    statements, oldest, since = 0, now, None
    for row in rows:
        if row["state"] != "FINISHED":
            continue
        since = min(since or now, row["started"])
        for cube in row["cubes"] or ():
            used[cube] = max(used.get(cube, row["started"]), row["started"])
        if row["shape"] is None:
            if is_cut(row):  # too long for a shape, or no query: that can't be told
                left_out[CUT] += 1
            continue
        statements += 1
        oldest = min(oldest, row["started"])
        if is_cut(row):
            left_out[CUT] += 1
            continue
        if row["shape"] in vain and row["started"] < vain[row["shape"]]:
            left_out[IN_VAIN] += 1
            continue
        runs.setdefault(row["shape"], []).append(row)
    shapes = [_shape(key, own, now, half_life_days) for key, own in runs.items()]
    shapes.sort(key=lambda one: (-one.ms, one.key))
    for one in shapes[SHAPES_MAX:]:
        left_out[TOO_MANY] += one.runs
    age_days = max((now - oldest).total_seconds() / _DAY_S, 1 / 24)
    days = faded_days(age_days, half_life_days)
    kept = tuple(shapes[:SHAPES_MAX])
    return Workload(kept, statements, days, dict(left_out), is_whole, since, used)


def is_cut(row: Mapping[str, Any]) -> bool:
    """Whether the log has a part of the text only."""
    return row["sql_length"] is not None and row["sql_length"] > len(row["sql"])


def weight_of(started: datetime, now: datetime, half_life_days: float) -> float:
    """Of a run: 1 now, a half after a half-life.

    >>> weight_of(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 8, tzinfo=UTC), 7)
    0.5
    """
    age = max(0.0, (now - started).total_seconds())
    return float(2 ** (-age / (half_life_days * _DAY_S)))


def faded_days(days: float, half_life_days: float) -> float:
    """How much so many days weigh together, the last of them 1."""
    rate = math.log(2) / half_life_days
    return -math.expm1(-rate * days) / rate


def _shape(
    key: str, rows: Sequence[Mapping[str, Any]], now: datetime, half_life: float
) -> ShapeRuns:
    newest_first = sorted(rows, key=lambda row: row["started"], reverse=True)
    texts = dict.fromkeys(
        ShapeSample(row["sql"], row["dialect"] or "spark", row["catalog"], row["schema"])
        for row in newest_first
    )
    made = [(row, weight_of(row["started"], now, half_life)) for row in rows if not row["cached"]]
    timed = [(run_ms(row), weight, row) for row, weight in made]
    raw = [one for one in timed if not one[2]["cubes"]]
    by_cube = [one for one in timed if one[2]["cubes"]]
    sizes = [
        (float(row["bytes_read"]), weight) for _, weight, row in raw if (row["bytes_read"] or 0) > 0
    ]
    raw_bytes = median(sizes)
    return ShapeRuns(
        key=key,
        samples=tuple(texts)[:SAMPLES_MAX],
        runs=len(rows),
        weight=sum(weight for _, weight in made),
        ms=sum(ms * weight for ms, weight, _ in timed if ms is not None),
        raw_ms=median([(ms, weight) for ms, weight, _ in raw if ms is not None]),
        raw_bytes=None if raw_bytes is None else int(raw_bytes),
        cube_ms=median([(ms, weight) for ms, weight, _ in by_cube if ms is not None]),
        engine=next((row["engine"] for row in newest_first if not row["cached"]), None),
        cubes=frozenset(cube for row in rows for cube in row["cubes"] or ()),
        newest=newest_first[0]["started"],
    )


def run_ms(row: Mapping[str, Any]) -> float | None:
    """Milliseconds of the work itself, without planning and waiting; None where that isn't known.

    What the log says may be anything: what is no time isn't known.
    """
    told = row["execution_ms"]
    if told is None and row["elapsed_ms"] is not None:
        told = row["elapsed_ms"] - (row["queued_ms"] or 0.0) - (row["planning_ms"] or 0.0)
    if told is None or not math.isfinite(told):
        return None
    return float(min(max(told, 0.0), _DAY_S * 1000))


def median(weighted: Sequence[tuple[float, float]]) -> float | None:
    """Of values and their weights; None of none.

    >>> median([(1, 1), (5, 1), (9, 3)])
    9
    """
    found = sorted(weighted)
    half, so_far = sum(weight for _, weight in found) / 2, 0.0
    for value, weight in found:
        so_far += weight
        if so_far >= half:
            return value
    return None


def now_utc() -> datetime:
    """The clock."""
    return datetime.now(UTC)
