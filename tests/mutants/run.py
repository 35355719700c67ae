"""`make mutants`: plants each fault alone, and runs the tests that run the lines it changes.

    python -m tests.mutants.run [--json F] [--only NAME …] [--parts unit …] [--list] [--jobs 2]

The first test that fails ends a fault, if it passes without it; a fault that no test notices
survives, and is named at the end. Works in copies of the repository under `build/mutants`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.mutants import coverage_map
from tests.mutants.choice import chosen
from tests.mutants.coverage_map import Case, CoverageMap, MapError
from tests.mutants.planted import Mutant, MutantError, check, read
from tests.mutants.running import EndedError, Failed, Runner, StoppedError
from tests.mutants.tree import BUILD, HERE, Tree, sources

MUTANT_S = 600.0
"""Of one fault: what is left of its tests then isn't run."""
_EACH_S, _SLOWER = 120.0, 10.0
"""A test may take that long, or so many times longer than recorded."""
_HANGS_S = 60.0
_TRIES = 3
NOTICED = HERE / "tests/mutants/noticed.json"
"""The test file that noticed each fault last."""
KILLED, SURVIVED, UNFINISHED, UNCOVERED = "killed", "survived", "unfinished", "uncovered"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a fault: `killer` noticed it, `hung` says whether by never ending."""

    mutant: Mutant
    outcome: str
    seconds: float
    tests: int
    how: str
    killer: str = ""
    said: str = ""
    hung: bool = False

    @property
    def is_lost(self) -> bool:
        """Whether no test has noticed it."""
        return self.outcome != KILLED

    def line(self) -> str:
        """As it's shown when it ends."""
        by = f" by {self.killer}{' (timeout)' if self.hung else ''}" if self.killer else ""
        tests = f" of {self.tests} tests by {self.how}" if self.is_lost else ""
        return f"{self.outcome:10} {self.mutant.name} ({self.seconds:.0f} s){by}{tests}"


@dataclass
class Known:
    """Tests that pass without any fault, and those that fail; threads share it.

    What passed while the map was recorded passes, if neither product nor tests have changed since.
    """

    good: set[str] = field(default_factory=set)
    bad: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Hunt:
    """Plants faults in one copy, one after the other."""

    def __init__(
        self,
        runner: Runner,
        mapped: CoverageMap,
        there: Mapping[str, int],
        known: Known,
        noticed: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`noticed` has the test file that noticed each fault last."""
        self._runner, self._map, self._there, self._known = runner, mapped, there, known
        self._noticed = noticed

    def verdict(self, mutant: Mutant) -> Verdict:
        """What comes of the fault. StoppedError where it's stopped meanwhile."""
        began = time.monotonic()
        path = self._runner.tree.folder / mutant.file
        text = path.read_text(encoding="utf-8")
        noticed = self._noticed.get(mutant.name, "")
        picked = chosen(mutant, self._runner.tree.folder, self._map, self._there, noticed)

        def told(outcome: str, failed: Failed | None = None) -> Verdict:
            spent = round(time.monotonic() - began, 1)
            of = (picked.how, *((failed.test, failed.said, failed.hung) if failed else ()))
            return Verdict(mutant, outcome, spent, len(picked.tests), *of)

        if not picked.tests:
            return told(UNCOVERED)
        with _environment(text) as more:
            for part in picked.chunks():
                left = part
                while left:
                    rest = MUTANT_S - (time.monotonic() - began)
                    if rest <= 0:
                        return told(UNFINISHED)
                    failed = self._failed(mutant, text, left, rest, more)
                    if failed is None:
                        break
                    if failed.test == "":
                        return told(UNFINISHED)
                    if self._passes(failed.test, left):
                        return told(KILLED, failed)
                    # Of a file that can't be collected no test is left.
                    left = [one for one in left if failed.test not in (one.name, one.file)]
        return told(SURVIVED)

    def _failed(
        self, mutant: Mutant, text: str, part: Sequence[Case], rest: float, more: Mapping[str, str]
    ) -> Failed | None:
        """The first test of the part that fails under the fault; one without name: out of time."""
        with self._known.lock:
            names = [one.name for one in part if not {one.name, one.file} & self._known.bad.keys()]
        if not names:
            return None
        each = max(_EACH_S, _SLOWER * max(one.seconds for one in part))
        with self._runner.tree.changed(mutant.file, mutant.planted(text)):
            ran = self._runner.run(names, seconds=rest, each=each, more=more)
        if ran.failed:
            first = ran.failed[0]
            # The process ended before any test began: the first one can't even be collected.
            return first if first.test else Failed(names[0], first.said)
        if ran.cut is not None:
            recorded = {one.name: one.seconds for one in part}
            name, ago = ran.cut
            if ago > max(_HANGS_S, _SLOWER * recorded.get(name, 0.0)):
                return Failed(name, f"it ran for {ago:.0f} s", hung=True)
            return Failed("", "")
        return None

    def _passes(self, name: str, part: Sequence[Case]) -> bool:
        """Whether the test passes without any fault."""
        with self._known.lock:
            if name in self._known.good or name in self._known.bad:
                return name in self._known.good
        of_file = [one.name for one in part if one.file == name]
        wanted = of_file[:1] or [name]
        for place, one in enumerate(part):
            if one.name == name and one.spark:  # after what stands before it in its file
                wanted = [t.name for t in part[: place + 1] if t.file == one.file]
        ran = self._runner.run(wanted, seconds=MUTANT_S, each=MUTANT_S)
        fails = next(iter(ran.failed), None)
        with self._known.lock:
            if fails is None and ran.cut is None:
                self._known.good.add(name)
                return True
            self._known.bad[name] = "it takes too long" if fails is None else fails.said
        return False


def _once_more(hunt: Hunt, mutant: Mutant) -> Verdict:
    """The verdict; asked for anew where somebody has ended a run."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(EndedError):
            return hunt.verdict(mutant)
    return hunt.verdict(mutant)


@contextlib.contextmanager
def _environment(text: str) -> Iterator[dict[str, str]]:
    """What compiled kernels need: who calls them is compiled with them, and must be anew."""
    if "@compiled" not in text:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="kernels-") as folder:
        yield {"NUMBA_CACHE_DIR": folder}


def main(arguments: Sequence[str]) -> int:
    """The command: 1 where a fault survives, 2 where nothing could be run."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="just these faults")
    parser.add_argument("--list", action="store_true", help="name the faults, and run nothing")
    parser.add_argument("--jobs", type=int, default=2, help="so many side by side [2]")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=list(coverage_map.PARTS),
        default=list(coverage_map.PARTS),
        help="tests that are asked, the cheap ones first [all]",
    )
    parser.add_argument("--map-anew", action="store_true", help="record the coverage map again")
    told = parser.parse_args(arguments)
    try:
        mutants = _wanted(read(), told.only)
        check(mutants, HERE)
        if told.list:
            for one in mutants:
                print(f"{one.name}  {one.file}\n    {one.why}")
            return 0
        figures = run(mutants, max(1, told.jobs), told.parts, anew=told.map_anew)
    except (MutantError, MapError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mutants: stopped", file=sys.stderr)
        return 130
    if told.json:
        told.json.parent.mkdir(parents=True, exist_ok=True)
        told.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 1 if figures["mutants_lost"] else 0


def _wanted(mutants: Sequence[Mutant], only: Sequence[str]) -> list[Mutant]:
    unknown = sorted(set(only) - {one.name for one in mutants})
    if unknown:
        raise MutantError(f"there is no mutant {', '.join(unknown)}; --list names them")
    return [one for one in mutants if not only or one.name in only]


def run(
    mutants: Sequence[Mutant],
    jobs: int,
    parts: Sequence[str] = tuple(coverage_map.PARTS),
    *,
    anew: bool = False,
) -> dict[str, Any]:
    """Plants all of them, prints each verdict, and returns the figures.

    A fault is tried by one part of the tests after the other, until one notices it. It isn't tried
    by the parts before the one that noticed it last, unless that one doesn't notice it any more.
    """
    names = sources()
    trees = [Tree(BUILD / f"tree-{number}") for number in range(jobs)]
    for tree in trees:
        tree.refresh(names)
    noticed = json.loads(NOTICED.read_text())
    known = Known()
    verdicts: dict[str, Verdict] = {}
    skipped: dict[str, set[str]] = {part: set() for part in parts}
    map_minutes, spent = 0.0, 0.0
    for again, part in [(False, one) for one in parts] + [(True, one) for one in parts]:
        lost = [one for one in mutants if one.name not in verdicts or verdicts[one.name].is_lost]
        if again:
            lost = [one for one in lost if one.name in skipped[part]]
        if not lost:
            continue
        map_minutes += _record(part, trees[0], anew=anew and not again)
        mapped = CoverageMap(parts=(part,))
        files = {case.file for case in mapped.tests.values()}
        if not again:
            later = {
                one.name
                for one in lost
                if one.name not in verdicts and noticed.get(one.name, "") not in {"", *files}
            }
            skipped[part] |= later
            lost = [one for one in lost if one.name not in later]
        there = coverage_map.collected(trees[0], mapped, part)
        new = len(there.keys() - mapped.tests.keys())
        print(f"map: {part} {mapped.made[part]}: {len(lost)} faults to plant")
        if new:
            print(f"map: {new} tests are newer than it and aren't run; --map-anew records them")
        began = time.monotonic()
        if mapped.sums == {coverage_map.checksum_of(trees[0].folder)}:
            known.good |= mapped.tests.keys() - mapped.failed
        for one in _all(lost, trees, mapped, there, known):
            if one.mutant.name not in verdicts or one.outcome != UNCOVERED:
                verdicts[one.mutant.name] = one
            if one.killer:
                _keep(one)
        spent += (time.monotonic() - began) / 60
    return _figures(mutants, verdicts, known) | {
        "mutants_minutes": round(spent, 1),
        "map_minutes": map_minutes,
        "parts": list(parts),
        "jobs": jobs,
        "cores": os.cpu_count(),
    }


def _figures(
    mutants: Sequence[Mutant], verdicts: Mapping[str, Verdict], known: Known
) -> dict[str, Any]:
    """Prints and returns what came of the faults."""
    left = sorted(one.name for one in mutants if one.name not in verdicts)
    lost = sorted(name for name, one in verdicts.items() if one.is_lost)
    for name, said in sorted(known.bad.items()):
        print(f"fails without any fault, and counts for none: {name}\n    {said[-200:]}")
    noticed = len(verdicts) - len(lost)
    print(f"{len(mutants)} planted, {noticed} noticed")
    if left:
        print(f"only other parts of the tests may notice: {', '.join(left)}")
    if lost:
        print(f"no test notices: {', '.join(lost)}")
    return {
        "mutants": len(mutants),
        "mutants_noticed": noticed,
        "mutants_lost": len(lost),
        "mutants_left": left,
        "survivors": lost,
        "listed": sum(bool(one.listed) for one in mutants),
        "failed_without": sorted(known.bad),
        "each": [_row(verdicts[name]) for name in sorted(verdicts)],
    }


def _keep(noticed: Verdict) -> None:
    """Writes which test file has noticed a fault, so that it's asked first the next time."""
    known = json.loads(NOTICED.read_text())
    known[noticed.mutant.name] = noticed.killer.partition("::")[0]
    there = {one.name for one in read()}
    kept = {name: file for name, file in sorted(known.items()) if name in there}
    NOTICED.write_text(json.dumps(kept, indent=1) + "\n")


def _row(one: Verdict) -> dict[str, Any]:
    return {
        "name": one.mutant.name,
        "room": one.mutant.room,
        "outcome": one.outcome,
        "seconds": one.seconds,
        "tests": one.tests,
        "how": one.how,
        "killer": one.killer,
        "timeout": one.hung,
    }


def _record(part: str, tree: Tree, *, anew: bool) -> float:
    """Records a part of the map if it's missing or wanted anew; returns the minutes it took."""
    if coverage_map.is_recorded(part) and not anew:
        return 0.0
    began = time.monotonic()
    print(f"map: the {part} tests are run once under coverage, which takes a while", flush=True)
    coverage_map.record(part, tree, os.cpu_count() or 1)
    return round((time.monotonic() - began) / 60, 1)


def _all(
    mutants: Sequence[Mutant],
    trees: Sequence[Tree],
    mapped: CoverageMap,
    there: Mapping[str, int],
    known: Known,
) -> Iterator[Verdict]:
    """The verdicts as they come, from a thread for each copy."""
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    done: queue.SimpleQueue[Verdict | BaseException | None] = queue.SimpleQueue()
    for one in mutants:
        waiting.put(one)
    stop = threading.Event()
    scratch = Path(tempfile.mkdtemp(prefix="mutants-"))
    noticed = json.loads(NOTICED.read_text())

    def work(tree: Tree) -> None:
        runner = Runner(tree, scratch / tree.folder.name, stop)
        hunt = Hunt(runner, mapped, there, known, noticed)
        try:
            while not stop.is_set():
                done.put(_once_more(hunt, waiting.get_nowait()))
        except (queue.Empty, StoppedError):
            done.put(None)
        except BaseException as error:  # told in the main thread
            done.put(error)

    threads = [threading.Thread(target=work, args=(tree,), name=tree.folder.name) for tree in trees]
    try:
        for thread in threads:
            thread.start()
        running, number = len(threads), 0
        while running:
            found = done.get()
            if isinstance(found, BaseException):
                raise found
            if found is None:
                running -= 1
                continue
            number += 1
            print(f"{number:3}/{len(mutants)} {found.line()}", flush=True)
            yield found
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
