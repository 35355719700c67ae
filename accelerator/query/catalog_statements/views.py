"""Describes a view as Spark does: columns, properties, and the statement that makes it."""

from __future__ import annotations

import pyarrow as pa
from msgspec import Struct

from accelerator.iceberg import Lake
from accelerator.iceberg.catalogs.views import ViewDefinition
from accelerator.iceberg.spark_text.tables import is_masked
from accelerator.iceberg.spark_text.types import escaped
from accelerator.query.catalog_statements import listings
from accelerator.query.catalog_statements.nodes import Name
from rewrite.identifiers.quoting import quoted, quoted_if_needed
from rewrite.reason import CATALOG_NEEDS_SPARK as NEEDS_SPARK
from rewrite.reason import DeclinedError

_ORDERED_MAX = 4
"""Scala keeps the order of a map up to so many entries."""
_RESERVED = ("comment", "owner", "engine_version", "create_engine_version")


class CatalogView(Struct, frozen=True):
    """A view by its full name."""

    full: Name
    definition: ViewDefinition


def view(lake: Lake, parts: Name) -> CatalogView | None:
    """The view of that name; None if there is none."""
    full = lake.resolve(parts)
    found = lake.view_definition(full)
    return None if found is None else CatalogView(full, found)


def described(view: CatalogView, *, extended: bool) -> pa.Table:
    """DESCRIBE TABLE of a view."""
    if extended:
        raise DeclinedError(NEEDS_SPARK, "More of a view.")
    definition = _readable(view)
    rows = [
        (name, type_, comment or "")
        for (name, type_), comment in zip(definition.columns, definition.comments, strict=True)
    ]
    return listings.described(rows)


def _readable(view: CatalogView) -> ViewDefinition:
    """Returns its definition; DeclinedError if Spark may write it in another way."""
    definition = view.definition
    if definition.sql is None or any("struct<" in type_ for _, type_ in definition.columns):
        raise DeclinedError(NEEDS_SPARK, f"The view {quoted(view.full)}.")
    return definition


def create(view: CatalogView) -> pa.Table:
    """SHOW CREATE TABLE of a view."""
    definition = _readable(view)
    shown = definition.properties
    listed = [
        quoted_if_needed(name) + ("" if comment is None else f" COMMENT '{escaped(comment)}'")
        for (name, _), comment in zip(definition.columns, definition.comments, strict=True)
    ]
    text = f"CREATE VIEW {quoted(view.full)} {_lines(listed)}"
    if shown.get("comment"):
        text += f"COMMENT '{escaped(shown['comment'])}'\n"
    pairs = sorted(_properties(definition).items())
    told = [f"'{escaped(key)}' = '{escaped(value)}'" for key, value in pairs]
    text += f"TBLPROPERTIES {_lines(told)}AS\n{definition.sql}\n"
    return listings.texts(("createtab_stmt",), [(text,)])


def properties(view: CatalogView, key: str | None) -> pa.Table:
    """SHOW TBLPROPERTIES of a view."""
    every = _properties(_readable(view))
    if key is not None and key not in every:
        raise DeclinedError(NEEDS_SPARK, "A property that the view doesn't have.")
    if key is None and len(every) > _ORDERED_MAX:
        raise DeclinedError(NEEDS_SPARK, "Spark orders a view's many properties by chance.")
    rows = every.items() if key is None else [(key, every[key])]
    return listings.texts(("key", "value"), rows)


def _properties(definition: ViewDefinition) -> dict[str, str]:
    """The properties that Spark shows of a view, in its order; secrets are masked."""
    own = {key: value for key, value in definition.properties.items() if not _is_reserved(key)}
    found = {
        "location": definition.location,
        "provider": "iceberg",
        **own,
        "format-version": "1",
    }
    if any(is_masked(key, value) for key, value in found.items()):
        raise DeclinedError(NEEDS_SPARK, "Spark masks a property.")
    return found


def _is_reserved(key: str) -> bool:
    return key in _RESERVED or key.startswith(("spark.", "queryColumnNames"))


def _lines(parts: list[str]) -> str:
    return "(\n  " + ",\n  ".join(parts) + ")\n"
