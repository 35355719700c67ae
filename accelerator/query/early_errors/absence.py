"""Which names surely lead to no table, and which tables are near to one.

Beside what the catalogs have Spark finds more under a name: metadata tables, states of a table,
files by their path, views of the session. Such names are left to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from rewrite.identifiers.qualified_name import joined
from rewrite.text.spark_keywords import words
from rewrite.text.suggestions import closest_of

_ELSEWHERE = words("""
    avro binaryfile csv delta global_temp hive iceberg image jdbc json kafka libsvm noop orc
    parquet pruned rate socket spark_catalog session statestore system text xml
""")
"""First parts of names that aren't a catalog's: formats of files, and Spark's own."""
_PLAIN = re.compile(r"[^/:#.\\]+")


def is_absent(
    parts: tuple[str, ...], full: tuple[str, ...], absent: Callable[[tuple[str, ...]], bool]
) -> bool:
    """Whether no rule leads from the name to a table; `absent` asks a catalog.

    What has a table for its beginning may be one's metadata or state.
    """
    if parts[0].lower() in _ELSEWHERE or not all(map(_PLAIN.fullmatch, full)):
        return False
    return len(full) > 1 and all(absent(full[:end]) for end in range(2, len(full) + 1))


def nearest(
    parts: tuple[str, ...], tables: Iterable[tuple[str, ...]], default: str
) -> tuple[str, ...]:
    """The closest of the tables, given by their full names; a bare name is compared with theirs."""
    return closest_of(".".join(parts), _pairs(parts, tables, default))


def _pairs(
    parts: tuple[str, ...], tables: Iterable[tuple[str, ...]], default: str
) -> Iterator[tuple[str, str]]:
    for full in tables:
        shown = full[1:] if full[0] == default and parts[0] != default else full
        compared = shown[-1:] if len(parts) == 1 else shown
        yield ".".join(compared), joined(shown)
