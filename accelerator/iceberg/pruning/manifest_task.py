"""Files of a manifest that a predicate may be true of, as a few columns: what a Spark job gives.

Runs in Spark's Python workers and here alike, over the same decoder and the same judgement, so that
both keep the same files. A file is left out only where no row of it passes. Where a manifest's own
partition values contradict its bounds all of its files are kept: whoever asks declines then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from msgspec import Struct

from accelerator.iceberg.errors import ManifestError
from accelerator.iceberg.io import inputs_for
from accelerator.iceberg.manifests.columns import (
    PARTITION,
    InMemory,
    ManifestColumns,
    stats_column,
)
from accelerator.iceberg.manifests.job import JobFailedError
from accelerator.iceberg.manifests.manifest_file import ManifestFile
from accelerator.iceberg.manifests.reader import read_manifest
from accelerator.iceberg.manifests.request import Question
from accelerator.iceberg.pruning.predicates import judge
from accelerator.iceberg.statistics.file_statistics import FileStatistics
from accelerator.iceberg.tables.live_files import ColumnarFiles
from accelerator.iceberg.tables.partition_specs import Identity
from accelerator.iceberg.tables.transforms import Transforms
from accelerator.version import VERSION
from indexes.bounds import Flags

_KEPT = ("path", "format", "record_count", "size_bytes", "sequence_number")
_COUNT = b"count"


class ManifestQuestion(Struct, frozen=True):
    """A question, and all that must be known of the table to answer it from its manifests.

    `release` is that of the package: workers that have another one refuse.
    """

    release: str
    location: str
    io_properties: Mapping[str, str]
    identity: Identity
    transforms: Transforms
    uuids: frozenset[int]
    misnamed: frozenset[int]
    question: Question


class Survivors(Struct, frozen=True):
    """Files of one manifest that are left, of `total` live ones."""

    columns: ManifestColumns
    total: int


def surviving(asked: ManifestQuestion, manifests: Sequence[ManifestFile]) -> list[bytes]:
    """What is left of each of the manifests, for `from_bytes`; a task of the job.

    Raises:
        ManifestError: a manifest is damaged, or the worker has another release of the package.
        CatalogError: one can't be read.
    """
    if asked.release != VERSION:
        raise ManifestError(
            f"the worker has release {VERSION} of the package, the driver {asked.release}",
            hint="install the same release on all machines",
        )
    inputs = inputs_for(asked.location, asked.io_properties)
    return [
        to_bytes(survivors(asked, manifest, read_manifest(inputs, manifest)))
        for manifest in manifests
    ]


def survivors(
    asked: ManifestQuestion, manifest: ManifestFile, columns: ManifestColumns
) -> Survivors:
    """Returns the files of one manifest that may pass."""
    keep = _may_pass(asked, manifest, columns)
    field_ids = tuple(sorted(asked.question.field_ids & set(columns.field_ids)))
    left = columns.taken(np.flatnonzero(keep))
    found = {name: left.source.column(name) for name in _names(field_ids)}
    return Survivors(ManifestColumns(left.count, field_ids, InMemory(found)), columns.count)


def to_bytes(left: Survivors) -> bytes:
    """An Arrow IPC stream of one batch; `count` in its metadata is that of all live files."""
    columns = left.columns
    names = _names(columns.field_ids)
    arrays = [columns.source.column(name) for name in names]
    fields = [pa.field(n, a.type) for n, a in zip(names, arrays, strict=True)]
    schema = pa.schema(fields, {_COUNT: str(left.total).encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_bytes(data: bytes, field_ids: frozenset[int]) -> Survivors:
    """What `to_bytes` wrote, without a copy; JobFailedError where it isn't that."""
    try:
        with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
            batch = stream.read_next_batch()
        total = int(batch.schema.metadata[_COUNT])
        found = {name: batch.column(name) for name in batch.schema.names}
    except (KeyError, OSError, StopIteration, TypeError, ValueError) as error:
        raise JobFailedError(f"the job's answer can't be read: {error}") from error
    there = tuple(sorted(i for i in field_ids if stats_column(i) in found))
    return Survivors(ManifestColumns(batch.num_rows, there, InMemory(found)), total)


def _names(field_ids: Iterable[int]) -> tuple[str, ...]:
    return (*_KEPT, PARTITION, *map(stats_column, field_ids))


def _may_pass(asked: ManifestQuestion, manifest: ManifestFile, columns: ManifestColumns) -> Flags:
    source = ColumnarFiles(
        [manifest], lambda _: columns, asked.identity, transforms=asked.transforms
    )
    statistics = FileStatistics(source, asked.uuids, asked.misnamed)
    if any(statistics.column(*key).contradicts for key in asked.question.columns):
        return np.ones(columns.count, dtype=bool)
    kept: Flags = ~judge(asked.question.conjuncts, statistics).none_true
    return kept
