"""The values that most rows have, with their counts: a summary of Misra and Gries, as JSON.

Rows are counted value by value within a batch; beyond 256 values the smallest counts go, and what
goes of each is added to `error`. Promises: a value's rows are at least its count, and at most
its count and `error`; a value that isn't held has at most `error` rows. So summaries of disjoint
rows merge. Texts of more than 256 bytes are counted in `long` alone and are no part of the promise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta, Struct, convert, field

HEAVY_HITTERS = "lakehouse-accelerator-heavy-hitters-v1"
HELD = 256
BYTES_MAX = 256
_KINDS = frozenset(("boolean", "int", "long", "date", "string"))
_ROWS_MAX = 1 << 62


def has_heavy_hitters(kind: str) -> bool:
    """Whether a column of Iceberg's type of that word gets such a summary."""
    return kind in _KINDS


class HeavyHitters(Struct, frozen=True):
    """Of some rows: `rows` that aren't NULL, values as text with counts, the largest first."""

    rows: int = 0
    error: int = 0
    long: int = 0
    values: Mapping[str, int] = field(default_factory=dict)

    def updated(self, counted: pa.StructArray) -> HeavyHitters:
        """With these values too: `pc.value_counts` of rows, NULL not among them."""
        values, counts = counted.field("values"), counted.field("counts")
        rows, long, cut = int(pc.sum(counts).as_py() or 0), 0, 0
        if pa.types.is_string(values.type):
            is_long = pc.greater(pc.binary_length(values), BYTES_MAX)
            long = int(pc.sum(counts.filter(is_long)).as_py() or 0)
            if long:
                short = pc.invert(is_long)
                values, counts = values.filter(short), counts.filter(short)
        if len(values) > HELD:  # most go at once, without becoming texts
            chosen, cut = _largest(counts.to_numpy(), HELD)
            values = values.take(pa.array(chosen))
            counts = pc.subtract(counts.take(pa.array(chosen)), cut)
        texts = values.cast(pa.string()).to_pylist()
        one = HeavyHitters(rows, cut, long, dict(zip(texts, counts.to_pylist(), strict=True)))
        return self.merged(one)

    def merged(self, other: HeavyHitters) -> HeavyHitters:
        """Of the rows of both."""
        together = dict(self.values)
        for value, count in other.values.items():
            together[value] = together.get(value, 0) + count
        error, cut = self.error + other.error, 0
        names, counts = list(together), np.array(list(together.values()), dtype=np.int64)
        if len(names) > HELD:
            chosen, cut = _largest(counts, HELD)
            names, counts = [names[i] for i in chosen.tolist()], counts[chosen] - cut
        ordered = sorted(
            zip(names, counts.tolist(), strict=True), key=lambda pair: (-pair[1], pair)
        )
        return HeavyHitters(
            self.rows + other.rows, error + cut, self.long + other.long, dict(ordered)
        )

    def to_bytes(self) -> bytes:
        """As JSON, in UTF-8."""
        shown = {"rows": self.rows, "error": self.error, "long": self.long}
        document = {**shown, "values": [[value, count] for value, count in self.values.items()]}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _largest(counts: npt.NDArray[np.int64], most: int) -> tuple[npt.NDArray[np.int64], int]:
    """The places of at most so many counts, and what is to be taken off each: the next one."""
    order = np.argpartition(-counts, most)
    cut = int(counts[order[most]])
    chosen = order[:most]
    return chosen[counts[chosen] > cut], cut


_Rows = Annotated[int, Meta(ge=0, le=_ROWS_MAX)]
_Pair = tuple[Annotated[str, Meta(max_length=BYTES_MAX)], Annotated[int, Meta(ge=1, le=_ROWS_MAX)]]


class _Document(Struct, frozen=True, forbid_unknown_fields=True):
    rows: _Rows
    error: _Rows
    long: _Rows
    values: Annotated[tuple[_Pair, ...], Meta(max_length=HELD)]


def parsed(data: bytes) -> HeavyHitters:
    """The summary of these bytes; ValueError where they aren't those of one."""
    try:
        document = convert(json.loads(data), _Document)
    except RecursionError as deep:
        raise ValueError(f"heavy hitters can't be read: {deep!r}") from None
    values = dict(document.values)
    if len(values) != len(document.values) or any(len(v.encode()) > BYTES_MAX for v in values):
        raise ValueError("heavy hitters of one value twice, or of too long a one")
    rows, error, long = document.rows, document.error, document.long
    if sum(values.values()) + long > rows or error > rows:
        raise ValueError("heavy hitters that count more rows than there are")
    return HeavyHitters(rows, error, long, values)
