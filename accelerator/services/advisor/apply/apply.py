"""Recommendations done, one after the other, each checked as if a stranger had written it.

The DDL is parsed again and has to be the action on the object that it says, and nothing else. What
it means now has to be what it meant when it was advised: the digest of a cube's definition, of an
index's column and kind, of a relate column's path, of an order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec.structs import replace

from accelerator.artifacts.relate.declaration import relate_columns
from accelerator.artifacts.relate.path import named, path_of
from accelerator.errors import (
    AcceleratorError,
    AdviceError,
    AdviceNotFoundError,
    AdviceStaleError,
    CancelledError,
    ClusteringError,
    CubeExistsError,
    CubeNotFoundError,
    IndexDefinitionError,
    IndexExistsError,
    IndexNotFoundError,
    RelateColumnError,
    SparkElsewhereError,
    SparkMissingError,
    UnknownColumnError,
    UnknownTableError,
)
from accelerator.iceberg import Pin, PinnedTable
from accelerator.query.explain.buildable import check_cube
from accelerator.query.statements.definitions import bind_definition, table_uuid
from accelerator.query.statements.nodes import (
    AddRelateColumn,
    ApplyRecommendations,
    CompactCube,
    CreateCube,
    CreateIndex,
    DropCube,
    DropIndex,
    DropRelateColumn,
    OptimizeTable,
    Statement,
)
from accelerator.services.advisor.apply.allowed_ddl import Doable, statement_of
from accelerator.services.advisor.apply.record import Recorded, Recorder
from accelerator.services.advisor.indexes.clustering import order_id
from accelerator.services.advisor.workload.digests import (
    digest_of,
    index_digest,
    record_digest,
    relate_digest,
    relate_meaning,
    used_digest,
)
from accelerator.services.clustering.optimize import rewrite_due
from accelerator.services.clustering.options import order_of
from accelerator.services.ddl.cubes import recycle_bin
from accelerator.services.ddl.relate_columns import resolved
from accelerator.store.journals.advice import ACTIONS, Recommendation, newest, read
from rewrite.errors import DefinitionError
from rewrite.identifiers.qualified_name import parts_of
from rewrite.render.readable import bare
from rewrite.text.suggestions import closest, did_you_mean

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services
    from accelerator.store import CubeRecord, IndexRecord, RegistryVersion

Execute = Callable[[Statement], pa.Table]
"""Runs a statement of ours."""
APPLIED, OPEN = "applied", "open"
_REBINDS = (UnknownColumnError, DefinitionError, IndexDefinitionError, RelateColumnError)
"""What a statement raises whose names mean something else by now."""


class Done:
    """Which recommendations are done, by the registry and the tables as they are now."""

    def __init__(self, services: Services, registry: RegistryVersion) -> None:
        self._services, self._registry = services, registry
        self._pin: Pin | None = None
        self._meanings: set[str] | None = None

    def status(self, one: Recommendation) -> str:
        """`applied` or `open`."""
        return APPLIED if self._is_done(one) else OPEN

    def _is_done(self, one: Recommendation) -> bool:
        registry = self._registry
        cube, index = registry.cubes.get(one.cube), registry.indexes.get(one.index)
        match one.action:
            case "CREATE CUBE":
                return self._is_there(one)
            case "DROP CUBE":
                return cube is None or cube.id != one.cube_id
            case "CREATE INDEX":
                return self._is_there(one)
            case "DROP INDEX":
                return index is None or index.id != one.object_id
        fact = self._table(one)
        if fact is None:
            return False
        if one.action == "OPTIMIZE":
            return order_id(fact.properties) == one.digest
        column = named(fact, one.relate)
        if one.action == "ADD RELATE COLUMN":
            return column is not None and relate_digest(one.table_uuid, column) == one.digest
        return column is None or str(column.id) != one.object_id

    def _is_there(self, one: Recommendation) -> bool:
        """Returns whether a cube or index has that meaning, under any name."""
        if self._meanings is None:
            registry = self._registry
            every: list[CubeRecord | IndexRecord] = [
                *registry.cubes.values(),
                *registry.indexes.values(),
            ]
            self._meanings = {record_digest(self._services, record) for record in every}
        return one.digest in self._meanings

    def _table(self, one: Recommendation) -> PinnedTable | None:
        if self._pin is None:
            self._pin = self._services.lake.pin()
        try:
            found = self._pin.pinned(parts_of(one.table))
        except AcceleratorError:  # what it's about can't be told
            return None
        return None if found is None or found.facts.uuid != one.table_uuid else found


def chosen(
    services: Services, id: str | None, table: tuple[str, ...] | None
) -> list[Recommendation]:
    """The one of that id behind what it needs, or all of a table that are still to be done.

    In the order in which they're done, drops last. Orders are done by their id alone, since they
    rewrite the table. What a person was told holds until a person asks anew, whatever the advisor
    has said by itself since. AdviceNotFoundError, AdviceStaleError where newer advice hasn't that
    one any more.
    """
    every = read(services.store.files)
    uuid = table_uuid(services, table)
    now = [one for _, one in newest(every, uuid)]
    done = Done(services, services.store.registry())
    if id is None:
        left = [o for o in now if o.action != "OPTIMIZE" and done.status(o) == OPEN]
        return sorted(left, key=lambda one: ACTIONS.index(one.action))
    if all(one.id != id for one in now):
        asked = [one for one in every if not one.by_itself]
        told = [one for _, one in newest(asked, uuid)]
        now = told if any(one.id == id for one in told) else now
    found = next((one for one in now if one.id == id), None)
    if found is not None:
        needed = [one for one in now if one.id in found.needs and done.status(one) == OPEN]
        return [*needed, found]
    if any(one.id == id for advice in every for one in advice.recommendations):
        raise AdviceStaleError(
            f"newer advice doesn't have the recommendation {id}",
            hint="SHOW RECOMMENDATIONS lists those that hold",
        )
    near = closest(id, [one.id for one in now])
    raise AdviceNotFoundError(
        f"there is no recommendation {id}",
        hint=did_you_mean(near) or "SHOW RECOMMENDATIONS lists those that there are",
        suggestions=near,
    )


def fixed(services: Services, statement: ApplyRecommendations) -> ApplyRecommendations:
    """The statement with what it does now; as it was if that fails, which `actions_of` raises."""
    try:
        return replace(statement, chosen=tuple(actions_of(services, statement)))
    except AcceleratorError:
        return statement


def actions_of(services: Services, statement: ApplyRecommendations) -> Sequence[Recommendation]:
    """The recommendations that the statement does; errors of `chosen` unless they're fixed."""
    if statement.chosen is not None:
        return statement.chosen
    return chosen(services, statement.id, statement.table)


def apply(
    services: Services,
    id: str | None,
    table: tuple[str, ...] | None,
    execute: Execute,
    recorded: Recorded | None = None,
    actions: Sequence[Recommendation] | None = None,
) -> list[Recommendation]:
    """Does the recommendation of that id, or all that are open for the table; those done.

    `actions` are these if they're chosen already. `execute` runs a statement of ours, `recorded`
    writes down how it went: by default that a person has applied it. Of several each is tried; the
    error of those that failed is raised behind them.

    AdviceNotFoundError; AdviceStaleError where it has another meaning by now; errors of what exists
    or is gone by now, and of what the statement itself raises.
    """
    services.store.check_writable()
    if id is None and table is None:
        raise AdviceError(
            "neither a recommendation nor a table is named",
            hint="for example: APPLY RECOMMENDATIONS FOR orders",
        )
    recorded = recorded or Recorder(services)
    done: list[Recommendation] = []
    failed: dict[str, AcceleratorError] = {}
    actions = chosen(services, id, table) if actions is None else actions
    _check_spark(services, actions, execute)
    for one in actions:
        try:
            statement = statement_of(one)
            with recorded(one):
                _Applying(services, one, execute).run(statement)
            done.append(one)
        except CancelledError:
            raise
        except AcceleratorError as error:
            failed[one.id] = error
            if id is not None:  # what comes behind needs it
                break
    if len(failed) == 1:
        raise next(iter(failed.values()))
    if failed:
        told = "; ".join(f"{name}: {error.message}" for name, error in failed.items())
        raise AdviceError(
            f"{len(failed)} of {len(failed) + len(done)} recommendations weren't applied: {told}",
            hint="SHOW RECOMMENDATIONS lists those that are open",
        )
    return done


def _check_spark(services: Services, actions: Sequence[Recommendation], execute: Execute) -> None:
    """Raises SparkMissingError if one of the actions needs Spark, which isn't installed.

    Other errors are raised, and reported, when the action itself is done.
    """
    if services.spark_source.started:
        return
    for one in actions:
        try:
            _Applying(services, one, execute).check_spark(statement_of(one))
        except SparkMissingError as error:
            if len(actions) > 1:
                error.message = f"nothing was applied: recommendation {one.id}: {error.message}"
                error.hint += "; APPLY RECOMMENDATION applies one of the others"
            raise
        except CancelledError:
            raise
        except (AcceleratorError, ValueError):
            continue


def needs_spark(services: Services, one: Recommendation) -> bool:
    """Decides whether the recommendation can't be applied here, since only Spark does it."""
    try:
        _Applying(services, one, lambda _statement: None).check_spark(statement_of(one))
    except CancelledError:
        raise
    except (SparkElsewhereError, SparkMissingError):
        return True
    except (AcceleratorError, ValueError):  # APPLY will report it
        return False
    return False


class _Applying:
    """One recommendation, checked and done."""

    def __init__(self, services: Services, one: Recommendation, execute: Execute) -> None:
        self._services, self._one, self._execute = services, one, execute

    def run(self, statement: Doable) -> None:
        """Does it."""
        match statement:
            case CreateCube():
                self._create_cube(statement)
            case DropCube():
                self._drop_cube()
            case CreateIndex():
                self._create_index(statement)
            case DropIndex():
                self._drop_index(statement)
            case AddRelateColumn():
                self._add_relate(statement)
            case DropRelateColumn():
                self._drop_relate(statement)
            case OptimizeTable():
                self._optimize(statement)

    def check_spark(self, statement: Doable) -> None:
        """Raises SparkMissingError if it needs Spark, which isn't installed; changes nothing."""
        services = self._services
        match statement:
            case CreateCube():
                check_cube(services, statement, bind_definition(services, statement.select_sql))
            case CreateIndex():
                self._check_index(statement)
            case AddRelateColumn():
                fact, pin = self._fact()
                services.dimensions.check_spark(path_of(resolved(statement, fact, pin), pin))
            case OptimizeTable():
                rewrite_due(statement, services)

    def _check_index(self, statement: CreateIndex) -> None:
        fact, _ = self._fact()
        column = ".".join(statement.column)
        builder = self._services.index_builder
        if fact.facts.column(column) is None and named(fact, column) is None:
            builder.check_bytes(statement.name, fact.live_files())  # the relate column comes first
        else:
            builder.check_spark(builder.define(statement, fact))

    def _registry(self) -> RegistryVersion:
        return self._services.store.registry(fresh=True)

    def _fact(self) -> tuple[PinnedTable, Pin]:
        """The table now; UnknownTableError, AdviceStaleError where it's another one."""
        one, pin = self._one, self._services.lake.pin(fresh=True)
        found = pin.pinned(parts_of(one.table))
        if found is None:
            raise UnknownTableError(
                f"there is no Iceberg table {one.table}",
                hint="advice is about tables of this session's catalogs",
                unknown=one.table,
            )
        if found.facts.uuid != one.table_uuid:
            raise self._stale()
        return found, pin

    def _check(self, digest: str) -> None:
        if digest != self._one.digest:
            raise self._stale()

    def _stale(self) -> AdviceStaleError:
        one = self._one
        return AdviceStaleError(
            f"the recommendation {one.id} is older than the schema of {one.table} or of what it"
            " joins",
            hint="ANALYZE makes it anew",
        )

    def _another(self, what: str) -> AdviceStaleError:
        return AdviceStaleError(
            f"{what} is another one than when it was advised to drop it",
            hint="ANALYZE makes it anew",
        )

    # Cubes.

    def _create_cube(self, statement: CreateCube) -> None:
        name = statement.name
        cubes = self._registry().cubes
        if name in cubes:
            raise CubeExistsError(
                f"a cube named {name} exists",
                hint="it was applied before, or ANALYZE finds another name",
            )
        for other in cubes.values():
            if record_digest(self._services, other) == self._one.digest:
                raise CubeExistsError(
                    f"the cube {other.name} has the definition that is advised",
                    hint="it was applied before, under that name",
                )
        try:
            means = digest_of(bind_definition(self._services, statement.select_sql))
        except _REBINDS as error:
            raise self._stale() from error
        self._check(means)
        built = self._execute(statement)
        if (built["segments"][0].as_py() or 0) > 1:
            self._execute(CompactCube(name))

    def _drop_cube(self) -> None:
        name = self._one.cube
        record = self._registry().cubes.get(name)
        if record is None:
            raise CubeNotFoundError(
                f"there is no cube {name}", hint="it was dropped meanwhile; nothing is left to do"
            )
        if record.id != self._one.cube_id:
            raise self._another(f"the cube {name}")
        if record.published is not None:
            raise AdviceStaleError(
                f"the cube {name} was published since it was advised to drop it",
                hint=f"DROP CUBE {bare(name)} drops it, and its table",
            )
        recycle_bin.drop(self._services, name, force=False, cube_id=record.id, is_advised=True)

    # Indexes, relate columns, orders.

    def _create_index(self, statement: CreateIndex) -> None:
        name = statement.name
        if name in self._registry().indexes:
            raise IndexExistsError(
                f"an index named {name} exists",
                hint="it was applied before, or ANALYZE finds another name",
            )
        fact, _ = self._fact()
        for other in self._registry().indexes.values():
            if record_digest(self._services, other) == self._one.digest:
                raise IndexExistsError(
                    f"the index {other.name} is the one that is advised",
                    hint="it was applied before, under that name",
                )
        column = ".".join(statement.column)
        if self._one.needs and fact.facts.column(column) is None and named(fact, column) is None:
            raise RelateColumnError(
                f"{fact.facts.name} has no relate column {column} yet",
                hint=f"APPLY RECOMMENDATION {self._one.needs[0]} adds it",
            )
        try:
            record = self._services.index_builder.define(statement, fact)
        except _REBINDS as error:
            raise self._stale() from error
        relate = next((o for o in relate_columns(fact.properties) if o.id == record.field_id), None)
        own = next((c for c in fact.facts.columns if c.field_id == record.field_id), None)
        if relate is not None:
            type_ = self._services.index_builder.target(record).type
            means = index_digest(fact.facts.uuid, record.kind, type_, relate_meaning(relate))
        elif own is not None:
            means = index_digest(fact.facts.uuid, record.kind, own.type, own.field_id)
        else:
            raise self._stale()
        self._check(means)
        self._execute(statement)

    def _drop_index(self, statement: DropIndex) -> None:
        record = self._registry().indexes.get(statement.name)
        if record is None:
            raise IndexNotFoundError(
                f"there is no index {statement.name}",
                hint="it was dropped meanwhile; nothing is left to do",
            )
        if record.id != self._one.object_id:
            raise self._another(f"the index {statement.name}")
        self._services.store.drop_index(statement.name, index_id=record.id)

    def _add_relate(self, statement: AddRelateColumn) -> None:
        fact, pin = self._fact()
        try:
            column = resolved(statement, fact, pin)
        except _REBINDS as error:
            raise self._stale() from error
        self._check(relate_digest(fact.facts.uuid, column))
        self._execute(statement)

    def _drop_relate(self, statement: DropRelateColumn) -> None:
        fact, _ = self._fact()
        column = named(fact, statement.name)
        if column is None:
            raise RelateColumnError(
                f"{fact.facts.name} has no relate column {statement.name}",
                hint="it was dropped meanwhile; nothing is left to do",
            )
        if str(column.id) != self._one.object_id:
            raise self._another(f"the relate column {statement.name}")
        key = fact.facts.uuid, column.id
        every = self._registry().indexes.values()
        records = [one for one in every if (one.table_uuid, one.field_id) == key]
        self._check(used_digest(records))
        self._execute(statement)

    def _optimize(self, statement: OptimizeTable) -> None:
        fact, pin = self._fact()
        try:
            order = order_of(statement, fact, pin)
        except (*_REBINDS, ClusteringError) as error:
            raise self._stale() from error
        self._check(order.id)
        self._execute(statement)
