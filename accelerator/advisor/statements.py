"""ANALYZE, SHOW RECOMMENDATIONS and APPLY: advice is made, shown, and done.

What is applied is checked as if a stranger had written it: the DDL is parsed again, its SELECT
bound again, and both must mean what they meant when they were advised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accelerator.advisor.advice import Advice, Recommendation, newest, read, write
from accelerator.advisor.analyzing import Budget, analyze
from accelerator.advisor.recommending import digest_of
from accelerator.advisor.recording import Recorded, Recorder
from accelerator.config_values import PARSERS
from accelerator.defining import bind_definition, table_uuid
from accelerator.errors import (
    AcceleratorError,
    AdviceError,
    AdviceNotFoundError,
    AdviceStaleError,
    CancelledError,
    CubeExistsError,
    CubeNotFoundError,
    UnknownColumnError,
)
from accelerator.maintenance import recycle_bin
from accelerator.statements.grammar import parse_statement
from accelerator.statements.kinds import (
    Analyze,
    ApplyRecommendations,
    CompactCube,
    CreateCube,
    DropCube,
    ShowRecommendations,
    Statement,
)
from rewrite.closest import closest, did_you_mean
from rewrite.errors import DefinitionError

if TYPE_CHECKING:
    from accelerator.services import Services
    from accelerator.store import RegistryVersion

Rows = Iterator[Mapping[str, Any]]
Execute = Callable[[Statement], pa.Table]
"""Runs a statement of ours."""
APPLIED, OPEN = "applied", "open"
_NUMBERS = ("build_minutes", "days", "half_life_days", "keep_days")


def budget_of(options: Sequence[tuple[str, str | float | bool]]) -> Budget:
    """The budget that a statement's options name; AdviceError for another option or value."""
    found: dict[str, Any] = {}
    for name, value in options:
        if name in found:
            raise AdviceError(f"{name} is given twice", hint="give it once")
        if name == "bytes":
            found[name] = _bytes(value)
        elif name in _NUMBERS:
            if isinstance(value, bool | str):
                raise AdviceError(f"{name} is {value!r}", hint="give it as a number")
            found[name] = float(value)
        else:
            near = closest(name, ("bytes", *_NUMBERS))
            raise AdviceError(
                f"there is no option {name}",
                hint=did_you_mean(near) or f"one of bytes, {', '.join(_NUMBERS)}",
                suggestions=near,
            )
    return Budget(**found)


def _bytes(value: str | float | bool) -> int:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    try:
        return int(PARSERS["bytes"](whole, {}))
    except (ValueError, TypeError, OverflowError) as error:
        raise AdviceError(
            f"bytes is {str(value)[:40]!r}", hint="give a number, or a size such as '512MB'"
        ) from error


def advised(services: Services, table: tuple[str, ...] | None, budget: Budget) -> Advice:
    """Advice for a table, or for all; it's kept in the store where that may be written.

    Errors as of `analyzing.analyze`.
    """
    found = analyze(services, table, budget)
    if not services.config.store_read_only:
        write(services.store.files, found)
    return found


def kept(services: Services, table: tuple[str, ...] | None) -> list[tuple[Advice, Recommendation]]:
    """What is advised now for a table, or for all; errors as `advised` has them."""
    return newest(read(services.store.files), table_uuid(services, table))


def run_analyze(statement: Analyze, services: Services) -> Rows:
    """ANALYZE: a row for each recommendation, then one for each note."""
    budget = budget_of(statement.options)
    found = advised(services, statement.table, budget)
    registry = services.store.registry()
    for one in found.recommendations:
        yield _row(found, one, registry)
    for note in found.notes:
        yield {"action": "NOTE", "table": found.table or None, "reason": note, "made": found.made}


def show(statement: ShowRecommendations, services: Services) -> Rows:
    """SHOW RECOMMENDATIONS: what was advised last, and what of it was done."""
    registry = services.store.registry()
    for advice, one in kept(services, statement.table):
        yield _row(advice, one, registry)


def _row(advice: Advice, one: Recommendation, registry: RegistryVersion) -> Mapping[str, Any]:
    return {
        "id": one.id,
        "action": one.action,
        "table": one.table,
        "cube": one.cube,
        "status": status(one, registry),
        "gain_ms_per_day": one.gain_ms,
        "gain_share": one.gain_share,
        "bytes": one.bytes,
        "build_s": one.build_s,
        "statements": one.statements,
        "reason": one.reason,
        "ddl": one.ddl,
        "samples": list(one.samples),
        "made": advice.made,
    }


def status(one: Recommendation, registry: RegistryVersion) -> str:
    """Whether it was done, as far as the registry tells."""
    record = registry.cubes.get(one.cube)
    if one.action == "CREATE CUBE":
        return OPEN if record is None else APPLIED
    return OPEN if record is not None and record.id == one.cube_id else APPLIED


def run_apply(statement: ApplyRecommendations, services: Services, execute: Execute) -> Rows:
    """APPLY: a row for each recommendation that was done."""
    for one in apply(services, statement.id, statement.table, execute):
        yield {"id": one.id, "action": one.action, "table": one.table, "cube": one.cube}


def chosen(
    services: Services, id: str | None, table: tuple[str, ...] | None
) -> list[Recommendation]:
    """The one of that id, or all of a table that are still to be done, creations first.

    AdviceNotFoundError, AdviceStaleError where newer advice hasn't that one any more.
    """
    every = read(services.store.files)
    now = [one for _, one in newest(every, table_uuid(services, table))]
    if id is None:
        registry = services.store.registry()
        left = [one for one in now if status(one, registry) == OPEN]
        return sorted(left, key=lambda one: one.action != "CREATE CUBE")
    found = next((one for one in now if one.id == id), None)
    if found is not None:
        return [found]
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


def apply(
    services: Services,
    id: str | None,
    table: tuple[str, ...] | None,
    execute: Execute,
    recorded: Recorded | None = None,
) -> list[Recommendation]:
    """Does the recommendation of that id, or all that are open for the table; those done.

    `execute` runs a statement of ours, `recorded` writes down how it went: by default that a person
    has applied it. Of several each is tried; the error of those that failed is raised behind them.

    AdviceNotFoundError; AdviceStaleError where it has another meaning by now; CubeExistsError,
    CubeNotFoundError, UnknownTableError; what builds raise.
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
    for one in chosen(services, id, table):
        try:
            statement_of(one)
            with recorded(one):
                if one.action == "CREATE CUBE":
                    _create(services, one, execute)
                else:
                    _drop(services, one)
            done.append(one)
        except CancelledError:
            raise
        except AcceleratorError as error:
            failed[one.id] = error
    if len(failed) == 1:
        raise next(iter(failed.values()))
    if failed:
        told = "; ".join(f"{name}: {error.message}" for name, error in failed.items())
        raise AdviceError(
            f"{len(failed)} of {len(failed) + len(done)} recommendations weren't applied: {told}",
            hint="SHOW RECOMMENDATIONS lists those that are open",
        )
    return done


def statement_of(one: Recommendation) -> CreateCube | DropCube:
    """The statement that its DDL is; AdviceStaleError where that isn't what it says it does."""
    try:
        found = parse_statement(one.ddl)
    except AcceleratorError as error:
        raise _damaged(one) from error
    if one.action == "CREATE CUBE" and isinstance(found, CreateCube):
        if found == CreateCube(one.cube, found.select_sql):
            return found
    elif one.action == "DROP CUBE" and found == DropCube(one.cube):
        return DropCube(one.cube)
    raise _damaged(one)


def _damaged(one: Recommendation) -> AdviceStaleError:
    return AdviceStaleError(
        f"the recommendation {one.id} isn't what it was: its DDL does something else",
        hint="ANALYZE makes it anew",
    )


def _create(services: Services, one: Recommendation, execute: Execute) -> None:
    statement = statement_of(one)
    if not isinstance(statement, CreateCube):
        raise _damaged(one)
    if one.cube in services.store.registry(fresh=True).cubes:
        raise CubeExistsError(
            f"a cube named {one.cube} exists",
            hint="it was applied before, or DROP CUBE frees the name",
        )
    try:
        means = digest_of(bind_definition(services, statement.select_sql))
    except (UnknownColumnError, DefinitionError) as error:
        raise _stale(one) from error
    if means != one.digest:
        raise _stale(one)
    built = execute(statement)
    if (built["segments"][0].as_py() or 0) > 1:
        execute(CompactCube(one.cube))


def _stale(one: Recommendation) -> AdviceStaleError:
    return AdviceStaleError(
        f"the recommendation {one.id} is older than the schema of {one.table} or of what it joins",
        hint="ANALYZE makes it anew",
    )


def _drop(services: Services, one: Recommendation) -> None:
    record = services.store.registry(fresh=True).cubes.get(one.cube)
    if record is None:
        raise CubeNotFoundError(
            f"there is no cube {one.cube}", hint="it was dropped meanwhile; nothing is left to do"
        )
    if record.id != one.cube_id:
        raise AdviceStaleError(
            f"the cube {one.cube} is another one than when it was advised to drop it",
            hint="ANALYZE makes it anew",
        )
    recycle_bin.drop(services, one.cube, force=False)
