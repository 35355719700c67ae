"""What an error at once would say of a statement, were Spark not there to be asked."""

from __future__ import annotations

from accelerator.at_once.check import check
from accelerator.at_once.tables import LakeTables
from accelerator.errors import AcceleratorError
from accelerator.iceberg import Lake
from accelerator.statements.grammar import parse_statement


def told_at_once(lake: Lake, sql: str) -> AcceleratorError | None:
    """The error; None where nothing is claimed."""
    try:
        check(parse_statement(sql), LakeTables(lake, "lake"))
    except AcceleratorError as error:
        return error
    return None
