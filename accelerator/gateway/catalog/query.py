"""A query of virtual tables, run by a DuckDB of its own, which reads nothing but their rows.

Each mention of a table gets the rows that its part of the query may need. Only what is known to
mean the same in DuckDB is run: a part of the tree that isn't listed here is refused by name.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast

import duckdb
import pyarrow as pa
from msgspec import Struct
from sqlglot import ErrorLevel, exp
from sqlglot.errors import SqlglotError

from accelerator.common.interrupts import look_up
from accelerator.errors import (
    AcceleratorError,
    CancelledError,
    MemoryExceededError,
    StatementError,
    StatementTimeoutError,
    UnknownColumnError,
    UnknownTableError,
    UntranslatedError,
)
from accelerator.gateway.catalog import metadata_tables
from accelerator.gateway.catalog.growth import check_growth
from accelerator.gateway.catalog.predicate import ColumnFilter, conditions_of
from accelerator.gateway.catalog.rows import VirtualRows, arrow_rows, rows_of
from accelerator.gateway.catalog.schemas import (
    INFORMATION_SCHEMA,
    SYSTEM,
    TrinoTable,
    is_virtual,
    virtual_schemas,
)
from accelerator.iceberg import PinnedTable
from accelerator.query.virtual_tables import log_table
from rewrite.client import ClientContext
from rewrite.dialects.output_names import output_names, shown_names
from rewrite.dialects.qualify_names import completed, replace_session_functions
from rewrite.identifiers.qualified_name import joined
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.text.printable import one_line, shortened

_DIALECT = "trino"
_MEMORY = "256MB"
_LIMIT_S, _AGAIN_S = 30.0, 0.2
"""DuckDB may run a query for so long, whatever limits the statement has."""
_SHOWN = 80
_QUERY = ("with_", "order", "limit", "offset")
_BINARY = ("this", "expression")
_PARTS: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.Select: ("expressions", "from_", "joins", "where", "group", "having", "distinct", *_QUERY),
    **dict.fromkeys((exp.Union, exp.Except, exp.Intersect), (*_BINARY, "distinct", *_QUERY)),
    **dict.fromkeys((exp.From, exp.Where, exp.Having, exp.Exists, exp.Paren, exp.Not), ("this",)),
    **dict.fromkeys((exp.Null, exp.Boolean, exp.Lower, exp.Upper, exp.Min, exp.Max), ("this",)),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _BINARY),
    **dict.fromkeys((exp.And, exp.Or, exp.Nullif, exp.Escape), _BINARY),
    **dict.fromkeys((exp.Is, exp.Like), (*_BINARY, "negate")),
    **dict.fromkeys((exp.With, exp.Order, exp.Tuple, exp.Distinct, exp.Group), ("expressions",)),
    **dict.fromkeys((exp.Subquery, exp.Alias, exp.CTE), ("this", "alias")),
    **dict.fromkeys((exp.Limit, exp.Offset), ("expression",)),
    exp.Fetch: ("direction", "count", "limit_options"),
    exp.LimitOptions: ("rows",),
    exp.Join: ("this", "on", "using", "side", "kind"),
    exp.Ordered: ("this", "desc", "nulls_first"),
    exp.Table: ("this", "db", "catalog", "alias"),
    exp.TableAlias: ("this", "columns"),
    exp.Values: ("expressions", "alias"),
    exp.Column: ("this", "table"),
    exp.Identifier: ("this", "quoted"),
    exp.Star: (),
    exp.Rand: (),
    exp.Literal: ("this", "is_string"),
    exp.In: ("this", "expressions", "query"),
    exp.Between: ("this", "low", "high"),
    exp.Cast: ("this", "to"),
    exp.DataType: ("this", "nested"),
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true", "false"),
    exp.Coalesce: ("this", "expressions"),
    exp.DPipe: (*_BINARY, "safe"),
    exp.Concat: ("expressions", "safe", "coalesce"),
    exp.Replace: ("this", "expression", "replacement"),
    exp.StartsWith: _BINARY,
    exp.StrPosition: ("this", "substr"),
    exp.Length: ("this",),
    exp.Substring: ("this", "start", "length"),
    exp.Count: ("this", "expressions", "big_int"),
}
"""What may stand in a query, and which parts it may have."""
_TYPES = frozenset(
    {
        *(exp.DataType.Type.VARCHAR, exp.DataType.Type.TEXT, exp.DataType.Type.BOOLEAN),
        *(exp.DataType.Type.BIGINT, exp.DataType.Type.INT, exp.DataType.Type.SMALLINT),
    }
)
_HINT = "SHOW, and plain SELECTs over information_schema and system, are answered"


class VirtualQuery(Struct, frozen=True):
    """A query whose tables are all virtual; `tables` by their full names, each once."""

    tree: exp.Expression
    tables: tuple[tuple[str, str, str], ...]


def may_be_virtual(sql: str, catalog: str | None, schema: str | None) -> bool:
    """Whether the statement may name a virtual table, by a look at its letters alone."""
    if catalog == SYSTEM or schema == INFORMATION_SCHEMA:
        return True
    lower = sql.lower()
    return SYSTEM in lower or INFORMATION_SCHEMA in lower or "$" in lower


def virtual_query(sql: str, client: ClientContext, catalogs: list[str]) -> VirtualQuery | None:
    """The query, where it names a virtual table; None for any other statement, and of the log.

    `catalogs` are those of the lake. UntranslatedError where other tables are named beside one,
    UnknownTableError for a virtual table that there isn't; errors of names as in `completed`.
    """
    if not may_be_virtual(sql, client.catalog, client.schema):
        return None
    try:
        tree = parse(sql, _DIALECT)
    except PARSER_FAILS:
        return None
    if not isinstance(tree, exp.Query) or not any(map(_is_near(client), tree.find_all(exp.Table))):
        return None
    tables = completed(tree, _DIALECT, client, [*catalogs, SYSTEM], metadata_tables.SUFFIXES)
    own = [one for one in tables if is_virtual(*one[:2]) or metadata_tables.parts_of(one[2])]
    if not own or set(tables) == {log_table.NAME}:  # the log is answered as a table is
        return None
    if len(own) < len(tables) or log_table.NAME in tables:
        first = log_table.NAME if log_table.NAME in own else own[0]
        others = own if first == log_table.NAME else ()
        other = next(one for one in tables if one != first and (one not in own or one in others))
        raise UntranslatedError(
            f"{one_line(joined(other))} can't be queried beside {joined(first)}",
            hint="ask for one of them, then for the other",
        )
    for one in tables:
        if is_virtual(*one[:2]):
            _virtual(one)
    return VirtualQuery(replace_session_functions(tree, client), tables)


_SAID = (
    (re.compile(r'column "?([^"]+?)"? not found'), "UNRESOLVED_COLUMN", "there is no column {}"),
    (re.compile(r'Ambiguous reference to column name "([^"]+)"'), "AMBIGUOUS_REFERENCE", ""),
    (re.compile(r'column "([^"]+)" must appear in the GROUP BY'), "MISSING_AGGREGATION", ""),
    (re.compile(r"^Conversion Error: ()"), "CAST_INVALID_INPUT", ""),
    (re.compile(r"^Out of Range Error: ()"), "NUMERIC_VALUE_OUT_OF_RANGE", ""),
)
"""What DuckDB says of a mistake, and Spark's condition for the same one."""


def _failed(error: duckdb.Error) -> AcceleratorError:
    """The error for a client whose query DuckDB refuses."""
    first = str(error).splitlines()[0]
    bare = first.partition("Error: ")[2] or first
    for said, condition, message in _SAID:
        found = said.search(first)
        if found is not None:
            kind = UnknownColumnError if condition == "UNRESOLVED_COLUMN" else StatementError
            text = message.format(found[1]) or f"the query can't be run: {bare}"
            hint = "DESCRIBE a table lists its columns" if kind is UnknownColumnError else _HINT
            shown = one_line(text)
            return kind(shown, hint=hint, error_class=condition, unknown=found[1])
    return StatementError(f"the query can't be run: {one_line(bare)}", hint=_HINT)


def _is_near(client: ClientContext) -> Callable[[exp.Table], bool]:
    """Whether a table may be a virtual one; a name of WITH may be taken for one."""
    whole = client.catalog == SYSTEM or client.schema == INFORMATION_SCHEMA

    def near(table: exp.Table) -> bool:
        schema, catalog = table.db.lower(), table.catalog.lower()
        if metadata_tables.parts_of(table.name) is not None:
            return True
        return whole or catalog == SYSTEM or schema == INFORMATION_SCHEMA

    return near


Watch = Callable[[duckdb.DuckDBPyConnection], AbstractContextManager[Any]]
"""Inside, whoever wants a query to end interrupts the connection."""


class Engine:
    """A DuckDB that holds nothing; threads may share it. It's made at the first query."""

    def __init__(self) -> None:
        self._root: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.Lock()

    def run(self, query: VirtualQuery, source: VirtualRows, watch: Watch = nullcontext) -> pa.Table:
        """The answer; StatementError where it's wrong, UntranslatedError for what isn't run.

        MemoryExceededError where the answer takes too much of it, TextGrowthError where texts can
        become too long, StatementTimeoutError where it takes too long.
        """
        tree = query.tree
        for node in tree.walk():
            _check(node)
        known = {full: _readable_table(full, source) for full in query.tables}
        _check_times(known)
        names = output_names(tree, lambda parts: known[_full(parts)].columns.shown)
        if names is None:
            raise _refused(tree, "the order of columns of `*` isn't that of USING")
        connection, free = self._connection(), _free_name(tree)
        tables: list[pa.Table] = []
        limit = threading.Event()
        try:
            for place, table in enumerate(_mentioned(tree)):
                name = f"{free}{place}"
                one = known[_full(tuple(part.name for part in table.parts))]
                if one.pinned is not None:
                    given = metadata_tables.rows(
                        one.kind, one.pinned, connection, source.listing.reads_full
                    )
                else:
                    given = _rows(table, tree, source)
                connection.register(name, given)
                tables.append(given)
                _point(table, name)
            look_up()
            check_growth(tree, tables)
            text = _written(tree)
            digits = "us" if any(one.is_timed_otherwise for one in known.values()) else "ms"
            with watch(connection), _limited(connection, limit):
                found = _conformed(connection.sql(text).to_arrow_table(), digits)
        except duckdb.InterruptException as error:
            if limit.is_set():
                raise StatementTimeoutError(
                    f"the query over tables of metadata has taken longer than {_LIMIT_S:g} s, and"
                    " was stopped",
                    hint="join fewer of them, or ask for fewer rows",
                ) from error
            raise CancelledError("the statement was cancelled") from error
        except duckdb.OutOfMemoryException as error:
            raise MemoryExceededError(
                f"the query needs more than {_MEMORY}", hint="ask for fewer rows at once"
            ) from error
        except duckdb.Error as error:
            raise _failed(error) from error
        finally:
            connection.close()
        return found.rename_columns(list(shown_names(names)))

    def close(self) -> None:
        """Frees it."""
        with self._lock:
            if self._root is not None:
                self._root.close()
            self._root = None

    def _connection(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._root is None:
                root = duckdb.connect(":memory:", config={"threads": 1})
                for setting in (
                    "SET python_enable_replacements = false",
                    "SET TimeZone = 'UTC'",
                    f"SET memory_limit = '{_MEMORY}'",
                    "SET temp_directory = ''",
                    "SET enable_external_access = false",
                    "SET lock_configuration = true",
                ):
                    root.execute(setting)
                self._root = root
            return self._root.cursor()


@contextmanager
def _limited(connection: duckdb.DuckDBPyConnection, limit: threading.Event) -> Iterator[None]:
    """Interrupts what runs inside after `_LIMIT_S`, and sets `limit` then."""
    ended = threading.Event()

    def watch() -> None:
        if not ended.wait(_LIMIT_S):
            limit.set()
            while True:  # a query that is about to begin isn't reached
                connection.interrupt()
                if ended.wait(_AGAIN_S):
                    return

    watching = threading.Thread(target=watch, name="metadata-limit", daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


class _NamedTable(Struct, frozen=True):
    """A table that is named; `pinned` is its table, if it's of `metadata_tables.py`."""

    columns: TrinoTable
    kind: str = ""
    pinned: PinnedTable | None = None

    @property
    def is_timed_otherwise(self) -> bool:
        """Whether times within it are the table's own, and not to the millisecond."""
        return self.kind == metadata_tables.PARTITIONS


def _readable_table(full: tuple[str, str, str], source: VirtualRows) -> _NamedTable:
    """AccessDeniedError and UnknownTableError where what it tells of may not be read."""
    catalog, schema, name = full
    parts = None if is_virtual(catalog, schema) else metadata_tables.parts_of(name)
    if parts is None:
        return _NamedTable(_virtual(full))
    own, kind = parts
    pinned = source.read((catalog, schema, own))
    return _NamedTable(metadata_tables.described(kind, pinned), kind, pinned)


def _check_times(known: Mapping[tuple[str, str, str], _NamedTable]) -> None:
    """Refuses tables whose times differ in their digits: none could be told for an output."""
    partitions = [full for full, one in known.items() if one.is_timed_otherwise]
    others = [
        full
        for full, one in known.items()
        if not one.is_timed_otherwise
        and any("timestamp" in t for t in one.columns.columns.values())
    ]
    if partitions and others:
        raise UntranslatedError(
            f"{one_line(joined(partitions[0]))} can't be queried beside {joined(others[0])}",
            hint="ask for one of them, then for the other",
        )


def _full(parts: tuple[str, ...]) -> tuple[str, str, str]:
    catalog, schema, name = parts
    return catalog, schema, name


def _virtual(full: tuple[str, str, str]) -> TrinoTable:
    catalog, schema, name = full
    found = virtual_schemas(catalog).get(schema, {}).get(name)
    if found is None:
        raise UnknownTableError(
            f"there is no table {one_line(joined(full))}",
            hint=f"SHOW TABLES FROM {catalog}.{schema} lists them",
            unknown=joined(full),
        )
    return found


def _mentioned(tree: exp.Expression) -> list[exp.Table]:
    """The virtual tables: names of WITH have one part."""
    return [one for one in tree.find_all(exp.Table) if len(one.parts) > 1]


def _rows(table: exp.Table, tree: exp.Expression, source: VirtualRows) -> pa.Table:
    full = _full(tuple(part.name for part in table.parts))
    virtual = _virtual(full)
    hidden = _is_hidden_named(tree, virtual)
    above = table.parent
    select = above.parent if isinstance(above, (exp.From, exp.Join)) else None
    conditions = conditions_of(select, table) if isinstance(select, exp.Select) else []
    wanted = ColumnFilter(conditions, table.alias_or_name, virtual.columns)
    schema = virtual.schema(hidden=hidden)  # hidden columns are the last ones
    return arrow_rows(schema, (row[: len(schema)] for row in rows_of(full, source, wanted)))


def _is_hidden_named(tree: exp.Expression, virtual: TrinoTable) -> bool:
    """Whether a column is named that `*` doesn't stand for; beside `*` that is refused."""
    named = {one.name.lower() for one in tree.find_all(exp.Column)} & virtual.hidden
    stars = [one for one in tree.find_all(exp.Star) if not isinstance(one.parent, exp.Count)]
    if named and stars:
        raise UntranslatedError(
            f"`*` isn't answered beside the hidden column {min(named)}",
            hint="name all the columns that you want",
        )
    return bool(named)


def _free_name(tree: exp.Expression) -> str:
    """How no name of WITH begins, which would hide a table of that name."""
    taken = [one.alias.lower() for one in tree.find_all(exp.CTE)]
    name = "virtual_"
    while any(one.startswith(name) for one in taken):
        name += "_"
    return name


def _point(table: exp.Table, name: str) -> None:
    """The mention as one of the registered rows, under the name that the query knows it by."""
    alias = table.args.get("alias")
    if alias is None:
        alias = exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
    elif alias.args.get("this") is None:
        alias.set("this", exp.to_identifier(table.name, quoted=True))
    table.replace(exp.Table(this=exp.to_identifier(name), alias=alias.copy()))


def _written(tree: exp.Expression) -> str:
    try:
        return tree.sql("duckdb", unsupported_level=ErrorLevel.RAISE, comments=False)
    except SqlglotError as error:
        raise UntranslatedError(f"the query isn't translated: {error}", hint=_HINT) from error


def _conformed(found: pa.Table, digits: str) -> pa.Table:
    """Times to the millisecond, or whatever else the tables have."""
    for place, field in enumerate(found.schema):
        if pa.types.is_timestamp(field.type):
            wanted = pa.timestamp(digits, tz="UTC" if field.type.tz else None)
            found = found.set_column(place, field.name, found.column(place).cast(wanted))
    return found


def _check(node: exp.Expr) -> None:
    parts = _PARTS.get(type(node))
    if parts is None:
        raise _refused(node, f"{type(node).__name__} isn't known to be the same")
    for name, value in node.args.items():
        if value and name not in parts:
            raise _refused(node, f"it has {name.rstrip('_')}")
    rule = _RULES.get(type(node))
    why = "" if rule is None else rule(node)
    if why:
        raise _refused(node, why)


def _refused(node: exp.Expr, why: str) -> UntranslatedError:
    shown = shortened(node.sql(_DIALECT), _SHOWN)
    return UntranslatedError(
        f"`{one_line(shown)}` isn't answered over tables of metadata: {why}", hint=_HINT
    )


def _literal(node: exp.Expr) -> str:
    whole = node.args.get("is_string") or node.name.isdigit()
    return "" if whole else "only texts and whole numbers are"


def _cast(node: exp.Expr) -> str:
    to = cast(exp.DataType, node.args["to"])
    return "" if to.this in _TYPES else "that type isn't known to be written alike"


def _substring(node: exp.Expr) -> str:
    given = (node.args.get("start"), node.args.get("length"))
    numbers = [one for one in given if one is not None]
    plain = all(isinstance(one, exp.Literal) and one.name.isdigit() for one in numbers)
    start = given[0]
    return "" if plain and start is not None and start.name != "0" else "only constant places are"


def _limit(node: exp.Expr) -> str:
    number = node.args.get("expression")
    plain = isinstance(number, exp.Literal) and number.name.isdigit()
    return "" if plain else "only constant numbers of rows are"


def _join(node: exp.Expr) -> str:
    side, kind = (str(node.args.get(k) or "").upper() for k in ("side", "kind"))
    fits = side in ("", "LEFT", "RIGHT", "FULL") and kind in ("", "INNER", "OUTER", "CROSS")
    return "" if fits else f"it's a {side} {kind} join"


def _with(node: exp.Expr) -> str:
    return "it's recursive" if node.args.get("recursive") else ""


def _distinct(node: exp.Expr) -> str:
    is_on = isinstance(node.parent, exp.Select) and node.expressions
    return "it's DISTINCT ON" if is_on else ""


_RULES: Mapping[type[exp.Expr], Callable[[exp.Expr], str]] = {
    exp.Literal: _literal,
    exp.Cast: _cast,
    exp.Substring: _substring,
    exp.Limit: _limit,
    exp.Offset: _limit,
    exp.Join: _join,
    exp.With: _with,
    exp.Distinct: _distinct,
}
"""Why a node isn't run, where its parts are known; empty where it is."""
