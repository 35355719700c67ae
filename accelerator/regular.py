"""Local files that are opened only where they're files: a pipe might never end, nor a device."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """The local file, to be read; OSError for a pipe, a device or a folder."""
    return open(path, "rb", opener=_regular)


def _regular(path: str, flags: int) -> int:
    handle = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} isn't a file")
    return handle
