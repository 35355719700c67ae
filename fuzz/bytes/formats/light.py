"""Light blobs, each by itself: filters, range filters and bounds of one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from accelerator.artifacts.sidecars.probe import UNREADABLE
from fuzz.bytes.formats.columns import Sampled, blobs, floats, names, numbers, scattered, texts
from fuzz.bytes.kinds import Format, Input, Step, WrongError
from fuzz.bytes.seals import trailing
from indexes.kind import Blob, Clauses, Intervals
from indexes.kinds import KINDS
from indexes.kinds.bloom import answers
from indexes.kinds.bounds import apart, gathered, read_bounds
from indexes.range.bundle import shape_of
from indexes.range.filters import answers as answers_range
from indexes.range.filters import read_filter


def light(sampled: Sampled, kind: str, **options: Any) -> Blob:
    """The light blob of the column."""
    (found,) = (one for one in blobs(sampled, kind, **options) if one.light)
    return found


def _sample(sampled: Sampled, kind: str, **options: Any) -> Input:
    blob = light(sampled, kind, **options)
    index = KINDS[kind]
    every = index.options(sampled.column.type, options)
    asked = [index.asked(one, sampled.column.type, every) for one in sampled.questions]
    facts = {"type": blob.type, "properties": dict(blob.properties)}
    return Input(blob.data, facts, [one for one in asked if one is not None])


def _blob(given: Input) -> Blob:
    return Blob(str(given.facts["type"]), given.data, True, given.facts["properties"])


def _told(test: Callable[[Blob, Any], bool], given: Input, asked: Any) -> bool:
    found = test(_blob(given), asked)
    if not isinstance(found, bool):
        raise WrongError(f"{found!r} is no answer")
    return found


def _filter_steps(given: Input) -> Iterable[Step]:
    """Properties come from a bundle's record, where they're checked to be texts by their names."""
    _plain(given)
    asked: list[Clauses] = [one for one in given.context if not isinstance(one, Intervals)]
    return [partial(_told, answers, given, one) for one in asked]


def _range_steps(given: Input) -> Iterable[Step]:
    _plain(given)
    asked = [one for one in given.context if isinstance(one, Intervals)]
    return [*(partial(_told, answers_range, given, one) for one in asked), partial(_shape, given)]


def _shape(given: Input) -> Any:
    """As whoever gathers blobs into a bundle looks at each."""
    shape, found = shape_of(_blob(given)), read_filter(_blob(given))
    return repr(shape), found.bits


def _plain(given: Input) -> None:
    """ValueError where a blob's facts aren't what a task could give back."""
    facts = given.facts
    if not isinstance(facts, dict) or not isinstance(facts.get("properties"), dict):
        raise ValueError("no blob")
    if not all(isinstance(one, str) for one in facts["properties"].values()) or "type" not in facts:
        raise ValueError("properties that aren't texts")


def _filters() -> Sequence[Input]:
    return [
        _sample(numbers(), "BLOOM"),
        _sample(texts(300), "BLOOM"),
        _sample(names(), "TOKEN_BLOOM"),
        _sample(numbers(60, 40), "BLOOM", filter="pybloom"),
    ]


def _ranges() -> Sequence[Input]:
    modes = ("bucket", "gaps", "bloomrf")
    return [
        *(_sample(scattered(), "RANGE", mode=mode) for mode in modes),
        _sample(floats(), "RANGE", mode="bucket"),
        _sample(names(), "RANGE"),
        _sample(names(), "RANGE", mode="bucket"),
    ]


def _bounds_samples() -> Sequence[Input]:
    return [Input(_bounds_of(numbers)), Input(_bounds_of(floats)), Input(_bounds_of(texts))]


def _bounds_of(made: Callable[..., Sampled]) -> bytes:
    found = [light(made(rows), "BOUNDS") for rows in (60, 90, 120)]
    return gathered(found)


def _bounds_steps(given: Input) -> Iterable[Step]:
    yield partial(_bounds, given)


def _bounds(given: Input) -> Any:
    """As `_KnownBounds` spreads them over files."""
    table = read_bounds(given.data)
    table.validate(full=True)
    files = table.num_rows
    told = {
        "nulls": np.full(files, -1, dtype=np.int64),
        "nans": np.full(files, -1, dtype=np.int64),
        "tight": np.zeros(files, dtype=bool),
    }
    for name, values in told.items():
        values[:] = table.column(name).to_numpy()
    ends = [table.column(name).combine_chunks() for name in ("lower", "upper")]
    apart(table, {})
    return repr([*(one.to_pylist() for one in ends), *(one.tolist() for one in told.values())])


FORMATS = (
    Format("filters of one file", _filters, _filter_steps, UNREADABLE),
    Format(
        "range filters of one file",
        _ranges,
        _range_steps,
        UNREADABLE,
        sealed=True,
        repaired=trailing,
        believed=("indexes.range.filters",),
    ),
    Format("bounds", _bounds_samples, _bounds_steps, UNREADABLE),
)
