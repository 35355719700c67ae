"""Names of a statement that surely nobody knows: functions, tables, columns and their qualifiers.

What Spark would find is told from above: a column's name counts as known if anything that could
give a column has it, anywhere in the statement. So no scope is followed, and what is left is known
to none. Where the parser may read the text otherwise than Spark, or a table's columns aren't known,
nothing is claimed. Promise: a statement that Spark answers has no unknown name here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from msgspec import Struct
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewrite.bind.calls.known_words import OURS
from rewrite.identifiers.qualified_name import joined
from rewrite.parse.parse import parse, written_name
from rewrite.text.source_position import SourcePosition, place_of
from rewrite.text.spark_keywords import FUNCTIONS, ICEBERGS, KEYWORDS, words
from rewrite.text.spark_lexer import Token, name_at, scanned
from rewrite.text.suggestions import closest

ROUTINE = "UNRESOLVED_ROUTINE"
TABLE = "TABLE_OR_VIEW_NOT_FOUND"
COLUMN = "UNRESOLVED_COLUMN.WITH_SUGGESTION"
COLUMN_ALONE = "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"
_WORD = re.compile(r"\w+")
_CALLED = re.compile(r"[a-z_][a-z0-9_]*")
_GENERATED = re.compile(r"_?c(?:ol)?\d+|col|pos|key|value|_\w+|\d.*")
"""Columns that functions of rows make, and Iceberg's own of files and rows."""
_NILADIC = words("""
    current_catalog current_database current_date current_schema current_time current_timestamp
    current_timezone current_user false grouping__id localtimestamp now null session_user
    session_window true user window
""")
_CHARACTERS_MAX = 20_000
_NOT_NAMES = KEYWORDS - {"X"}  # which is a keyword only before a text
_READ: tuple[type[exp.Expr], ...] = (
    *(exp.Alias, exp.Between, exp.Binary, exp.Boolean, exp.CTE, exp.Case, exp.Cast, exp.Column),
    *(exp.DataType, exp.Distinct, exp.Exists, exp.Filter, exp.From, exp.Func, exp.Group),
    *(exp.Having, exp.Identifier, exp.In, exp.Interval, exp.Join, exp.Limit, exp.Literal),
    *(exp.Neg, exp.Not, exp.Null, exp.Offset, exp.Order, exp.Ordered, exp.Paren, exp.Select),
    *(exp.SetOperation, exp.Star, exp.Subquery, exp.Table, exp.TableAlias, exp.Tuple, exp.Var),
    *(exp.Where, exp.Window, exp.WindowSpec, exp.With),
)
"""What a tree may be made of where its columns are judged."""
_UNREAD: tuple[type[exp.Expr], ...] = (
    *(exp.Collate, exp.Dot, exp.JSONExtract, exp.Kwarg, exp.Lambda, exp.PropertyEQ, exp.UDTF),
)


@dataclass(frozen=True, slots=True)
class LakeNames:
    """A table's columns as they are now, and all names in it in lower case.

    Those of fields inside columns and of columns that are gone are among them.
    """

    columns: tuple[str, ...]
    names: frozenset[str]
    types: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Spark's types of columns by their names in lower case, as far as they are known."""


class CatalogTables(Protocol):
    """The tables and views of a session's catalogs."""

    def find(self, parts: tuple[str, ...]) -> LakeNames | None:
        """The table or view of that name; None where there is none, or its columns aren't known."""
        ...

    def is_absent(self, parts: tuple[str, ...]) -> bool:
        """Whether surely neither table nor view is found under that name, by any rule."""
        ...

    def near(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The names of tables that are closest to it, as statements may write them."""
        ...


class Unknown(Struct, frozen=True):
    """A name that nobody knows: what it was to be, where it stands, if known, and what is near."""

    what: Literal["function", "table", "column"]
    name: str
    at: SourcePosition | None
    error_class: str
    suggestions: tuple[str, ...] = ()


def unknown_name(sql: str, tables: CatalogTables) -> Unknown | None:
    """The first name of a query that surely nobody knows, in the order in which Spark looks."""
    if "/*+" in sql or len(sql) > _CHARACTERS_MAX:
        return None  # names in hints may be anything, and a long text takes long
    try:
        tree = parse(sql)
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(tree, exp.Query):
        return None
    return _function(sql, tree) or _Relations(sql, tree, tables).unknown()


def unknown_target(sql: str, tables: CatalogTables) -> Unknown | None:
    """The table that a change or description is of, where surely nobody knows it."""
    tokens = scanned(sql)
    parts, at = _target(sql, tokens) if tokens else ((), 0)
    if not tokens or not parts or not tables.is_absent(parts) or not _parses(sql):
        return None
    place = place_of(sql, tokens[at].start, tokens[at + 2 * len(parts) - 2].end)
    return Unknown("table", joined(parts), place, TABLE, tables.near(parts))


def _parses(sql: str) -> bool:
    """Whether it may be sound, so that Spark looks for the table at all."""
    try:
        return parse(sql) is not None
    except (SqlglotError, RecursionError):
        return False


_TARGETS = (
    *(("DELETE", "FROM"), ("INSERT", "INTO", "TABLE"), ("INSERT", "INTO")),
    *(("INSERT", "OVERWRITE", "TABLE"), ("INSERT", "OVERWRITE"), ("MERGE", "INTO")),
    *(("TRUNCATE", "TABLE"), ("UPDATE",)),
)
_ALONE = (("DESCRIBE", "TABLE"), ("DESC", "TABLE"), ("DESCRIBE",), ("DESC",), ("DROP", "TABLE"))
"""Statements that end with the name."""


def _target(sql: str, tokens: list[Token]) -> tuple[tuple[str, ...], int]:
    """The name and the number of its first token; no parts where it isn't clear."""
    keys = tuple(one.key for one in tokens if one.key != ";")
    if keys[:2] == ("CREATE", "INDEX") and "ON" in keys[3:7]:
        on = keys.index("ON", 3) + 1
        return name_at(sql, tokens, on)[0], on
    for first in (*_TARGETS, *_ALONE):
        if keys[: len(first)] == first:
            parts, end = name_at(sql, tokens, len(first))
            called = (
                end < len(tokens)
                and tokens[end].key == "("
                and tokens[end].start == (tokens[end - 1].end)
            )
            if called and first[0] != "INSERT":
                return (), 0
            if first in _ALONE and end != len(keys):
                return (), 0
            return parts, len(first)
    return (), 0


def _function(sql: str, tree: exp.Expression) -> Unknown | None:
    for call in tree.find_all(exp.Func):
        name = written_name(call) if isinstance(call, exp.Expression) else None
        if name is None or not _CALLED.fullmatch(name) or isinstance(call.parent, exp.Dot):
            continue
        if isinstance(call.parent, (exp.Table, exp.Lateral, exp.Unnest)) or _is_function(name):
            continue
        start = call.meta_get("start")
        if not isinstance(start, int) or sql[start : start + len(name)].lower() != name:
            continue
        at = place_of(sql, start, start + len(name))
        near = closest(name, (*sorted(FUNCTIONS), *OURS))
        return Unknown("function", name, at, ROUTINE, near)
    return None


def _is_function(name: str) -> bool:
    return name in FUNCTIONS or name in ICEBERGS or name in OURS or name.upper() in KEYWORDS


class _Relations:
    """The tables of a query, and every name that could be a column's."""

    def __init__(self, sql: str, tree: exp.Expression, tables: CatalogTables) -> None:
        self._sql, self._tree, self._tables = sql, tree, tables
        self._shared = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        self._found: list[tuple[exp.Table, LakeNames]] = []

    def unknown(self) -> Unknown | None:
        """The first table that nobody knows, else the first column."""
        whole = True
        for node in self._tree.find_all(exp.Table):
            parts = _parts(node)
            if not isinstance(node.parent, (exp.From, exp.Join)):  # a hint, the TABLE of a function
                whole = False
                continue
            if not parts or _is_keyword(parts[0]):  # behind a dot there are only names
                whole = False
                continue
            names = tuple(one.name for one in parts)
            if len(names) == 1 and names[0].lower() in self._shared:
                continue
            known = self._tables.find(names)
            if known is not None:
                self._found.append((node, known))
            elif self._tables.is_absent(names):
                at = self._place(parts)
                return Unknown("table", joined(names), at, TABLE, self._tables.near(names))
            else:
                whole = False
        return self._column() if whole and self._is_read() else None

    def _is_read(self) -> bool:
        return is_read(self._tree) and all(map(self._is_named, self._tree.find_all(exp.Select)))

    def _is_named(self, select: exp.Select) -> bool:
        """Whether nothing gives a SELECT in another columns of names that stand nowhere.

        What has no alias is named by Spark; the fields of a struct behind a star may be anybody's.
        """
        known = {name for node, _ in self._found for name in _table_names(node)} | self._shared
        known |= {one.alias.lower() for one in self._tree.find_all(exp.Subquery)}
        for item in select.expressions:
            if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
                if item.args.get("db") is not None or item.table.lower() not in known:
                    return False
            elif select is not self._tree and not isinstance(
                item, (exp.Alias, exp.Column, exp.Star)
            ):
                return False
        return True

    def _column(self) -> Unknown | None:
        others = self._others()
        qualifiers = {name.lower() for node, _ in self._found for name in _table_names(node)}
        for column in self._tree.find_all(exp.Column):
            parts = [p for p in column.parts if isinstance(p, exp.Identifier)]
            if len(parts) != len(column.parts) or _is_keyword(parts[0]):
                continue
            if not all(_WORD.fullmatch(one.name) for one in parts):
                continue
            if parts[-1].name.lower() == "all":
                continue  # GROUP BY `ALL` is GROUP BY ALL
            found = self._judged(parts, others, qualifiers)
            if found is not None:
                return found
        return None

    def _judged(
        self, parts: Sequence[exp.Identifier], others: set[str], qualifiers: set[str]
    ) -> Unknown | None:
        first, written = parts[0].name.lower(), ".".join(one.name for one in parts)
        if len(parts) > 2:
            return None  # a catalog or namespace may be the first, whose names aren't all written
        if not _may_be(first, others) and first not in qualifiers:
            if len(parts) == 1:
                near = closest(written, self._columns())
            else:
                near = closest(parts[0].name, self._called())
            inner = self._found or self._shared or self._tree.find(exp.Subquery)
            told = COLUMN if inner else COLUMN_ALONE
            return Unknown("column", written, self._place(parts), told, near)
        if len(parts) == 1 or first in others or first not in qualifiers:
            return None
        owners = [known for node, known in self._found if first in _table_names(node)]
        hidden = [node for node, _ in self._found if node.args.get("alias") and _renamed(node)]
        name = parts[1].name.lower()
        if hidden or not owners or any(_may_be(name, one.names) for one in owners):
            return None
        near = closest(parts[1].name, (c for one in owners for c in one.columns))
        near = tuple(f"{parts[0].name}.{one}" for one in near)
        return Unknown("column", written, self._place(parts), COLUMN, near)

    def _others(self) -> set[str]:
        """Every name that may be a column's, in lower case; those of tables aren't among them."""
        found = {name for _, known in self._found for name in known.names}
        tables = {id(node) for node, _ in self._found}
        for node in self._tree.find_all(exp.Identifier):
            parent = node.parent
            if isinstance(parent, exp.Column) and node is parent.parts[0]:
                continue
            if isinstance(parent, exp.TableAlias) and node.arg_key == "this":
                parent = parent.parent
            if not isinstance(parent, exp.Table) or id(parent) not in tables:
                found.add(node.name.lower())
        for literal in self._tree.find_all(exp.Literal):
            if literal.is_string:
                found |= {word.lower() for word in _WORD.findall(literal.this)}
        for call in self._tree.find_all(exp.Func):  # session_window(…) makes a column of its name
            name = written_name(call) if isinstance(call, exp.Expression) else None
            found.add((name or "").lower())
        return found | {cte.alias.lower() for cte in self._tree.find_all(exp.CTE)}

    def _columns(self) -> Iterator[str]:
        """What an unqualified name can have been meant for."""
        for _, known in self._found:
            yield from known.columns
        yield from (one.alias for one in self._tree.find_all(exp.Alias))

    def _called(self) -> Iterator[str]:
        for node, _ in self._found:
            yield node.alias_or_name
        yield from (one.alias for one in self._tree.find_all(exp.Subquery, exp.CTE) if one.alias)

    def _place(self, parts: Sequence[exp.Expression]) -> SourcePosition:
        starts = [one.meta_get("start") for one in parts]
        ends = [one.meta_get("end") for one in parts]
        start, end = starts[0], ends[-1]
        if not isinstance(start, int) or not isinstance(end, int):
            start, end = 0, 0
        return place_of(self._sql, start, end + 1)


def is_read(tree: exp.Expression) -> bool:
    """Returns whether all of the tree is of kinds whose columns are judged here."""
    return all(isinstance(n, _READ) and not isinstance(n, _UNREAD) for n in tree.walk())


def is_given(name: str) -> bool:
    """Returns whether Spark may find that name, in lower case, without a column of a table."""
    return name in _NILADIC or _GENERATED.fullmatch(name) is not None


def _may_be(name: str, known: set[str] | frozenset[str]) -> bool:
    return name in known or is_given(name)


def _parts(node: exp.Table) -> list[exp.Identifier]:
    """The name's parts; none where it isn't a mere name."""
    parts = [p for p in node.parts if isinstance(p, exp.Identifier) and p.name]
    return parts if len(parts) == len(node.parts) else []


def _is_keyword(name: exp.Identifier) -> bool:
    """Whether, not in backticks, it may be something else than a name."""
    return not name.args.get("quoted") and name.name.upper() in _NOT_NAMES


def _table_names(node: exp.Table) -> set[str]:
    """What its columns may be qualified by first, in lower case; of the full name each part."""
    if node.alias:
        return {node.alias.lower()}
    return {part.name.lower() for part in node.parts}


def _renamed(node: exp.Table) -> bool:
    """Whether its alias gives its columns other names."""
    return bool(node.args["alias"].args.get("columns"))
