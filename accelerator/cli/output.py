"""Answers for people (tables) and programs (one JSON document).

Rows go to standard output, everything about them to standard error. A NULL is told from a text,
and JSON keeps every value: decimals are texts, bytes are hexadecimal, NaN and infinity are texts.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from accelerator.cli.session import Answer
from accelerator.cli.terminal import printable, say

if TYPE_CHECKING:
    import pyarrow as pa

    from accelerator.verification import Verification

_WIDTH_UNLIMITED = 100_000  # where no terminal sets one, nothing is cut or folded


def print_json(document: object) -> None:
    """The whole document, once."""
    say(json.dumps(document, ensure_ascii=False, indent=2))


def answer_json(answer: Answer) -> dict[str, Any]:
    """A statement's answer as JSON values; rows are lists, since a name may stand twice."""
    table = answer.arrow()
    return {
        "columns": [{"name": one.name, "type": type_name(one.type)} for one in table.schema],
        "rows": [[json_value(value) for value in row] for row in _rows(table)],
        "metrics": answer.metrics.to_dict(),
    }


def print_answer(answer: Answer, rows_max: int) -> None:
    """The rows as a table, at most so many of them (0: all), and a line on how they came."""
    table = answer.arrow()
    shown = table.slice(0, rows_max) if rows_max else table
    if table.num_columns:
        _print_table(shown)
    if shown.num_rows < table.num_rows:
        say(
            f"{table.num_rows - shown.num_rows} more rows: --rows 0 shows all, --json too", err=True
        )
    say(footer(table.num_rows, answer.metrics.to_dict()), err=True)


def print_verification(found: Verification) -> None:
    """Whether both ways agreed, what differs, and how long each took."""
    if found.equal is None:
        say(f"undecided: {found.undecided}")
    else:
        say("equal" if found.equal else "different")
    for difference in found.differences:
        say(f"  {difference}")
    for name in found.disabled:
        say(f"  {name} is switched off now")
    if found.unattributed:
        say(f"  nothing is switched off: {found.unattributed}")
    parts = [f"{found.rows:,} row{'' if found.rows == 1 else 's'}"]
    parts.append(f"{found.accelerated_ms:.1f} ms accelerated, {found.plain_ms:.1f} ms plain")
    if found.fallback:
        parts.append(f"plain both ways ({found.fallback})")
    if found.estimates:
        parts.append(f"estimates aren't compared: {', '.join(found.estimates)}")
    say(" · ".join(parts), err=True)


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


def _print_table(table: pa.Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(
        file=sys.stdout, width=None if sys.stdout.isatty() else _WIDTH_UNLIMITED, highlight=False
    )
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for one in table.schema:
        numeric = _is_number(one.type)
        drawn.add_column(
            Text(printable(one.name)), justify="right" if numeric else "left", overflow="fold"
        )
    null = Text("NULL", style="dim italic")
    for row in _rows(table):
        drawn.add_row(
            *(null if value is None else Text(printable(text_value(value))) for value in row)
        )
    console.print(drawn)


def _rows(table: pa.Table) -> Sequence[tuple[object, ...]]:
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True))


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow.types as t

    return bool(t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind))


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
