"""A result as others take it: Arrow's protocol, rows by rows, frames, text and HTML."""

from __future__ import annotations

import sys
import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser

import duckdb
import polars
import pyarrow as pa
import pytest

from accelerator.common.display import table_html, table_text
from accelerator.common.statement_metrics import Metrics
from accelerator.errors import ConfigError, UnrepresentableError
from accelerator.query.results.result import Result

_TABLE = pa.table({"k": pa.array([1, 2, None], pa.int32()), "s": ["a", None, "<b>"]})
_ROWS = [(1, "a"), (2, None), (None, "<b>")]


@pytest.fixture
def result() -> Result:
    return Result(_TABLE, Metrics(engine="duckdb", cubes=("sales",)), lambda: "the plan")


def test_whatever_reads_arrow_streams_reads_it(result: Result) -> None:
    assert pa.table(result).equals(_TABLE)
    assert pa.RecordBatchReader.from_stream(result).read_all().equals(_TABLE)
    assert polars.DataFrame(result).rows() == _ROWS
    assert duckdb.sql("SELECT count(*), max(k) FROM result").fetchall() == [(3, 2)]
    assert result.schema == _TABLE.schema


def test_frames(result: Result) -> None:
    assert result.pl().rows() == _ROWS
    shown = result.df()["s"]
    assert (shown.isna().tolist(), shown[0], shown[2]) == ([False, True, False], "a", "<b>")
    assert result.to_pandas().equals(result.df())


def test_without_polars(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ConfigError, match="polars isn't installed"):
        result.pl()


def test_rows_are_fetched_once(result: Result) -> None:
    assert result.fetchone() == _ROWS[0]
    assert result.fetchmany(0) == []
    assert result.fetchmany(-1) == []
    assert result.fetchmany(1) == [_ROWS[1]]
    assert result.fetchall() == [_ROWS[2]]
    assert result.fetchall() == []
    assert result.fetchone() is None
    assert list(result) == list(result) == _ROWS
    assert len(result) == result.num_rows == 3


def test_rows_are_iterated_batch_by_batch() -> None:
    many = Result(pa.table({"k": range(25_000)}), Metrics(), lambda: "")
    assert [k for (k,) in many] == list(range(25_000))


def test_it_is_shown(result: Result, capsys: pytest.CaptureFixture[str]) -> None:
    result.show(width=80)
    shown = capsys.readouterr().out
    assert "│  NULL │ <b>     │" in shown
    result.show(1)
    assert capsys.readouterr().out.endswith("2 more rows\n")
    assert repr(result) == "<Result 3 rows of (k, s) by duckdb>"
    many = pa.table({f"c{n}": [1] for n in range(20)} | {"x": [1]})
    told = repr(Result(many.rename_columns(["a\x1b\n", *many.column_names[1:]]), Metrics(), str))
    assert told == "<Result 1 row of (a\\u001b\\n, c1, c2, c3, c4, c5, c6, c7, … of 21) by spark>"


def test_a_table_is_no_wider_than_the_terminal() -> None:
    table = pa.table({f"a_column_of_number_{n}": [n] * 100 for n in range(17)})
    text = table_text(table, 20, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "17 columns (3 shown)" in text
    assert "a_column_of_number_0 " in text
    assert "a_column_of_number_16" in text
    assert len(table_text(table, 0, 80).splitlines()) > 100
    assert "a_column_of_number_8" in table_text(table, 20, 1000)


def test_every_type_is_drawn() -> None:
    at = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    columns = {
        "b": pa.array([True, None]),
        "d": pa.array([Decimal("1.50"), None], pa.decimal128(38, 2)),
        "t": pa.array([at, None], pa.timestamp("us", tz="Europe/Berlin")),
        "n": pa.array([None, None]),
        "i": pa.array([timedelta(days=1), None]),
        "x": pa.array([float("nan"), None]),
        "y": pa.array([b"\x00\xff", None]),
        "l": pa.array([[1, None], None]),
        "m": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        "o": pa.array([{"a": 1}, None]),
    }
    text = table_text(pa.table(columns), 20, 200)
    for part in ("true", "1.50", "2024-01-02 03:04:05+00", "1 day", "nan", "[1, NULL]", "{a=1}"):
        assert part in text
    assert table_html(pa.table(columns), Metrics()).count("<i>NULL</i>") == 11


def test_names_stay_and_nothing_moves_the_cursor() -> None:
    texts = pa.array(["\x1b[31mred\x07", "\u202eright"])
    table = pa.Table.from_arrays([texts, texts, texts, texts], names=["a", "A", "a", "\x1b]0;x"])
    text = table_text(table, 20, 200)
    assert text.splitlines()[1].split()[1:6:2] == ["a", "A", "a"]
    assert not set("\x1b\x07\u202e") & set(text)
    assert not set("\x1b\x07\u202e") & set(table_html(table, Metrics()))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


def test_html_is_escaped(result: Result) -> None:
    names = ["<script>alert(1)</script>", 'x" onload="y']
    table = pa.Table.from_arrays([pa.array(["<img src=x>&"]), pa.array([1])], names=names)
    found = table_html(table, Metrics(fallback="<i>"))
    tags = _Tags()
    tags.feed(found)
    assert set(tags.seen) == {"table", "thead", "tr", "th", "br", "small", "tbody", "td"}
    assert "&lt;img src=x&gt;&amp;" in found
    assert "3 rows" in result._repr_html_()
    assert "cube sales" in result._repr_html_()


def test_html_has_the_first_rows() -> None:
    table = pa.table({f"c{n}": range(1000) for n in range(60)})
    found = table_html(table, Metrics())
    assert found.count("<tr>") == 21
    assert "1,000 rows" in found
    assert "the first 20 rows" in found
    assert "50 of 60 columns" in found


def test_what_duckdb_has_no_type_for_is_drawn_as_text() -> None:
    twice = pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))
    alike = pa.array([{"x": 1, "X": 2}])
    wide = pa.array([Decimal(10) ** 50], pa.decimal256(60, 0))
    late = pa.array([4_000_000], pa.int32()).cast(pa.date32())
    for column in (twice, alike, wide, late):
        table = pa.table({"c": column})
        assert len(table_text(table, 20, 200).splitlines()) >= 6
        assert "<td" in table_html(table, Metrics())
    assert table_text(pa.table({}), 20, 80) == ""


_LATE = pa.array([0, 4_000_000], pa.int32()).cast(pa.date32())


def test_values_that_python_has_not() -> None:
    late = Result(pa.table({"c": _LATE}), Metrics(), lambda: "")
    assert late.fetchone() == (date(1970, 1, 1),)
    for use in (late.fetchone, late.fetchall, lambda: list(late), late.df):
        with pytest.raises(UnrepresentableError, match="9999"):
            use()
    assert late.arrow()["c"].cast(pa.string()).to_pylist() == ["1970-01-01", "12921-08-18"]
    odd = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    spoiled = Result(pa.table({"c": odd}), Metrics(), lambda: "")
    with pytest.raises(UnrepresentableError, match="the column c has a text that isn't UTF-8"):
        spoiled.fetchall()
    with pytest.raises(UnrepresentableError):
        spoiled.df()
    assert "\ufffd" in spoiled._repr_html_()


def test_rows_before_one_that_python_has_not_are_fetched() -> None:
    days = pa.array([*range(5), 4_000_000, 6], pa.int32())
    late = Result(pa.table({"k": range(7), "c": days.cast(pa.date32())}), Metrics(), str)
    assert [k for k, _ in late.fetchmany(2)] == [0, 1]
    with pytest.raises(UnrepresentableError):
        late.fetchmany(4)
    assert [k for k, _ in late.fetchmany(3)] == [2, 3, 4]
    with pytest.raises(UnrepresentableError):
        late.fetchone()


def test_rows_one_by_one_are_all_there() -> None:
    many = Result(pa.table({"k": range(1000)}), Metrics(), str)
    found = [many.fetchone(), *many.fetchmany(300)]
    while row := many.fetchone():
        found.append(row)
    assert found == [(k,) for k in range(1000)]


def test_polars_has_a_name_once() -> None:
    twice = pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"])
    with pytest.raises(UnrepresentableError, match="there are several of a"):
        Result(twice, Metrics(), lambda: "").pl()
    months = pa.table({"m": pa.array([pa.MonthDayNano([1, 2, 3])])})
    with pytest.raises(UnrepresentableError, match="polars can't have"):
        Result(months, Metrics(), lambda: "").pl()


def test_times_that_python_has_not_are_shown_as_spark_writes_them() -> None:
    far = pa.array([2**62, -(2**57), None, 0], pa.int64())
    columns = {
        "date": _LATE.take([1, 0, 0, 0]),
        "at": far.cast(pa.timestamp("us")),
        "zoned": far.cast(pa.timestamp("us", tz="UTC")),
        "within": pa.array([[4_000_000], None, [], [0]], pa.list_(pa.int32())).cast(
            pa.list_(pa.date32())
        ),
        "struct": pa.StructArray.from_arrays([_LATE.take([1, 1, 1, 0])], names=["x"]),
    }
    found = table_html(pa.table(columns), Metrics())
    for part in (
        "<td>+12921-08-18</td>",
        "<td>+148108-07-06 14:00:27.387904</td>",
        "<td>-2597-",
        "<td>+148108-07-06 14:00:27.387904+00:00</td>",
        "<td>1970-01-01 00:00:00</td>",
        "[&quot;+12921-08-18&quot;]",
        "{&quot;x&quot;: &quot;+12921-08-18&quot;}",
    ):
        assert part in found


def test_threads_share_a_result_and_draw_tables() -> None:
    many = Result(pa.table({"k": range(1_500)}), Metrics(), lambda: "")
    found: list[tuple[int, ...]] = []
    before = sys.stdout

    def fetch() -> None:
        while rows := many.fetchmany(11):
            found.extend(rows)
            table_text(_TABLE, 5, 80)

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(found) == [(k,) for k in range(1_500)]
    assert sys.stdout is before


def test_odd_arguments(result: Result) -> None:
    for rows, width in ((-1, 80), (1, 0), (1, -5)):
        with pytest.raises(ConfigError, match="can't be shown"):
            result.show(rows, width)


def test_many_columns_of_one_name() -> None:
    names = ["n"] * 300
    table = pa.Table.from_arrays([pa.array([1])] * 300, names=names)
    assert "300 columns" in table_text(table, 20, 80)
