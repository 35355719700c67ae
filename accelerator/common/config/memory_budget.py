"""What statements in process may hold in memory together: one budget, shared out when it's made.

DuckDB has a limit of its own within it, and caches have theirs. What is left is for rows as Arrow,
of which `engines/duckdb/result_limit.py` keeps count.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from accelerator.errors import ConfigError

_CGROUPS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_SHARE = 0.7
"""Of the machine's memory, where no setting says how much."""
_ROWS, _CACHE, _OVERHEAD = 1 / 4, 1 / 8, 1 / 8
"""Of the budget: for rows as Arrow; at most for each of the two caches; for what allocators keep of
memory that was freed, so that the process has no more than was said."""
LEAST = 128 * 1024**2
"""With less DuckDB fails at once."""


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Bytes for each of those that hold memory; together they're the whole."""

    duckdb: int
    rows: int
    cache: int
    manifest_cache: int


def shared_out(total: int, cache: int, manifest_cache: int) -> MemoryBudget:
    """The budget; the caches have what the settings say, within their share of the total.

    With a total of 0 it's a share of what this process may have of the machine's memory.
    ConfigError where nothing could be answered with it.
    """
    if 0 < total < LEAST:
        raise ConfigError(
            f"memory_bytes_max is {total:,} bytes",
            hint=f"at least {LEAST:,} are needed; 0 is a share of the machine's memory",
        )
    whole = budget(total)
    hot, manifests = (min(asked, int(whole * _CACHE)) for asked in (cache, manifest_cache))
    rows = int(whole * _ROWS)
    others = rows + hot + manifests + int(whole * _OVERHEAD)
    return MemoryBudget(whole - others, rows, hot, manifests)


def budget(total: int) -> int:
    """Bytes of the setting `memory_bytes_max`: of 0 a share of the machine's."""
    return total or max(int(machine_bytes() * _SHARE), LEAST)


def machine_bytes() -> int:
    """The machine's memory, or what the control group leaves of it."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CGROUPS:
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        if text.isdigit():  # `max` where there is no limit
            found.append(int(text))
    return min(found)
