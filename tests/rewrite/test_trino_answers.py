"""The statements whose answers by Trino are recorded are translated as they were then.

Spark's answers to these texts are compared with Trino's in `tests/spark`.
"""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite.dialects.trino.regex import java_pattern
from rewrite.errors import UntranslatedError
from rewrite.parse.parse import parse
from tests.support.trino_answers import alike, cases, columns, recorded, spark_text


def test_all_are_recorded() -> None:
    assert {case.key for case in cases()} == set(recorded())


def test_they_are_translated_as_recorded() -> None:
    answers = recorded()
    for case in cases():
        text = case.spark()
        assert text == answers[case.key]["spark"], case.key
        parse(text)


@pytest.mark.parametrize(
    ("ours", "theirs", "type_", "wanted"),
    [
        (
            "2024-10-27 00:30:00 UTC",
            "2024-10-27 02:30:00.000 Europe/Berlin",
            "with time zone",
            True,
        ),
        (
            "2024-10-27 02:30:00 UTC",
            "2024-10-27 02:30:00.000 Europe/Berlin",
            "with time zone",
            False,
        ),
        ("2024-10-27 02:30:00.1", "2024-10-27 02:30:00.100", "timestamp(3)", True),
        ("2024-10-27 02:30:10", "2024-10-27 02:30:00", "timestamp(3)", False),
        ("1.50", "1.5", "decimal(3,2)", True),
        ("NaN", "NaN", "double", True),
        (1.0, 1.0000001, "double", False),
        ([1, None], [1, None], "array(bigint)", True),
        ([1], [1, None], "array(bigint)", False),
        ("", None, "varchar", False),
    ],
)
def test_what_is_alike(ours: object, theirs: object, type_: str, wanted: bool) -> None:
    assert alike(ours, theirs, f"timestamp(6) {type_}" if type_[0] == "w" else type_) is wanted


def _asked(expression: str, zone: str = "UTC", table: str = "n") -> str:
    return spark_text(f"SELECT {expression} AS r FROM {table}", columns, zone)


@pytest.mark.parametrize(
    ("table", "expression"),
    [
        ("n", "log(1, x)"),
        ("n", "log(a, x)"),
        ("n", "log10(g || 'x')"),
        ("n", "round(x, -1)"),
        ("n", "round(x, 16)"),
        ("n", "round(CAST(x AS real), 1)"),
        ("n", "greatest(x, 1e0)"),
        ("n", "corr(x, x)"),
        ("n", "kurtosis(x)"),
        ("n", "approx_percentile(c, 0.5)"),
        ("n", "approx_percentile(a, x)"),
        ("n", "approx_percentile(a, 1.5)"),
        ("n", "approx_percentile(a, 2, 0.5)"),
        ("n", "approx_distinct(a, 0.5)"),
        ("n", "max_by(a, x)"),
        ("n", "max_by(a, b, 3)"),
        ("n", "covar_samp(a, b)"),
        ("n", "array_agg(a) OVER (PARTITION BY g)"),
        ("n", "array_agg(a ORDER BY x)"),
        ("n", "array_agg(a ORDER BY a, b DESC)"),
        ("n", "array_agg(a ORDER BY a NULLS FIRST)"),
        ("n", "array_join(array_agg(x), ',')"),
        ("n", "ARRAY[1, 2]"),
        ("n", "from_unixtime(x)"),
        ("s", "regexp_extract(s, t)"),
        ("s", "regexp_extract(s, '(a)|b', 1)"),
        ("s", "regexp_extract(s, '(a)?b', 1)"),
        ("s", "regexp_extract(s, 'a', 1)"),
        ("s", "regexp_extract(s, '(?i)a')"),
        ("s", "regexp_like(s, '(a)\\1')"),
        ("s", "regexp_like(s, '(?<=a)b')"),
        ("s", "regexp_like(s, '\\p{L}')"),
        ("s", "regexp_like(s, '\\bA')"),
        ("s", "regexp_like(s, '[a&&b]')"),
        ("s", "regexp_replace(s, 'a*', 'x')"),
        ("s", "regexp_replace(s, '(a)', '$1')"),
        ("s", "split_part(s, '', 1)"),
        ("s", "split_part(s, '-', 0)"),
        ("s", "split(s, '-', 2)"),
        ("s", "from_hex(s)"),
        ("s", "from_hex('abc')"),
        ("s", "replace(s, '', 'x')"),
        ("s", "lpad(s, 5, '')"),
        ("s", "to_char(s, 'yyyy')"),
        ("s", "date_parse(s, '%Y-%m-%d %f')"),
        ("s", "date_parse(s, '%y-%m-%d')"),
        ("s", "date_parse(s, '%H:%i')"),
        ("s", "date_parse(s, '%Y-%m')"),
        ("s", "date_parse(s, '%Y-%m-%d %Y')"),
        ("s", "date_parse(s, t)"),
        ("m", "date_format(z, '%w')"),
        ("m", "date_format(z, 'x')"),
        ("m", "date_format(z, '%')"),
        ("m", "format_datetime(z, 'yyyy-''Q''')"),
        ("m", "format_datetime(z, 'ZZ')"),
        ("m", "m AT TIME ZONE 'Europe/Berlin'"),
        ("m", "date_trunc('day', m AT TIME ZONE 'Europe/Berlin')"),
        ("m", "date_add('day', 1, m AT TIME ZONE 'Europe/Berlin')"),
        ("m", "hour(m AT TIME ZONE 'Nowhere/City')"),
        ("m", "hour(m AT TIME ZONE INTERVAL '1' HOUR)"),
        ("m", "hour(d AT TIME ZONE 'UTC')"),
        ("m", "date_diff('month', d, d)"),
        ("m", "date_diff('day', m, m)"),
        ("m", "hour(CASE WHEN m > m THEN m ELSE m AT TIME ZONE 'Asia/Tokyo' END)"),
    ],
)
def test_what_is_refused(table: str, expression: str) -> None:
    with pytest.raises(UntranslatedError):
        _asked(expression, table=table)


def test_a_foreign_zone_may_not_be_shown() -> None:
    inner = "(SELECT m AT TIME ZONE 'Asia/Tokyo' AS k FROM m) AS q"
    with pytest.raises(UntranslatedError, match="shown in Asia/Tokyo") as caught:
        _asked("max(k)", table=inner)
    assert "CAST it AS TIMESTAMP" in str(caught.value)


def test_tables_moments_are_in_utc() -> None:
    """Whatever the client's zone is; where it's UTC, it's Spark's own function."""
    assert _asked("hour(m)", table="m") == "SELECT HOUR(m) AS r FROM `c`.`s`.`m`"
    assert "UNIX_MICROS(m)" in _asked("hour(m)", "Asia/Tokyo", "m")


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("SELECT hour(m) AS r FROM (SELECT date_trunc('day', m) AS m FROM m) AS q", True),
        (
            "SELECT hour(q.m) AS r FROM (SELECT date_trunc('day', m) AS m FROM m) AS q,"
            " (SELECT date_trunc('year', m) AS m FROM m) AS p",
            True,
        ),
        (
            "SELECT hour(m) AS r FROM (SELECT m AT TIME ZONE 'Asia/Tokyo' AS m FROM m"
            " UNION ALL SELECT m FROM m) AS q",
            False,
        ),
    ],
)
def test_zones_of_names(sql: str, wanted: bool) -> None:
    """A column is of one zone if all that it is made of is."""
    if wanted:
        assert spark_text(sql, columns).startswith("SELECT HOUR(")
        return
    with pytest.raises(UntranslatedError, match="in which time zone"):
        spark_text(sql, columns)


def test_a_zone_follows_a_name() -> None:
    sql = "SELECT hour(m) AS r FROM (SELECT m AT TIME ZONE 'Asia/Tokyo' AS m FROM m) AS q"
    text = spark_text(sql, columns)
    assert text.startswith("SELECT HOUR(CONVERT_TIMEZONE('UTC', 'Asia/Tokyo', ")


@given(st.text(string.printable + "é😀\u2028", max_size=24))
def test_any_pattern_is_read_or_refused(pattern: str) -> None:
    found = java_pattern(pattern)
    if found is None:
        return
    known = re.compile(found.java.replace("\\z", "\\Z"))
    assert known.groups == len(found.groups)
    matched = known.fullmatch("")
    assert found.may_be_empty or matched is None


_PIECES = ("a", "b", "(a)", "(b|c)", "(?:x)", ".", "\\d", "[^a]", "(a(b))", "?", "*", "|", "+", "$")


@given(st.lists(st.sampled_from(_PIECES), max_size=7), st.text("abcx1\n\r", max_size=8))
def test_sure_groups_are_in_every_match(pieces: list[str], text: str) -> None:
    found = java_pattern("".join(pieces))
    if found is None:
        return
    for match in re.finditer(found.java.replace("\\z", "\\Z"), text):
        for number, sure in enumerate(found.groups, 1):
            assert not sure or match[number] is not None
