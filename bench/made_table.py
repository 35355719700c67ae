"""Iceberg tables of Parquet files that a bench makes itself, in one append."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema

from bench.log_table import data_file

Words = npt.NDArray[np.uint64]
Make = Callable[[int], pa.Table]
"""The rows of the file of that number."""


def make_table(
    warehouse: Path,
    name: str,
    schema: Schema,
    make: Make,
    *,
    files: int,
    group_rows: int,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """The table `bench.<name>`: its data files, in the order of their numbers."""
    catalog = SqlCatalog(
        "lake", uri=f"sqlite:///{warehouse / 'catalog.db'}", warehouse=f"file://{warehouse}"
    )
    catalog.create_namespace_if_not_exists("bench")
    table = catalog.create_table(f"bench.{name}", schema, properties={"format-version": "2"})
    folder = Path(table.location().removeprefix("file://")) / "data"
    folder.mkdir(parents=True)
    stored = schema_to_pyarrow(schema)
    paths = []
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for number in range(files):
            path = folder / f"{number:06d}.parquet"
            rows = make(number).cast(stored)
            pq.write_table(rows, path, compression="zstd", row_group_size=group_rows)
            # Without its row groups' places, so that a task of Spark's reads a whole file.
            append.append_data_file(data_file(table, path, split_offsets=None))
            paths.append(path)
            tell(f"{number + 1:,} of {files:,} files")
    catalog.close()
    return paths


def forget_pages(folder: Path) -> None:
    """Has the system forget what it keeps in memory of the folder's files."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in folder.rglob("*"):
        if path.suffix in (".parquet", ".puffin", ".avro"):
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def mixed(numbers: Words) -> Words:
    """Another number for each, scattered over all 64 bits; none twice."""
    found = numbers + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


def hex_texts(words: Words) -> pa.Array:
    """Sixteen digits of each."""
    digits = words.astype(">u8").tobytes().hex().encode()
    places = pa.array(np.arange(len(words) + 1, dtype=np.int32) * 16)
    return pa.Array.from_buffers(
        pa.string(), len(words), [None, places.buffers()[1], pa.py_buffer(digits)]
    )


def column_bytes(paths: Sequence[Path], column: str) -> int:
    """Of the column in those files, as stored."""
    total = 0
    for path in paths:
        metadata = pq.read_metadata(path)
        at = metadata.schema.names.index(column)
        groups = range(metadata.num_row_groups)
        total += sum(metadata.row_group(g).column(at).total_compressed_size for g in groups)
    return total


def group_bytes(path: Path, groups: Sequence[int], columns: Sequence[str] = ()) -> int:
    """Of those columns of those row groups as stored; without names, of all columns."""
    metadata = pq.read_metadata(path)
    names = metadata.schema.names
    wanted = [at for at, name in enumerate(names) if not columns or name in columns]
    return sum(
        metadata.row_group(g).column(at).total_compressed_size for g in groups for at in wanted
    )
