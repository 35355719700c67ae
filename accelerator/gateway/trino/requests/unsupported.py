"""Statements of Trino's that the gateway doesn't do: their names, and what is done instead."""

from __future__ import annotations

from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.cursor import TrinoCursor
from accelerator.query.statements.catalog import EXAMPLES

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
_HINTS = {"CATALOG": _CATALOG, "ROLE": _ACCESS}
_OURS = {
    ("CREATE", "INDEX"): "CREATE INDEX",
    ("CREATE", "MATERIALIZED"): "CREATE CUBE",
    ("DROP", "MATERIALIZED"): "DROP CUBE",
    ("REFRESH", "MATERIALIZED"): "BUILD CUBE",
}
"""What does the same here, by the first words; the hint has an example of it."""


def refused(cursor: TrinoCursor) -> nodes.Refused:
    """The statement whose first word comes next; StatementError where it's none of Trino's."""
    first = cursor.one_of(*REFUSED)
    if first == "SET":
        if not cursor.take("PATH"):
            raise cursor.error(
                "SESSION or ROLE or PATH", hint="SET SESSION name = value; SHOW SESSION lists them"
            )
        return nodes.Refused("SET PATH", "name functions as they are, without a path")
    if first not in _OF_OBJECTS:
        return nodes.Refused(first, REFUSED[first])
    if first == "COMMENT":
        cursor.expect("ON")
        kind = cursor.one_of("TABLE", "VIEW", "COLUMN")
        return nodes.Refused(f"COMMENT ON {kind}", _WRITE)
    cursor.take("OR", "REPLACE")
    for words in _OBJECTS:
        if cursor.take(*words):
            own = _OURS.get((first, words[0]))
            hint = _HINTS.get(words[0], REFUSED[first]) if own is None else _written(own)
            what = f"{first} {' '.join(words)}"
            return nodes.Refused(f"{what} as it's written" if own == what else what, hint)
    if first == "REFRESH":
        raise cursor.error("MATERIALIZED VIEW", hint=_written("BUILD CUBE"))
    raise cursor.error("TABLE or VIEW or SCHEMA or CUBE")


def _written(own: str) -> str:
    return f"write {own}, for example: {EXAMPLES[own]}"
