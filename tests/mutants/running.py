"""Runs of pytest in a copy of the repository: which tests failed, which one ran when it was ended.

Promises: a run and all of its processes are over when `run` returns, however it ends.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.coverage_map import lines_told
from tests.mutants.tree import Tree

_POLL_S = 0.1
_ENDS_S = 10.0
_TIMED_OUT = ("Timeout (>", "Failed: Timeout")


_ENDED = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP, -signal.SIGKILL)


class StoppedError(Exception):
    """Somebody wants no more of it."""


class EndedError(RuntimeError):
    """Somebody else has ended a run, which says nothing of the fault."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A test that failed, and what it said; `hung`: for as long as it was allowed to run."""

    test: str
    said: str
    hung: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """One run: its failures, and what had been running for how long where it was cut off."""

    failed: tuple[Failed, ...]
    cut: tuple[str, float] | None = None


class Runner:
    """Runs tests in one copy; `scratch` is a folder for what they leave behind."""

    def __init__(self, tree: Tree, scratch: Path, stop: threading.Event) -> None:
        self.tree, self._scratch, self._stop = tree, scratch, stop
        self._number = 0

    def run(
        self,
        tests: Sequence[str],
        *,
        seconds: float,
        each: float,
        more: Mapping[str, str] | None = None,
    ) -> Ran:
        """Runs these tests in this order up to the first that fails.

        `seconds` is how long all may take, `each` how long one may. StoppedError where it's stopped
        meanwhile, EndedError where somebody else ends it.
        """
        self._number += 1
        work = self._scratch / f"run-{self._number}"
        told = work / "told"
        (work / "tmp").mkdir(parents=True)
        listed = work / "tests.txt"
        listed.write_text("\n".join(tests) + "\n")
        command = [sys.executable, "-m", "tests.mutants.told", "-q", "-x"]
        command += ["-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0"]
        command += ["-o", f"timeout={each:.0f}", "--tb=short", f"@{listed}"]
        environment = self.tree.environment(
            work / "tmp", {"MUTANTS_TOLD": str(told), **(more or {})}
        )
        try:
            with (work / "log").open("w") as log:
                process = subprocess.Popen(
                    command,
                    cwd=self.tree.folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                over = self._wait(process, seconds)
            return _read(told, (work / "log").read_text(errors="replace"), process.returncode, over)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _wait(self, process: subprocess.Popen[bytes], seconds: float) -> bool:
        """Whether the time was over before the run was."""
        until = time.monotonic() + seconds
        try:
            while process.poll() is None:
                if self._stop.is_set():
                    raise StoppedError
                if time.monotonic() > until:
                    return True
                time.sleep(_POLL_S)
            return False
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the run and whatever it has started that is still there."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_S)


def _read(told: Path, log: str, status: int | None, over: bool) -> Ran:
    failed: dict[str, Failed] = {}
    begun: tuple[str, float] | None = None
    for one in lines_told(told):
        if "begun" in one:
            begun = one["begun"], one["at"]
        elif one.get("outcome") == "failed":
            hung = any(mark in one["said"] for mark in _TIMED_OUT)
            failed.setdefault(one["test"], Failed(one["test"], one["said"], hung))
        elif one.get("when") == "teardown":
            begun = None
    if failed:
        return Ran(tuple(failed.values()))
    if over:
        return Ran((), None if begun is None else (begun[0], time.time() - begun[1]))
    if status in _ENDED:
        raise EndedError(f"pytest was ended from outside, with {status}")
    if status not in (0, None):
        # The process itself has ended: inside of a test, or before there was one.
        name = "" if begun is None else begun[0]
        return Ran((Failed(name, f"pytest ends with {status}: {log[-400:]}"),))
    return Ran(())
