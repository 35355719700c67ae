"""What was typed into the shell, kept in the user's folder for state.

Promises: the file is readable by its owner alone, and bounded; what begins with a space isn't kept;
where it can't be read or written the shell goes on without.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import History

ENTRIES_MAX = 1000
_ENTRY_BYTES_MAX = 64 * 1024
_FILE_BYTES_MAX = 8 * 1024 * 1024


def history_file() -> Path:
    """By the XDG base directories; never the working directory."""
    state = os.environ.get("XDG_STATE_HOME", "")
    home = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return home / "accelerator" / "history.jsonl"


class ShellHistory(History):
    """One JSON text a line, the newest last; several shells may append to it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def load_history_strings(self) -> Iterable[str]:
        """The newest first."""
        lines = self._lines()
        if len(lines) > 2 * ENTRIES_MAX:
            self._shorten(lines[-ENTRIES_MAX:])
        found = []
        for line in lines[-ENTRIES_MAX:]:
            with suppress(RecursionError, ValueError):  # somebody else has written it
                text = json.loads(line)
                if isinstance(text, str):
                    found.append(text)
        return reversed(found)

    def store_string(self, string: str) -> None:
        """Appends it."""
        line = json.dumps(string).encode() + b"\n"
        if string[:1].isspace() or len(line) > _ENTRY_BYTES_MAX:
            return
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(self._file, line, os.O_APPEND)

    def _lines(self) -> list[bytes]:
        try:
            with self._file.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _FILE_BYTES_MAX))
                return file.read().splitlines()
        except OSError:
            return []

    def _shorten(self, lines: list[bytes]) -> None:
        draft = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        with suppress(OSError):
            self._write(draft, b"\n".join(lines) + b"\n", os.O_TRUNC)
            draft.replace(self._file)

    def _write(self, path: Path, data: bytes, flag: int) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600)
        try:
            os.fchmod(handle, 0o600)  # it may have been there
            os.write(handle, data)
        finally:
            os.close(handle)
