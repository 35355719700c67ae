"""The processes that try inputs, and may die of them.

A worker is given parts of a format's inputs. Before each it writes into a file that both sides map
which one begins, and its bytes: so whoever watches knows of what it died, or over what it hangs,
and starts another one behind that. Its memory has a limit above what it had at first.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import re
import resource
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from fuzz.bytes.kinds import Damaged, Format, Tally
from fuzz.bytes.trying import Tried

FORMATS = "fuzz.bytes.formats"
MEMORY_BYTES = 2 << 30
"""What one input may take."""
HANG_S = 5.0
"""Of the worker's own time; of time on the wall it's six times as much."""
_SLOT_BYTES = 16 << 20
_SLOT = struct.Struct("<QQI")  # how many have begun, the number of the last, bytes behind
_FAILURES_MAX = 20  # of one part, that are saved
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Part:
    """Inputs of a format, from `first` on: so many at most, and for so long at most."""

    format: str
    seed: int
    first: int
    count: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """As a worker is told."""
        return {
            "format": self.format,
            "seed": self.seed,
            "first": self.first,
            "count": self.count,
            "seconds": self.seconds,
        }


@dataclass(slots=True)
class Done:
    """What came of a part; `next`: the first input that wasn't tried."""

    part: Part
    next: int
    tally: dict[str, Any]
    failures: list[dict[str, Any]] = field(default_factory=list)


def as_bytes(made: Damaged, told: dict[str, Any]) -> bytes:
    """An input as it's saved: a line of JSON, and its bytes."""
    line = json.dumps({**told, "facts": made.input.facts, "believed": made.believed})
    return line.encode(errors="replace") + b"\n" + made.input.data


class Worker:
    """One process, as seen from outside."""

    def __init__(self, folder: Path, formats: str = FORMATS, hang_s: float = HANG_S) -> None:
        """`formats`: the module that has them under that name; failing inputs go to `folder`."""
        self._folder, self._formats, self._hang_s = folder, formats, hang_s
        # A process that is killed leaves its files behind: all are in here, which goes with us.
        self._own = tempfile.TemporaryDirectory(prefix="fuzz-bytes")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the worker
        self._file = tempfile.NamedTemporaryFile()  # noqa: SIM115 - as long as the worker
        self._file.truncate(_SLOT_BYTES)
        self._slot = mmap.mmap(self._file.fileno(), _SLOT_BYTES)
        self._process: subprocess.Popen[bytes] | None = None
        self._part: Part | None = None
        self._before = 0  # inputs that had begun when the part was given
        self._began = (0, 0.0, 0.0)

    def start(self, part: Part) -> None:
        """Gives it a part; a process is there afterwards."""
        if self._process is None:
            self._errors.seek(0)
            self._errors.truncate()
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "fuzz.bytes.workers"),
                    *(self._file.name, str(self._folder), self._formats),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,  # an interrupt is for the parent alone
                env={**os.environ, "TMPDIR": self._own.name},
            )
        self._part = part
        # Before its first input it makes samples, and may compile.
        self._before = self._head()[0]
        self._began = (self._before, time.monotonic() + 300, float("inf"))
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(part.to_json()).encode() + b"\n")
        self._process.stdin.flush()

    def stream(self) -> Any:
        """What becomes readable when it has something to say."""
        assert self._process is not None
        return self._process.stdout

    def result(self) -> Done:
        """What came of the part; a worker that is dead is one that crashed."""
        assert self._process is not None and self._process.stdout is not None and self._part
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            return self._dead("crash")
        told = json.loads(line)
        if "broken" in told:
            raise RuntimeError(told["broken"])
        part, self._part = self._part, None
        return Done(part, told["next"], told["tally"], told["failures"])

    def hangs(self) -> bool:
        """Whether one input has taken too long."""
        begun, wall, cpu = self._head()[0], time.monotonic(), self._cpu()
        if begun != self._began[0]:
            self._began = (begun, wall, cpu)
            return False
        mine = cpu - self._began[2]
        over = wall - self._began[1]
        return over > 6 * self._hang_s or (over > 0 and mine > self._hang_s)

    def killed(self) -> Done:
        """What came of the part, whose last input hangs."""
        return self._dead("hang")

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _head(self) -> tuple[int, int, int]:
        return _SLOT.unpack_from(self._slot)

    def _cpu(self) -> float:
        """Seconds that the process has run; the wall's where nobody tells."""
        assert self._process is not None
        try:
            said = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(said[11]) + int(said[12])) / os.sysconf("SC_CLK_TCK")

    def _dead(self, kind: str) -> Done:
        assert self._process is not None and self._part is not None
        if kind == "hang":  # whatever it's at, it says where
            self._process.send_signal(signal.SIGABRT)
            time.sleep(_POLL_S)
        self.close()
        begun, number, size = self._head()
        if begun == self._before:
            raise RuntimeError(f"a worker died before its first input:\n{self._said()}")
        part, self._part = self._part, None
        tally = Tally(inputs=number + 1 - part.first, faults={kind: 1})
        path = self._folder / f"{part.format}-{part.seed}-{number}.input"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self._slot[_SLOT.size : _SLOT.size + size])
        failure = _failure(part, number, kind, self._said(), path)
        return Done(part, number + 1, tally.to_json(), [failure])

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-6_000:]


def finished(workers: list[Worker]) -> Iterator[tuple[Worker, Done]]:
    """The workers that have something to tell now, waiting a moment for the first."""
    with selectors.DefaultSelector() as selector:
        for one in workers:
            selector.register(one.stream(), selectors.EVENT_READ, one)
        for key, _ in selector.select(_POLL_S):
            yield key.data, key.data.result()
            workers = [one for one in workers if one is not key.data]
    for one in workers:
        if one.hangs():
            yield one, one.killed()


def _failure(part: Part, number: int, kind: str, text: str, path: Path) -> dict[str, Any]:
    told = {"format": part.format, "seed": part.seed, "number": number, "kind": kind}
    return {**told, "input": str(path), "error": text}


def _limit_memory() -> None:
    """So much more than the process has mapped by now."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return
    most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def _unlimited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _memory(name: str) -> float:
    """Megabytes by a name of `/proc/self/status`; 0 where there is none."""
    try:
        found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def _peak_reset() -> float:
    """Makes what the process has now its peak; returns it in megabytes."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmHWM")


def _try(tried: Tried, part: Part, slot: mmap.mmap, folder: Path) -> dict[str, Any]:
    tally, failures = Tally(), list[dict[str, Any]]()
    until = time.monotonic() + part.seconds
    number = part.first
    before = _peak_reset()
    while number < part.first + part.count and time.monotonic() < until:
        made = tried.input(part.seed, number)
        saved = as_bytes(made, {"format": part.format, "sample": made.sample})
        begun = _SLOT.unpack_from(slot)[0] + 1
        slot[_SLOT.size : _SLOT.size + len(saved)] = saved
        _SLOT.pack_into(slot, 0, begun, number, len(saved))
        began = time.process_time()
        fault = tried.try_one(made, tally)
        spent = time.process_time() - began
        if spent > tally.worst_s:
            tally.worst_s, tally.worst_number = spent, number
        if fault is not None and len(failures) < _FAILURES_MAX:
            path = folder / f"{part.format}-{part.seed}-{number}.input"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(saved)
            failures.append(_failure(part, number, *fault, path))
        number += 1
    tally.worst_mb = max(0.0, _memory("VmHWM") - before)
    return {"next": number, "tally": tally.to_json(), "failures": failures}


def main(slot_path: str, folder: str, formats: str) -> None:
    """A worker, until its input ends."""
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    every: Mapping[str, Format] = import_module(formats).FORMATS
    known: dict[str, Tried] = {}
    with Path(slot_path).open("r+b") as file:
        slot = mmap.mmap(file.fileno(), _SLOT_BYTES)
    for line in sys.stdin:
        part = Part(**json.loads(line))
        if part.format not in known:
            _unlimited()
            try:
                known[part.format] = Tried(every[part.format])
            except (RuntimeError, ValueError, LookupError, AssertionError) as error:
                broken = f"{part.format}: {traceback.format_exc()}{error}"
                answers.write(json.dumps({"broken": broken}).encode() + b"\n")
                answers.flush()
                continue
        _limit_memory()
        told = _try(known[part.format], part, slot, Path(folder))
        _unlimited()
        answers.write(json.dumps(told).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
