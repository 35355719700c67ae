"""One input tried: what came of it, and whether that may be.

Runs in whatever process it's called in; `workers.py` calls it in one that may die.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from fuzz.bytes.kinds import (
    Damaged,
    Format,
    Input,
    Tally,
    WrongError,
    believing,
    damaged_input,
)

REFUSED = "refused"
_LINES, _WIDTH = 24, 300  # of a traceback that are shown


@dataclass(slots=True)
class Came:
    """What came of one input. `fault`: its kind, with what was raised; None where all is well."""

    answers: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    fault: tuple[str, str] | None = None

    @property
    def accepted(self) -> bool:
        """Whether anything was answered."""
        return any(one != REFUSED and one is not None for one in self.answers)


def used(format_: Format, given: Input) -> Came:
    """The input is read and used; every step for itself."""
    came = Came()
    try:
        steps = list(format_.steps(given))
    except BaseException as error:
        _take(format_, came, error)
        return came
    for step in steps:
        try:
            came.answers.append(step())
        except BaseException as error:
            came.answers.append(REFUSED)
            _take(format_, came, error)
    return came


def _take(format_: Format, came: Came, error: BaseException) -> None:
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        raise error
    if isinstance(error, WrongError):
        came.fault = ("wrong", _shown(error))
    elif isinstance(error, format_.allowed) and not isinstance(error, MemoryError):
        came.errors.append(type(error).__name__)
    else:
        came.fault = ("error", _shown(error))


def _shown(error: BaseException) -> str:
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(line[:_WIDTH] for line in lines[-_LINES:])


class Tried:
    """A format with its sound samples, and what they answer."""

    def __init__(self, format_: Format) -> None:
        """RuntimeError where a sound sample isn't answered: nothing would be tried."""
        self.format = format_
        self.samples: Sequence[Input] = format_.samples()
        self.sound = [used(format_, one) for one in self.samples]
        for place, came in enumerate(self.sound):
            if came.fault is not None or not came.accepted:
                raise RuntimeError(f"{format_.name}: the sound sample {place} gives {came}")

    def input(self, seed: int, number: int) -> Damaged:
        """See `kinds.damaged_input`."""
        return damaged_input(self.format, self.samples, seed, number)

    def try_one(self, made: Damaged, tally: Tally) -> tuple[str, str] | None:
        """What is wrong with what comes of it: a kind of fault, and its text."""
        trust = believing(self.format.believed) if made.believed else nullcontext()
        with trust:
            came = used(self.format, made.input)
        fault = came.fault
        if fault is None and made.sealed:
            fault = self._other_than_sound(came, made.sample)
        tally.inputs += 1
        sound = self.samples[made.sample]
        same = made.input.data == sound.data and repr(made.input.facts) == repr(sound.facts)
        if fault is not None:
            tally.faults[fault[0]] = tally.faults.get(fault[0], 0) + 1
        elif came.accepted:
            tally.accepted += 1
            tally.mutated_accepted += not same
        else:
            tally.refused += 1
        for name in set(came.errors):
            tally.errors[name] = tally.errors.get(name, 0) + 1
        return fault

    def _other_than_sound(self, came: Came, sample: int) -> tuple[str, str] | None:
        for place, (mine, sound) in enumerate(zip(came.answers, self.sound[sample].answers)):  # noqa: B905
            if mine not in (REFUSED, None) and mine != sound:
                return "wrong", f"step {place} answers otherwise though its checksums are old"
        return None
