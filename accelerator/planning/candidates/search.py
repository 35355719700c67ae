"""The search for the cheapest cover of one statement: every cube of its tables is tried.

Pure but for its own cache of covers: pins and store versions come with the statement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, cast

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.common.config.config import Config
from accelerator.common.lru_cache import Recent
from accelerator.engines.session_settings import SessionContext, refusal
from accelerator.iceberg import Pin, PinnedTable
from accelerator.iceberg.pruning.column_ranges import range_of
from accelerator.iceberg.pruning.spark_doubts import joined_pruning_doubt
from accelerator.planning.candidates.constants import is_constant, plan_constants
from accelerator.planning.candidates.derived_tables import plan_nested, rows_beside
from accelerator.planning.candidates.joins import JoinedSearch, held_fields, indexes_over
from accelerator.planning.candidates.set_operations import plan_set
from accelerator.planning.candidates.spark_text import differs_in_spark, text_declined
from accelerator.planning.candidates.splice import has_inner, plan_partial
from accelerator.planning.context import COUNTED_MAX, PlanContext, PlannerServices
from accelerator.planning.plans import (
    ALL_ROWS,
    MANIFESTS,
    Attempt,
    CoverPlan,
    DuckDBRun,
    MergedPlan,
    PartialPlan,
    PlainPlan,
    Plan,
)
from accelerator.planning.sources.aggregate_groups import cost_of_parts, plan_groups
from accelerator.planning.sources.choose import CoverCandidate, cheapest, cost, nearest
from accelerator.planning.sources.cube import CubeCovers
from accelerator.planning.sources.duckdb_text import check_raw, duckdb_run, tested_parts, types_now
from accelerator.store import CubeRecord, RegistryVersion
from cubes.coverage import Coverage, Holds, Segment, cover
from cubes.definition import CubeDefinition, from_dict
from cubes.degenerate.manifest_cube import Manifested, manifested
from cubes.match.match import hides, match
from cubes.match_result import Match
from cubes.sql.build import loses_digits
from rewrite.bind.join_rows import bind_joined, joins_rows
from rewrite.bind.select import bind_block
from rewrite.bind.table_rows import bind_rows, selects_rows
from rewrite.facts import At, Facts, TableFacts, ViewFacts
from rewrite.ir.block import Block, sum_of_texts
from rewrite.ir.expr import Expr
from rewrite.ir.integer_ranges import raises_nothing
from rewrite.ir.row_block import RowBlock
from rewrite.parse.parse import parse, unparsed
from rewrite.reason import Declined, DeclinedError
from rewrite.rules.derived_tables import SELECTS_MAX, Beside, Nested, nested, unread_queries
from rewrite.rules.inline_views import Views, inlined
from rewrite.rules.merge_subqueries import flattened, over_rows
from rewrite.rules.push_limit import limited
from rewrite.rules.set_operations import above, set_operation
from rewrite.rules.splice.select_spans import Text
from rewrite.rules.split_windows import unfolded

if TYPE_CHECKING:
    from accelerator.artifacts.segments.validity import SegmentsThatHold
    from accelerator.planning.sources.compose import FactAlone
    from accelerator.planning.survey import OverFiles

Names = tuple[tuple[tuple[str, ...], At], ...]
"""Tables as a statement names them."""

Unique = Callable[[tuple[str, ...], At, frozenset[int]], bool]
"""What `Facts.unique` asks: of a table's state, by its name, and the field ids of columns."""


class _RememberedFacts(Facts):
    """Passes questions on to a pin and remembers which tables were asked for."""

    def __init__(self, pin: Pin, context: SessionContext, unique: Unique | None = None) -> None:
        self._pin, self._context, self._unique = pin, context, unique
        self._asked: list[tuple[tuple[str, ...], At]] = []

    @property
    def names(self) -> Names:
        return tuple(dict.fromkeys(self._asked))

    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        self._asked.append((parts, at))
        return None if self._context.is_temporary(parts) else self._pin.table(parts, at)

    def read_ahead(self, names: Sequence[tuple[str, ...]]) -> None:
        self._pin.read_ahead([one for one in names if not self._context.is_temporary(one)])

    def unique(self, parts: tuple[str, ...], at: At, field_ids: frozenset[int]) -> bool:
        return self._unique is not None and self._unique(parts, at, field_ids)


class FoundPlan(Struct, frozen=True):
    """A plan, and the tables that it depends on: all that were asked for, also where it's plain."""

    plan: Plan
    names: Names


_SelectKey = tuple[int, bool, bool]
"""A tree's identity, and what Spark will do with its plan."""


class _Selects(Struct):
    """Plans of one statement's SELECTs. The trees stay alive, so that identities stay theirs."""

    planned: int = 0
    found: dict[_SelectKey, tuple[exp.Expression, FoundPlan]] = field(default_factory=dict)


class CubeSearch:
    """Tries cubes; threads may share it."""

    def __init__(
        self,
        config: Config,
        context: SessionContext,
        parts: PlannerServices,
    ) -> None:
        self._config, self._context, self._parts = config, context, parts
        self._joins = JoinedSearch(config, parts)
        self._covers: Recent[Coverage] = Recent()
        self._definitions: tuple[int, dict[str, list[tuple[CubeRecord, CubeDefinition | None]]]]
        self._definitions = (-1, {})

    def bind(self, tree: exp.Expression, pin: Pin, zone: str | None = None) -> tuple[Block, Names]:
        """The normal form of a SELECT under a pin, and the tables that were asked for.

        Nothing is unique here: that holds of a state alone, and a cube's definition outlives it.
        """
        seen = _RememberedFacts(pin, self._context)
        return bind_block(tree, seen, zone), seen.names

    def _facts(self, scene: PlanContext) -> _RememberedFacts:
        def unique(parts: tuple[str, ...], at: At, field_ids: frozenset[int]) -> bool:
            return self._is_unique(scene, _pinned(scene.pin, parts, at), field_ids)

        return _RememberedFacts(scene.pin, self._context, unique)

    def _is_unique(self, scene: PlanContext, table: PinnedTable, field_ids: frozenset[int]) -> bool:
        """Counted, for tables that are quickly read, and where anything could come of it."""
        registry = scene.stored.registry
        if not (registry.cubes or registry.indexes) or table.size_bytes > COUNTED_MAX:
            return False
        return self._parts.dimensions().unique(table, field_ids)

    def cubes_of(
        self, table_uuid: str, registry: RegistryVersion
    ) -> list[tuple[CubeRecord, CubeDefinition | None]]:
        """The registered cubes of a fact table; the definition is None where it can't be read."""
        number, by_table = self._definitions
        if number != registry.number:
            by_table = {}
            for record in registry.cubes.values():
                by_table.setdefault(record.table_uuid, []).append((record, _definition(record)))
            self._definitions = (registry.number, by_table)
        return by_table.get(table_uuid, [])

    def plan(self, sql: str, tree: exp.Expression, scene: PlanContext) -> FoundPlan:
        """The cheapest plan of the statement; else of SELECTs in it, and Spark for the rest."""
        return _with_switched_off(self._plan_inlined(sql, tree, scene), scene)

    def _plan_inlined(self, sql: str, tree: exp.Expression, scene: PlanContext) -> FoundPlan:
        """Plans the statement with views as derived tables."""
        seen = self._facts(scene)
        try:
            zone = scene.settings.get("time_zone")
            text = inlined(sql, tree, self._views(scene, seen), seen, zone)
            if text is None:
                return self._plan_text(sql, tree, scene)
            refused = refusal(scene.settings, text)
            if refused is not None:
                return FoundPlan(PlainPlan(refused), seen.names)
            found = self._plan_text(text, parse(text), scene)
        except DeclinedError as error:
            return FoundPlan(PlainPlan(error.declined), seen.names)
        except SqlglotError as error:
            declined = unparsed(error, "view_unsupported")
            return FoundPlan(PlainPlan(declined), seen.names)
        return replace(found, names=tuple(dict.fromkeys((*seen.names, *found.names))))

    def _views(self, scene: PlanContext, seen: _RememberedFacts) -> Views:
        """Views by the names that no table has."""

        def view(parts: tuple[str, ...]) -> ViewFacts | None:
            if seen.table(parts, At()) is not None or self._context.is_temporary(parts):
                return None
            return scene.pin.view(parts)

        return view

    def _plan_text(self, sql: str, tree: exp.Expression, scene: PlanContext) -> FoundPlan:
        if is_constant(tree) and scene.only is None and self._config.engine != "spark":
            with suppress(DeclinedError):  # EXISTS (SELECT …) is none
                return FoundPlan(plan_constants(tree, scene.settings.get("time_zone")), ())
        selects = _Selects()
        found = self._plan_tree(tree, scene, selects)
        if scene.only is not None or self._config.engine == "spark":
            return found
        if not isinstance(found.plan, PlainPlan):
            return found
        selects.planned = 0
        return self._partial(sql, tree, found, scene, selects)

    def inside(self, scene: PlanContext) -> PlanContext:
        """Under what SELECTs are planned whose answers Spark works on with."""
        return replace(scene, by_spark=False, beside_spark=True)

    def _partial(
        self,
        sql: str,
        tree: exp.Expression,
        found: FoundPlan,
        scene: PlanContext,
        selects: _Selects,
    ) -> FoundPlan:
        names = list(found.names)
        seen, planned = self._facts(scene), self._planned(names, self.inside(scene), selects)
        windowed = tree.find(exp.Window) is not None
        if not windowed and not has_inner(tree):
            return found
        plan: PartialPlan | PlainPlan
        whole = plan = cast(PlainPlan, found.plan)
        try:
            text = Text(sql)
            by_groups = unfolded(text) if windowed else None
            if by_groups is not None:
                plan = plan_partial(by_groups, parse(by_groups.sql), whole, seen, planned)
        except (DeclinedError, SqlglotError):
            return found
        if isinstance(plan, PlainPlan):
            plan = plan_partial(text, tree, whole, seen, planned)
        return FoundPlan(plan, tuple(dict.fromkeys((*names, *seen.names))))

    def _plan_tree(self, tree: exp.Expression, scene: PlanContext, selects: _Selects) -> FoundPlan:
        """A SELECT of the statement, planned once."""
        key = id(tree), scene.by_spark, scene.beside_spark
        if key not in selects.found:
            selects.found[key] = tree, self._plan_valid(tree, scene, selects)
        return selects.found[key][1]

    def _plan_valid(self, tree: exp.Expression, scene: PlanContext, selects: _Selects) -> FoundPlan:
        """Plans a SELECT; it's Spark's if what nothing reads of its WITH is Spark's."""
        try:
            unread = unread_queries(tree) if scene.only is None else []
        except DeclinedError as error:
            return FoundPlan(PlainPlan(error.declined), ())
        found = [self._plan_tree(one, scene, selects) for one in unread]
        refused = [one for one in found if one.plan.refused() is not None]
        found.append(refused[0] if refused else self._plan_select(tree, scene, selects))
        return replace(found[-1], names=tuple(dict.fromkeys(n for one in found for n in one.names)))

    def _plan_select(
        self, tree: exp.Expression, scene: PlanContext, selects: _Selects
    ) -> FoundPlan:
        selects.planned += 1
        if selects.planned > SELECTS_MAX:
            declined = Declined("block_unsupported", f"More than {SELECTS_MAX} SELECTs in one.")
            return FoundPlan(PlainPlan(declined), ())
        tree = flattened(limited(tree))
        rows = over_rows(tree)
        try:
            if isinstance(tree, exp.SetOperation) and scene.only is None:
                return self._plan_set(tree, scene, selects)
            split = nested(tree) if rows is None and scene.only is None else None
        except DeclinedError as error:
            return FoundPlan(PlainPlan(error.declined), ())
        if split is not None:
            return self._plan_nested(split, scene, selects)
        tree = rows or tree
        if scene.only is None and joins_rows(tree):
            return self._plan_joined_rows(tree, scene)
        if scene.only is None and selects_rows(tree):
            return self._plan_rows(tree, scene)
        seen = self._facts(scene)
        try:
            block = bind_block(tree, seen, scene.settings.get("time_zone"))
        except DeclinedError as error:
            return FoundPlan(PlainPlan(error.declined), seen.names)
        return FoundPlan(self._plan(block, scene), seen.names)

    def _planned(
        self, names: list[tuple[tuple[str, ...], At]], scene: PlanContext, selects: _Selects
    ) -> Callable[[exp.Expression], Plan]:
        """Returns what plans SELECTs and adds the tables that these depend on to `names`."""

        def planned(inner: exp.Expression) -> Plan:
            found = self._plan_tree(inner, scene, selects)
            names.extend(found.names)
            return found.plan

        return planned

    def _plan_set(self, tree: exp.SetOperation, scene: PlanContext, selects: _Selects) -> FoundPlan:
        """Queries under a set operator, and what sorts their rows; DeclinedError."""
        sorting = above(tree)
        if sorting is not None:
            return self._plan_tree(sorting, scene, selects)
        names: list[tuple[tuple[str, ...], At]] = []
        found, planned = set_operation(tree), self._planned(names, scene, selects)
        plan = plan_set(found, planned, self._config, by_spark=scene.by_spark)
        return FoundPlan(plan, tuple(dict.fromkeys(names)))

    def _plan_nested(self, split: Nested, scene: PlanContext, selects: _Selects) -> FoundPlan:
        """A SELECT over others; what any of them depends on, all do."""
        names: list[tuple[tuple[str, ...], At]] = []
        planned = self._planned(names, scene, selects)

        def rows(beside: Beside) -> Plan:
            names.append((beside.parts, At()))
            return rows_beside(beside, scene.pin, lambda tree: self._plan_rows(tree, scene).plan)

        zone = scene.settings.get("time_zone")
        plan = plan_nested(split, planned, rows, self._config, zone, by_spark=scene.by_spark)
        return FoundPlan(plan, tuple(dict.fromkeys(names)))

    def _plan_joined_rows(self, tree: exp.Expression, scene: PlanContext) -> FoundPlan:
        """Rows of a join; no cube has any."""
        seen = self._facts(scene)
        try:
            block = bind_joined(tree, seen, scene.settings.get("time_zone"))
            pinned = tuple([_pinned(scene.pin, o.parts, o.at) for o in block.occurrences])
        except DeclinedError as error:
            return FoundPlan(PlainPlan(error.declined), seen.names)
        found = self._joined(block, pinned, scene)
        if isinstance(found, Attempt):
            declined = found.declined or Declined("metadata_no_file")
            return FoundPlan(PlainPlan(declined, (found,)), seen.names)
        plan = self._cube_plan(block, found, pinned, (found.tried,), scene)
        if isinstance(plan, CoverPlan) and plan.title == ALL_ROWS:
            declined = Declined("metadata_no_file")
            if plan.engine == "spark":
                declined = plan.duckdb_declined or declined
                plan = PlainPlan(declined, (replace(found.tried, declined=declined),))
            else:
                plan = dataclasses.replace(plan, reason=declined)
        return FoundPlan(plan, seen.names)

    def _plan_rows(self, tree: exp.Expression, scene: PlanContext) -> FoundPlan:
        """The first rows of a table."""
        seen = _RememberedFacts(scene.pin, self._context)
        try:
            block = bind_rows(tree, seen, scene.settings.get("time_zone"))
            return FoundPlan(self._rows(block, scene), seen.names)
        except DeclinedError as error:
            return FoundPlan(PlainPlan(error.declined), seen.names)

    def _rows(self, block: RowBlock, scene: PlanContext) -> Plan:
        """The plan of a table's rows; DeclinedError where the table can't be read."""
        table = _pinned(scene.pin, block.occurrence.parts, block.occurrence.at)
        # Imports Arrow's compute module.
        from accelerator.planning.candidates.ordered_rows import plan_rows

        over = indexes_over(table, scene, self._parts)
        return plan_rows(block, table, self._parts.choice, self._config, over)

    def bind_shape(
        self, tree: exp.Expression, scene: PlanContext
    ) -> tuple[Block | RowBlock, Names] | None:
        """The block of a tree with parameters, and its tables; None if it is no single block."""
        seen, zone = self._facts(scene), scene.settings.get("time_zone")
        try:
            if unread_queries(tree):
                return None
            tree = flattened(limited(tree))
            rows = over_rows(tree)
            if isinstance(tree, exp.SetOperation) or (rows is None and nested(tree) is not None):
                return None
            tree = rows or tree
            if joins_rows(tree):
                return None
            bind = bind_rows if selects_rows(tree) else bind_block
            return bind(tree, seen, zone), seen.names
        except DeclinedError:
            return None

    def plan_shape(self, block: Block | RowBlock, scene: PlanContext) -> CoverPlan | None:
        """Plans the block for any parameters; None if the plan depends on their values."""
        if isinstance(block, RowBlock):
            return None
        for _, cube in self._cubes(block, scene):
            if cube is None or (cube.has_constants and not hides(block, cube)):
                return None
        if self._may_be_manifested(block, scene):
            return None  # which files serve depends on the constants
        plan = self._plan(block, scene)
        if not isinstance(plan, CoverPlan) or (block.conjuncts and plan.chooses_files):
            return None  # and so does which files are read
        return plan

    def plan_block(self, block: Block | RowBlock, names: Names, scene: PlanContext) -> FoundPlan:
        """The cheapest plan of a block without parameters, over the tables of those names."""
        plan = self._rows(block, scene) if isinstance(block, RowBlock) else self._plan(block, scene)
        return _with_switched_off(FoundPlan(plan, names), scene)

    def _may_be_manifested(self, block: Block, scene: PlanContext) -> bool:
        fact = block.occurrences[0]
        fixed = _pinned(scene.pin, fact.parts, fact.at).fixed_fields
        told = manifested(block, fixed)
        return isinstance(told, Manifested) and told.is_certain(fixed)

    def _cubes(
        self, block: Block, scene: PlanContext
    ) -> list[tuple[CubeRecord, CubeDefinition | None]]:
        uuids = dict.fromkeys(o.table.uuid for o in block.occurrences)
        registry = scene.stored.registry
        cubes = [pair for uuid in uuids for pair in self.cubes_of(uuid, registry)]
        return sorted(cubes, key=lambda pair: pair[0].name)

    def _plan(self, block: Block, scene: PlanContext) -> Plan:
        pinned = tuple([_pinned(scene.pin, o.parts, o.at) for o in block.occurrences])
        cubes = self._cubes(block, scene)
        tried: list[Attempt] = []
        found: list[CoverCandidate] = []
        doubt = joined_pruning_doubt(block, pinned) if cubes else ()
        judge = cache(lambda fact: self._judge(block, fact, pinned, scene))
        alone = cache(lambda fact: self._alone(block, fact, pinned, scene))
        covers = CubeCovers(block, pinned, judge, alone)
        for record, cube in cubes:
            if scene.only is not None and record.name != scene.only:
                continue
            refused = doubt if isinstance(doubt, Declined) else covers
            result = self._try(block, (record, cube), pinned, scene, refused)
            tried.append(result if isinstance(result, Attempt) else result.tried)
            if isinstance(result, CoverCandidate):
                found.append(result)
        reason = nearest(tried) or sum_of_texts(block) or Declined("cubes_none")
        if scene.only is None:
            covered = any(not one.cover.uncovered for one in found)
            by_manifests = self._by_manifests(block, pinned, scene, alone, sidecars=not covered)
            tried.append(by_manifests if isinstance(by_manifests, Attempt) else by_manifests.tried)
            if isinstance(by_manifests, CoverCandidate):
                found.append(by_manifests)
        while True:
            best = cheapest(found)
            if scene.only is None and (best is None or best.cover.uncovered):
                parts = self._by_parts(block, cubes, tried, scene)
                if parts is not None and (best is None or cost_of_parts(parts) < cost(best)):
                    return parts
            if best is None:
                return PlainPlan(reason, tuple(tried))
            plan = self._cube_plan(block, best, pinned, tuple(tried), scene)
            if not isinstance(plan, CoverPlan) or plan.title != ALL_ROWS:
                return plan
            if plan.engine == "duckdb":
                return dataclasses.replace(plan, reason=reason)
            found.remove(best)  # plain Spark reads all rows as well
            declined = replace(best.tried, declined=plan.duckdb_declined or reason)
            tried = [declined if one is best.tried else one for one in tried]

    def _by_parts(
        self,
        block: Block,
        cubes: Sequence[tuple[CubeRecord, CubeDefinition | None]],
        tried: Sequence[Attempt],
        scene: PlanContext,
    ) -> MergedPlan | None:
        """The block by several cubes that have its aggregates between them."""
        if scene.by_spark or self._config.engine == "spark":
            return None
        known = {record.name: cube for record, cube in cubes if cube is not None}
        return plan_groups(block, tried, known, lambda part: self._plan(part, scene))

    def _by_manifests(
        self,
        block: Block,
        pinned: tuple[PinnedTable, ...],
        scene: PlanContext,
        alone: Callable[[int], FactAlone | Declined],
        *,
        sidecars: bool,
    ) -> Attempt | CoverCandidate:
        """Where a cube answers without a raw file, sidecars aren't worth asking."""
        if len(block.occurrences) > 1:
            if not sidecars:
                return Attempt(MANIFESTS, Declined("dearer", "A cube answers without a raw file."))
            return self._joined(block, pinned, scene)
        told = alone(0) if sidecars else self._of_one(block, pinned[0], scene, sidecars=False)
        if isinstance(told, Declined):
            return Attempt(MANIFESTS, told)
        always = sidecars and self._reads_all(pinned, scene)
        return told.candidate(sidecars=sidecars, always=always)

    def _reads_all(self, pinned: Sequence[PinnedTable], scene: PlanContext) -> bool:
        """Whether all rows of these tables may be read in process."""
        return scene.reads_all(self._parts.choice, pinned)

    def _of_one(
        self, block: Block, table: PinnedTable, scene: PlanContext, *, sidecars: bool
    ) -> FactAlone | Declined:
        """Who may tell the states of a block over that one table."""
        held = held_fields(table, scene) if sidecars else frozenset[int]()
        always = sidecars and self._reads_all([table], scene)
        known = range_of([table])
        told = manifested(
            block,
            table.fixed_fields,
            held,
            always=always,
            sure=lambda call: raises_nothing(call, known),
        )
        if isinstance(told, Declined):
            return told
        # Imports Arrow's compute module, which answers from cubes have no use for.
        from accelerator.planning.sources.compose import FactAlone
        from accelerator.planning.survey import survey

        over = indexes_over(table, scene, self._parts)
        asked = survey(table, () if told.raises else block.conjuncts, told.used, over)
        return FactAlone(block, told, asked, table.deleted)

    def _alone(
        self, block: Block, fact: int, pinned: tuple[PinnedTable, ...], scene: PlanContext
    ) -> FactAlone | Declined:
        """Who may tell a block's states of its fact alone, whichever files a cube lacks."""
        if len(pinned) == 1:
            return self._of_one(block, pinned[0], scene, sidecars=True)
        told = self._joins.alone(block, fact, pinned, scene, self._unique(scene))
        return told or Declined("metadata_one_table")

    def _joined(
        self, block: Block, pinned: tuple[PinnedTable, ...], scene: PlanContext
    ) -> Attempt | CoverCandidate:
        return self._joins.candidate(block, pinned, scene, self._unique(scene))

    def _unique(self, scene: PlanContext) -> Callable[[PinnedTable, frozenset[int]], bool]:
        return lambda table, field_ids: self._is_unique(scene, table, field_ids)

    def _coverage(
        self,
        record: CubeRecord,
        cube: CubeDefinition,
        found: Match,
        pinned: Mapping[int, PinnedTable],
        scene: PlanContext,
    ) -> Coverage:
        """The cover of the fact's live files; `pinned` is by the cube's occurrences."""
        version = scene.stored.table(record.table_uuid)
        states = tuple((o, p.version, p.facts.snapshot_id) for o, p in sorted(pinned.items()))
        asked = tuple([one.id for one in scene.stored.indexes_of(record.table_uuid)])
        settings = tuple(scene.settings.values())
        key = (record.id, version.number, states, found.needs, settings, asked)
        known = self._covers.get(key)
        if known is None:
            known = cover(
                cube,
                version.of(record.id),
                pinned[0].live_files(),
                {o: p.facts for o, p in pinned.items()},
                found.needs,
                dict(scene.settings),
                self._holds(cube, pinned, scene),
            )
            self._covers.put(key, known)
        return known

    def _holds(
        self, cube: CubeDefinition, pinned: Mapping[int, PinnedTable], scene: PlanContext
    ) -> Holds:
        """What is asked of segments once a dimension has another snapshot."""
        known: list[SegmentsThatHold] = []

        def holds(segment: Segment, occurrence: int, snapshot: int | None) -> bool:
            if not known:
                # Imports Arrow's compute module.
                from accelerator.artifacts.segments.validity import SegmentsThatHold

                fact = pinned[0]
                over = indexes_over(fact, scene, self._parts)
                known.append(
                    SegmentsThatHold(
                        cube, pinned, self._parts.dimensions(), lambda: over(fact.statistics())
                    )
                )
            return known[0](segment, occurrence, snapshot)

        return holds

    def _try(
        self,
        block: Block,
        tried: tuple[CubeRecord, CubeDefinition | None],
        pinned: tuple[PinnedTable, ...],
        scene: PlanContext,
        covers: CubeCovers | Declined,
    ) -> Attempt | CoverCandidate:
        """What the cube gives, or why it doesn't or none can."""
        record, cube = tried
        if record.disabled is not None:
            return Attempt(record.name, Declined("cube_disabled", record.disabled))
        if record.id in scene.stored.hidden:
            return Attempt(record.name, Declined("cube_disabled", "To see what it's about."))
        if cube is None:
            return Attempt(record.name, Declined("segment_unreadable", "Its definition."))
        if isinstance(covers, Declined):
            return Attempt(record.name, covers)
        found = match(block, cube)
        if isinstance(found, Declined):
            return Attempt(record.name, found)
        if loses_digits(cube, types_now(block, found)):
            return Attempt(
                record.name, Declined("schema_changed", "A column of FLOAT is of DOUBLE.")
            )
        by_cube = {v: pinned[q] for v, q in found.needs.named} | {0: pinned[found.fact]}
        coverage = self._coverage(record, cube, found, by_cube, scene)
        return covers.of(record, cube, found, coverage)

    def _judge(
        self, block: Block, fact: int, pinned: tuple[PinnedTable, ...], scene: PlanContext
    ) -> tuple[Sequence[Expr], OverFiles]:
        """What is said of the fact alone, and the indexes that know of it."""
        own, relates = self._joins.own(block, fact, pinned, scene)
        return own, indexes_over(pinned[fact], scene, self._parts, relates)

    def _cube_plan(
        self,
        block: Block,
        best: CoverCandidate,
        pinned: tuple[PinnedTable, ...],
        tried: tuple[Attempt, ...],
        scene: PlanContext,
    ) -> Plan:
        if best.reduced is not None:
            block, kept = best.reduced.block, best.reduced.kept
            pinned = tuple(pinned[o] for o in kept)
        run: DuckDBRun | None = None
        declined: Declined | None = None
        try:
            check_raw(block, best.cover, pinned)
            run = duckdb_run(block, best.cover, pinned)
        except DeclinedError as error:
            declined = error.declined
            if best.cube_id is None and declined.code == "metadata_contradicts":
                return PlainPlan(declined, tried)  # which rows Spark sees depends on its filters
            neither = text_declined(block, best)
            if neither is not None:
                return PlainPlan(neither, tried)
        here = run is not None and self._parts.choice.in_process(
            best.tried.bytes, pinned if best.cover.uncovered else ()
        )
        engine = "duckdb" if here else "spark"
        if engine == "spark" and best.cover.own is not None and tested_parts(block, pinned):
            return PlainPlan(declined or Declined("may_raise"), tried)
        if engine == "spark" or scene.by_spark:
            changed = differs_in_spark(block, best)
            if changed is not None:
                return PlainPlan(changed, tried)
        return CoverPlan(
            title=best.title,
            cube_id=best.cube_id,
            block=block,
            cover=best.cover,
            pinned=pinned,
            duckdb=run,
            duckdb_declined=declined,
            engine=engine,
            tried=tried,
            names=tuple(o.name for o in block.outputs),
        )


def _with_switched_off(found: FoundPlan, scene: PlanContext) -> FoundPlan:
    off = tuple(_switched_off(found, scene))
    return replace(found, plan=found.plan.also_tried(off)) if off else found


def _switched_off(found: FoundPlan, scene: PlanContext) -> Iterator[Attempt]:
    """The indexes of the statement's tables that aren't asked, since they were switched off."""
    pinned = (scene.pin.pinned(parts, at) for parts, at in found.names)
    for uuid in dict.fromkeys(table.facts.uuid for table in pinned if table is not None):
        for one in scene.stored.disabled_of(uuid):
            yield Attempt(f"index {one.name}", Declined("index_disabled", one.disabled or ""))


def _pinned(pin: Pin, parts: tuple[str, ...], at: At) -> PinnedTable:
    pinned = pin.pinned(parts, at)
    if pinned is None:
        raise DeclinedError("table_unknown", f"The table {'.'.join(parts)}.")
    return pinned


def _definition(record: CubeRecord) -> CubeDefinition | None:
    try:
        return from_dict(dict(record.definition))
    except (KeyError, TypeError, ValueError):
        return None
