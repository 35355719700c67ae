"""The records of one lake: what Spark answered, as Arrow, under keys of all that made it.

One SQLite file. Each record has the version of this format and a checksum of its bytes; one that is
of another version, cut or damaged counts as missing, is named on stderr, and is made anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

FORMAT = 1
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, format INTEGER NOT NULL,"
    " kind TEXT NOT NULL, state TEXT NOT NULL, about TEXT NOT NULL, body BLOB NOT NULL,"
    " sum BLOB NOT NULL)"
)
MODES = ("keep", "scratch", "anew")


def digest(*parts: object) -> str:
    """A key: 128 bits of everything that is given, each part with its length."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


def mode() -> str:
    """`keep`: read, and write what's missing; `scratch`: only read; `anew`: only compare."""
    found = os.environ.get("TESTS_RECORDS_MODE", "keep")
    if found not in MODES:
        raise ValueError(f"TESTS_RECORDS_MODE is {found!r}, and may be {', '.join(MODES)}")
    return found


@dataclass(frozen=True, slots=True)
class Record:
    """A table, or what was raised in its place; `about` says what was asked."""

    table: pa.Table | None = None
    error: dict[str, Any] | None = None
    about: str = ""

    def body(self) -> bytes:
        """As Arrow's stream; an error stands in the metadata of a table without columns."""
        table = self.table if self.table is not None else pa.table({})
        if self.error is not None:
            table = table.replace_schema_metadata({"error": json.dumps(self.error)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())


class Records:
    """Records in one file; threads may share it."""

    def __init__(self, path: Path) -> None:
        self._path, self._mode = path, mode()
        self._lock = threading.Lock()
        self._scratch: dict[str, Record] = {}
        self._own: set[str] = set()
        self._db: sqlite3.Connection | None = None
        self.made = self.read = 0

    def get(self, key: str) -> Record | None:
        """The record, or None where there is none that can be trusted."""
        with self._lock:
            if key in self._scratch:
                return self._scratch[key]
        return None if self._mode == "anew" else self.kept(key)

    def is_own(self, key: str) -> bool:
        """Whether this process has made it."""
        return key in self._own

    def kept(self, key: str) -> Record | None:
        """The record in the file, or None where there is none that can be trusted."""
        with self._lock:
            row = (
                self._connection()
                .execute("SELECT format, about, body, sum FROM records WHERE key = ?", (key,))
                .fetchone()
            )
        if row is None:
            return None
        format_, about, body, sum_ = row
        try:
            if format_ != FORMAT:
                raise ValueError(f"is of format {format_}, not {FORMAT}")
            if _sum(key, body) != sum_:
                raise ValueError("is damaged")
            with pa.ipc.open_stream(body) as reader:
                table = reader.read_all()
        except (ValueError, pa.ArrowException) as error:
            print(f"record {key} in {self._path} {error}; it's made anew: {about}", file=sys.stderr)
            return None
        self.read += 1
        told = (table.schema.metadata or {}).get(b"error")
        return Record(None, json.loads(told), about) if told else Record(table, None, about)

    def put(self, key: str, kind: str, state: str, record: Record) -> None:
        """Keeps a record; but with `keep` for this process alone."""
        self.made += 1
        with self._lock:
            self._own.add(key)
            if self._mode != "keep":
                self._scratch[key] = record
                return
            body = record.body()
            row = (key, FORMAT, kind, state, record.about, body, _sum(key, body))
            with self._connection() as db:
                db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self._path, check_same_thread=False, timeout=60)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute(_SCHEMA)
        return self._db


def _sum(key: str, body: bytes) -> bytes:
    return hashlib.blake2b(key.encode() + body, digest_size=16).digest()
