"""The index that would help a statement over one table: its column, kind and DDL.

Example: `WHERE trace_id = 'x'` is helped by BLOOM (trace_id). The conjuncts of WHERE that compare a
column with constants count; the suggestion is for the first column without an index.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from sqlglot import exp

from accelerator.errors import AcceleratorError
from accelerator.query.statements.cursor import NEVER_NAMES
from rewrite.identifiers.quoting import backticked, quoted, quoted_if_needed
from rewrite.parse.parse import PARSER_FAILS, parse

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

_WHOLE = ("bigint", "date", "int", "timestamp", "timestamp_ntz")
_FLOATS = ("double", "float")
_ORDERED: tuple[type[exp.Expr], ...] = (exp.Between, exp.GT, exp.GTE, exp.LT, exp.LTE)
_SEARCHES: tuple[type[exp.Expr], ...] = (exp.Contains, exp.ILike, exp.Like, exp.RegexpLike)


class SuggestedIndex(Struct, frozen=True):
    """An index that isn't there, on a column of a predicate."""

    kind: str
    table: str
    column: str
    ddl: str

    @property
    def detail(self) -> str:
        """The table and column, for a reason."""
        return f"The column {self.column} of {self.table}; {self.kind} would serve."


def suggested_index(sql: str, services: Services) -> SuggestedIndex | None:
    """The index; None if no predicate of one table's column wants one that isn't there."""
    if "WHERE" not in sql.upper():
        return None  # what is no query isn't parsed
    try:
        tree = parse(sql)
        tables = list(tree.find_all(exp.Table))
        where = tree.args.get("where")
        if not isinstance(tree, exp.Select) or len(tables) != 1 or where is None:
            return None
        parts = tuple(one.name for one in tables[0].parts)
        pinned = services.lake.pin().pinned(parts)
        if pinned is None:
            return None
        registry = services.store.registry()
    except (*PARSER_FAILS, AcceleratorError):
        return None
    types = {one.name.lower(): (one.name, one.type) for one in pinned.facts.columns}
    uuid = pinned.facts.uuid
    indexed = {
        (one.column.lower(), one.kind)
        for one in registry.indexes.values()
        if one.table_uuid == uuid
    }
    for name, test in _tests(where.this, tables[0].alias_or_name.lower()):
        column, type_ = types.get(name, ("", ""))
        kind = _kind(test, type_)
        if kind == "BOUNDS" and pinned.has_read_nan(column):
            continue  # an index would only count what was found
        if kind is not None and (name, kind) not in indexed:
            return _index(kind, parts, column, registry.indexes)
    return None


def _index(
    kind: str, parts: tuple[str, ...], column: str, taken: Collection[str]
) -> SuggestedIndex:
    table = quoted(parts)
    base = f"{parts[-1]}_{column}_{kind}".lower()
    name = next(n for n in (base, *(f"{base}{i}" for i in range(1, 9999))) if n not in taken)
    index, on = quoted_if_needed(name), _column(column)
    ddl = f"CREATE INDEX {index} ON {table} USING {kind} ({on})"
    return SuggestedIndex(kind, ".".join(parts), column, ddl)


def _column(name: str) -> str:
    """The column as `CREATE INDEX` takes it: a few words are no names there."""
    return backticked(name) if name.upper() in NEVER_NAMES else quoted_if_needed(name)


def _tests(node: exp.Expression, table: str) -> Iterator[tuple[str, exp.Expression]]:
    """The conjuncts over one column and constants, with the column's name in lower case.

    Without those over a struct's field, which indexes don't have.
    """
    if isinstance(node, (exp.And, exp.Paren)):
        for child in node.iter_expressions():
            yield from _tests(child, table)
        return
    columns = {one.name.lower() for one in node.find_all(exp.Column)}
    own = isinstance(node.this, exp.Column) and node.this.table.lower() in ("", table)
    if len(columns) == 1 and own:
        yield columns.pop(), node


def _kind(test: exp.Expression, type_: str) -> str | None:
    """The kind of index that a test of a column of that type asks."""
    if type_ in _FLOATS:
        return "BOUNDS" if isinstance(test, (exp.EQ, exp.In, *_ORDERED)) else None
    if isinstance(test, (exp.EQ, exp.In)) and (type_ in _WHOLE or type_ == "string"):
        return "BLOOM"
    if isinstance(test, _SEARCHES) and type_ == "string":
        return "NGRAM_BLOOM"
    return "RANGE" if isinstance(test, _ORDERED) and type_ in _WHOLE else None
