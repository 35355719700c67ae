"""The faults that are planted, read from `*.toml`, and a file's text with one of them in it.

Each plants one fault in one place of one file: `old`, which stands there exactly once, becomes
`new`. `why` says what users would see. `listed` is the phrase by which `docs/verification.md` tells
of it, where it's one that was found once and has been mended.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
_KEYS = {"name", "file", "why", "old", "new"}
_MORE = {"listed"}


class MutantError(ValueError):
    """A fault that can't be planted; the message names it and its file."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault; `room` is the file of faults that it stands in."""

    name: str
    file: str
    why: str
    old: str
    new: str
    room: str
    listed: str = ""

    def planted(self, text: str) -> str:
        """The text with the fault in it. MutantError unless it fits exactly once and compiles."""
        times = text.count(self.old)
        if times != 1:
            raise MutantError(f"{self.name}: {self.file} has its `old` {times} times, not once")
        changed = text.replace(self.old, self.new)
        if changed == text:
            raise MutantError(f"{self.name} changes nothing in {self.file}")
        try:
            ast.parse(changed)
        except SyntaxError as error:
            raise MutantError(f"{self.name}: {self.file} isn't Python then: {error}") from error
        return changed

    def lines(self, text: str) -> range:
        """The lines of the text that the fault changes; those around it where it only adds."""
        before = text[: text.index(self.old)].count("\n")
        old, new = self.old.split("\n"), self.new.split("\n")
        same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
        first = min(len(old), len(new)) if same is None else same
        last, added = len(old), len(new)
        while last > first and added > first and old[last - 1] == new[added - 1]:
            last, added = last - 1, added - 1
        if not any(line.strip() for line in old[first:last]):
            first, last = max(0, first - 1), min(len(old), last + 1)
        return range(before + first + 1, before + max(last, first + 1) + 1)


def read(folder: Path = FOLDER) -> list[Mutant]:
    """All of them, room after room. MutantError where a file of theirs isn't as it should be."""
    found: list[Mutant] = []
    for path in sorted(folder.glob("*.toml")):
        found += _of_file(path)
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise MutantError(f"several mutants are called {', '.join(twice)}")
    return found


def _of_file(path: Path) -> list[Mutant]:
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise MutantError(f"{path.name} isn't TOML: {error}") from error
    if set(told) != {"mutant"}:
        raise MutantError(f"{path.name} has other tables than [[mutant]]: {', '.join(told)}")
    found = []
    for number, one in enumerate(told["mutant"], 1):
        name = one.get("name", f"number {number}")
        lacking, odd = _KEYS - one.keys(), one.keys() - _KEYS - _MORE
        if lacking or odd:
            raise MutantError(
                f"{path.name}: {name} lacks {sorted(lacking)} and has {sorted(odd)} too much"
            )
        if not all(isinstance(value, str) for value in one.values()):
            raise MutantError(f"{path.name}: {name} has other values than texts")
        found.append(Mutant(**one, room=path.stem))
    return found


def check(mutants: Sequence[Mutant], root: Path) -> None:
    """MutantError for the first that can't be planted in the files of that folder."""
    for one in mutants:
        path = root / one.file
        if not path.is_file():
            raise MutantError(f"{one.name}: there is no file {one.file}")
        one.planted(path.read_text(encoding="utf-8"))
