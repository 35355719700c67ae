"""Records as the bytes of a Parquet file.

All values of a column are looked at together, since a busy process writes thousands of records:
one by one they are only where some of them aren't of their column's type.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from accelerator.errors import UNFIT
from accelerator.store.journals.query_log.encoding.arrays import array
from accelerator.store.journals.query_log.record import (
    COLUMNS,
    LIST_MAX,
    TIME_MAX,
    LogColumn,
    LogRecord,
    arrow_schema,
    bounded,
)
from accelerator.store.journals.query_log.statement_text import redact_sql
from accelerator.store.journals.query_log.writing.merged_parts import WrittenLogFile, parts_text

VERSION = 1
"""Of the columns and their meaning; a reader passes newer ones over."""
VERSION_KEY, LOST_KEY = b"accelerator.query_log.version", b"accelerator.query_log.lost"
PARTS_KEY = b"accelerator.query_log.parts"
COUNT_MAX = 2**63 - 1
_SCALARS = {"count": int, "flag": bool, "number": float, "time": int, "text": str}


class Encoded(Struct, frozen=True):
    """A file's bytes. Times are those of its records; `refused` of them had values of other types.

    `data` is empty where there are no rows.
    """

    data: bytes
    rows: int
    oldest_us: int
    newest_us: int
    refused: int


def encoded(records: Iterable[LogRecord], lost: int) -> Encoded:
    """The records as a file, with how many before them were lost; those refused count as well."""
    given, refused = list(records), 0
    try:
        table = _table(given)
    except (pa.ArrowException, *UNFIT):  # of one of them, maybe: the others are written
        rows = []
        for record in given:
            try:
                rows.append(_row(record))
            except UNFIT:
                refused += 1
        table = pa.Table.from_pylist(rows, schema=arrow_schema())
    if not table.num_rows:
        return Encoded(b"", 0, 0, 0, refused)
    times = pc.min_max(table["started"].cast(pa.int64())).as_py()
    data = file_of(table, lost + refused)
    return Encoded(data, table.num_rows, times["min"], times["max"], refused)


def file_of(rows: pa.Table, lost: int, parts: Sequence[WrittenLogFile] = ()) -> bytes:
    """The bytes of a file with these rows, of `arrow_schema`; `parts` of a merged one."""
    metadata = {VERSION_KEY: str(VERSION).encode(), LOST_KEY: str(lost).encode()}
    if parts:
        metadata[PARTS_KEY] = parts_text(parts)
    out = io.BytesIO()
    # A file of few records is mostly footer: names tell times, so bounds of columns serve nobody.
    with pq.ParquetWriter(
        out,
        rows.schema,
        compression="zstd",
        write_page_checksum=True,
        write_statistics=False,
        store_schema=False,
    ) as file:
        file.write_table(rows)
        file.add_key_value_metadata(metadata)
    return out.getvalue()


def _table(records: Sequence[LogRecord]) -> pa.Table:
    """The rows; what UNFIT and Arrow have where a value isn't of its column's type."""
    derived = _derived(records)
    columns = {}
    for column in COLUMNS:
        name = column.name
        values = derived[name] if name in derived else list(map(attrgetter(name), records))
        columns[name] = _column(column, values)
    return pa.table(columns, schema=arrow_schema())


def _derived(records: Iterable[LogRecord]) -> dict[str, list[Any]]:
    """The columns that aren't just a record's fields."""
    rows = [_of_text(record) for record in records]
    names = rows[0].keys() if rows else ()
    return {name: [row[name] for row in rows] for name in names}


def _of_text(record: LogRecord) -> dict[str, Any]:
    text = redact_sql(record.sql, record.dialect)
    whole = len(record.sql) if record.sql_length is None else record.sql_length
    is_whole = whole == len(record.sql)
    return {
        "started": record.started_us,
        "sql": text.text,
        "sql_length": whole,
        "shape": text.shape if is_whole else None,
        "shape_text": text.shape_text if is_whole else None,
        "error_message": text.hidden_in(record.error_message),
        "reason_text": text.hidden_in(record.reason_text),
    }


def _column(column: LogColumn, values: list[Any]) -> pa.Array:
    """The column of these values, which are of its type; TypeError or ValueError otherwise."""
    kind = column.kind
    if kind in ("texts", "counts"):
        if not any(values):
            return array(kind, [()] * len(values))
        element = str if kind == "texts" else int
        found = set(map(type, values)), set(map(type, chain.from_iterable(values)))
        plain = found[0] <= {tuple, list} and found[1] <= {element}
    else:
        types = set(map(type, values))
        if types == {type(None)}:
            plain = not column.required
        else:
            plain = types <= {_SCALARS[kind], *(() if column.required else (type(None),))}
    made = array(kind, values) if plain else None
    if made is None or not _is_within(column, made):
        return array(kind, [_checked(column, one) for one in values])
    return made


def _is_within(column: LogColumn, made: pa.Array) -> bool:
    """Whether no value is beyond what its column may have."""
    kind = column.kind
    if kind in ("texts", "counts") and (pc.max(pc.list_value_length(made)).as_py() or 0) > LIST_MAX:
        return False
    if kind in ("text", "texts"):
        texts = made if kind == "text" else made.values
        return (pc.max(pc.binary_length(texts)).as_py() or 0) <= column.most
    if kind == "number":
        return pc.all(pc.is_finite(made)).as_py() is not False
    if kind == "time":
        ends = pc.min_max(made.cast(pa.int64())).as_py()
        return bool(0 <= (ends["min"] or 0) <= (ends["max"] or 0) <= TIME_MAX)
    return True


def _row(record: LogRecord) -> Mapping[str, Any]:
    """TypeError or ValueError for a value of another type than its column's."""
    derived = _of_text(record)
    return {
        one.name: _checked(
            one, derived[one.name] if one.name in derived else getattr(record, one.name)
        )
        for one in COLUMNS
    }


def _checked(column: LogColumn, value: Any) -> Any:
    if value is None and column.required:
        raise ValueError(f"{column.name} is None")
    return None if value is None else _value(column, value)


def _value(column: LogColumn, value: Any) -> Any:
    kind = column.kind
    if kind == "texts":
        return [bounded(one, column.most) for one in _texts(value)]
    if kind == "counts":
        return [_whole(one) for one in value[:LIST_MAX]]
    if kind == "text":
        (text,) = _texts([value])
        return bounded(text, column.most)
    if kind == "flag":
        if not isinstance(value, bool):
            raise TypeError("neither true nor false")
        return value
    if kind == "number":
        if not isinstance(value, int | float):
            raise TypeError("no number")
        number = float(value)
        return number if abs(number) < float("inf") else None
    whole = _whole(value)
    if kind == "time" and not 0 <= whole <= TIME_MAX:
        raise ValueError("no time of the years 1970 to 9999")
    return whole


def _texts(values: Sequence[Any]) -> list[str]:
    found = [one for one in values[:LIST_MAX] if isinstance(one, str)]
    if len(found) < min(len(values), LIST_MAX) or isinstance(values, str):
        raise TypeError("not a text")
    return found


def _whole(value: Any) -> int:
    if not isinstance(value, int) or not -COUNT_MAX <= value <= COUNT_MAX:
        raise ValueError("no whole number of 64 bits")
    return int(value)
