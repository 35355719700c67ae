"""What a listing of a store's files tells of each."""

from __future__ import annotations

import re

from msgspec import Struct

# A file as it's written, before it gets its name; see `LocalFiles.create`.
_DRAFT = re.compile(r".+#\d+")


class FileEntry(Struct, frozen=True):
    """A file: its path under the root, its bytes, and the storage's time of writing it."""

    path: str
    bytes: int
    modified_ms: int


def is_draft(name: str) -> bool:
    """Whether it's a file that a writer hasn't finished, or never will."""
    return _DRAFT.fullmatch(name) is not None
