"""A table of log lines, written by several writers at once, so that their files overlap in time.

Each writer's files follow each other; writers begin one after the other within the time of a file.
Inside a file the rows ascend by time, NULLs first, in several row groups.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, TimestamptzType

WRITERS = 8
FIRST_US = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp()) * 1_000_000
DAY_US = 86_400_000_000
_GROUP_ROWS = 10_000
_NULLS = 5
_MESSAGES = 20_000
_SCHEMA = Schema(
    NestedField(1, "ts", TimestamptzType()),
    NestedField(2, "level", StringType()),
    NestedField(3, "host", StringType()),
    NestedField(4, "message", StringType()),
    NestedField(5, "size", LongType()),
    NestedField(6, "writer", IntegerType()),
)
_LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR")


def make_log(
    warehouse: Path,
    name: str,
    files: int,
    rows: int,
    days: int,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """The table `log.<name>`: so many files of so many rows, over so many days, in one commit."""
    catalog = SqlCatalog(
        "lake", uri=f"sqlite:///{warehouse / 'catalog.db'}", warehouse=f"file://{warehouse}"
    )
    catalog.create_namespace_if_not_exists("log")
    by_time = SortField(
        source_id=1,
        transform=IdentityTransform(),
        direction=SortDirection.ASC,
        null_order=NullOrder.NULLS_FIRST,
    )
    table = catalog.create_table(
        f"log.{name}", _SCHEMA, sort_order=SortOrder(by_time), properties={"format-version": "2"}
    )
    folder = Path(table.location().removeprefix("file://")) / "data"
    folder.mkdir(parents=True)
    span = days * DAY_US * WRITERS // files
    lines = _Lines(rows)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for number in range(files):
            turn, writer = divmod(number, WRITERS)
            begin = FIRST_US + turn * span + writer * span // WRITERS
            path = folder / f"{writer}-{turn:06d}.parquet"
            pq.write_table(
                lines.between(begin, begin + span, writer),
                path,
                compression="zstd",
                row_group_size=_GROUP_ROWS,
            )
            append.append_data_file(data_file(table, path))
            tell(f"{number + 1:,} of {files:,} files")


class _Lines:
    """Log lines by the thousands: the texts come out of a stock of them."""

    def __init__(self, rows: int) -> None:
        self._rows, self._random = rows, np.random.default_rng(7)
        numbers = self._random.integers(0, 1 << 40, (_MESSAGES, 2)).tolist()
        texts = [f"request {a:x} of /api/v1/items/{b % 9973} took {b % 977} ms" for a, b in numbers]
        self._stock = {
            "level": pa.array(_LEVELS),
            "host": pa.array([f"host-{n:03d}" for n in range(200)]),
            "message": pa.array(texts),
        }
        self._schema = schema_to_pyarrow(_SCHEMA)

    def between(self, begin: int, end: int, writer: int) -> pa.Table:
        """One file's rows, in the order of their times; a few have none."""
        rows, random = self._rows, self._random
        times = np.sort(random.integers(begin, end, rows))
        ts = pa.array(times, mask=np.arange(rows) < _NULLS).cast(pa.timestamp("us", "UTC"))
        made: dict[str, Any] = {"ts": ts}
        for column, stock in self._stock.items():
            made[column] = stock.take(pa.array(random.integers(0, len(stock), rows)))
        made["size"] = pa.array(random.integers(0, 1 << 20, rows))
        made["writer"] = pa.array(np.full(rows, writer, dtype=np.int32))
        return pa.table(made).cast(self._schema)


def data_file(table: Table, path: Path, **other: Any) -> DataFile:
    """The entry of a Parquet file that was just written, with its statistics or `other` ones."""
    schema, properties = table.schema(), table.properties
    statistics = data_file_statistics_from_parquet_metadata(
        parquet_metadata=pq.read_metadata(path),
        stats_columns=compute_statistics_plan(schema, properties),
        parquet_column_mapping=parquet_path_to_id_mapping(schema),
    )
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        file_size_in_bytes=path.stat().st_size,
        sort_order_id=table.sort_order().order_id,
        spec_id=0,
        equality_ids=None,
        key_metadata=None,
        **{**statistics.to_serialized_dict(), **other},
    )
