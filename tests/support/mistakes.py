"""What newcomers get wrong, run as they run it: `tests/accelerator/mistakes/mistakes.toml`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.common.config.config import CATALOG_FILE
from tests.support.base_install import Outcome, run
from tests.support.rest_catalog import RestCatalogServer

FILE = Path(__file__).parents[1] / "accelerator" / "mistakes" / "mistakes.toml"
_HOUSE = Path(__file__).parents[2]
_STACK = re.compile(r"Traceback \(most recent|^\s+at [\w.$]+\(|^  File \"", re.MULTILINE)
_PARSER = re.compile(r"sqlglot|<class |TokenType")
_SENTENCES_MAX = 300
"""Characters of what is wrong, and of what to do."""
_SCRIPT = """
import accelerator
from accelerator.errors import AcceleratorError
try:
    exec({text!r})
except AcceleratorError as error:
    raise SystemExit(f"error [{{error.code}}]: {{error.message}}\\nhint: {{error.hint}}")
"""


@dataclass(frozen=True)
class Mistake:
    """One entry of the file; its words are explained there."""

    name: str
    what: str
    hint: str
    sql: str = ""
    spark: str = ""
    run: list[str] = field(default_factory=list)
    python: str = ""
    code: str = ""
    finds: str = ""
    newer_store: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Places:
    """A warehouse with the table shop.sales, and a REST catalog over it."""

    warehouse: Path
    rest: str


def mistakes() -> list[Mistake]:
    """All of the file."""
    return [Mistake(**one) for one in tomllib.loads(FILE.read_text())["mistake"]]


@contextmanager
def places(folder: Path) -> Iterator[Places]:
    """Made in the folder, while the block runs."""
    warehouse = folder / "warehouse"
    warehouse.mkdir()
    catalog = SqlCatalog(
        "lake", uri=f"sqlite:///{warehouse / CATALOG_FILE}", warehouse=warehouse.as_uri()
    )
    catalog.create_namespace("shop")
    rows = pa.table(
        {
            "store": pa.array([1, 2], pa.int32()),
            "amount": pa.array([5, 7]),
            "region": ["east", "west"],
        }
    )
    catalog.create_table("shop.sales", rows.schema).append(rows)
    catalog.create_table("shop.empty", rows.schema)
    with RestCatalogServer(catalog).running() as server:
        yield Places(warehouse, server.uri)
    catalog.engine.dispose()


def told_of_spark() -> list[Mistake]:
    """The mistakes of statements for which Spark has an error of its own."""
    return [one for one in mistakes() if one.spark]


def outcomes(at: Places) -> dict[str, Outcome]:
    """Runs the statements among the mistakes in one process without PySpark, by their text."""
    texts = [one.sql for one in mistakes() if one.sql]
    return {one.sql: one for one in run(at.warehouse, texts)}


def judged(mistake: Mistake, outcome: Outcome) -> str:
    """Returns what is wrong with a statement's error; empty if it's clear."""
    if outcome.raised or not outcome.code:
        return outcome.raised or "it has an answer"
    found = [] if outcome.code == mistake.code else [f"the code {outcome.code}"]
    found += [] if mistake.what in outcome.message else [f"the message {outcome.message!r}"]
    found += [] if mistake.hint in outcome.hint else [f"the hint {outcome.hint!r}"]
    found += [] if outcome.error_class == mistake.spark else [f"class {outcome.error_class!r}"]
    shown = f"{outcome.message} {outcome.hint}"
    found += ["a class of the parser"] if _PARSER.search(shown) else []
    missing = mistake.code != "spark_missing" and "PySpark" in shown
    found += ["PySpark is blamed"] if missing else []
    found += ["it left something"] if outcome.left else []
    return "; ".join(found)


def said(mistake: Mistake, at: Places, root: Path) -> str:
    """What is wrong with what is said of it: nothing, where it's clear."""

    def filled(text: str) -> str:
        for name, value in (("root", root), ("warehouse", at.warehouse), ("rest", at.rest)):
            text = text.replace(f"{{{name}}}", str(value))
        return text

    for name, text in mistake.made.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled(text))
        path.chmod(0o755)
    if mistake.newer_store:
        _newer(at.warehouse, root / mistake.newer_store)
    before = sorted(root.rglob("*"))
    script = filled(_SCRIPT.format(text=mistake.python))
    called = [filled(one) for one in mistake.run]
    command = ["-c", script] if mistake.python else ["-m", "accelerator", *called]
    given = {name: filled(value) for name, value in mistake.environment.items()}
    given.setdefault("ACCELERATOR_QUERY_LOG", "false")  # a mistake leaves nothing else
    search = os.pathsep.join(filter(None, [given.pop("PYTHONPATH", ""), str(_HOUSE)]))
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=root,
        env={**os.environ, **given, "PYTHONPATH": search, "HOME": str(root)},
    )
    shown = f"{ran.stdout}{ran.stderr}"
    wanted = [filled(mistake.what), filled(mistake.hint)]
    if mistake.code:
        wanted.append(f"error [{mistake.code}]: ")
    if mistake.finds:
        wanted.append(mistake.finds)
    found = [f"exit code {ran.returncode}"] if ran.returncode != 1 else []
    found += [f"it lacks {one!r}" for one in wanted if one not in shown]
    found += ["a stack trace"] if _STACK.search(shown) else []
    found += ["a long line" for line in shown.splitlines() if len(line) > _SENTENCES_MAX]
    left = [str(p) for p in sorted(root.rglob("*")) if p not in before and "pycache" not in str(p)]
    found += [f"it left {left}"] if left else []
    return "; ".join(found) + f"\n{shown}" if found else ""


def _newer(warehouse: Path, store: Path) -> None:
    """A store as a later release would have written it."""
    with accelerator.open(warehouse, store=str(store)) as session:
        session.query(
            "CREATE CUBE c AS SELECT store, sum(amount) AS t FROM shop.sales GROUP BY store"
        )
    for version in store.rglob("*.json"):
        text = version.read_bytes()
        if b'"kind":"registry"' in text:
            version.write_bytes(re.sub(rb'\{"format":\d+', b'{"format":99', text, count=1))
