"""Reads the statements, which are committed once and not edited afterwards.

A file has the statements of one kind, and the first word of its name is the tool. Each statement
begins with a line `-- name: …`. `tests/bench/test_tool_statements.py` has a digest of each file.
They read only: what builds models or writes results isn't among them. Each was written anew after
what its tool's public generator gives, and a Trino 476 over these tables answered it with rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
_NAME = re.compile(r"^-- name: (.+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToolStatement:
    """One statement, and the tool that would send it."""

    kind: str
    name: str
    sql: str

    @property
    def tool(self) -> str:
        """The tool's name."""
        return self.kind.partition("_")[0]


def tool_statements() -> list[ToolStatement]:
    """Returns the statements of all files, in the order of the files' names."""
    found: list[ToolStatement] = []
    for file in sorted(FOLDER.glob("*.sql")):
        _, *parts = _NAME.split(file.read_text(encoding="utf-8"))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        found += [ToolStatement(file.stem, name, sql.strip()) for name, sql in pairs]
    return found
