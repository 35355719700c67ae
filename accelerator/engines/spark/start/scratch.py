"""A folder of this process for what Spark would leave behind, and what its JVM has said.

It lies in the system's folder for temporary files, is readable by its owner alone, and goes when
the process ends.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import threading
from pathlib import Path

_STACK = re.compile(r"\s+(at |\.\.\. \d+ more)")
_TAIL_BYTES = 64 * 1024
_lock = threading.Lock()
_made: dict[int, Path] = {}


def folder() -> Path:
    """The folder, made at the first call; a fork gets one of its own."""
    with _lock:
        pid = os.getpid()
        if pid not in _made:
            _made[pid] = Path(tempfile.mkdtemp(prefix="accelerator-jvm-"))
            atexit.register(_remove, pid, _made[pid])
        return _made[pid]


def forget() -> None:
    """Removes this process's folder, for who ends it without its exit's functions."""
    with _lock:
        made = _made.pop(os.getpid(), None)
    if made is not None:
        shutil.rmtree(made, ignore_errors=True)


def log_file() -> Path:
    """Where the JVM's words are kept."""
    return folder() / "spark.log"


def last_words(lines: int = 5) -> str:
    """The end of what the JVM has said, without Java's stacks; empty where it said nothing."""
    try:
        with log_file().open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            said = file.read().decode(errors="replace")
    except OSError:
        return ""
    told = [one.strip() for one in said.splitlines() if one.strip() and not _STACK.match(one)]
    return "\n".join(told[-lines:])


def _remove(pid: int, made: Path) -> None:
    if os.getpid() == pid:  # not at the end of a fork
        shutil.rmtree(made, ignore_errors=True)
