"""What of a column's type and default Spark's text of the type doesn't tell."""

from __future__ import annotations

import pytest

from accelerator.iceberg.tables.metadata import (
    FieldType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from accelerator.iceberg.tables.schema import layout, spark_type


def _struct(field_id: int = 2, *, required: bool = False, default: int | None = None) -> StructType:
    inner = NestedField(
        field_id, "a", "int", required=required, initial_default=default, doc="words"
    )
    return StructType((inner,))


def _layout(kind: FieldType, default: object = None) -> str:
    return layout(NestedField(1, "c", kind, required=False, initial_default=default))


def test_a_plain_column_has_none() -> None:
    assert _layout("int") == ""
    assert layout(NestedField(1, "c", "long", required=True, doc="words")) == ""


def test_defaults_tell_columns_apart() -> None:
    found = {_layout("string", given) for given in (None, "", "None", "1", "a 'b'")}
    assert len(found) == 5


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda kind: kind,
        lambda kind: ListType(8, kind, element_required=False),
        lambda kind: MapType(8, "string", 9, kind, value_required=False),
        lambda kind: MapType(8, kind, 9, "string", value_required=False),
        lambda kind: StructType((NestedField(8, "s", kind, required=False),)),
    ],
)
def test_what_is_inside_counts_at_any_depth(wrapped) -> None:
    kinds = [_struct(), _struct(3), _struct(required=True), _struct(default=1), _struct(default=2)]
    assert len({spark_type(wrapped(kind)) for kind in kinds}) == 1
    assert len({_layout(wrapped(kind)) for kind in kinds}) == 5


def test_ids_and_nullability_of_elements_count() -> None:
    kinds: list[FieldType] = [
        ListType(element_id, "int", element_required=required)
        for element_id in (2, 3)
        for required in (False, True)
    ]
    kinds += [
        MapType(key, "string", value, "int", value_required=required)
        for key, value in ((2, 3), (4, 3), (2, 4))
        for required in (False, True)
    ]
    assert len({_layout(kind) for kind in kinds}) == len(kinds)
