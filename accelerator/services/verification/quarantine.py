"""What a wrong answer rests on, and switching it off.

A plan doesn't say which of its cubes and indexes is at fault: it's found by planning the statement
again with some of them hidden, and comparing with the same plain answer. That asks nothing of the
plan's kind. Promises: what is switched off was shown to make the answer wrong; what differs without
any cube or index switches nothing off; and where it can't be told which one it is, none is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec import Struct

from accelerator.errors import AcceleratorError, CancelledError, RefusedError
from accelerator.planning.plans import Plan
from accelerator.store import CubeRecord, IndexRecord, RegistryVersion

if TYPE_CHECKING:
    from accelerator.query.pipeline import Queries
    from accelerator.query.runtime.services import Services

_log = logging.getLogger("accelerator")
_SUSPECTS_MAX = 32
Artifact = CubeRecord | IndexRecord


class Wrong(Struct, frozen=True):
    """An answer that differs from plain Spark's, whose text is `sql`.

    `differs` says whether another answer to the same text does as well, `at` in which of its
    columns; `same_state` whether a plan is of the same snapshots.
    """

    sql: str
    plan: Plan
    differs: Callable[[pa.Table], bool]
    at: Callable[[], Sequence[int]]
    same_state: Callable[[Plan], bool]


class Culprits(Struct, frozen=True):
    """What makes an answer wrong; where that's nothing, `unknown` is a sentence of why."""

    found: tuple[Artifact, ...] = ()
    unknown: str = ""


def titled(artifact: Artifact) -> str:
    """The kind and the name, as people are told."""
    kind = "cube" if isinstance(artifact, CubeRecord) else "index"
    return f"{kind} {artifact.name}"


def culprits(queries: Queries, wrong: Wrong) -> Culprits:
    """The cubes and indexes that make the answer wrong."""
    registry = queries.services.store.registry(fresh=True)
    suspects = list(_suspects(wrong.plan, registry))
    if not suspects:
        return Culprits(unknown="No cube or index has a part in it.")
    if len(suspects) > _SUSPECTS_MAX:
        return Culprits(unknown=f"More than {_SUSPECTS_MAX} cubes and indexes may have a part.")
    every = registry.building
    try:
        return _culprits(queries, wrong, suspects, every)
    except _ChangedError:
        return Culprits(unknown="The tables have changed meanwhile.")


def _culprits(
    queries: Queries, wrong: Wrong, suspects: Sequence[Artifact], every: frozenset[str]
) -> Culprits:
    """By answers without any of them, with one alone, and without one."""
    without = _differs(queries, wrong, every)
    if without is not False:
        told = "is wrong as well" if without else "can't be given"
        return Culprits(unknown=f"The answer without any cube or index {told}.")
    ids = frozenset(one.id for one in suspects)
    alone = suspects
    if len(suspects) > 1:
        alone = [one for one in suspects if _differs(queries, wrong, every - {one.id})]
    if not alone:
        others = every - ids
        right = (o for o in suspects if _differs(queries, wrong, others | {o.id}) is False)
        alone = list(right)
        if len(alone) != 1:  # each of several is needed for the plan
            alone = _by_columns(queries, wrong, suspects)
    names = ", ".join(map(titled, suspects))
    return Culprits(tuple(alone), "" if alone else f"Which one it is can't be told: {names}.")


def _suspects(plan: Plan, registry: RegistryVersion) -> Iterator[Artifact]:
    """The cubes that the plan reads, and the indexes of its tables that it may have asked."""
    leaves = plan.leaves()
    ids = {cube_id for leaf in leaves for cube_id in leaf.cube_ids()}
    yield from (one for _, one in sorted(registry.cubes.items()) if one.id in ids)
    asked = {field for leaf in leaves for field in leaf.asked()}
    uuids = {table.facts.uuid for leaf in leaves for table in leaf.pinned}
    for _, index in sorted(registry.indexes.items()):
        name = index.table_uuid, index.field_id
        of_relate = index.field_id < 0 and index.table_uuid in uuids
        if index.disabled is None and (of_relate or name in asked):
            yield index


def _differs(queries: Queries, wrong: Wrong, hidden: frozenset[str]) -> bool | None:
    """Whether the answer without these differs as well; None where there is none to compare."""
    try:
        with queries.services.store.reading():
            plan = queries.services.planner.plan_without(wrong.sql, hidden)
            if plan.refused() is not None:
                return False
            if not wrong.same_state(plan):
                raise _ChangedError
            return wrong.differs(queries.execution.run(plan, wrong.sql)[0])
    except CancelledError:
        raise
    except (AcceleratorError, RefusedError, OSError, ValueError, pa.ArrowException) as error:
        _log.warning("a plan without some cubes or indexes failed: %s", error)
        return None


def _by_columns(queries: Queries, wrong: Wrong, suspects: Sequence[Artifact]) -> list[Artifact]:
    """The cube that all wrong columns come from, of those that answer one SELECT's aggregates."""
    part = wrong.plan.input_of(wrong.at())
    if part is None:
        return []
    indexes = frozenset(one.id for one in suspects if isinstance(one, IndexRecord))
    if indexes and not _differs(queries, wrong, indexes):
        return []  # these have left out some of its files
    return [one for one in suspects if one.id in part.cube_ids()]


class _ChangedError(Exception):
    """A table has another snapshot than the answers are of."""


def switched_off(services: Services, found: Culprits, why: str) -> Culprits:
    """Switches them off for all sessions of the store; those for which it succeeded.

    A store that can't be written to is said, and logged.
    """
    done: list[Artifact] = []
    unknown = found.unknown
    for one in found.found:
        try:
            _switch_off(services, one, f"An answer differed from plain Spark's: {why}")
            done.append(one)
        except AcceleratorError as error:
            unknown = f"The {titled(one)} can't be switched off: {error}".splitlines()[0]
            _log.error("%s", unknown)
    return Culprits(tuple(done), unknown)


def _switch_off(services: Services, artifact: Artifact, why: str) -> None:
    if isinstance(artifact, CubeRecord):
        services.store.change_cube(artifact.name, artifact.id, disabled=why)
    else:
        services.store.change_index(artifact.name, artifact.id, disabled=why)
