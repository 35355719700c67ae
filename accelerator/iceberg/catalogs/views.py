"""Iceberg views: the SELECT of a view's current version, out of its metadata file.

What stands in a metadata file never changes, so its parsed form may be kept. The specification is
Iceberg's view spec, version 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from pydantic import ValidationError

from accelerator.iceberg.errors import read_errors
from accelerator.iceberg.io import read_metadata
from accelerator.iceberg.tables.metadata import field_type_of
from accelerator.iceberg.tables.schema import spark_type

if TYPE_CHECKING:
    from pyiceberg.view.metadata import ViewMetadata

_DIALECT = "spark"
_HINT = "check that the file is there, readable, and of Iceberg's view format version 1"


@dataclass(frozen=True, slots=True)
class ViewPointer:
    """The newest metadata of a view; `metadata` where finding it has parsed it already."""

    location: str
    properties: Mapping[str, str] = field(repr=False)
    metadata: ViewMetadata | None = field(default=None, repr=False)

    def parse(self) -> ViewDefinition:
        """What the view is now, without a text where it has what PyIceberg doesn't know.

        CatalogError where its metadata can't be read.
        """
        with read_errors(f"the view metadata at {self.location}", _HINT, self.properties):
            try:
                return _definition(self.metadata or self._read())
            except ValidationError:  # a column of a newer type, a text that isn't SQL
                return ViewDefinition(None, (), None, ())

    def _read(self) -> ViewMetadata:
        from pyiceberg.view.metadata import ViewMetadata

        return ViewMetadata.model_validate_json(read_metadata(self.location, self.properties))


class ViewDefinition(Struct, frozen=True):
    """A view's columns, as names with Spark's types, and its text.

    `sql` is None where there is no text in Spark's dialect, none without a collation, or one that
    can't be told. `catalog` is None where it's the view's own. `comments` are of its columns.
    """

    sql: str | None
    columns: tuple[tuple[str, str], ...]
    catalog: str | None
    namespace: tuple[str, ...]
    comments: tuple[str | None, ...] = ()
    properties: Mapping[str, str] = msgspec.field(default_factory=dict)
    location: str = ""


def _definition(metadata: ViewMetadata) -> ViewDefinition:
    current = metadata.current_version_id
    version = {one.version_id: one for one in metadata.versions}[current]
    schema = {one.schema_id: one for one in metadata.schemas}[version.schema_id]
    texts = [r.root.sql for r in version.representations if r.root.dialect == _DIALECT]
    plain = len(texts) == 1 and "collation" not in metadata.properties
    return ViewDefinition(
        sql=texts[0] if plain else None,
        columns=tuple(
            (field.name, spark_type(field_type_of(field.field_type))) for field in schema.fields
        ),
        catalog=version.default_catalog,
        namespace=tuple(version.default_namespace),
        comments=tuple(field.doc for field in schema.fields),
        properties=dict(metadata.properties),
        location=metadata.location,
    )
