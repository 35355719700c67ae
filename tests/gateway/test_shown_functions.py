"""SHOW FUNCTIONS names what the door translates, and nothing else."""

from __future__ import annotations

import re

import pytest

from accelerator.gateway.catalog.show_functions import Function, functions
from rewrite.client import ClientContext
from rewrite.dialects.translate import translated_for
from tests.support.trino_answers import recorded as answers
from tests.support.trino_walk import recorded

_COLUMNS = {
    "a": "int",
    "x": "double",
    "c": "decimal(9,2)",
    "s": "string",
    "d": "date",
    "u": "timestamp_ntz",
    "m": "timestamp",
    "r": "float",
}
_VALUES = {
    "T": "a",
    "bigint": "a",
    "double": "x",
    "decimal(p,s)": "c",
    "varchar": "s",
    "date": "d",
    "timestamp(p)": "u",
    "boolean": "(a = 1)",
    "varbinary": "X'41'",
    "timestamp(p) with time zone": "m",
    "real": "r",
    "array(T)": "array_agg(a)",
}
_CONSTANTS = {"substr": "1", "substring": "1", "ntile": "4", "split_part": "1", "round": "1"}
_LATER = {
    "approx_percentile": "0.5",
    "approx_distinct": "0.01",
    "array_join": "','",
    **dict.fromkeys(("at_timezone", "with_timezone"), "'UTC'"),
    "element_at": "1",
    "date_format": "'%Y'",
    "date_parse": "'%Y-%m-%d'",
    "format_datetime": "'yyyy'",
    **dict.fromkeys(("regexp_extract", "regexp_like", "regexp_replace", "replace"), "'b'"),
    **dict.fromkeys(("split", "split_part"), "'-'"),
}
"""What the second argument is."""


def _call(one: Function) -> str:
    name, _, types, kind, *_ = one
    arguments = [_VALUES[type_] for type_ in types.split(", ") if type_]
    if name in _CONSTANTS:
        arguments = [_CONSTANTS[name] if value == "a" else value for value in arguments]
    if name in _CONSTANTS and name == "round":
        arguments[0] = "x"
    if name in _LATER and len(arguments) > 1:
        arguments[1] = _LATER[name]
    if name in ("date_add", "date_diff"):
        arguments[:1] = ["'day'"]
        arguments[1:2] = ["3"] if name == "date_add" else arguments[1:2]
    if name in ("lpad", "rpad"):
        arguments[1:] = ["5", "'*'"]
    if name in ("log", "from_hex"):
        arguments[0] = "2" if name == "log" else "'41'"
    if name == "listagg":
        return "listagg(s, ',') WITHIN GROUP (ORDER BY s)"
    if name == "date_trunc":
        arguments[0] = "'day'"
    given = "*" if name == "count" and not types else ", ".join(arguments)
    return f"{name}({given}){' OVER (ORDER BY a)' if kind == 'window' else ''}"


@pytest.mark.parametrize("one", functions(), ids=lambda one: f"{one[0]}({one[2]})")
def test_it_is_translated(one: Function) -> None:
    from datetime import UTC, datetime

    client = ClientContext(catalog="c", schema="s", now=datetime(2024, 1, 1, tzinfo=UTC))
    keys = " GROUP BY a" if one[0] == "grouping" else ""
    sql = f"SELECT {_call(one)} AS f FROM t{keys}"
    assert translated_for(client, sql, "trino", lambda _: _COLUMNS, ["c"]).text


def test_all_that_is_let_through_is_named() -> None:
    """What Trino's recorded answers call is among them, but for words of the grammar."""
    named = {one[0] for one in functions()}
    calls = [key for some in (recorded(), answers()) for key, one in some.items() if "rows" in one]
    called = {name.lower() for key in calls for name in re.findall(r"\b([A-Za-z]\w*)\(", key)}
    assert called - named == {
        *("cast", "decimal", "extract", "position", "timestamp", "try_cast", "varchar"),
        *("format", "from_iso8601_timestamp", "to_milliseconds"),  # not of any column
        *("sequence", "unnest"),  # in FROM alone
    }


def test_each_is_named_once() -> None:
    found = [one[:3] for one in functions()]
    assert len(found) == len(set(found))
