"""Which data files are read in process, and which deletes of theirs are applied here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from accelerator.iceberg.errors import EqualityDeletesError, NeedsSparkError
from accelerator.iceberg.tables.data_file import DeleteRef, LiveFile

if TYPE_CHECKING:
    from accelerator.iceberg.tables.metadata import IcebergSchema, TableMetadata

_FORMATS = ("parquet", "orc")
_COMPARED = frozenset(
    (
        *("boolean", "int", "long", "decimal", "string", "binary"),
        *("date", "timestamp", "timestamptz"),
    )
)
"""Iceberg's types of which it is known what Spark takes for equal. Floats aren't: specified deletes
compare none, and Spark may pass over a delete of NaN, of which bounds say nothing."""
_DELETES_MAX, _ALL_DELETES_MAX = 1 << 21, 1 << 25
"""Of one data file, and of all: with more, Spark's executors share the work."""


class WithSchema(Protocol):
    """What this needs of a pinned table."""

    @property
    def schema(self) -> IcebergSchema:
        """That of the pinned state."""
        ...

    @property
    def metadata(self) -> TableMetadata:
        """The table's, with the current schema."""
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
    hit = [file for file in files if file.deleted_by_value]
    if not hit:
        return None
    refs = {ref for file in hit for ref in file.deletes if ref.content == "equality"}
    then, now = _types(pinned.schema), _types(pinned.metadata.schema())
    known = frozenset(one for one, kind in then.items() if _is_compared(kind, now.get(one)))
    for ref in refs:
        if (why := _refused(ref, known)) is not None:
            return why
    counts = [sum(r.record_count for r in f.deletes if r.content == "equality") for f in hit]
    if max(counts) > _DELETES_MAX or sum(counts) > _ALL_DELETES_MAX:
        return f"more equality deletes apply to {hit[0].path} and others than are applied here"
    specs = pinned.metadata.specs()
    sources = {field.source_id for file in hit for field in specs[file.spec_id].fields}
    # What isn't a column any more may have been one.
    if any(now.get(one, then.get(one, "float")) in ("float", "double") for one in sources):
        return "equality deletes apply to partitions by a float, of which -0.0 and 0.0 are two"
    return None


def _refused(ref: DeleteRef, known: frozenset[int]) -> str | None:
    if not ref.path.endswith(".parquet"):
        return f"the equality deletes in {ref.path} aren't Parquet"
    if not ref.equality_ids or not known.issuperset(ref.equality_ids):
        return f"the equality deletes in {ref.path} compare fields that aren't compared here"
    return None


def _types(schema: IcebergSchema) -> dict[int, str]:
    """The columns' types by their ids; what is inside of one isn't among them."""
    return {one.field_id: str(one.field_type) for one in schema.fields}


def _is_compared(then: str, now: str | None) -> bool:
    """Whether the pinned type is compared here, and the current one is it, or was widened from it.

    REPLACE TABLE gives a column of another type the old one's id.
    """
    kind = re.split(r"\W", then)[0]
    if kind not in _COMPARED or now is None:
        return False
    scale = then.rpartition(",")[2]
    widened = kind == "decimal" and now.startswith("decimal") and now.rpartition(",")[2] == scale
    return then == now or (then, now) == ("int", "long") or widened
