"""The search for what answers a join without a cube: over which of its tables, by which columns.

One of its tables is the fact, of which files are left out by its own predicates, by relate columns
and by keys of its dimensions. Dimensions of which these say all that's asked aren't read at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from accelerator.artifacts.relate.declaration import PREFIX, RelateColumn, relate_columns
from accelerator.common.arrow.spark_types import is_known
from accelerator.common.config.config import Config
from accelerator.common.lru_cache import Recent
from accelerator.iceberg import PinnedTable
from accelerator.iceberg.pruning.column_ranges import range_of
from accelerator.iceberg.pruning.spark_doubts import joined_pruning_doubt
from accelerator.planning.context import COUNTED_MAX, PlanContext, PlannerServices
from accelerator.planning.dynamic_filters import key_predicates
from accelerator.planning.plans import MANIFESTS, Attempt
from accelerator.planning.sources.choose import CoverCandidate
from accelerator.planning.sources.duckdb_text import duckdb_run, fields_used, tested_parts
from cubes.degenerate.manifest_cube import Manifested, manifested
from cubes.may_raise import unknown, unsafe
from rewrite.facts import TableFacts
from rewrite.ir.block import Block
from rewrite.ir.expr import Expr, columns, occurrences
from rewrite.ir.integer_ranges import raises_nothing
from rewrite.reason import Declined, DeclinedError
from rewrite.rules.eliminate_joins import JoinElimination, PinnedFacts, Reduced
from rewrite.rules.push_through_joins import pushed

if TYPE_CHECKING:
    from accelerator.artifacts.relate.index_validity import PinnedRelate
    from accelerator.artifacts.sidecars.probe import TableIndexes
    from accelerator.iceberg.statistics.file_statistics import FileStatistics
    from accelerator.planning.sources.compose import FactAlone
    from accelerator.planning.survey import OverFiles, Survey

_TESTED_MAX = 256 * 1024**2
"""Bytes of a table of which all rows are tested: Spark may read far less of a larger one."""
_TOLD = frozenset({"count", "min", "max"})
"""Functions that manifests may tell of any column."""


def indexes_over(
    table: PinnedTable,
    scene: PlanContext,
    parts: PlannerServices,
    relates: Sequence[PinnedRelate] = (),
) -> OverFiles:
    """Of that table; those on relate columns are there for `relates` alone."""
    uuid = table.facts.uuid

    def over(statistics: FileStatistics) -> TableIndexes | None:
        registered = scene.stored.indexes_of(uuid)
        if not registered:
            return None
        version = scene.stored.table(uuid)
        return parts.indexes().over(statistics, table.facts, registered, version, relates)

    return over


def held_fields(table: PinnedTable, scene: PlanContext) -> frozenset[int]:
    """Of columns and relate columns whose values bitmaps keep."""
    registered = scene.stored.indexes_of(table.facts.uuid)
    return frozenset(one.field_id for one in registered if one.kind == "BITMAP")


class _Join(Struct, frozen=True):
    """A block over several tables, the occurrence that is its fact, and what holds of that alone.

    `relates` are the relate columns in `own`; `unique` tells of fields of a table.
    """

    block: Block
    pinned: Sequence[PinnedTable]
    fact: int
    own: tuple[Expr, ...]
    relates: tuple[PinnedRelate, ...]
    unique: Callable[[PinnedTable, frozenset[int]], bool]

    @property
    def table(self) -> PinnedTable:
        """The fact."""
        return self.pinned[self.fact]


class JoinedSearch:
    """Covers joins; threads may share it."""

    def __init__(self, config: Config, parts: PlannerServices) -> None:
        self._config, self._parts = config, parts
        self._relates: Recent[tuple[RelateColumn, ...]] = Recent()

    def candidate(
        self,
        block: Block,
        pinned: Sequence[PinnedTable],
        scene: PlanContext,
        unique: Callable[[PinnedTable, frozenset[int]], bool],
    ) -> Attempt | CoverCandidate:
        """Without the files of the fact of which no row passes, and the dimensions that may go.

        The fact is the largest of the tables that aren't padded; one with relate columns comes
        first.
        """
        tested = tested_parts(block, pinned)
        refused = Declined("may_raise") if tested is None else unknown(block.conditions)
        if tested and refused is None:
            at = {o for part in tested for o in occurrences(part)}
            large = any(pinned[o].size_bytes > _TESTED_MAX for o in at)
            if large or not scene.reads_all(self._parts.choice, [pinned[o] for o in sorted(at)]):
                refused = Declined("may_raise")
        inner = [i for i in range(len(pinned)) if i not in block.null_supplied]
        if refused is not None or not inner:
            return Attempt(MANIFESTS, refused or Declined("metadata_one_table"))
        fact = max(
            inner, key=lambda i: (bool(self._declared(pinned[i], scene)), pinned[i].size_bytes, -i)
        )
        if tested:  # what's proven when the statement runs leaves out no file before
            return self._whole(_Join(block, pinned, fact, (), (), unique), scene)
        join = _Join(block, pinned, fact, *self.own(block, fact, pinned, scene), unique)
        return self._without_joins(join, scene) or self._whole(
            join, scene, *self._keys(join, scene)
        )

    def own(
        self, block: Block, fact: int, pinned: Sequence[PinnedTable], scene: PlanContext
    ) -> tuple[tuple[Expr, ...], tuple[PinnedRelate, ...]]:
        """What WHERE and the joins say of the fact alone, and the relate columns in it.

        The fact stands inner or preserved, so a conjunct that isn't TRUE ends its row.
        """
        own = tuple(c for c in block.conjuncts if occurrences(c) == {fact})
        declared = self._declared(pinned[fact], scene)
        if not declared:
            return own, ()
        told = pushed(block, fact, [one.related for one in declared.values()])
        relates = self._pinned(told.through, fact, pinned, scene)
        return tuple(dict.fromkeys((*own, *told.conjuncts))), relates

    def _pinned(
        self,
        through: Mapping[int, tuple[int, ...]],
        fact: int,
        pinned: Sequence[PinnedTable],
        scene: PlanContext,
    ) -> tuple[PinnedRelate, ...]:
        """Relate columns as the statement sees them."""
        from accelerator.artifacts.relate.index_validity import PinnedRelate
        from accelerator.artifacts.relate.path import Path

        declared, dimensions = self._declared(pinned[fact], scene), self._parts.dimensions()
        return tuple(
            PinnedRelate(
                Path(declared[number], tuple(pinned[o] for o in at)), pinned[fact], dimensions
            )
            for number, at in through.items()
        )

    def _whole(self, join: _Join, scene: PlanContext, *keys: Expr) -> Attempt | CoverCandidate:
        """With all of its joins; `keys` are further conditions on the fact."""
        own = (*join.own, *keys)
        always = scene.reads_all(self._parts.choice, join.pinned)
        if not own and not always:
            return Attempt(MANIFESTS, Declined("metadata_no_file"))
        # Imports Arrow's compute module.
        from accelerator.planning.sources.compose import joined_candidate

        asked = self._survey(join.table, own, (), join.relates, scene)
        return joined_candidate(join.block, join.fact, asked, join.pinned, always=always)

    def _survey(
        self,
        table: PinnedTable,
        own: Sequence[Expr],
        used: Sequence[Expr],
        relates: Sequence[PinnedRelate],
        scene: PlanContext,
    ) -> Survey:
        from accelerator.planning.survey import survey  # imports Arrow's compute module

        return survey(table, own, used, indexes_over(table, scene, self._parts, relates), relates)

    def alone(
        self,
        block: Block,
        fact: int,
        pinned: Sequence[PinnedTable],
        scene: PlanContext,
        unique: Callable[[PinnedTable, frozenset[int]], bool],
    ) -> FactAlone | None:
        """What is asked of the fact in place of all its joins; None if any of these stays.

        Then each row of the fact surely meets one row of what is joined, whichever files it's of.
        """
        known = range_of(pinned)
        if unsafe(block.conditions, lambda call: raises_nothing(call, known)) is not None:
            return None
        join = _Join(block, pinned, fact, *self.own(block, fact, pinned, scene), unique)
        search = self._elimination(join, scene)
        return None if search is None else self._alone(join, search, scene)

    def _alone(self, join: _Join, search: JoinElimination, scene: PlanContext) -> FactAlone | None:
        table = join.table
        if not _may_be_told(join.block, join.fact, table, scene):
            return None
        told = search.reduced(results=True)
        if told is None or not _is_sound(join.block, join.pinned, told):
            return None
        cube = manifested(told.block, table.fixed_fields, held_fields(table, scene))
        if not isinstance(cube, Manifested) or not cube.tells:
            return None
        relates = self._pinned(told.through, join.fact, join.pinned, scene)
        asked = self._survey(table, told.block.conjuncts, cube.used, relates, scene)
        # Imports Arrow's compute module.
        from accelerator.planning.sources.compose import FactAlone

        return FactAlone(told.block, cube, asked, table.deleted, told, relates, _gone(join, told))

    def _elimination(self, join: _Join, scene: PlanContext) -> JoinElimination | None:
        """The search for dimensions that may go; None where it would find none."""
        block, fact, pinned = join.block, join.fact, join.pinned
        declared = self._declared(join.table, scene)
        if not declared and not block.left_edges:
            return None
        related = [one.related for one in declared.values()]

        def unique(occurrence: int, fields: frozenset[int]) -> bool:
            return join.unique(pinned[occurrence], fields)

        def never_null(number: int, at: tuple[int, ...]) -> bool:
            if any(pinned[o].size_bytes > COUNTED_MAX for o in at):
                return False
            (relate,) = self._pinned({number: at}, fact, pinned, scene)
            return relate.dimensions.never_null(relate.path)

        return JoinElimination(block, fact, related, PinnedFacts(unique, never_null))

    def _without_joins(self, join: _Join, scene: PlanContext) -> CoverCandidate | None:
        """Without the dimensions that the statement can do without; None where it needs all."""
        search = self._elimination(join, scene)
        if search is None:
            return None
        found: CoverCandidate | None = None
        alone = self._alone(join, search, scene) if self._declared(join.table, scene) else None
        if alone is not None:
            told = alone.candidate()
            if isinstance(told, CoverCandidate) and not told.cover.uncovered:
                found = told
        if found is None and self._config.engine != "spark" and not scene.by_spark:
            reduced = search.reduced()
            if reduced is not None and _is_sound(join.block, join.pinned, reduced):
                found = self._by_rows(join, reduced, scene)
        return found

    def _by_rows(self, join: _Join, told: Reduced, scene: PlanContext) -> CoverCandidate | None:
        """The joins that are left over just the rows of which what is selected is TRUE."""
        # Imports Arrow's compute module.
        from accelerator.planning.sources.compose import joined_candidate

        if told.selected and not _is_read_in_part(told, join.table):
            return None
        by_number = {one.path.column.id: one for one in join.relates}
        new = {n: at for n, at in told.through.items() if n not in by_number}
        relates = (*join.relates, *self._pinned(new, join.fact, join.pinned, scene))
        own = tuple(dict.fromkeys((*join.own, *told.selected)))
        pinned = [join.pinned[o] for o in told.kept]
        always = self._config.engine == "duckdb"
        asked = self._survey(join.table, own, (), relates, scene)
        found = joined_candidate(
            told.block, told.fact, asked, pinned, always=always, selected=told.selected
        )
        if isinstance(found, Attempt):
            return None
        if not (always or self._parts.choice.in_process(found.tried.bytes, pinned)):
            return None  # Spark reads whole files
        cover = replace(found.cover, gone=_gone(join, told))
        found = replace(found, cover=cover, reduced=told)
        try:
            duckdb_run(told.block, cover, pinned)
        except DeclinedError:
            return None
        return found

    def _keys(self, join: _Join, scene: PlanContext) -> Iterator[Expr]:
        """What dimensions without relate columns leave of the fact's keys that have an index."""
        indexed = {one.field_id for one in scene.stored.indexes_of(join.table.facts.uuid)}
        told = {one.facts.uuid for relate in join.relates for one in relate.path.dimensions}
        through = {o.index for o in join.block.occurrences if o.table.uuid in told}
        if indexed:
            yield from key_predicates(
                join.block, join.fact, join.pinned, indexed, through, self._parts.duckdb
            )

    def _declared(self, table: PinnedTable, scene: PlanContext) -> dict[int, RelateColumn]:
        """The relate columns of a table that have an index, by id."""
        if not any(key.startswith(PREFIX) for key in table.properties):
            return {}
        indexed = {one.field_id for one in scene.stored.indexes_of(table.facts.uuid)}
        known = self._relates.get_or(table.version, lambda: relate_columns(table.properties))
        return {one.id: one for one in known if one.id in indexed}


def _may_be_told(block: Block, fact: int, table: PinnedTable, scene: PlanContext) -> bool:
    """Whether manifests and bitmaps may have what is shown of the fact's own columns."""
    if block.rows:
        return False
    told = table.fixed_fields | held_fields(table, scene)
    shown = [*block.keys]
    for call in block.aggregates:
        shown += () if call.function in _TOLD and not call.distinct else call.args
    named = (column for expr in shown for column in columns(expr) if column.occurrence == fact)
    return all(column.field_id in told for column in named)


def _is_sound(block: Block, pinned: Sequence[PinnedTable], told: Reduced) -> bool:
    """Whether plain Spark surely sees the rows of the dimensions that go as they were looked up.

    It may leave out a file by its bounds, or take a partition's value instead of the file's.
    """
    if isinstance(joined_pruning_doubt(block, pinned), Declined):
        return False
    gone = [i for i in range(len(pinned)) if i not in told.kept]
    return not any(
        pinned[i].has_doubtful((c.field_id, c.type or "unknown") for c in fields_used(block, i))
        for i in gone
    )


def _is_read_in_part(told: Reduced, table: PinnedTable) -> bool:
    """Whether what is used of the fact can be read of just some rows of its files."""
    used = fields_used(told.block, told.fact)
    if not used:
        return any(is_known(c.type) for c in told.block.occurrences[told.fact].table.columns)
    return all(is_known(c.type) and c.field_id not in table.defaulted_fields for c in used)


def _gone(join: _Join, told: Reduced) -> tuple[TableFacts, ...]:
    """The tables that aren't read, once each."""
    found = (join.pinned[i].facts for i in range(len(join.pinned)) if i not in told.kept)
    return tuple({(one.uuid, one.snapshot_id): one for one in found}.values())
