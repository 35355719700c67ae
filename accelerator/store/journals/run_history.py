"""The history of runs: what every process has run of tasks, the newest first, in the store.

A run that has ended is a file `services/history/v1/<time>-<epoch>-<key>.json`
(`docs/formats/services.md`). Promises: it's bounded, by whoever adds to it; what can't be read is
left out; a run has the same id as long as it's kept, which tells its key and epoch.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct, convert

from accelerator.errors import UNFIT
from accelerator.store.files.files import StoreFiles
from accelerator.store.files.names import is_name
from accelerator.store.journals.run import FinishedRun
from accelerator.store.log.chunks import read_json

FOLDER = "services/history/v1"
KEPT = 1_000
"""Runs that are kept; older ones go."""
_TIDY_EVERY = 50
_BYTES_MAX = 65_536
_TIME_MAX = 10**13 - 1
_NAME = re.compile(r"(\d{13})-(00\d{18})-([A-Za-z0-9_.\-]{1,128})\.json")
_ID = re.compile(r"([A-Za-z0-9_.\-]{1,128}):([1-9]\d{0,17})")


class RunRecord(Struct, frozen=True):
    """A run that has ended; `by` is who asked for it, empty where it was done by itself."""

    key: str
    epoch: int
    run: FinishedRun
    by: str = ""

    @property
    def id(self) -> str:
        """Its id."""
        return id_of(self.key, self.epoch)


class _HistoryFile(Struct, frozen=True):
    format: Literal[1]
    run: FinishedRun
    by: str


class RunHistory:
    """Of one store; threads share it. Any request may be a StoreError."""

    def __init__(self, files: StoreFiles) -> None:
        self._files = files
        self._added = 0
        self._lock = threading.Lock()

    def add(self, key: str, epoch: int, run: FinishedRun, by: str = "") -> None:
        """Keeps the run; now and then the oldest of all go."""
        value: dict[str, Any] = {"format": 1, "by": by, "run": run.to_json()}
        at = min(max(0, run.ended_ms), _TIME_MAX)
        path = f"{FOLDER}/{at:013d}-{epoch:020d}-{key}.json"
        self._files.create(path, json.dumps(value, sort_keys=True).encode() + b"\n")
        with self._lock:
            self._added += 1
            due = self._added % _TIDY_EVERY == 1
        if due:
            self._files.delete(self._paths()[KEPT:])

    def newest(self, before: str = "") -> Iterator[tuple[str, RunRecord]]:
        """The runs, the last ones to end first, each with its place; those behind one place.

        Files are read as they're asked for.
        """
        for path in self._paths():
            place = path.rpartition("/")[2].removesuffix(".json")
            if not before or place < before:
                entry = self._entry(path)
                if entry is not None:
                    yield place, entry

    def find(self, key: str, epoch: int) -> RunRecord | None:
        """The run of that claim; None where it hasn't ended, or isn't kept any more."""
        end = f"-{epoch:020d}-{key}.json"
        found = (path for path in self._paths() if path.endswith(end))
        for path in found:
            entry = self._entry(path)
            if entry is not None and entry.key == key:
                return entry
        return None

    def _paths(self) -> list[str]:
        """Those of runs, the newest first; other names are nobody's."""
        return sorted(filter(_named, self._files.list(FOLDER)), reverse=True)

    def _entry(self, path: str) -> RunRecord | None:
        match = _NAME.fullmatch(path.rpartition("/")[2])
        assert match is not None
        try:
            data = self._files.read_range(path, 0, _BYTES_MAX + 1)
            if len(data) > _BYTES_MAX:
                return None
            found = convert(read_json(data.decode()), _HistoryFile)
        except (FileNotFoundError, *UNFIT):
            return None
        return RunRecord(match[3], int(match[2]), found.run, found.by)


def id_of(key: str, epoch: int) -> str:
    """The id of a claim's run.

    >>> id_of("refresh-12ab", 7)
    'refresh-12ab:7'
    """
    return f"{key}:{epoch}"


def parts_of_id(id: str) -> tuple[str, int] | None:
    """The key and the epoch of an id; None where it's none.

    >>> parts_of_id("refresh-12ab:7"), parts_of_id("../x:1")
    (('refresh-12ab', 7), None)
    """
    match = _ID.fullmatch(id)
    if match is None or not is_name(match[1]):
        return None
    return match[1], int(match[2])


def _named(path: str) -> bool:
    match = _NAME.fullmatch(path.rpartition("/")[2])
    return match is not None and is_name(match[3])
