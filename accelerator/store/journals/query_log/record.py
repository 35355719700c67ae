"""What is kept of one statement that was asked: the record, its columns, and how large each may be.

Texts are kept as they came, control characters too: whoever shows them escapes them. Longer ones
than their columns may have are cut.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from accelerator.common.statement_metrics import Metrics

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["text", "texts", "count", "counts", "number", "flag", "time"]
State = Literal["FINISHED", "FAILED", "CANCELLED"]
Process = Literal["gateway", "session"]

LIST_MAX = 32
"""Of a column of lists each has at most so many elements; the first ones are kept."""
READ_MAX = 20_000
"""Characters of a statement that are looked at; more than a record keeps."""
ROWS_MAX = 20_000
"""Rows of a file that readers take; processes write a tenth of it at most, merges the rest."""
TIME_MAX = 253_402_300_799_999_999
"""The last microsecond of the year 9999."""
_REASON = re.compile(r"([a-z][a-z0-9_]*): ")


class LogRecord(Struct, frozen=True, kw_only=True):
    """One statement that has ended.

    `started_us`: Unix time in microseconds. `queued_ms`, `elapsed_ms` (all of it, waiting too),
    `planning_ms`, `execution_ms`. `state`: FINISHED, FAILED or CANCELLED. `sql` as it was written,
    in the `dialect`: secrets are taken out before it's stored. `sql_length`: characters of the
    whole statement, by default what `sql` has. `engine` as in `Metrics`. `cached`: the answer was
    kept from before. `tables`: full names, and in the same order their `snapshots` where those are
    known. `reason`: the code of why cubes or indexes weren't used, and `reason_text` its sentence.
    `files_total`, `files_planned` (left after planning), `files_read`, `row_groups_read`,
    `bytes_read`; `rows` and `bytes_given` of the answer. `worker`: the process that ran it. None:
    not known.
    """

    id: str
    started_us: int
    state: State
    sql: str
    process: Process
    sql_length: int | None = None
    user: str | None = None
    source: str | None = None
    client_tags: tuple[str, ...] = ()
    queued_ms: float | None = None
    elapsed_ms: float | None = None
    planning_ms: float | None = None
    execution_ms: float | None = None
    error_code: str | None = None
    error_message: str | None = None
    dialect: str = "spark"
    catalog: str | None = None
    schema: str | None = None
    engine: str | None = None
    cached: bool = False
    rewritten: bool = False
    cubes: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    snapshots: tuple[int, ...] = ()
    reason: str | None = None
    reason_text: str | None = None
    files_total: int | None = None
    files_planned: int | None = None
    files_read: int | None = None
    row_groups_read: int | None = None
    bytes_read: int | None = None
    rows: int | None = None
    bytes_given: int | None = None
    worker: int | None = None


MEASURED = tuple(sorted({*Metrics.__struct_fields__} & {*LogRecord.__struct_fields__}))
"""The fields of `Metrics` that are a record's, under the same names."""


def figures(metrics: Metrics) -> dict[str, Any]:
    """Returns a statement's metrics as fields of its `LogRecord`."""
    code, text = reason_of(metrics.fallback or metrics.all_rows)
    found = {name: getattr(metrics, name) for name in MEASURED}
    return found | {"reason": code, "reason_text": text}


def reason_of(line: str | None) -> tuple[str | None, str | None]:
    """Code and sentence of a reason as metrics tell it: `code: sentence`."""
    found = _REASON.match(line) if line else None
    if not line or found is None:
        return None, line or None
    return found[1], line[found.end() :]


class LogColumn(Struct, frozen=True):
    """One column: `most` are the bytes that a text, or one of several, may have in UTF-8."""

    name: str
    kind: Kind
    most: int = 0
    required: bool = False


COLUMNS = (
    LogColumn("id", "text", 128, required=True),
    LogColumn("started", "time", required=True),
    LogColumn("state", "text", 16, required=True),
    LogColumn("process", "text", 16, required=True),
    LogColumn("user", "text", 256),
    LogColumn("source", "text", 256),
    LogColumn("client_tags", "texts", 128),
    LogColumn("queued_ms", "number"),
    LogColumn("elapsed_ms", "number"),
    LogColumn("planning_ms", "number"),
    LogColumn("execution_ms", "number"),
    LogColumn("error_code", "text", 128),
    LogColumn("error_message", "text", 2048),
    LogColumn("sql", "text", 16 * 1024, required=True),
    LogColumn("sql_length", "count"),
    LogColumn("dialect", "text", 32),
    LogColumn("shape", "text", 32),
    LogColumn("shape_text", "text", 4096),
    LogColumn("catalog", "text", 256),
    LogColumn("schema", "text", 256),
    LogColumn("engine", "text", 32),
    LogColumn("cached", "flag"),
    LogColumn("rewritten", "flag"),
    LogColumn("cubes", "texts", 256),
    LogColumn("indexes", "texts", 256),
    LogColumn("tables", "texts", 512),
    LogColumn("snapshots", "counts"),
    LogColumn("reason", "text", 128),
    LogColumn("reason_text", "text", 2048),
    LogColumn("files_total", "count"),
    LogColumn("files_planned", "count"),
    LogColumn("files_read", "count"),
    LogColumn("row_groups_read", "count"),
    LogColumn("bytes_read", "count"),
    LogColumn("rows", "count"),
    LogColumn("bytes_given", "count"),
    LogColumn("worker", "count"),
)
COLUMN_OF = {column.name: column for column in COLUMNS}


def arrow_type(kind: Kind) -> pa.DataType:
    """Of a column's values."""
    import pyarrow as pa  # the process that only adds records needs none of it yet

    return {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "count": pa.int64(),
        "counts": pa.list_(pa.int64()),
        "number": pa.float64(),
        "flag": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
    }[kind]


def arrow_schema() -> pa.Schema:
    """Of the log's rows."""
    import pyarrow as pa

    return pa.schema([pa.field(one.name, arrow_type(one.kind)) for one in COLUMNS])


def bounded(text: str, most: int) -> str:
    """The text in at most so many bytes of UTF-8; a cut one ends in `…`.

    >>> bounded("abcdef", 5)
    'ab…'
    """
    data = text[: most + 1].encode("utf-8", "replace")  # half of a character has no bytes
    if len(data) <= most and len(text) <= most:
        return data.decode()
    return data[: most - 3].decode("utf-8", "ignore") + "…"
