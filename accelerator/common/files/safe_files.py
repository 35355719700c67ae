"""Local files: opened only if they're files, and written so that a power cut leaves them whole.

A pipe or a device might never end.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
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


def write_synced(path: Path, data: bytes) -> None:
    """Writes a new file to the disk; FileExistsError where there's one. Its name isn't synced."""
    with path.open("xb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def sync_directory(folder: Path) -> None:
    """Brings the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
