"""Limits of workers' memory, and the system's means to enforce them.

A control group (cgroup v2) counts a worker and its JVM together, and the system ends both at the
limit. Without one RLIMIT_DATA bounds each process: an allocation beyond it fails, which mostly
costs one statement.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from accelerator.common.config.config import Config
from accelerator.common.config.memory_budget import machine_bytes

_log = logging.getLogger("accelerator.gateway")
_GIB = 1024**3
_SHARE = 0.9
"""Of the machine's memory, for all workers together."""
_BESIDE = 2 * _GIB
"""A worker needs so much beside its budget: stacks, and what allocators reserve."""
_HEAP = "spark.driver.memory"
_OFF_HEAP = "spark.memory.offHeap.size"
_UNITS = {"b": 1, "k": 1024, "m": 1024**2, "g": _GIB, "t": 1024 * _GIB}
_DELEGATED = ("user.delegate", "trusted.delegate")
_MEMORY = "memory"
_PREFIX = "accelerator-worker-"


def worker_bytes(setting: int, share: int, workers: int) -> int:
    """The limit of a worker that has that share of the budget; 0 derives it from the machine.

    >>> worker_bytes(5, share=1, workers=2)
    5
    """
    return setting or max(int(machine_bytes() * _SHARE) // (workers + 1), share + _BESIDE)


def jvm_bytes(setting: int, config: Config) -> int:
    """The limit of the JVM; 0 derives it from its heap.

    Beside the heap there are as many bytes of buffers at most, and code, stacks and metadata.
    """
    conf = config.spark_conf
    heap = spark_bytes(conf.get(_HEAP) or config.spark_driver_memory, "m") or _GIB
    return setting or 2 * heap + 2 * _GIB + spark_bytes(conf.get(_OFF_HEAP, ""), "b")


def spark_bytes(text: str, unit: str) -> int:
    """Bytes of a size of Spark's settings, in `unit` by default; 0 if it's none.

    >>> [spark_bytes(text, "m") for text in ("2g", "512", "1kb", "?")]
    [2147483648, 536870912, 1024, 0]
    """
    text = text.strip().lower().removesuffix("ib").removesuffix("b") or "?"
    digits, last = (text[:-1], text[-1]) if text[-1] in _UNITS else (text, unit)
    return int(digits) * _UNITS[last] if digits.isdecimal() else 0


class ControlGroups:
    """A group for each worker, in a folder of cgroup v2 that is ours to divide."""

    def __init__(self, folder: Path) -> None:
        """OSError if the system doesn't let us divide the folder's memory."""
        controllers = (folder / "cgroup.controllers").read_text().split()
        if _MEMORY not in controllers:
            raise OSError(f"{folder} has no controller of memory")
        (folder / "cgroup.subtree_control").write_text(f"+{_MEMORY}")
        self._folder = folder
        for left in folder.glob(f"{_PREFIX}*"):  # by a gateway that was killed
            with suppress(OSError):
                left.rmdir()

    @classmethod
    def opened(cls, setting: str | None) -> ControlGroups | None:
        """Opens the setting's folder, else the one that systemd delegated, if there is one."""
        try:
            folder = Path(setting) if setting else _delegated()
            return None if folder is None else cls(folder)
        except OSError as error:
            _log.warning("workers get no control groups, but limits of their own: %s", error)
            return None

    def add(self, pid: int, limit: int) -> Path | None:
        """Makes a group and moves the worker into it; None if that fails."""
        group = self._folder / f"{_PREFIX}{pid}"
        try:
            group.mkdir(exist_ok=True)
            (group / "memory.max").write_text(str(limit))
            for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
                with suppress(OSError):  # a system without swap, or an old one
                    (group / name).write_text(value)
            (group / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            _log.warning("worker %d gets no control group: %s", pid, error)
            with suppress(OSError):
                group.rmdir()
            return None
        return group


def was_killed_for_memory(group: Path) -> bool:
    """Reports whether the system has ended processes of the group for their memory."""
    with suppress(OSError):
        for line in (group / "memory.events").read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return value.strip() != "0"
    return False


def remove(group: Path) -> None:
    """Removes the group of a worker that has ended."""
    with suppress(OSError):
        group.rmdir()


def _delegated(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> Path | None:
    """The parent of this process's group, if systemd has delegated it.

    A service with `Delegate=memory` and `DelegateSubgroup=gateway` has its processes in a group
    below the delegated one, which so is free to be divided.
    """
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return None
    path = next((line[3:] for line in lines if line.startswith("0::/")), "/")
    folder = (root / path.lstrip("/")).parent
    return folder if path != "/" and _is_delegated(folder) else None


def _is_delegated(folder: Path) -> bool:
    get: Any = getattr(os, "getxattr", None)
    for name in _DELEGATED if get is not None else ():
        with suppress(OSError):
            if get(folder, name) == b"1":
                return True
    return False
