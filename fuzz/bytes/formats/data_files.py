"""A table's data file: by DuckDB's own reader, as a statement over all rows reads it.

Nothing seals a data file, so a damaged one may give other rows: what is tried is that it ends in an
answer of as many rows as its manifest says, or in an error.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cache, partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, DoubleType, LongType, NestedField, StringType

from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.engines.duckdb.table_scan import table_scan
from accelerator.errors import AcceleratorError, EngineError
from accelerator.iceberg import LiveFile
from fuzz.bytes.kinds import Format, Input, Step, WrongError
from rewrite.facts import ColumnFacts, TableFacts

_ROWS = 3_000
_SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "x", DoubleType()),
    NestedField(3, "s", StringType()),
    NestedField(4, "p", DecimalType(9, 2)),
)
_FACTS = TableFacts(
    "lake.d.t",
    "u",
    1,
    0,
    (
        ColumnFacts(1, "id", "bigint", False),
        ColumnFacts(2, "x", "double", False),
        ColumnFacts(3, "s", "string", False),
        ColumnFacts(4, "p", "decimal(9,2)", False),
    ),
)
_NAMES = [column.name for column in _FACTS.columns]
_ASKED = (
    "SELECT count(*) AS n FROM t",
    "SELECT count(*) AS n, sum(id) AS i, max(x) AS x, min(s) AS s, sum(p) AS p FROM t",
    "SELECT count(*) AS n FROM t WHERE id > 10 AND x < 5 AND s >= 'a' AND p <> 0",
)
_NUMBERS = count()


def _samples() -> Sequence[Input]:
    every = range(_ROWS)
    rows = {
        "id": pa.array(every, pa.int64()),
        "x": pa.array([None if at % 7 == 0 else at / 3 for at in every], pa.float64()),
        "s": pa.array([f"text {at % 50}" for at in every]),
        "p": pa.array([Decimal(at) / 100 for at in every], pa.decimal128(9, 2)),
    }
    fields = [
        pa.field(name, column.type, metadata={"PARQUET:field_id": str(at)})
        for at, (name, column) in enumerate(rows.items(), start=1)
    ]
    table = pa.table(list(rows.values()), schema=pa.schema(fields))
    found = []
    for how in (
        {"compression": "none"},
        {"compression": "zstd", "row_group_size": 1_000},
        {"compression": "snappy", "use_dictionary": False, "data_page_version": "2.0"},
    ):
        sink = io.BytesIO()
        pq.write_table(table, sink, **how)
        found.append(Input(sink.getvalue()))
    return found


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz-bytes"))


@cache
def _engine() -> DuckDBEngine:
    return DuckDBEngine(threads=1, memory=1_000_000_000, folders=[str(_folder())])


def _steps(given: Input) -> Iterable[Step]:
    for sql in _ASKED:
        yield partial(_answer, given.data, sql)


def _answer(data: bytes, sql: str) -> Any:
    path = _folder() / f"{next(_NUMBERS)}.parquet"  # footers are kept by their files' names
    try:
        path.write_bytes(data)
        file = LiveFile(str(path), 1, len(data), _ROWS, "parquet", 0)
        scan = table_scan(cast(Any, _pinned()), _NAMES, [file], "t", _engine())
        (row,) = _engine().run(f"WITH t AS ({scan.text}) {sql}", scan.tables).to_pylist()
    finally:
        path.unlink(missing_ok=True)
    if "WHERE" not in sql and row["n"] != _ROWS:
        raise WrongError(f"{row['n']} rows")
    return repr(row)


@cache
def _pinned() -> SimpleNamespace:
    return SimpleNamespace(
        facts=_FACTS,
        schema=_SCHEMA,
        pyiceberg_schema=_SCHEMA,
        metadata_location=f"{_folder()}/v1.metadata.json",
        locations=(str(_folder()),),
        io_properties={},
        defaulted_fields=frozenset(),
        arrow=_by_others,
    )


def _by_others(*_: object) -> NoReturn:
    """What DuckDB's reader isn't given is read as before."""
    raise EngineError("another reader's")


FORMATS = (
    Format(
        "data file", _samples, _steps, (AcceleratorError, OSError, ValueError, pa.ArrowException)
    ),
)
