"""Statements in a process that cannot import PySpark: answers, errors, and what they leave."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROGRAM = """
import json, sys
from pathlib import Path
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "pandas", "rjieba"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import accelerator
folder, statements, settings = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])

def state(acc):
    registry = acc.services.store.registry(fresh=True)
    cubes = {name: [cube.id, cube.published] for name, cube in registry.cubes.items()}
    indexes = {name: index.id for name, index in registry.indexes.items()}
    files = [path for kind in ("parquet", "puffin") for path in folder.rglob(f"*.{kind}")]
    files = sorted(str(path) for path in files if "log" not in path.parts)
    tables = sorted(str(path) for path in folder.rglob("*.metadata.json"))
    applied = [str(path) for path in folder.rglob("*applied*")]
    return [cubes, indexes, [one.cube.id for one in registry.bin], files, tables, applied]

outcomes = []
with accelerator.open(folder, **settings) as acc:
    for sql in statements:
        before, outcome = state(acc), {"sql": sql}
        try:
            answer = acc.query(sql)
            outcome |= {"engine": answer.metrics.engine, "rows": answer.arrow().num_rows}
        except accelerator.AcceleratorError as error:
            outcome |= {"code": error.code, "message": error.message, "hint": error.hint}
            outcome["error_class"] = error.error_class
            outcome["left"] = state(acc) != before
        except BaseException as error:
            outcome["raised"] = f"{type(error).__name__}: {error}"
        outcomes.append(outcome)
print(json.dumps(outcomes))
"""


@dataclass(frozen=True)
class Outcome:
    """A statement's answer, typed error (`code`), or other exception (`raised`).

    `left` is true if the store or a table differs after the error.
    """

    sql: str
    engine: str = ""
    rows: int = -1
    code: str = ""
    message: str = ""
    hint: str = ""
    error_class: str = ""
    left: bool = False
    raised: str = ""


def run(folder: Path, statements: Sequence[str], **settings: Any) -> list[Outcome]:
    """Runs the statements, one after the other, in one session over the folder."""
    given: Mapping[str, Any] = settings
    words = [sys.executable, "-c", _PROGRAM, str(folder), json.dumps(statements), json.dumps(given)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return [Outcome(**one) for one in json.loads(ran.stdout.splitlines()[-1])]
