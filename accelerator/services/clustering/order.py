"""An order that files are clustered by, and what remembers it (`docs/formats/clustering.md`).

Columns are kept by field id, relate columns by their own, so that renaming one changes nothing. A
data file tells by its path by which order it was written: nothing else stays with a file for as
long as it lives, and on every branch that has it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, convert

from accelerator.artifacts.relate.path import Path
from accelerator.errors import UNFIT
from accelerator.services.clustering.ranks import Ranking

PROPERTY = "accelerator.clustering"
"""Of a table: the order of its last rewrite. Of a snapshot: the id of the order of its files."""
FORMAT = 1
_FOLDER = "accelerator-clustered"
_ID_BYTES = 8

Curve = Literal["sort", "zorder", "hilbert"]


class OrderKey(Struct, frozen=True):
    """A column of the order; `path` leads to it where it's a relate column.

    NULLs stand first, and last where `descending`, as Spark sorts.
    """

    field_id: int
    name: str
    type: str
    descending: bool = False
    path: Path | None = None

    @property
    def ranked_as(self) -> str:
        """Decimals may be wider than what is ranked; their doubles have their order, with ties."""
        return "double" if self.type.startswith("decimal") else self.type


class Order(Struct, frozen=True):
    """What rows are ordered by: one column after the other, or along a curve through all."""

    table_uuid: str
    curve: Curve
    keys: tuple[OrderKey, ...]

    @property
    def id(self) -> str:
        """The same for the same order of the same table, whatever its columns are called."""
        told = [self.table_uuid, self.curve, *((k.field_id, k.descending) for k in self.keys)]
        digest = hashlib.blake2b(json.dumps(told).encode(), digest_size=_ID_BYTES)
        return digest.hexdigest()

    @property
    def _mark(self) -> str:
        return f"/{_FOLDER}/{self.id}/"

    def folder(self, data_location: str, run: str) -> str:
        """Where a run's files go: a folder that no other run has."""
        return f"{data_location.rstrip('/')}{self._mark}{run}"

    def has(self, path: str) -> bool:
        """Whether the data file was written by this order."""
        return self._mark in path

    def to_property(self, rankings: Sequence[Ranking] = ()) -> str:
        """The property's value; a curve's has the bounds that its columns were ranked by."""
        keys = [
            {"id": key.field_id, "name": key.name, "descending": key.descending}
            for key in self.keys
        ]
        told: dict[str, Any] = {"version": FORMAT, "id": self.id, "order": self.curve, "keys": keys}
        if rankings:
            told["bounds"] = [one.to_json() for one in rankings]
        return json.dumps(told, separators=(",", ":"))

    def rankings(self, properties: Mapping[str, str]) -> tuple[Ranking, ...]:
        """The bounds that a table keeps of this order; none where it keeps none that can be read.

        Of another order's rewrite it keeps that one's.
        """
        stored = StoredOrder.of(properties)
        if stored is None or stored.id != self.id:
            return ()
        try:
            pairs = zip(self.keys, stored.bounds, strict=True)
            return tuple(Ranking.from_json(key.ranked_as, bounds) for key, bounds in pairs)
        except UNFIT:
            return ()


class _StoredKey(Struct, frozen=True):
    id: int
    name: str


class StoredOrder(Struct, frozen=True):
    """The order in a table's property; `order` is its curve."""

    version: Literal[1]
    id: str
    order: Curve
    keys: tuple[_StoredKey, ...]
    bounds: tuple[Any, ...] = ()

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> StoredOrder | None:
        """Reads it; None if there is none, or none that can be read."""
        try:
            return convert(json.loads(properties.get(PROPERTY, "{}")), cls)
        except (ValueError, RecursionError):
            return None


def relates(keys: Sequence[OrderKey]) -> list[tuple[OrderKey, Path]]:
    """The relate columns among the keys."""
    return [(key, key.path) for key in keys if key.path is not None]
