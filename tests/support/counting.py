"""Counts the statements that tests ask, where `TESTS_COUNTED` names a folder for it.

A statement counts once for each test file that asks it, however often and at how many states. Each
process writes a file of its own; `counted` puts them together.
"""

from __future__ import annotations

import functools
import json
import os
import re
from pathlib import Path
from typing import Any

_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
_WORD = re.compile(r"[\s(]*([A-Za-z]*)")


def begin() -> None:
    """From here on statements are counted, if they are to be."""
    folder = os.environ.get("TESTS_COUNTED")
    if not folder:
        return
    from accelerator.session.session import Accelerator

    Path(folder).mkdir(parents=True, exist_ok=True)
    path, seen = Path(folder) / f"{os.getpid()}.jsonl", set[tuple[str, str]]()

    def count(method: str) -> None:
        plain = getattr(Accelerator, method)

        @functools.wraps(plain)
        def counting(self: Accelerator, sql: str, *rest: Any, **named: Any) -> Any:
            file = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
            word = _WORD.match(sql)
            if word and word[1].upper() in _QUERIES and (file, sql) not in seen:
                seen.add((file, sql))
                with path.open("a") as told:
                    told.write(json.dumps([file, sql]) + "\n")
            return plain(self, sql, *rest, **named)

        setattr(Accelerator, method, counting)

    for method in ("query", "sql", "stream"):
        count(method)


def counted(folder: Path) -> int:
    """The statements that were asked."""
    lines = (line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines())
    return len({tuple(json.loads(line)) for line in lines})
