"""The statements of our own, as values; what each does stands in `docs/reference/sql.md`.

Table names are kept in parts, as written: resolving them is the session's. Constraint statements
and `NotBuilt` with a `table` are ours only where that is an Iceberg table of the session; else
their text goes to Spark, which has some of the words too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from accelerator.query.statements.constraint import Constraint
from accelerator.query.statements.errors import NotBuiltError

if TYPE_CHECKING:
    from accelerator.store.journals.advice import Recommendation

TableName = tuple[str, ...]


class CreateCube(Struct, frozen=True):
    """CREATE CUBE; `select_sql` is as written. The cube's id is a new one, unless it's given."""

    name: str
    select_sql: str
    replace: bool = False
    if_not_exists: bool = False
    deferred: bool = False
    cube_id: str = ""


class EstimateCube(Struct, frozen=True):
    """EXPLAIN CREATE CUBE: what the cube would take; none is created."""

    cube: CreateCube


class CreateIndex(Struct, frozen=True):
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


class BuildIndex(Struct, frozen=True):
    """BUILD INDEX."""

    name: str


class DropIndex(Struct, frozen=True):
    """DROP INDEX."""

    name: str
    if_exists: bool = False


class SetCubeRefresh(Struct, frozen=True):
    """ALTER CUBE … SET REFRESH; `when` as the store's records have it, None: by the setting."""

    name: str
    when: str | None


class SetIndexRefresh(Struct, frozen=True):
    """ALTER INDEX … SET REFRESH; `when` as the store's records have it, None: by the setting."""

    name: str
    when: str | None


class ShowIndexes(Struct, frozen=True):
    """SHOW INDEXES, of all tables or of one."""

    table: TableName | None = None


class ShowCoverage(Struct, frozen=True):
    """SHOW COVERAGE of the cube or index `of` that has the name, or of all of a table's."""

    of: Literal["cube", "index"] | None = None
    name: str = ""
    table: TableName | None = None


class BuildCube(Struct, frozen=True):
    """BUILD CUBE."""

    name: str


class BuildAll(Struct, frozen=True):
    """BUILD ALL ON: every cube whose fact table this is, and every index of it."""

    table: TableName


class BuildStatistics(Struct, frozen=True):
    """BUILD STATISTICS ON: of these columns, or of all that can be; names as written."""

    table: TableName
    columns: tuple[str, ...] = ()


class DropStatistics(Struct, frozen=True):
    """DROP STATISTICS ON: every file of statistics of the table, whoever made it."""

    table: TableName


class CompactCube(Struct, frozen=True):
    """COMPACT CUBE."""

    name: str


class PublishCube(Struct, frozen=True):
    """PUBLISH CUBE; `table` None leaves the choice of a name to the session."""

    name: str
    table: TableName | None = None


class DropCube(Struct, frozen=True):
    """DROP CUBE; `force` leaves nothing in the recycle bin."""

    name: str
    if_exists: bool = False
    force: bool = False


class UndropCube(Struct, frozen=True):
    """UNDROP CUBE; `new_name` None is the name that it had."""

    name: str
    new_name: str | None = None


class ShowRecycleBin(Struct, frozen=True):
    """SHOW RECYCLE BIN, of all tables or of one."""

    table: TableName | None = None


class ShowCubes(Struct, frozen=True):
    """SHOW CUBES, of all tables or of one."""

    table: TableName | None = None


class ShowStatistics(Struct, frozen=True):
    """SHOW STATISTICS ON: what metadata says of a table and its columns."""

    table: TableName


class ShowQueries(Struct, frozen=True):
    """SHOW QUERIES: the newest statements of the query log; `hours` None: however old."""

    hours: float | None = None
    limit: int = 100


class Analyze(Struct, frozen=True):
    """ANALYZE: what the query log advises for a table; None: for all of them.

    `options` as written, numbers as numbers.
    """

    table: TableName | None
    options: tuple[tuple[str, str | float | bool], ...] = ()


class ShowRecommendations(Struct, frozen=True):
    """SHOW RECOMMENDATIONS, of all tables or of one."""

    table: TableName | None = None


class ShowAdviceResults(Struct, frozen=True):
    """SHOW ADVICE RESULTS, of all tables or of one."""

    table: TableName | None = None


class ApplyRecommendations(Struct, frozen=True):
    """APPLY RECOMMENDATION of that id, or all that are open for a table.

    `chosen` fixes what it does, so that what is done is what rights were checked for.
    """

    id: str | None = None
    table: TableName | None = None
    chosen: tuple[Recommendation, ...] | None = None


class ShowConstraints(Struct, frozen=True):
    """SHOW CONSTRAINTS, of all tables or of one."""

    table: TableName | None = None


class AddConstraint(Struct, frozen=True):
    """ADD CONSTRAINT; `enforced` without NOT ENFORCED, which `constraints.add` refuses."""

    table: TableName
    constraint: Constraint
    enforced: bool = False


class DropConstraint(Struct, frozen=True):
    """DROP CONSTRAINT."""

    table: TableName
    name: str
    if_exists: bool = False


class ValidateConstraint(Struct, frozen=True):
    """VALIDATE CONSTRAINT."""

    table: TableName
    name: str


class AddRelateColumn(Struct, frozen=True):
    """ADD RELATE COLUMN; `source` is the attribute behind its table's name, as written.

    `equalities` are those of ON; `name` is the attribute's own where it's empty. Where `expression`
    isn't empty it's the text of what stands in the attribute's place: `source` is empty then.
    """

    table: TableName
    source: TableName
    equalities: tuple[tuple[TableName, TableName], ...]
    name: str = ""
    expression: str = ""


class DropRelateColumn(Struct, frozen=True):
    """DROP RELATE COLUMN."""

    table: TableName
    name: str
    if_exists: bool = False


class ShowRelateColumns(Struct, frozen=True):
    """SHOW RELATE COLUMNS, of all tables or of one."""

    table: TableName | None = None


class VacuumTable(Struct, frozen=True):
    """VACUUM of what the store has of a table; `hours` None is the session's setting.

    With `snapshots` the table's own old snapshots go first.
    """

    table: TableName
    full: bool = False
    hours: float | None = None
    dry_run: bool = False
    snapshots: bool = False


class OptimizeTable(Struct, frozen=True):
    """OPTIMIZE … BY: `keys` are names of columns, and whether each is descending.

    `options` as written, numbers as numbers.
    """

    table: TableName
    order: Literal["sort", "zorder", "hilbert"]
    keys: tuple[tuple[str, bool], ...]
    options: tuple[tuple[str, str | float | bool], ...] = ()


class ExplainAccelerate(Struct, frozen=True):
    """EXPLAIN ACCELERATE of a query."""

    query: Query
    format: Literal["text", "json"] = "text"


class ExplainAnalyze(Struct, frozen=True):
    """EXPLAIN ANALYZE of a query, which runs it."""

    query: Query
    format: Literal["text", "json"] = "text"


class ExplainWhyNot(Struct, frozen=True):
    """EXPLAIN WHY NOT of a query."""

    query: Query


class Verify(Struct, frozen=True):
    """VERIFY: the query is run both ways and compared."""

    query: Query


class NotBuilt(Struct, frozen=True):
    """A statement that is planned; `table` None where its words alone make it ours."""

    what: str
    table: TableName | None = None

    def error(self) -> NotBuiltError:
        """What executing it raises."""
        return NotBuiltError(
            f"{self.what} isn't built yet",
            hint="docs/reference/sql.md lists the statements of this release",
        )


class Query(Struct, frozen=True):
    """What begins as a query does; `bare` is `sql` without the hint PLAIN, which sets `plain`.

    One that is `translated` was written in another dialect. Where a client's names were completed,
    `tables` are those that it names, in full, and `names` what its outputs are called: None for one
    that has no name, or instead of all where they aren't known.
    """

    sql: str
    bare: str
    plain: bool = False
    translated: bool = False
    tables: tuple[TableName, ...] = ()
    names: tuple[str | None, ...] | None = None
    timed: bool = False


class Other(Struct, frozen=True):
    """Anything else; it goes to Spark untouched."""

    sql: str


Statement = (
    CreateCube
    | EstimateCube
    | CreateIndex
    | BuildIndex
    | DropIndex
    | SetCubeRefresh
    | SetIndexRefresh
    | ShowIndexes
    | ShowCoverage
    | BuildCube
    | BuildAll
    | BuildStatistics
    | DropStatistics
    | CompactCube
    | PublishCube
    | DropCube
    | UndropCube
    | ShowRecycleBin
    | ShowCubes
    | ShowStatistics
    | ShowQueries
    | Analyze
    | ShowRecommendations
    | ShowAdviceResults
    | ApplyRecommendations
    | ShowConstraints
    | AddConstraint
    | DropConstraint
    | ValidateConstraint
    | AddRelateColumn
    | DropRelateColumn
    | ShowRelateColumns
    | VacuumTable
    | OptimizeTable
    | ExplainAccelerate
    | ExplainAnalyze
    | ExplainWhyNot
    | Verify
    | NotBuilt
    | Query
    | Other
)
