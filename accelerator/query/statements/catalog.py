"""Our statements as a table: a row has all that the doors need to know of a statement.

`docs/reference/sql.md` describes what each does. Tools may rely on the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from accelerator.common.records.as_dict import as_dict
from accelerator.query.statements import grammar, nodes
from accelerator.query.statements.grammar import Parser
from accelerator.query.statements.nodes import Statement, TableName

if TYPE_CHECKING:
    import pyarrow as pa


_CUBES_BUILT = (
    "cube string, files bigint, segments bigint, rows bigint, bytes bigint, derived bigint"
)
_ADVISED = (
    "id string, action string, table string, cube string, name string, status string,"
    " gain_ms_per_day double, gain_share double, bytes bigint, build_s double, statements bigint,"
    " reason string, ddl string, samples array<string>, made time"
)
_INDEXES_BUILT = "index string, files bigint, rows bigint, bytes bigint, files_skipped bigint"

_FOLLOWED = " refresh string, lag_s double, last_run time, last_error string, progress string"


class ApiList(Struct, frozen=True):
    """A list under the API's path of a table: a statement's rows, with the document's texts.

    Parts of it are by the column `key`, else by place. With `of_artifacts` clients may ask for the
    rows of one cube or index.
    """

    name: str
    summary: str
    items: str
    item: str
    item_doc: str
    key: str = ""
    of_artifacts: bool = False


class Form(Struct, frozen=True, dict=True):
    """One statement; `words` are its heading in the reference, `example` is in hints of errors.

    `parse` reads what follows the words `begin`, by default `words`: behind CREATE it gets whether
    OR REPLACE was there, behind ALTER TABLE the table. `run` is the function that runs it, as
    `module:name` under `accelerator`; the session itself runs some. `rights` names the method of
    `gateway/access/check.py` that asks for what it needs, and `lists` that of
    `gateway/access/filter_listings.py` for what a row is about. `api`: the API has its answer, too.
    `shared`: Spark has statements of these words.

    Without them the functions are those of its words: `create_cube` for CREATE CUBE, of `grammar`
    or else the grammar of its kind, and of `session/commands.py`.
    """

    words: str
    kind: type[Statement]
    columns: str
    example: str = ""
    parse: Parser | None = None
    run: str = ""
    rights: str = ""
    begin: str = ""
    lists: str = ""
    api: ApiList | None = None
    shared: bool = False

    @property
    def name(self) -> str:
        """The name of its functions."""
        return self.words.lower().replace(" ", "_")

    @property
    def parser(self) -> Parser:
        """The function that reads it."""
        named: Parser | None = self.parse or getattr(grammar, self.name, None)
        return named or grammar.OF_KINDS[self.kind.__bases__[0]](self.kind)

    @property
    def handler(self) -> Callable[..., Any]:
        """The function of a statement and services that runs it; its module is imported here."""
        module, _, name = (self.run or f"session.commands:{self.name}").partition(":")
        found: Callable[..., Any] = getattr(import_module(f"accelerator.{module}"), name)
        return found

    @cached_property
    def schema(self) -> pa.Schema:
        """Of its answer."""
        import pyarrow as pa  # slower than all that a statement in error needs

        types = {
            "array<bigint>": pa.list_(pa.int64()),
            "array<string>": pa.list_(pa.string()),
            "bigint": pa.int64(),
            "boolean": pa.bool_(),
            "double": pa.float64(),
            "string": pa.string(),
            "time": pa.timestamp("ms", tz="UTC"),
        }
        pairs = (one.split(" ") for one in self.columns.split(", "))
        return pa.schema([(name, types[type_]) for name, type_ in pairs])

    def table(self, answer: Any) -> pa.Table:
        """The answer as a table, of rows, of one row or as it is; rows may have other fields."""
        import pyarrow as pa

        if isinstance(answer, pa.Table):
            return answer
        rows: Any = [answer] if isinstance(answer, (Mapping, Struct)) else answer
        found = [one if isinstance(one, Mapping) else as_dict(one) for one in rows]
        return pa.Table.from_pylist(found, schema=self.schema)


_FORMS = (
    Form(
        "CREATE CUBE",
        nodes.CreateCube,
        _CUBES_BUILT,
        "CREATE CUBE sales AS SELECT region, sum(price) FROM orders GROUP BY region",
        run="services.ddl.cubes.create:create",
    ),
    Form(
        "EXPLAIN CREATE CUBE",
        nodes.EstimateCube,
        "rows bigint, bytes bigint, minutes double, files bigint, fact_rows bigint,"
        " merged_rows_max bigint, distinct_values string",
    ),
    Form("BUILD CUBE", nodes.BuildCube, _CUBES_BUILT, "BUILD CUBE sales", rights="manage_cube"),
    Form(
        "BUILD INDEX",
        nodes.BuildIndex,
        _INDEXES_BUILT,
        "BUILD INDEX needle",
        run="services.ddl.indexes:build_named",
        rights="manage_index",
    ),
    Form(
        "BUILD STATISTICS",
        nodes.BuildStatistics,
        "table string, snapshot_id bigint, mode string, columns array<string>, files bigint,"
        " files_read bigint, rows_read bigint, bytes_read bigint, bytes bigint, path string,"
        " notes array<string>",
        "BUILD STATISTICS ON orders (customer, price)",
        run="services.statistics.ddl:build_statistics",
        rights="read_and_change",
    ),
    Form("BUILD ALL", nodes.BuildAll, _CUBES_BUILT, "BUILD ALL ON orders"),
    Form(
        "DROP STATISTICS",
        nodes.DropStatistics,
        "table string, snapshot_id bigint, path string, bytes bigint",
        "DROP STATISTICS ON orders",
        run="services.statistics.ddl:run_drop",
        rights="read_and_change",
    ),
    Form(
        "COMPACT CUBE", nodes.CompactCube, _CUBES_BUILT, "COMPACT CUBE sales", rights="manage_cube"
    ),
    Form(
        "PUBLISH CUBE",
        nodes.PublishCube,
        "cube string, table string",
        "PUBLISH CUBE sales AS shop.sales_cube",
        begin="PUBLISH",
    ),
    Form("DROP CUBE", nodes.DropCube, "cube string", "DROP CUBE IF EXISTS sales"),
    Form(
        "CREATE INDEX",
        nodes.CreateIndex,
        _INDEXES_BUILT,
        "CREATE INDEX needle ON logs USING BLOOM (trace_id) WITH (bits_per_value = 12)",
        run="services.ddl.indexes:create",
        shared=True,
    ),
    Form(
        "DROP INDEX",
        nodes.DropIndex,
        "index string",
        "DROP INDEX IF EXISTS needle",
        parse=grammar.lenient(grammar.drop_index),
        run="services.ddl.indexes:drop",
        rights="manage_index",
        shared=True,
    ),
    Form(
        "SHOW CUBES",
        nodes.ShowCubes,
        "cube string, table string, files_covered bigint, files_total bigint, segments bigint,"
        " rows bigint, bytes bigint, created time, hits bigint, last_use time, published string,"
        " status string, definition string," + _FOLLOWED,
        "SHOW CUBES ON orders",
        rights="read",
        lists="cube",
        api=ApiList(
            "cubes", "Cubes of a table", "cubes", "Cube", "A cube of the table", key="cube"
        ),
    ),
    Form(
        "SHOW INDEXES",
        nodes.ShowIndexes,
        "index string, table string, kind string, column string, files_covered bigint,"
        " files_total bigint, bytes bigint, bits_per_row double, false_positive_rate double,"
        " modes string, options string, created time, hits bigint, last_use time, status string,"
        + _FOLLOWED,
        "SHOW INDEXES ON orders",
        run="services.ddl.indexes:show",
        rights="read",
        lists="index",
        api=ApiList("indexes", "Indexes of a table", "indexes", "Index", "An index", key="index"),
    ),
    Form(
        "ALTER CUBE",
        nodes.SetCubeRefresh,
        "cube string, refresh string",
        "ALTER CUBE sales SET REFRESH = ON COMMIT",
        run="services.refresh.ddl:set_cube",
        rights="manage_cube",
    ),
    Form(
        "ALTER INDEX",
        nodes.SetIndexRefresh,
        "index string, refresh string",
        "ALTER INDEX needle SET REFRESH = EVERY '10 minutes'",
        run="services.refresh.ddl:set_index",
        rights="manage_index",
    ),
    Form("UNDROP CUBE", nodes.UndropCube, "cube string", "UNDROP CUBE sales AS sales_before"),
    Form(
        "SHOW RECYCLE BIN",
        nodes.ShowRecycleBin,
        "name string, table string, kind string, id string, dropped_at time, expires_at time,"
        " bytes bigint",
        "SHOW RECYCLE BIN ON orders",
        run="services.ddl.cubes.recycle_bin:show",
        rights="read",
        lists="dropped",
    ),
    Form(
        "SHOW COVERAGE",
        nodes.ShowCoverage,
        "artifact string, kind string, file string, rows bigint, bytes bigint, added time,"
        " covered boolean, segment string, reason string",
        "SHOW COVERAGE OF CUBE sales",
        run="services.coverage.show:shown",
        api=ApiList(
            "coverage",
            "By data file what covers it, or why nothing does",
            "data files, what isn't covered first",
            "Covered",
            "A data file",
            of_artifacts=True,
        ),
    ),
    Form(
        "SHOW STATISTICS",
        nodes.ShowStatistics,
        "column string, type string, distinct_values bigint, distinct_snapshot_id bigint,"
        " distinct_current boolean, nulls bigint, nulls_exact boolean, min string,"
        " min_exact boolean, max string, max_exact boolean, rows bigint, rows_exact boolean,"
        " files bigint, bytes bigint, sketch_snapshot_id bigint, sketch_current boolean,"
        " quantiles array<string>, quantiles_error double, heavy_hitters array<string>,"
        " heavy_hitter_counts array<bigint>, heavy_hitters_error bigint,"
        " sketch_notes array<string>",
        "SHOW STATISTICS ON orders",
        parse=grammar.on_table(nodes.ShowStatistics, "IN", "FROM"),
        rights="read",
        api=ApiList(
            "statistics",
            "What metadata says of a table's columns",
            "columns",
            "ColumnStatistics",
            "A column",
        ),
    ),
    Form(
        "SHOW QUERIES",
        nodes.ShowQueries,
        "id string, started time, user string, source string, state string, elapsed_ms double,"
        " engine string, rewritten boolean, cached boolean, cubes array<string>,"
        " indexes array<string>, tables array<string>, reason string, files_total bigint,"
        " files_read bigint, bytes_read bigint, rows bigint, error string, shape string,"
        " sql string",
        "SHOW QUERIES SINCE 24 HOURS LIMIT 20",
        run="services.ddl.show_queries:shown",
        rights="nothing",
    ),
    Form(
        "ANALYZE",
        nodes.Analyze,
        _ADVISED,
        "ANALYZE orders WITH (bytes = '1GB', build_minutes = 10)",
        run="services.advisor.ddl:run_analyze",
        rights="advice",
    ),
    Form(
        "SHOW RECOMMENDATIONS",
        nodes.ShowRecommendations,
        _ADVISED,
        "SHOW RECOMMENDATIONS ON orders",
        run="services.advisor.ddl:show",
        rights="advice",
        api=ApiList(
            "recommendations",
            "What was advised for a table last",
            "advice",
            "Recommendation",
            "Advice",
            key="id",
        ),
    ),
    Form(
        "SHOW ADVICE RESULTS",
        nodes.ShowAdviceResults,
        "id string, action string, table string, name string, by string, status string,"
        " applied time, promised_ms_per_day double, gain_ms_per_day double, runs bigint,"
        " before_ms double, now_ms double, statements bigint, days double, promised_bytes bigint,"
        " bytes bigint, promised_build_s double, build_s double, reason string, verdict string",
        "SHOW ADVICE RESULTS ON orders",
        run="services.advisor.results:show",
        rights="advice",
    ),
    Form(
        "APPLY RECOMMENDATIONS",
        nodes.ApplyRecommendations,
        "id string, action string, table string, cube string, name string",
        "APPLY RECOMMENDATIONS FOR orders",
        begin="APPLY",
    ),
    Form(
        "OPTIMIZE",
        nodes.OptimizeTable,
        "files_before bigint, files_after bigint, bytes_before bigint, bytes_after bigint,"
        " rows bigint, snapshot bigint",
        "OPTIMIZE orders SORT BY (region, ordered_at DESC) WITH (row_group_mb = 4)",
        run="services.clustering.optimize:optimize",
        shared=True,
    ),
    Form(
        "VACUUM",
        nodes.VacuumTable,
        "action string, what string, reason string, files bigint, bytes bigint, requests bigint",
        "VACUUM orders RETAIN 24 HOURS DRY RUN",
        parse=grammar.lenient(grammar.vacuum),
        run="session.commands:vacuum_table",
        rights="change",
        shared=True,
    ),
    Form(
        "ADD CONSTRAINT",
        nodes.AddConstraint,
        "constraint string",
        "ALTER TABLE orders ADD CONSTRAINT orders_pk PRIMARY KEY (order_id) NOT ENFORCED",
        begin="ALTER TABLE ADD CONSTRAINT",
        shared=True,
    ),
    Form(
        "DROP CONSTRAINT",
        nodes.DropConstraint,
        "constraint string",
        "ALTER TABLE orders DROP CONSTRAINT IF EXISTS orders_pk",
        begin="ALTER TABLE DROP CONSTRAINT",
        shared=True,
    ),
    Form(
        "VALIDATE CONSTRAINT",
        nodes.ValidateConstraint,
        "table string, constraint string, ok boolean, checked_rows bigint, violations bigint,"
        " examples array<string>, snapshot_ids string",
        "ALTER TABLE orders VALIDATE CONSTRAINT orders_pk",
        begin="ALTER TABLE VALIDATE",
        shared=True,
    ),
    Form(
        "SHOW CONSTRAINTS",
        nodes.ShowConstraints,
        "table string, name string, kind string, columns array<string>, references string,"
        " references_columns array<string>, rely boolean, problem string",
        "SHOW CONSTRAINTS ON orders",
        rights="read",
        lists="constraint",
    ),
    Form(
        "ADD RELATE COLUMN",
        nodes.AddRelateColumn,
        "relate_column string",
        "ALTER TABLE orders ADD RELATE COLUMN region FROM stores.region"
        " ON orders.store_id = stores.id",
        run="services.ddl.relate_columns:add",
        begin="ALTER TABLE ADD RELATE COLUMN",
        shared=True,
    ),
    Form(
        "DROP RELATE COLUMN",
        nodes.DropRelateColumn,
        "relate_column string",
        "ALTER TABLE orders DROP RELATE COLUMN IF EXISTS region",
        run="services.ddl.relate_columns:drop",
        begin="ALTER TABLE DROP RELATE COLUMN",
        shared=True,
    ),
    Form(
        "SHOW RELATE COLUMNS",
        nodes.ShowRelateColumns,
        "table string, name string, type string, attribute string, joins array<string>,"
        " indexes array<string>, status string",
        "SHOW RELATE COLUMNS ON orders",
        run="services.ddl.relate_columns:show",
        rights="read",
        lists="relate",
    ),
    Form(
        "EXPLAIN ACCELERATE",
        nodes.ExplainAccelerate,
        "plan string",
        "EXPLAIN ACCELERATE SELECT region, sum(price) FROM orders GROUP BY region",
        rights="explain",
    ),
    Form(
        "EXPLAIN ANALYZE",
        nodes.ExplainAnalyze,
        "plan string",
        "EXPLAIN ANALYZE SELECT region, sum(price) FROM orders GROUP BY region",
        rights="explain",
        shared=True,
    ),
    Form(
        "EXPLAIN WHY NOT",
        nodes.ExplainWhyNot,
        "cube string, code string, reason string, nearest boolean, ddl string, cost string",
        "EXPLAIN WHY NOT SELECT region, sum(price) FROM orders GROUP BY region",
        rights="explain",
        begin="EXPLAIN WHY",
    ),
    Form(
        "VERIFY",
        nodes.Verify,
        "equal boolean, rewritten boolean, rows bigint, differences string, accelerated_ms double,"
        " plain_ms double, fallback string, estimates string, undecided string, disabled string,"
        " unattributed string",
        "VERIFY SELECT region, sum(price) FROM orders GROUP BY region",
        rights="explain",
    ),
)
FORM_OF: dict[type[Statement], Form] = {}
EXAMPLES: dict[str, str] = {}
BEGINNINGS: dict[str, list[Form]] = {"CLUSTER": [], "PURGE": []}
"""The words that our statements begin with, and the statements."""
PLANNED = ("CLUSTER", "COMPACT", "PURGE", "UNDROP TABLE")
"""Services of tables that aren't built yet."""


def add(form: Form) -> None:
    """Adds a statement; parser, session, gateway and docs find it here."""
    FORM_OF[form.kind] = form
    BEGINNINGS.setdefault((form.begin or form.words).split()[0], []).append(form)
    if form.example:
        EXAMPLES[form.words] = form.example


for _form in _FORMS:
    add(_form)
FORMS = FORM_OF.values()


def needed_table(statement: Statement) -> TableName | None:
    """The table that has to be an Iceberg table for the statement to be ours; None if it's ours."""
    form = FORM_OF.get(type(statement))
    return None if form is not None and not form.shared else getattr(statement, "table", None)
