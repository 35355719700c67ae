"""Names of a client's query completed to catalog.schema.table, and its session functions told.

Promises: afterwards each table of the tree has three parts, of which the first is one of the given
catalogs, and what has one part is a name of WITH that is visible there. What names rows otherwise
(table functions, Trino's metadata tables) is refused. The tree is changed in place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import cast

from sqlglot import exp

from rewrite.client import ClientContext, FullName
from rewrite.dialects.value_kinds import ZONE
from rewrite.errors import (
    MissingCatalogError,
    MissingSchemaError,
    StatementError,
    StatementTooDeepError,
    UnknownCatalogError,
    UntranslatedError,
)
from rewrite.identifiers.qualified_name import joined
from rewrite.parse.with_definitions import Definitions
from rewrite.text.printable import one_line, some_of
from rewrite.text.suggestions import closest, did_you_mean

FILES = "$logical_iceberg_metadata"
"""The end of the one name with a dollar that is answered: a table's files as a table."""
_METADATA = frozenset(
    f"${one}"
    for one in (
        *("all_entries", "all_manifests", "data", "entries", "files", "history", "manifests"),
        *("metadata_log_entries", "partitions", "position_deletes", "properties", "refs"),
        *("snapshots",),
    )
)
_PARTS = 3
REFERENCES_MAX = 10_000
"""Tables of a query whose items of WITH are written wherever they're named."""
_FEW_TABLES = 24
"""So many names stand for at most 3⁸ tables, because each item is named in another one."""
_LOWERED = frozenset({"trino"})
"""To these a name without quotes is one in lower case."""
_ODD = frozenset("/\\:#")


def completed(
    tree: exp.Expression,
    dialect: str,
    client: ClientContext,
    catalogs: Collection[str],
    answered: Collection[str] = (),
) -> tuple[FullName, ...]:
    """The tables of the query by their full names, each once, in the order of the text.

    `answered` are the ends of names of metadata tables that may be named, such as `$snapshots`.
    MissingSchemaError, MissingCatalogError, UnknownCatalogError, StatementError for names;
    UntranslatedError for what isn't a table of a catalog; StatementTooDeepError if items of WITH
    name each other too often.
    """
    _check_references(tree)
    found: dict[FullName, None] = {}
    for table, visible in _tables(tree):
        parts = _parts(table, dialect)
        if len(parts) == 1 and parts[0].lower() in visible:
            continue
        full = full_name(parts, client, catalogs)
        check_name(full, answered)
        found[full] = None
        written = table.this.meta
        for key, part in zip(("catalog", "db", "this"), full, strict=True):
            table.set(key, exp.to_identifier(part, quoted=True))
        table.this.meta.update(written)  # errors show where the name is in the text
    return tuple(found)


def _check_references(tree: exp.Expression) -> None:
    """StatementTooDeepError if the query names too many tables once its WITHs are written out."""
    names = sum(1 for _ in tree.find_all(exp.Table))
    if names <= _FEW_TABLES:
        return
    count = Definitions().references(tree)
    if count > max(REFERENCES_MAX, names):
        raise StatementTooDeepError(
            f"the items of WITH name each other so often that the query has {REFERENCES_MAX:,}"
            " tables, or more, when each item is written in its place",
            hint="write the items that are named twice into a table, or name them less often",
        )


def full_name(parts: tuple[str, ...], client: ClientContext, catalogs: Collection[str]) -> FullName:
    """What a table's name of one to three parts stands for.

    >>> full_name(("t",), Client(catalog="lake", schema="d"), ["lake"])
    ('lake', 'd', 't')
    """
    if not 0 < len(parts) <= _PARTS or not all(parts):
        raise StatementError(
            f"{one_line(joined(parts))} isn't a table's name",
            hint="a name has up to three parts: catalog.schema.table",
        )
    *before, table = parts
    schema = before[-1] if before else client.schema
    if schema is None:
        raise MissingSchemaError(
            f"no schema is said for {one_line(table)}, nor set in the session",
            hint="write schema.table, or set a schema (USE)",
        )
    catalog = checked_catalog(parts[0] if len(parts) == _PARTS else client.catalog, catalogs)
    return catalog, schema, table


def checked_catalog(name: str | None, catalogs: Collection[str]) -> str:
    """The name, of a catalog that is there; MissingCatalogError, UnknownCatalogError."""
    if name is None:
        raise MissingCatalogError(
            "no catalog is said, nor set in the session",
            hint="write catalog.schema.table, or set a catalog (USE catalog.schema)",
        )
    if name not in catalogs:
        near = closest(name, catalogs)
        raise UnknownCatalogError(
            f"there is no catalog {one_line(name)}",
            hint=did_you_mean(near) or f"there are {some_of(sorted(catalogs)) or 'none'}",
            suggestions=near,
            unknown=name,
        )
    return name


def check_name(full: tuple[str, ...], answered: Collection[str] = ()) -> None:
    """UntranslatedError for one of Trino's metadata tables whose end isn't among `answered`."""
    begin, dollar, end = full[-1].rpartition("$")
    suffix = f"{dollar}{end}".lower()
    if begin and suffix in _METADATA and suffix not in answered:
        raise UntranslatedError(
            f"{one_line(joined(full))} isn't answered: it's one of Trino's metadata tables",
            hint=f'"{one_line(begin)}{FILES}" has the files of the table',
        )


def is_odd(full: FullName) -> bool:
    """Whether Spark may take a part for something else than a name where there is no such table."""
    return any(letter in _ODD or not letter.isprintable() for part in full for letter in part)


def _parts(table: exp.Table, dialect: str) -> tuple[str, ...]:
    parts = [table.args.get(one) for one in ("catalog", "db", "this")]
    given = [one for one in parts if one is not None]
    if any(isinstance(one, exp.Dot) for one in given):
        raise StatementError(
            f"{one_line(table.sql(dialect))} isn't a table's name",
            hint="a name has up to three parts: catalog.schema.table",
        )
    if not given or not all(isinstance(one, exp.Identifier) for one in given):
        raise UntranslatedError(
            f"`{one_line(table.sql(dialect))}` isn't translated from {dialect}: it isn't a table",
            hint="table functions aren't answered",
        )
    names = cast("list[exp.Identifier]", given)
    return tuple(_name(one, dialect) for one in names)


def _name(one: exp.Identifier, dialect: str) -> str:
    name = str(one.this)
    return name if one.args.get("quoted") or dialect not in _LOWERED else name.lower()


class _Defined:
    """The names of WITH that a node sees: the first `count` items of one, and those around it.

    The items of one WITH share a dictionary, because a copy for each takes the square of them.
    """

    __slots__ = ("_around", "_count", "_places")

    def __init__(self, places: Mapping[str, int], count: int, around: _Defined | None) -> None:
        self._places, self._count, self._around = places, count, around

    def __contains__(self, name: str) -> bool:
        place = self._places.get(name)
        if place is not None and place < self._count:
            return True
        return self._around is not None and name in self._around


def _tables(tree: exp.Expression) -> Iterator[tuple[exp.Table, _Defined]]:
    """Yields each table with the names of WITH that are visible there, in lower case.

    A name is visible behind its own definition: in later ones of its WITH and in the query below.
    """
    waiting: list[tuple[exp.Expr, _Defined]] = [(tree, _Defined({}, 0, None))]
    while waiting:
        node, visible = waiting.pop()
        if isinstance(node, exp.Table):
            yield node, visible
        inner: list[tuple[exp.Expr, _Defined]] = []
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            places: dict[str, int] = {}
            around = visible
            for place, one in enumerate(with_.expressions):
                inner.append((one, _Defined(places, place, around)))
                places.setdefault(one.alias.lower(), place)
            visible = _Defined(places, len(with_.expressions), around)
        inner += [(one, visible) for one in node.iter_expressions() if one is not with_]
        waiting += reversed(inner)


# What a client's session functions say


def replace_session_functions(tree: exp.Expression, client: ClientContext) -> exp.Expression:
    """The query with constants in place of functions of the session; `tree` is changed."""
    for node in list(tree.walk()):
        found = _constant(node, client)
        if found is None:
            continue
        if node is tree:
            return found
        node.replace(found)
    return tree


def is_timed(tree: exp.Expression) -> bool:
    """Whether it asks for the moment at which it is asked."""
    return tree.find(*_TIMES) is not None


def _constant(node: exp.Expr, client: ClientContext) -> exp.Expression | None:
    if isinstance(node, exp.CurrentUser):
        return _text(client.user)
    if isinstance(node, exp.CurrentCatalog):
        return _text(client.catalog)
    if _is_current_schema(node):
        return _text(client.schema)
    if isinstance(node, exp.CurrentTimezone):
        return _text(client.time_zone)
    if isinstance(node, exp.CurrentVersion):
        return _text(client.version)
    local = client.local() if isinstance(node, _TIMES) and not node.args.get("this") else None
    return None if local is None else _time(node, local, client.time_zone)


_TIMES = (exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp)


def _is_current_schema(node: exp.Expr) -> bool:
    """The parser takes the word for a column."""
    if isinstance(node, exp.CurrentSchema):
        return True
    if not isinstance(node, exp.Column) or len(node.parts) != 1:
        return False
    name = node.parts[0]
    return not name.args.get("quoted") and name.name.lower() == "current_schema"


def _text(value: str | None) -> exp.Expression:
    """A constant; for what isn't set NULL, as a text."""
    if value is not None:
        return exp.Literal.string(value)
    empty = exp.Literal.string("")
    return exp.Nullif(this=empty, expression=empty.copy())


def _time(node: exp.Expr, local: datetime, zone: str) -> exp.Expression:
    """The moment as a constant of Spark's, times to the millisecond."""
    if isinstance(node, exp.CurrentDate):
        return exp.Var(this=f"DATE '{local.date().isoformat()}'")
    zoned = isinstance(node, exp.CurrentTimestamp)
    shown = local if zoned else local.replace(tzinfo=None)
    text = shown.isoformat(sep=" ", timespec="milliseconds")
    found = exp.Var(this=f"{'TIMESTAMP' if zoned else 'TIMESTAMP_NTZ'} '{text}'")
    if zoned:
        found.meta[ZONE] = zone
    return found
