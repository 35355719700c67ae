"""SQL to a plan: pins, what is known of the statement or of its shape, else a search.

Plans are cached under the statement, its tables' metadata, the store's versions and the session's
settings: all immutable names, so a cached plan is never stale. Statements of one shape share a plan
that was made without a look at their constants. Nothing here runs a query.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Set

from msgspec import Struct
from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.common.config.config import Config
from accelerator.common.lru_cache import Recent, by_text
from accelerator.common.stage_timer import staged
from accelerator.engines.session_settings import SessionContext, refusal
from accelerator.iceberg import Lake, Pin
from accelerator.planning.candidates.search import CubeSearch, FoundPlan, Names
from accelerator.planning.context import PlanContext, PlannerServices, Stored
from accelerator.planning.plan_template import BlockTemplate, PlanTemplate
from accelerator.planning.plans import CoverPlan, Leaf, PlainPlan, Plan, RowsPlan
from accelerator.store import CubeRecord, Store
from cubes.definition import CubeDefinition
from rewrite.ir.block import Block
from rewrite.parse.parse import parse, unparsed
from rewrite.parse.statement_shape import StatementShape, parametrised, shape_of
from rewrite.reason import Declined, DeclinedError

_LEFT_S = 300.0
"""How long what DuckDB couldn't read or hold is left to Spark without being tried again."""
_TREES_MAX = 16
"""Trees that are kept: each is many objects in cycles, which Python's collector goes through."""


class _PlannedShape(Struct, frozen=True):
    """A shape answered in process; its `free` constants are parameters, None until one asked."""

    free: tuple[int, ...] | None = None

    def fixed(self, shape: StatementShape) -> tuple[str, ...]:
        """The constants that aren't parameters."""
        return shape.fixed(self.free or ())


class Planner:
    """Plans statements over one lake and one store; threads may share it."""

    def __init__(
        self,
        lake: Lake,
        store: Store,
        config: Config,
        context: SessionContext,
        parts: PlannerServices,
    ) -> None:
        self._lake, self._store, self._config, self._context = lake, store, config, context
        self._search = CubeSearch(config, context, parts)
        self._names: Recent[Names] = by_text()
        self._trees: Recent[exp.Expression] = by_text(_TREES_MAX)
        self._plans: Recent[Plan] = by_text()
        self._forms: Recent[_PlannedShape] = by_text()
        self._shaped: Recent[Names] = by_text()
        self._templates: Recent[PlanTemplate | BlockTemplate] = by_text()
        self._parsed: Recent[bool] = by_text()
        self._left: Recent[tuple[Declined, float]] = Recent()

    def plan(
        self,
        sql: str,
        *,
        only: str | None = None,
        by_spark: bool = False,
        whole: bool = True,
    ) -> tuple[Plan, bool]:
        """The plan, and whether it was in the cache. `only` considers that cube alone.

        With `by_spark` it's one that Spark can run. Without `whole` its answer is read as it comes.
        """
        with self._context.statement():
            plan, cached = self._planned(sql, only, by_spark)
        return self.but_left(sql, plan, whole=whole), cached

    def leave_rows(self, plan: Plan, why: str) -> Declined:
        """All rows that it reads in process can't be: plans of the same columns are plain now.

        The reason is given back. A file may be whole again: after a while it's tried once more.
        """
        declined = Declined("rows_need_spark", why)
        for leaf in _reads_all(plan):
            self._left.put(_rows_read(leaf), (declined, time.monotonic()))
        return declined

    def leave_statement(
        self, sql: str, plan: Plan, declined: Declined, *, whole: bool = False
    ) -> None:
        """All rows that it reads in process were too many or raised: its shape is plain now.

        With `whole` it's so only where the answer is wanted as a whole.
        """
        for leaf in _reads_all(plan):
            name = _shape_name(sql), _rows_read(leaf), whole
            self._left.put(name, (declined, time.monotonic()))

    def but_left(self, sql: str, plan: Plan, *, whole: bool) -> Plan:
        """The plan, or a plain one where all rows that it reads were left to Spark before."""
        if not self._left:
            return plan
        for leaf in _reads_all(plan):
            read = _rows_read(leaf)
            shape = _shape_name(sql)
            found = self._left.get(read) or self._left.get((shape, read, False))
            if found is None and whole:
                found = self._left.get((shape, read, True))
            if found is not None and time.monotonic() - found[1] < _LEFT_S:
                return PlainPlan(found[0], plan.tried)
        return plan

    def plan_without(self, sql: str, hidden: Set[str]) -> Plan:
        """The plan were the cubes and indexes of these ids switched off; SqlglotError as it is."""
        with self._context.statement():
            settings = self._context.settings()
            scene = PlanContext(self._lake.pin(), Stored(self._store, hidden), settings)
            return self._search.plan(sql, self._parse(sql), scene).plan

    @staged("plan")
    def _planned(self, sql: str, only: str | None, by_spark: bool) -> tuple[Plan, bool]:
        settings = self._context.settings()
        refused = refusal(settings, sql)
        if refused is not None:
            return PlainPlan(refused), False
        scene = PlanContext(self._lake.pin(), Stored(self._store), settings, only, by_spark)
        key = self._key(sql, self._names.get(sql), scene)
        known = self._plans.get(key) if key is not None else None
        if known is not None:
            return known, True
        tree = self._trees.get(sql)
        shape = shape_of(sql) if tree is None and only is None else None
        form = self._form(shape, scene)
        found = self._by_shape(shape, form, scene) if shape is not None and form else None
        if found is None:
            try:
                tree = tree or self._parse(sql)
            except SqlglotError as error:
                return PlainPlan(unparsed(error)), False
            found = self._search.plan(sql, tree, scene)
            if not isinstance(found.plan, PlainPlan) and not self._parses(sql, shape):
                declined = Declined("parse_failed", "Spark's own parser refuses the statement.")
                found = FoundPlan(PlainPlan(declined), found.names)
            is_known = form is not None and form.free is not None
            if shape is not None and isinstance(found.plan, CoverPlan | RowsPlan) and not is_known:
                self._learn(shape, _PlannedShape(None if form is None else ()), scene)
        self._names.put(sql, found.names)
        if tree is not None:
            self._trees.put(sql, tree)
        key = self._key(sql, found.names, scene)
        if key is not None:
            self._plans.put(key, found.plan)
        return found.plan, False

    def _parses(self, sql: str, shape: StatementShape | None) -> bool:
        """Whether Spark's parser takes the statement, where it runs.

        Asked once for each shape that it takes: of a constant it may refuse some, as of INTERVAL.
        """
        shape = shape or shape_of(sql)
        name = sql if shape is None else shape.key
        if self._parsed.get(name):
            return True
        taken = self._context.parses(sql)
        if taken:
            self._parsed.put(name, True)
        return taken is not False

    def _form(self, shape: StatementShape | None, scene: PlanContext) -> _PlannedShape | None:
        return None if shape is None else self._forms.get(_form_key(shape, scene))

    def _learn(self, shape: StatementShape, form: _PlannedShape, scene: PlanContext) -> None:
        """A first plan makes the form; no parameters are left where a template failed after it."""
        self._forms.put(_form_key(shape, scene), form)

    def _by_shape(
        self, shape: StatementShape, form: _PlannedShape, scene: PlanContext
    ) -> FoundPlan | None:
        """The plan by the shape's template, which is made when a second statement asks.

        So it is for each set of constants that aren't parameters.
        """
        if form.free == ():
            return None
        if form.free is not None:
            name = (shape.key, form.fixed(shape))
            names = self._shaped.get(name)
            if names is None:
                self._shaped.put(name, ())
                return None
            key = self._key(name, names, scene) if names else None
            template = self._templates.get(key) if key is not None else None
            if template is not None:
                return self._by_template(template, names, shape, scene)
        return self._new_template(shape, scene)

    def _new_template(self, shape: StatementShape, scene: PlanContext) -> FoundPlan | None:
        read = parametrised(shape)
        bound = self._search.bind_shape(read[0], scene) if read is not None else None
        if read is None or bound is None:
            return None
        form, (block, names) = _PlannedShape(read[1]), bound
        name = (shape.key, form.fixed(shape))
        key = self._key(name, names, scene)
        if key is None:
            return None
        plan = self._search.plan_shape(block, scene)
        template = BlockTemplate(block) if plan is None else PlanTemplate.of(plan)
        self._templates.put(key, template)
        self._shaped.put(name, names)
        self._learn(shape, form, scene)
        return self._by_template(template, names, shape, scene)

    def _by_template(
        self,
        template: PlanTemplate | BlockTemplate,
        names: Names,
        shape: StatementShape,
        scene: PlanContext,
    ) -> FoundPlan | None:
        """The plan of the statement; None if it has to be planned by itself."""
        zone = scene.settings.get("time_zone")
        try:
            if isinstance(template, PlanTemplate):
                return FoundPlan(template.filled(shape.constants, zone), names)
            block = template.filled(shape.constants, zone)
        except DeclinedError:
            return None
        found = self._search.plan_block(block, names, scene)
        return None if isinstance(found.plan, PlainPlan) else found

    def bind(self, sql: str) -> tuple[Block, Pin]:
        """The normal form of a SELECT and the pin that it was bound under."""
        pin = self._lake.pin()
        zone = self._context.settings().get("time_zone")
        return self._search.bind(self._parse(sql), pin, zone)[0], pin

    @staged("parse")
    def _parse(self, sql: str) -> exp.Expression:
        return parse(sql)

    def cubes_of(self, table_uuid: str) -> list[tuple[CubeRecord, CubeDefinition | None]]:
        """The registered cubes of a fact table; the definition is None where it can't be read."""
        return self._search.cubes_of(table_uuid, self._store.registry())

    def _key(self, name: Hashable, names: Names | None, scene: PlanContext) -> Hashable:
        """What a plan rests on; None where that isn't known, or is a temporary view."""
        if names is None or any(self._context.is_temporary(parts) for parts, _ in names):
            return None
        scene.pin.read_ahead([parts for parts, _ in names])
        pinned = [scene.pin.pinned(parts, at) for parts, at in names]
        states = tuple(
            [
                (p.version, p.parts) if p else scene.pin.view(parts)
                for p, (parts, _) in zip(pinned, names, strict=True)
            ]
        )
        registry = scene.stored.registry
        uuids = {
            p.facts.uuid
            for p in pinned
            if p
            and (
                self._search.cubes_of(p.facts.uuid, registry)
                or scene.stored.indexes_of(p.facts.uuid)
            )
        }
        stores = tuple([(uuid, scene.stored.table(uuid).number) for uuid in sorted(uuids)])
        settings = tuple(scene.settings.values())
        return (name, states, registry.number, stores, settings, scene.only, scene.by_spark)


def _reads_all(plan: Plan) -> Iterator[Leaf]:
    """The parts of a plan that read all rows of their tables."""
    return (leaf for leaf in plan.leaves() if leaf.unaided() is not None)


def _shape_name(sql: str) -> Hashable:
    shape = shape_of(sql)
    return sql if shape is None else shape.key


def _rows_read(leaf: Leaf) -> Hashable:
    """Which columns of which states a plan reads."""
    states = tuple((table.version, table.facts.snapshot_id) for table in leaf.pinned)
    return states, frozenset(leaf.asked())


def _form_key(shape: StatementShape, scene: PlanContext) -> Hashable:
    """Under other cubes a shape may have parameters where it had none."""
    return scene.stored.registry.number, shape.key
