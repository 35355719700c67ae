"""The shell's parts: its history, what it completes, its pager."""

from __future__ import annotations

import json
import signal
import sys
from types import SimpleNamespace

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from accelerator.cli import pager
from accelerator.cli.shell import history
from accelerator.cli.shell.completion import CompletionNames, Words
from accelerator.cli.shell.history import ShellHistory, history_file
from accelerator.cli.shell.shell import _without_vertical
from accelerator.cli.terminal import without_ctrl_c
from accelerator.errors import ConfigError
from rewrite.text.first_look import is_ended


def test_history_is_bounded_and_for_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "ENTRIES_MAX", 3)
    file = tmp_path / "state" / "accelerator" / "history.jsonl"
    kept = ShellHistory(file)
    for number in range(8):
        kept.store_string(f"SELECT {number};\n-- ü\u2028")
    kept.store_string(" SELECT 'secret'")
    kept.store_string("x" * 100_000)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    newest = [f"SELECT {number};\n-- ü\u2028" for number in (7, 6, 5)]
    assert list(ShellHistory(file).load_history_strings()) == newest
    assert len(file.read_text().splitlines()) == 3
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_history_that_others_have_written_does_no_harm(tmp_path):
    file = tmp_path / "history.jsonl"
    file.write_bytes(b'\xff\xfe\n{"a": 1}\n"SELECT 1;"\n[' + b"[" * 5000 + b"\n")
    assert list(ShellHistory(file).load_history_strings()) == ["SELECT 1;"]
    nowhere = ShellHistory(file / "below" / "a file")
    nowhere.store_string("SELECT 1;")
    assert list(nowhere.load_history_strings()) == []


def test_history_is_in_the_folder_for_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "accelerator" / "history.jsonl"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")  # the standard has it ignored
    monkeypatch.setenv("HOME", str(tmp_path))
    assert history_file() == tmp_path / ".local/state/accelerator/history.jsonl"


COLUMNS = {
    ("lake", "shop", "orders"): ["order_id", "Placed At", "evil\x1b"],
    ("lake", "shop", "stores"): ["store_id"],
    ("other", "d", "orders_old"): ["order_no"],
}


class Lake:
    """Catalogs of some tables; counts how often they are listed."""

    def __init__(self):
        self.listed, self.error = 0, None

    def tables(self):
        self.listed += 1
        if self.error is not None:
            raise self.error
        return iter(COLUMNS)

    def pin(self):
        return self

    def listing(self):
        return self

    def table(self, parts, at):
        if parts not in COLUMNS:
            return None
        columns = [SimpleNamespace(name=name, type="int") for name in COLUMNS[parts]]
        return SimpleNamespace(columns=columns)


@pytest.fixture
def lake():
    return Lake()


@pytest.fixture
def completed(lake):
    context = SimpleNamespace(catalog=lambda: "lake")
    session = SimpleNamespace(services=SimpleNamespace(lake=lake, context=context))
    words = Words(CompletionNames(lambda: session), [".help", ".tables"])

    def complete(text):
        found = words.get_completions(Document(text), CompleteEvent())
        return [text[: len(text) + one.start_position] + one.text for one in found]

    return complete


def test_tables_columns_and_keywords_are_completed(completed, lake):
    assert completed("SELECT * FROM shop.or") == ["SELECT * FROM shop.orders"]
    assert completed("SELECT * FROM ord")[:2] == [
        "SELECT * FROM shop.orders",
        "SELECT * FROM other.d.orders_old",
    ]
    assert "SELECT order_id" in completed("SELECT order_i")
    assert completed("SELECT o.order_i") == ["SELECT o.order_id"]
    assert completed("SELECT * FROM shop.orders WHERE `Pl") == [
        "SELECT * FROM shop.orders WHERE `Placed At`"
    ]
    assert "grou" not in completed("grou") and completed("grou")[0] == "group"
    assert completed("GROU") == ["GROUP"]
    assert "UNDROP" in completed("UND")
    assert completed(".t") == [".tables"]
    assert not any("\x1b" in one for one in completed("SELECT * FROM shop.orders WHERE e"))
    assert lake.listed == 1


def test_a_catalog_that_fails_leaves_the_keywords(completed, lake):
    lake.error = ConfigError("out of reach")
    assert completed("SELEC") == ["SELECT"]


def test_the_pager_gets_what_is_longer_than_the_screen(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("LINES", "10")
    script = "import sys; sys.stdout.write('paged:' + sys.stdin.read(12))"
    monkeypatch.setenv("PAGER", f"{sys.executable} -c {json.dumps(script)}")
    pager.page("short\x1b")
    assert capfd.readouterr().out == "short\\u001b\n"
    pager.page("a\x1b\n" * 100_000)
    assert capfd.readouterr().out == "paged:a\\u001b\na\\u0"
    for wrong in ("no-such-pager", "'", " "):
        monkeypatch.setenv("PAGER", wrong)
        monkeypatch.setenv("PATH", "")
        pager.page("a\n" * 20)
        assert capfd.readouterr().out == "a\n" * 20 + "\n"


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("", False),
        (";", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; -- done\n", True),
        ("SELECT 1; SELECT 2", False),
        ("SELECT ';", False),
        ("SELECT ';'", False),
        ("SELECT 1 /* ; */", False),
        ("BEGIN SELECT 1;", False),
        ("BEGIN SELECT 1; END;", True),
    ],
)
def test_enter_sends_what_a_semicolon_ends(text, ended):
    assert is_ended(text) is ended


def test_around_the_prompt_ctrl_c_has_nothing_to_stop():
    """It would hit what asyncio begins or ends a prompt with, and leave half of it."""
    before = signal.getsignal(signal.SIGINT)
    with without_ctrl_c():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("typed", "statements", "vertical"),
    [
        (r"SELECT 1\G", "SELECT 1;", True),
        (r"SELECT 1; SELECT 2 \G", "SELECT 1; SELECT 2 ;", True),
        ("SELECT 1;", "SELECT 1;", False),
        (r"SELECT 1 -- \G", r"SELECT 1 -- \G", False),
        (r"SELECT '\G", r"SELECT '\G", False),
        (r"SELECT 1\g", r"SELECT 1\g", False),
        (r"SELECT 1\G;", r"SELECT 1\G;", False),
    ],
)
def test_a_backslash_and_g_end_a_statement_whose_rows_are_shown_vertically(
    typed, statements, vertical
):
    assert _without_vertical(typed) == (statements, vertical)
