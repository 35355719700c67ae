"""Which data files are read in process, and which deletes of theirs are applied here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from accelerator.iceberg.errors import EqualityDeletesError, NeedsSparkError
from accelerator.iceberg.files import DeleteRef, LiveFile

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata

_FORMATS = ("parquet", "orc")
_COMPARED = frozenset(
    (
        *("boolean", "int", "long", "float", "double", "decimal", "string", "binary"),
        *("date", "timestamp", "timestamptz"),
    )
)
"""Iceberg's types of which it is known what Spark takes for equal."""


class WithSchema(Protocol):
    """What this needs of a pinned table."""

    @property
    def schema(self) -> Schema:
        """That of the pinned state."""
        ...

    @property
    def metadata(self) -> TableMetadata:
        """Iceberg's own, with the current schema."""
        ...


def check_readable(pinned: WithSchema, files: Sequence[LiveFile]) -> None:
    """Raises NeedsSparkError for files that only Spark reads."""
    why = sparks_deletes(pinned, files)
    if why is not None:
        raise EqualityDeletesError(
            why, hint="Spark applies them; compacting the table removes them"
        )
    for file in files:
        if file.file_format not in _FORMATS:
            raise NeedsSparkError(
                f"{file.path} is an {file.file_format} file",
                hint="Spark reads it; the statement takes that way by itself",
            )


def sparks_deletes(pinned: WithSchema, files: Iterable[LiveFile]) -> str | None:
    """Why equality deletes of these files are left to Spark; None where all are applied here."""
    refs = {ref for file in files for ref in file.deletes if ref.content == "equality"}
    if not refs:
        return None
    known = _compared(pinned.schema) & _compared(pinned.metadata.schema())
    return next((why for ref in refs if (why := _refused(ref, known)) is not None), None)


def _refused(ref: DeleteRef, known: frozenset[int]) -> str | None:
    if not ref.path.endswith(".parquet"):
        return f"the equality deletes in {ref.path} aren't Parquet"
    if not ref.equality_ids or not known.issuperset(ref.equality_ids):
        return f"the equality deletes in {ref.path} compare fields that aren't compared here"
    return None


def _compared(schema: Schema) -> frozenset[int]:
    """Ids of the columns by which rows may be deleted here; what is inside of one isn't among."""
    return frozenset(
        one.field_id
        for one in schema.fields
        if re.split(r"\W", str(one.field_type))[0] in _COMPARED
    )
