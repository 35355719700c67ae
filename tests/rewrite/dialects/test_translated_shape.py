"""A translation made of another one of its shape is the one that the rules themselves make."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rewrite.client import TRINO, ClientContext, Translated
from rewrite.dialects.translate import translated_for
from rewrite.dialects.translated_shape import TranslatedShape, translated_shape
from rewrite.errors import UntranslatedError
from rewrite.parse.statement_shape import StatementShape, shape_of

_CLIENT = ClientContext(catalog="lake", schema="s", time_zone="Europe/Berlin")
_T = {"d": "date", "z": "timestamp_ntz", "m": "timestamp", "c": "decimal(9,2)", "a": "int"}
_T |= {"x": "double", "s": "string", "A b": "string"}


def _translated(sql: str) -> Translated:
    return translated_for(_CLIENT, sql, TRINO, lambda _parts: _T, {"lake"})


def _shaped(sql: str) -> tuple[StatementShape, TranslatedShape | None]:
    shape = shape_of(sql, trino=True)
    assert shape is not None, sql
    return shape, translated_shape(shape, _translated(sql), _translated)


_CONDITIONS = [
    "a = {whole}",
    "a BETWEEN {whole} AND {whole}",
    "c >= {decimal} OR x < {decimal}",
    "s IN ({text}, {text})",
    's = {text} AND "A b" <> {text}',
    "t.s LIKE {text} AND a < {whole}",
    "d >= DATE {date} AND a = {whole}",
    "NOT (s = {text}) AND a / {whole} = {whole}",
    "a IN (SELECT a FROM t WHERE a = {whole}) AND s > {text}",
    "date_trunc('month', d) = DATE {date} AND s = {text}",
    "coalesce(s, {text}) = {text} AND s IS DISTINCT FROM {text}",
    "substring(s, {whole}, 2) = {text}",
    "cast(a AS varchar) = {text} AND cast({text} AS varchar) < s",
    "a + {whole} > {whole} AND {whole} <> a",
    "s || {text} = {text} OR CASE WHEN s = {text} THEN a ELSE {whole} END = {whole}",
    "CAST(z AS timestamp) < TIMESTAMP {date}",
    "regexp_extract(s, 'a(.)', 1) = {text} AND a = {whole}",
    "round(x, 1) = {decimal} AND log10(x) > {decimal}",
    "date_format(z, '%Y') = {text} AND year(m) IN ({whole}, {whole})",
    "m > {text} AND m < from_unixtime(a) AND s = {text}",
    "date_parse(s, '%Y-%m-%d') > z AND a <> {whole}",
    "regexp_like(s, {text}) AND split_part(s, {text}, {whole}) = {text}",
    "date_add('day', {whole}, d) = DATE {date} AND x = {whole}",
]
_OUTPUTS = ["count(*)", "sum(c), {whole}", 'max(s) AS "x y", {text}', "d, round(c, 1) AS r"]
_texts = st.text(st.sampled_from('abAB %_-é"`;:/1?😀'), max_size=8).map(lambda t: f"'{t}'")
_CONSTANTS = {
    "whole": st.integers(0, 3_000_000_000).map(str) | st.sampled_from(["007", "0", "1"]),
    "decimal": st.decimals(0, 10**6, places=2).map(str) | st.just("0.0"),
    "text": _texts | st.dates().map(lambda d: f"'{d}'"),
    "date": st.dates().map(lambda d: f"'{d}'"),
}


@st.composite
def _statements(draw: st.DrawFn) -> tuple[str, str]:
    """Two statements that differ in constants alone."""
    condition, output = draw(st.sampled_from(_CONDITIONS)), draw(st.sampled_from(_OUTPUTS))
    text = f"SELECT {output} FROM t WHERE {condition}"
    parts = text.split("{")

    def one() -> str:
        made = [parts[0]]
        for part in parts[1:]:
            kind, rest = part.split("}", 1)
            made += (draw(_CONSTANTS[kind]), rest)
        return "".join(made)

    return one(), one()


@settings(max_examples=1000, deadline=None)
@given(_statements())
def test_a_filled_translation_is_the_statements_own(pair: tuple[str, str]) -> None:
    first, second = pair
    shape, other = shape_of(first, trino=True), shape_of(second, trino=True)
    try:
        known = _translated(first)
    except UntranslatedError:
        return
    if shape is None or other is None or other.key != shape.key:
        return
    made = translated_shape(shape, known, _translated)
    if made is None or other.fixed(made.free) != shape.fixed(made.free):
        return
    event("filled")
    assert made.filled(other.constants) == _translated(second)


@pytest.mark.parametrize(
    ("condition", "free"),
    [
        ("a = 7 AND s IN ('x', 'y')", ["7", "x", "y"]),
        ("\"A b\" = 'x' AND c BETWEEN 1.50 AND 2.50", ["x", "1.50", "2.50"]),
        ("a + 7 = 8", ["8"]),
        ("s LIKE 'x%' AND a = 1", ["1"]),
    ],
)
def test_compared_constants_are_free(condition: str, free: list[str]) -> None:
    shape, made = _shaped(f"SELECT count(*) FROM t WHERE {condition}")
    assert made is not None
    assert [shape.constants[i].value for i in made.free] == free


@pytest.mark.parametrize(
    "condition",
    [
        "d >= DATE '2024-01-01'",  # the rule of casts may look at it
        "s LIKE 'x'",
        "s = 'a' AND m < now()",
    ],
)
def test_others_are_translated_one_by_one(condition: str) -> None:
    sql = f"SELECT count(*) FROM t WHERE {condition}"
    shape = shape_of(sql, trino=True)
    try:
        known = _translated(sql)
    except UntranslatedError:
        return
    assert shape is None or translated_shape(shape, known, _translated) is None


@pytest.mark.parametrize("sql", ["SELECT `a` FROM t WHERE a = 1", "SELECT \"a'b FROM t WHERE a=1"])
def test_texts_that_are_not_trinos_have_no_shape(sql: str) -> None:
    assert shape_of(sql, trino=True) is None


def test_marks_that_a_statement_has_already_make_no_shape() -> None:
    _, made = _shaped("SELECT count(*) FROM t WHERE s = 'acc_translated_1' AND s = 'y'")
    assert made is None


def test_a_statement_with_very_many_constants_is_translated_by_itself() -> None:
    many = ", ".join(map(str, range(100, 300)))
    _, made = _shaped(f"SELECT count(*) FROM t WHERE a IN ({many})")
    assert made is None
