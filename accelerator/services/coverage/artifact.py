"""One cube or index as SHOW COVERAGE has it: what covers each live data file, or why nothing does.

Promises: every live file of the table's newest state is covered or has one reason, which is a code
of `rewrite/reason.py`. No data file is read, and nothing of the store is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from accelerator.iceberg import PinnedTable
from accelerator.store import CubeRecord, IndexRecord
from rewrite.identifiers.qualified_name import joined, parts_of
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

FileKey = tuple[str, int]
"""A data file's path and sequence number."""
CUBE = "cube"
"""A cube's kind; an index's is the one that it was made with."""
NOT_BUILT = Declined("not_built")


class ArtifactCoverage(Struct, frozen=True):
    """What a cube or an index covers of a table at one snapshot.

    `segments` are by file the paths of what covers it: a segment, a sidecar or a bundle. Other
    files have one of the `reasons`, or the one that holds `otherwise`.
    """

    name: str
    kind: str
    table: PinnedTable
    segments: Mapping[FileKey, str] = field(default_factory=dict)
    reasons: Mapping[FileKey, Declined] = field(default_factory=dict)
    otherwise: Declined = NOT_BUILT


def nothing_of(
    record: CubeRecord | IndexRecord, table: PinnedTable, why: Declined
) -> ArtifactCoverage:
    """No file of the table, for that reason; for that of being switched off, if it is."""
    kind, off = CUBE, "cube_disabled"
    if isinstance(record, IndexRecord):
        kind, off = record.kind, "index_disabled"
    if record.disabled is not None:
        why = Declined(off, record.disabled)
    return ArtifactCoverage(record.name, kind, table, otherwise=why)


def unusable(
    services: Services, record: CubeRecord | IndexRecord, code: str, error: Exception
) -> ArtifactCoverage:
    """What can't be built or asked any more covers no file of its table; the error says why.

    Raises it where the table itself is gone, or isn't the one that the artifact was made for.
    """
    pinned = services.lake.pin().pinned(parts_of(record.table))
    if pinned is None or pinned.facts.uuid != record.table_uuid:
        raise error
    return nothing_of(record, pinned, Declined(code, sentence(str(error).splitlines()[0])))


def sentence(text: str) -> str:
    """A message as a sentence of its own."""
    return f"{text[:1].upper()}{text[1:]}."


def moved(tables: Mapping[int, PinnedTable], states: Mapping[int, tuple[str, int | None]]) -> str:
    """Names of the tables whose snapshot isn't the one that is given; both are by their numbers."""
    return ", ".join(
        joined(table.parts)
        for number, table in sorted(tables.items())
        if states.get(number) != (table.facts.uuid, table.facts.snapshot_id)
    )
