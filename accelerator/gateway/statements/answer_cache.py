"""Answers that may be given again: in memory, and on disk where that is allowed, as Arrow's bytes.

An answer is found by what was asked, by whose rights and under which settings. It's given only
while each table and view under it has the metadata that it was made from; who looks asks for that.
What can't be kept, or read again, isn't there: nothing here fails a statement.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from msgspec import Struct

from accelerator.common.lru_cache import UNLIMITED, Recent
from accelerator.engines.duckdb.spill import Spill, delete_left
from accelerator.gateway.access.grants import UserAccess
from accelerator.gateway.table_versions import Name

_log = logging.getLogger("accelerator.gateway")
_OVERHEAD = 2048
"""Bytes of an entry beside its rows: keys, names, Python's objects."""
_FORMAT = 1
_SUFFIX = ".answer"
_PREFIX = "accelerator-answers-"


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What names an answer: the words that were asked, and all else that it depends on.

    `rights` stand for `access`, which is what whoever asks may do.
    """

    words: str
    catalog: str | None
    schema: str | None
    zone: str | None
    rights: str
    access: UserAccess = field(compare=False, repr=False)

    def name(self) -> str:
        """A text of letters and digits for it; two keys have the same one never."""
        parts = [self.words, self.catalog, self.schema, self.zone, self.rights]
        return hashlib.blake2b(orjson.dumps(parts), digest_size=24).hexdigest()


class EncodedAnswer(Struct, frozen=True):
    """Rows in the protocol's form, with the columns that go before them."""

    columns: list[dict[str, Any]]
    data: bytes


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """An answer: pieces of Arrow's stream format, each with its schema, at least one.

    `versions` are those of all tables and views under it; `about` is what the first piece told.
    """

    bodies: tuple[bytes | bytearray, ...]
    versions: Mapping[Name, str]
    about: Mapping[str, Any]
    metrics: Mapping[str, Any]
    rows: int
    made: dict[bool, EncodedAnswer] = field(default_factory=dict, compare=False)
    """By whether the client knows times of any precision: few rows as they're given away."""

    @property
    def bytes(self) -> int:
        """What it takes, as far as it's counted."""
        made = sum(len(one.data) + _OVERHEAD for one in self.made.values())
        return _OVERHEAD + sum(map(len, self.bodies)) + made


class AnswerCache:
    """Belongs to one thread. Its folder lives as long as it does, or as its process."""

    def __init__(self, memory: int, disk: int, folder: str | None, answer_max: int) -> None:
        self._memory, self._disk, self.answer_max = memory, disk, min(answer_max, memory)
        self._kept: Recent[CacheEntry] = Recent(
            UNLIMITED, lambda _, entry: entry.bytes, memory, self._write
        )
        self._files: OrderedDict[AnswerKey, int] = OrderedDict()
        self.disk_bytes = 0
        self.hits = self.misses = self.stale = 0
        self._parent = folder
        self._folder: Spill | None = None

    @property
    def is_on(self) -> bool:
        """Whether anything is kept."""
        return self._memory > 0

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that answers take."""
        return self._kept.weight

    def __len__(self) -> int:
        return len(self._kept) + len(self._files)

    def get(self, key: AnswerKey) -> CacheEntry | None:
        """The answer, whose versions aren't checked yet."""
        kept = self._kept.get(key)
        if kept is not None or key not in self._files:
            return kept
        entry = self._read(key)
        self._drop_file(key)
        if entry is not None:
            self.put(key, entry)
        return entry

    def put(self, key: AnswerKey, entry: CacheEntry) -> None:
        """Caches an answer; the least recently used ones go if they don't fit beside it."""
        self.drop(key)
        if self.is_on and entry.bytes <= self.answer_max + _OVERHEAD:
            self._kept.put(key, entry)

    def grown(self, key: AnswerKey) -> None:
        """Recounts the bytes of an entry whose pages were made."""
        kept = self._kept.get(key)
        if kept is not None:
            self.put(key, kept)

    def drop(self, key: AnswerKey) -> None:
        """Drops an entry that is old, or that no user may read any more."""
        self._kept.pop(key)
        if key in self._files:
            self._drop_file(key)

    def close(self) -> None:
        """Leaves nothing on the disk."""
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def delete_left(self) -> None:
        """Deletes the answers that processes left which were killed."""
        with contextlib.suppress(OSError):  # there is no such folder yet
            delete_left(self._parent, _PREFIX)

    def _path(self, key: AnswerKey) -> Path:
        if self._folder is None:
            if self._parent is not None:
                Path(self._parent).mkdir(parents=True, exist_ok=True)
            self._folder = Spill(self._parent, _PREFIX)
        return Path(self._folder.path) / f"{key.name()}{_SUFFIX}"

    def _write(self, key: AnswerKey, entry: CacheEntry) -> None:
        size = sum(map(len, entry.bodies)) + _OVERHEAD
        if size > self._disk:
            return
        while self.disk_bytes + size > self._disk:
            self._drop_file(next(iter(self._files)))
        head = orjson.dumps(
            {
                "format": _FORMAT,
                "lengths": [len(one) for one in entry.bodies],
                "versions": [[list(name), text] for name, text in entry.versions.items()],
                "about": dict(entry.about),
                "metrics": dict(entry.metrics),
                "rows": entry.rows,
            }
        )
        try:
            with self._path(key).open("xb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(len(head).to_bytes(8, "big") + head)
                file.writelines(entry.bodies)
        except OSError as error:  # a full disk: it's kept nowhere
            _log.warning("an answer can't be kept on disk: %s", error)
            with contextlib.suppress(OSError):
                self._path(key).unlink(missing_ok=True)
            return
        self._files[key] = size
        self.disk_bytes += size

    def _read(self, key: AnswerKey) -> CacheEntry | None:
        try:
            with self._path(key).open("rb") as file:
                length = int.from_bytes(file.read(8), "big")
                head = orjson.loads(file.read(length))
                bodies = tuple(file.read(one) for one in head["lengths"])
            if head["format"] != _FORMAT or [len(one) for one in bodies] != head["lengths"]:
                return None
            versions = {tuple(name): text for name, text in head["versions"]}
            return CacheEntry(bodies, versions, head["about"], head["metrics"], head["rows"])
        except (OSError, LookupError, TypeError, ValueError) as error:
            _log.warning("an answer on disk can't be read: %s", error)
            return None

    def _drop_file(self, key: AnswerKey) -> None:
        self.disk_bytes -= self._files.pop(key)
        with contextlib.suppress(OSError):
            self._path(key).unlink(missing_ok=True)
