"""Statements of Trino's that the gateway doesn't do: their names, and what is done instead."""

from __future__ import annotations

from accelerator.gateway.trino import kinds
from accelerator.gateway.trino.words import Cursor

_WRITE = "write with Spark: answers here follow each commit"
_ACCESS = "rights are kept in the gateway's own configuration"
_CATALOG = "catalogs are kept in the gateway's own configuration"

REFUSED: dict[str, str] = {
    "ALTER": _WRITE,
    "ANALYZE": "answers rest on the tables' own statistics",
    "CALL": "run procedures with Spark",
    "COMMENT": _WRITE,
    "CREATE": _WRITE,
    "DELETE": _WRITE,
    "DENY": _ACCESS,
    "DROP": _WRITE,
    "GRANT": _ACCESS,
    "INSERT": _WRITE,
    "KILL": "cancel the statement where it was asked",
    "MERGE": _WRITE,
    "REFRESH": "cubes are kept up to date by BUILD CUBE",
    "REVOKE": _ACCESS,
    "SET": "",
    "TRUNCATE": _WRITE,
    "UPDATE": _WRITE,
}
"""First words, and hints."""

_OBJECTS = (
    *(("MATERIALIZED", "VIEW"), ("VIEW",), ("TABLE",), ("SCHEMA",), ("CATALOG",), ("FUNCTION",)),
    *(("ROLE",), ("BRANCH",), ("INDEX",)),
)
_OF_OBJECTS = frozenset(("ALTER", "COMMENT", "CREATE", "DROP", "TRUNCATE", "REFRESH"))
_HINTS = {"CATALOG": _CATALOG, "ROLE": _ACCESS, "INDEX": "CREATE INDEX … USING BLOOM is our own"}


def refused(cursor: Cursor) -> kinds.Refused:
    """The statement whose first word comes next; StatementError where it's none of Trino's."""
    first = cursor.one_of(*REFUSED)
    if first == "SET":
        cursor.expect("PATH")
        return kinds.Refused("SET PATH", "name functions as they are, without a path")
    if first not in _OF_OBJECTS:
        return kinds.Refused(first, REFUSED[first])
    if first == "COMMENT":
        cursor.expect("ON")
        kind = cursor.one_of("TABLE", "VIEW", "COLUMN")
        return kinds.Refused(f"COMMENT ON {kind}", _WRITE)
    cursor.take("OR", "REPLACE")
    for words in _OBJECTS:
        if cursor.take(*words):
            return kinds.Refused(f"{first} {' '.join(words)}", _HINTS.get(words[0], REFUSED[first]))
    raise cursor.error("TABLE or VIEW or SCHEMA or CUBE")
