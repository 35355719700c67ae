"""The query log as a virtual table: its name, columns and rows, and where a query names it.

A catalog that is called `system`, or `System`, has its own tables: then there is no such one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from sqlglot import TokenType, exp

from accelerator.planning.plans.virtual import VirtualTable, VirtualTableRows
from accelerator.store.files.files import StoreFiles
from accelerator.store.journals.query_log.record import COLUMNS, Kind
from accelerator.store.journals.query_log.time_span import Span
from rewrite.parse.bounds import tokens_of
from rewrite.parse.parse import PARSER_FAILS, parse

CATALOG = "system"
NAME = (CATALOG, "runtime", "query_log")
STARTED = "started"
"""The column by which files are left out."""
ROWS_MAX = 1_000_000
"""The newest statements that one query reads."""
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


_BEFORE = frozenset(
    {TokenType.FROM, TokenType.JOIN, TokenType.COMMA, TokenType.L_PAREN, TokenType.TABLE}
)
_ALIASES = frozenset({TokenType.ALIAS, TokenType.VAR, TokenType.IDENTIFIER})


def may_name(sql: str) -> bool:
    """Whether the text may name the table; a quick look."""
    lower = sql.lower()
    return NAME[-1] in lower and CATALOG in lower


def is_named(sql: str, catalogs: Collection[str]) -> bool:
    """Whether a query in Spark SQL names the table, of a lake with these catalogs."""
    if not may_name(sql) or is_hidden(catalogs):
        return False
    try:
        return any(True for _ in mentions(parse(sql)))
    except PARSER_FAILS:
        return bool(written(sql))


def is_hidden(catalogs: Collection[str]) -> bool:
    """Whether a lake with these catalogs has one of that name, written in whatever letters."""
    return any(one.lower() == CATALOG for one in catalogs)


def is_log(parts: tuple[str, ...], catalogs: Collection[str]) -> bool:
    """Whether it's the table's name.

    >>> is_log(("system", "runtime", "QUERY_LOG"), ["lake"]), is_log(("query_log",), ["lake"])
    (True, False)
    """
    return tuple(part.lower() for part in parts) == NAME and not is_hidden(catalogs)


def mentions(tree: exp.Expression) -> Iterator[exp.Table]:
    """Each place of the query where it stands."""
    for table in tree.find_all(exp.Table):
        parts = table.parts
        if all(isinstance(one, exp.Identifier) for one in parts):
            names = tuple(one.name for one in parts)
            if is_log(names, ()):
                yield table


class LogTableSpan(Struct, frozen=True):
    """Where the name stands in a text, its `end` behind it; whether one of its own may follow."""

    start: int
    end: int
    bare: bool


def written(sql: str) -> list[LogTableSpan]:
    """The places of a text that only Spark can parse, by its words alone.

    >>> written("TABLE system.runtime.query_log"), written("SELECT 'system.runtime.query_log'")
    ([Place(start=6, end=30, bare=False)], [])
    """
    try:
        tokens = tokens_of(sql, "spark")
    except PARSER_FAILS:
        return []
    found = []
    for at in range(1, len(tokens) - 4):
        before = tokens[at - 1].token_type
        if before not in _BEFORE:
            continue
        names, dots = tokens[at : at + 5 : 2], tokens[at + 1 : at + 5 : 2]
        behind = tokens[at + 5].token_type if at + 5 < len(tokens) else None
        is_name = all(one.token_type is TokenType.DOT for one in dots) and not any(
            one.token_type is TokenType.STRING for one in names
        )
        if is_name and behind is not TokenType.DOT and is_log(tuple(t.text for t in names), ()):
            bare = before is not TokenType.TABLE and behind not in _ALIASES
            found.append(LogTableSpan(names[0].start, names[-1].end + 1, bare))
    return found


def table_of(files: StoreFiles, unwritten: Callable[[], object]) -> VirtualTable:
    """The log as the asker may see it; `unwritten` writes what is still in memory."""
    from accelerator.store.journals.query_log.reader import look_at  # imports Arrow's compute
    from accelerator.store.journals.query_log.visibility import whose

    user = whose()

    def rows(columns: Sequence[str], span: Span) -> VirtualTableRows:
        unwritten()
        found = look_at(files, span, ROWS_MAX, columns, user)
        return VirtualTableRows(found.rows, found.files, found.bytes, found.is_cut)

    own = () if user is None else ("the asker's own statements",)
    notes = (*own, f"the newest {ROWS_MAX:,} at most")
    facts = {"own": user is not None, "rows_max": ROWS_MAX}
    return VirtualTable("the query log", TYPES, rows, notes, facts)
