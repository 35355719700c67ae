"""The system's limit of a process's own memory, and what the processes that it starts get.

RLIMIT_DATA counts memory that a process may write and shares with nobody. RLIMIT_AS would count
addresses that are only reserved too, of which an engine and a JVM have tens of gigabytes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

if sys.platform != "win32":  # which has no such limits
    import resource

_lock = threading.Lock()
_of_children: list[int] = []
"""The newest one counts; empty as long as nothing is limited."""


def limit_data(own: int, of_children: int) -> bool:
    """Limits this process to `own` bytes, and the JVM that it may start to `of_children`.

    Returns False if the system doesn't.
    """
    if sys.platform == "win32":
        return False
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (_within(own, hard), hard))
    except (OSError, ValueError):
        return False
    _of_children.append(of_children)
    return True


@contextmanager
def limit_of_children() -> Iterator[None]:
    """A process that is started inside gets the limit of children, not this process's own."""
    if sys.platform == "win32" or not _of_children:
        yield
        return
    with _lock:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (_within(_of_children[-1], hard), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _within(wanted: int, hard: int) -> int:
    return wanted if hard < 0 else min(wanted, hard)  # -1: no limit
