"""Finds the statements that may have ended a worker, from its ledger and its status.

Promises: a suspect isn't run again beside others, and a culprit never is. A statement that can't
have caused the death runs again.
`docs/decisions/0052-a-statement-that-ends-a-worker.md` argues each case.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Mapping
from enum import Enum, auto
from pathlib import Path

from msgspec import Struct, field

from accelerator.gateway.workers.ledger import Note, crashed_thread

_OWN_FAULTS = frozenset(
    {
        *(signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL),
        *(signal.SIGFPE, signal.SIGSYS, signal.SIGTRAP),
    }
)
"""Signals by which a process dies of what it does itself."""
JAVA_ENDED = 79
"""The status with which a worker ends whose Java process has ended."""
_BUSY_S = 0.1
"""A thread that used less of a processor, while its worker was silent, doesn't hold its lock."""


class Fate(Enum):
    """A worker's death, as it concerns one statement that was sent to it."""

    UNTOUCHED = auto()
    """It hadn't begun."""
    INNOCENT = auto()
    """It ran, and can't have caused the death."""
    SUSPECT = auto()
    """It, or one of others, may have caused it."""
    CULPRIT = auto()
    """Nothing else can have caused it."""


class Death(Struct, frozen=True):
    """A worker's status, ledger and statements at its end."""

    status: int | None
    """As `os.waitpid` gives it; None if nobody knows."""
    report: str = ""
    sent: Collection[int] = ()
    """The statements that hadn't got their last answer."""
    ran: Mapping[int, Note] = field(default_factory=dict)
    hung: Collection[int] | None = None
    """The watchdog killed it, since it gave no sign; the statements whose threads were busy."""
    stopped: bool = False
    """Somebody outside had stopped the process when the watchdog killed it."""
    out_of_memory: bool = False
    """The system has just killed a process for its memory, maybe this one."""

    @property
    def words(self) -> str:
        """Describes the death, for messages and the log."""
        if self.stopped:
            return "it was stopped from outside, and killed as it gave no sign"
        if self.hung is not None:
            return "it gave no sign, and was killed"
        if self.status is None:
            return "nobody knows how"
        code = os.waitstatus_to_exitcode(self.status)
        if code == -signal.SIGKILL and self.out_of_memory:
            return "the system killed it for its memory"
        if code == JAVA_ENDED:
            return "its Java process has ended"
        if code >= 0:
            return f"it ended with status {code}"
        try:
            return f"signal {signal.Signals(-code).name}"
        except ValueError:
            return f"signal {-code}"


def fates(death: Death) -> dict[int, Fate]:
    """Returns the fate of each statement that was sent."""
    began = {number for number in death.sent if number in death.ran}
    found = {n: Fate.INNOCENT if n in began else Fate.UNTOUCHED for n in death.sent}
    suspects = _suspects(death, began)
    # One that hadn't begun may just have been on its way when a signal came from outside.
    is_sure = len(suspects) == 1 and suspects <= began
    return found | dict.fromkeys(suspects, Fate.CULPRIT if is_sure else Fate.SUSPECT)


def _suspects(death: Death, began: set[int]) -> set[int]:
    """The statements that may have caused the death; empty if another process did."""
    if death.stopped:
        return set()
    if death.hung is not None:
        return began.intersection(death.hung) or began or set(death.sent)
    if death.status is not None and os.WIFSIGNALED(death.status):
        number = os.WTERMSIG(death.status)
        if number not in _OWN_FAULTS:
            return began if death.out_of_memory else set()
    thread = crashed_thread(death.report)
    if thread is not None and not _is_for_memory(death.report):
        of_thread = {n for n in began if death.ran[n].ident == thread}
        # A thread that runs no statement died of reading one, or of a signal from outside.
        return of_thread or set(death.sent) - began
    return began or set(death.sent)


def _is_for_memory(report: str) -> bool:
    """Reports an abort: a failed allocation ends any thread, not only the one that filled it."""
    return report.startswith("Fatal Python error: Aborted")


def busy_seconds(pid: int, running: Mapping[int, Note]) -> dict[int, float]:
    """Processor time of each statement's thread so far; without those that can't be read."""
    found = {}
    for number, note in running.items():
        try:
            text = Path(f"/proc/{pid}/task/{note.tid}/schedstat").read_text(encoding="ascii")
            found[number] = int(text.split()[0]) / 1e9
        except (OSError, ValueError, IndexError):
            continue
    return found


def busy(
    before: Mapping[int, float], now: Mapping[int, float], least_s: float = _BUSY_S
) -> set[int]:
    """The statements whose threads used a processor most between the two readings."""
    used = {number: spent - before.get(number, spent) for number, spent in now.items()}
    least = max(least_s, max(used.values(), default=0.0) / 2)
    return {number for number, spent in used.items() if spent >= least}


def is_stopped(pid: int) -> bool:
    """Reports whether a signal or a debugger has stopped the process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[:1] in (["T"], ["t"])


def system_kills() -> int | None:
    """Counts the processes that the system killed for their memory; None if it doesn't count."""
    try:
        text = Path("/proc/vmstat").read_text(encoding="ascii")
    except OSError:
        return None
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill":
            return int(value)
    return None
