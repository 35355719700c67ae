"""ANALYZE, SHOW RECOMMENDATIONS and APPLY: advice is made, shown, and done (`apply/apply.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from pydantic import TypeAdapter

from accelerator.common.config.value_kinds import Bytes
from accelerator.errors import AdviceError
from accelerator.query.explain.buildable import Buildable
from accelerator.query.statements.definitions import table_uuid
from accelerator.query.statements.nodes import Analyze, ApplyRecommendations, ShowRecommendations
from accelerator.services.advisor.analyze import AdviceBudget, analyze
from accelerator.services.advisor.apply.apply import OPEN, Done, Execute, apply, needs_spark
from accelerator.store.journals.advice import Advice, Recommendation, newest, read, write
from accelerator.store.journals.query_log.visibility import whose
from rewrite.identifiers.qualified_name import joined
from rewrite.text.suggestions import closest, did_you_mean

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

Rows = Iterator[Mapping[str, Any]]
_NUMBERS = ("build_minutes", "days", "half_life_days", "keep_days")


def budget_of(options: Sequence[tuple[str, str | float | bool]]) -> AdviceBudget:
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
    return AdviceBudget(**found)


def _bytes(value: str | float | bool) -> int:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    try:
        return TypeAdapter(Bytes).validate_python(whole)
    except ValueError as error:
        raise AdviceError(
            f"bytes is {str(value)[:40]!r}", hint="give a number, or a size such as '512MB'"
        ) from error


def advised(
    services: Services,
    table: tuple[str, ...] | None,
    budget: AdviceBudget,
    *,
    by_itself: bool = False,
) -> Advice:
    """Advice for a table, or for all; it's kept in the store where that may be written.

    Errors as of `analyze.analyze`.
    """
    found = replace(analyze(services, table, budget), by_itself=by_itself)
    if not services.config.store_read_only:
        write(services.store.files, found)
    return found


def current(
    services: Services, table: tuple[str, ...] | None
) -> list[tuple[Advice, Recommendation]]:
    """What is advised now for a table, or for all; errors as `advised` has them."""
    return newest(read(services.store.files), table_uuid(services, table))


def run_analyze(statement: Analyze, services: Services) -> Rows:
    """ANALYZE: a row for each recommendation, then one for each note."""
    budget = budget_of(statement.options)
    found = advised(services, statement.table, budget)
    done = Done(services, services.store.registry())
    for one in found.recommendations:
        yield _row(found, one, done)
    for note in found.notes:
        yield {"action": "NOTE", "table": found.table or None, "reason": note, "made": found.made}


def show(statement: ShowRecommendations, services: Services) -> Rows:
    """SHOW RECOMMENDATIONS: what was advised last, and what of it was done.

    Skips open advice that only Spark can apply if Spark isn't installed; a note counts it.
    """
    done, buildable = Done(services, services.store.registry()), Buildable(services)
    made: datetime | None = None
    for advice, one in current(services, statement.table):
        is_open = done.status(one) == OPEN
        if is_open and not buildable.advised(partial(needs_spark, services, one), one.gain_ms):
            made = advice.made
        else:
            yield _row(advice, one, done)
    if buildable.note:
        table = None if statement.table is None else joined(statement.table)
        yield {"action": "NOTE", "table": table, "reason": buildable.note, "made": made}


def _row(advice: Advice, one: Recommendation, done: Done) -> Mapping[str, Any]:
    return {
        "id": one.id,
        "action": one.action,
        "table": one.table,
        "cube": one.cube or None,
        "name": one.name or None,
        "status": done.status(one),
        "gain_ms_per_day": one.gain_ms,
        "gain_share": one.gain_share,
        "bytes": one.bytes,
        "build_s": one.build_s,
        "statements": one.statements,
        "reason": one.reason,
        "ddl": one.ddl,
        "samples": list(one.samples) if whose() is None else [],
        "made": advice.made,
    }


def run_apply(statement: ApplyRecommendations, services: Services, execute: Execute) -> Rows:
    """APPLY: a row for each recommendation that was done."""
    for one in apply(services, statement.id, statement.table, execute, actions=statement.chosen):
        told = {"id": one.id, "action": one.action, "table": one.table}
        yield told | {"cube": one.cube or None, "name": one.name or None}
