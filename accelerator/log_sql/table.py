"""The table's name and columns, and where a query names it. Pure.

A catalog that is called `system` has its own tables: then there is no such one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sqlglot import exp

from accelerator.query_log.record import COLUMNS, Kind
from rewrite.parse import PARSER_FAILS, parse

CATALOG = "system"
NAME = (CATALOG, "runtime", "query_log")
_TYPES: Mapping[Kind, str] = {
    "text": "string",
    "texts": "array<string>",
    "count": "bigint",
    "counts": "array<bigint>",
    "number": "double",
    "flag": "boolean",
    "time": "timestamp",
}
TYPES: Mapping[str, str] = {one.name: _TYPES[one.kind] for one in COLUMNS}
"""Spark's type of each column, in their order."""


def may_name(sql: str) -> bool:
    """Whether the text may name the table; a quick look."""
    lower = sql.lower()
    return NAME[-1] in lower and CATALOG in lower


def is_named(sql: str, catalogs: Collection[str]) -> bool:
    """Whether a query in Spark SQL names the table, of a lake with these catalogs."""
    if not may_name(sql) or CATALOG in catalogs:
        return False
    try:
        return any(True for _ in mentions(parse(sql)))
    except PARSER_FAILS:
        return False


def is_log(parts: tuple[str, ...], catalogs: Collection[str]) -> bool:
    """Whether it's the table's name.

    >>> is_log(("system", "runtime", "QUERY_LOG"), ["lake"]), is_log(("query_log",), ["lake"])
    (True, False)
    """
    return tuple(part.lower() for part in parts) == NAME and CATALOG not in catalogs


def mentions(tree: exp.Expression) -> Iterator[exp.Table]:
    """Each place of the query where it stands."""
    for table in tree.find_all(exp.Table):
        parts = table.parts
        if all(isinstance(one, exp.Identifier) for one in parts):
            names = tuple(one.name for one in parts)
            if is_log(names, ()):
                yield table
