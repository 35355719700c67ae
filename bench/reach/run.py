"""`python -m bench reach --before COMMIT`: which statements are answered no longer.

The commit's files go into a folder of their own. The same recorder runs over both trees, each in a
process with its own code, and asks the commit's statements. These are the suites of
`tests/statements` at each of their states, SSB, TPC-H and TPC-DS over bare tables and beside their
cubes, and the statements of the gateway's tools. The exit code is 1 if a statement was answered at
the commit and isn't now. `--allow` lists exceptions, each with a counter-example that shows that
the earlier answer was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.reach.checkout import ROOT, CheckoutError, commit_id, files_of
from bench.reach.compare import Allowance, AllowanceError, Comparison, compare, read_allowances
from bench.reach.recorder import MARK, SOURCES, TPC_SCALE
from bench.report import Report
from bench.steps import Steps
from bench.tpc.data import Suite

ALLOWED = Path(__file__).with_name("wrong_before.toml")
_RECORDER = Path(__file__).with_name("recorder.py")
_LOG = Path("build/reach.log")
_LINE_EVERY_S = 10.0
_SHOWN = 40
_GRACE_S = 20.0


class RecorderError(RuntimeError):
    """A recorder failed; the message has the end of what it said."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--before", required=True, metavar="COMMIT", help="the earlier commit")
    parser.add_argument("--json", type=Path, default=Path("build/reach.json"))
    parser.add_argument(
        "--only",
        default="",
        help=f"parts, with commas: {', '.join(SOURCES)}, or one suite, as statements/traps",
    )
    parser.add_argument(
        "--allow", type=Path, default=ALLOWED, help="statements whose earlier answer was wrong"
    )


def run(options: argparse.Namespace) -> int:
    """Records both trees, compares them, writes the figures: 1 if a loss isn't explained."""
    console, only = Console(), [one for one in options.only.split(",") if one]
    unknown = [one for one in only if one.partition("/")[0] not in SOURCES]
    if unknown:
        console.print(f"--only {unknown[0]}: there is {', '.join(SOURCES)}", style="red")
        return 2
    try:
        allowed, commit = read_allowances(options.allow), commit_id(options.before)
        report = Report("reach", options.json, {"before": commit, "only": only})
        before, now = _recorded(commit, only, console)
    except (AllowanceError, CheckoutError, RecorderError) as error:
        console.print(str(error), style="red", highlight=False, markup=False)
        return 2
    except KeyboardInterrupt:
        console.print("Interrupted: both recorders have ended, and nothing was written.")
        return 130
    found = compare(before, now, allowed)
    _fill(report, found, complete=not only)
    _show(console, found, allowed)
    console.print(f"Written to {report.path}")
    return int(bool(found.unexplained))


def _recorded(commit: str, only: Sequence[str], console: Console) -> tuple[Any, Any]:
    """Records the commit's tree and this one, side by side."""
    steps = Steps(console)
    for short in ("h", "ds"):
        if not only or f"tpc{short}" in only:
            suite = Suite.of(short, TPC_SCALE)
            with steps.step(f"Generate {suite.title} at scale {TPC_SCALE:g}"):
                suite.generate()
    data = Suite.of("h", TPC_SCALE).root.parent
    with ExitStack() as ends:
        ends.enter_context(_ended_by_signals())
        tree = ends.enter_context(files_of(commit))
        work = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="reach-work-")))
        _LOG.parent.mkdir(parents=True, exist_ok=True)
        log = ends.enter_context(_LOG.open("wb"))
        sides = [Side("before", tree, tree), Side("now", ROOT.resolve(), tree)]
        for side in sides:
            side.start(work, data, only, log)
            ends.callback(side.stop)
        with _bars(console) as tell:
            _wait(sides, tell)
        return sides[0].recording(), sides[1].recording()


@dataclass
class Side:
    """A recorder: the tree that it runs over, the tree whose statements it asks, its progress."""

    name: str
    tree: Path
    base: Path
    done: int = 0
    total: int = 0
    source: str = ""
    _out: Path = Path()
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)
    _reader: threading.Thread | None = field(default=None, repr=False)

    def start(self, work: Path, data: Path, only: Sequence[str], log: Any) -> None:
        """Starts the process, in a session of its own so that it can be ended with its children."""
        folder = work / self.name
        folder.mkdir()
        self._out = work / f"{self.name}.json"
        records = os.environ.get("TESTS_RECORDS") or str(ROOT / "build" / "records")
        env = {
            **os.environ,
            "PYTHONPATH": str(self.tree),
            "TESTS_RECORDS": records,
            "PYSPARK_PYTHON": sys.executable,
        }
        places = {"tree": self.tree, "base": self.base, "data": data.absolute()}
        places |= {"work": folder, "out": self._out}
        words = [word for name, path in places.items() for word in (f"--{name}", str(path))]
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_RECORDER), *words, "--only", ",".join(only)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=env,
            cwd=folder,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(MARK):
                told = json.loads(line.removeprefix(MARK))
                self.done, self.total, self.source = told["done"], told["total"], told["source"]

    @property
    def runs(self) -> bool:
        """Decides whether the process still runs; RecorderError if it failed."""
        assert self._process is not None
        code = self._process.poll()
        if code:
            said = _LOG.read_text(errors="replace").splitlines()[-15:]
            last = "\n  ".join(said)
            raise RecorderError(
                f"the recorder of `{self.name}` ended with status {code}. The end of {_LOG}:\n  "
                f"{last}"
            )
        return code is None

    def stop(self) -> None:
        """Ends the process and its children."""
        if self._process is None:
            return
        group = self._process.pid
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
                break
        if self._reader is not None:
            self._reader.join(_GRACE_S)

    def recording(self) -> Any:
        """Reads the outcomes that the recorder wrote."""
        return json.loads(self._out.read_text())


Tell = Callable[[Side], None]


def _wait(sides: Sequence[Side], tell: Tell) -> None:
    running = list(sides)
    while running:
        running = [side for side in running if side.runs]
        for side in sides:
            tell(side)
        time.sleep(0.2)


@contextmanager
def _bars(console: Console) -> Iterator[Tell]:
    """Shows a bar for each side on a terminal, else a line every ten seconds."""
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (TextColumn("{task.description:<8}"), BarColumn(), TextColumn("{task.fields[at]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(side: Side) -> None:
            if side.name not in tasks:
                tasks[side.name] = bars.add_task(side.name, total=None, at="")
            at = f"{side.done:,} of {side.total:,} {side.source}" if side.total else "starts"
            bars.update(tasks[side.name], total=side.total or None, completed=side.done, at=at)

        yield tell


def _lines(console: Console) -> Tell:
    last: dict[str, float] = {}

    def tell(side: Side) -> None:
        now = time.monotonic()
        if now - last.setdefault(side.name, now) >= _LINE_EVERY_S:
            last[side.name] = now
            at = f"{side.done:,} of {side.total:,}, {side.source}"
            console.print(f"  {side.name}: {at}", highlight=False)

    return tell


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Makes SIGTERM end the bench as Ctrl-C does, so that folders are removed and processes end."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _fill(report: Report, found: Comparison, *, complete: bool) -> None:
    report.figures |= found.counts()
    report.details |= {
        "lost_statements": found.lost,
        "gained": found.gained,
        "changed": found.changed,
        "reasons_changed": found.reasons_changed,
        "missing": found.missing,
        "sources": {name: dict(sorted(counts.items())) for name, counts in found.sources.items()},
    }
    report.complete = complete
    report.save()


def _show(console: Console, found: Comparison, allowed: Sequence[Allowance]) -> None:
    columns = ("statements", "answered before", "now", "lost", "gained", "changed", "new")
    table = Table("source", *columns)
    for name, counts in sorted(found.sources.items()):
        keys = ("statements", "answered_before", "answered_now", "lost", "gained", "changed", "new")
        table.add_row(name, *(f"{counts[key]:,}" for key in keys))
    console.print(table)
    for one in found.lost[:_SHOWN]:
        why = one.get("counter_example")
        place = f"{one['source']}/{one['suite']} at {one['state']}"
        console.print(f"lost: {place}: {one['before']}, now {one['after']}", highlight=False)
        console.print(f"  {' '.join(one['statement'].split())}", markup=False, highlight=False)
        if why:
            console.print(f"  its answer was wrong: {why}", markup=False, highlight=False)
    if len(found.lost) > _SHOWN:
        console.print(f"… and {len(found.lost) - _SHOWN} more, in the file")
    figures = found.counts()
    console.print(
        f"{figures['lost']} lost, {figures['lost_unexplained']} of them without a counter-example"
        f" ({len(allowed)} are listed); {figures['gained']} gained, {figures['changed']} answered"
        f" otherwise, {figures['missing']} asked no longer, {figures['new']} new"
    )
