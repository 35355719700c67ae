"""What was asked of the gateway: the statements that run, and those that ended, in memory.

Promises: so many records at most, and so many bytes of their texts; each text is bounded, and what
is shown has neither controls nor secrets in it; what a worker has told is checked by its type.
"""

from __future__ import annotations

import itertools
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from msgspec import Struct

from accelerator.common.redaction import is_secret
from accelerator.gateway.statements.statement import Statement
from accelerator.gateway.trino.errors import failure
from accelerator.store.journals.query_log.record import COLUMN_OF, MEASURED
from accelerator.store.journals.query_log.statement_text import redact_sql as told_of
from rewrite.identifiers.qualified_name import joined
from rewrite.text.printable import one_line, printable

_SQL_MAX = 10_000
_TEXT_MAX = 2_000
_WORD_MAX = 200
_LIST_MAX = 50
_NUMBER_MAX = 2**63
"""What JSON's readers have room for."""
_BYTES_MAX = 64 * 1024**2
_OVERHEAD = 1_500
"""Bytes of a record beside its longer texts, about."""
SHOWN_MAX = 500
"""Records that are given at once, at most."""
_HEAD = 400
_MORE_SECRETS = re.compile("://|aes_|hmac|identified", re.IGNORECASE)
CANCELLED = "cancelled"
STATES = ("QUEUED", "PLANNING", "RUNNING", "FINISHING", "FINISHED", "FAILED", "CANCELLED")


@dataclass(slots=True, kw_only=True)
class StatementRecord:
    """One statement as it's shown. Times are milliseconds, but for `created`, seconds since 1970.

    `written` is the statement as it runs, of EXECUTE with its values, cut where `sql_length` says
    that it's longer; `sql` is what of it may be shown. `made_by` is the statement by which an
    answer out of the cache was made. `reason` says why the plain statement answered, `all_rows` why
    all rows were read. `worker` and `number` name the process that ran it, and the run there. If it
    `is_private`, what answered it and why is for those alone who see everybody's statements.
    """

    id: str
    user: str
    principal: str
    state: str
    created: float
    written: str = field(repr=False)
    sql_length: int
    source: str = ""
    tags: tuple[str, ...] = ()
    address: str = ""
    catalog: str = ""
    schema: str = ""
    dialect: str = "trino"
    activity: str = ""
    queued_ms: int = 0
    elapsed_ms: float = 0.0
    planning_ms: float = 0.0
    execution_ms: float = 0.0
    rows: int = 0
    bytes: int = 0
    cached: bool = False
    made_by: str = ""
    engine: str = ""
    rewritten: bool = False
    plan_cached: bool = False
    cubes: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    files_total: int = 0
    files_read: int = 0
    row_groups_read: int = 0
    bytes_read: int = 0
    reason: str = ""
    all_rows: str = ""
    is_private: bool = False
    error: str = ""
    error_message: str = ""
    worker: int = 0
    number: int = 0
    explanation: Mapping[str, Any] | None = field(default=None, repr=False)
    _sql: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, statement: Statement) -> StatementRecord:
        """As it's known now."""
        client = statement.client
        made = cls(
            id=statement.id,
            user=_word(statement.user.name),
            principal=_word(statement.principal),
            state=statement.figures.state,
            created=statement.figures.created,
            written=statement.runs[:_SQL_MAX],
            sql_length=len(statement.runs),
            source=_word(client.source),
            tags=tuple(_word(one) for one in client.client_tags[:_LIST_MAX]),
            address=_word(statement.address),
            catalog=_word(client.catalog or ""),
            schema=_word(client.schema or ""),
            dialect="spark" if client.dialect == "spark" else "trino",
        )
        made.update(statement)
        return made

    def update(self, statement: Statement) -> None:
        """What may have changed of it."""
        figures, told = statement.figures, statement.error
        cancelled = told is not None and told.code == CANCELLED
        self.state = "CANCELLED" if cancelled else figures.state
        self.activity = _word(figures.activity)
        self.queued_ms = figures.queued_ms
        self.elapsed_ms = figures.took_ms
        self.rows, self.bytes = figures.rows, figures.bytes
        self.cached = figures.cached
        self.worker, self.number = figures.worker, figures.number
        if figures.tables:
            self.tables = tuple(_word(joined(one)) for one in figures.tables[:_LIST_MAX])
        for key, value in _of_metrics(figures.metrics) if figures.metrics else ():
            setattr(self, key, value)
        if told is not None:
            failed = failure(told)
            self.error, self.error_message = (
                failed["errorName"],
                _text(self._redacted(failed["message"])),
            )

    @property
    def sql(self) -> str:
        """The statement as it may be shown; found out when somebody looks."""
        if self._sql is None:
            hides = _may_hide(self.written)
            self._sql = printable(
                told_of(self.written, self.dialect).text if hides else self.written
            )
        return self._sql

    def _redacted(self, text: str) -> str:
        """What was said of the statement, without its secrets."""
        if _may_hide(self.written):
            told = told_of(self.written, self.dialect)
            if told.secrets is None or told.secrets or "://" in text:
                return told.hidden_in(text) or ""
        return text

    def explain(self, told: Mapping[str, Any] | None) -> None:
        """Keeps how it's answered, as a worker has told it: texts without secrets."""
        if told is not None:
            self.explanation = {key: _each(value, self._redacted) for key, value in told.items()}

    def is_of(self, name: str) -> bool:
        """Whether that user asked it, or it was asked as them."""
        return name in (self.user, self.principal)

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state in ("FINISHED", "FAILED", "CANCELLED")

    @property
    def weight(self) -> int:
        """The bytes that it takes, about."""
        return _OVERHEAD + 2 * (len(self.written) + len(self.error_message) + len(self.reason))

    def has(self, text: str, *, sees_all: bool = True) -> bool:
        """Whether that text, in small letters, stands in it, as far as it's shown."""
        whole = (self.id, self.user, self.source, self.error, self.error_message)
        cubes = self.cubes if sees_all or not self.is_private else ()
        if any(text in one.lower() for one in (*whole, *self.tables, *cubes, *self.tags)):
            return True
        return text in self.written.lower() and text in self.sql.lower()

    def to_dict(self, *, sees_all: bool, whole: bool = False) -> dict[str, Any]:
        """As JSON values; without `whole` the beginning of its text, and no explanation.

        For a reader who doesn't see everybody's statements a private one has no plan and no reason.
        """
        found = {one: getattr(self, one) for one in _SHOWN}
        if whole:
            found["explanation"] = self.explained_to(sees_all=sees_all)
        else:
            found["sql"] = self.sql[:_HEAD]
        if self.is_private and not sees_all:
            found |= _PRIVATE
        return found

    def explained_to(self, *, sees_all: bool) -> Mapping[str, Any] | None:
        """How it's answered, as that reader may know it; None if that isn't known or is private."""
        found = self.explanation
        if found is None or (found.get("private") is not False and not sees_all):
            return None
        return {key: value for key, value in found.items() if key != "private"}


_PRIVATE: Mapping[str, Any] = {"reason": "", "all_rows": "", "cubes": (), "indexes": ()}
_UNSEEN = ("explanation", "dialect", "principal", "number", "written", "_sql", "is_private")
_SHOWN = ("sql", *(one.name for one in fields(StatementRecord) if one.name not in _UNSEEN))


class HistoryFilter(Struct, frozen=True, kw_only=True):
    """Which statements are asked for; empty texts ask for all. `of` is the user who may see."""

    of: str | None = None
    user: str = ""
    state: str = ""
    text: str = ""
    limit: int = 100

    def holds(self, one: StatementRecord) -> bool:
        """Whether the record is among them."""
        if self.of is not None and not one.is_of(self.of):
            return False
        if self.user and self.user.lower() not in one.user.lower():
            return False
        if self.state and not self._is_in_state(one):
            return False
        return not self.text or one.has(self.text.lower(), sees_all=self.of is None)

    def _is_in_state(self, one: StatementRecord) -> bool:
        if self.state == "running":
            return not one.is_over
        if self.state == "cached":
            return one.cached
        return one.state == self.state.upper()


class History:
    """Of one gateway. It's written by the event loop; other threads may read what `newest` gave."""

    def __init__(self, most: int, bytes_max: int = _BYTES_MAX) -> None:
        self._most, self._bytes_max = most, bytes_max
        self._running: OrderedDict[str, tuple[Statement, StatementRecord]] = OrderedDict()
        self._ended: OrderedDict[str, StatementRecord] = OrderedDict()
        self._bytes = 0
        self.changes = 0
        """How often something began or ended."""

    def __len__(self) -> int:
        return len(self._ended)

    @property
    def running(self) -> int:
        """Statements that have come and haven't ended, those that wait among them."""
        return len(self._running)

    def record(self, statement: Statement) -> None:
        """Records a statement that has come, again once its text has been read."""
        self._running[statement.id] = statement, StatementRecord.of(statement)
        self.changes += 1

    def ended(self, statement: Statement) -> StatementRecord:
        """It's over; its record, which is kept."""
        _, record = self._running.pop(statement.id)
        record.update(statement)
        self._ended[record.id] = record
        self._bytes += record.weight
        self.changes += 1
        while self._ended and (len(self._ended) > self._most or self._bytes > self._bytes_max):
            _, oldest = self._ended.popitem(last=False)
            self._bytes -= oldest.weight
        return record

    def find(self, id: str) -> StatementRecord | None:
        """The statement of that id; None where it isn't known, or not any more."""
        running = self._running.get(id)
        return self._ended.get(id) if running is None else _as_now(*running)

    def newest(self) -> Callable[[HistoryFilter], list[StatementRecord]]:
        """What selects among the statements of now, in whatever thread; the newest first."""
        running = [_as_now(*one) for one in reversed(self._running.values())]
        ended = list(self._ended.values())

        def selected(wanted: HistoryFilter) -> list[StatementRecord]:
            return list(_selected(itertools.chain(running, reversed(ended)), wanted))

        return selected


def _as_now(statement: Statement, record: StatementRecord) -> StatementRecord:
    record.update(statement)
    return record


def _selected(
    records: Iterable[StatementRecord], wanted: HistoryFilter
) -> Iterator[StatementRecord]:
    found = (one for one in records if wanted.holds(one))
    return itertools.islice(found, max(0, min(wanted.limit, SHOWN_MAX)))


_OF_SLOW = (
    *("id", "user", "source", "state", "elapsed_ms", "queued_ms", "engine", "rows", "bytes_read"),
    *("reason", "error"),
)


def slow_line(record: StatementRecord) -> dict[str, Any]:
    """Returns the line of the log for a statement that took long."""
    return {one: getattr(record, one) for one in _OF_SLOW} | {"sql": record.sql[:_TEXT_MAX]}


def _of_metrics(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Fields of a record that a worker has told, checked."""
    yield "is_private", metrics.get("private") is True
    yield "plan_cached", metrics.get("plan_cached") is True
    for name in MEASURED:
        yield name, _CHECKED[COLUMN_OF[name].kind](metrics.get(name))
    yield "reason", _text_of(metrics.get("fallback"))
    yield "all_rows", _text_of(metrics.get("all_rows"))
    yield "made_by", _word_of(metrics.get("made_by"))


def _number_of(found: object) -> float:
    if not isinstance(found, int | float) or isinstance(found, bool):
        return 0
    return found if 0 <= found < _NUMBER_MAX else 0


def _text_of(found: object) -> str:
    return _text(found) if isinstance(found, str) else ""


def _word_of(found: object) -> str:
    return _word(_text_of(found))


def _words_of(found: object) -> tuple[str, ...]:
    given = found[:_LIST_MAX] if isinstance(found, list | tuple) else ()
    return tuple(_word(one) for one in given if isinstance(one, str))


_CHECKED: Mapping[str, Callable[[object], Any]] = {
    "count": lambda found: int(_number_of(found)),
    "flag": lambda found: found is True,
    "number": lambda found: round(float(_number_of(found)), 3),
    "text": _word_of,
    "texts": _words_of,
}


def _word(text: str) -> str:
    return _in_one_line(text[:_WORD_MAX])


@lru_cache(1024)
def _in_one_line(text: str) -> str:
    """Kept, since users, clients and tables are few beside their statements."""
    return one_line(text)


def _text(text: str) -> str:
    return printable(text[:_TEXT_MAX])


def _each(value: Any, said: Callable[[str], str]) -> Any:
    """The same JSON value with each of its texts as that function has it."""
    if isinstance(value, str):
        return printable(said(value))
    if isinstance(value, list):
        return [_each(one, said) for one in value]
    if isinstance(value, dict):
        return {key: _each(one, said) for key, one in value.items()}
    return value


def _may_hide(sql: str) -> bool:
    """Whether a secret may be in it; most statements have no word of any."""
    return is_secret(sql) or _MORE_SECRETS.search(sql) is not None
