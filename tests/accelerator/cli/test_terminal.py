"""The command in a pseudo-terminal of 80 columns, and where its output can't be written.

`UPDATE_DOCS=1` writes the golden files anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import ipc
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from tests.support.terminal import HOUSE, Terminal

pytestmark = pytest.mark.served

GOLDEN = Path(__file__).parents[1] / "golden"
ENDLESS = """\
#!/bin/sh
echo '{said}' >&2
exec {command}
"""
HOSTILE = "\u202eright\u200f\u2028end"
TOTALS = "SELECT store, sum(amount) AS total FROM shop.sales GROUP BY store"
SHELL = """\
import sys, threading
from accelerator.cli.shell.shell import run_shell
from accelerator.errors import ConfigError

class Session:
    activity = ""

    def query(self, sql, *, timeout_s=None):
        print("asked", sql, timeout_s, flush=True)
        threading.Event().wait()

    def close(self):
        print("closed")

def opened():
    if "broken" in sys.argv:
        raise ConfigError("no such place", hint="look elsewhere")
    return Session()

sys.exit(run_shell(opened, 7.0))
"""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    """shop.sales with the cube of its totals, a wide table, and one of hostile texts."""
    folder = tmp_path_factory.mktemp("shop")
    uri = f"sqlite:///{folder}/catalog.db"
    (folder / "catalog.db").touch()
    catalog = SqlCatalog("lake", uri=uri, warehouse=folder.as_uri())
    catalog.create_namespace("shop")
    tables = {
        "sales": pa.table({"store": [1, 2, 2], "amount": [5, 7, 9]}),
        "wide": pa.table({f"a_long_column_{number}": [number] for number in range(17)}),
        "texts": pa.table(
            {"a": ["x" * 3000, "\u202eright\u200f\u2028end"], "b": [None, "\x1b[2J"]}
        ),
    }
    for name, rows in tables.items():
        catalog.create_table(f"shop.{name}", rows.schema).append(rows)
    catalog.engine.dispose()
    with accelerator.open(folder) as acc:
        acc.query(f"CREATE CUBE totals AS {TOTALS}")
    return folder


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("wide", "SELECT * FROM shop.wide"),
        ("texts", "SELECT a, b FROM shop.texts ORDER BY a DESC"),
        (
            "cube",
            "SELECT store, sum(amount) AS total FROM shop.sales GROUP BY store ORDER BY store",
        ),
    ],
)
def test_a_table_is_as_wide_as_the_terminal(warehouse, tmp_path, name, sql):
    with Terminal(["sql", "--warehouse", str(warehouse), sql], cwd=tmp_path) as terminal:
        assert terminal.end() == 0
    shown = terminal.text.splitlines()
    footer = shown.pop()
    assert " ms · duckdb" in footer
    assert max(map(len, shown)) <= 80
    assert not set("\x1b\u202e\u200f\u2028") & set("".join(shown))
    drawn = "".join(f"{line.rstrip()}\n" for line in shown)
    golden = GOLDEN / f"terminal_{name}.txt"
    if os.environ.get("UPDATE_DOCS"):
        golden.write_text(drawn, encoding="utf-8")
    assert drawn == golden.read_text(encoding="utf-8")
    assert not list(tmp_path.iterdir())


def test_a_session_in_the_shell(warehouse, tmp_path):
    with Terminal(["--warehouse", str(warehouse)], cwd=tmp_path) as terminal:
        terminal.expect("accelerator>")
        terminal.type("SELECT store, sum(amount) AS total\rFROM shop.sales GROUP BY store;\r")
        terminal.expect("│     2 │    16 │")
        terminal.expect("duckdb · cube totals")
        terminal.expect("accelerator>")
        terminal.type("SELECT count(*) AS n FROM shop.sa\t")
        terminal.expect("les")  # completed
        terminal.type(";\r")
        terminal.expect("│     3 │")
        terminal.type("SELECT 'half\r\x03")  # left by Ctrl-C
        terminal.type(".schema shop.sales\r")
        terminal.expect("│ amount  │ bigint  │")
        terminal.expect("accelerator>")
        terminal.type(".schema shop.nothing\r")
        terminal.expect("hint: Spark may know it")
        terminal.expect("accelerator>")
        terminal.type(".tables wi\r")
        terminal.expect("│ shop.wide │")
        terminal.expect("accelerator>")
        terminal.type(".format arrow\r")
        terminal.expect("error [output_failed]: arrow is no text")
        terminal.expect("accelerator>")
        terminal.type(".format csv\r")
        terminal.expect("accelerator>")
        terminal.type("SELECT store, amount FROM shop.sales WHERE store = 1;\r")
        terminal.expect('"store","amount"\n1,5')
        terminal.expect("accelerator>")
        terminal.type(".sql\r")
        terminal.expect("there is no command .sql")
        terminal.expect("accelerator>")
        terminal.type("\x04")
        assert terminal.end() == 0
    assert "Traceback" not in terminal.text
    history = tmp_path / "state" / "accelerator" / "history.jsonl"
    assert history.stat().st_mode & 0o777 == 0o600
    assert '"SELECT count(*) AS n FROM shop.sales;"\n' in history.read_text()
    assert [one.name for one in tmp_path.iterdir()] == ["state"]


def test_ctrl_c_stops_a_statement_and_stays(tmp_path):
    script = [sys.executable, "-c", SHELL]
    with Terminal([], cwd=tmp_path, command=script, environment={"PYTHONPATH": str(HOUSE)}) as one:
        one.expect("accelerator>")
        for number in range(2):
            one.type(f"SELECT {number};\r")
            one.expect(f"asked SELECT {number} 7.0")
            one.type("\x03")
            one.expect("cancelled")
            one.expect("accelerator>")
        one.type(".timeout 3\r")
        one.expect("accelerator>")
        one.type("SELECT 2;\r")
        one.expect("asked SELECT 2 3.0")
        one.type("\x03")
        one.expect("accelerator>")
        one.type("quit\r")
        assert one.end() == 0
    assert one.text.rstrip().endswith("closed")


def test_a_warehouse_that_cannot_be_opened_ends_the_shell(tmp_path):
    script = [sys.executable, "-c", SHELL, "broken"]
    with Terminal([], cwd=tmp_path, command=script, environment={"PYTHONPATH": str(HOUSE)}) as one:
        assert one.end() == 1
    assert "error [config_invalid]: no such place\nhint: look elsewhere" in one.text


def test_bytes_are_not_written_to_a_terminal(warehouse, tmp_path):
    words = [
        "sql",
        "--warehouse",
        str(warehouse),
        "SELECT * FROM shop.sales",
        "--format",
        "parquet",
    ]
    with Terminal(words, cwd=tmp_path) as terminal:
        assert terminal.end() == 1
    assert "error [output_failed]: parquet is no text, and standard output is a terminal" in (
        terminal.text
    )
    assert "PAR1" not in terminal.text


def fake_spark(folder: Path, said: str, command: str) -> dict[str, str]:
    """A Spark whose JVM says that, and then does that."""
    for path, text in (
        (folder / "spark" / "bin" / "spark-submit", ENDLESS.format(said=said, command=command)),
        (folder / "java" / "bin" / "java", "#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n"),
    ):
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
    return {"SPARK_HOME": str(folder / "spark"), "JAVA_HOME": str(folder / "java")}


def test_ctrl_c_waits_for_no_start_of_spark(warehouse, tmp_path):
    """One that never comes; it ends when we do, since its standard input does."""
    environment = fake_spark(tmp_path, "said by the JVM", "cat")
    work = tmp_path / "work"
    work.mkdir()
    words = ["--warehouse", str(warehouse)]
    with Terminal(words, cwd=work, environment=environment) as terminal:
        terminal.expect("accelerator>")
        for _ in range(2):  # the second statement waits for the same start
            terminal.type("SELECT 1 LIMIT 1;\r")
            terminal.expect("starting Spark …")
            terminal.type("\x03")
            terminal.expect("cancelled")
            terminal.expect("accelerator>")
        terminal.type("SELECT count(*) AS n FROM shop.sales;\r")  # which needs none
        terminal.expect("│     3 │")
        terminal.expect("accelerator>")
        terminal.type("\x04")
        assert terminal.end() == 0
    assert "said by the JVM" not in terminal.text
    with Terminal(
        ["sql", *words, "SELECT 1 LIMIT 1"], cwd=work, environment=environment
    ) as terminal:
        terminal.expect("starting Spark …")
        terminal.type("\x03")
        terminal.expect("cancelled")
        assert terminal.end() in (130, -2)  # where an import was interrupted Python says it so
    assert "Traceback" not in terminal.text
    assert [one.name for one in work.iterdir()] == ["state"]


def test_a_start_that_fails_tells_the_last_words(warehouse, tmp_path):
    environment = fake_spark(tmp_path, "no such jar: pw=hunter2hunter2", "false")
    statement = ["sql", "--warehouse", str(warehouse), "SELECT 1 LIMIT 1"]
    environment["ACCELERATOR_SPARK_CONF"] = '{"spark.a.password": "hunter2hunter2"}'
    quiet, shown = (ran([*statement, *more], tmp_path, environment) for more in ([], ["-v"]))
    assert quiet.returncode == shown.returncode == 1
    assert quiet.stderr.startswith("error [engine_failed]: Spark can't be started: ")
    assert "hint: its last words:\nno such jar: pw=***\n" in quiet.stderr
    assert shown.stderr.startswith("no such jar: ")
    assert "its own messages stand above" in shown.stderr


def ran(words, cwd, environment=None, **more):
    """The command, no terminal about."""
    environ = {**os.environ, **(environment or {}), "PYTHONPATH": str(HOUSE)}
    return subprocess.run(
        [sys.executable, "-m", "accelerator", *words],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
        **({"stdout": subprocess.PIPE} | more),
    )


def test_rows_come_through_a_pipe_as_they_are(warehouse, tmp_path):
    words = ["sql", "--warehouse", str(warehouse), "SELECT * FROM shop.sales ORDER BY amount"]
    with (tmp_path / "rows").open("wb") as file:
        done = ran([*words, "--format", "arrow"], tmp_path, stdout=file)
    assert (done.returncode, done.stderr) == (0, "")
    with ipc.open_stream(tmp_path / "rows") as reader:
        assert reader.read_all().to_pydict() == {"store": [1, 2, 2], "amount": [5, 7, 9]}


UNWRITABLE = "error [output_failed]: standard output can't be written: "


@pytest.mark.parametrize("words", [["--help"], ["sql", "--help"], ["--version"]])
def test_help_onto_a_full_disk_is_one_line(tmp_path, words):
    with Path("/dev/full").open("wb") as full:
        done = ran(words, tmp_path, stdout=full)
    assert (done.returncode, done.stderr) == (1, f"{UNWRITABLE}No space left on device\n")


@pytest.mark.parametrize("name", ["table", "csv", "parquet"])
def test_rows_onto_a_full_disk_a_closed_output_and_a_reader_that_goes(warehouse, tmp_path, name):
    """Each by what a shell would do, in one process after the other."""
    command = f"{sys.executable} -m accelerator sql --warehouse {warehouse} --format {name}"
    sql = "SELECT * FROM shop.wide"
    ends = {"> /dev/full": "No space left on device", ">&-": "it is closed"}
    for end, why in ends.items():
        done = in_shell(f"{command} '{sql}' {end}", tmp_path)
        assert (done.returncode, done.stderr) == (1, f"{UNWRITABLE}{why}\n"), end
    piped = in_shell(
        f"exec 3> >(sleep 0); wait $!; {command} '{sql}' >&3", tmp_path
    )  # nobody reads any more
    assert (piped.returncode, piped.stderr) == (141, "")


def in_shell(text, cwd):
    return subprocess.run(
        ["bash", "-c", text],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(HOUSE)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
