"""Arrow's values as Python's, and as texts where Python has none: dates after 9999, odd bytes.

Promise: a value is Python's own or an error that names its column, never one that was changed.
Texts are for people alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any

from accelerator.errors import UnrepresentableError

if TYPE_CHECKING:
    import pyarrow as pa

_UNFIT = (OverflowError, ValueError, KeyError)
"""What Arrow raises for values that Python has no form of."""
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows as tuples of Python values; UnrepresentableError where Python lacks one."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        with _checking_text(f"the column {name}", "Python"):
            columns.append(column.to_pylist())
    return list(zip(*columns, strict=True)) if columns else [()] * int(table.num_rows)


@contextmanager
def _checking_text(what: str, whose: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise UnrepresentableError(
            f"{what} has a text that isn't UTF-8", hint="CAST it AS BINARY"
        ) from error
    except _UNFIT as error:
        raise UnrepresentableError(
            f"{what} has a value that {whose} has no form of: {error}",
            hint="Python's years are 1 to 9999; arrow() has all values, and so has CAST AS STRING",
        ) from error


def pandas_of(table: pa.Table) -> Any:
    """The rows as a pandas frame; UnrepresentableError where it can't have a value."""
    import pyarrow as pa

    with _checking_text("the answer", "pandas"):
        try:
            for column in table.columns:
                if column.type in (pa.string(), pa.large_string()):
                    column.validate(full=True)  # pandas 3 decodes a text when somebody reads it
            return table.to_pandas()
        except pa.ArrowException as error:  # a text that isn't UTF-8
            if isinstance(error, _UNFIT):
                raise
            raise ValueError(str(error)) from error


def polars_of(table: pa.Table) -> Any:
    """The rows as a polars frame; UnrepresentableError where it has no such columns."""
    import polars

    names = table.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UnrepresentableError(
            f"polars has no two columns of one name, and there are several of {', '.join(twice)}",
            hint="name them apart by AS, or use arrow()",
        )
    try:
        return polars.DataFrame(table)
    except polars.exceptions.PolarsError as error:
        raise UnrepresentableError(
            f"polars can't have these columns: {str(error).splitlines()[0]}", hint="use arrow()"
        ) from error


def shown_values(column: pa.ChunkedArray) -> list[Any]:
    """Python's values; texts in the places of those that Python hasn't."""
    try:
        return list(column.to_pylist())
    except _UNFIT:
        return [_python_value(one) for one in column]


def _python_value(scalar: pa.Scalar) -> Any:
    import pyarrow as pa
    import pyarrow.types as t

    try:
        return scalar.as_py()
    except _UNFIT:
        kind = scalar.type
    if t.is_map(kind):
        return [[_python_value(key), _python_value(value)] for key, value in _pairs(scalar)]
    if t.is_list(kind) or t.is_large_list(kind):
        return [_python_value(one) for one in scalar.values]
    if t.is_struct(kind):
        return {field.name: _python_value(scalar[place]) for place, field in enumerate(kind)}
    if t.is_date32(kind):
        return date_text(scalar.value)
    if t.is_timestamp(kind):
        seconds, rest = divmod(scalar.value, _UNITS[kind.unit])
        days, second = divmod(seconds, 86_400)
        fraction = f".{rest * 10**6 // _UNITS[kind.unit]:06}" if rest else ""
        time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        return f"{date_text(days)} {time}{fraction}{'+00:00' if kind.tz else ''}"
    if t.is_string(kind) or t.is_large_string(kind):
        return scalar.as_buffer().to_pybytes().decode(errors="replace")
    try:
        return scalar.cast(pa.string()).as_py()
    except pa.ArrowException:
        return f"({kind})"


def _pairs(scalar: pa.Scalar) -> Iterator[tuple[pa.Scalar, pa.Scalar]]:
    entries = scalar.values
    yield from zip(entries.field(0), entries.field(1), strict=True)


def date_text(days: int) -> str:
    """A day since 1970 as Spark writes it; the calendar repeats itself every 400 years."""
    cycles, day = divmod(days + date(1970, 1, 1).toordinal() - 1, _CYCLE_DAYS)
    found = date.fromordinal(day + 1)
    year = found.year + cycles * _CYCLE_YEARS
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{found.month:02}-{found.day:02}"
