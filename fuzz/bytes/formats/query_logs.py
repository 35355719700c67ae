"""A file of the query log: damaged ones give rows of sound columns, or one of two errors.

Pages have checksums, but whoever damages a file may say that they have none, or write others; so
other rows may come, and only their form is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from accelerator.store.journals.query_log.encoding.decode import DamagedError, NewerError, decoded
from accelerator.store.journals.query_log.encoding.encode import encoded
from accelerator.store.journals.query_log.record import COLUMN_OF, LIST_MAX, LogRecord, arrow_schema
from fuzz.bytes.kinds import Format, Input, Step, WrongError


def _record(number: int) -> LogRecord:
    return LogRecord(
        id=f"q{number}",
        started_us=1_764_254_400_000_000 + number,
        state="FINISHED",
        sql=f"SELECT a, sum(b) FROM t WHERE c = {number} GROUP BY a",
        process="gateway",
        user=f"user{number % 3}",
        client_tags=("a",) * (number % 3),
        tables=("lake.d.t", "lake.d.u"),
        snapshots=(1, number),
        elapsed_ms=number / 3,
        rows=number,
    )


def _samples() -> Sequence[Input]:
    return [
        Input(encoded([_record(number) for number in range(rows)], rows).data)
        for rows in (1, 30, 500)
    ]


def _steps(given: Input) -> Iterable[Step]:
    yield partial(_rows, given.data)


def _rows(data: bytes) -> Any:
    found = decoded(data)
    if not found.rows.schema.equals(arrow_schema()):
        raise WrongError("other columns")
    rows = found.rows.to_pylist()
    for row in rows:
        for name, value in row.items():
            column = COLUMN_OF[name]
            values = value if isinstance(value, list) else [value]
            texts = [one for one in values if isinstance(one, str)]
            if len(values) > LIST_MAX or any(len(one.encode()) > column.most for one in texts):
                raise WrongError(f"{name} is longer than it may be")
            if value is None and column.required:
                raise WrongError(f"{name} has no value")
    return rows


FORMATS = (Format("query log", _samples, _steps, (DamagedError, NewerError)),)
