"""Tables as text: what is hostile, what is large."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from accelerator.common.display import fitting, printable, table_html, table_text, vertical_text
from accelerator.common.statement_metrics import Metrics

TURNERS = (
    "\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\u206a\ufeff\U000e0041\ud800\x00\x1b"
)


@pytest.mark.parametrize("one", TURNERS)
def test_what_turns_or_hides_text_is_escaped_as_in_json(one):
    told = printable(f"a{one}b")
    assert told.isascii() and json.loads(f'"{told}"') == f"a{one}b"


def test_letters_joiners_and_emoji_stay():
    text = "żółw שלום ‌می‌خواهم 👩‍👩‍👧\tx\n"
    assert printable(text) == text


@pytest.mark.parametrize(
    "value", [f"x{TURNERS[:-3]}", [f"{TURNERS[:-3]}"], {f"x{TURNERS[:-3]}": 1}, [[{"a": "\u202e"}]]]
)
def test_no_cell_has_power_over_the_lines(value):
    shown = table_text(pa.table({"a": [value], "b": [1]}), width=200)
    assert not set(TURNERS) & set(shown)
    lines = shown.splitlines()
    assert len(lines) == 6 and len({*map(len, lines)}) == 1


def test_a_nul_in_a_name_or_value_ends_no_text():
    kind = pa.struct([("x\x00y", pa.int64()), ("b", pa.string())])
    rows = pa.table({"a": pa.array([{"x\x00y": 1, "b": "q\x00r"}], kind), "z\x00z": ["after"]})
    shown = table_text(rows, width=100)
    assert r'{"x\u0000y": 1, "b": "q\u0000r"}' in shown
    assert r"z\u0000z" in shown and "after" in shown


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ("x" * 3_000_000, "3,000,000"),
        (b"\x00" * 1_500_000, "3,000,000"),
        (["x" * 2_999_996], "3,000,000"),
    ],
)
def test_a_cell_of_megabytes_is_cut_and_says_so(value, length):
    rows = pa.table({"a": [value, None]})
    for shown in (table_text(rows), table_html(rows, Metrics())):
        assert f"… ({length} characters)" in shown
        assert len(shown) < 20_000
        assert "NULL" in shown


def test_nested_values_are_drawn_as_ever():
    shown = table_text(pa.table({"a": [{"x": [1, None]}]}), width=80)
    assert "struct(x bigint[])" in shown and "{'x': [1, NULL]}" in shown


def test_rows_are_shown_vertically():
    rows = pa.table({"a": [1, None], "a long name": ["one\ntwo\x1b[2J", "x" * 3000]})
    lines = vertical_text(rows).splitlines()
    assert lines[:3] == ["row 1", "  a            1", "  a long name  one"]
    assert lines[3].startswith("      two") and "\x1b" not in lines[3]
    assert lines[4:6] == ["row 2", "  a            NULL"]
    assert lines[6].endswith("… (3,000 characters)") and len(lines) == 7
    assert vertical_text(rows, 1).splitlines() == lines[:4]
    assert vertical_text(rows.slice(0, 0)) == ""


def test_a_list_keeps_the_columns_that_most_people_look_for():
    listing = pa.table(
        {
            "cube": ["sales_by_day"],
            "table": ["lake.shop.orders"],
            "files_covered": [4],
            "files_total": [4],
            "created": ["2026-01-01 00:00:00.000000"],
            "bytes": [35_571_264],
            "hits": [2581],
            "last_error": pa.nulls(1, pa.string()),
            "status": ["complete"],
            "definition": ["SELECT " + "x" * 200],
        }
    )
    shown, others = fitting(listing, 80)
    assert shown.column_names == [
        *("cube", "files_covered", "files_total", "bytes", "hits", "status"),
    ]
    assert others == ["table", "created", "last_error", "definition"]
    text = table_text(shown, width=80)
    assert all(name in text for name in shown.column_names) and "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert fitting(listing, 1000) == (listing, [])
    assert fitting(listing, 3) == (listing, [])
    wide, others = fitting(listing.drop(["definition"]), 120)
    assert "table" in wide.column_names and "last_error" in others
    nothing = listing.slice(0, 0)
    assert fitting(nothing, 80)[0].num_columns > 5
