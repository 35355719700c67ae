"""The plan of a query of virtual tables: of the query log, or of the files of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from accelerator.common.statement_metrics import Metrics
from accelerator.iceberg import PinnedTable
from accelerator.planning.plans.candidate import Attempt
from accelerator.planning.plans.explain_tree import ExplainStep
from accelerator.planning.plans.plan import Leaf, Plan
from accelerator.store.journals.query_log.time_span import ALL, Span
from rewrite.reason import Declined

if TYPE_CHECKING:
    import pyarrow as pa

    from accelerator.iceberg.rows.row_groups import ReadCounter


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class VirtualTableRows(NamedTuple):
    """Rows of a virtual table, and what was opened for them; `is_cut`: there are more."""

    rows: pa.Table
    files: int = 0
    bytes: int = 0
    is_cut: bool = False


class VirtualTable(Struct, frozen=True, eq=False):
    """A table whose rows are made for one statement; `columns` by name, with Spark's types.

    `rows` gives those of some columns that may lie in a span of time. `notes` tell people which
    rows there are, `facts` programs. `rewritten`: its answers are compared with Spark's.
    """

    name: str
    columns: Mapping[str, str]
    rows: Callable[[Sequence[str], Span], VirtualTableRows]
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] | None = None
    pinned: tuple[PinnedTable, ...] = ()
    used: tuple[str, ...] = ()
    rewritten: bool = False


class Mention(Struct, frozen=True):
    """One place of a query that names a virtual table: the columns and times that it reads."""

    table: VirtualTable
    columns: tuple[str, ...]
    span: Span

    def or_(self, other: Mention) -> Mention:
        """Returns a mention with the rows and columns of both, which are of one table."""
        names = tuple(dict.fromkeys((*self.columns, *other.columns)))
        return Mention(self.table, names, self.span.or_(other.span))

    def rows(self) -> VirtualTableRows:
        """Its rows."""
        return self.table.rows(self.columns, self.span)


class VirtualSelect(Struct, frozen=True, eq=False):
    """A SELECT: DuckDB's `sql` over `inputs`, as `raw_0` and so on; `outputs` by name and type.

    To DuckDB an array is its row's place: `lists` have for each such output the input and its
    column, None for others.
    """

    sql: str
    inputs: tuple[Mention | VirtualSelect, ...]
    outputs: tuple[tuple[str, str], ...]
    lists: tuple[tuple[int, str] | None, ...]

    def read(self) -> Mention:
        """Returns what is read for all mentions, once: they see one state of the table."""
        return reduce(Mention.or_, self._mentions())

    def _mentions(self) -> tuple[Mention, ...]:
        found: dict[Mention, None] = {}
        waiting: list[Mention | VirtualSelect] = [self]
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
class VirtualPlan(Plan):
    """A query of a virtual table, which DuckDB answers over some of its columns.

    It's of one run, and never cached: `seen` has what was read, once it was.
    """

    select: VirtualSelect
    engine: str = "duckdb"
    tried: tuple[Attempt, ...] = ()
    seen: list[VirtualTableRows] = field(default_factory=list, compare=False)

    def tables(self) -> tuple[PinnedTable, ...]:
        """See `Plan.tables`."""
        return self.select.read().table.pinned

    def leaves(self) -> tuple[Leaf, ...]:
        """None: it reads no rows of Iceberg's tables."""
        return ()

    def outputs(self) -> tuple[tuple[str, str], ...]:
        """See `Plan.outputs`."""
        return self.select.outputs

    def used(self) -> tuple[str, ...]:
        """See `Plan.used`."""
        return self.select.read().table.used

    def figures(self, _counted: ReadCounter | None = None, /) -> Metrics:
        """See `Plan.figures`; manifests count for nothing."""
        found = Metrics(rewritten=self.select.read().table.rewritten)
        for one in self.seen[-1:]:
            cut = Declined("log_cut").line if one.is_cut else None
            found = replace(found, files_read=one.files, bytes_read=one.bytes, all_rows=cut)
        return found

    def steps(self) -> tuple[ExplainStep, ...]:
        """See `Plan.steps`."""
        read = self.select.read()
        since, until = _times(read.span)
        notes = [f"columns {', '.join(read.columns)}"]
        notes += [f"from {since}"] * (since is not None) + [f"before {until}"] * (until is not None)
        return (ExplainStep(read.table.name, ", ".join([*notes, *read.table.notes])),)

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        read = self.select.read()
        since, until = _times(read.span)
        found: dict[str, Any] = {"columns": list(read.columns)}
        if read.table.facts is not None:
            found = {"query_log": {**found, "since": since, "until": until, **read.table.facts}}
        return {
            "rewritten": read.table.rewritten,
            "engine": self.engine,
            "snapshots": self.snapshots(),
            **found,
            "sql": self.select.sql,
            "considered": [one.to_dict() for one in self.tried],
        }


def _times(span: Span) -> tuple[str | None, str | None]:
    """Returns the span's beginning and end, None if it's open there."""
    since, until = span.since_us, span.until_us
    return (
        None if since == ALL.since_us else _time(since),
        None if until == ALL.until_us else _time(until),
    )


def _time(us: int) -> str:
    """Formats a time of any span: it may lie before the log, or behind all times."""
    try:
        return (_EPOCH + timedelta(microseconds=us)).isoformat(" ")
    except OverflowError:
        return "the end of times"
