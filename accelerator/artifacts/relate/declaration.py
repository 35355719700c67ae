"""A relate column as a value, and as the table property that keeps it (`docs/formats/relate.md`).

Columns are kept by field id and tables by uuid, so that renaming either changes nothing. A property
that can't be read is no relate column for statements, and is listed with its problem.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, convert, field

from accelerator.common.records.as_dict import as_dict
from accelerator.errors import UNFIT
from rewrite.ir.expr import Aggregate, Column, Expr, walk
from rewrite.ir.expr_json import from_json, to_json
from rewrite.rules.push_through_joins import Related, RelateKey, RelateStep

PREFIX = "accelerator.relate."
FORMAT = 1
EXPRESSION_FORMAT = 2
"""Of an expression; an attribute is kept as the first format has it, which older releases read."""


class Field(Struct, frozen=True):
    """A column, by its field id and the name that it had when it was declared."""

    field_id: int = field(name="id")
    name: str


NO_FIELD = Field(0, "")


class RelateKeyColumn(Struct, frozen=True):
    """A dimension's column equals one of the table at place `of` of the path; 0 is the fact."""

    of: int
    other: Field
    own: Field


class Join(Struct, frozen=True):
    """A dimension on the way: its full name when it was declared, its uuid, its key."""

    table: tuple[str, ...]
    uuid: str
    keys: tuple[RelateKeyColumn, ...]


class RelateColumn(Struct, frozen=True):
    """A relate column. `id` is negative, random, and takes a field id's place.

    It's an attribute, or an `expression` over attributes; `attribute` has the id 0 then. There a
    column's occurrence is the place of its dimension in the path, from 1 on, and its type the one
    that it had when it was declared. `problem` says why nothing is known of it but its name.
    """

    name: str
    id: int
    path: tuple[Join, ...]
    attribute: Field
    problem: str = ""
    expression: Expr | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """What it needs of the dimensions, each once; an attribute's type isn't kept."""
        if self.expression is None:
            one = Column(len(self.path), self.attribute.field_id, self.attribute.name, None)
            return (one,)
        found = (node for node in walk(self.expression) if isinstance(node, Column))
        return tuple(dict.fromkeys(found))

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
        return Related(self.id, self.name, path, self.attribute.field_id, self.expression)


def to_property(column: RelateColumn) -> str:
    """The property's value."""
    value: dict[str, Any] = {"version": FORMAT, "id": column.id, "path": as_dict(column.path)}
    if column.expression is None:
        value["attribute"] = as_dict(column.attribute)
    else:
        value["version"] = EXPRESSION_FORMAT
        value["expression"] = to_json(column.expression)
    return json.dumps(value, ensure_ascii=False)


def from_property(name: str, text: str) -> RelateColumn:
    """The relate column that the property keeps; one with a problem where it can't be read."""
    try:
        raw = json.loads(text)
        version = raw["version"]
        if version not in (FORMAT, EXPRESSION_FORMAT):
            known = f"{FORMAT} or {EXPRESSION_FORMAT}"
            return _unreadable(name, f"its format version is {version}, not {known}")
        path = convert(raw["path"], tuple[Join, ...])
        number = convert(raw["id"], int)
        for place, join in enumerate(path):
            _check_keys(join, place)
        if not path or number >= 0:
            return _unreadable(name, "its property has no path, or an id that isn't its own")
        if version == FORMAT:
            return RelateColumn(name, number, path, convert(raw["attribute"], Field))
        expression = _expression(raw["expression"], len(path))
        return RelateColumn(name, number, path, NO_FIELD, expression=expression)
    except UNFIT as error:
        return _unreadable(name, f"its property can't be read ({type(error).__name__}: {error})")


def relate_columns(properties: Mapping[str, str]) -> tuple[RelateColumn, ...]:
    """All that a table's properties keep, by name; damaged ones among them."""
    return tuple(
        from_property(key.removeprefix(PREFIX), text)
        for key, text in sorted(properties.items())
        if key.startswith(PREFIX)
    )


def _unreadable(name: str, problem: str) -> RelateColumn:
    return RelateColumn(name, 0, (), NO_FIELD, problem)


def _check_keys(join: Join, place: int) -> None:
    if not join.keys:
        raise ValueError("a join without a key")
    # The first dimension is reached from the fact alone, others from dimensions before them.
    if not all(min(place, 1) <= key.of <= place for key in join.keys):
        raise ValueError("a key of a table that isn't before it")


def _expression(raw: Any, dimensions: int) -> Expr:
    expr = from_json(raw)
    found = False
    for node in walk(expr):
        if isinstance(node, Aggregate) or not isinstance(node.type, str):
            raise ValueError("an aggregate in it, or something without a type")
        if isinstance(node, Column):
            found = True
            if not 1 <= node.occurrence <= dimensions:
                raise ValueError("a column of a table that isn't on its path")
    if not found:
        raise ValueError("an expression without a column")
    return expr
