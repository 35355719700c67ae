"""Stored definitions: the bytes of each format are kept for ever, read and written as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from cubes.definition import define, from_dict, to_dict
from cubes.kll import size_for
from rewrite.errors import DefinitionError
from tests.cubes.star import block, cube

_GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("format_", [1, 2])
def test_golden_definitions(format_: int) -> None:
    kept = json.loads((_GOLDEN / f"definition_{format_}.json").read_text("utf-8"))
    assert kept["definition"]["format"] == format_
    made = cube(kept["sql"])
    assert json.loads(json.dumps(to_dict(made))) == kept["definition"]
    read = from_dict(kept["definition"])
    assert read == made
    assert to_dict(read) == to_dict(made)


def test_another_format_is_refused() -> None:
    data = to_dict(cube("SELECT g, count(*) n FROM f GROUP BY g"))
    with pytest.raises(ValueError, match="format 3"):
        from_dict(data | {"format": 3})


def test_one_sketch_is_kept_at_the_finest_accuracy() -> None:
    made = cube(
        "SELECT g, approx_percentile(v, 0.5, 100) a, approx_percentile(v, 0.9, 1000) b,"
        " approx_percentile(v, 0.9, 10) c, count(v) d FROM f GROUP BY g"
    )
    assert [(s.kind, s.size) for s in made.states] == [
        ("rows", 0),
        ("kll", size_for(1000)),
        ("count", 0),
    ]
    coarse = cube("SELECT g, approx_percentile(v, 0.5, 100) a FROM f GROUP BY g")
    assert made.states[1] == replace(coarse.states[1], size=size_for(1000))


@pytest.mark.parametrize(
    "aggregate", ["approx_percentile(v, 0.5, 20994)", "approx_percentile(c, 0.5)"]
)
def test_a_percentile_without_a_sketch_is_refused(aggregate: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        define(block(f"SELECT g, {aggregate} p FROM f GROUP BY g"))
    assert caught.value.message.startswith("p: ")
    assert caught.value.hint
