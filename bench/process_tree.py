"""What this process and those under it (Spark's JVM, its Python workers) have read, and hold.

Figures come from `/proc`; without it there are none. Bytes are those of all read calls, whether the
disk or the page cache answered: so systems that take turns are measured alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def tree() -> list[int]:
    """This process and all under it."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [os.getpid()]
    for each in found:  # which grows
        found.extend(children.get(each, ()))
    return found


def bytes_read() -> int:
    """By read calls of this process and of JVMs under it so far; Python workers come and go."""
    total = 0
    for process in tree():
        with suppress(OSError, StopIteration):
            name = (_PROC / str(process) / "comm").read_text().strip()
            if process == os.getpid() or name == "java":
                lines = (_PROC / str(process) / "io").read_text().splitlines()
                total += next(int(line.split()[1]) for line in lines if line.startswith("rchar"))
    return total


def reset_peaks() -> None:
    """Forgets the peaks so far, where the system lets us."""
    for process in tree():
        with suppress(OSError):
            (_PROC / str(process) / "clear_refs").write_text("5")


def peaks_mb() -> dict[str, float]:
    """Peak resident memory: of this process, the JVM, and the largest of the Python workers."""
    found: dict[str, float] = {}
    for process, name, peak in _peaks():
        kind = "driver" if process == os.getpid() else "jvm" if name == "java" else "worker"
        found[kind] = max(found.get(kind, 0.0), peak)
    return found


def _peaks() -> Iterator[tuple[int, str, float]]:
    for process in tree():
        with suppress(OSError, KeyError):
            lines = (_PROC / str(process) / "status").read_text().splitlines()
            said = dict(line.split(":", 1) for line in lines if ":" in line)
            yield process, said["Name"].strip(), int(said["VmHWM"].split()[0]) / 2**10
