"""A process' own folder for what memory doesn't hold: intermediate results, bodies of uploads.

Promises: it's 0700, it's gone once it's closed, and what a killed process has left goes when the
next one makes its own. Whoever lives holds a lock on a file in the folder, which ends with the
process whatever ends it.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_PREFIX = "accelerator-spill-"
_OWNER = ".owner"
_OWNER_TO_BE = ".owner-to-be"
_UNOWNED_S = 86_400
"""A folder without a lock may just be being made, so it goes a day later."""


class Spill:
    """The folder, made anew. OSError where it can't be.

    Its name begins with `prefix`; of the folders that killed processes left those go that do too.
    """

    def __init__(self, folder: str | None, prefix: str = _PREFIX) -> None:
        parent = Path(folder or tempfile.gettempdir()).absolute()  # the process may go elsewhere
        self.path = tempfile.mkdtemp(prefix=prefix, dir=parent)
        self._lock = _owned(Path(self.path))
        delete_left(parent, prefix)

    def close(self) -> None:
        """Deletes the folder and what is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def delete_left(folder: str | Path | None, prefix: str = _PREFIX) -> None:
    """Deletes the folders that killed processes left; those of processes that live are locked."""
    for found in Path(folder or tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # another process may just be ending it
            _end_left(found)


def _owned(folder: Path) -> int | None:
    """Returns the lock of a new folder's owner; None if the file system has no locks.

    The file gets its name after its lock. Otherwise another process could lock it in between, and
    delete the folder as one of a process that was killed.
    """
    lock = _locked(folder / _OWNER_TO_BE, os.O_CREAT | os.O_EXCL)
    with suppress(OSError):  # there is none where it can't be made
        (folder / _OWNER_TO_BE).rename(folder / _OWNER)
    return lock


def _locked(path: Path, flags: int = 0) -> int | None:
    """The file's descriptor with an exclusive lock; None where that isn't to be had."""
    if sys.platform == "win32":
        return None
    try:
        opened = os.open(path, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened


def _end_left(folder: Path) -> None:
    """Deletes a folder of ours that nobody owns any more; on Windows nobody can tell."""
    if sys.platform == "win32":
        return
    told = folder.lstat()
    if not stat.S_ISDIR(told.st_mode) or told.st_uid != os.getuid():
        return
    owner = folder / _OWNER
    lock = _locked(owner)
    if lock is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
    elif not owner.exists() and told.st_mtime < time.time() - _UNOWNED_S:
        shutil.rmtree(folder, ignore_errors=True)
