"""How many of the statements between the queries are answered without Java, and as Spark does.

Each form of `tests/accelerator/shows/forms.toml` counts once, if all of its statements are answered
in a process that can't import PySpark, with the names, types and rows that Spark gave.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.shows import differences, forms, recorded, warehouse, without_spark


def measure(root: Path, failed: list[str]) -> dict[str, int]:
    """`shows_without_java` of `shows_without_java_of` forms; what differs is added to `failed`."""
    wrong = differences(without_spark(warehouse(root / "shows")), recorded())
    failed += [f"{form}: {one}" for form, several in wrong.items() for one in several]
    every = len(forms())
    return {"shows_without_java": every - len(wrong), "shows_without_java_of": every}
