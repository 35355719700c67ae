"""One survey of a fact's files: which may matter to a statement, and what may be believed of them.

Everyone who needs files asks it: covers from manifests, joins, rows in an order, raw files beside
cubes, guards, and EXPLAIN's funnel. Evidence is asked in order of its cost, and only when somebody
needs it: bounds and partitions, light indexes, then sidecars.

Three sorts of doubt are three types. A *doubt* (`Declined`) says that plain Spark's own answer
depends on what it leaves out: it ends the plan, and without having asked for it nobody gets a bound
(`Survey.believed`). *Unproven* is a file of which Spark takes another value than the file has: it
isn't read in process (`Believed.unproven`). *Tight* is a bound that is a value of the file
(`Evidence.ends`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from accelerator.iceberg.manifests.request import Question
from accelerator.iceberg.pruning.float_doubts import ScannedTable
from accelerator.iceberg.pruning.predicates import judge
from accelerator.iceberg.pruning.spark_doubts import pruning_doubt
from accelerator.planning.plans.explain_tree import ExplainStep, counted
from indexes.bounds import UNKNOWN, ColumnBounds, Flags, Numbers, Verdict, flags
from rewrite.ir.expr import Column, Expr, columns
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.artifacts.relate.index_validity import PinnedRelate
    from accelerator.artifacts.sidecars.probe import RowSelection, Skipped, TableIndexes
    from accelerator.iceberg import LiveFile, PinnedTable
    from accelerator.iceberg.manifests.job import Decoding
    from accelerator.iceberg.statistics.file_statistics import ColumnStatistics, FileStatistics

OverFiles = Callable[["FileStatistics"], "TableIndexes | None"]
"""What finds a table's indexes over some statistics of its files."""


class Survey:
    """Of one fact's files under what holds of each of its rows that passes.

    `own` are these conjuncts, over the fact's columns and its relate columns. `decoding` says where
    manifests were decoded for it. `proofs` are what was read of rows so that plain Spark's answer
    is sure, for people.
    """

    def __init__(
        self,
        statistics: FileStatistics,
        own: Sequence[Expr],
        over: OverFiles | None = None,
        decoding: Decoding | None = None,
        table: PinnedTable | None = None,
    ) -> None:
        self.own, self.decoding, self.proofs = tuple(own), decoding, tuple[str, ...]()
        self.table = table
        self.indexes = None if over is None else over(statistics)
        self._statistics = statistics if self.indexes is None else self.indexes.filled(statistics)

    def __len__(self) -> int:
        return len(self._statistics)

    @property
    def left_out_afar(self) -> int:
        """Files that a Spark job has left out already; they aren't among these."""
        return self._statistics.left_out

    @property
    def total(self) -> int:
        """Live files, those too."""
        return len(self) + self.left_out_afar

    @property
    def sizes(self) -> Numbers:
        """Bytes of each file."""
        return self._statistics.sizes

    def believed(
        self, tested: Sequence[Expr], used: Iterable[Expr | None] = ()
    ) -> Believed | Declined:
        """What may be relied on, with what is known of the columns that are `used`.

        `tested` are all predicates that plain Spark may leave out files by, those above the block
        too. A doubt where its answer depends on that, or where a file's bounds contradict its
        partition, so that nobody knows which rows plain Spark finds there.
        """
        scanned = ScannedTable(self.table, self.own, self._statistics)
        doubt = pruning_doubt(tested, scanned)
        if isinstance(doubt, Declined):
            return doubt
        self.proofs += doubt
        named = {c for e in self.own for c in columns(e)}
        known = {
            column: self._statistics.column(column.field_id, column.type or "unknown")
            for column in (*named, *used)
            if isinstance(column, Column)
        }
        if any(one.contradicts for one in known.values()):
            return Declined("metadata_contradicts")
        return Believed(self, self._statistics, known)

    def partitioned(self, used: Iterable[Column]) -> list[Column]:
        """The partitioning columns; only their bounds may contradict a partition."""
        held = self._statistics.source.partitioned
        return [one for one in used if one.field_id in held]

    @cached_property
    def told(self) -> tuple[Verdict, tuple[Skipped, ...]]:
        """What bounds and light indexes prove of each file, and what these let be left out."""
        if self.indexes is None:
            return judge(self.own, self._statistics), ()
        return self.indexes.judged(self.own, self._statistics)

    def among(self, files: Sequence[LiveFile]) -> Flags:
        """Which of its files these are."""
        paths, numbers = self._statistics.source.keys()
        wanted = {file.key for file in files}
        found = pc.is_in(paths, value_set=pa.array(sorted({path for path, _ in wanted})))
        chosen = flags(found)
        places = np.flatnonzero(chosen)
        keys = zip(paths.take(pa.array(places)).to_pylist(), numbers[places].tolist(), strict=True)
        chosen[places] = [key in wanted for key in keys]
        return chosen

    def may_pass(self) -> Flags:
        """Files that may hold a row that passes, by bounds alone; an estimate, for guards."""
        return ~judge(self.own, self._statistics).none_true

    def counted(self, files: Flags) -> tuple[int, int, int]:
        """Files, rows as written where they're known, and bytes of those files."""
        rows = self._statistics.rows[files]
        size = int(self._statistics.sizes[files].sum())
        return int(files.sum()), int(rows[rows > 0].sum()), size

    def funnel(
        self,
        table: PinnedTable,
        read: int,
        skipped: tuple[Skipped, ...],
        *,
        row_groups: tuple[int, int] | None = None,
        rows: tuple[int, int] | None = None,
    ) -> Funnel:
        """What is left of the table, of which bytes are `read`; see `Funnel` for the others."""
        held = set(table.partition_columns.values())
        own = [c for c in self.own if all(column.name in held for column in columns(c))]
        by_partition = int(judge(own, self._statistics).none_true.sum()) if own else 0
        out = int((~self.may_pass() | (self._statistics.alive == 0)).sum())
        by_bounds = out - by_partition + self.left_out_afar
        sizes = read, int(self.sizes.sum())
        return Funnel(
            self.total, by_partition, by_bounds, skipped, row_groups, rows, sizes, self.proofs
        )


class Funnel(Struct, frozen=True):
    """One table's share of a plan.

    `by_partition`: files that the predicates over partition columns leave out by themselves;
    `by_bounds`: more of them by all bounds and counts. `row_groups` and `rows` are those of the
    files that are left as (left, of so many), None where no sidecar tells; so are `bytes`, those
    left by the share of the rows in row groups that are left. `proofs` are what was read of rows
    while planning, e.g. `x has no NaN in 6 files`.
    """

    files: int
    by_partition: int
    by_bounds: int
    indexes: tuple[Skipped, ...]
    row_groups: tuple[int, int] | None
    rows: tuple[int, int] | None
    bytes: tuple[int, int]
    proofs: tuple[str, ...] = ()

    def steps(self) -> tuple[ExplainStep, ...]:
        """For people: what was left out, by whom."""
        found = []
        for number, by in ((self.by_partition, "partition"), (self.by_bounds, "bounds")):
            if number:
                found.append(ExplainStep(f"left out by {by}", counted(number, "file")))
        for one in (one for one in self.indexes if one.files):
            of = f"index {one.index} ({one.kind}{'' if one.blobs == 'light' else ', by rows'})"
            found.append(ExplainStep(f"left out by {of}", counted(one.files, "file")))
        if self.row_groups is not None and self.rows is not None:
            (groups, of_groups), (rows, of_rows) = self.row_groups, self.rows
            note = f"{rows:,} of {of_rows:,} rows"
            found.append(
                ExplainStep(
                    f"{groups:,} of {counted(of_groups, 'row group')} left by sidecars", note
                )
            )
        found += [ExplainStep(one, "by the column's rows") for one in self.proofs]
        return tuple(found)


class Evidence(Struct, frozen=True):
    """A column in the survey's files. `fixed`: all rows of the file have the value `lower`."""

    _told: ColumnStatistics

    @property
    def bounds(self) -> ColumnBounds:
        """Between which all values are; none need be one."""
        return self._told.bounds

    @property
    def fixed(self) -> Flags:
        """Files whose rows all have one value, which both bounds are, or are all NULL."""
        return self._told.fixed

    @property
    def ends(self) -> Flags:
        """Files whose bounds are values of it, or that have none: their least and greatest."""
        bounds = self._told.bounds
        ends: Flags = (self.counted & bounds.bounded & self._told.tight) | bounds.always_null
        return ends

    @property
    def counted(self) -> Flags:
        """Files whose NULLs are counted."""
        counted: Flags = self._told.bounds.nulls >= 0
        return counted


class Believed(Struct, frozen=True):
    """A survey without doubt. Masks have one flag for each of its files.

    *None passes*, *all pass*, *rows alive are known* and *the path stands once* are kept apart:
    what an answer takes of them is its own affair.
    """

    survey: Survey
    _statistics: FileStatistics
    _known: dict[Column, ColumnStatistics]

    def __len__(self) -> int:
        return len(self._statistics)

    @property
    def none_pass(self) -> Flags:
        """No row passes, or none is left."""
        passes: Flags = self.survey.told[0].none_true | (self._statistics.alive == 0)
        return passes

    @property
    def all_pass(self) -> Flags:
        """Every row passes that is left."""
        return self.survey.told[0].all_true

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What light indexes let be left out."""
        return self.survey.told[1]

    @property
    def alive(self) -> Numbers:
        """Rows that are left of each file; `UNKNOWN` where only a reader can tell."""
        return self._statistics.alive

    @property
    def alive_known(self) -> Flags:
        """Whether that is known."""
        known: Flags = self._statistics.alive != UNKNOWN
        return known

    @property
    def whole(self) -> Flags:
        """Nothing is deleted from the file."""
        whole: Flags = self._statistics.alive == self._statistics.rows
        return whole

    @property
    def stands_once(self) -> Flags:
        """The file's path stands once; one that stands twice is left to the rows."""
        return self._statistics.source.single

    @property
    def rows(self) -> Numbers:
        """Rows as written."""
        return self._statistics.rows

    @property
    def sizes(self) -> Numbers:
        """Bytes."""
        return self._statistics.sizes

    def of(self, column: Expr | None) -> Evidence | None:
        """What is known of a column that was asked for; None of what is no column.

        KeyError for one that was not: nobody has looked whether it's to be believed.
        """
        if not isinstance(column, Column) or column.type is None:
            return None
        return Evidence(self._known[column])

    def unproven(self) -> Column | None:
        """A column of which one of these files may have another value than its partition.

        Spark takes the partition's, and so do bounds here; what reads the file in process takes
        the file's.
        """
        return next((c for c, told in self._known.items() if told.unproven.any()), None)

    def live(self, chosen: Flags) -> tuple[LiveFile, ...]:
        """The files themselves."""
        return self._statistics.source.live(chosen)

    def selection(self, selected: Sequence[Expr] = ()) -> RowSelection | None:
        """What sidecars tell of rows; None where none is of the columns."""
        if self.survey.indexes is None:
            return None
        return self.survey.indexes.selection(self.survey.own, selected)


def survey(
    table: PinnedTable,
    own: Sequence[Expr],
    used: Iterable[Expr | None] = (),
    over: OverFiles | None = None,
    relates: Sequence[PinnedRelate] = (),
) -> Survey:
    """The survey of a table's files, with the columns among `used`; CatalogError.

    Of relate columns the fact's keys are asked for, by which they come.
    """
    real = [c for c in own if all(column.field_id > 0 for column in columns(c))]
    keys = [Column(0, k.field_id, k.name, k.type) for one in relates for k in one.key_columns]
    named = [c for e in own for c in columns(e)]
    named += [one for one in used if isinstance(one, Column)]
    asked = Question.of(real, [*keys, *(c for c in named if c.field_id > 0)])
    statistics, decoding = table.statistics_for(asked)
    return Survey(statistics, own, over, decoding, table)
