"""Trino's command line client against a gateway: what it prints, where it points, how it stops."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from tests.gateway.clients.conftest import PASSWORD, Guarded
from tests.gateway.clients.downloads import tool, trino_cli
from tests.gateway.clients.typed_lake import CITIES, LARGE_ROWS

pytestmark = pytest.mark.slow

_SQL = "SELECT id, city, price, day, at FROM sales WHERE id < 3 ORDER BY id"
_LIMIT_S = 60
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[=>])")


def _command(url: str, *more: str) -> list[str]:
    where = ["--server", url, "--user", "ann", "--catalog", "lake", "--schema", "shop"]
    return [tool("java", "trino-cli"), "-jar", str(trino_cli()), *where, *more]


def _run(url: str, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _command(url, *more),
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_formats(open_gateway: str) -> None:
    """Every format has the rows; machines' ones are read back."""
    formats = ("ALIGNED", "VERTICAL", "TSV", "TSV_HEADER", "CSV", "CSV_HEADER", "CSV_UNQUOTED")
    for format in (*formats, "CSV_HEADER_UNQUOTED", "JSON", "MARKDOWN", "AUTO", "NULL"):
        found = _run(open_gateway, "--output-format", format, "--execute", _SQL)
        assert found.returncode == 0, found.stderr
        shown = [city in found.stdout for city in (CITIES[0], CITIES[2])]
        assert shown == [format != "NULL"] * 2, format
    rows = [json.loads(line) for line in _run_json(open_gateway, _SQL).splitlines()]
    assert [row["id"] for row in rows] == [0, 1, 2]
    assert rows[1]["price"] == "47.29"
    text = _run(open_gateway, "--output-format", "CSV_HEADER", "--execute", _SQL).stdout
    assert [row["city"] for row in csv.DictReader(io.StringIO(text))] == [
        CITIES[at * 7919 % 4] for at in range(3)
    ]


def _run_json(url: str, sql: str) -> str:
    return _run(url, "--output-format", "JSON", "--execute", sql).stdout


def test_every_type(open_gateway: str) -> None:
    """Types that need no Spark, as the client prints them."""
    sql = "SELECT truth, large, twice, exact, words, day, local, moment, raw FROM kinds"
    found = json.loads(_run_json(open_gateway, f"{sql} WHERE id = 0"))
    assert found["large"] == 2**63 - 1
    assert found["exact"] == "1234567890123456789012345678.0123456789"
    assert found["moment"] == "2024-02-29 23:59:59.123456 UTC"
    assert found["words"].startswith("Grüße, 世界 🙂")
    found = json.loads(_run_json(open_gateway, f"{sql} WHERE id = 2"))
    assert (found["twice"], found["day"]) == ("NaN", "9999-12-31")


def test_many_rows(open_gateway: str) -> None:
    """All pages come."""
    found = _run(open_gateway, "--output-format", "TSV", "--execute", "SELECT id FROM sales")
    assert sorted(map(int, found.stdout.split())) == list(range(LARGE_ROWS))


def test_file_and_statements(open_gateway: str, tmp_path: Path) -> None:
    """Several statements come one after the other; what they set holds for the next."""
    file = tmp_path / "statements.sql"
    file.write_text("USE lake.other;\n-- none; here\nSELECT current_schema;\nSELECT 'a;b' AS c;\n")
    found = _run(open_gateway, "--file", str(file), "--output-format", "CSV_UNQUOTED")
    assert found.returncode == 0
    assert found.stdout.split() == ["USE", "other", "a;b"] or "other\na;b" in found.stdout
    sql = "SET SESSION result_cache = false; SHOW SESSION LIKE 'result%'"
    assert '"result_cache","false"' in _run(open_gateway, "--execute", sql).stdout
    given = _run(
        open_gateway, "--session", "result_cache=false", "--execute", "SHOW SESSION LIKE 'result%'"
    )
    assert '"result_cache","false"' in given.stdout
    zone = _run(
        open_gateway, "--timezone", "Asia/Kathmandu", "--execute", "SELECT current_timezone()"
    )
    assert zone.stdout.strip() == '"Asia/Kathmandu"'


def test_errors(open_gateway: str) -> None:
    """A caret stands below the name that isn't known, and what follows isn't run."""
    found = _run(open_gateway, "--execute", "SELECT 1; SELECT id,\n  nope FROM sales; SELECT 3")
    assert found.returncode == 1
    assert found.stdout.strip() == '"1"'
    lines = found.stderr.splitlines()
    (place,) = (at for at, line in enumerate(lines) if line.startswith("LINE 2:"))
    assert lines[place].index("nope") == lines[place + 1].index("^")
    refused = _run(open_gateway, "--execute", "INSERT INTO sales VALUES (1)")
    assert refused.returncode == 1 and "INSERT isn't supported" in refused.stderr


def test_progress(open_gateway: str) -> None:
    """The client's figures are those of the statement."""
    found = _run(open_gateway, "--progress", "--execute", "SELECT count(*) FROM sales")
    assert "FINISHED" in found.stderr and "100.00%" in found.stderr


def test_password(guarded: Guarded) -> None:
    """By TLS and a password; a wrong one isn't answered."""
    trust = ["--truststore-path", str(guarded.certificate), "--password"]
    sql = ["--execute", "SELECT current_user"]
    found = _run(guarded.url, *trust, *sql, TRINO_PASSWORD=PASSWORD)
    assert found.stdout.strip() == '"ann"', found.stderr
    wrong = _run(guarded.url, *trust, *sql, TRINO_PASSWORD="nope")
    assert wrong.returncode == 1 and "Authentication failed" in wrong.stderr
    stranger = _run(guarded.url, "--password", *sql, TRINO_PASSWORD=PASSWORD)
    assert stranger.returncode == 1  # the certificate isn't trusted


class _Terminal:
    """The client in a terminal."""

    def __init__(self, command: list[str]) -> None:
        self.pid, self._file = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(command[0], command)
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self.seen = ""

    def read_until(self, text: str) -> None:
        """Waits for a text, whatever its colours are; `seen` is what came up to then."""
        end = time.monotonic() + _LIMIT_S
        while text not in self.seen:
            assert time.monotonic() < end, self.seen[-2000:]
            if select.select([self._file], [], [], 0.2)[0]:
                read = os.read(self._file, 65536).decode("utf-8", "replace")
                self.seen = _ESCAPES.sub("", self.seen + read)

    def write(self, text: str) -> None:
        """Types it; what was seen before is forgotten."""
        self.seen = ""
        os.write(self._file, text.encode())

    def close(self) -> None:
        """Ends it."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._file)


def test_interactive(open_gateway: str) -> None:
    """A prompt, an answer, a Ctrl-C within a long one, and the next answer."""
    terminal = _Terminal(_command(open_gateway, "--pager", "cat"))
    try:
        terminal.read_until("trino:shop>")
        terminal.write("SELECT 41 + 1 AS answer;\r")
        terminal.read_until("(1 row)")
        assert "42" in terminal.seen
        many = " CROSS JOIN ".join(f"sales s{at}" for at in range(3))
        terminal.write(f"SELECT s0.id, s1.id, s2.id FROM {many};\r")
        terminal.read_until("s2.id")
        terminal.write("\x03")
        terminal.read_until("trino:shop>")
        terminal.write("SELECT 'next' AS one;\r")
        terminal.read_until("(1 row)")
        terminal.write("quit\r")
    finally:
        terminal.close()
