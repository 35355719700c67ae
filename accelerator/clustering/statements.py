"""OPTIMIZE … BY, run against a services: which files, in which order, and what came of it.

Incremental: files that were written by this very order stay as they are. What a statement rewrites
is ordered among itself, along the same curve as those files, so that many small ones leave many
runs, until `full` makes one of all.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accelerator.clustering.order import PROPERTY, Order, relates
from accelerator.clustering.ordering import MB, ROW_GROUP_BYTES, file_bytes, order_of
from accelerator.clustering.rewriting import NOTHING, NewFiles, Rewriting, data_location
from accelerator.clustering.spark import Layout, rewrite
from accelerator.engines.java_errors import JvmError
from accelerator.errors import (
    CancelledError,
    ClusteringError,
    EngineError,
    UnknownTableError,
)
from accelerator.iceberg import LiveFile, PartitionField, PinnedTable
from accelerator.progress import Progress, SilentProgress
from accelerator.relate.lookup import Lookup
from accelerator.relate.stale import key_columns
from accelerator.statements.kinds import OptimizeTable
from cubes.job_error import JobError
from cubes.spark import job_errors
from rewrite.dotted import joined
from rewrite.render import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from accelerator.services import Services

_ROW_GROUP = "write.parquet.row-group-size-bytes"
_ROLLED = 1.5
"""A file may grow so much beyond its target, so that a part isn't split for a few rows."""
_RUN_BYTES = 4
_TRANSFORM = re.compile(r"(\w+)(?:\[(\d+)\])?")
_FUNCTIONS = {
    **{one: one for one in ("bucket", "truncate")},
    **{one: f"{one}s" for one in ("year", "month", "day", "hour")},
}


@dataclass(frozen=True, slots=True)
class Options:
    """What stands behind WITH; sizes in bytes, `file` 0 where it isn't given."""

    file: int = 0
    row_group: int = ROW_GROUP_BYTES
    full: bool = False


@dataclass(frozen=True, slots=True)
class Optimized:
    """What was done: the files that were rewritten, what they are now; no snapshot for nothing."""

    files_before: int = 0
    bytes_before: int = 0
    written: NewFiles = NOTHING
    snapshot: int | None = None


def optimize(
    statement: OptimizeTable, services: Services, progress: Progress | None = None
) -> dict[str, int | None]:
    """Rewrites what isn't clustered by the order yet; what it did, as a row.

    Raises:
        UnknownColumnError, ClusteringError: the order or an option can't be.
        RelateColumnError, UnknownTableError: a relate column's path is broken.
        ClusteringError: it failed, or the table was changed meanwhile; the table is as it was.
        CancelledError: it was stopped.
    """
    pin = services.lake.pin(fresh=True)
    pinned = pin.pinned(statement.table)
    if pinned is None:
        raise UnknownTableError(
            f"there is no Iceberg table {joined(statement.table)}",
            unknown=joined(statement.table),
            hint="tables of this session's catalogs can be clustered",
        )
    options, order = _options(statement), order_of(statement, pinned, pin)
    files = [f for f in pinned.live_files() if options.full or not order.has(f.path)]
    shown = progress or SilentProgress()
    try:
        done = _rewritten(services, pinned, order, options, files, shown) if files else Optimized()
    finally:
        shown.finish()
    return {
        "files_before": done.files_before,
        "files_after": done.written.files,
        "bytes_before": done.bytes_before,
        "bytes_after": done.written.bytes,
        "rows": done.written.rows,
        "snapshot": done.snapshot,
    }


def _options(statement: OptimizeTable) -> Options:
    given = dict(statement.options)
    if len(given) < len(statement.options):
        raise ClusteringError("an option is given twice", hint="give each one once")
    unknown = given.keys() - {"target_file_size_mb", "row_group_mb", "full"}
    if unknown:
        raise ClusteringError(
            f"OPTIMIZE has no option {', '.join(sorted(unknown))}",
            hint="its options are target_file_size_mb, row_group_mb and full",
        )
    full = given.get("full", False)
    if not isinstance(full, bool):
        raise ClusteringError("full is true or false", hint="for example: WITH (full = true)")
    row_group = _bytes(given, "row_group_mb")
    return Options(_bytes(given, "target_file_size_mb"), row_group or ROW_GROUP_BYTES, full)


def _bytes(given: dict[str, str | float | bool], name: str) -> int:
    """The size that an option gives in megabytes; 0 without one."""
    if name not in given:
        return 0
    value = given[name]
    if isinstance(value, (str, bool)) or not 0 < value * MB < 2**31:
        raise ClusteringError(
            f"{name} can't be {value}", hint="give a number of megabytes, above 0 and below 2048"
        )
    return max(1, int(value * MB))


def _rewritten(
    services: Services,
    pinned: PinnedTable,
    order: Order,
    options: Options,
    files: Sequence[LiveFile],
    progress: Progress,
) -> Optimized:
    size = sum(f.size_bytes for f in files)
    layout = _layout(pinned, order, options, files, services.engine.selection_catalog())
    folder = order.folder(data_location(pinned), secrets.token_hex(_RUN_BYTES))
    with (
        _failures(pinned),
        services.store.reading(),
        services.cancellation.tracked() as tag,
        _lookups(services, pinned, order, tag) as lookups,
    ):
        services.engine.activate()
        services.store.pin_snapshot(pinned.facts.uuid, pinned.snapshot_ms)
        rewriting = Rewriting(
            services.engine, pinned, files, folder, {_ROW_GROUP: str(options.row_group)}
        )
        try:
            progress.start(len(files), f"rewriting {pinned.facts.name}")
            with _job(services, rewriting, tag):
                rankings = rewrite(services.engine.session, rewriting.relation, layout, lookups)
            progress.advance(len(files))
            progress.start(1, f"committing {pinned.facts.name}")
            written = rewriting.written()
            _check_rows(services, rewriting, files, written, tag)
            services.cancellation.check(tag)
        except BaseException:
            rewriting.discard()
            raise
        else:
            snapshot = rewriting.commit(
                {PROPERTY: order.id}, {PROPERTY: order.to_property(rankings)}
            )
            progress.advance()
            return Optimized(len(files), size, written, snapshot)
        finally:
            rewriting.close()


@contextmanager
def _lookups(
    services: Services, pinned: PinnedTable, order: Order, tag: str
) -> Iterator[dict[int, tuple[Lookup | DataFrame, list[str]]]]:
    """What gives relate columns their values, by their ids, with the columns of their keys."""
    dimensions = services.dimensions
    found: dict[int, tuple[Lookup | DataFrame, list[str]]] = {}
    with ExitStack() as opened:
        for key, path in relates(order.keys):
            columns = [one.name for one in key_columns(path, pinned) or ()]
            if dimensions.is_large(path):
                dimensions.check(path, tag)
                found[key.field_id] = opened.enter_context(dimensions.values(path)), columns
            else:
                found[key.field_id] = dimensions.lookup(path), columns
        yield found


@contextmanager
def _failures(pinned: PinnedTable) -> Iterator[None]:
    try:
        yield
    except (EngineError, JvmError) as error:
        said = error.message if isinstance(error, EngineError) else str(error)
        raise ClusteringError(
            f"the files of {pinned.facts.name} can't be rewritten: {said}",
            hint="the table is as it was; mend what is said, then OPTIMIZE again",
        ) from error


def _layout(
    pinned: PinnedTable,
    order: Order,
    options: Options,
    files: Sequence[LiveFile],
    catalog: str,
) -> Layout:
    size, rows = sum(f.size_bytes for f in files), sum(f.record_count for f in files)
    target = options.file or file_bytes(pinned)
    fields = pinned.partition_fields
    partition_by = tuple(_partition_sql(field, pinned, catalog) for field in fields)
    floats = any(field.type in ("float", "double") for field in fields)
    writing = {
        "use-table-distribution-and-ordering": "false",
        "target-file-size-bytes": str(int(target * _ROLLED)),
        # Values that Spark sorts as equal may be of several partitions: −0.0 and 0.0.
        "fanout-enabled": str(floats).lower(),
    }
    # Files that stay lie on the curve that the table keeps.
    stay = not options.full and any(order.has(f.path) for f in pinned.live_files())
    rankings = order.rankings(pinned.properties) if stay else ()
    return Layout(order, partition_by, max(1, -(-size // target)), rows, rankings, writing)


def _partition_sql(field: PartitionField, pinned: PinnedTable, catalog: str) -> str:
    """The transform as Spark computes it, by Iceberg's own function of that name."""
    source = ".".join(quote(name, "spark") for name in field.source)
    if field.transform == "identity":
        return source
    found = _TRANSFORM.fullmatch(field.transform)
    function = None if found is None else _FUNCTIONS.get(found[1])
    if found is None or function is None:
        raise ClusteringError(
            f"{pinned.facts.name} is partitioned by {field.transform}, which Spark can't compute",
            hint="replace that partition field first",
        )
    return f"{catalog}.{function}({found[2] + ', ' if found[2] else ''}{source})"


@contextmanager
def _job(services: Services, rewriting: Rewriting, tag: str) -> Iterator[None]:
    """A job of the statement: it can be stopped, and its errors are ours."""
    try:
        with job_errors(), services.engine.tagged(tag):
            yield
    except JobError as error:
        services.cancellation.check(tag)
        if error.cancelled:
            raise CancelledError("the statement was cancelled") from error
        mend = services.engine.lacking(error) or "mend what Spark says"
        raise ClusteringError(
            f"{rewriting.name}: the rewrite failed in Spark: {error}",
            hint=f"the table is as it was; {mend}, then OPTIMIZE again",
        ) from error


def _check_rows(
    services: Services,
    rewriting: Rewriting,
    files: Sequence[LiveFile],
    written: NewFiles,
    tag: str,
) -> None:
    """ClusteringError unless so many rows were written as the old files have."""
    if any(f.deletes for f in files):
        with _job(services, rewriting, tag):
            rows = services.engine.session.table(rewriting.relation).count()
    else:
        rows = sum(f.record_count for f in files)
    if rows != written.rows:
        raise ClusteringError(
            f"{rewriting.name}: {written.rows} rows were written of {rows}",
            hint="the table is as it was; please report this",
        )
