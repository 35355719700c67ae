"""The command line over a session that stands in for the real one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from pyarrow import csv, ipc, parquet

from accelerator.cli.main import main
from accelerator.cli.session import _java_message
from accelerator.common.display import footer, json_value, text_value, type_name
from accelerator.common.statement_metrics import Metrics
from accelerator.errors import (
    AcceleratorError,
    CancelledError,
    CubeNotFoundError,
    StatementTimeoutError,
)
from accelerator.services.statistics.build import BuiltStatistics
from accelerator.services.verification.compare import Verification

HOME = Path(__file__).parents[3]
ROWS = pa.table(
    {
        "region": ["ASIA", None, "[red]x[/red]"],
        "revenue": pa.array([Decimal("1.50"), Decimal("20.00"), None], pa.decimal128(12, 2)),
    }
)
METRICS = Metrics(
    rewritten=True, cubes=("sales",), engine="duckdb", planning_ms=0.5, execution_ms=2
)
EQUAL = Verification(True, True, 3, (), 2.5, 900.0, None)


class Answer:
    def __init__(self, table=ROWS, metrics=METRICS):
        self.table, self.metrics = table, metrics

    def arrow(self):
        return self.table


class Fake:
    """Keeps what it was asked; `answers` gives other answers by the statement's beginning."""

    def __init__(self, **answers):
        self.asked, self.answers, self.timeouts = [], answers, []
        self.cancelled = self.closed = False
        self.verification = EQUAL
        self.error = None

    def __call__(self, warehouse, config, create):
        self.opened = (warehouse, config, create)
        return self

    def query(self, sql, *, timeout_s=None):
        self.asked.append(sql)
        self.timeouts.append(timeout_s)
        if self.error is not None:
            raise self.error
        found = [table for start, table in self.answers.items() if sql.startswith(start)]
        return Answer(*found)

    activity = ""

    def stream(self, sql, *, timeout_s=None):
        table = self.query(sql, timeout_s=timeout_s).arrow()

        def batches():
            yield from table.to_batches(max_chunksize=1)
            if "broken" in sql:
                raise AcceleratorError("cut", hint="mend it")

        return pa.RecordBatchReader.from_batches(table.schema, batches())

    def explain(self, sql, *, format="text", analyze=False):
        return f"{format}: {sql}"

    def why_not(self, sql):
        return [
            {
                "cube": "c",
                "code": "fact_not_in_query",
                "reason": "Not there.",
                "nearest": True,
                "ddl": "CREATE CUBE d",
                "cost": "little",
            },
            {
                "cube": None,
                "code": "cubes_none",
                "reason": "None.",
                "nearest": False,
                "ddl": None,
                "cost": None,
            },
        ]

    def verify(self, sql):
        return self.verification

    def build_statistics(self, table, *, columns=(), progress=None):
        self.asked.append((table, columns))
        progress.start(1, "statistics")
        progress.advance()
        return BuiltStatistics("lake.d.t", 7, "whole", ["a"], files_read=1, notes=["l: not that"])

    def build_index(self, name, *, progress):
        self.asked.append(f"build index {name}")
        progress.start(1, f"building {name}")

    def build(self, name, *, progress):
        self.asked.append(f"build {name}")
        progress.start(2, f"building {name}")
        if self.error is not None:
            raise self.error
        progress.advance(2)

    def cancel(self):
        self.cancelled = True

    def close(self):
        self.closed = True


def run(fake, *arguments, **options):
    return CliRunner().invoke(main, list(arguments), obj=fake, **options)


def test_a_table_for_people():
    fake = Fake()
    found = run(fake, "sql", "SELECT 1;", "--warehouse", "wh", "--config", "c.toml")
    assert found.exit_code == 0, found.output
    assert (fake.opened, fake.asked, fake.closed) == (("wh", "c.toml", False), ["SELECT 1"], True)
    lines = [line.rstrip() for line in found.stdout.splitlines()]
    assert lines == [
        "┌──────────────┬───────────────┐",
        "│    region    │    revenue    │",
        "│   varchar    │ decimal(12,2) │",
        "├──────────────┼───────────────┤",
        "│ ASIA         │          1.50 │",
        "│ NULL         │         20.00 │",
        "│ [red]x[/red] │          NULL │",
        "└──────────────┴───────────────┘",
    ]
    assert found.stderr == "3 rows · 2.5 ms · duckdb · cube sales\n"


def test_one_json_document():
    found = run(Fake(), "sql", "SELECT 1", "--json")
    assert found.stderr == ""
    document = json.loads(found.stdout)
    assert document["columns"] == [
        {"name": "region", "type": "string"},
        {"name": "revenue", "type": "decimal(12,2)"},
    ]
    assert document["rows"] == [["ASIA", "1.50"], [None, "20.00"], ["[red]x[/red]", None]]
    assert document["metrics"]["cubes"] == ["sales"]
    both = run(Fake(), "sql", "--json", "SELECT 1; SELECT 2")
    assert len(json.loads(both.stdout)) == 2


def test_nothing_that_is_printed_moves_the_cursor_and_json_is_whole():
    hostile = "a\x1b[2J\x9b1m\u202eb\x00\x7f"
    shown = r"a\u001b[2J\u009b1m\u202eb\u0000\u007f"
    rows = pa.table({hostile: [hostile]})
    for more in ([], ["--json"]):
        found = run(Fake(SELECT=rows), "sql", "SELECT 1", *more)
        assert found.stdout.count(shown) == 2  # the name and the value
        assert not set("\x1b\x9b\u202e\x00\x7f") & set(found.output)
    assert json.loads(found.stdout)["rows"] == [[hostile]]
    fake = Fake()
    fake.error = CubeNotFoundError(hostile, hint=hostile)
    found = run(fake, "sql", "SELECT 1")
    assert found.stderr == f"error [cube_not_found]: {shown}\nhint: {shown}\n"


def test_long_answers_are_cut_and_say_so():
    found = run(Fake(), "sql", "SELECT 1", "--rows", "1")
    assert "20.00" not in found.stdout
    assert "2 more rows: --rows 0 shows all" in found.stderr
    assert found.stderr.endswith("3 rows · 2.5 ms · duckdb · cube sales\n")
    assert "20.00" in run(Fake(), "sql", "SELECT 1", "--rows", "0").stdout
    assert (
        len(json.loads(run(Fake(), "sql", "SELECT 1", "--rows", "1", "--json").stdout)["rows"]) == 3
    )


def test_a_wide_answer_is_not_cut_where_there_is_no_terminal():
    wide = pa.table({f"column_{i}": ["x" * 50] for i in range(20)})
    lines = run(Fake(SELECT=wide), "sql", "SELECT 1").stdout.splitlines()
    assert len(lines) == 6
    assert lines[4].count("x" * 50) == 20


def test_sql_comes_from_a_file_or_standard_input(tmp_path):
    file = tmp_path / "q.sql"
    file.write_text("SELECT ';é'; -- one\nSELECT 2;\n", encoding="utf-8")
    fake = Fake()
    assert run(fake, "sql", "-f", str(file)).exit_code == 0
    assert run(fake, "sql", input="SELECT 3").exit_code == 0
    assert run(fake, "sql", "-f", "-", input="SELECT 4").exit_code == 0
    assert fake.asked == ["SELECT ';é'", "-- one\nSELECT 2", "SELECT 3", "SELECT 4"]


def test_a_timeout_holds_for_each_statement():
    fake = Fake()
    assert run(fake, "sql", "--timeout", "2.5", "SELECT 1; SELECT 2").exit_code == 0
    assert run(fake, "sql", "SELECT 3").exit_code == 0
    assert fake.timeouts == [2.5, 2.5, None]
    assert run(fake, "sql", "--timeout", "-1", "SELECT 1").exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["sql", "SELECT 1", "-f", "-"],
        ["sql", " ; -- nothing"],
        ["explain", "SELECT 1; SELECT 2"],
        ["sql", "-f", "no such file"],
        ["build"],
        ["compact"],
        ["vacuum"],
        ["undrop"],
        ["show", "tables"],
        ["nope"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments):
    fake = Fake()
    assert run(fake, *arguments).exit_code == 2
    assert not fake.asked


def test_a_statement_whose_time_is_up_is_an_error():
    """Nobody has cancelled it."""
    fake = Fake()
    fake.error = StatementTimeoutError("longer than 3 s", hint="timeout_s says how long")
    found = run(fake, "sql", "SELECT 1")
    assert found.exit_code == 1
    assert found.stderr.splitlines() == [
        "error [statement_timeout]: longer than 3 s",
        "hint: timeout_s says how long",
    ]


def test_an_error_has_its_code_and_hint_and_leaves_by_1():
    fake = Fake()
    fake.error = CubeNotFoundError("no cube named x", hint="cubes here: sales")
    for arguments in (["sql", "BUILD CUBE x"], ["build", "x"]):
        found = run(fake, *arguments)
        assert found.exit_code == 1
        assert found.stdout == ""
        assert "error [cube_not_found]: no cube named x\nhint: cubes here: sales\n" in found.stderr
        assert fake.closed


@pytest.mark.parametrize("more", [["--json"], ["--format", "json"]])
def test_an_error_is_the_json_document_where_one_was_asked_for(more):
    fake = Fake()
    fake.error = CubeNotFoundError("no cube named x", hint="cubes here: sales")
    found = run(fake, "sql", "SELECT 1; SELECT 2", *more)
    assert (found.exit_code, found.stderr) == (1, "")
    assert json.loads(found.stdout) == {
        "error": {
            "code": "cube_not_found",
            "message": "no cube named x",
            "hint": "cubes here: sales",
        }
    }
    fake.error = CancelledError("cancelled")
    found = run(fake, "sql", "SELECT 1", *more)
    assert (found.exit_code, json.loads(found.stdout)["error"]["code"]) == (130, "cancelled")


EVERY = pa.table(
    {
        "i": [1, None],
        "t": ["", None],
        "d": pa.array([Decimal("1.50"), None]),
        "b": [b"\x00\xff", None],
        "l": [[1, None], None],
        "s": [{"x": "\u202e"}, None],
        "at": [datetime(2024, 1, 2, 3), None],
        "n": pa.nulls(2),
    }
)


@pytest.mark.parametrize("name", ["csv", "arrow", "parquet"])
def test_rows_of_every_type_in_a_format(name, tmp_path):
    fake = Fake(SELECT=EVERY)
    found = run(fake, "sql", "SELECT 1", "--format", name, "--timeout", "3")
    assert (found.exit_code, found.stderr, fake.timeouts) == (0, "", [3.0])
    data = found.stdout_bytes
    if name == "csv":
        assert data.decode().splitlines() == [
            '"i","t","d","b","l","s","at","n"',
            '1,"","1.50","00ff","[1, null]","{""x"": ""\u202e""}",2024-01-02 03:00:00.000000,',
            ",,,,,,,",
        ]
        return
    source = pa.BufferReader(data)
    read = parquet.read_table(source) if name == "parquet" else ipc.open_stream(source).read_all()
    assert read.to_pydict() == EVERY.to_pydict()


def test_formats_of_several_statements():
    both = run(Fake(SELECT=pa.table({"a": [1]})), "sql", "SELECT 1; SELECT 2", "--format", "csv")
    assert both.stdout == '"a"\n1\n"a"\n1\n'
    rows = pa.table({"a": [1, None]})
    found = run(Fake(SELECT=rows), "sql", "SELECT 1", "--format", "vertical", "--rows", "1")
    assert found.stdout == "row 1\n  a  1\n" and "1 more rows" in found.stderr
    for name in ("arrow", "parquet"):
        fake = Fake()
        found = run(fake, "sql", "SELECT 1; SELECT 2", "--format", name)
        assert (found.exit_code, fake.asked) == (2, [])
    nothing = run(Fake(DROP=pa.table({})), "sql", "DROP TABLE t", "--format", "parquet")
    assert (nothing.exit_code, nothing.stdout) == (0, "")


def test_rows_that_end_early_are_an_error_in_every_format():
    for name in ("csv", "arrow", "parquet"):
        found = run(Fake(), "sql", "SELECT broken", "--format", name)
        assert (found.exit_code, found.stderr) == (1, "error [error]: cut\nhint: mend it\n")


def test_statements_come_through_a_pipe_without_a_command():
    fake = Fake()
    found = run(fake, "--warehouse", "wh", input="SELECT 1; SELECT 2")
    assert (found.exit_code, fake.asked) == (0, ["SELECT 1", "SELECT 2"])
    assert fake.opened == ("wh", None, False)
    nothing = run(fake, input=" -- nothing")
    assert nothing.exit_code == 2 and nothing.stdout.startswith("Usage: ")


def test_verbose_shows_what_spark_says(monkeypatch):
    opened = []

    def opener(*given, **settings):
        opened.append(settings)
        return Fake()

    monkeypatch.setattr("accelerator.cli.options.open_session", opener)
    for more in ([], ["-v"]):
        assert run(None, "sql", "SELECT 1", "--warehouse", "wh", *more).exit_code == 0
    assert opened == [{}, {"spark_output": "shown"}]


def test_a_script_ends_at_its_first_failure():
    fake = Fake()
    fake.error = CubeNotFoundError("no cube named x")
    assert run(fake, "sql", "DROP CUBE x; SELECT 1").exit_code == 1
    assert fake.asked == ["DROP CUBE x"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), CancelledError("cancelled")])
def test_ctrl_c_cancels_and_leaves_by_130(error):
    fake = Fake()
    fake.error = error
    found = run(fake, "build", "sales")
    assert (found.exit_code, fake.cancelled, fake.closed) == (130, True, True)
    assert found.stderr.endswith("cancelled\n")


def test_ctrl_c_behind_another_error_is_still_ctrl_c():
    """As PySpark raises it: the interrupt cancels the job, whose failure then covers it."""

    class Interrupted(Fake):
        def query(self, sql, *, timeout_s=None):
            try:
                raise KeyboardInterrupt
            finally:
                raise RuntimeError("job cancelled")

    assert run(Interrupted(), "sql", "SELECT 1").exit_code == 130


def test_an_unexpected_error_is_not_hidden():
    fake = Fake()
    fake.error = ZeroDivisionError("a defect")
    found = run(fake, "sql", "SELECT 1")
    assert isinstance(found.exception, ZeroDivisionError)
    assert fake.closed


def test_javas_stack_stays_out_of_the_message():
    text = """An error occurred while calling o1.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.Some.where(Some.scala:53)
Caused by: org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero.
== SQL ==
SELECT 1/0
\tat org.apache.spark.Other.where(Other.scala:53)
\t... 33 more"""
    assert _java_message(text) == (
        "org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero.\n"
        "== SQL ==\nSELECT 1/0"
    )
    assert _java_message("[X] a message") == "[X] a message"


def test_export_writes_a_file_when_it_is_whole(tmp_path):
    rows = pa.table({"a": [1, 2, 3], "b": ["x", None, "ü"]})
    readers = {"parquet": parquet.read_table, "csv": csv.read_csv, "arrow": ipc_table}
    for suffix, read in readers.items():
        path = tmp_path / f"out.{suffix}"
        path.write_text("old")
        broken = run(Fake(SELECT=rows), "export", "SELECT broken", "--to", str(path))
        assert broken.exit_code == 1 and path.read_text() == "old"
        done = run(Fake(SELECT=rows), "export", "SELECT 1", "--to", str(path), "--json")
        assert json.loads(done.stdout)["rows"] == 3
        assert read(path).column("a").to_pylist() == [1, 2, 3]
        assert [one.name for one in tmp_path.iterdir()] == [path.name]
        path.unlink()
    assert run(Fake(SELECT=rows), "export", "SELECT 1", "--to", "x.txt").exit_code == 2


def test_export_into_what_is_no_file_that_can_be_replaced(tmp_path):
    rows = Fake(SELECT=pa.table({"a": [1]}))
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("nowhere/x.csv", "pipe.csv"):
        found = run(rows, "export", "SELECT 1", "--to", str(tmp_path / name))
        assert found.exit_code == 1 and found.stderr.startswith("error [output_failed]: "), name
    assert (tmp_path / "pipe.csv").is_fifo()


def test_export_through_a_link(tmp_path):
    (tmp_path / "target.csv").write_text("old")
    (tmp_path / "link.CSV").symlink_to("target.csv")
    assert run(Fake(SELECT=pa.table({"a": [1]})), "export", "SELECT 1", "--to",
               str(tmp_path / "link.CSV")).exit_code == 0  # fmt: skip
    assert (tmp_path / "link.CSV").is_symlink()
    assert (tmp_path / "target.csv").read_text() != "old"


def ipc_table(path):
    with ipc.open_file(path) as file:
        return file.read_all()


def test_explain_and_why_not():
    assert run(Fake(), "explain", "SELECT 1").stdout == "text: SELECT 1\n"
    assert run(Fake(), "explain", "SELECT 1", "--json").stdout == "json: SELECT 1\n"
    found = run(Fake(), "why-not", "SELECT 1")
    assert found.stdout == (
        "c (the nearest): Not there. [fact_not_in_query]\n  CREATE CUBE d\n  little\n"
        "all cubes: None. [cubes_none]\n"
    )
    assert json.loads(run(Fake(), "why-not", "SELECT 1", "--json").stdout)[0]["cube"] == "c"


def test_why_not_claims_no_cube_if_there_is_no_reason(monkeypatch):
    monkeypatch.setattr(Fake, "why_not", lambda _self, _sql: [])
    found = run(Fake(), "why-not", "SELECT 1")
    assert (found.exit_code, found.stdout) == (0, "")
    assert found.stderr == "no cube was refused; accelerator explain shows what answers it\n"


def test_verify_tells_by_its_exit_code():
    fake = Fake()
    found = run(fake, "verify", "SELECT 1")
    assert (found.exit_code, found.stdout) == (0, "equal\n")
    assert found.stderr == "3 rows · 2.5 ms accelerated, 900.0 ms plain\n"
    fake.verification = replace(EQUAL, equal=False, differences=("row (1,) for (2,)",))
    found = run(fake, "verify", "SELECT 1")
    assert (found.exit_code, found.stdout) == (1, "different\n  row (1,) for (2,)\n")
    found = run(fake, "verify", "SELECT 1", "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["differences"] == ["row (1,) for (2,)"]
    fake.verification = replace(fake.verification, equal=None, undecided="Rows tie.")
    found = run(fake, "verify", "SELECT 1")
    assert (found.exit_code, found.stdout) == (0, "undecided: Rows tie.\n  row (1,) for (2,)\n")
    fake.verification = replace(EQUAL, equal=False, disabled=("index few",), unattributed="No.")
    told = run(fake, "verify", "SELECT 1").stdout
    assert told == "different\n  index few is switched off now\n  nothing is switched off: No.\n"


def test_vacuum_is_a_statement():
    fake = Fake()
    run(fake, "vacuum", "shop.t")
    run(fake, "vacuum", "t", "--full", "--retain-hours", "12", "--dry-run")
    run(fake, "vacuum", "t", "--snapshots")
    assert fake.asked == [
        "VACUUM shop.t",
        "VACUUM t FULL RETAIN 12.000000 HOURS DRY RUN",
        "VACUUM t SNAPSHOTS",
    ]


def test_statistics_are_of_one_table():
    fake = Fake()
    run(fake, "show", "statistics", "d.t")
    assert fake.asked == ["SHOW STATISTICS ON d.t"]
    assert run(Fake(), "show", "statistics").exit_code == 2


def test_queries_are_a_statement():
    fake = Fake()
    run(fake, "queries")
    run(fake, "queries", "--hours", "1.5", "--limit", "7")
    assert fake.asked == ["SHOW QUERIES LIMIT 100", "SHOW QUERIES SINCE 1.500000 HOURS LIMIT 7"]
    assert run(Fake(), "queries", "--limit", "-1").exit_code == 2


def test_undrop_is_a_statement():
    fake = Fake()
    run(fake, "undrop", "sales")
    run(fake, "undrop", "b`c", "--as", "x y")
    run(fake, "show", "recycle-bin", "d.t")
    assert fake.asked == [
        "UNDROP CUBE sales",
        "UNDROP CUBE `b``c` AS `x y`",
        "SHOW RECYCLE BIN ON d.t",
    ]


def test_show_build_and_compact_are_statements():
    fake = Fake(SHOW=pa.table({"cube": ["a", "b`c"], "index": ["i", "a"]}))
    run(fake, "show", "cubes")
    run(fake, "show", "constraints", "d.t")
    for words in (["recommendations", "d.t"], ["results"], ["queries"]):
        run(fake, "show", *words)
    assert run(fake, "show", "queries", "d.t").exit_code == 2
    run(fake, "compact", "a", "b`c")
    assert fake.asked == [
        "SHOW CUBES",
        "SHOW CONSTRAINTS ON d.t",
        "SHOW RECOMMENDATIONS ON d.t",
        "SHOW ADVICE RESULTS",
        "SHOW QUERIES",
        "COMPACT CUBE a",
        "COMPACT CUBE `b``c`",
    ]
    fake.asked.clear()
    found = run(fake, "build", "a", "--table", "d.t")
    shown = ["SHOW CUBES ON d.t", "SHOW INDEXES ON d.t"]
    assert fake.asked == [*shown, "build a", "build b`c", "build index i", "build index a"]
    assert found.stdout == ""
    assert "building a: 2 of 2" in found.stderr
    assert json.loads(run(fake, "build", "a", "--json").stdout)["cubes"] == ["a"]


def test_validate_checks_one_or_all_and_tells_by_its_exit_code():
    names = pa.table({"name": ["pk", "f k"]})
    fake = Fake(SHOW=names, ALTER=pa.table({"ok": [True]}))
    assert run(fake, "validate", "d.t").exit_code == 0
    assert fake.asked == [
        "SHOW CONSTRAINTS ON d.t",
        "ALTER TABLE d.t VALIDATE CONSTRAINT pk",
        "ALTER TABLE d.t VALIDATE CONSTRAINT `f k`",
    ]
    fake = Fake(ALTER=pa.table({"ok": [False]}))
    assert run(fake, "validate", "d.t", "pk").exit_code == 1
    none = run(Fake(SHOW=names.slice(2)), "validate", "d.t")
    assert (none.exit_code, none.stderr) == (0, "d.t has no constraints\n")


def test_the_footer_says_why_it_was_plain():
    assert footer(0, Metrics(engine="none").to_dict()) == "0 rows · 0.0 ms"
    metrics = Metrics(engine="spark", execution_ms=1200.04, fallback="cubes_none: There is none.")
    assert (
        footer(1, metrics.to_dict())
        == "1 row · 1200.0 ms · spark · plain (cubes_none: There is none.)"
    )


@pytest.mark.parametrize(
    ("value", "text", "in_json"),
    [
        (True, "true", True),
        (1.5, "1.5", 1.5),
        (float("nan"), "NaN", "NaN"),
        (float("-inf"), "-Infinity", "-Infinity"),
        (Decimal("1E+3"), "1000", "1000"),
        (Decimal("0E-8"), "0.00000000", "0.00000000"),
        (b"\x00\xff", "00ff", "00ff"),
        (date(2020, 1, 2), "2020-01-02", "2020-01-02"),
        (datetime(2020, 1, 2, 3), "2020-01-02 03:00:00", "2020-01-02 03:00:00"),
        ([1, None, "é"], '[1, null, "é"]', [1, None, "é"]),
        ({"a": Decimal("1.0")}, '{"a": "1.0"}', {"a": "1.0"}),
    ],
)
def test_values_keep_what_they_are(value, text, in_json):
    assert text_value(value) == text
    assert json_value(value) == in_json


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.int16(), "smallint"),
        (pa.date32(), "date"),
        (pa.timestamp("us"), "timestamp_ntz"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.list_(pa.int64()), "array<bigint>"),
        (pa.map_(pa.string(), pa.bool_()), "map<string,boolean>"),
        (pa.struct([("a", pa.float32())]), "struct<a:float>"),
    ],
)
def test_types_are_sparks_words(kind, name):
    assert type_name(kind) == name


def test_without_a_warehouse_it_asks_for_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ACCELERATOR_WAREHOUSE", "ACCELERATOR_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    found = CliRunner().invoke(main, ["show", "cubes"])
    assert found.exit_code == 2
    assert "which warehouse?" in found.stderr
    assert not list(tmp_path.iterdir())


def test_each_command_is_listed_once_in_a_group_with_its_whole_sentence():
    text = CliRunner().invoke(main, ["--help"]).stdout.partition("Begin:")[2]
    assert text and "..." not in text and "More:" not in text and "Commands:" not in text
    for name in main.commands:
        assert len(re.findall(rf"^  {name} ", text, re.MULTILINE)) == 1


def test_help_loads_nothing_heavy():
    """That is what makes it answer at once, and unlike a time it doesn't vary."""
    probe = """
import sys
import accelerator.__main__
from accelerator.cli.main import main
main(["--help"], standalone_mode=False)
heavy = {"duckdb", "pandas", "pyarrow", "pyiceberg", "pyspark", "rich", "sqlglot"}
heavy |= {"importlib.metadata", "html", "logging", "json", "rewrite.text.first_look"}
sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)
"""
    ran = subprocess.run(
        [sys.executable, "-c", probe], cwd=HOME, check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


def test_statistics_are_built():
    fake = Fake()
    found = run(fake, "build-statistics", "d.t", "--column", "a", "--column", "b")
    assert fake.asked == [("d.t", ("a", "b"))] and found.exit_code == 0
    assert "l: not that" in found.stderr and "1 columns of snapshot 7: whole" in found.stderr
    document = json.loads(run(Fake(), "build-statistics", "d.t", "--json").stdout)
    assert (document["mode"], document["snapshot_id"], document["columns"]) == ("whole", 7, ["a"])
