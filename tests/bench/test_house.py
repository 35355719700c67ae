"""The figures of our own code: they count what they say, and imports never go round."""

from __future__ import annotations

import ast
from pathlib import Path

from bench import house
from bench.report import Report


def test_no_imports_go_round(tmp_path: Path) -> None:
    report = Report("house", tmp_path / "f.json", {})
    house.count(report)
    assert report.details["circles"] == []
    assert report.figures["product_files"] > 250
    assert len(report.details["rooms"]) > 10
    for arrow in report.details["back_arrows"]:
        above, below = arrow.split(" -> ")
        assert above.partition(".")[0] == below.partition(".")[0] == "accelerator"


def test_circles_are_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a", "f"}, "f": {"e"}}
    frozen = {name: frozenset(used) for name, used in imports.items()}
    assert sorted(house._circles(frozen)) == [["b", "c"], ["e", "f"]]


def test_imports_inside_and_for_types_count() -> None:
    text = """
from x import m, name
if TYPE_CHECKING:
    from x.y import other
def f():
    import z
"""
    modules = dict.fromkeys(("x", "x.m", "x.y", "z", "me"))
    assert set(house._imported("me", ast.parse(text), modules)) == {"x", "x.m", "x.y", "z"}


def test_questions_after_plans_count() -> None:
    text = "isinstance(a, RowsPlan); isinstance(b, (int, CoverPlan)); isinstance(c, Planner)"
    assert house._asks_for_plans(ast.parse(text)) == 2
