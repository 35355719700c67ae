"""The faults can be planted, and the command chooses and reads as it says; runs none of them."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest
from coverage import CoverageData

from tests.mutants.choice import Chosen, nearest, ordered, statement_lines
from tests.mutants.coverage_map import Case, CoverageMap, Ran, checksum, functions, imports
from tests.mutants.planted import Mutant, MutantError, check, read
from tests.mutants.run import Hunt, Known, _wanted
from tests.mutants.running import Runner
from tests.mutants.tree import HERE, Tree

MUTANTS = read()
ROOMS = (
    *("rewrite", "cubes", "indexes", "accelerator"),
    *("accelerator/store", "accelerator/iceberg", "accelerator/artifacts", "accelerator/engines"),
    *("accelerator/builds", "accelerator/planning", "accelerator/query", "accelerator/services"),
    "accelerator/gateway",
)
TEXT = """\
import os

LIMIT = 3


def first(a):
    if a < LIMIT:
        return (
            a + 1
        )
    return 0


class Kept:
    def second(self):
        return os.name
"""


def mutant(old, new="0", **more):
    known = {"name": "changes_it", "file": "rewrite/x.py", "why": "It's wrong.", "room": "x"}
    return Mutant(**(known | more), old=old, new=new)


@pytest.mark.parametrize("one", MUTANTS, ids=lambda one: one.name)
def test_a_mutant_can_be_planted(one):
    check([one], HERE)
    assert one.why.endswith(".") and "\n" not in one.why
    assert one.lines((HERE / one.file).read_text())


def test_there_are_enough_in_every_room():
    assert len(MUTANTS) >= 60
    found = dict.fromkeys(ROOMS, 0)
    for one in MUTANTS:
        folder = str(Path(one.file).parent)
        room = next(r for r in sorted(ROOMS, key=len, reverse=True) if folder.startswith(r))
        found[room] += 1
    assert all(count >= 2 for count in found.values()), found


def test_half_of_them_were_found_once():
    doc = " ".join((HERE / "docs" / "verification.md").read_text().split())
    strange = [one.name for one in MUTANTS if one.listed and one.listed not in doc]
    assert not strange
    assert 2 * sum(bool(one.listed) for one in MUTANTS) >= len(MUTANTS)


def test_a_fault_fits_once_and_compiles():
    assert mutant("a < LIMIT", "a <= LIMIT").planted(TEXT).count("a <= LIMIT") == 1
    for old, new, why in (
        ("b < LIMIT", "0", "0 times"),
        ("return", "pass", "3 times"),
        ("return 0", "return (", "isn't Python"),
        ("return 0", "return 0", "changes nothing"),
    ):
        with pytest.raises(MutantError, match=why):
            mutant(old, new).planted(TEXT)
    with pytest.raises(MutantError, match="no file rewrite"):
        check([mutant("a", file="rewrite/gone.py")], HERE)


def test_files_of_faults_that_are_not_as_they_should_be(tmp_path):
    for text, why in (
        ("[[mutant]", "isn't TOML"),
        ("[other]\na = 1", "other tables"),
        ('[[mutant]]\nname = "a"', "a lacks"),
        ('[[mutant]]\nname="a"\nfile="b"\nwhy="c."\nold="d"\nnew=1', "other values"),
    ):
        (tmp_path / "odd.toml").write_text(text)
        with pytest.raises(MutantError, match=why):
            read(tmp_path)
    (tmp_path / "odd.toml").write_text(
        '[[mutant]]\nname="a"\nfile="b"\nwhy="c."\nold="d"\nnew=""\n'
    )
    shutil.copy(tmp_path / "odd.toml", tmp_path / "more.toml")
    with pytest.raises(MutantError, match="several mutants are called a"):
        read(tmp_path)


def test_the_lines_that_a_fault_changes():
    assert list(mutant("a < LIMIT").lines(TEXT)) == [7]
    assert list(mutant("    if a < LIMIT:\n        return (", "").lines(TEXT)) == [7, 8]
    gone = mutant("\n        return (\n            a + 1\n        )\n", "\n        return 1\n")
    assert list(gone.lines(TEXT)) == [8, 9, 10]
    assert statement_lines(TEXT, [9]) == {8, 9, 10}
    assert statement_lines(TEXT, [7]) == {7}
    assert functions(TEXT) == {"first": (6, 11), "Kept.second": (15, 16)}
    assert imports("import a.b\nfrom c import d") == {"a.b", "c", "c.d"}


@pytest.fixture
def mapped(tmp_path):
    """Test a runs `first`, b's setup does, c runs `second`; d another file that imports it."""
    data = CoverageData(basename=str(tmp_path / "unit.coverage"))
    for context, lines in (("a.py::a", [7, 8]), ("b.py::b|setup", [7]), ("c.py::c", [16])):
        data.set_context(context)
        data.add_lines({"/root/rewrite/x.py": lines})
    data.set_context("d.py::d")
    data.add_lines({"/root/rewrite/y.py": [2]})
    data.write()
    CoverageData(basename=str(tmp_path / "spark.coverage")).write()
    files = {
        "rewrite/x.py": {"sum": checksum(TEXT), "functions": functions(TEXT), "imports": ["os"]},
        "rewrite/y.py": {"sum": "", "functions": {}, "imports": ["rewrite.x", "rewrite.z"]},
    }
    tests = [[f"{name}.py::{name}", 0, 1.0, False, False] for name in "abcd"]
    for part, some in (("unit", tests), ("spark", [])):
        told = {"made": "now", "root": "/root", "tests": some, "files": files}
        told |= {"sum": "s", "failed": []}
        (tmp_path / f"{part}.json").write_text(json.dumps(told))
    return CoverageMap(tmp_path, ("unit", "spark"))


def test_the_map_knows_lines_functions_files_and_importers(mapped):
    def of(name, lines, text=TEXT):
        ran, how = mapped.ran(name, lines, text)
        return sorted(ran.exact), sorted(ran.setup), how

    assert of("rewrite/x.py", [8]) == (["a.py::a"], [], "lines")
    assert of("rewrite/x.py", [7]) == (["a.py::a"], ["b.py::b"], "lines")
    assert of("rewrite/x.py", [11]) == (["a.py::a"], ["b.py::b"], "function")
    assert of("rewrite/x.py", [17], "#\n" + TEXT) == (["c.py::c"], [], "function")
    assert of("rewrite/x.py", [3]) == (["a.py::a"], ["b.py::b"], "function")
    assert of("rewrite/x.py", [1]) == (["a.py::a", "c.py::c"], ["b.py::b"], "file")
    assert of("rewrite/z.py", [1], "") == (["d.py::d"], [], "importers")
    assert of("rewrite/w.py", [1], "") == ([], [], "importers")


def test_cheap_and_specific_tests_come_first():
    def test(name, seconds, spark=False, live=False):
        return Case(name, 0, seconds, spark, live)

    tests = {
        t.name: t
        for t in (
            *(test("u/test_far.py::a", 1.0), test("u/test_far.py::b", 0.1)),
            *(test("u/test_x.py::a", 9.0), test("u/test_near.py::a", 2.0)),
            *(test("s/test_s.py::a", 0.1, True), test("s/test_s.py::b", 0.1, True)),
            *(test("s/test_s.py::c", 0.1, True), test("s/test_live.py::a", 0.1, True, True)),
        )
    }
    there = {name: place for place, name in enumerate(tests)}
    ran = Ran(
        frozenset(tests) - {"u/test_far.py::a", "s/test_s.py::a", "s/test_s.py::c"}, frozenset()
    )
    found = list(ordered("rewrite/x.py", ran, tests, there))
    assert [t.name for t in found] == [
        *("u/test_x.py::a", "u/test_near.py::a", "u/test_far.py::b"),
        *("s/test_s.py::a", "s/test_s.py::b", "s/test_live.py::a"),
    ]
    parts = [[t.name for t in part] for part in Chosen(tuple(found), "lines").chunks()]
    assert parts == [
        ["u/test_x.py::a", "u/test_near.py::a", "u/test_far.py::b"],
        ["s/test_s.py::a", "s/test_s.py::b"],
        ["s/test_live.py::a"],
    ]
    said = {"u/test_x.py": 1, "s/test_live.py": 2}
    near = nearest(found, lambda file: said.get(file, 0))
    assert near == {"s/test_live.py"}
    soon = [[t.name for t in part] for part in Chosen(tuple(found), "lines", near).chunks()]
    assert soon[1] == ["s/test_live.py::a"]
    assert nearest(found, lambda _: 0) == nearest(found, lambda _: 1) == frozenset()
    shared = Ran(frozenset(), frozenset({"s/test_s.py::a"}))
    assert len(list(ordered("rewrite/x.py", shared, tests, there))) == 3
    assert not list(ordered("rewrite/x.py", ran, tests, {}))


def test_only_the_named_ones():
    assert [one.name for one in _wanted(MUTANTS, [MUTANTS[3].name])] == [MUTANTS[3].name]
    with pytest.raises(MutantError, match="there is no mutant nobody"):
        _wanted(MUTANTS, ["nobody"])


@pytest.mark.served
def test_a_fault_is_noticed_survives_or_is_no_fault_of_its_own(tmp_path):
    own = {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
        "rewrite/__init__.py": "",
        "rewrite/x.py": TEXT,
        "tests/test_x.py": "from rewrite.x import first\ndef test_a(): assert first(1) == 2\n"
        "def test_b(): assert first(3) == 7\n",
    }
    for name, text in own.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text)
    (tmp_path / "tree/tests/mutants").mkdir()
    for name in ("__init__.py", "told.py"):
        shutil.copy(HERE / "tests/mutants" / name, tmp_path / "tree/tests/mutants")
    tests = {f"tests/test_x.py::test_{x}": i for i, x in enumerate("ba")}

    class Mapped:
        def __init__(self):
            self.tests = {name: Case(name, i, i, False, False) for name, i in tests.items()}

        def ran(self, *_):
            return Ran(frozenset(tests), frozenset()), "lines"

    known = Known()
    runner = Runner(Tree(tmp_path / "tree"), tmp_path / "scratch", threading.Event())
    hunt = Hunt(runner, Mapped(), tests, known)
    noticed = hunt.verdict(mutant("a + 1", "a + 2"))
    assert (noticed.outcome, noticed.killer) == ("killed", "tests/test_x.py::test_a")
    assert list(known.bad) == ["tests/test_x.py::test_b"]
    lost = hunt.verdict(mutant("return os.name", "return 0"))
    assert lost.outcome == "survived" and lost.is_lost
    assert (tmp_path / "tree/rewrite/x.py").read_text() == TEXT
