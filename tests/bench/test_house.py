"""The figures of our own code: they count what they say, and imports never go round."""

from __future__ import annotations

import ast
from pathlib import Path

from bench import house
from bench.imports import Layers, Sources, circles
from bench.report import Report


def test_no_imports_go_round(tmp_path: Path) -> None:
    report = Report("house", tmp_path / "f.json", {})
    house.count(report)
    assert report.details["circles"] == []
    assert report.figures["product_files"] > 250


def test_circles_are_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a", "f"}, "f": {"e"}}
    frozen = {name: frozenset(used) for name, used in imports.items()}
    assert sorted(circles(frozen)) == [["b", "c"], ["e", "f"]]


def test_imports_inside_and_for_types_count(tmp_path: Path) -> None:
    text = """
from x import m, name
if TYPE_CHECKING:
    from x.y import other
def f():
    import z
"""
    files = {name: tmp_path / f"{name}.py" for name in ("x", "x.m", "x.y", "z", "me")}
    for name, file in files.items():
        file.write_text(text if name == "me" else "")
    assert Sources(files).imports["me"] == {"x", "x.m", "x.y", "z"}


def test_imports_that_run_up_are_found() -> None:
    layers = Layers("a", (("top",), ("left", "right"), ("low",)))
    imports = {
        "a.top.x": frozenset({"a.low.y", "b.top"}),
        "a.left": frozenset({"a.right.z", "a.left.x"}),
        "a.low.y": frozenset({"a.top.x", "a.errors"}),
    }
    assert [*layers.back_arrows(imports)] == [("a.left", "a.right.z"), ("a.low.y", "a.top.x")]


def test_questions_after_plans_count() -> None:
    text = "isinstance(a, RowsPlan); isinstance(b, (int, CoverPlan)); isinstance(c, Planner)"
    assert house._asks_for_plans(ast.parse(text)) == 2
