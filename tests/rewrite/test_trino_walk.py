"""The walk over the Trino door's allow-list: what is let through is recorded, under any name."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from tests.support.trino_walk import RENAMINGS, Step, recorded, renamed, spark_of, steps

_FORMS = (*RENAMINGS, "with")


@cache
def _answers() -> Any:
    return recorded()


def _check(step: Step) -> str | None:
    """How the door treats the call otherwise than is recorded, if it does."""
    known = _answers().get(step.key)
    text = spark_of(step.sql, step.zone)
    if known is None:
        return None if text is None else "it isn't recorded"
    return None if text == known["spark"] else f"{text}"


def _check_renamed(step: Step, form: str) -> str | None:
    """How the call is treated otherwise over columns of other names, if it is."""
    known = _answers().get(step.key)
    if form == "values" and "typeof" in step.template:
        form = "union"  # a constant is of another type than the column
    sql, names = renamed(step, form)
    text = spark_of(sql, step.zone)
    if known is None or text is None:
        return None if known is None and text is None else f"{form}: {text}"
    wanted = _call_of(known["spark"])
    for column, name in zip(step.columns(), names, strict=True):
        wanted = re.sub(rf"\b{column}\b", name, wanted)
    return None if f"{wanted} AS r FROM" in text else f"{form}: {text} for {wanted}"


def _call_of(text: str) -> str:
    return text.removeprefix("SELECT ").rpartition(" AS r FROM w ")[0]


def _wrong(some: list[Step]) -> dict[str, str]:
    found: dict[str, str] = {}
    for at, step in enumerate(some):
        told = _check(step) or _check_renamed(step, _FORMS[at % len(_FORMS)])
        if told is not None:
            found[step.key] = told
    return found


def test_the_door_lets_through_what_is_recorded() -> None:
    """A part of the walk, each call under one other name."""
    wrong = _wrong(list(steps())[::11])
    assert not wrong, "\n".join(f"{key}\n    {told}" for key, told in wrong.items())


@pytest.mark.slow
def test_the_whole_walk() -> None:
    """Each call, each by every renaming."""
    wrong = {}
    for step in steps():
        for told in (_check(step), *(_check_renamed(step, form) for form in _FORMS)):
            if told is not None:
                wrong[step.key] = told
    assert not wrong, "\n".join(f"{key}\n    {told}" for key, told in wrong.items())


def test_all_kinds_are_walked() -> None:
    """Each kind is an operand of a call that is let through, and of one that is refused."""
    passed = {kind for step in steps() if step.key in _answers() for kind in step.kinds}
    refused = {kind for step in steps() if step.key not in _answers() for kind in step.kinds}
    assert passed == refused and len(passed) == 11


def test_trino_raises_for_none_of_them() -> None:
    """An error of Trino's isn't answered, but where its cause is a value."""
    errors = {one["error"] for one in _answers().values() if "error" in one}
    of_values = {"INVALID_CAST_ARGUMENT", "INVALID_FUNCTION_ARGUMENT", "NUMERIC_VALUE_OUT_OF_RANGE"}
    assert errors == of_values
