"""SHOW as Trino has it: what is to be shown, of what, and the pattern of its names."""

from __future__ import annotations

from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.cursor import TrinoCursor
from accelerator.gateway.trino.requests.nodes import Refused, Shown

WORDS = (
    "CATALOGS or SCHEMAS or TABLES or COLUMNS or CREATE or STATS or FUNCTIONS or SESSION"
    " or CUBES or INDEXES or COVERAGE"
)
"""What may stand behind SHOW, for an error."""


def shown_of(cursor: TrinoCursor) -> Shown | Refused | None:
    """Returns the request of a SHOW; None if it isn't Trino's. StatementError for a bad one."""
    found = _show(cursor)
    if found is not None and not isinstance(found, Refused):
        cursor.end()
    return found


def _show(cursor: TrinoCursor) -> Shown | Refused | None:
    if cursor.take("CATALOGS"):
        return nodes.TrinoShowCatalogs(*_pattern(cursor))
    if cursor.take("SCHEMAS"):
        catalog = cursor.name("a catalog's name").name if _from(cursor) else None
        return nodes.ShowSchemas(catalog, *_pattern(cursor))
    if cursor.take("TABLES"):
        schema = cursor.path("a schema's name") if _from(cursor) else None
        return nodes.ShowTables(schema, *_pattern(cursor))
    if cursor.take("COLUMNS"):
        if not _from(cursor):
            raise cursor.error("FROM")
        table = cursor.path("a table's name")
        return nodes.TrinoShowColumns(table, *_pattern(cursor))
    if cursor.take("CREATE"):
        return _create(cursor)
    if cursor.take("STATS"):
        cursor.expect("FOR")
        if cursor.at("("):
            return Refused("SHOW STATS FOR a query", "EXPLAIN tells what is estimated")
        return nodes.ShowStats(cursor.path("a table's name"))
    if cursor.take("FUNCTIONS"):
        if _from(cursor):
            return Refused("SHOW FUNCTIONS FROM", "no catalog has functions of its own")
        return nodes.TrinoShowFunctions(*_pattern(cursor))
    if cursor.take("SESSION"):
        return nodes.ShowSession(*_pattern(cursor))
    return _rights(cursor)


def _create(cursor: TrinoCursor) -> Shown | Refused:
    if cursor.take("MATERIALIZED", "VIEW"):
        return Refused("SHOW CREATE MATERIALIZED VIEW", "SHOW CUBES tells of cubes")
    if cursor.take("FUNCTION"):
        return Refused("SHOW CREATE FUNCTION", "no catalog has functions of its own")
    what = cursor.one_of("TABLE", "VIEW", "SCHEMA")
    return nodes.TrinoShowCreate(what, cursor.path("a name"))


def _rights(cursor: TrinoCursor) -> Shown | Refused | None:
    for words in (("ROLES",), ("CURRENT", "ROLES"), ("ROLE", "GRANTS"), ("GRANTS",)):
        if not cursor.take(*words):
            continue
        what = " ".join(words)
        if cursor.at("FROM") or cursor.at("IN") or cursor.at("ON"):
            return Refused(f"SHOW {what} of a catalog or table", f"SHOW {what} shows all of them")
        return nodes.ShowRoles(what)
    return None


def _from(cursor: TrinoCursor) -> bool:
    return cursor.take("FROM") or cursor.take("IN")


def _pattern(cursor: TrinoCursor) -> tuple[str | None, str | None]:
    """LIKE and its escape."""
    if not cursor.take("LIKE"):
        return None, None
    like = cursor.text("a pattern in quotes")
    if not cursor.take("ESCAPE"):
        return like, None
    escape = cursor.text("a character in quotes")
    if len(escape) != 1:
        cursor.next -= 1
        raise cursor.error("a text of one character")
    return like, escape
