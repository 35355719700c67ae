"""Every error that a user may see, in one place; all share the root `AcceleratorError`."""

from __future__ import annotations

from collections.abc import Sequence

from rewrite.errors import (
    AcceleratorError,
    DefinitionError,
    MissingCatalogError,
    MissingSchemaError,
    NotIcebergError,
    StatementError,
    StatementTooDeepError,
    TableReplacedError,
    UnknownCatalogError,
    UnknownColumnError,
    UnknownFunctionError,
    UnknownSchemaError,
    UnknownTableError,
    UntranslatedError,
)
from rewrite.text.suggestions import closest, did_you_mean

UNFIT = (
    *(ArithmeticError, AttributeError, LookupError, RecursionError),
    *(TypeError, ValueError),
)
"""What JSON that somebody else wrote raises where it has another shape than is read."""


def no_column(table: str, name: str, columns: Sequence[str], otherwise: str) -> UnknownColumnError:
    """The error for a column that a table doesn't have; its hint has the nearest ones, or that."""
    near = closest(name, columns)
    return UnknownColumnError(
        f"{table} has no column {name}",
        hint=did_you_mean(near) or otherwise,
        suggestions=near,
        unknown=name,
    )


def stops_listing(error: AcceleratorError) -> bool:
    """Returns whether a list of tables ends with the error; else it goes on without the table.

    Nothing else can be read either if the statement was cancelled, or the catalog doesn't answer.
    """
    return isinstance(error, CancelledError) or error.unreachable


class ConfigError(AcceleratorError):
    """A setting is unknown or has a value that it can't have."""

    code = "config_invalid"


class UnknownSnapshotError(UnknownTableError):
    """A table has no such snapshot, branch or tag, or none that is as old."""

    code = "snapshot_unknown"


class CubeExistsError(AcceleratorError):
    """CREATE CUBE with a name in use."""

    code = "cube_exists"


class CubeNotFoundError(AcceleratorError):
    """A statement names a cube that isn't there."""

    code = "cube_not_found"


class IndexExistsError(AcceleratorError):
    """CREATE INDEX with a name in use."""

    code = "index_exists"


class IndexNotFoundError(AcceleratorError):
    """A statement names an index that isn't there."""

    code = "index_not_found"


class IndexDefinitionError(AcceleratorError):
    """An index can't be as it was asked for: its column's type, or an option."""

    code = "index_invalid"


class ConstraintError(AcceleratorError):
    """A constraint is declared wrongly, is there already, or isn't there."""

    code = "constraint_invalid"


class RelateColumnError(AcceleratorError):
    """A relate column is declared wrongly, is there already, or isn't there."""

    code = "relate_invalid"


class RelateKeyError(RelateColumnError):
    """The key of a relate column's dimension isn't unique."""

    code = "relate_key_not_unique"


class StoreError(AcceleratorError):
    """The store can't be read or written, or holds a version that this release doesn't know."""

    code = "store_unavailable"


class StoreConflictError(StoreError):
    """Others kept committing first; the commit was retried and given up."""

    code = "store_conflict"


class QueryLogError(AcceleratorError):
    """The query log is asked for what it can't give: a time without a zone, too many rows."""

    code = "query_log_invalid"


class AdviceError(AcceleratorError):
    """Advice is asked for under budgets or times that can't be."""

    code = "advice_invalid"


class WorkloadEmptyError(AdviceError):
    """The query log has nothing from which anything could be advised."""

    code = "workload_empty"


class AdviceNotFoundError(AdviceError):
    """A statement names a recommendation that isn't there."""

    code = "advice_not_found"


class AdviceStaleError(AdviceError):
    """What was advised has another meaning by now, or none: a table or cube was changed."""

    code = "advice_stale"


class VacuumRefusedError(StatementError):
    """A vacuum of a table's snapshots or folder might delete files that others still need."""

    code = "vacuum_refused"


class BuildError(AcceleratorError):
    """A cube build stopped; what it had committed stays and a rerun goes on from there."""

    code = "build_failed"


class ClusteringError(AcceleratorError):
    """A table can't be clustered as it was asked for, or its rewrite failed and changed nothing."""

    code = "clustering_failed"


class StatisticsError(AcceleratorError):
    """A table's statistics can't be made as it was asked for; the table is as it was."""

    code = "statistics_failed"


class FunctionArgumentError(AcceleratorError):
    """A function of our own was given what it can't take."""

    code = "function_argument"


class EngineError(AcceleratorError):
    """An engine that the statement needs can't be started or failed on its own."""

    code = "engine_failed"


class SparkMissingError(EngineError):
    """The statement needs Spark, and PySpark or a Java for it isn't installed."""

    code = "spark_missing"


class SparkElsewhereError(AcceleratorError):
    """The statement needs Spark, which isn't to run in this process: whoever forbade it asks there.

    `hint` says why it needs it, where something was considered.
    """

    code = "spark_elsewhere"
    may_backtrack = False
    """Whether its patterns may take Java's matcher long."""


class RaisesError(EngineError):
    """An expression raises an error for a row, of which the plain statement may know nothing."""

    code = "may_raise"


class RowRaisedError(RaisesError):
    """An expression raised while a plan ran; the plain statement may not compute it."""

    code = "row_raised"


class MemoryExceededError(EngineError):
    """A statement in process needs more memory, or spills more, than it may."""

    code = "memory_exceeded"


class RefusedError(Exception):
    """Spark refuses the statement itself: the error that is its cause is the statement's answer.

    Users see that one alone.
    """


class GuardError(AcceleratorError):
    """A guard refuses the query; nothing was run. `docs/reference/guards.md`."""

    code = "guard"


class UnreadableGuardError(GuardError):
    """The query can't be parsed, so that no guard can tell whether it may run."""

    code = "guard_unreadable"


class CrossJoinGuardError(GuardError):
    """Two relations are joined without any predicate between them."""

    code = "guard_cross_join"


class SortGuardError(GuardError):
    """All rows are sorted: ORDER BY without LIMIT."""

    code = "guard_sort"


class PartitionGuardError(GuardError):
    """A partitioned table has no predicate on a column that it's partitioned by."""

    code = "guard_partition"


class BytesGuardError(GuardError):
    """More bytes of data files may be read than are allowed."""

    code = "guard_bytes"


class FilesGuardError(GuardError):
    """More data files may be read than are allowed."""

    code = "guard_files"


class RowsGuardError(GuardError):
    """More rows of data files may be read than are allowed."""

    code = "guard_rows"


class OutputError(AcceleratorError):
    """Rows can't be written where they were to be."""

    code = "output_failed"


class ParameterError(AcceleratorError):
    """Values don't fit the markers of a statement, or have no type in SQL."""

    code = "parameters_invalid"


class UnrepresentableError(AcceleratorError):
    """A value of an answer has no form where it's wanted: Python has no date after 9999."""

    code = "value_unrepresentable"


class SessionClosedError(AcceleratorError):
    """The session is asked something after it was closed."""

    code = "session_closed"


class CancelledError(AcceleratorError):
    """The statement or build was cancelled by its caller."""

    code = "cancelled"


class StatementTimeoutError(CancelledError):
    """The statement has taken longer than it may, and was stopped."""

    code = "statement_timeout"


__all__ = [
    "AcceleratorError",
    "AdviceError",
    "AdviceNotFoundError",
    "AdviceStaleError",
    "BuildError",
    "BytesGuardError",
    "CancelledError",
    "ClusteringError",
    "ConfigError",
    "ConstraintError",
    "CrossJoinGuardError",
    "CubeExistsError",
    "CubeNotFoundError",
    "DefinitionError",
    "EngineError",
    "FilesGuardError",
    "GuardError",
    "IndexDefinitionError",
    "IndexExistsError",
    "IndexNotFoundError",
    "MemoryExceededError",
    "MissingCatalogError",
    "MissingSchemaError",
    "NotIcebergError",
    "OutputError",
    "PartitionGuardError",
    "QueryLogError",
    "RowsGuardError",
    "SessionClosedError",
    "SortGuardError",
    "SparkMissingError",
    "StatementError",
    "StatementTooDeepError",
    "StatisticsError",
    "StoreConflictError",
    "StoreError",
    "TableReplacedError",
    "UnknownCatalogError",
    "UnknownColumnError",
    "UnknownFunctionError",
    "UnknownSchemaError",
    "UnknownSnapshotError",
    "UnknownTableError",
    "UnreadableGuardError",
    "UnrepresentableError",
    "UntranslatedError",
    "WorkloadEmptyError",
]
