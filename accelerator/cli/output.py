"""Answers for people (tables) and programs (one JSON document).

Rows go to standard output, everything about them to standard error. A NULL is told from a text,
and JSON keeps every value: decimals are texts, bytes are hexadecimal, NaN and infinity are texts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from accelerator.cli.terminal import say
from accelerator.common.arrow.python_values import rows_of
from accelerator.common.display import (
    fitting,
    footer,
    json_value,
    not_shown,
    table_text,
    type_name,
    vertical_text,
)

if TYPE_CHECKING:
    from accelerator.query.results.result import Result
    from accelerator.services.verification.compare import Verification


def print_json(document: object) -> None:
    """The whole document, once."""
    say(json.dumps(document, ensure_ascii=False, indent=2))


def answer_json(answer: Result) -> dict[str, Any]:
    """A statement's answer as JSON values; rows are lists, since a name may stand twice."""
    table = answer.arrow()
    return {
        "columns": [{"name": one.name, "type": type_name(one.type)} for one in table.schema],
        "rows": [[json_value(value) for value in row] for row in rows_of(table)],
        "metrics": answer.metrics.to_dict(),
    }


def print_answer(
    answer: Result, rows_max: int, *, vertical: bool = False, listing: bool = False
) -> None:
    """The rows as a table, at most so many of them (0: all), and a line on how they came.

    If it's `vertical`, each value has a line. Columns of a `listing` that don't fit are dropped.
    """
    table, others = answer.arrow(), list[str]()
    if listing and not vertical:
        table, others = fitting(table)
    if table.num_columns and (table.num_rows or not vertical):
        say(vertical_text(table, rows_max) if vertical else table_text(table, rows_max))
    if others:
        say(not_shown(others, "--json has all"), err=True)
    if 0 < rows_max < table.num_rows:
        say(f"{table.num_rows - rows_max} more rows: --rows 0 shows all, --json too", err=True)
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
