"""What a view is, as Spark tells it: its columns, and the statement that makes it."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from accelerator.catalog_statements.kinds import Name
from accelerator.catalog_statements.listings import texts
from accelerator.catalog_statements.names import NEEDS_SPARK, quoted, quoted_if_needed
from accelerator.catalog_statements.types import escaped
from accelerator.iceberg import Lake
from accelerator.iceberg.views import ViewDefinition
from rewrite.reason import DeclinedError

_RESERVED = ("comment", "owner", "engine_version", "create_engine_version")


@dataclass(frozen=True, slots=True)
class View:
    """A view by its full name."""

    full: Name
    definition: ViewDefinition


def view(lake: Lake, parts: Name) -> View | None:
    """The view of that name; None if there is none."""
    full = lake.resolve(parts)
    found = lake.view_definition(full)
    return None if found is None else View(full, found)


def described(view: View, *, extended: bool) -> pa.Table:
    """DESCRIBE TABLE of a view."""
    if extended:
        raise DeclinedError(NEEDS_SPARK, "Only Spark tells more of a view.")
    definition = _readable(view)
    rows = [
        (name, type_, comment or "")
        for (name, type_), comment in zip(definition.columns, definition.comments, strict=True)
    ]
    return texts(("col_name", "data_type", "comment"), rows, nullable="comment")


def _readable(view: View) -> ViewDefinition:
    """What is known of it; DeclinedError for what Spark may write in another way."""
    definition = view.definition
    if definition.sql is None or any("struct<" in type_ for _, type_ in definition.columns):
        raise DeclinedError(NEEDS_SPARK, f"The view {quoted(view.full)}.")
    return definition


def create(view: View) -> pa.Table:
    """SHOW CREATE TABLE of a view."""
    definition = _readable(view)
    shown = {
        **definition.properties,
        "format-version": "1",
        "location": definition.location,
        "provider": "iceberg",
    }
    listed = [
        quoted_if_needed(name) + ("" if comment is None else f" COMMENT '{escaped(comment)}'")
        for (name, _), comment in zip(definition.columns, definition.comments, strict=True)
    ]
    text = f"CREATE VIEW {quoted(view.full)} {_lines(listed)}"
    if shown.get("comment"):
        text += f"COMMENT '{escaped(shown['comment'])}'\n"
    pairs = sorted((key, value) for key, value in shown.items() if not _is_reserved(key))
    told = [f"'{escaped(key)}' = '{escaped(value)}'" for key, value in pairs]
    text += f"TBLPROPERTIES {_lines(told)}AS\n{definition.sql}\n"
    return texts(("createtab_stmt",), [(text,)])


def _is_reserved(key: str) -> bool:
    return key in _RESERVED or key.startswith(("spark.", "queryColumnNames"))


def _lines(parts: list[str]) -> str:
    return "(\n  " + ",\n  ".join(parts) + ")\n"
