"""Runs the fuzz of bytes: format after format, part after part, until the time is up.

Input n of a format is made of the run's seed and n alone, so any input can be made again. Ends with
one line of JSON, Ctrl-C included; the exit code is 1 where anything crashed, hung, failed otherwise
than its callers catch, or answered wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from fuzz.bytes.formats import FORMATS
from fuzz.bytes.kinds import Tally
from fuzz.bytes.trying import Tried
from fuzz.bytes.workers import Done, Part, Worker, finished

FOLDER = Path("build/fuzz-bytes")
_PART_INPUTS, _PART_S = 5_000, 1.0
_TOLD_EVERY_S = 10.0
_KEPT_MAX = 5  # failures of each sort that are told of; the first of them is shown
_NOT_OURS = ("/fuzz/", "/lib/python", "/site-packages/", "pyarrow/", "pyroaring/")

Tell = Callable[[str], None]


class Run:
    """One run over some formats, with some workers."""

    def __init__(self, names: Sequence[str], seed: int, tell: Tell, folder: Path = FOLDER) -> None:
        self.seed, self._tell = seed, tell
        self.tallies = {name: Tally() for name in names}
        self.failures: list[dict[str, Any]] = []
        self._sorts: dict[tuple[str, str, str], int] = {}
        self._next = dict.fromkeys(names, 0)
        self._folder = folder
        self._seconds = dict.fromkeys(names, 0.0)
        self._started = self._told = time.monotonic()

    def run(self, seconds: float, jobs: int, count: int | None = None) -> None:
        """Until the time is up, or each format has had so many inputs; an interrupt ends it."""
        workers = [Worker(self._folder) for _ in range(jobs)]
        busy: dict[Worker, tuple[str, float]] = {}
        until = time.monotonic() + seconds
        try:
            with suppress(KeyboardInterrupt):
                while True:
                    for worker in workers:
                        if worker not in busy and time.monotonic() < until:
                            part = self._part({name for name, _ in busy.values()}, count)
                            if part is not None:
                                worker.start(part)
                                busy[worker] = (part.format, time.monotonic())
                    if not busy:
                        return
                    for worker, done in finished(list(busy)):
                        name, began = busy.pop(worker)
                        self._seconds[name] += time.monotonic() - began
                        self._take(done)
                    self._progress()
        finally:
            for worker in workers:
                worker.close()

    def _part(self, taken: set[str], count: int | None) -> Part | None:
        """Of the format that has had the least time so far."""
        left = [
            name
            for name in self.tallies
            if name not in taken and (count is None or self._next[name] < count)
        ]
        if not left:
            return None
        name = min(left, key=lambda one: self._seconds[one])
        first = self._next[name]
        most = _PART_INPUTS if count is None else min(_PART_INPUTS, count - first)
        return Part(name, self.seed, first, most, _PART_S)

    def _take(self, done: Done) -> None:
        name = done.part.format
        self._next[name] = done.next
        self.tallies[name].add(done.tally)
        for failure in done.failures:
            sort = (name, failure["kind"], _where(failure["error"]))
            self._sorts[sort] = self._sorts.get(sort, 0) + 1
            if self._sorts[sort] <= _KEPT_MAX:
                self.failures.append(failure)
            if self._sorts[sort] == 1:
                self._tell(
                    f"{failure['kind'].upper()} {name}, seed {self.seed}, input {failure['number']}"
                    f" ({failure['input']})\n{failure['error']}"
                )

    def _progress(self) -> None:
        now = time.monotonic()
        if now - self._told >= _TOLD_EVERY_S:
            self._told = now
            self._tell(f"{now - self._started:.0f} s: {self.line()}")

    def figures(self) -> dict[str, Any]:
        """What the run comes to."""
        tallies = self.tallies.values()
        faults = {
            kind: sum(one.faults.get(kind, 0) for one in tallies)
            for kind in ("crash", "hang", "wrong", "error")
        }
        return {
            "inputs": sum(one.inputs for one in tallies),
            "formats": sum(one.inputs > 0 for one in tallies),
            "mutated_accepted": sum(one.mutated_accepted for one in tallies),
            "crashes": faults["crash"],
            "hangs": faults["hang"],
            "wrong": faults["wrong"],
            "errors": faults["error"],
            "worst_s": max((one.to_json()["worst_s"] for one in tallies), default=0),
            "worst_input": self._worst_input(),
            "worst_mb": max((one.to_json()["worst_mb"] for one in tallies), default=0),
            "seed": self.seed,
            "seconds": round(time.monotonic() - self._started, 1),
        }

    def _worst_input(self) -> str:
        """Names the format and the number of the slowest input."""
        if not self.tallies:
            return ""
        name, tally = max(self.tallies.items(), key=lambda item: item[1].worst_s)
        return f"{name} {tally.worst_number}"

    def line(self) -> str:
        """As one line of JSON."""
        return json.dumps(self.figures())

    def to_json(self) -> dict[str, Any]:
        """The figures, those of each format, and what failed."""
        return {
            **self.figures(),
            "by_format": {name: tally.to_json() for name, tally in self.tallies.items()},
            "failures": self.failures,
        }

    @property
    def sorts(self) -> dict[tuple[str, str, str], int]:
        """How many failures there were of each format, kind and place."""
        return self._sorts

    @property
    def failed(self) -> bool:
        """Whether anything was found."""
        return any(one.faults for one in self.tallies.values())


def _where(error: str) -> str:
    """What tells one sort of failure from another: the last place of ours, and what was raised."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    places = [one for one in lines if one.startswith("File ") and not _is_other(one)]
    if "most recent call first" in error:  # of a process that died
        return f"{places[0] if places else ''} {lines[0]}"
    return f"{places[-1] if places else ''} {lines[-1].split(':')[0] if lines else ''}"


def _is_other(place: str) -> bool:
    return any(one in place for one in _NOT_OURS)


def again(name: str, seed: int, number: int, tell: Tell) -> int:
    """Tries one input in this very process; 1 where it fails."""
    tried = Tried(FORMATS[name])
    made = tried.input(seed, number)
    tell(f"sample {made.sample}, checksums believed: {made.believed}, facts {made.input.facts!r}")
    tell(made.input.data.hex() if len(made.input.data) < 4096 else f"{len(made.input.data)} bytes")
    tally = Tally()
    fault = tried.try_one(made, tally)
    tell(json.dumps(tally.to_json()) if fault is None else f"{fault[0]}: {fault[1]}")
    return 0 if fault is None else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m fuzz.bytes`; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.bytes", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="at most so long (default 5)")
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--seed", type=int, help="a random one by default")
    parser.add_argument("--only", action="append", choices=sorted(FORMATS), help="a format")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--number", type=int, help="that input of --only alone, in this process")
    options = parser.parse_args(arguments)
    seed = random.randrange(10**6) if options.seed is None else options.seed
    tell: Tell = partial(print, flush=True)
    tell(f"seed {seed}")
    names = options.only or list(FORMATS)
    if options.number is not None:
        return again(names[0], seed, options.number, tell)
    run = Run(names, seed, tell)
    run.run(options.minutes * 60, options.jobs)
    for (name, kind, where), count in sorted(run.sorts.items()):
        tell(f"{count} × {kind} {name}: {where}")
    print(run.line(), flush=True)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(run.to_json(), indent=1) + "\n")
    return 1 if run.failed else 0
