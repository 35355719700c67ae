"""The local folders that DuckDB may read: the session's own, and the checked ones of its tables.

The writers of a table's metadata choose the table's location. So a location is refused if it is the
root of the file system, a home folder or a system folder. It is refused as well if it contains
private files (the store, the gateway's settings and logs) or lies in a private folder. Links are
resolved before the check. DuckDB resolves them again when it opens a file, so that it refuses a
link that was swapped in later.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from accelerator.iceberg.io import local_path
from rewrite.reason import Declined

FOLDERS_MAX = 4096
"""Folders of tables that one process allows DuckDB; each takes 30 µs when it is opened."""
_PATH_MAX = 4096
_SYSTEM = ("/proc", "/sys", "/dev", "/etc")
_HOMES = ("/home", "/Users")


class TableFiles:
    """The local files of one table that DuckDB may read, for one scan.

    `refused` is the reason if none of its locations can be read.
    """

    def __init__(
        self, bases: Sequence[str], private: Sequence[str], refused: Declined | None
    ) -> None:
        self.refused = refused
        self._private = frozenset(private), tuple(f"{one}/" for one in private)
        self._plain: dict[str, bool] = dict.fromkeys(bases, True)
        self._shortest = min(map(len, bases), default=_PATH_MAX)

    def may_read(self, path: str) -> bool:
        """Returns whether the file lies in an allowed folder, without a link on the way from there.

        The file itself may be a link: `by_ids` looks at it anyway.
        """
        if len(path) > _PATH_MAX or any(odd in path for odd in ("/../", "/./", "//")):
            return False
        folder = path.rpartition("/")[0]
        plain = self._plain.get(folder)
        if plain is None:
            plain = self._look(folder)
        files, folders = self._private
        return plain and path not in files and not path.startswith(folders)

    def _look(self, folder: str) -> bool:
        """Looks for links up to an allowed folder, and caches what each folder between is."""
        between: list[str] = []
        while folder not in self._plain and len(folder) > self._shortest:
            between.append(folder)
            folder = folder.rpartition("/")[0]
        plain = self._plain.get(folder, False)
        for one in reversed(between):
            plain = plain and not Path(one).is_symlink()
            self._plain[one] = plain
        return plain


class TableFolders:
    """The folders of one engine. `own` are the session's, `private` those of no table.

    `tables` grows with the tables that are read. It contains no links.
    """

    def __init__(self, own: Sequence[str], private: Sequence[str] = ()) -> None:
        self.own = tuple(own)
        self.tables: dict[str, None] = {}
        self._private = tuple(dict.fromkeys(map(os.path.realpath, private)))
        # A store may be a folder above the warehouse; then tables do lie in it.
        self._closed = tuple(
            one
            for one in self._private
            if not any(each != one and _contains(one, os.path.realpath(each)) for each in self.own)
        )

    def of(self, locations: Sequence[str]) -> tuple[TableFiles, bool]:
        """Returns the readable files of a table with these locations.

        The second value is whether a folder was added to `tables` for it.
        """
        own = TableFiles(self.own, self._closed, None)
        bases, added, refused = list(self.own), False, None
        for location in locations:
            path = local_path(location)
            if path is None or own.may_read(f"{path}/"):
                continue
            if not _is_a_path(path):
                refused = Declined("location_refused", f"{path!a} isn't a path.")
                continue
            real = os.path.realpath(path)
            refused = self._refusal(path, real)
            if refused is not None:
                continue
            bases.append(path)
            if real not in self.tables:
                self.tables[real] = None
                added = True
        is_read = len(bases) > len(self.own)
        return TableFiles(bases, self._closed, None if is_read else refused), added

    def _refusal(self, path: str, real: str) -> Declined | None:
        why = self._why_not(path, real)
        if why is None and real not in self.tables and len(self.tables) >= FOLDERS_MAX:
            why = f"is one of more than {FOLDERS_MAX:,} folders of tables"
        return None if why is None else Declined("location_refused", f"{path} {why}.")

    def _why_not(self, path: str, real: str) -> str | None:
        """Why DuckDB mustn't read everything in that folder."""
        if not path.startswith("/") or any(part in (".", "..") for part in path.split("/")):
            return "isn't an absolute path"
        if len(real) > _PATH_MAX:
            return "is too long"
        if real == "/":
            return "is the root of the file system"
        for home in homes():
            if _contains(real, home):
                return "is or contains a home folder"
            if _contains(home, real) and real[len(home) + 1] == ".":
                return "is a hidden folder in a home folder"
        if real in _HOMES or real.rpartition("/")[0] in _HOMES:
            return "is or contains a home folder"
        if any(_contains(one, real) and real.split("/")[3][:1] == "." for one in _HOMES):
            return "is a hidden folder in a home folder"
        if any(_contains(one, real) for one in _SYSTEM):
            return "is the system's"
        if any(_contains(real, private) for private in self._private):
            return "contains files of the accelerator"
        if any(_contains(private, real) for private in self._closed):
            return "is the accelerator's"
        return None


def _is_a_path(text: str) -> bool:
    """Returns whether the system takes the text for a path, there or not."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _contains(folder: str, path: str) -> bool:
    """Returns whether the path is the folder or lies in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


@cache
def homes() -> tuple[str, ...]:
    """The home folders of this process's user, without links on the way."""
    found = []
    with suppress(RuntimeError):  # a container's user may have none
        found.append(str(Path.home()))
    if hasattr(os, "getuid"):
        import pwd

        with suppress(KeyError):  # nor an entry
            found.append(pwd.getpwuid(os.getuid()).pw_dir)
    real = (os.path.realpath(one) for one in found)
    return tuple(dict.fromkeys(one for one in real if one.startswith("/") and one != "/"))
