"""Statements as they're written, in any dialect, with their queries in Spark SQL.

From here on everything reads Spark SQL alone: what is planned, what runs plain, what is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from accelerator.context import SessionContext
from accelerator.errors import AcceleratorError, ConfigError
from accelerator.iceberg import Lake
from accelerator.recent import Recent
from accelerator.statements.grammar import parse_statement
from accelerator.statements.kinds import (
    CreateCube,
    EstimateCube,
    ExplainAccelerate,
    ExplainAnalyze,
    ExplainWhyNot,
    Query,
    Statement,
    Verify,
)
from rewrite.dialects import DIALECTS, SPARK, translated
from rewrite.facts import At


class Translation:
    """Reads statements; threads may share it."""

    def __init__(self, lake: Lake, context: SessionContext) -> None:
        self._lake, self._context = lake, context
        self._known: Recent[str] = Recent()

    def statement(self, sql: str, dialect: str) -> Statement:
        """The statement; StatementError, of a query UntranslatedError, where it can't be read."""
        if dialect not in DIALECTS:
            raise ConfigError(
                f"no dialect {dialect!r} is known", hint=f"one of {', '.join(DIALECTS)}"
            )
        found = parse_statement(sql, dialect)
        if dialect == SPARK:
            return found
        return self._in_spark(found, dialect)

    def _in_spark(self, found: Statement, dialect: str) -> Statement:
        if isinstance(found, Query):
            return self._translated(found, dialect)
        if isinstance(found, CreateCube):
            return replace(found, select_sql=self._query(found.select_sql, dialect))
        if isinstance(found, EstimateCube):
            select = self._query(found.cube.select_sql, dialect)
            return replace(found, cube=replace(found.cube, select_sql=select))
        if isinstance(found, (ExplainAccelerate, ExplainAnalyze, ExplainWhyNot, Verify)):
            return replace(found, query=self._translated(found.query, dialect))
        return found

    def _translated(self, query: Query, dialect: str) -> Query:
        text = self._query(query.bare, dialect)
        return Query(text, text, query.plain, translated=True)

    def _query(self, sql: str, dialect: str) -> str:
        known = self._known.get((sql, dialect))
        if known is not None:
            return known
        asked: list[tuple[str, ...]] = []
        pin = self._lake.pin()

        def columns(parts: tuple[str, ...]) -> Mapping[str, str] | None:
            asked.append(parts)
            if self._context.is_temporary(parts):
                return None
            try:
                table = pin.table(parts, At())
            except AcceleratorError:
                return None
            return None if table is None else {c.name: c.type for c in table.columns}

        found = translated(sql, dialect, columns)
        if not asked:  # else it rests on the tables' columns as they are
            self._known.put((sql, dialect), found)
        return found
