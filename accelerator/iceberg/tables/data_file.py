"""A live data file of a snapshot, and the delete files that apply to it.

Exact as the specification has it: a deletion vector replaces position deletes, position deletes
apply from their own sequence number down, equality deletes strictly below it. Where a delete's
reach isn't certain it counts as applying: that costs speed, and never a row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

PATH_FIELD_ID = 2147483546  # of `file_path` in position delete files


class DeleteRef(Struct, frozen=True):
    """A delete file, or one deletion vector in a Puffin file.

    `equality_ids`: the fields that an equality delete compares, as its manifest says.
    """

    path: str
    content: Literal["position", "equality", "dv"]
    sequence_number: int
    record_count: int
    content_offset: int | None = None
    content_size: int | None = None
    equality_ids: tuple[int, ...] = ()

    def check_rows(self, rows: int) -> None:
        """ValueError where its file has another number of rows than its manifest says.

        Asked of what the footer says, and of what then was read, which may be two things.
        """
        if rows != self.record_count:
            raise ValueError(f"{self.path} hasn't as many rows as its manifest says")


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file of a snapshot. `path` is the manifest's own text, as Spark's `_file` gives it.

    Counts are -1 where the manifest doesn't say. `fixed` is by field id what the file's spec keeps
    as it is: to Spark every row of the file has that value.
    """

    path: str
    sequence_number: int
    size_bytes: int
    record_count: int
    file_format: str
    spec_id: int
    deletes: tuple[DeleteRef, ...] = ()
    fixed: Mapping[int, object] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> tuple[str, int]:
        """What artifacts are keyed by: no two contents ever share it."""
        return self.path, self.sequence_number

    @property
    def deleted_by_value(self) -> bool:
        """Whether some of its deletes are equality deletes."""
        return any(ref.content == "equality" for ref in self.deletes)

    @property
    def deletes_key(self) -> str:
        """Empty without deletes, else a short hash that changes with the set of deletes."""
        if not self.deletes:
            return ""
        refs = sorted(
            (ref.path, ref.content_offset or 0, ref.sequence_number, ref.content)
            for ref in self.deletes
        )
        return hashlib.blake2b(repr(refs).encode(), digest_size=8).hexdigest()


def applying(reaching: Iterable[DeleteRef], sequence_number: int) -> tuple[DeleteRef, ...]:
    """Those that apply to a data file of that sequence number, of those that reach it."""
    found = [ref for ref in reaching if _is_later(ref, sequence_number)]
    if any(ref.content == "dv" for ref in found):
        # A deletion vector holds what position deletes had said before it.
        found = [ref for ref in found if ref.content != "position"]
    return tuple(sorted(found, key=lambda ref: (ref.path, ref.content_offset or 0)))


def _is_later(ref: DeleteRef, sequence_number: int) -> bool:
    """Whether the delete came late enough: an equality delete spares rows of its own commit."""
    if ref.content == "equality":
        return ref.sequence_number > sequence_number
    return ref.sequence_number >= sequence_number
