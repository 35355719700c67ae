"""Texts of times: what is read, in which zone, and what is left to Spark."""

from __future__ import annotations

import pytest
from sqlglot.errors import SqlglotError

from rewrite.bind.select import bind_block
from rewrite.facts import At, ColumnFacts, Facts, TableFacts
from rewrite.ir.expr import Call, Expr, Literal
from rewrite.ir.timestamps import micros_of, midnight, moment
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.render.expressions import literal

_COLUMNS = {"ts": "timestamp", "n": "timestamp_ntz", "d": "date", "s": "string"}


class _OneTable(Facts):
    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        columns = enumerate(_COLUMNS.items(), start=1)
        facts = tuple(ColumnFacts(i, name, type_, False) for i, (name, type_) in columns)
        return TableFacts("lake.s.t", "uuid", 1, 0, facts)


def _predicate(text: str, zone: str | None = "Europe/Paris") -> Expr:
    return bind_block(parse(f"SELECT count(*) FROM t WHERE {text}"), _OneTable(), zone).conjuncts[0]


def _constant(text: str, zone: str | None = "Europe/Paris") -> Literal:
    found = _predicate(text, zone)
    assert isinstance(found, Call)
    constant = found.args[-1]
    assert isinstance(constant, Literal)
    return constant


@pytest.mark.parametrize(
    ("text", "zone", "value"),
    [
        ("2024-07-01", "Europe/Paris", "2024-06-30 22:00:00.000000"),
        ("2024-07-01 10:20", "UTC", "2024-07-01 10:20:00.000000"),
        ("2024-07-01T10:20:30.1234567", "UTC", "2024-07-01 10:20:30.123456"),
        ("2024-07-01 10:20:30-18:00", None, "2024-07-02 04:20:30.000000"),
        ("0001-01-01 00:00:00Z", "Nowhere/City", "0001-01-01 00:00:00.000000"),
        ("1500-01-01", "+01:00", "1499-12-31 23:00:00.000000"),
        ("2024-03-31 02:30:00", "Europe/Paris", "2024-03-31 01:30:00.000000"),  # skipped
        ("2024-10-27 02:30:00", "Europe/Paris", "2024-10-27 00:30:00.000000"),  # twice: the first
        ("2037-12-31", "Europe/Paris", "2037-12-30 23:00:00.000000"),
        *(
            (text, "UTC", None)
            for text in (
                *("0001-01-01 00:00:00+01:00", "9999-12-31 23:59:59-00:01", "10000-01-01"),
                *("0000-01-01", "2024-1-1", "2024-02-30", "2024-01-01 24:00:00", "epoch"),
                *("2024-01-01 10:20:30.", "2024-01-01 10:20:30 UTC", "2024-01-01Z", " 2024-01-01"),
                *("2024-01-01 10:20Z", "2024-01-01 10:20:30+18:01", "2024-01-01 10:20:30+01:60"),
                *("2024-01-01 10:20:30+1:00", "T10:20:30", "２０２４-01-01", "2024-01-01 10:20:60"),
            )
        ),
        ("2024-07-01", None, None),
        ("2024-07-01", "Nowhere/City", None),
        ("2024-07-01", "WET", None),
        ("1999-12-31", "Europe/Paris", None),
        ("2038-01-01", "Europe/Paris", None),
    ],
)
def test_instants(text: str, zone: str | None, value: str | None) -> None:
    assert moment(text, "timestamp", zone) == value


def test_times_of_no_zone() -> None:
    for zone in ("Europe/Paris", None):
        assert moment("1500-01-01", "timestamp_ntz", zone) == "1500-01-01 00:00:00.000000"
    # Spark's cast passes the offset over, its literal raises.
    assert moment("2024-01-01 00:00:00Z", "timestamp_ntz", "UTC") is None


def test_a_date_whose_midnight_is_skipped() -> None:
    """Spark takes the first time of that day, of a text the time that is as much too late."""
    zone = "America/Sao_Paulo"
    assert moment("2018-11-04", "timestamp", zone) == "2018-11-04 03:00:00.000000"
    assert midnight("2018-11-04", "timestamp", zone) is None
    assert midnight("2018-11-05", "timestamp", zone) == "2018-11-05 02:00:00.000000"
    assert midnight("2018-11-04", "timestamp_ntz", zone) == "2018-11-04 00:00:00.000000"


def test_microseconds() -> None:
    assert micros_of("1969-12-31 23:59:59.999999") == -1
    assert micros_of("0001-01-01 00:00:00.000000") == -62_135_596_800_000_000


@pytest.mark.parametrize(
    ("predicate", "type_", "value"),
    [
        ("ts >= '2024-07-01'", "timestamp", "2024-06-30 22:00:00.000000"),
        ("ts = DATE '2024-07-01'", "timestamp", "2024-06-30 22:00:00.000000"),
        ("ts < TIMESTAMP '2024-07-01 00:00:00'", "timestamp", "2024-06-30 22:00:00.000000"),
        ("ts < TIMESTAMP_LTZ '2024-07-01'", "timestamp", "2024-06-30 22:00:00.000000"),
        ("ts < CAST('2024-07-01' AS TIMESTAMP)", "timestamp", "2024-06-30 22:00:00.000000"),
        ("ts IN ('2024-07-01')", "timestamp", "2024-06-30 22:00:00.000000"),
        ("n <=> '2024-07-01'", "timestamp_ntz", "2024-07-01 00:00:00.000000"),
        ("n = DATE '2024-07-01'", "timestamp_ntz", "2024-07-01 00:00:00.000000"),
        ("n = TIMESTAMP_NTZ '2024-07-01 1:00'", None, None),
        # The column is cast instead, which is left to Spark.
        ("n = TIMESTAMP '2024-07-01'", "timestamp", "2024-06-30 22:00:00.000000"),
        ("d = TIMESTAMP_NTZ '2024-07-01'", "timestamp_ntz", "2024-07-01 00:00:00.000000"),
        ("ts = 'never'", "string", "never"),
        ("s = '2024-07-01'", "string", "2024-07-01"),
        ("ts < DATETIME '2024-07-01'", None, None),
        ("ts < to_timestamp('2024-07-01')", None, None),
        ("ts = CAST(ts AS DATETIME)", None, None),
    ],
)
def test_what_a_constant_is(predicate: str, type_: str | None, value: str | None) -> None:
    if type_ is None:
        with pytest.raises((DeclinedError, SqlglotError)):
            _predicate(predicate)
    else:
        assert _constant(predicate) == Literal(value or "", type_)


def test_a_zone_that_is_not_known() -> None:
    assert _constant("ts > '2024-07-01'", None) == Literal("2024-07-01", "string")
    assert _constant("ts > '2024-07-01 00:00:00Z'", None).type == "timestamp"
    with pytest.raises(DeclinedError):
        _predicate("ts > TIMESTAMP '2024-07-01 00:00:00'", None)


def test_constants_name_their_zone() -> None:
    instant = _constant("ts > '2024-07-01 00:00:00.5Z'")
    assert literal(instant, "spark") == "TIMESTAMP '2024-07-01 00:00:00.500000Z'"
    assert literal(instant, "duckdb") == "TIMESTAMPTZ '2024-07-01 00:00:00.500000+00'"
    local = _constant("n > '2024-07-01 00:00:00.5'")
    assert literal(local, "spark") == "TIMESTAMP_NTZ '2024-07-01 00:00:00.500000'"
    assert literal(local, "duckdb") == "TIMESTAMP '2024-07-01 00:00:00.500000'"
