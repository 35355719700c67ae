"""The magics, in a real shell of IPython's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from IPython.core.interactiveshell import InteractiveShell
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.query.results.result import Result
from tests.support.pristine import Pristine

_NAMES = ["O'Hara", "plain", "{x} $x", None]


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = pa.table({"k": pa.array(range(4), pa.int32()), "name": _NAMES})
    catalog.create_table("d.t", rows.schema).append(rows)


@pytest.fixture
def root(pristine: Pristine, no_java: None) -> Path:
    return pristine.lake(_fill)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    made = InteractiveShell()
    made.history_manager.enabled = False
    made.run_line_magic("load_ext", "accelerator")
    yield made
    made.run_line_magic("accelerate", "close")
    made.history_manager.end_session()
    InteractiveShell.clear_instance()


def _ran(shell: InteractiveShell, code: str) -> Any:
    """What the cell displays; its error is raised."""
    found = shell.run_cell(code, store_history=False)
    found.raise_error()
    return found.result


def _keys(found: Any) -> list[int]:
    assert isinstance(found, Result)
    return sorted(k for (k,) in found)


def test_a_cell_and_a_line(shell: InteractiveShell, root: Path) -> None:
    opened = _ran(shell, f"%accelerate open {root}")
    assert isinstance(opened, accelerator.Accelerator)
    assert _keys(_ran(shell, "%%accelerate\nSELECT k\nFROM d.t WHERE k < 2;\n")) == [0, 1]
    assert _keys(_ran(shell, "%accelerate SELECT k FROM d.t WHERE k = 3")) == [3]
    _ran(shell, "found = %accelerate SELECT k FROM d.t WHERE k = 3")
    assert _keys(shell.user_ns["found"]) == [3]
    assert _ran(shell, "%accelerate") is opened
    _ran(shell, "%accelerate close")
    assert opened.closed


def test_variables_are_bound_and_never_spliced(shell: InteractiveShell, root: Path) -> None:
    _ran(shell, f"%accelerate open '{root}' catalog_name=lake")
    shell.user_ns |= {"name": "O'Hara", "low": 1, "x": "1 OR 1=1"}
    cell = "%%accelerate\nSELECT k FROM d.t WHERE name = :name OR k = :low AND ':x' <> ''"
    assert _keys(_ran(shell, cell)) == [0, 1]
    assert _keys(_ran(shell, "%accelerate SELECT k FROM d.t WHERE name = '{x} $x'")) == [2]
    assert _keys(_ran(shell, "%%accelerate\nSELECT k FROM d.t WHERE name = '{x} $x'")) == [2]
    assert _keys(_ran(shell, "%accelerate SELECT k FROM d.t WHERE name = :x")) == []


def test_results_are_kept(shell: InteractiveShell, root: Path) -> None:
    _ran(shell, f"%accelerate open {root}")
    shown = _ran(shell, "%%accelerate -o first\nSELECT k FROM d.t WHERE k = 1")
    assert shown is shell.user_ns["first"]
    assert _ran(shell, "%%accelerate second <<\nSELECT k FROM d.t WHERE k = 2") is None
    assert _keys(shell.user_ns["second"]) == [2]
    assert _ran(shell, "%accelerate third << SELECT k FROM d.t WHERE k = 3") is None
    assert _keys(shell.user_ns["third"]) == [3]


def test_which_session(shell: InteractiveShell, root: Path) -> None:
    sql = "SELECT k FROM d.t WHERE k = 1"
    with accelerator.open(root) as one, accelerator.open(root) as other:
        shell.user_ns["one"] = shell.user_ns["again"] = one
        assert _keys(_ran(shell, f"%accelerate {sql}")) == [1]
        shell.user_ns["other"] = other
        assert _keys(_ran(shell, f"%%accelerate --session=other -o kept\n{sql}")) == [1]
        _fails(shell, f"%accelerate {sql}", "several sessions: again, one, other")
        _fails(shell, f"%accelerate -s onne {sql}", "did you mean one")
        _ran(shell, f"%accelerate open {root}")
        assert _keys(_ran(shell, f"%accelerate {sql}")) == [1]
        _ran(shell, "%accelerate close")
    _fails(shell, f"%accelerate --session one {sql}", "no open session is named one")
    _fails(shell, f"%accelerate {sql}", "there is no open session")


def _fails(shell: InteractiveShell, code: str, message: str) -> None:
    with pytest.raises(accelerator.AcceleratorError, match=message):
        _ran(shell, code)


def test_errors_are_told_shortly(
    shell: InteractiveShell, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _ran(shell, f"%accelerate open {root}")
    shell.user_ns["named"] = "x"
    for code, message in (
        ("%accelerate SELECT :namd", "did you mean named"),
        ("%accelerate SELECT :named, ?", "don't go together"),
        ("%%accelerate\nSELECT k FROM d.t WHERE k = ?", "don't go together"),
        ("%%accelerate -o a-b\nSELECT 1", "no variable can be named a-b"),
        ("%%accelerate -o class\nSELECT 1", "no variable can be named class"),
        ("%%accelerate --what x\nSELECT 1", "unknown option --what"),
        ("%accelerate open a b", "one path is wanted"),
        ("%accelerate open 'a", "the line can't be read"),
        ("%accelerate open /no/such/folder", "no warehouse"),
        (f"%accelerate open {root} nope=1", "unknown setting 'nope'"),
        ("%accelerate DROP CUBE nobody", "no cube"),
    ):
        capsys.readouterr()
        _fails(shell, code, message)
        told = "".join(capsys.readouterr())
        assert message in told
        assert "Traceback" not in told
        assert len(told.splitlines()) <= 4
    assert _keys(_ran(shell, "%accelerate SELECT k FROM d.t WHERE k = 1")) == [1]


def test_results_are_displayed(shell: InteractiveShell, root: Path) -> None:
    _ran(shell, f"%accelerate open {root}")
    found = _ran(shell, "%accelerate SELECT k, name FROM d.t WHERE k = 0")
    shown, _ = shell.display_formatter.format(found)
    assert "<td>O&#x27;Hara</td>" in shown["text/html"]
    assert "│     0 │ O'Hara  │" in shown["text/plain"]
    assert "1 row ·" in shown["text/plain"]


def test_the_extension_costs_no_import() -> None:
    code = (
        "import sys, accelerator; assert callable(accelerator.load_ipython_extension);"
        "assert not {'IPython', 'accelerator.ipython', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
