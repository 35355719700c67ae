"""Worlds, `tests/worlds/*.sql`: tables that Spark makes, in states that follow each other.

A line `-- state NAME` ends a state's statements; those before it make that state of the one
before. Statements end with `;` at a line's end. Nothing is replaced in them: a world is plain SQL.
"""

from __future__ import annotations

import re
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tests.support.warehouse import RecordedWarehouse

FOLDER = Path(__file__).parents[1] / "worlds"
_STATE = re.compile(r"^-- state (\w+)\s*$", re.M)


class WorldError(RuntimeError):
    """A statement that makes a world fails; the message has it."""


class World:
    """A world's states over a warehouse."""

    def __init__(self, name: str, warehouse: RecordedWarehouse) -> None:
        self.name, self._warehouse = name, warehouse
        self.states = statements(FOLDER / f"{name}.sql")
        self._done: list[str] = []
        lake = warehouse.recorded
        with lake.alone():
            self.go_to(list(self.states)[-1])  # whole, so that all its states are of one making
            lake.begin()
        self._done = []

    def go_to(self, state: str) -> None:
        """Runs what leads to that state."""
        if state not in self.states:
            raise WorldError(f"world {self.name} has no state {state!r}: {', '.join(self.states)}")
        for name, texts in self.states.items():
            if name in self._done:
                continue
            for text in texts:
                self._run(name, text)
            self._done.append(name)
            if name == state:
                return

    def _run(self, state: str, text: str) -> None:
        try:
            self._warehouse.sql(text)
        except (PySparkException, Py4JError) as error:
            raise WorldError(
                f"world {self.name} can't be made: at {state} this fails: {text}\n{error}"
            ) from error


def statements(path: Path) -> dict[str, list[str]]:
    """The statements of each state, in order."""
    if not path.exists():
        raise WorldError(f"there is no world {path.stem}: {path} is missing")
    parts = _STATE.split(path.read_text())
    if len(parts) < 3 or parts[-1].strip():
        raise WorldError(f"world {path.stem} doesn't end with a line `-- state NAME`")
    return {name: _split(text) for text, name in zip(parts[::2], parts[1::2], strict=False)}


def _split(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    found = re.split(r";[ \t]*(?:\n|$)", "\n".join(lines))
    return [one.strip() for one in found if one.strip()]
