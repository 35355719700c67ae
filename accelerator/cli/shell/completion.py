"""Words that the shell completes: SQL's, our statements', tables and columns of the catalogs.

Names are read from the catalogs when they're first wanted, within a time, and kept for a while.
What isn't printable isn't offered.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from accelerator.errors import AcceleratorError
from accelerator.iceberg import UnreadableTableError
from accelerator.query.statements.catalog import FORMS
from accelerator.query.statements.constraint import quoted
from rewrite.facts import At, TableFacts
from rewrite.identifiers.qualified_name import joined

if TYPE_CHECKING:
    from accelerator.session.session import Accelerator

_BUDGET_S = 3.0
_KEPT_S = 30.0
_TABLES_MAX, _COLUMNS_MAX, _OFFERED_MAX = 10_000, 5_000, 200
_WORD = re.compile(r"[^\s,;()'\"=<>+*/%|&!~-]+")
_KEYWORDS = """
    ALL ALTER AND AS ASC BETWEEN BY CASE CAST COUNT CREATE CROSS CUBE DATE DELETE DESC DESCRIBE
    DISTINCT DROP ELSE END EXCEPT EXISTS EXPLAIN FALSE FIRST FROM FULL FUNCTION GROUP HAVING IF IN
    INNER INSERT INTERSECT INTERVAL INTO IS JOIN LAST LATERAL LEFT LIKE LIMIT MERGE NAMESPACE NOT
    NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PARTITIONED QUALIFY RIGHT ROLLUP ROWS SELECT
    SET SETS SHOW TABLE TABLES THEN TIMESTAMP TRUE UNION UPDATE USE USING VALUES VIEW WHEN WHERE
    WINDOW WITH AVG MAX MIN SUM
"""


class CompletionNames:
    """Tables and columns of a session's catalogs; threads may ask at once."""

    def __init__(self, session: Callable[[], Accelerator]) -> None:
        self._session, self._lock = session, threading.Lock()
        self._tables: list[tuple[str, ...]] = []
        self._columns: dict[tuple[str, ...], list[tuple[str, str]] | None] = {}
        self._read = -_KEPT_S

    def tables(self, *, fresh: bool = False) -> list[tuple[str, ...]]:
        """Full names; as many as come in time. AcceleratorError where catalogs can't be asked."""
        with self._lock:
            until = time.monotonic() + _BUDGET_S
            if fresh or time.monotonic() - self._read > _KEPT_S:
                found: list[tuple[str, ...]] = []
                for one in self._session().services.lake.tables():
                    found.append(one)
                    if len(found) == _TABLES_MAX or time.monotonic() > until:
                        break
                self._tables, self._columns = sorted(found), {}
                self._read = time.monotonic()
            return self._tables

    def columns(self, table: tuple[str, ...]) -> list[tuple[str, str]] | None:
        """Names and types of the table's columns; None where it isn't an Iceberg table."""
        if table not in self._columns:
            facts = self._facts(table)
            columns = None if facts is None else [(one.name, one.type) for one in facts.columns]
            self._columns[table] = columns
        return self._columns[table]

    def _facts(self, table: tuple[str, ...]) -> TableFacts | None:
        """None of a table that PyIceberg refuses: the names of the others are offered."""
        try:
            return self._session().services.lake.pin().listing().table(table, At())
        except UnreadableTableError:
            return None

    def forget(self) -> None:
        """A statement may have changed them."""
        self._read = -_KEPT_S

    def written(self, table: tuple[str, ...]) -> str:
        """As a statement may name it: without the catalog, where that is the default one."""
        default = self._session().services.context.catalog()
        parts = table[1:] if table[0] == default and len(table) > 2 else table
        return ".".join(map(quoted, parts))


class Words(Completer):
    """Completes the word before the cursor; in a thread, since catalogs may be far."""

    def __init__(self, names: CompletionNames, commands: Iterable[str]) -> None:
        self._names, self._commands = names, sorted(commands)
        self._words = {*_KEYWORDS.split(), *" ".join(form.words for form in FORMS).split()}

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002 - the base class's
    ) -> Iterator[Completion]:
        """Commands at the beginning of the text, else keywords, tables and columns."""
        before = document.text_before_cursor
        word = _WORD.search(document.current_line_before_cursor.split(" ")[-1][::-1])
        start = word[0][::-1] if word is not None and word.start() == 0 else ""
        if before.lstrip().startswith(".") and before.lstrip() == start:
            found: Iterable[str] = (one for one in self._commands if one.startswith(start))
        else:
            found = self._fitting(start, document.text)
        for one in list(dict.fromkeys(found))[:_OFFERED_MAX]:
            if one.isprintable() and one != start:
                yield Completion(one, start_position=-len(start))

    def _fitting(self, start: str, text: str) -> Iterator[str]:
        low = start.lower()
        with suppress(AcceleratorError):  # the session may be closing, a catalog out of reach
            yield from self._names_for(low, text.lower())
        if start:
            lower = start.islower()
            for one in sorted(self._words):
                if one.lower().startswith(low):
                    yield one.lower() if lower else one

    def _names_for(self, low: str, text: str) -> Iterator[str]:
        until, seen = time.monotonic() + _BUDGET_S, 0
        tables, space = self._names.tables(), low[: low.rfind(".") + 1]
        is_space = False
        for table in tables:
            written = self._names.written(table)
            names = [one.lower() for one in (written, joined(table), table[-1])]
            is_space |= bool(space) and any(one.startswith(space) for one in names)
            if any(one.startswith(low) for one in names):
                yield written
        if is_space:  # what is before the dot is no table
            return
        for table in sorted(tables, key=lambda one: one[-1].lower() not in text):
            named = table[-1].lower() in text
            if not named and (not low or seen >= _COLUMNS_MAX or time.monotonic() > until):
                break
            for name, _ in self._names.columns(table) or ():
                seen += 1
                if quoted(name).lower().startswith(low.removeprefix(space)):
                    yield space + quoted(name)
