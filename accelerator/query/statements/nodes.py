"""The statements of our own, as values; what each does stands in `docs/reference/sql.md`.

Table names are kept in parts, as written: resolving them is the session's. Constraint statements
and `NotBuilt` with a `table` are ours only where that is an Iceberg table of the session; else
their text goes to Spark, which has some of the words too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from accelerator.query.statements.constraint import Constraint
from accelerator.query.statements.errors import NotBuiltError

if TYPE_CHECKING:
    from accelerator.store.journals.advice import Recommendation

TableName = tuple[str, ...]


class ParsedStatement:
    """A statement's text as a value."""

    __slots__ = ()


Statement = ParsedStatement


class OfCube(Struct, ParsedStatement, frozen=True):
    """A statement about a registered cube."""

    name: str


class OfIndex(Struct, ParsedStatement, frozen=True):
    """A statement about a registered index."""

    name: str


class OfTable(Struct, ParsedStatement, frozen=True):
    """A statement about one table."""

    table: TableName


class OfTables(Struct, ParsedStatement, frozen=True):
    """A statement about one table, or about all of them."""

    table: TableName | None = None


class OfQuery(Struct, ParsedStatement, frozen=True):
    """A statement that reports the plan of a query."""

    query: Query


class CreateCube(Struct, ParsedStatement, frozen=True):
    """CREATE CUBE; `select_sql` is as written. The cube's id is a new one, unless it's given."""

    name: str
    select_sql: str
    replace: bool = False
    if_not_exists: bool = False
    deferred: bool = False
    cube_id: str = ""


class EstimateCube(Struct, ParsedStatement, frozen=True):
    """EXPLAIN CREATE CUBE: what the cube would take; none is created."""

    cube: CreateCube


class CreateIndex(Struct, ParsedStatement, frozen=True):
    """CREATE INDEX; `options` as written, numbers as numbers. Its id is a new one, if not given."""

    name: str
    table: TableName
    kind: str
    column: tuple[str, ...]
    options: tuple[tuple[str, str | float | bool], ...] = ()
    replace: bool = False
    if_not_exists: bool = False
    deferred: bool = False
    index_id: str = ""


class BuildIndex(OfIndex, frozen=True):
    """BUILD INDEX."""


class DropIndex(OfIndex, frozen=True):
    """DROP INDEX."""

    if_exists: bool = False


class SetCubeRefresh(OfCube, frozen=True):
    """ALTER CUBE … SET REFRESH; `when` as the store's records have it, None: by the setting."""

    when: str | None


class SetIndexRefresh(OfIndex, frozen=True):
    """ALTER INDEX … SET REFRESH; `when` as the store's records have it, None: by the setting."""

    when: str | None


class ShowIndexes(OfTables, frozen=True):
    """SHOW INDEXES, of all tables or of one."""


class ShowCoverage(Struct, ParsedStatement, frozen=True):
    """SHOW COVERAGE of the cube or index `of` that has the name, or of all of a table's."""

    of: Literal["cube", "index"] | None = None
    name: str = ""
    table: TableName | None = None


class BuildCube(OfCube, frozen=True):
    """BUILD CUBE."""


class BuildAll(OfTable, frozen=True):
    """BUILD ALL ON: every cube whose fact table this is, and every index of it."""


class BuildStatistics(OfTable, frozen=True):
    """BUILD STATISTICS ON: of these columns, or of all that can be; names as written."""

    columns: tuple[str, ...] = ()


class DropStatistics(OfTable, frozen=True):
    """DROP STATISTICS ON: every file of statistics of the table, whoever made it."""


class CompactCube(OfCube, frozen=True):
    """COMPACT CUBE."""


class PublishCube(OfCube, frozen=True):
    """PUBLISH CUBE; `target` None leaves the choice of a name to the session."""

    target: TableName | None = None


class DropCube(OfCube, frozen=True):
    """DROP CUBE; `force` leaves nothing in the recycle bin."""

    if_exists: bool = False
    force: bool = False


class UndropCube(Struct, ParsedStatement, frozen=True):
    """UNDROP CUBE; `new_name` None is the name that it had."""

    name: str
    new_name: str | None = None


class ShowRecycleBin(OfTables, frozen=True):
    """SHOW RECYCLE BIN, of all tables or of one."""


class ShowCubes(OfTables, frozen=True):
    """SHOW CUBES, of all tables or of one."""


class ShowStatistics(OfTable, frozen=True):
    """SHOW STATISTICS ON: what metadata says of a table and its columns."""


class ShowQueries(Struct, ParsedStatement, frozen=True):
    """SHOW QUERIES: the newest statements of the query log; `hours` None: however old."""

    hours: float | None = None
    limit: int = 100


class Analyze(Struct, ParsedStatement, frozen=True):
    """ANALYZE: what the query log advises for a table; None: for all of them.

    `options` as written, numbers as numbers.
    """

    table: TableName | None
    options: tuple[tuple[str, str | float | bool], ...] = ()


class ShowRecommendations(OfTables, frozen=True):
    """SHOW RECOMMENDATIONS, of all tables or of one."""


class ShowAdviceResults(OfTables, frozen=True):
    """SHOW ADVICE RESULTS, of all tables or of one."""


class ApplyRecommendations(Struct, ParsedStatement, frozen=True):
    """APPLY RECOMMENDATION of that id, or all that are open for a table.

    `chosen` fixes what it does, so that what is done is what rights were checked for.
    """

    id: str | None = None
    table: TableName | None = None
    chosen: tuple[Recommendation, ...] | None = None


class ShowConstraints(OfTables, frozen=True):
    """SHOW CONSTRAINTS, of all tables or of one."""


class AddConstraint(OfTable, frozen=True):
    """ADD CONSTRAINT; `enforced` without NOT ENFORCED, which `constraints.add` refuses."""

    constraint: Constraint
    enforced: bool = False


class DropConstraint(OfTable, frozen=True):
    """DROP CONSTRAINT."""

    name: str
    if_exists: bool = False


class ValidateConstraint(OfTable, frozen=True):
    """VALIDATE CONSTRAINT."""

    name: str


class AddRelateColumn(OfTable, frozen=True):
    """ADD RELATE COLUMN; `source` is the attribute behind its table's name, as written.

    `equalities` are those of ON; `name` is the attribute's own where it's empty. Where `expression`
    isn't empty it's the text of what stands in the attribute's place: `source` is empty then.
    """

    source: TableName
    equalities: tuple[tuple[TableName, TableName], ...]
    name: str = ""
    expression: str = ""


class DropRelateColumn(OfTable, frozen=True):
    """DROP RELATE COLUMN."""

    name: str
    if_exists: bool = False


class ShowRelateColumns(OfTables, frozen=True):
    """SHOW RELATE COLUMNS, of all tables or of one."""


class VacuumTable(OfTable, frozen=True):
    """VACUUM of what the store has of a table; `hours` None is the session's setting.

    With `snapshots` the table's own old snapshots go first.
    """

    full: bool = False
    hours: float | None = None
    dry_run: bool = False
    snapshots: bool = False


class OptimizeTable(OfTable, frozen=True):
    """OPTIMIZE … BY: `keys` are names of columns, and whether each is descending.

    `options` as written, numbers as numbers.
    """

    order: Literal["sort", "zorder", "hilbert"]
    keys: tuple[tuple[str, bool], ...]
    options: tuple[tuple[str, str | float | bool], ...] = ()


class ExplainAccelerate(OfQuery, frozen=True):
    """EXPLAIN ACCELERATE of a query."""

    format: Literal["text", "json"] = "text"


class ExplainAnalyze(OfQuery, frozen=True):
    """EXPLAIN ANALYZE of a query, which runs it."""

    format: Literal["text", "json"] = "text"


class ExplainWhyNot(OfQuery, frozen=True):
    """EXPLAIN WHY NOT of a query."""


class Verify(OfQuery, frozen=True):
    """VERIFY: the query is run both ways and compared."""


class NotBuilt(Struct, ParsedStatement, frozen=True):
    """A statement that is planned; `table` None where its words alone make it ours."""

    what: str
    table: TableName | None = None

    def error(self) -> NotBuiltError:
        """What executing it raises."""
        return NotBuiltError(
            f"{self.what} isn't built yet",
            hint="docs/reference/sql.md lists the statements of this release",
        )


class Query(Struct, ParsedStatement, frozen=True):
    """What begins as a query does; `bare` is `sql` without the hint PLAIN, which sets `plain`.

    One that is `translated` was written in another dialect. Where a client's names were completed,
    `tables` are those that it names, in full, and `names` what its outputs are called: None for one
    that has no name, or instead of all where they aren't known. One that asks for the time has this
    moment in `bare` as a constant, and is Spark's as it is `untimed`.
    """

    sql: str
    bare: str
    plain: bool = False
    translated: bool = False
    tables: tuple[TableName, ...] = ()
    names: tuple[str | None, ...] | None = None
    timed: bool = False
    untimed: str | None = None

    def as_plain(self) -> Query:
        """The query as plain Spark gets it."""
        return self if self.untimed is None else replace(self, bare=self.untimed, untimed=None)


class Other(Struct, ParsedStatement, frozen=True):
    """Anything else; it goes to Spark untouched."""

    sql: str
