"""Names and paths of a store's files, checked: what a record says may not lead out of the root."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

from accelerator.errors import StoreError

_NAME = re.compile(r"\A[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}\Z")
FileName = Annotated[str, Meta(pattern=_NAME.pattern)]


def name_of(value: object) -> str:
    """A text that may name one folder or file under the root; ValueError for any other value."""
    if not isinstance(value, str) or not is_name(value):
        raise ValueError(f"no name of a file: {str(value)[:80]!r}")
    return value


def is_name(text: str) -> bool:
    """Whether that may name one folder or file under the root."""
    return _NAME.fullmatch(text) is not None


def strays(path: str) -> bool:
    """Whether a path may be another than it says: it has `..` for a part, or a NUL."""
    return "\0" in path or (".." in path and ".." in path.split("/"))


def inside(path: str) -> str:
    """The path, which is relative to a root; StoreError where it could lead out of it."""
    if path.startswith("/") or strays(path):
        raise StoreError(
            f"{path[:200]!r} isn't a path in the store",
            hint="a record names it that was changed by hand or by somebody else: drop the cube or "
            "index, and create it again",
        )
    return path
