"""The answer of a statement: Arrow inside, with what it cost and how it came about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accelerator.metrics import Metrics

if TYPE_CHECKING:
    import pandas as pd


class Result:
    """Rows with Spark's column names and types; complete when the call returns."""

    def __init__(self, table: pa.Table, metrics: Metrics, explain: Callable[[], str]) -> None:
        self._table, self._explain = table, explain
        self.metrics = metrics

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

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return self._table.to_pandas()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows as tuples of Python values."""
        columns = [column.to_pylist() for column in self._table.columns]
        return list(zip(*columns, strict=True)) if columns else [()] * self.num_rows

    def explain(self) -> str:
        """How the statement was planned, and why not otherwise."""
        return self._explain()

    def __len__(self) -> int:
        return self.num_rows

    def __repr__(self) -> str:
        names = ", ".join(self.columns)
        return f"<Result {self.num_rows} rows of ({names}) by {self.metrics.engine}>"
