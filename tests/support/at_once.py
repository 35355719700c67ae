"""What an error at once would say of a statement, were Spark not there to be asked."""

from __future__ import annotations

from accelerator.errors import AcceleratorError
from accelerator.iceberg import Lake
from accelerator.query.early_errors.check import check
from accelerator.query.early_errors.lake_tables import LakeTables
from accelerator.query.statements.parse import parse_statement


def told_at_once(lake: Lake, sql: str) -> AcceleratorError | None:
    """The error; None where nothing is claimed."""
    try:
        check(parse_statement(sql), LakeTables(lake, "lake"))
    except AcceleratorError as error:
        return error
    return None
