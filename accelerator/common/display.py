"""How answers are shown to people: values and types as text, tables for terminals and notebooks.

Names and values come from warehouses. Promise: none of them moves a terminal's cursor, names its
window, turns the text round, or is read as HTML.
"""

from __future__ import annotations

import html
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from accelerator.common.arrow.python_values import rows_of, shown_values
from rewrite.text.printable import printable

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from accelerator.common.statement_metrics import Metrics

_CELL_MAX = 2000
_USEFUL = (
    *("cube", "index", "name", "id", "status", "state", "elapsed_ms", "engine", "cubes"),
    *("files_covered", "files_total", "bytes", "hits", "kind", "column", "table", "problem"),
    *("last_error", "rows"),
)
"""Columns of lists, those first that most people look for."""
_MEASURED = 1000
"""Rows whose width is measured."""
_INDENTED = "\n      "
"""Further lines of a value in `vertical_text`."""
_HTML_ROWS, _HTML_COLUMNS = 20, 50
_WIDE = 100_000
"""Where no terminal sets a width nothing is left out."""


def cut(text: str) -> str:
    """A long text's beginning and its length; others as they are."""
    return text if len(text) <= _CELL_MAX else f"{text[:_CELL_MAX]}… ({len(text):,} characters)"


def table_text(table: pa.Table, rows: int = 20, width: int | None = None) -> str:
    """The first rows with lines around them, by DuckDB's renderer; long texts cut, saying so.

    Args:
        table: the answer.
        rows: at most so many are shown; 0: all.
        width: of characters in a line; None: the terminal's, or none. Columns that don't fit are
            left out.
    """
    import duckdb
    import pyarrow as pa

    if not table.num_columns:
        return ""
    if width is None:
        width = shutil.get_terminal_size().columns if is_terminal() else _WIDE
    shown = table.slice(0, rows) if rows else table
    with renderer().cursor() as connection:
        try:
            text = _boxed(connection, _drawn(shown), width)
        except (duckdb.Error, pa.ArrowException):  # a type that DuckDB hasn't
            text = _boxed(connection, _drawn(shown, as_texts=True), width)
    return printable(text.rstrip("\n"))


@cache
def renderer() -> duckdb.DuckDBPyConnection:
    """Opens the database that draws tables, once per process: it takes longer than most answers."""
    import duckdb

    connection = duckdb.connect(config={"threads": "1"})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # of its cursors, too
    return connection


def fitting(table: pa.Table, width: int | None = None) -> tuple[pa.Table, list[str]]:
    """The columns of a list, as SHOW CUBES gives it, that fit in a line, and the others' names.

    Columns without a value are dropped first, then those behind the columns in `_USEFUL`.

    Args:
        table: the list.
        width: of characters in a line; None: the terminal's. Without a terminal all columns fit.
    """
    if width is None:
        width = shutil.get_terminal_size().columns if is_terminal() else _WIDE
    widths = [_drawn_width(table, at) for at in range(table.num_columns)]
    if sum(widths) + 1 <= width:
        return table, []
    names = table.column_names
    is_empty = [column.null_count == len(column) for column in table.columns]
    ranks = [_USEFUL.index(name) if name in _USEFUL else len(_USEFUL) for name in names]
    left, chosen = width - 1, set[int]()
    for at in sorted(range(len(names)), key=lambda at: (is_empty[at], ranks[at], at)):
        if widths[at] <= left and not (is_empty[at] and table.num_rows):
            chosen.add(at)
            left -= widths[at]
    if not chosen:
        return table, []
    others = [printable(name) for at, name in enumerate(names) if at not in chosen]
    return table.select(sorted(chosen)), others


def not_shown(names: Sequence[str], instead: str) -> str:
    """The sentence on the columns that `fitting` has dropped, in lines of the terminal's width."""
    width = shutil.get_terminal_size().columns if is_terminal() else _WIDE
    text = f"not shown: {', '.join(names)}; {instead}"
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def _drawn_width(table: pa.Table, at: int) -> int:
    """Characters of the column with its frame, about."""
    values = [row[0] for row in rows_of(table.select([at]).slice(0, _MEASURED))]
    texts = ["NULL" if one is None else text_value(one) for one in values]
    return 3 + max(map(len, (table.column_names[at], type_name(table.schema.types[at]), *texts)))


def vertical_text(table: pa.Table, rows: int = 20) -> str:
    """The first rows, each value on a line of its own behind its column's name.

    Args:
        table: the answer.
        rows: at most so many are shown; 0: all.
    """
    names = table.schema.names
    width = max(map(len, names), default=0)
    lines: list[str] = []
    for number, row in enumerate(rows_of(table.slice(0, rows) if rows else table), 1):
        lines.append(f"row {number}")
        for name, value in zip(names, row, strict=True):
            text = "NULL" if value is None else cut(text_value(value))
            lines.append(f"  {name:<{width}}  ".replace("\n", " ") + text.replace("\n", _INDENTED))
    return printable("\n".join(lines))


def _boxed(connection: Any, table: pa.Table, width: int) -> str:
    relation, rows = connection.from_arrow(table), max(1, table.num_rows)
    # `show` prints what this gives, and what is printed is the whole process's.
    return str(relation._box(max_width=width, max_rows=rows, null_value="NULL"))


def is_terminal() -> bool:
    """Whether what's printed is read by a person; a process may have closed it."""
    return sys.stdout is not None and sys.stdout.isatty()


def table_html(table: pa.Table, metrics: Metrics) -> str:
    """The first rows as an HTML table with types, and a line on how they came."""
    shown = table.slice(0, _HTML_ROWS).select(range(min(table.num_columns, _HTML_COLUMNS)))
    heads = "".join(
        f"<th>{_escaped(one.name)}<br><small>{_escaped(type_name(one.type))}</small></th>"
        for one in shown.schema
    )
    columns = [shown_values(column) for column in shown.columns]
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in zip(*columns, strict=True))
    left = []
    if table.num_rows > shown.num_rows:
        left.append(f"the first {shown.num_rows} rows")
    if table.num_columns > shown.num_columns:
        left.append(f"{shown.num_columns} of {table.num_columns} columns")
    told = _escaped(" · ".join([footer(table.num_rows, metrics.to_dict()), *left]))
    return (
        f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table><small>{told}</small>"
    )


def _cell(value: object) -> str:
    if value is None:
        return "<td><i>NULL</i></td>"
    align = " align=right" if isinstance(value, int | float | Decimal) else ""
    return f"<td{align}>{_escaped(cut(text_value(value)))}</td>"


def _escaped(text: str) -> str:
    return html.escape(printable(text))


def _drawn(table: pa.Table, *, as_texts: bool = False) -> pa.Table:
    """With names that DuckDB leaves as they are, and as texts what it has no type for."""
    import pyarrow as pa

    names: list[str] = []
    spaces: dict[str, int] = {}
    seen: set[str] = set()
    for name in map(printable, table.column_names):
        unique = name or " "
        while unique.lower() in seen:
            spaces[name] = spaces.get(name, 0) + 1
            unique = name + spaces[name] * " "
        seen.add(unique.lower())
        names.append(unique)
    arrays = [_drawable(column, as_text=as_texts) for column in table.columns]
    return pa.Table.from_arrays(arrays, names=names)


def _drawable(column: pa.ChunkedArray, *, as_text: bool) -> pa.ChunkedArray:
    """As DuckDB may draw it: as texts what it has no type for, is too long, or isn't printable."""
    import pyarrow as pa
    import pyarrow.types as t

    kind = column.type
    drawn = not (as_text or t.is_null(kind) or t.is_duration(kind) or t.is_interval(kind))
    if drawn and not (_is_text(kind) or _is_bytes(kind) or t.is_nested(kind)):
        return column
    told = [None if one is None else text_value(one) for one in shown_values(column)]
    shown = [None if one is None else cut(printable(one)) for one in told]
    if drawn and shown == told and not (t.is_nested(kind) and any(map(_has_escapes, told))):
        return column
    return pa.chunked_array([pa.array(shown, pa.string())])


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow.types as t

    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    import pyarrow.types as t

    return bool(t.is_binary(kind) or t.is_large_binary(kind) or t.is_fixed_size_binary(kind))


def _has_escapes(told: str | None) -> bool:
    """Whether a value as JSON has what DuckDB would draw as it is, or end a text at."""
    return told is not None and "\\u00" in told


def footer(rows: int, metrics: Mapping[str, Any]) -> str:
    """E.g. `5 rows · 3.2 ms · duckdb · cube sales`."""
    parts = [f"{rows:,} row{'' if rows == 1 else 's'}"]
    parts.append(f"{metrics['planning_ms'] + metrics['execution_ms']:.1f} ms")
    if metrics["engine"] != "none":  # a statement of our own
        parts.append(str(metrics["engine"]))
    if metrics["cubes"]:
        parts.append(f"cube {', '.join(metrics['cubes'])}")
    if metrics["fallback"]:
        parts.append(f"plain ({metrics['fallback']})")
    return " · ".join(parts)


def text_value(value: object) -> str:
    """A value that isn't NULL, as people read it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list | tuple):
        return json.dumps(json_value(value), ensure_ascii=False)
    return str(json_value(value))


def json_value(value: object) -> object:
    """The value in JSON's types, with nothing lost."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _float_word(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, Mapping):
        return {str(key): json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):  # a map is a list of pairs
        return [json_value(inner) for inner in value]
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _float_word(value: float) -> str:
    """As Spark writes it."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def type_name(kind: pa.DataType) -> str:
    """Spark's name of an Arrow type; Arrow's own where Spark has none."""
    import pyarrow.types as t

    if t.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if t.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if t.is_map(kind):
        return f"map<{type_name(kind.key_type)},{type_name(kind.item_type)}>"
    if t.is_list(kind) or t.is_large_list(kind):
        return f"array<{type_name(kind.value_type)}>"
    if t.is_struct(kind):
        return f"struct<{','.join(f'{one.name}:{type_name(one.type)}' for one in kind)}>"
    return _TYPE_NAMES.get(str(kind), str(kind))


_TYPE_NAMES = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "double": "double",
    "large_string": "string",
    "large_binary": "binary",
    "date32[day]": "date",
    "null": "void",
    "duration[us]": "interval day to second",
}
