"""Queries of virtual tables over temporary views in Spark, which runs all that isn't proven.

Each mention is replaced by a view in the query's own text. Only the columns that the query uses are
read, of the log's files those that may have its times; of the others a view has NULL.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.engines.session_settings import refusal
from accelerator.errors import StatementError
from accelerator.planning.plans import MANIFESTS
from accelerator.planning.plans.virtual import Mention, VirtualTable, VirtualTableRows
from accelerator.query.virtual_tables import log_table
from accelerator.store.journals.query_log.time_span import ALL, Span
from rewrite.bind.from_clause import occurrence_of
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.reason import DeclinedError
from rewrite.render.expressions import quote

if TYPE_CHECKING:
    import pyarrow as pa

    from accelerator.engines.spark.engine import SparkEngine
    from accelerator.iceberg import Pin, PinnedTable
    from accelerator.iceberg.tables.files_table import Path

SUFFIX = "$logical_iceberg_metadata"
"""What stands behind a table's name in the name of the table of its files."""
_STATE = re.compile(
    r"\s+(?:FOR\s+)?(?:SYSTEM_)?(?:VERSION|TIMESTAMP|TIME)\s+AS\s+OF\s+"
    r"(?:TIMESTAMP\s*)?(?:'[^'\\]*'|\"[^\"\\]*\"|\d+)",
    re.IGNORECASE,
)
_STATS, _INNER = re.compile("column_stats"), re.compile(r"`?\s*\.\s*[`\w]")
_REGEX = "spark.sql.parser.quotedRegexColumnNames"
_HINT = f"docs/reference/metadata-table.md says how `t{SUFFIX}` is written"
_LOG_HINT = "docs/reference/query-log.md says what is answered"
_KEPT = frozenset({"id", "user", "catalog", "schema"})
"""Columns of the log, some of which are functions' names as well."""


def is_named(sql: str) -> bool:
    """Tests whether the text may name a table of files; a quick look."""
    return SUFFIX in sql.lower()


def is_table(node: exp.Expression) -> bool:
    """Tests whether the node names such a table, by its last part or the one before a state."""
    return isinstance(node, exp.Table) and any(
        isinstance(part, exp.Identifier) and part.name.lower().endswith(SUFFIX)
        for part in node.parts
    )


def files_of(
    pinned: PinnedTable, columns: Mapping[str, str], paths: Mapping[str, Path]
) -> VirtualTable:
    """The table of a table's files; `paths` lead to its innermost fields, by the name of each."""
    table = pinned.file_table()

    def rows(names: Sequence[str], _: Span) -> VirtualTableRows:
        return VirtualTableRows(pinned.file_metadata(table, [paths[name] for name in names]))

    name = f"{MANIFESTS} as a table of files"
    return VirtualTable(name, columns, rows, pinned=(pinned,), used=(MANIFESTS,), rewritten=True)


@contextmanager
def with_views(
    sql: str, engine: SparkEngine, pin: Pin, log: VirtualTable | None, settings: Mapping[str, str]
) -> Iterator[tuple[str, bool]]:
    """The query with views in place of virtual tables, and whether rows of the log are left out.

    At the context's end the views are dropped. `log` is the log, if the query names it. Raises
    StatementError if the text can't be read, or asks for a state of the log; DeclinedError
    (`table_unknown`) without the table whose files are named; StoreError without the log.
    """
    is_cut = False
    with ExitStack() as views:
        if log is not None:
            name = _new_name()
            read, sql = log_viewed(sql, name, log, settings)
            found = read.rows()
            views.enter_context(_view(name, found.rows, None, read, engine))
            is_cut = found.is_cut
        if is_named(sql):
            tree, text = _parsed(sql), sql
            named = [one for one in tree.find_all(exp.Table) if is_table(one)]
            for table in sorted(named, key=_start_of, reverse=True):
                name = _new_name()
                pinned = _pinned(table, pin, settings.get("time_zone"))
                views.enter_context(_files_view(name, pinned, sql, tree, engine))
                text = _replaced(text, table, name)
            sql = text
        yield sql, is_cut


def _new_name() -> str:
    return f"acc_{uuid.uuid4().hex}"


def _parsed(sql: str) -> exp.Expression:
    try:
        return parse(sql)
    except SqlglotError as error:
        raise StatementError(
            f"the query can't be read: {str(error).splitlines()[0]}", hint=_HINT
        ) from error


@contextmanager
def _view(
    name: str, rows: pa.Table, ddl: str | None, read: Mention, engine: SparkEngine
) -> Iterator[None]:
    """A view of the rows, with NULL for each column of the table that isn't among those read."""
    items = [
        f"{quote(n, 'spark') if n in rows.column_names else f'CAST(NULL AS {type_})'}"
        f" AS {quote(n, 'spark')}"
        for n, type_ in read.table.columns.items()
    ]
    frame = engine.session.createDataFrame(rows, ddl)
    frame.selectExpr(*items).createOrReplaceTempView(name)
    try:
        yield
    finally:
        engine.session.catalog.dropTempView(name)


def log_viewed(
    sql: str, view: str, log: VirtualTable, settings: Mapping[str, str]
) -> tuple[Mention, str]:
    """Returns what of the log the query may use, and its text over the view.

    Where only Spark knows what the text means, by its grammar or by the session's settings, it may
    use all.
    """
    from accelerator.query.virtual_tables.log_times import span_of, with_now  # for the log alone

    whole = Mention(log, tuple(log.columns), ALL)
    try:
        tree = parse(sql)
    except PARSER_FAILS:
        return whole, _with_view(sql, view)
    text, zone = sql, settings.get("time_zone")
    for table in sorted(log_table.mentions(tree), key=_start_of, reverse=True):
        if table.args.get("version") is not None or table.args.get("when") is not None:
            raise StatementError("the query log has no earlier states", hint=_LOG_HINT)
        text = _replaced(text, table, view)
    if refusal(settings, sql) is not None:
        return whole, text
    timed = with_now(tree, datetime.now(UTC), zone)
    span = reduce(
        Span.or_, (span_of(one, log_table.STARTED, zone) for one in log_table.mentions(timed))
    )
    return Mention(log, _named(tree, log), span), text


def _with_view(sql: str, view: str) -> str:
    places = log_table.written(sql)
    if not places:
        raise StatementError("the query can't be read", hint=_LOG_HINT)
    for one in reversed(places):
        alias = f" AS {quote(log_table.NAME[-1], 'spark')}" if one.bare else ""
        sql = f"{sql[: one.start]}{view}{alias}{sql[one.end :]}"
    return sql


def _named(tree: exp.Expression, log: VirtualTable) -> tuple[str, ...]:
    """The columns that the query may use, one at least."""
    if needs_everything(tree):
        return tuple(log.columns)
    used = {one.name.lower() for one in tree.find_all(exp.Identifier)}
    # What the parser takes for something else than a name, as `user`, is in the tree by its word.
    used |= {str(one.this).lower() for one in tree.find_all(exp.Var)}
    return tuple(one for one in log.columns if one in used or one in _KEPT)


def _files_view(
    name: str, pinned: PinnedTable, sql: str, tree: exp.Expression, engine: SparkEngine
) -> AbstractContextManager[None]:
    """The view of a table's files."""
    from accelerator.iceberg.tables.files_table import PLAIN, nested  # imports Arrow's compute

    table = pinned.file_table()
    everything = needs_everything(tree) or (
        engine.session.conf.get(_REGEX, "false").lower() == "true"
    )
    text = None if everything else sql.lower().replace("``", "`")
    # A name for the rows to be counted by, if the query has none.
    names = [n for n in PLAIN if text is None or n == "content" or _names(text, n)]
    leaves = list(table.leaves) if text is None else named_stats(text, table.leaves)
    paths = {".".join(path): path for name in names for path in table.paths(name, leaves)}
    types = {name: table.ddl(name, table.paths(name)) for name in PLAIN}
    read = Mention(files_of(pinned, types, paths), tuple(paths), ALL)
    rows = nested(read.rows().rows, names, paths.values())
    ddl = ", ".join(f"{one} {table.ddl(one, paths.values())}" for one in names)
    return _view(name, rows, ddl, read, engine)


def needs_everything(tree: exp.Expression) -> bool:
    """Tests whether the query may use a column that it doesn't name."""
    if any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star)):
        return True
    if any(tree.find_all(exp.Pivot)) or any(
        alias.args.get("columns") and isinstance(alias.parent, exp.Table)
        for alias in tree.find_all(exp.TableAlias)
    ):
        return True
    natural = (str(join.args.get("method") or "").upper() for join in tree.find_all(exp.Join))
    return "NATURAL" in natural or "identifier" in {
        f.name.lower() for f in tree.find_all(exp.Anonymous)
    }


def named_stats(text: str, leaves: Collection[str]) -> list[str]:
    """The columns whose statistics the query may use: their names are in its text.

    All where one isn't asked for by its name.
    """
    whole = any(not _INNER.match(text, found.end()) for found in _STATS.finditer(text))
    if whole:
        return list(leaves)
    found = [name for name in leaves if not name.isascii() or _names(text, name)]
    return found or list(leaves)


def _names(text: str, name: str) -> bool:
    """Tests whether the name is among the words of the text."""
    return re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", text) is not None


def _pinned(table: exp.Table, pin: Pin, zone: str | None) -> PinnedTable:
    bare = exp.Table(**{k: table.args.get(k) for k in ("this", "db", "catalog", "version")}).copy()
    for part in bare.parts:
        if part.name.lower().endswith(SUFFIX):
            part.set("this", part.name[: -len(SUFFIX)])
    occurrence = occurrence_of(0, bare, pin, zone)
    pinned = pin.pinned(occurrence.parts, occurrence.at)
    if pinned is None:
        raise DeclinedError("table_unknown", f"The table {occurrence.table.name}.")
    return pinned


def _start_of(table: exp.Table) -> int:
    """Returns where the table's name begins in the text that was parsed."""
    start = table.parts[0].meta.get("start")
    if start is None:
        raise StatementError("the parser doesn't say where the table's name stands", hint=_HINT)
    return int(start)


def _replaced(sql: str, table: exp.Table, view: str) -> str:
    """The text with the name, and the state behind it, replaced by the view under its alias."""
    end = int(table.parts[-1].meta["end"]) + 1
    if table.args.get("version") is not None:
        state = _STATE.match(sql, end)
        if state is None:
            raise StatementError("the table's state isn't a literal", hint=_HINT)
        end = state.end()
    named = bool(table.alias or table.args.get("sample"))
    alias = "" if named else f" AS {quote(table.name, 'spark')}"
    return f"{sql[: _start_of(table)]}{view}{alias}{sql[end:]}"
