"""What the demo prints at its end: a table that fits in 80 columns, and commands that are right."""

from __future__ import annotations

import io
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from accelerator.cli.main import main
from bench import demo

QUERY = {
    "name": "Q1.1",
    "plain_ms": 11_049.4,
    "accelerated_ms": 127.8,
    "equal": True,
    "engine": "duckdb",
    "cube": "ssb_discounts",
    "bytes_read": 1_192_251,
}


def test_nothing_is_cut_in_a_terminal_of_80_columns(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=80)
    demo._show(console, {"queries": [QUERY], "geomean_speedup": 86.5}, tmp_path)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "1.19 MB" in text and "ssb_discounts" in text and "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines()[:6])


def test_the_next_steps_are_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    title, *lines = demo._next_steps(tmp_path / "a folder").splitlines()
    assert title == "Try next:" and len(lines) == 3
    for line in lines:
        program, *words = shlex.split(line)
        assert Path(program).name == "accelerator" and "a folder" in words
        ran = CliRunner().invoke(main, [*words, "--help"])
        assert ran.exit_code == 0 and ran.stdout.startswith(f"Usage: main {words[0]} ")
