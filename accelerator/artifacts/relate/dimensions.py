"""Dimensions of relate columns at their pinned states: lookups through them, and what has changed.

Everything is kept under names that never get new content: a relate column's id, and the snapshots
of the tables on its path. Threads may share it. Dimensions with more rows than a lookup in memory
may have are read by Spark, which counts their keys and joins them with a fact's; of two states only
the files are compared that not both have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec import Struct

from accelerator.artifacts.relate.expressions import computed
from accelerator.artifacts.relate.lookup import (
    DimensionLink,
    Keys,
    Lookup,
    Rows,
    changed,
    changed_rows,
    check_promoted,
    reached,
)
from accelerator.artifacts.relate.path import (
    Path,
    PathStep,
    Snapshots,
    column_text,
    column_there,
    steps_of,
)
from accelerator.common.arrow.spark_types import arrow_type
from accelerator.common.lru_cache import Recent
from accelerator.engines.spark.lazy_engine import require_spark
from accelerator.errors import (
    AcceleratorError,
    RelateColumnError,
    RelateKeyError,
)
from accelerator.iceberg import Lake, LiveFile, NeedsSparkError, PinnedTable
from rewrite.facts import At, ColumnFacts
from rewrite.render.expressions import Renderer, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from accelerator.engines.duckdb.engine import DuckDBEngine
    from accelerator.engines.spark.engine import SparkEngine

_LOOKUPS_MAX = 32
_LOOKUP_BYTES_MAX = 64 * 1024 * 1024
"""A larger one isn't kept: a build asks for it once, and a statement only after a change."""
_CHANGES_MAX = 256
_CHANGED_KEYS_MAX = 1_000_000
"""Of a large dimension: builds send them to the workers. With more, all files may have some."""


def _value_text(path: Path) -> str:
    """The path's value as Spark reads it over `d0`, `d1`, … in the columns' present names."""
    pairs = zip(path.column.columns, path.columns, strict=True)
    texts = {one: column_text(one.occurrence - 1, now) for one, now in pairs}
    expression = path.column.expression or path.column.columns[0]
    return Renderer("spark", lambda column: texts[column]).text(expression)


def _name(path: Path) -> Hashable:
    """What a lookup rests on. RelateColumnError where the attribute was dropped."""
    column = path.column
    return column.id, column.path, column.columns, path.snapshots, path.types


class _Flag(Struct, frozen=True):
    """A flag, as `Recent` takes None for what it doesn't keep."""

    value: bool


class Dimensions:
    """Reads dimensions, and keeps what came of it."""

    def __init__(
        self,
        lake: Lake,
        spark: Callable[[], SparkEngine],
        duckdb: Callable[[], DuckDBEngine],
        rows_max: int,
    ) -> None:
        """Of more than `rows_max` rows none is looked up in memory."""
        self._lake, self._spark, self._duckdb = lake, spark, duckdb
        self._rows_max = rows_max
        self._lookups: Recent[Lookup] = Recent(_LOOKUPS_MAX)
        self._changes: Recent[Keys] = Recent(_CHANGES_MAX)
        self._told: Recent[_Flag] = Recent(_CHANGES_MAX)

    def is_large(self, path: Path) -> bool:
        """Whether some dimension has more rows than a lookup may have."""
        return any(self._is_large(one) for one in path.dimensions)

    def _is_large(self, pinned: PinnedTable) -> bool:
        if not pinned.rows_told:  # its summary may not say
            return sum(f.record_count for f in pinned.live_files()) > self._rows_max
        return pinned.rows_told > self._rows_max

    def check_spark(self, path: Path) -> None:
        """Raises SparkMissingError if a dimension is large, and Spark isn't installed."""
        if large := [one for one in path.dimensions if self._is_large(one)]:
            self._engine_for(*large)

    def _engine_for(self, *pinned: PinnedTable) -> SparkEngine:
        names, most = ", ".join(one.facts.name for one in pinned), self._rows_max
        return require_spark(
            self._spark,
            f"Spark looks up keys in {names}, which may have more than {most:,} rows",
            "raise relate_lookup_rows_max if this process has the memory",
        )

    def check(self, path: Path, tag: str = "") -> None:
        """Raises what `lookup` raises, of large dimensions too, whose keys Spark counts.

        Its jobs carry the tag. EngineError, CancelledError where they fail or are stopped.
        """
        if not self.is_large(path):
            self.lookup(path)
            return
        _attribute_is_there = path.attribute
        for step in steps_of(path):
            own = frozenset(one.field_id for one in step.keys)
            name = _unique_name(step.pinned, own)
            if self._told.get(name) == _Flag(True):
                continue
            if self._is_large(step.pinned):
                engine = self._engine_for(step.pinned)
                from accelerator.artifacts.relate.spark import check_unique

                names = [one.name for one in step.keys]
                check_unique(engine, step.pinned, names, tag)
            else:
                self._rows(step.pinned, step.keys, {}).keyed()
            self._told.put(name, _Flag(True))

    @contextmanager
    def values(self, path: Path) -> Iterator[DataFrame]:
        """Spark's rows of keys (`k0`, `k1`, …) and value (`v0`), there while the block runs.

        Without keys that have a NULL. Each key is there once if `check` has found nothing.
        """
        engine = self._engine_for(*filter(self._is_large, path.dimensions))
        from accelerator.artifacts.relate.spark import staged

        with staged(engine, steps_of(path), [_value_text(path)]) as rows:
            yield rows

    def lookup(self, path: Path) -> Lookup:
        """The value of every key.

        RelateKeyError where a key isn't unique; UnknownTableError and RelateColumnError where
        columns are gone, a dimension is large, or an expression raises of some row.
        """
        name = _name(path)
        known = self._lookups.get(name)
        if known is not None:
            return known
        made = self._composed(path)
        if made.nbytes > _LOOKUP_BYTES_MAX:
            return made
        return self._lookups.get_or(name, lambda: made)

    def never_null(self, path: Path) -> bool:
        """Whether each key of the path has a value; False where that can't be told.

        Kept apart from the lookup, which may be too large for that.
        """
        try:
            name = ("never_null", _name(path))
        except AcceleratorError:
            return False
        return self._told.get_or(name, lambda: _Flag(self._is_never_null(path))).value

    def _is_never_null(self, path: Path) -> bool:
        try:
            return not self.lookup(path).values.null_count
        except (AcceleratorError, OSError, ValueError, KeyError, pa.ArrowException):
            return False

    def unique(self, pinned: PinnedTable, field_ids: frozenset[int]) -> bool:
        """Whether each combination of these columns stands once in the table, NULLs aside."""
        name = _unique_name(pinned, field_ids)
        return self._told.get_or(name, lambda: _Flag(self._counted(pinned, field_ids))).value

    def _counted(self, pinned: PinnedTable, field_ids: frozenset[int]) -> bool:
        try:
            columns = [column_there(pinned, one, str(one)) for one in sorted(field_ids)]
            self._rows(pinned, columns, {}).keyed()
        except (AcceleratorError, OSError, ValueError, KeyError, pa.ArrowException):
            return False
        return True

    def changed(self, path: Path, before: Snapshots) -> Keys | None:
        """Keys whose value differs between those snapshots and the path's own; empty for none.

        None where it can't be told: a snapshot has expired, a key isn't unique there, or they're
        more than can be kept.
        """
        try:
            name = (path.column.id, before, path.snapshots, path.types)
            if self._told.get(("untold", name)) is None:
                return self._changes.get_or(name, lambda: self._compared(path, before))
        except RelateKeyError:  # which these states will always be
            self._told.put(("untold", name), _Flag(True))
        except (AcceleratorError, OSError, ValueError, KeyError, pa.ArrowException):
            pass
        return None

    def changed_rows(
        self,
        pinned: PinnedTable,
        before: int,
        key: tuple[int, ...],
        fields: frozenset[int],
    ) -> Keys | None:
        """Keys of the table whose row differs in these fields from that of the snapshot before.

        Keys and fields are given by their ids. None where it can't be told, as with `changed`.
        """
        facts = pinned.facts
        layouts = facts.layouts({*key, *fields})
        name = ("rows", facts.uuid, facts.snapshot_id, before, key, fields, layouts)
        try:
            return self._changes.get_or(
                name, lambda: self._rows_compared(pinned, before, key, fields)
            )
        except (AcceleratorError, OSError, ValueError, KeyError, pa.ArrowException):
            return None

    def _rows_compared(
        self, pinned: PinnedTable, before: int, key: tuple[int, ...], fields: frozenset[int]
    ) -> Keys:
        then = self._lake.pin().pinned(pinned.parts, At(snapshot_id=before))
        if then is None or then.facts.uuid != pinned.facts.uuid:
            raise RelateColumnError(
                "a dimension's earlier state is gone", hint="build the cube again"
            )
        own, more = zip(*(_columns(one, key, fields) for one in (then, pinned)), strict=True)
        files: _Files = (None, None)
        if self._is_large(then) or self._is_large(pinned):
            files = _differing_files(then, pinned)
            if sum(f.record_count for some in files for f in some) > self._rows_max:
                steps = ([PathStep(then, tuple(own[0]))], [PathStep(pinned, tuple(own[1]))])
                values = [list(one.values()) for one in more]
                texts = [[column_text(0, one) for one in some] for some in values]
                return self._by_spark(steps, values, texts, files)
        old, new = (
            self._rows(*side).keyed() for side in zip((then, pinned), own, more, files, strict=True)
        )
        return changed_rows(old, new)

    def _compared(self, path: Path, before: Snapshots) -> Keys:
        then = self._earlier(path, before)
        if not (self.is_large(path) or self.is_large(then)):
            return changed(self.lookup(then), self.lookup(path))
        files: _Files = (None, None)
        if then.snapshots[1:] == path.snapshots[1:]:
            files = _differing_files(then.dimensions[0], path.dimensions[0])
            rows = sum(f.record_count for some in files for f in some)
            if rows <= self._rows_max and not any(map(self._is_large, path.dimensions[1:])):
                return changed(self._composed(then, files[0]), self._composed(path, files[1]))
        steps, values = (steps_of(then), steps_of(path)), ([then.attribute], [path.attribute])
        return self._by_spark(steps, values, ([_value_text(then)], [_value_text(path)]), files)

    def _by_spark(
        self,
        steps: tuple[Sequence[PathStep], Sequence[PathStep]],
        values: Sequence[Sequence[ColumnFacts]],
        texts: Sequence[Sequence[str]],
        files: _Files,
    ) -> Keys:
        """Keys that differ between the earlier state, which stands first, and the later one.

        Of the first dimensions only these files are read. `texts` are the values as Spark reads
        them.
        """
        engine, most = self._engine_for(*(one.pinned for one in steps[1])), _CHANGED_KEYS_MAX
        from accelerator.artifacts.relate.spark import differing, staged

        old, keys = ([*some[0].keys] for some in steps)
        for one, other in zip([*old, *values[0]], [*keys, *values[1]], strict=True):
            check_promoted(arrow_type(one.type), arrow_type(other.type))
        with (
            staged(engine, steps[0], texts[0], files[0]) as earlier,
            staged(engine, steps[1], texts[1], files[1]) as later,
        ):
            found = differing(engine, earlier, later, keys, values[1], most + 1)
        if found.num_rows > most:
            raise RelateColumnError(
                f"more than {most:,} keys of {steps[1][0].pinned.facts.name} have changed",
                hint="build the index again",
            )
        columns = zip(found.columns, keys, strict=True)
        return Keys(tuple(c.combine_chunks().cast(arrow_type(k.type)) for c, k in columns))

    def _earlier(self, path: Path, before: Snapshots) -> Path:
        """The path at those snapshots. RelateColumnError where one has expired."""
        pin = self._lake.pin()
        dimensions = []
        for (uuid, snapshot), pinned in zip(before, path.dimensions, strict=True):
            at = At() if snapshot is None else At(snapshot_id=snapshot)
            then = pin.pinned(pinned.parts, at)
            if snapshot is None or then is None or then.facts.uuid != uuid:
                raise RelateColumnError(
                    "a dimension's earlier state is gone", hint="build the index again"
                )
            dimensions.append(then)
        return Path(path.column, tuple(dimensions))

    def _composed(self, path: Path, files: Sequence[LiveFile] | None = None) -> Lookup:
        """Of those files of the first dimension, all if None."""
        links = []
        wanted: list[set[int]] = [set() for _ in path.dimensions]
        fields = [(one.occurrence, one.field_id) for one in path.column.columns]
        for place, field in fields:
            wanted[place - 1].add(field)
        for join in path.column.path[1:]:
            for key in join.keys:
                wanted[key.of - 1].add(key.other.field_id)
        for number, (join, pinned) in enumerate(
            zip(path.column.path, path.dimensions, strict=True)
        ):
            own = [column_there(pinned, key.own.field_id, key.own.name) for key in join.keys]
            more = sorted(wanted[number])
            others = [column_there(pinned, one, str(one)) for one in more]
            chosen = None if number else files
            rows = self._rows(pinned, own, dict(zip(more, others, strict=True)), chosen)
            before = [(key.of - 1, key.other.field_id) for key in join.keys] if number else []
            links.append(DimensionLink(rows, tuple(before)))
        keys, values = reached(links, fields)
        if path.column.expression is None:
            return Lookup(keys, values[0])
        return Lookup(keys, computed(path, values, self._duckdb()))

    def _rows(
        self,
        pinned: PinnedTable,
        keys: Sequence[ColumnFacts],
        others: dict[int, ColumnFacts],
        files: Sequence[LiveFile] | None = None,
    ) -> Rows:
        """Of those files, which are few enough; all if None."""
        if files is None and self._is_large(pinned):
            raise RelateColumnError(
                f"{pinned.facts.name} has {pinned.rows_told:,} rows, and dimensions of more than"
                f" {self._rows_max:,} aren't looked up in memory",
                hint="raise relate_lookup_rows_max where driver and workers have the memory",
            )
        columns = {column.name: column for column in (*keys, *others.values())}
        table = self._read(pinned, columns, files)

        def column(one: ColumnFacts) -> pa.Array:
            found = table.column(one.name).combine_chunks()
            return found.cast(arrow_type(one.type)) if one.type != "string" else found

        return Rows(
            pinned.facts.name,
            tuple(one.name for one in keys),
            tuple(column(one) for one in keys),
            {number: column(one) for number, one in others.items()},
        )

    def _read(
        self,
        pinned: PinnedTable,
        columns: Mapping[str, ColumnFacts],
        files: Sequence[LiveFile] | None,
    ) -> pa.Table:
        names = sorted(columns)
        if not pinned.has_doubtful((one.field_id, one.type) for one in columns.values()):
            with suppress(NeedsSparkError):  # equality deletes
                return pinned.arrow(names, files)
        engine = self._spark()
        with engine.stage(pinned, pinned.live_files() if files is None else files) as staged:
            wanted = ", ".join(quote(name, "spark") for name in names)
            return engine.built(f"SELECT {wanted} FROM {staged.sql}").toArrow()


_Files = tuple[Sequence[LiveFile] | None, Sequence[LiveFile] | None]
"""Of an earlier and a later state of a table; None for all."""


def _unique_name(pinned: PinnedTable, field_ids: frozenset[int]) -> Hashable:
    facts = pinned.facts
    return "unique", facts.uuid, facts.snapshot_id, field_ids, facts.layouts(field_ids)


def _columns(
    pinned: PinnedTable, key: tuple[int, ...], fields: frozenset[int]
) -> tuple[list[ColumnFacts], dict[int, ColumnFacts]]:
    own = [column_there(pinned, one, str(one)) for one in key]
    return own, {one: column_there(pinned, one, str(one)) for one in sorted(fields)}


def _differing_files(old: PinnedTable, new: PinnedTable) -> tuple[list[LiveFile], list[LiveFile]]:
    """Of each state the files that the other lacks, or has with other deletes.

    The others have the same rows in both.
    """
    states = [
        Counter((f.key, frozenset(f.deletes)) for f in one.live_files()) for one in (old, new)
    ]
    same = {name for name, count in states[0].items() if states[1][name] == count}
    before, after = (
        [f for f in one.live_files() if (f.key, frozenset(f.deletes)) not in same]
        for one in (old, new)
    )
    return before, after
