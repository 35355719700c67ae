"""The answer of a statement: Arrow inside, with what it cost and how it came about."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accelerator.common.arrow.python_values import pandas_of, polars_of, rows_of
from accelerator.common.display import footer, is_terminal, table_html, table_text
from accelerator.common.statement_metrics import Metrics
from accelerator.errors import ConfigError, UnrepresentableError
from rewrite.text.printable import some_of

if TYPE_CHECKING:
    import pandas as pd
    import polars

_BATCH_ROWS = 10_000
_AHEAD_ROWS = 256
_NOTEBOOK_WIDTH = 120
_PRETTY_ROWS = 20


class Result:
    """Rows with Spark's column names and types; complete when the call returns.

    Whatever reads Arrow's C streams reads it: `pa.table(result)`, `polars.from_arrow(result)`,
    `duckdb.sql("FROM result")`. It iterates over tuples of Python values, a batch of them in memory
    at a time. What `fetchone`, `fetchmany` and `fetchall` gave isn't given again by these, to
    whichever thread. UnrepresentableError for a value that Python hasn't; `arrow` has them all.
    """

    def __init__(self, table: pa.Table, metrics: Metrics, explain: Callable[[], str]) -> None:
        self._table, self._explain = table, explain
        self._read, self._lock = 0, threading.Lock()
        self._ahead: list[tuple[Any, ...]] = []
        self.metrics = metrics

    @property
    def schema(self) -> pa.Schema:
        """Names, types and whether NULLs may stand there."""
        return self._table.schema

    @property
    def columns(self) -> list[str]:
        """Column names; Spark allows one name twice."""
        return list(self._table.column_names)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return int(self._table.num_rows)

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._table

    def df(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        frame: pd.DataFrame = pandas_of(self._table)
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """The same as `df`."""
        return self.df()

    def pl(self) -> polars.DataFrame:
        """The rows as a polars frame; ConfigError where polars isn't installed."""
        try:
            frame: polars.DataFrame = polars_of(self._table)
        except ImportError as error:
            raise ConfigError("polars isn't installed", hint="pip install polars") from error
        return frame

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None behind the last."""
        found = self.fetchmany(1)
        return found[0] if found else None

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """So many further rows; fewer at the end."""
        with self._lock:
            self._read_ahead(max(0, int(size)) - len(self._ahead))
            given = self._ahead[: max(0, int(size))]
            del self._ahead[: len(given)]
        return given

    def _read_ahead(self, rows: int) -> None:
        """At least so many more, or all; a slice for each row would take a hundred times longer."""
        if rows <= 0 or self._read == self.num_rows:
            return
        left = self._table.slice(self._read)
        try:
            found = rows_of(left.slice(0, max(rows, _AHEAD_ROWS)))
        except UnrepresentableError:  # of a row that isn't asked for, maybe
            found = rows_of(left.slice(0, rows))
        self._read += len(found)
        self._ahead += found

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that weren't fetched yet."""
        return self.fetchmany(self.num_rows)

    def explain(self) -> str:
        """How the statement was planned, and why not otherwise."""
        return self._explain()

    def show(self, rows: int = 20, width: int | None = None) -> None:
        """Prints the first rows (0: all) as a table that is no wider than the terminal.

        Columns in the middle that don't fit are left out, and counted below.
        """
        if rows < 0 or (width is not None and width < 1):
            raise ConfigError(
                f"{rows} rows of {width} characters can't be shown",
                hint="rows is 0 (all) or more, width 1 or more",
            )
        if width is None and not is_terminal():
            width = _NOTEBOOK_WIDTH
        left = max(0, self.num_rows - rows) if rows else 0
        more = f"{left:,} more rows\n" if left else ""
        sys.stdout.write(f"{table_text(self._table, rows, width)}\n{more}")

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for start in range(0, self.num_rows, _BATCH_ROWS):
            yield from rows_of(self._table.slice(start, _BATCH_ROWS))

    def __len__(self) -> int:
        return self.num_rows

    def __repr__(self) -> str:
        by = "" if self.metrics.engine == "none" else f" by {self.metrics.engine}"
        rows = f"{self.num_rows:,} row{'' if self.num_rows == 1 else 's'}"
        return f"<Result {rows} of ({some_of(self.columns)}){by}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For IPython's terminal: the first rows, as `show` has them."""
        width = None if is_terminal() else _NOTEBOOK_WIDTH
        told = "" if cycle else footer(self.num_rows, self.metrics.to_dict())
        text = repr(self) if cycle else table_text(self._table, _PRETTY_ROWS, width)
        printer.text(f"{text}\n{told}".strip("\n"))

    def _repr_html_(self) -> str:
        return table_html(self._table, self.metrics)
