"""`t$logical_iceberg_metadata`: the files of an Iceberg table as a table, in any query.

Each mention is replaced by a temporary view of what the manifests say
(`iceberg/tables/files_table.py`), in the query's own text; Spark runs the rest.
`docs/reference/metadata-table.md` has the columns.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.errors import StatementError
from rewrite.bind.from_clause import occurrence_of
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.render.expressions import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from accelerator.engines.spark.engine import SparkEngine
    from accelerator.iceberg import Pin, PinnedTable

SUFFIX = "$logical_iceberg_metadata"
_STATE = re.compile(
    r"\s+(?:FOR\s+)?(?:SYSTEM_)?(?:VERSION|TIMESTAMP|TIME)\s+AS\s+OF\s+"
    r"(?:TIMESTAMP\s*)?(?:'[^'\\]*'|\"[^\"\\]*\"|\d+)",
    re.IGNORECASE,
)
_STATS, _INNER = re.compile("column_stats"), re.compile(r"`?\s*\.\s*[`\w]")
_REGEX = "spark.sql.parser.quotedRegexColumnNames"
_HINT = f"docs/reference/metadata-table.md says how `t{SUFFIX}` is written"


def is_named(sql: str) -> bool:
    """Whether such a table may be named in the text; a quick look."""
    return SUFFIX in sql.lower()


@contextmanager
def with_views(sql: str, engine: SparkEngine, pin: Pin, zone: str | None) -> Iterator[str]:
    """The query with views in place of such tables; they are gone when the context is left.

    DeclinedError (`table_unknown`) where one's table isn't there, StatementError where the text
    can't be read.
    """
    try:
        tree = parse(sql)
    except SqlglotError as error:
        raise StatementError(
            f"the query can't be read: {str(error).splitlines()[0]}", hint=_HINT
        ) from error
    text = sql
    found = [table for table in tree.find_all(exp.Table) if is_table(table)]
    with ExitStack() as views:
        for table in sorted(found, key=start_of, reverse=True):
            name = f"acc_{uuid.uuid4().hex}"
            _frame(_pinned(table, pin, zone), sql, tree, engine).createOrReplaceTempView(name)
            views.callback(engine.session.catalog.dropTempView, name)
            text = replaced(text, table, name)
        yield text


def is_table(node: exp.Expression) -> bool:
    """Whether the node names such a table: by its last part, or the one before a state's name."""
    return isinstance(node, exp.Table) and any(
        isinstance(part, exp.Identifier) and part.name.lower().endswith(SUFFIX)
        for part in node.parts
    )


def _frame(pinned: PinnedTable, sql: str, tree: exp.Expression, engine: SparkEngine) -> DataFrame:
    """The rows, of each column that the query doesn't use NULL."""
    from accelerator.iceberg.tables.files_table import PLAIN, nested  # imports Arrow's compute

    table, session = pinned.file_table(), engine.session
    everything = needs_everything(tree) or session.conf.get(_REGEX, "false").lower() == "true"
    text = None if everything else sql.lower().replace("``", "`")
    # A name for the rows to be counted by, if the query has none.
    used = {n: text is None or n == "content" or _names(text, n) for n in PLAIN}
    leaves = list(table.leaves) if text is None else _named_stats(text, table.leaves)
    paths = [path for name in PLAIN for path in table.paths(name, leaves) if used[name]]
    names = [name for name in PLAIN if used[name]]
    rows = nested(pinned.file_metadata(table, paths), names, paths)
    ddl = ", ".join(f"{name} {table.ddl(name, paths)}" for name in names)
    unused = {name: table.ddl(name, table.paths(name)) for name in PLAIN if not used[name]}
    items = [f"CAST(NULL AS {unused[n]}) AS {n}" if n in unused else n for n in PLAIN]
    return session.createDataFrame(rows, ddl).selectExpr(*items)


def needs_everything(tree: exp.Expression) -> bool:
    """Whether the query may use a column that it doesn't name."""
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


def _named_stats(text: str, leaves: Collection[str]) -> list[str]:
    """The columns whose statistics the query may use: their names are in its text.

    All where one isn't asked for by its name.
    """
    whole = any(not _INNER.match(text, found.end()) for found in _STATS.finditer(text))
    if whole:
        return list(leaves)
    found = [name for name in leaves if not name.isascii() or _names(text, name)]
    return found or list(leaves)


def _names(text: str, name: str) -> bool:
    """Whether the name is among the words of the text."""
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


def start_of(table: exp.Table) -> int:
    """Where the table's name begins in the text that was parsed."""
    start = table.parts[0].meta.get("start")
    if start is None:
        raise StatementError("the parser doesn't say where the table's name stands", hint=_HINT)
    return int(start)


def replaced(sql: str, table: exp.Table, view: str) -> str:
    """The text with the name, and the state behind it, replaced by the view under its alias."""
    end = int(table.parts[-1].meta["end"]) + 1
    if table.args.get("version") is not None:
        state = _STATE.match(sql, end)
        if state is None:
            raise StatementError("the table's state isn't a literal", hint=_HINT)
        end = state.end()
    named = bool(table.alias or table.args.get("sample"))
    alias = "" if named else f" AS {quote(table.name, 'spark')}"
    return f"{sql[: start_of(table)]}{view}{alias}{sql[end:]}"
