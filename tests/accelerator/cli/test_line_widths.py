"""Lists, help and the shell's lines fit into a terminal of 80 columns: the real command line."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import accelerator
from accelerator.cli.main import main
from accelerator.query.statements.catalog import FORMS
from tests.support.typos import warehouse

pytestmark = pytest.mark.served
_HOUSE = Path(__file__).parents[3]
_WIDTH = 80
_CODES = re.compile(r"\x1b\[[0-9;?>]*[A-Za-z]|\x1b[=>]|\x1b\][^\x07]*\x07|\x07")
_NAMES = ("sales_by_store", "another_name_of_the_kind")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = warehouse(tmp_path_factory.mktemp("widths") / "warehouse")
    with accelerator.open(found) as session:
        for name in _NAMES:
            session.query(
                f"CREATE CUBE {name} AS SELECT store, count(*) FROM shop.sales GROUP BY 1"
            )
        session.query("CREATE INDEX region_tokens ON shop.sales USING TOKEN_BLOOM (region)")
        for _ in range(3):
            session.query("SELECT region, sum(amount) AS s FROM shop.sales GROUP BY region")
        session.query("BUILD STATISTICS ON shop.sales")
        session.query("DROP CUBE another_name_of_the_kind")
        session.query("ANALYZE WORKLOAD")
    return found


def _lines(*words: str, typed: str = "") -> list[str]:
    """Returns the lines that the command shows on a terminal of 80 columns."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, _WIDTH, 0, 0))
    given = {"COLUMNS": str(_WIDTH), "LINES": "24", "PAGER": "cat", "TERM": "xterm"}
    search = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), str(_HOUSE)]))
    process = subprocess.Popen(
        [sys.executable, "-m", "accelerator", *words],
        stdin=there,
        stdout=there,
        stderr=there,
        env={**os.environ, **given, "PYTHONPATH": search, "JAVA_HOME": "/nonexistent"},
        start_new_session=True,
    )
    os.close(there)
    os.write(here, typed.encode())
    shown = b""
    while True:
        try:
            part = os.read(here, 65536)
        except OSError:  # the process has ended
            break
        if not part:
            break
        shown += part
    os.close(here)
    assert process.wait(timeout=60) == 0, shown.decode()
    text = _CODES.sub("", shown.decode()).replace("\r\n", "\n")
    return [line for one in text.split("\n") for line in one.split("\r")]


def _too_wide(lines: list[str]) -> list[str]:
    assert any(lines)
    return [line for line in lines if len(line) > _WIDTH]


_SHOWN = [form.words for form in FORMS if form.words.startswith("SHOW ")]


@pytest.mark.parametrize("words", _SHOWN)
def test_lists_fit(folder: Path, words: str) -> None:
    on = " ON shop.sales" if words in ("SHOW COVERAGE", "SHOW STATISTICS") else ""
    lines = _lines("sql", "--warehouse", str(folder), f"{words}{on}")
    assert not _too_wide(lines)


def test_the_useful_columns_of_cubes_stay(folder: Path) -> None:
    lines = _lines("show", "cubes", "--warehouse", str(folder))
    names = next(line for line in lines if "│" in line)
    for name in ("cube", "status", "files_covered", "bytes", "hits"):
        assert f" {name} " in names
    assert "last_error" not in names
    assert any(line.startswith("not shown: ") for line in lines)


@pytest.mark.parametrize("command", ["", *sorted(main.commands)])
def test_help_fits(command: str) -> None:
    lines = _lines(*command.split(), "--help")
    assert not _too_wide(lines)
    cut = [line for line in lines if re.search(r"\w(\.\.\.|…)$", line)]
    assert not [line for line in cut if not line.startswith("Usage: ")]


def test_the_banner_and_the_shells_lines_fit(folder: Path) -> None:
    typed = ".help\n.tables\n.schema shop.sales\nSHOW CUBES;\nSHOW INDEXES;\n.quit\n"
    lines = _lines("shell", "--warehouse", str(folder), typed=typed)
    assert any(line.startswith("accelerator ") for line in lines)
    assert not _too_wide(lines)
