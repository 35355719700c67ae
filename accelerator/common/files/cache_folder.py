"""A folder of files that can be made again: the user's own by default, and bounded.

Drafts have a `#` in their names, and become files by a rename. A file that is missing is made anew.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

_DRAFT_S = 3600  # a draft that is older has no writer any more


def user_cache_folder() -> Path:
    """Returns the folder by the XDG base directories, never the working directory.

    RuntimeError without a home.
    """
    cache = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    return home / "accelerator"


def trim(folder: Path, suffix: str, bytes_max: int) -> None:
    """Deletes files of that suffix, those used longest ago first, until they have no more bytes.

    Drafts of dead writers go as well.
    """
    now, total, found = time.time(), 0, []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                status = entry.stat()
                if "#" in entry.name and now - status.st_mtime > _DRAFT_S:
                    Path(entry.path).unlink()
                elif entry.name.endswith(suffix):
                    total += status.st_size
                    found.append((status.st_mtime, status.st_size, entry.path))
    for _, size, path in sorted(found):
        if total <= bytes_max:
            return
        with suppress(OSError):
            Path(path).unlink()
            total -= size


def touch(path: Path) -> None:
    """Notes that the file was used, to within an hour."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _DRAFT_S:
            os.utime(path)
