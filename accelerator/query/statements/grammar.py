"""The grammar of each statement of ours: functions that read the words behind those it begins with.

`parse.py` finds the statement's row of `catalog.py` first. None: the statement isn't ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

from msgspec.structs import replace

from accelerator.common.config import refresh_schedule
from accelerator.errors import StatementError
from accelerator.query.statements.constraint import Constraint, Kind
from accelerator.query.statements.cursor import Reader
from accelerator.query.statements.nodes import (
    AddConstraint,
    AddRelateColumn,
    Analyze,
    ApplyRecommendations,
    BuildStatistics,
    CreateCube,
    CreateIndex,
    DropConstraint,
    DropCube,
    DropIndex,
    DropRelateColumn,
    EstimateCube,
    ExplainAccelerate,
    ExplainAnalyze,
    ExplainWhyNot,
    NotBuilt,
    OfCube,
    OfIndex,
    OfTable,
    OfTables,
    OptimizeTable,
    PublishCube,
    Query,
    SetCubeRefresh,
    SetIndexRefresh,
    ShowCoverage,
    ShowQueries,
    Statement,
    UndropCube,
    VacuumTable,
    ValidateConstraint,
    Verify,
)
from rewrite.text.first_look import without_plain_hint
from rewrite.text.suggestions import closest

Parser = Callable[..., Statement | None]

INDEX_KINDS = frozenset(
    (
        *("BITMAP", "BLOOM", "BOUNDS", "RANGE"),
        *("TOKEN_BLOOM", "TOKEN_BITMAP", "NGRAM_BLOOM", "NGRAM_BITMAP"),
    )
)

_ORDERS: tuple[Literal["sort", "zorder", "hilbert"], ...] = ("sort", "zorder", "hilbert")
_ANALYZED = ("(", "FROM", "SELECT", "VALUES", "WITH")


def query(sql: str) -> Query:
    """The query that the text is; its hint PLAIN is looked for."""
    if "/*+" in sql:
        bare = without_plain_hint(sql)
        if bare is not None:
            return Query(sql, bare, plain=True)
    return Query(sql, sql)


def lenient(parser: Parser) -> Parser:
    """The same grammar, but what isn't ours to the end goes to Spark: others have the words too."""

    def parsed(reader: Reader) -> Statement | None:
        with suppress(StatementError):
            return reader.ended(parser(reader))
        return None

    return parsed


def a_cube(kind: Callable[[str], OfCube]) -> Parser:
    """The name of a cube."""
    return lambda reader: kind(reader.cube())


def an_index(kind: Callable[[str], OfIndex]) -> Parser:
    """The name of an index."""
    return lambda reader: kind(_index_name(reader))


def on_table(kind: Callable[[tuple[str, ...]], OfTable], *others: str) -> Parser:
    """ON, or one of the other words, and a table."""

    def parsed(reader: Reader) -> Statement:
        if not any(map(reader.take, others)):
            reader.expect("ON")
        return kind(reader.table())

    return parsed


def of_tables(kind: Callable[[tuple[str, ...] | None], OfTables]) -> Parser:
    """ON, IN or FROM and a table, or nothing."""
    return lambda reader: kind(reader.table() if _is_table_next(reader) else None)


OF_KINDS: Mapping[type, Callable[[Any], Parser]] = {
    OfCube: a_cube,
    OfIndex: an_index,
    OfTable: on_table,
    OfTables: of_tables,
}
"""The grammar of statements of a kind that have no other part."""


def _is_table_next(reader: Reader) -> bool:
    return reader.take("ON") or reader.take("IN") or reader.take("FROM")


def _index_name(reader: Reader) -> str:
    return reader.name("the index's name")


def create_cube(reader: Reader, or_replace: bool) -> CreateCube:
    """CREATE CUBE."""
    if or_replace and reader.at("IF"):
        raise reader.error("the cube's name (OR REPLACE and IF NOT EXISTS exclude each other)")
    if_not_exists = reader.take("IF", "NOT", "EXISTS")
    name = reader.cube()
    deferred = reader.take("DEFERRED")
    reader.expect("AS")
    return CreateCube(name, reader.query(), or_replace, if_not_exists, deferred)


def explain_create_cube(reader: Reader, or_replace: bool) -> EstimateCube:
    """EXPLAIN CREATE CUBE."""
    return EstimateCube(create_cube(reader, or_replace))


def create_index(reader: Reader, or_replace: bool) -> Statement | None:
    """CREATE INDEX of one of our kinds."""
    # Spark has the same words for other sources, so only our kinds make it ours.
    try:
        if_not_exists = reader.take("IF", "NOT", "EXISTS")
        name = _index_name(reader)
        reader.expect("ON")
        table = reader.table()
        reader.expect("USING")
        kind = reader.name("an index kind").upper()
    except StatementError:
        return None
    if kind not in INDEX_KINDS:
        if _is_meant(kind):
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
    if created.replace and created.if_not_exists:
        raise reader.error("either OR REPLACE or IF NOT EXISTS, not both")
    reader.expect("(")
    column = reader.path("a column's name")
    if reader.at(","):
        raise reader.error(") (an index has one column: create an index for each)")
    reader.expect(")")
    options = reader.options() if reader.take("WITH") else ()
    deferred = reader.take("DEFERRED")
    return replace(created, column=column, options=options, deferred=deferred)


def build_statistics(reader: Reader) -> BuildStatistics:
    """BUILD STATISTICS."""
    reader.expect("ON")
    table = reader.table()
    return BuildStatistics(table, reader.columns() if reader.at("(") else ())


def publish_cube(reader: Reader) -> PublishCube:
    """PUBLISH, of a cube."""
    reader.expect("CUBE")
    return PublishCube(reader.cube(), reader.table() if reader.take("AS") else None)


def drop_cube(reader: Reader) -> DropCube:
    """DROP CUBE."""
    if_exists, name = reader.take("IF", "EXISTS"), reader.cube()
    return DropCube(name, if_exists, reader.take("FORCE"))


def drop_index(reader: Reader) -> DropIndex:
    """DROP INDEX; with ON … it is Spark's."""
    if_exists = reader.take("IF", "EXISTS")
    return DropIndex(_index_name(reader), if_exists)


def undrop_cube(reader: Reader) -> UndropCube:
    """UNDROP CUBE."""
    return UndropCube(reader.cube(), reader.cube() if reader.take("AS") else None)


def show_coverage(reader: Reader) -> ShowCoverage:
    """SHOW COVERAGE."""
    if reader.take("OF", "CUBE"):
        return ShowCoverage("cube", reader.cube())
    if reader.take("OF"):
        if not reader.take("INDEX"):
            raise reader.error("CUBE or INDEX")
        return ShowCoverage("index", _index_name(reader))
    if not _is_table_next(reader):
        raise reader.error("OF CUBE, OF INDEX or ON")
    return ShowCoverage(table=reader.table())


def show_queries(reader: Reader) -> ShowQueries:
    """SHOW QUERIES."""
    shown = ShowQueries()
    if reader.take("SINCE"):
        shown = replace(shown, hours=reader.number("a number of hours"))
        reader.expect("HOURS")
    if reader.take("LIMIT"):
        shown = replace(shown, limit=reader.whole("a number of rows"))
    reader.end("SINCE n HOURS, LIMIT n or the end, in this order")
    return shown


def explain_accelerate(reader: Reader) -> ExplainAccelerate:
    """EXPLAIN ACCELERATE."""
    format = _format(reader)
    return ExplainAccelerate(query(reader.query()), format)


def explain_analyze(reader: Reader) -> ExplainAnalyze | None:
    """EXPLAIN ANALYZE; Spark has EXPLAIN of ANALYZE TABLE."""
    format = _format(reader)
    is_ours = any(map(reader.at, _ANALYZED))
    return ExplainAnalyze(query(reader.query()), format) if is_ours else None


def explain_why_not(reader: Reader) -> ExplainWhyNot:
    """EXPLAIN WHY, and NOT."""
    reader.expect("NOT")
    return ExplainWhyNot(query(reader.query()))


def _format(reader: Reader) -> Literal["text", "json"]:
    if not reader.take("(", "FORMAT"):
        return "text"
    format: Literal["text", "json"] = "json" if reader.take("JSON") else "text"
    if format == "text":
        reader.expect("TEXT")
    reader.expect(")")
    return format


def verify(reader: Reader) -> Verify:
    """VERIFY."""
    return Verify(query(reader.query()))


def service(words: str, reader: Reader) -> NotBuilt | None:
    """A table service: ours where the table is (other systems have some of the same words)."""
    with suppress(StatementError):
        return NotBuilt(words, reader.table())
    return None


def vacuum(reader: Reader) -> VacuumTable:
    """VACUUM."""
    table, full = reader.table(), reader.take("FULL")
    snapshots, hours = reader.take("SNAPSHOTS"), None
    if reader.take("RETAIN"):
        hours = reader.number("a number of hours")
        reader.expect("HOURS")
    dry = reader.take("DRY", "RUN")
    reader.end("FULL, SNAPSHOTS, RETAIN, DRY RUN or the end, in this order")
    return VacuumTable(table, full, hours, dry, snapshots)


def optimize(reader: Reader) -> Statement | None:
    """By an order it's ours; without, or with words of another system, it's a service like others.

    The parentheses may lack, as they may in that other system.
    """
    planned = service("OPTIMIZE", reader)
    if planned is None or planned.table is None:
        return planned
    for order in _ORDERS:
        if reader.take(order.upper(), "BY"):
            keys = _order_keys(reader, directed=order == "sort")
            options = reader.options() if reader.take("WITH") else ()
            return OptimizeTable(planned.table, order, keys, options)
    if reader.is_near(*(order.upper() for order in _ORDERS)):
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


def analyze(reader: Reader) -> Analyze | None:
    """Of a table, or of the whole workload; what stands behind TABLE or TABLES is Spark's."""
    if reader.at("TABLE") or reader.at("TABLES"):
        return None
    table = None if reader.take("WORKLOAD") else reader.table()
    options = reader.options() if reader.take("WITH") else ()
    reader.end("WITH or the end")
    return Analyze(table, options)


def apply_recommendations(reader: Reader) -> ApplyRecommendations:
    """APPLY, of one recommendation or of all for a table."""
    if reader.take("RECOMMENDATION"):
        return ApplyRecommendations(reader.name("a recommendation's id"))
    reader.expect("RECOMMENDATIONS")
    if not (reader.take("ON") or reader.take("IN")):
        reader.expect("FOR")
    return ApplyRecommendations(table=reader.table())


def alter_cube(reader: Reader) -> SetCubeRefresh:
    """ALTER CUBE."""
    return SetCubeRefresh(reader.cube(), _refresh(reader))


def alter_index(reader: Reader) -> SetIndexRefresh:
    """ALTER INDEX."""
    return SetIndexRefresh(_index_name(reader), _refresh(reader))


# Those of ALTER TABLE get the table that was read. Spark 4.1 has the same words for constraints.


def validate_constraint(reader: Reader, table: tuple[str, ...]) -> ValidateConstraint:
    """VALIDATE, of a constraint."""
    reader.expect("CONSTRAINT")
    return ValidateConstraint(table, reader.name("the constraint's name"))


def drop_relate_column(reader: Reader, table: tuple[str, ...]) -> DropRelateColumn:
    """DROP RELATE COLUMN."""
    if_exists = reader.take("IF", "EXISTS")
    return DropRelateColumn(table, reader.name("the relate column's name"), if_exists)


def _refresh(reader: Reader) -> str | None:
    """SET REFRESH = …; as the store's records have it, None for the default."""
    reader.expect("SET", "REFRESH", "=")
    if reader.take("ON"):
        reader.expect("COMMIT")
        return refresh_schedule.ON_COMMIT.text
    if reader.take("MANUAL"):
        return refresh_schedule.MANUAL.text
    if reader.take("DEFAULT"):
        return None
    if not reader.take("EVERY"):
        raise reader.error("ON COMMIT, EVERY and an interval in quotes, MANUAL or DEFAULT")
    text = reader.quoted("an interval in quotes, '10 minutes'")
    try:
        found = refresh_schedule.every(text)
    except StatementError as error:
        raise reader.wrong(error) from error
    return found.text


def add_relate_column(reader: Reader, table: tuple[str, ...]) -> AddRelateColumn:
    """ADD RELATE COLUMN."""
    name = "" if reader.at("FROM") else reader.name("the relate column's name, or FROM")
    reader.expect("FROM")
    if not reader.at_path_before("ON"):
        return _add_expression(reader, table, name)
    source = reader.path("the attribute, behind its table's name and a dot")
    if len(source) < 2:
        raise reader.error("a dot and the attribute's name")
    if name and source[-1].lower() != name.lower():
        raise reader.error(f"ON, behind an attribute that is called {name} (AS name renames it)")
    equalities = _equalities(reader)
    own = reader.name("the relate column's name") if reader.take("AS") else ""
    return AddRelateColumn(table, source, equalities, own)


def _add_expression(reader: Reader, table: tuple[str, ...], name: str) -> AddRelateColumn:
    """What stands behind FROM is more than an attribute's name: it needs a name, in one place."""
    text = reader.text_before("ON")
    equalities = _equalities(reader)
    if not name:
        reader.expect("AS")
        name = reader.name("the relate column's name")
    return AddRelateColumn(table, (), equalities, name, text)


def _equalities(reader: Reader) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    reader.expect("ON")
    found = [_equality(reader)]
    while reader.take("AND"):
        found.append(_equality(reader))
    return tuple(found)


def _equality(reader: Reader) -> tuple[tuple[str, ...], tuple[str, ...]]:
    left = reader.path("a column's name")
    reader.expect("=")
    return left, reader.path("a column's name")


def add_constraint(reader: Reader, table: tuple[str, ...]) -> AddConstraint | None:
    """ADD CONSTRAINT; CHECK is Spark's."""
    if reader.at("CHECK"):
        return None
    name = reader.name("the constraint's name")
    kind = _constraint_kind(reader)
    if kind is None:
        return None  # CHECK (…) is Spark's
    columns = reader.columns()
    references: tuple[str, ...] | None = None
    there: tuple[str, ...] = ()
    if kind == "foreign_key":
        reader.expect("REFERENCES")
        references = reader.table()
        there = reader.columns() if reader.at("(") else ()
    enforced, rely = _characteristics(reader)
    constraint = Constraint(name, kind, columns, references, there, rely)
    return AddConstraint(table, constraint, enforced)


def _constraint_kind(reader: Reader) -> Kind | None:
    if reader.take("PRIMARY", "KEY"):
        return "primary_key"
    if reader.take("FOREIGN", "KEY"):
        return "foreign_key"
    return "unique" if reader.take("UNIQUE") else None


def _characteristics(reader: Reader) -> tuple[bool, bool]:
    """(enforced, rely) from what stands behind the columns, in any order."""
    enforced, rely = True, False
    while True:
        if reader.take("NOT", "ENFORCED"):
            enforced = False
        elif reader.take("ENFORCED"):
            enforced = True
        elif reader.take("RELY") or reader.at("NORELY"):
            rely = not reader.take("NORELY")
        else:
            return enforced, rely


def drop_constraint(reader: Reader, table: tuple[str, ...]) -> DropConstraint:
    """DROP CONSTRAINT."""
    if_exists = reader.take("IF", "EXISTS")
    name = reader.name("the constraint's name")
    # Spark's words; nothing depends on a hint, so both mean the same.
    _ = reader.take("RESTRICT") or reader.take("CASCADE")
    return DropConstraint(table, name, if_exists)
