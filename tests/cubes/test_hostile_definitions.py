"""Stored definitions with hostile text in every place: refused, or quoted wherever it's written.

Each leaf of a definition's JSON is replaced in turn. What is read then is written as SQL, whose
tokens must be of the same kinds as before: a text is one identifier or constant, whatever it says.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark
from sqlglot.tokens import TokenType

from cubes.definition import CubeDefinition, from_dict, to_dict
from cubes.sql.build import (
    merge_select,
    missing_select,
    segments_select,
    stored_schema,
    unique_select,
)
from rewrite.ir.expr_json import from_json
from rewrite.reason import DeclinedError
from tests.cubes.star import cube

_SQL = (
    "SELECT f.g, d.name, date_trunc('MONTH', ts) m, CASE WHEN c > 1.50 THEN 'a' END z,"
    " CAST(i AS BIGINT) b, count(*) n, sum(c) s, count(DISTINCT i) di, count(DISTINCT g) dg,"
    " avg(x) FILTER (WHERE dt >= DATE '2020-01-31') a, stddev(x) sd,"
    " approx_percentile(v, 0.5) p FROM f LEFT JOIN d ON f.k = d.k"
    " WHERE ts < '2020-02-01 00:00:00Z' AND i IN (1, 2) AND b AND g LIKE 'x%'"
    " GROUP BY 1, 2, 3, 4, 5"
)
_HOSTILE = (
    "1); COPY (SELECT 1) TO 'acc_hostile'; SELECT (1",
    "x`, (SELECT max(s) FROM lake.d.secret) AS `y",
    'x", (SELECT 1) AS "y',
    "x' OR '1' = '1",
    "x\\' OR 1 = 1 -- ",
    "/* */ --",
    "int, other STRING",
    "\x000:string\x00",
    "",
)
_ODD = (None, True, -(2**70), 1.5, [], {}, 10**400, "1")


def _definition() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(to_dict(cube(_SQL))))
    return found


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in items:
        if isinstance(one, (dict, list)):
            yield from _places(one, (*path, key))
        else:
            yield (*path, key)


def _with(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(_definition())
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def _texts(made: CubeDefinition) -> Iterator[tuple[Any, str]]:
    yield Spark, segments_select(made, ["t0", "t1"])
    yield Spark, missing_select(made, made.edges, ["t0", "t1"])
    for edge in made.edges:
        yield Spark, unique_select(edge, "t1")
    yield Spark, stored_schema(made, {})
    yield DuckDB, merge_select(made, "acc_cells", 7)


def _kinds(made: CubeDefinition) -> list[list[TokenType]]:
    """The kinds of the tokens of all its texts; to a reader two quoted names are the same."""
    return [
        [token.token_type for token in dialect().tokenize(text)] for dialect, text in _texts(made)
    ]


def _check(changed: dict[str, Any]) -> bool:
    """Whether it was taken; then its texts say no more than the sound one's."""
    try:
        kinds = _kinds(from_dict(changed))
    except (ValueError, DeclinedError):
        return False
    sound = _kinds(cube(_SQL))
    for mine, theirs in zip(kinds, sound, strict=True):
        assert len(mine) == len(theirs)
        assert not (set(mine) - set(theirs) - {TokenType.NULL, TokenType.NUMBER})
    return True


def test_the_sound_one_is_taken() -> None:
    assert _check(_definition())


@pytest.mark.parametrize("text", _HOSTILE)
def test_hostile_text_in_every_place(text: str) -> None:
    taken = [path for path in _places(_definition()) if _check(_with(path, text))]
    # Names are any text, and so are texts; nothing else is.
    assert {path[0] for path in taken} <= {"tables", "dimensions", "measures", "conjuncts", *_EXPRS}
    assert taken


_EXPRS = frozenset({"left", "states"})


@pytest.mark.parametrize("value", _ODD, ids=lambda v: repr(v)[:12])
def test_values_of_other_types_in_every_place(value: Any) -> None:
    for path in _places(_definition()):
        _check(_with(path, value))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.sampled_from(_HOSTILE),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)
_WORDS = st.sampled_from(["column", "literal", "call", "agg", "case", "cast", "in", "int", "type"])


@given(st.recursive(_WORDS | _JSON, lambda inner: st.lists(inner, max_size=6), max_leaves=30))
def test_any_json_is_an_expression_or_an_error(data: Any) -> None:
    try:
        from_json(data)
    except ValueError:
        return


def test_a_deep_one_is_an_error() -> None:
    deep: Any = ["column", 0, 1, "k", "int"]
    for _ in range(100_000):
        deep = ["call", "not", [deep], "boolean"]
    with pytest.raises(ValueError, match="too deep"):
        from_json(deep)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ({}, "format None"),
        ({"format": 1}, "`tables`"),
        ({"format": 1, "tables": []}, "length >= 1"),
    ],
)
def test_what_is_no_definition(data: Any, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        from_dict(data)
