"""Our statements as a table: words, an example, what they are parsed to, and columns of answers.

What runs each of them stands in `commands`; what each does, in `docs/reference/sql.md`. Tools may
rely on the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from accelerator.query.statements import nodes

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


class Form(Struct, frozen=True, dict=True):
    """One statement. `always`: no statement of Spark's begins with its words, whatever its table.

    Error hints show the example, and the reference page has a section for each.
    """

    words: str
    kind: type
    columns: str
    example: str = ""
    always: bool = False

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

    def table(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """The answer of these rows; what else they hold isn't part of it."""
        import pyarrow as pa

        return pa.Table.from_pylist(list(rows), schema=self.schema)


FORMS = (
    Form(
        "CREATE CUBE",
        nodes.CreateCube,
        _CUBES_BUILT,
        "CREATE CUBE sales AS SELECT region, sum(price) FROM orders GROUP BY region",
    ),
    Form(
        "EXPLAIN CREATE CUBE",
        nodes.EstimateCube,
        "rows bigint, bytes bigint, minutes double, files bigint, fact_rows bigint,"
        " merged_rows_max bigint, distinct_values string",
    ),
    Form("BUILD CUBE", nodes.BuildCube, _CUBES_BUILT, "BUILD CUBE sales"),
    Form("BUILD ALL", nodes.BuildAll, _CUBES_BUILT, "BUILD ALL ON orders", always=True),
    Form(
        "BUILD STATISTICS",
        nodes.BuildStatistics,
        "table string, snapshot_id bigint, mode string, columns array<string>, files bigint,"
        " files_read bigint, rows_read bigint, bytes_read bigint, bytes bigint, path string,"
        " notes array<string>",
        "BUILD STATISTICS ON orders (customer, price)",
        always=True,
    ),
    Form(
        "DROP STATISTICS",
        nodes.DropStatistics,
        "table string, snapshot_id bigint, path string, bytes bigint",
        "DROP STATISTICS ON orders",
        always=True,
    ),
    Form("COMPACT CUBE", nodes.CompactCube, _CUBES_BUILT, "COMPACT CUBE sales"),
    Form(
        "PUBLISH CUBE",
        nodes.PublishCube,
        "cube string, table string",
        "PUBLISH CUBE sales AS shop.sales_cube",
        always=True,
    ),
    Form("DROP CUBE", nodes.DropCube, "cube string", "DROP CUBE IF EXISTS sales"),
    Form(
        "CREATE INDEX",
        nodes.CreateIndex,
        _INDEXES_BUILT,
        "CREATE INDEX needle ON logs USING BLOOM (trace_id) WITH (bits_per_value = 12)",
    ),
    Form("BUILD INDEX", nodes.BuildIndex, _INDEXES_BUILT, "BUILD INDEX needle"),
    Form("DROP INDEX", nodes.DropIndex, "index string", "DROP INDEX IF EXISTS needle"),
    Form(
        "SHOW INDEXES",
        nodes.ShowIndexes,
        "index string, table string, kind string, column string, files_covered bigint,"
        " files_total bigint, bytes bigint, bits_per_row double, false_positive_rate double,"
        " modes string, options string, created time, hits bigint, last_use time, status string,"
        + _FOLLOWED,
        "SHOW INDEXES ON orders",
        always=True,
    ),
    Form(
        "ALTER CUBE",
        nodes.SetCubeRefresh,
        "cube string, refresh string",
        "ALTER CUBE sales SET REFRESH = ON COMMIT",
        always=True,
    ),
    Form(
        "ALTER INDEX",
        nodes.SetIndexRefresh,
        "index string, refresh string",
        "ALTER INDEX needle SET REFRESH = EVERY '10 minutes'",
        always=True,
    ),
    Form("UNDROP CUBE", nodes.UndropCube, "cube string", "UNDROP CUBE sales AS sales_before"),
    Form(
        "SHOW RECYCLE BIN",
        nodes.ShowRecycleBin,
        "name string, table string, kind string, id string, dropped_at time, expires_at time,"
        " bytes bigint",
        "SHOW RECYCLE BIN ON orders",
        always=True,
    ),
    Form(
        "SHOW CUBES",
        nodes.ShowCubes,
        "cube string, table string, files_covered bigint, files_total bigint, segments bigint,"
        " rows bigint, bytes bigint, created time, hits bigint, last_use time, published string,"
        " status string, definition string," + _FOLLOWED,
        "SHOW CUBES ON orders",
        always=True,
    ),
    Form(
        "SHOW COVERAGE",
        nodes.ShowCoverage,
        "artifact string, kind string, file string, rows bigint, bytes bigint, added time,"
        " covered boolean, segment string, reason string",
        "SHOW COVERAGE OF CUBE sales",
        always=True,
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
        always=True,
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
        always=True,
    ),
    Form(
        "ANALYZE",
        nodes.Analyze,
        _ADVISED,
        "ANALYZE orders WITH (bytes = '1GB', build_minutes = 10)",
        always=True,
    ),
    Form(
        "SHOW RECOMMENDATIONS",
        nodes.ShowRecommendations,
        _ADVISED,
        "SHOW RECOMMENDATIONS ON orders",
        always=True,
    ),
    Form(
        "SHOW ADVICE RESULTS",
        nodes.ShowAdviceResults,
        "id string, action string, table string, name string, by string, status string,"
        " applied time, promised_ms_per_day double, gain_ms_per_day double, runs bigint,"
        " before_ms double, now_ms double, statements bigint, days double, promised_bytes bigint,"
        " bytes bigint, promised_build_s double, build_s double, reason string, verdict string",
        "SHOW ADVICE RESULTS ON orders",
        always=True,
    ),
    Form(
        "APPLY RECOMMENDATIONS",
        nodes.ApplyRecommendations,
        "id string, action string, table string, cube string, name string",
        "APPLY RECOMMENDATIONS FOR orders",
        always=True,
    ),
    Form(
        "OPTIMIZE",
        nodes.OptimizeTable,
        "files_before bigint, files_after bigint, bytes_before bigint, bytes_after bigint,"
        " rows bigint, snapshot bigint",
        "OPTIMIZE orders SORT BY (region, ordered_at DESC) WITH (row_group_mb = 4)",
    ),
    Form(
        "VACUUM",
        nodes.VacuumTable,
        "action string, what string, reason string, files bigint, bytes bigint, requests bigint",
        "VACUUM orders RETAIN 24 HOURS DRY RUN",
    ),
    Form(
        "ADD CONSTRAINT",
        nodes.AddConstraint,
        "constraint string",
        "ALTER TABLE orders ADD CONSTRAINT orders_pk PRIMARY KEY (order_id) NOT ENFORCED",
    ),
    Form(
        "DROP CONSTRAINT",
        nodes.DropConstraint,
        "constraint string",
        "ALTER TABLE orders DROP CONSTRAINT IF EXISTS orders_pk",
    ),
    Form(
        "VALIDATE CONSTRAINT",
        nodes.ValidateConstraint,
        "table string, constraint string, ok boolean, checked_rows bigint, violations bigint,"
        " examples array<string>, snapshot_ids string",
        "ALTER TABLE orders VALIDATE CONSTRAINT orders_pk",
    ),
    Form(
        "SHOW CONSTRAINTS",
        nodes.ShowConstraints,
        "table string, name string, kind string, columns array<string>, references string,"
        " references_columns array<string>, rely boolean, problem string",
        "SHOW CONSTRAINTS ON orders",
        always=True,
    ),
    Form(
        "ADD RELATE COLUMN",
        nodes.AddRelateColumn,
        "relate_column string",
        "ALTER TABLE orders ADD RELATE COLUMN region FROM stores.region"
        " ON orders.store_id = stores.id",
    ),
    Form(
        "DROP RELATE COLUMN",
        nodes.DropRelateColumn,
        "relate_column string",
        "ALTER TABLE orders DROP RELATE COLUMN IF EXISTS region",
    ),
    Form(
        "SHOW RELATE COLUMNS",
        nodes.ShowRelateColumns,
        "table string, name string, type string, attribute string, joins array<string>,"
        " indexes array<string>, status string",
        "SHOW RELATE COLUMNS ON orders",
        always=True,
    ),
    Form(
        "EXPLAIN ACCELERATE",
        nodes.ExplainAccelerate,
        "plan string",
        "EXPLAIN ACCELERATE SELECT region, sum(price) FROM orders GROUP BY region",
    ),
    Form(
        "EXPLAIN ANALYZE",
        nodes.ExplainAnalyze,
        "plan string",
        "EXPLAIN ANALYZE SELECT region, sum(price) FROM orders GROUP BY region",
    ),
    Form(
        "EXPLAIN WHY NOT",
        nodes.ExplainWhyNot,
        "cube string, code string, reason string, nearest boolean, ddl string, cost string",
        "EXPLAIN WHY NOT SELECT region, sum(price) FROM orders GROUP BY region",
    ),
    Form(
        "VERIFY",
        nodes.Verify,
        "equal boolean, rewritten boolean, rows bigint, differences string, accelerated_ms double,"
        " plain_ms double, fallback string, estimates string, undecided string, disabled string,"
        " unattributed string",
        "VERIFY SELECT region, sum(price) FROM orders GROUP BY region",
    ),
)
FORM_OF: Mapping[type, Form] = {form.kind: form for form in FORMS}
EXAMPLES: Mapping[str, str] = {form.words: form.example for form in FORMS if form.example}
