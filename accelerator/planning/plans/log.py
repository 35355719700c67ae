"""The plan of a query of the query log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from accelerator.common.statement_metrics import Metrics
from accelerator.iceberg import PinnedTable
from accelerator.planning.plans.candidate import Attempt
from accelerator.planning.plans.explain_tree import ExplainStep
from accelerator.planning.plans.plan import Leaf, Plan
from accelerator.store.journals.query_log.time_span import ALL, Span
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg.rows.row_groups import ReadCounter
    from accelerator.store.journals.query_log.reader import LogRows

ROWS_MAX = 1_000_000
"""The newest statements that one query reads."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Mention(Struct, frozen=True):
    """What of the log is read for one place of a query; `user` is whose, None: everybody's."""

    columns: tuple[str, ...]
    span: Span
    user: str | None

    def or_(self, other: Mention) -> Mention:
        """What has the rows and columns of both, which are of one statement."""
        names = tuple(dict.fromkeys((*self.columns, *other.columns)))
        return Mention(names, self.span.or_(other.span), self.user)


class LogSelect(Struct, frozen=True, eq=False):
    """A SELECT: DuckDB's `sql` over `inputs`, as `raw_0` and so on; `outputs` by name and type.

    To DuckDB an array is its row's place: `lists` say of each output that is one of which input's
    column, None of the others.
    """

    sql: str
    inputs: tuple[Mention | LogSelect, ...]
    outputs: tuple[tuple[str, str], ...]
    lists: tuple[tuple[int, str] | None, ...]

    def read(self) -> Mention:
        """What of the log is read for it, once: all that is mentioned sees one state of it."""
        return reduce(Mention.or_, self._mentions())

    def _mentions(self) -> tuple[Mention, ...]:
        found: dict[Mention, None] = {}
        waiting: list[Mention | LogSelect] = [self]
        known: set[int] = set()
        while waiting:
            one = waiting.pop()
            if isinstance(one, Mention):
                found[one] = None
            elif id(one) not in known:
                known.add(id(one))
                waiting += reversed(one.inputs)
        return tuple(found)


@dataclass(frozen=True, repr=False)
class LogPlan(Plan):
    """A query of the query log, which DuckDB answers over some of its columns.

    It's of one run, and never kept: `seen` has what was read, once it was.
    """

    piece: LogSelect
    engine: str = "duckdb"
    tried: tuple[Attempt, ...] = ()
    seen: list[LogRows] = field(default_factory=list, compare=False)

    def tables(self) -> tuple[PinnedTable, ...]:
        """None: the log is none of Iceberg's."""
        return ()

    def leaves(self) -> tuple[Leaf, ...]:
        """None."""
        return ()

    def outputs(self) -> tuple[tuple[str, str], ...]:
        """See `Plan.outputs`."""
        return self.piece.outputs

    def figures(self, _counted: ReadCounter | None = None, /) -> Metrics:
        """See `Plan.figures`; nothing is rewritten, so that nothing is compared with Spark's."""
        if not self.seen:
            return Metrics()
        found = self.seen[-1]
        cut = Declined("log_cut").line if found.is_cut else None
        return Metrics(files_read=found.files, bytes_read=found.bytes, all_rows=cut)

    def steps(self) -> tuple[ExplainStep, ...]:
        """See `Plan.steps`."""
        return (ExplainStep("the query log", ", ".join(_told(self.piece.read()))),)

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        return {
            "rewritten": False,
            "engine": self.engine,
            "snapshots": self.snapshots(),
            "query_log": _read(self.piece.read()),
            "sql": self.piece.sql,
            "considered": [one.to_dict() for one in self.tried],
        }


def _read(one: Mention) -> dict[str, Any]:
    since, until = one.span.since_us, one.span.until_us
    return {
        "columns": list(one.columns),
        "since": None if since == ALL.since_us else _time(since),
        "until": None if until == ALL.until_us else _time(until),
        "own": one.user is not None,
        "rows_max": ROWS_MAX,
    }


def _told(read: Mention) -> Iterator[str]:
    yield f"columns {', '.join(read.columns)}"
    if read.span.since_us != ALL.since_us:
        yield f"from {_time(read.span.since_us)}"
    if read.span.until_us != ALL.until_us:
        yield f"before {_time(read.span.until_us)}"
    if read.user is not None:
        yield "the asker's own statements"
    yield f"the newest {ROWS_MAX:,} at most"


def _time(us: int) -> str:
    """Of any span: it may lie before the log, or behind all times."""
    try:
        return (_EPOCH + timedelta(microseconds=us)).isoformat(" ")
    except OverflowError:
        return "the end of times"
