"""What the examples of `docs/reference/sql.md` give in a process that cannot import PySpark."""

from __future__ import annotations

from pathlib import Path

from tests.support.base_install import Outcome, run
from tests.support.pristine import Pristine
from tests.support.reference_examples import BLOCKS, lake, statements_of, with_objects


def measure(root: Path, failed: list[str]) -> dict[str, int]:
    """Counts the blocks of which each statement gives an answer, or a typed error with a hint.

    What fails otherwise, or leaves something behind, is added to `failed`.
    """
    root.mkdir()
    folder = Pristine(root).lake(lambda catalog: lake("double", catalog))
    clear, every = 0, [[*with_objects(statements_of(block))] for block in BLOCKS]
    outcomes = iter(run(folder, [sql for block in every for sql in block]))
    for block in every:
        found = [why for why in (_unclear(next(outcomes)) for _ in block) if why]
        clear += not found
        failed += found
    return {"base_statements_clear": clear, "base_statements_clear_of": len(every)}


def _unclear(one: Outcome) -> str:
    if one.raised or one.left or (one.code and not one.hint):
        return f"{one.sql}: {one.raised or one.code}, left: {one.left}, hint: {one.hint!r}"
    return ""
