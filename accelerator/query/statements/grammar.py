"""SQL text to a statement of ours, a query, or something for Spark.

Pure: nothing is resolved or run. A query is told by its first word, without any tokenizing. What
isn't unmistakably ours is `Other`; what is ours and malformed is a `StatementError`. The grammar
stands in `docs/reference/sql.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from msgspec.structs import replace
from sqlglot.errors import TokenError

from accelerator.errors import StatementError, StatementTooDeepError
from accelerator.query.statements.alter import alter
from accelerator.query.statements.catalog import EXAMPLES
from accelerator.query.statements.cursor import Reader
from accelerator.query.statements.nodes import (
    Analyze,
    ApplyRecommendations,
    BuildAll,
    BuildCube,
    BuildIndex,
    BuildStatistics,
    CompactCube,
    CreateCube,
    CreateIndex,
    DropCube,
    DropIndex,
    DropStatistics,
    EstimateCube,
    ExplainAccelerate,
    ExplainAnalyze,
    ExplainWhyNot,
    NotBuilt,
    OptimizeTable,
    Other,
    PublishCube,
    Query,
    ShowAdviceResults,
    ShowConstraints,
    ShowCoverage,
    ShowCubes,
    ShowIndexes,
    ShowQueries,
    ShowRecommendations,
    ShowRecycleBin,
    ShowRelateColumns,
    ShowStatistics,
    Statement,
    UndropCube,
    VacuumTable,
    Verify,
)
from rewrite.parse.bounds import HINT, TooDeepError
from rewrite.text.first_look import QUERY_WORDS, first_word, without_plain_hint
from rewrite.text.suggestions import closest

INDEX_KINDS = frozenset(
    (
        *("BITMAP", "BLOOM", "BOUNDS", "RANGE"),
        *("TOKEN_BLOOM", "TOKEN_BITMAP", "NGRAM_BLOOM", "NGRAM_BITMAP"),
    )
)

_ORDERS: tuple[Literal["sort", "zorder", "hilbert"], ...] = ("sort", "zorder", "hilbert")

# What can't be tokenized is still known to be ours by words that no statement of Spark's has.
_OURS = re.compile(
    r"(?:(?:EXPLAIN\s+)?CREATE\s+(?:OR\s+REPLACE\s+)?CUBE|(?:UN)?DROP\s+CUBE|BUILD|PUBLISH|VERIFY"
    r"|COMPACT\s+CUBE|EXPLAIN\s+(?:ACCELERATE|WHY))\b",
    re.IGNORECASE,
)


_ANALYZED = ("(", "FROM", "SELECT", "VALUES", "WITH")


def parse_statement(sql: str, dialect: str = "spark") -> Statement:
    """The statement that the text holds."""
    first = first_word(sql)
    if first.text in QUERY_WORDS:
        return _query(sql)
    grammar = _GRAMMARS.get(first.text)
    if grammar is None or first.in_parentheses:
        return Other(sql)
    try:
        reader = Reader(sql, first.end, dialect, EXAMPLES["CREATE CUBE"])
    except TooDeepError as error:
        if not _OURS.match(sql, first.end - len(first.text)):
            return Other(sql)
        raise StatementTooDeepError(f"the statement isn't parsed: {error}", hint=HINT) from error
    except TokenError as error:
        if not _OURS.match(sql, first.end - len(first.text)):
            return Other(sql)
        raise StatementError(
            f"the statement can't be read: {error}",
            hint="look for a quote or a comment that isn't closed",
        ) from error
    found = grammar(reader)
    if found is None or isinstance(found, Other):
        return Other(sql)
    reader.check_names()
    return found


def _query(sql: str) -> Query:
    if "/*+" in sql:
        bare = without_plain_hint(sql)
        if bare is not None:
            return Query(sql, bare, plain=True)
    return Query(sql, sql)


# Each grammar gets the words behind the first one; None says that the statement isn't ours.


def _create(reader: Reader) -> Statement | None:
    or_replace = reader.take("OR", "REPLACE")
    if reader.take("CUBE"):
        return _create_cube(reader, or_replace)
    if reader.take("INDEX"):
        return _create_index(reader, or_replace)
    return None


def _create_cube(reader: Reader, or_replace: bool) -> CreateCube:
    reader.meant(EXAMPLES["CREATE CUBE"])
    if or_replace and reader.at("IF"):
        raise reader.error("the cube's name (OR REPLACE and IF NOT EXISTS exclude each other)")
    if_not_exists = reader.take("IF", "NOT", "EXISTS")
    name = reader.cube()
    deferred = reader.take("DEFERRED")
    reader.expect("AS")
    return CreateCube(name, reader.query(), or_replace, if_not_exists, deferred)


def _create_index(reader: Reader, or_replace: bool) -> Statement | None:
    # Spark has the same words for other sources, so only our kinds make it ours.
    try:
        if_not_exists = reader.take("IF", "NOT", "EXISTS")
        name = reader.name("the index's name")
        reader.expect("ON")
        table = reader.table()
        reader.expect("USING")
        kind = reader.name("an index kind").upper()
    except StatementError:
        return None
    if kind not in INDEX_KINDS:
        if _is_meant(kind):
            reader.meant(EXAMPLES["CREATE INDEX"])
            raise reader.unknown(
                f"{kind} is no kind of index; there are {', '.join(sorted(INDEX_KINDS))}",
                kind,
                INDEX_KINDS,
            )
        return None
    return _index(reader, CreateIndex(name, table, kind, (), (), or_replace, if_not_exists))


def _is_meant(kind: str) -> bool:
    """Whether a kind is one of ours misspelt, or a part of one's name."""
    words = {word for one in INDEX_KINDS for word in one.split("_")}
    return kind in words or bool(closest(kind, [*INDEX_KINDS, *words]))


def _index(reader: Reader, created: CreateIndex) -> Statement:
    """The rest, once it's known to be ours."""
    reader.meant(EXAMPLES["CREATE INDEX"])
    if created.replace and created.if_not_exists:
        raise reader.error("either OR REPLACE or IF NOT EXISTS, not both")
    reader.expect("(")
    column = reader.path("a column's name")
    if reader.at(","):
        raise reader.error(") (an index has one column: create an index for each)")
    reader.expect(")")
    options = reader.options() if reader.take("WITH") else ()
    deferred = reader.take("DEFERRED")
    return reader.ended(replace(created, column=column, options=options, deferred=deferred))


def _build(reader: Reader) -> Statement:
    reader.meant(EXAMPLES["BUILD CUBE"])
    if reader.take("CUBE"):
        return reader.ended(BuildCube(reader.cube()))
    if reader.take("ALL"):
        reader.meant(EXAMPLES["BUILD ALL"])
        reader.expect("ON")
        return reader.ended(BuildAll(reader.table()))
    if reader.take("INDEX"):
        reader.meant(EXAMPLES["BUILD INDEX"])
        return reader.ended(BuildIndex(reader.name("the index's name")))
    if reader.take("STATISTICS"):
        reader.meant(EXAMPLES["BUILD STATISTICS"])
        reader.expect("ON")
        table = reader.table()
        columns = reader.columns() if reader.at("(") else ()
        return reader.ended(BuildStatistics(table, columns))
    raise reader.error("CUBE, INDEX, STATISTICS or ALL")


def _compact(reader: Reader) -> Statement | None:
    if not reader.take("CUBE"):
        return _service("COMPACT", reader)
    reader.meant(EXAMPLES["COMPACT CUBE"])
    return reader.ended(CompactCube(reader.cube()))


def _publish(reader: Reader) -> PublishCube:
    reader.meant(EXAMPLES["PUBLISH CUBE"])
    reader.expect("CUBE")
    name = reader.cube()
    table = reader.table() if reader.take("AS") else None
    return reader.ended(PublishCube(name, table))


def _drop(reader: Reader) -> Statement | None:
    if reader.take("CUBE"):
        reader.meant(EXAMPLES["DROP CUBE"])
        if_exists, name = reader.take("IF", "EXISTS"), reader.cube()
        return reader.ended(DropCube(name, if_exists, reader.take("FORCE")))
    if reader.take("INDEX"):
        if_exists = reader.take("IF", "EXISTS")
        with suppress(StatementError):  # with ON … it is Spark's
            return reader.ended(DropIndex(reader.name("the index's name"), if_exists))
    if reader.take("STATISTICS"):
        reader.meant(EXAMPLES["DROP STATISTICS"])
        reader.expect("ON")
        return reader.ended(DropStatistics(reader.table()))
    return None


def _show(reader: Reader) -> Statement | None:
    if reader.take("CUBES"):
        reader.meant(EXAMPLES["SHOW CUBES"])
        return ShowCubes(_shown_table(reader))
    if reader.take("COVERAGE"):
        reader.meant(EXAMPLES["SHOW COVERAGE"])
        return reader.ended(_show_coverage(reader))
    if reader.take("CONSTRAINTS"):
        reader.meant(EXAMPLES["SHOW CONSTRAINTS"])
        return ShowConstraints(_shown_table(reader))
    if reader.take("RECYCLE", "BIN"):
        reader.meant(EXAMPLES["SHOW RECYCLE BIN"])
        return ShowRecycleBin(_shown_table(reader))
    if reader.take("STATISTICS"):
        reader.meant(EXAMPLES["SHOW STATISTICS"])
        if not (reader.take("IN") or reader.take("FROM")):
            reader.expect("ON")
        return reader.ended(ShowStatistics(reader.table()))
    if reader.take("INDEXES"):
        reader.meant(EXAMPLES["SHOW INDEXES"])
        return ShowIndexes(_shown_table(reader))
    if reader.take("QUERIES"):
        reader.meant(EXAMPLES["SHOW QUERIES"])
        return _show_queries(reader)
    if reader.take("RECOMMENDATIONS"):
        reader.meant(EXAMPLES["SHOW RECOMMENDATIONS"])
        return ShowRecommendations(_shown_table(reader))
    if reader.take("ADVICE", "RESULTS"):
        reader.meant(EXAMPLES["SHOW ADVICE RESULTS"])
        return ShowAdviceResults(_shown_table(reader))
    if reader.take("RELATE", "COLUMNS"):
        reader.meant(EXAMPLES["SHOW RELATE COLUMNS"])
        return ShowRelateColumns(_shown_table(reader))
    return None


def _show_coverage(reader: Reader) -> ShowCoverage:
    if reader.take("OF", "CUBE"):
        return ShowCoverage("cube", reader.cube())
    if reader.take("OF"):
        if not reader.take("INDEX"):
            raise reader.error("CUBE or INDEX")
        return ShowCoverage("index", reader.name("the index's name"))
    if not (reader.take("IN") or reader.take("FROM") or reader.take("ON")):
        raise reader.error("OF CUBE, OF INDEX or ON")
    return ShowCoverage(table=reader.table())


def _show_queries(reader: Reader) -> ShowQueries:
    shown = ShowQueries()
    if reader.take("SINCE"):
        shown = replace(shown, hours=reader.number("a number of hours"))
        reader.expect("HOURS")
    if reader.take("LIMIT"):
        shown = replace(shown, limit=reader.whole("a number of rows"))
    reader.end("SINCE n HOURS, LIMIT n or the end, in this order")
    return shown


def _shown_table(reader: Reader) -> tuple[str, ...] | None:
    named = reader.take("ON") or reader.take("IN") or reader.take("FROM")
    return reader.ended(reader.table() if named else None)


def _explain(reader: Reader) -> Statement | None:
    if reader.take("ACCELERATE"):
        reader.meant(EXAMPLES["EXPLAIN ACCELERATE"])
        format = _format(reader)
        return ExplainAccelerate(_query(reader.query()), format)
    if reader.take("ANALYZE"):
        reader.meant(EXAMPLES["EXPLAIN ANALYZE"])
        format = _format(reader)
        if not any(map(reader.at, _ANALYZED)):  # Spark has EXPLAIN of ANALYZE TABLE
            return None
        return ExplainAnalyze(_query(reader.query()), format)
    if reader.take("WHY"):
        reader.meant(EXAMPLES["EXPLAIN WHY NOT"])
        reader.expect("NOT")
        return ExplainWhyNot(_query(reader.query()))
    created = _create(reader) if reader.take("CREATE") else None
    return EstimateCube(created) if isinstance(created, CreateCube) else None


def _format(reader: Reader) -> Literal["text", "json"]:
    if not reader.take("(", "FORMAT"):
        return "text"
    format: Literal["text", "json"] = "json" if reader.take("JSON") else "text"
    if format == "text":
        reader.expect("TEXT")
    reader.expect(")")
    return format


def _verify(reader: Reader) -> Verify:
    reader.meant(EXAMPLES["VERIFY"])
    return Verify(_query(reader.query()))


def _service(word: str, reader: Reader) -> NotBuilt | None:
    """A table service: ours where the table is (other systems have some of the same words)."""
    with suppress(StatementError):
        return NotBuilt(word, reader.table())
    return None


def _vacuum(reader: Reader) -> VacuumTable | None:
    """Other systems have more words for it, so what isn't ours to the end goes to Spark."""
    with suppress(StatementError):
        return _whole_vacuum(reader)
    return None


def _whole_vacuum(reader: Reader) -> VacuumTable:
    reader.meant(EXAMPLES["VACUUM"])
    table, full = reader.table(), reader.take("FULL")
    snapshots, hours = reader.take("SNAPSHOTS"), None
    if reader.take("RETAIN"):
        hours = reader.number("a number of hours")
        reader.expect("HOURS")
    dry = reader.take("DRY", "RUN")
    reader.end("FULL, SNAPSHOTS, RETAIN, DRY RUN or the end, in this order")
    return VacuumTable(table, full, hours, dry, snapshots)


def vacuum_fault(sql: str) -> StatementError | None:
    """What is wrong with a VACUUM that isn't ours to the end; None of another statement.

    No statement of Spark's begins so, unless somebody has extended it.
    """
    first = first_word(sql)
    if first.text != "VACUUM":
        return None
    try:
        _whole_vacuum(Reader(sql, first.end, "spark", EXAMPLES["VACUUM"]))
    except StatementError as error:
        return error
    except (TokenError, TooDeepError):
        return None
    return None


def _optimize(reader: Reader) -> Statement | None:
    """By an order it's ours; without, or with words of another system, it's a service like others.

    The parentheses may lack, as they may in that other system.
    """
    planned = _service("OPTIMIZE", reader)
    if planned is None or planned.table is None:
        return planned
    for order in _ORDERS:
        if reader.take(order.upper(), "BY"):
            reader.meant(EXAMPLES["OPTIMIZE"])
            keys = _order_keys(reader, directed=order == "sort")
            options = reader.options() if reader.take("WITH") else ()
            return reader.ended(OptimizeTable(planned.table, order, keys, options))
    if reader.is_near(*(order.upper() for order in _ORDERS)):
        reader.meant(EXAMPLES["OPTIMIZE"])
        raise reader.error("SORT BY, ZORDER BY or HILBERT BY")
    return planned


def _order_keys(reader: Reader, *, directed: bool) -> tuple[tuple[str, bool], ...]:
    enclosed = reader.take("(")
    keys = [_order_key(reader, directed)]
    while reader.take(","):
        keys.append(_order_key(reader, directed))
    if enclosed and not reader.take(")"):
        raise reader.error(", or )")
    return tuple(keys)


def _order_key(reader: Reader, directed: bool) -> tuple[str, bool]:
    name = reader.name("a column's name")
    if reader.at("."):
        raise reader.error(
            "a column's name of one part (fields inside a column can't be sorted by)"
        )
    descending = directed and reader.take("DESC")
    if directed and not descending:
        reader.take("ASC")
    return name, descending


def _analyze(reader: Reader) -> Analyze | None:
    """Of a table, or of the whole workload; what stands behind TABLE or TABLES is Spark's."""
    if reader.at("TABLE") or reader.at("TABLES"):
        return None
    reader.meant(EXAMPLES["ANALYZE"])
    table = None if reader.take("WORKLOAD") else reader.table()
    options = reader.options() if reader.take("WITH") else ()
    reader.end("WITH or the end")
    return Analyze(table, options)


def _apply(reader: Reader) -> ApplyRecommendations:
    reader.meant(EXAMPLES["APPLY RECOMMENDATIONS"])
    if reader.take("RECOMMENDATION"):
        return reader.ended(ApplyRecommendations(reader.name("a recommendation's id")))
    reader.expect("RECOMMENDATIONS")
    if not (reader.take("ON") or reader.take("IN")):
        reader.expect("FOR")
    return reader.ended(ApplyRecommendations(table=reader.table()))


def _undrop(reader: Reader) -> Statement | None:
    if reader.take("CUBE"):
        reader.meant(EXAMPLES["UNDROP CUBE"])
        name = reader.cube()
        return reader.ended(UndropCube(name, reader.cube() if reader.take("AS") else None))
    return _service("UNDROP TABLE", reader) if reader.take("TABLE") else None


_GRAMMARS: dict[str, Callable[[Reader], Statement | None]] = {
    "ALTER": alter,
    "ANALYZE": _analyze,
    "APPLY": _apply,
    "BUILD": _build,
    "CLUSTER": lambda reader: _service("CLUSTER", reader),
    "COMPACT": _compact,
    "CREATE": _create,
    "DROP": _drop,
    "EXPLAIN": _explain,
    "OPTIMIZE": _optimize,
    "PUBLISH": _publish,
    "PURGE": lambda reader: _service("PURGE", reader),
    "SHOW": _show,
    "UNDROP": _undrop,
    "VACUUM": _vacuum,
    "VERIFY": _verify,
}

BEGINNINGS = tuple(_GRAMMARS)
"""The words that our statements begin with."""
