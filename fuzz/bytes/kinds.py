"""What the fuzz knows of a format: how sound samples are made, read and used, and what may come.

An input is used in steps, each of which is a question as the product asks it. A step gives an
answer, None for "not used", or raises one of the errors that the product's callers catch. Anything
else is a fault: another error, or `WrongError` for an answer that no sound reader gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from random import Random
from typing import Any

from fuzz.bytes.json_mutations import damaged_json, damaged_text
from fuzz.bytes.mutations import damaged


class WrongError(Exception):
    """An answer that a sound reader must not give."""


@dataclass(frozen=True, slots=True)
class Input:
    """What is read: bytes, and beside them facts of JSON where the format has some elsewhere.

    `context` is what the reader knows from places that nobody has damaged.
    """

    data: bytes = b""
    facts: Any = None
    context: Any = None


Step = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Format:
    """One format. `steps`: what is asked of an input; making them may raise as they may.

    `sealed`: its checksums cover the bytes, so that damaged ones give no other answers unless the
    checksums are made right again. `repaired` makes them right; readers in the modules `believed`
    take every checksum for right, as if who damages had computed it. `text`: bytes are of JSON.
    """

    name: str
    samples: Callable[[], Sequence[Input]]
    steps: Callable[[Input], Iterable[Step]]
    allowed: tuple[type[BaseException], ...]
    sealed: bool = False
    repaired: Callable[[Random, bytes], bytes] | None = None
    believed: tuple[str, ...] = ()
    text: bool = False
    change: Callable[[Random, bytes, Sequence[bytes]], bytes] | None = None
    """Damages bytes in the format's own way, in place of the ways of all."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged input; `sample`: the number of the sound one that it was made of.

    `believed`: checksums are taken for right. `sealed`: they aren't, and nobody made them so.
    """

    input: Input
    sample: int
    believed: bool
    sealed: bool


def damaged_input(format_: Format, samples: Sequence[Input], seed: int, number: int) -> Damaged:
    """Input `number` of a run with that seed: the same one whenever it's asked for."""
    r = Random(f"{seed}/{format_.name}/{number}")
    place = r.randrange(len(samples))
    sound = samples[place]
    others = tuple(one.data for one in samples)
    data, facts = sound.data, sound.facts
    of_facts = facts is not None and (not data or r.random() < 0.3)
    believed = repaired = moved = False
    if of_facts:
        facts = damaged_json(r, facts)
    if data and (not of_facts or r.random() < 0.1):
        if format_.change is not None:
            data = format_.change(r, data, others)
        elif format_.text:
            data = damaged_text(r, data.decode(), others).encode(errors="replace")
        else:
            data, moved = damaged(r, data, others)
    if format_.believed and r.random() < 0.75:
        believed = True
    if format_.repaired is not None and r.random() < 0.75:
        data, repaired = format_.repaired(r, data), True
    sealed = format_.sealed and not (believed or repaired or moved or of_facts)
    return Damaged(replace(sound, data=data, facts=facts), place, believed, sealed)


class _Right(int):
    """A checksum that is equal to all others, in every form that readers give it."""

    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def to_bytes(self, *_: Any, **__: Any) -> bytes:
        return _RightBytes(4)


class _RightBytes(bytes):
    __hash__ = bytes.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


def _right(*_: Any) -> int:
    return _Right()


@contextmanager
def believing(modules: Iterable[str]) -> Iterator[None]:
    """Every CRC-32 that these modules compute is the one that they look for."""
    before = {name: import_module(name).crc32 for name in modules}
    for name in before:
        import_module(name).crc32 = _right  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for name, own in before.items():
            import_module(name).crc32 = own  # type: ignore[attr-defined]


@dataclass(slots=True)
class Tally:
    """What came of the inputs of one format."""

    inputs: int = 0
    accepted: int = 0
    mutated_accepted: int = 0
    refused: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    """Those that may come, by type."""
    faults: dict[str, int] = field(default_factory=dict)
    """`crash`, `hang`, `wrong`, `error`."""
    worst_s: float = 0.0
    """The longest time of one input, of the worker's own time."""
    worst_number: int = 0
    """The number of that input."""
    worst_mb: float = 0.0
    """The most memory of one input above what the worker had before its part."""

    def add(self, other: Mapping[str, Any]) -> None:
        """That of a part of the inputs, as JSON has it."""
        for name in ("inputs", "accepted", "mutated_accepted", "refused"):
            setattr(self, name, getattr(self, name) + other[name])
        if other["worst_s"] > self.worst_s:
            self.worst_s, self.worst_number = other["worst_s"], other["worst_number"]
        self.worst_mb = max(self.worst_mb, other["worst_mb"])
        for kind in ("errors", "faults"):
            mine = getattr(self, kind)
            for word, count in other[kind].items():
                mine[word] = mine.get(word, 0) + count

    def to_json(self) -> dict[str, Any]:
        """As figures have it."""
        return {
            "inputs": self.inputs,
            "accepted": self.accepted,
            "mutated_accepted": self.mutated_accepted,
            "refused": self.refused,
            "errors": dict(sorted(self.errors.items())),
            "faults": dict(sorted(self.faults.items())),
            "worst_s": round(self.worst_s, 3),
            "worst_number": self.worst_number,
            "worst_mb": round(self.worst_mb, 1),
        }
