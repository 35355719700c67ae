"""The rewrite of data files in an order, by Spark: staging, the job, the check, the commit."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from accelerator.artifacts.relate.index_validity import key_columns
from accelerator.artifacts.relate.lookup import Lookup
from accelerator.common.progress import Progress
from accelerator.engines.spark.jvm.errors import JvmError
from accelerator.errors import CancelledError, ClusteringError, EngineError
from accelerator.iceberg import LiveFile, PartitionField, PinnedTable
from accelerator.services.clustering.options import OptimizeOptions, file_bytes
from accelerator.services.clustering.order import PROPERTY, Order, relates
from accelerator.services.clustering.rewrite import NewFiles, Rewriting, data_location
from accelerator.services.clustering.spark import RowLayout, rewrite
from cubes.job_error import JobError
from cubes.spark import job_errors
from rewrite.render.expressions import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from accelerator.query.runtime.services import Services

_ROW_GROUP = "write.parquet.row-group-size-bytes"
_ROLLED = 1.5
"""A file may grow so much beyond its target, so that a part isn't split for a few rows."""
_RUN_BYTES = 4
_TRANSFORM = re.compile(r"(\w+)(?:\[(\d+)\])?")
_FUNCTIONS = {
    **{one: one for one in ("bucket", "truncate")},
    **{one: f"{one}s" for one in ("year", "month", "day", "hour")},
}


class Optimized(Struct, frozen=True):
    """The files that were rewritten, what was written, and the snapshot of the commit."""

    files_before: int
    bytes_before: int
    written: NewFiles
    snapshot: int


def rewrite_files(
    services: Services,
    pinned: PinnedTable,
    order: Order,
    options: OptimizeOptions,
    files: Sequence[LiveFile],
    progress: Progress,
) -> Optimized:
    """Rewrites these files; errors as of `optimize.optimize`."""
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
    options: OptimizeOptions,
    files: Sequence[LiveFile],
    catalog: str,
) -> RowLayout:
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
    return RowLayout(order, partition_by, max(1, -(-size // target)), rows, rankings, writing)


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
