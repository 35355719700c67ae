"""What the advisor does by itself when the workload changes, on the Star Schema Benchmark.

For a week the first two flights of the queries are asked, then the other two. After each week the
advisor runs by itself, over a log of measured times: first of runs without cubes, then of runs as
they were answered by what it had made. So what was promised stands beside what was gained, and
what the first week's cubes are still good for is for the advisor to find out. In the end the cubes
that it took back are brought back, and answer as before.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
from msgspec.structs import replace
from rich.console import Console

import accelerator
from accelerator import Accelerator
from accelerator.common.records.as_dict import as_dict
from accelerator.services.advisor.apply.auto import AutoRun
from accelerator.services.advisor.report import Advised
from accelerator.services.runner import Reported
from accelerator.session.commands import execute
from accelerator.store.journals import ledger
from bench.report import Report
from bench.ssb.queries import QUERIES, Query
from bench.ssb.workspace import Workspace, open_loaded
from bench.steps import Steps, noise_into
from tests.accelerator.services.advisor.asked_lake import DAY_US, Asked, log_each

ASKED = 500
"""In each week."""
DAYS = 7
ROUNDS = 5
_BYTES = 4_000_000
_APART_US = DAYS * DAY_US // ASKED
Measured = Mapping[str, tuple[float, tuple[str, ...]]]
"""By query: milliseconds, and the cubes that answered."""


def changed(options: argparse.Namespace, report: Report) -> None:
    """`auto_kept_share`, `auto_taken_back_share`, `auto_changed_gain_share`."""
    workspace, steps = Workspace.of(options.scale), Steps(Console())
    with noise_into(workspace.root / "stderr.log"):
        open_loaded(workspace, steps).close()
    with ExitStack() as ends:
        _Changed(report, workspace, steps, ends, options.seed).measure()


class _Changed:
    def __init__(
        self, report: Report, workspace: Workspace, steps: Steps, ends: ExitStack, seed: int
    ) -> None:
        self._report, self._workspace, self._steps, self._ends = report, workspace, steps, ends
        self._seed = seed
        first = [one for one in QUERIES if one.name[1] in "12"]
        self._weeks = first, [one for one in QUERIES if one not in first]

    def measure(self) -> None:
        """All of it."""
        acc, figures = self._session("auto"), self._report.figures
        with self._steps.step("The first week, without cubes"):
            raw = self._measured(acc, self._weeks[0])
            self._log(acc, self._weeks[0], raw, 0)
        with self._steps.step("The advisor makes what pays"):
            made = self._run(acc)
        old = {one.name for one in made.steps if one.error is None}
        with self._steps.step("The same week again, with these"):
            by_cube = self._measured(acc, self._weeks[0])
            self._log(acc, self._weeks[0], by_cube, 0)
            self._later(acc, DAYS)
        kept = [one for one in acc.advice_results() if one.name in old]
        promised = sum(one.applied.gain_ms for one in kept)
        figures["auto_kept_share"] = sum(one.gain_ms or 0 for one in kept) / promised
        again = self._run(acc)
        figures["auto_dropped_of_kept"] = sum(one.action == "DROP CUBE" for one in again.steps)
        other = self._session("changed")
        with self._steps.step("Another week, after the first one"):
            self._log(other, self._weeks[0], raw, DAYS)
            first = {one.name for one in self._run(other).steps}
            self._later(other, DAYS)
            self._log(other, self._weeks[1], self._measured(other, self._weeks[1]), 0)
            before = {name: ms for name, (ms, _) in self._measured(other, self._weeks[1]).items()}
            answers = self._answers(other, self._weeks[0])
        with self._steps.step("The advisor takes back, and makes"):
            done = self._run(other)
        taken = {one.name for one in done.steps if one.action == "DROP CUBE"}
        figures["auto_taken_back_share"] = len(taken & first) / len(first)
        after = {name: ms for name, (ms, _) in self._measured(other, self._weeks[1]).items()}
        figures["auto_changed_spared_share"] = 1 - sum(after.values()) / sum(before.values())
        figures["auto_changed_gain_share"] = self._beside_fresh(before, after)
        with self._steps.step("What was taken back comes back"):
            for name in sorted(taken):
                other.undrop(name)
            lost = [one.name for one in self._run(other).steps if one.name in taken]
            same = self._answers(other, self._weeks[0]) == answers
            by = self._measured(other, self._weeks[0])
        figures["auto_brought_back_wrong"] = len(lost) + (not same)
        figures["auto_brought_back_used"] = len(
            taken & {name for _, names in by.values() for name in names}
        ) / max(len(taken), 1)
        self._report.details["auto"] = {
            "first": as_dict(made),
            "first_again": as_dict(again),
            "raw": raw,
            "by_cube": by_cube,
            "before": before,
            "after": after,
            "changed": as_dict(done),
            "results": [
                {
                    "name": one.name,
                    "promised": one.applied.gain_ms,
                    "gain": one.gain_ms,
                    "runs": one.runs,
                    "before_ms": one.before_ms,
                    "now_ms": one.now_ms,
                    "promised_bytes": one.applied.bytes,
                    "bytes": one.bytes,
                }
                for one in kept
            ],
        }

    def _beside_fresh(self, before: Mapping[str, float], after: Mapping[str, float]) -> float:
        """What is spared of the second week, beside what one who knows that week alone spares."""
        fresh = self._session("fresh")
        self._log(fresh, self._weeks[1], {name: (ms, ()) for name, ms in before.items()}, 0)
        self._run(fresh)
        best = sum(ms for ms, _ in self._measured(fresh, self._weeks[1]).values())
        total = sum(before.values())
        return (total - sum(after.values())) / (total - best)

    def _session(self, name: str) -> Accelerator:
        store = str(self._workspace.root / "auto" / f"{name}-{time.time_ns()}")
        settings: dict[str, Any] = {
            "advisor": "auto",
            "advisor_bytes_max": _BYTES,
            "advisor_steps_max": 20,
            "query_log": False,
        }
        opened = accelerator.open(self._workspace.warehouse, store=store, **settings)
        return self._ends.enter_context(opened)

    def _run(self, acc: Accelerator) -> Advised:
        own = AutoRun(
            acc.services, lambda one: execute(one, acc.services, {}), Reported(), threading.Event()
        )
        return own.run()

    def _measured(self, acc: Accelerator, queries: Sequence[Query]) -> Measured:
        found: dict[str, tuple[float, tuple[str, ...]]] = {}
        for query in queries:
            times = []
            for number in range(ROUNDS + 1):
                began = time.perf_counter()
                result = acc.query(query.sql(number, self._seed))
                result.arrow()
                times.append((time.perf_counter() - began) * 1000)
            found[query.name] = min(times[1:]), result.metrics.cubes
        return found

    def _answers(self, acc: Accelerator, queries: Sequence[Query]) -> list[pa.Table]:
        return [acc.query(query.sql(0, self._seed)).arrow() for query in queries]

    def _log(
        self, acc: Accelerator, queries: Sequence[Query], measured: Measured, days_ago: float
    ) -> None:
        """A week of them, which ended so many days ago."""
        drawn, end = random.Random(self._seed), time.time_ns() // 1000 - int(days_ago * DAY_US)
        asked = []
        for number in range(ASKED):
            query = drawn.choice(queries)
            ms, cubes = measured[query.name]
            text = query.sql(number, self._seed)
            asked.append(Asked(text, end - number * _APART_US, ms, cubes))
        log_each(acc, asked)

    def _later(self, acc: Accelerator, days: float) -> None:
        """As if what was applied had been applied so many days before."""
        ms = int(days * DAY_US) // 1000

        def moved(known: ledger.AdviceLedger) -> ledger.AdviceLedger:
            entries = (
                replace(one, began_ms=one.began_ms - ms, ended_ms=one.ended_ms - ms)
                for one in known.entries
            )
            return replace(known, entries=tuple(entries))

        ledger.change(acc.services.store.files, moved)
