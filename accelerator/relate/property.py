"""A relate column as a value, and as the table property that keeps it (`docs/formats/relate.md`).

Columns are kept by field id and tables by uuid, so that renaming either changes nothing. A property
that can't be read is no relate column for statements, and is listed with its problem.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewrite.relate import Related, RelateKey, RelateStep

PREFIX = "accelerator.relate."
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Field:
    """A column, by its field id and the name that it had when it was declared."""

    field_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Key:
    """A dimension's column equals one of the table at place `of` of the path; 0 is the fact."""

    of: int
    other: Field
    own: Field


@dataclass(frozen=True, slots=True)
class Join:
    """A dimension on the way: its full name when it was declared, its uuid, its key."""

    table: tuple[str, ...]
    uuid: str
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class RelateColumn:
    """A relate column. `id` is negative, random, and takes a field id's place.

    `problem` says why nothing is known of it but its name.
    """

    name: str
    id: int
    path: tuple[Join, ...]
    attribute: Field
    problem: str = ""

    @property
    def related(self) -> Related:
        """What rewriting knows of it."""
        path = tuple(
            RelateStep(
                join.uuid,
                tuple(RelateKey(k.of, k.other.field_id, k.own.field_id) for k in join.keys),
            )
            for join in self.path
        )
        return Related(self.id, self.name, path, self.attribute.field_id)


def to_property(column: RelateColumn) -> str:
    """The property's value."""
    path = [
        {
            "table": list(join.table),
            "uuid": join.uuid,
            "keys": [
                {"of": key.of, "other": _told(key.other), "own": _told(key.own)}
                for key in join.keys
            ],
        }
        for join in column.path
    ]
    value = {
        "version": FORMAT,
        "id": column.id,
        "path": path,
        "attribute": _told(column.attribute),
    }
    return json.dumps(value, ensure_ascii=False)


def from_property(name: str, text: str) -> RelateColumn:
    """The relate column that the property keeps; one with a problem where it can't be read."""
    try:
        raw = json.loads(text)
        if raw["version"] != FORMAT:
            return _unreadable(name, f"its format version is {raw['version']}, not {FORMAT}")
        path = tuple(_join(one, place) for place, one in enumerate(raw["path"]))
        number = int(raw["id"])
        if not path or number >= 0:
            return _unreadable(name, "its property has no path, or an id that isn't its own")
        return RelateColumn(name, number, path, _field(raw["attribute"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return _unreadable(name, f"its property can't be read ({type(error).__name__}: {error})")


def relate_columns(properties: Mapping[str, str]) -> tuple[RelateColumn, ...]:
    """All that a table's properties keep, by name; damaged ones among them."""
    return tuple(
        from_property(key.removeprefix(PREFIX), text)
        for key, text in sorted(properties.items())
        if key.startswith(PREFIX)
    )


def _unreadable(name: str, problem: str) -> RelateColumn:
    return RelateColumn(name, 0, (), Field(0, ""), problem)


# Raw values are of any JSON type: `from_property` catches what doesn't fit.
def _join(raw: dict[str, Any], place: int) -> Join:
    keys = tuple(Key(int(k["of"]), _field(k["other"]), _field(k["own"])) for k in raw["keys"])
    if not keys:
        raise ValueError("a join without a key")
    # The first dimension is reached from the fact alone, others from dimensions before them.
    if not all(min(place, 1) <= key.of <= place for key in keys):
        raise ValueError("a key of a table that isn't before it")
    return Join(tuple(map(str, raw["table"])), str(raw["uuid"]), keys)


def _field(raw: dict[str, Any]) -> Field:
    return Field(int(raw["id"]), str(raw["name"]))


def _told(field: Field) -> dict[str, int | str]:
    return {"id": field.field_id, "name": field.name}
