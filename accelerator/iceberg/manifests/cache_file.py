"""A file of the manifest cache: one manifest's columns, each read and checked when it's used.

The bytes are described in docs/formats/manifest-cache.md. A file is only ever a copy: what is
missing, damaged, of another format or of another manifest is as none, and a full or read-only disk
is no error. Nothing of a file is read before it's asked for but its directory. It's never mapped:
of a mapped file that is cut short meanwhile the process would die.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from msgspec import Struct

from accelerator.common.files.cache_folder import touch
from accelerator.common.files.safe_files import open_file
from accelerator.iceberg.manifests.columns import (
    ALL_TYPES,
    DELETE_TYPES,
    PARTITION,
    TYPES,
    ManifestColumns,
    is_of,
    is_sound,
    stats_column,
)
from accelerator.iceberg.manifests.manifest_file import ManifestFile

FORMAT = 2
_MAGIC = b"LAMANIF2"  # ends in the format
_ALIGN = 64
SUFFIX = ".columns"
_DIGEST_BYTES = 16
_TRAILER_BYTES = 8 + _DIGEST_BYTES + len(_MAGIC)
_OBJECT_BYTES = 320  # what Python keeps of a section, about


class Identity(Struct, frozen=True):
    """Which manifest it is, and all that its columns inherit from the manifest list."""

    path: str
    length: int
    sequence_number: int
    added_snapshot_id: int | None

    @classmethod
    def of(cls, manifest: ManifestFile) -> Identity:
        """The identity of a manifest, as the manifest list has it."""
        return cls(
            manifest.manifest_path,
            manifest.manifest_length,
            manifest.sequence_number,
            manifest.added_snapshot_id,
        )

    def to_list(self) -> list[str | int | None]:
        """As it stands in a file."""
        return [self.path, self.length, self.sequence_number, self.added_snapshot_id]


def file_of(folder: Path, identity: Identity) -> Path:
    """Returns the path of the manifest's columns."""
    return folder / f"{_digest(identity.path.encode()).hex()}{SUFFIX}"


def write_file(folder: Path, identity: Identity, columns: ManifestColumns) -> bool:
    """Keep the columns in the folder. False where that can't be done, which is no error."""
    target = file_of(folder, identity)
    draft = target.with_name(f"{target.name}#{secrets.randbits(63)}")
    data = encode(identity, columns)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with draft.open("xb") as out:
            out.write(data)
        draft.replace(target)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        return False
    return True


def read_file(
    folder: Path, identity: Identity, decode: Callable[[], ManifestColumns]
) -> ManifestColumns | None:
    """The columns kept in the folder; None where there's no sound file of that very manifest.

    `decode` makes them from the manifest; it's called where a column turns out to be damaged.
    """
    path = file_of(folder, identity)
    try:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            directory = _directory(file, size)
        if directory["manifest"] != identity.to_list():
            return None
        sections = {str(one[0]): _Section(*one[1:]) for one in directory["sections"]}
        field_ids = tuple(map(int, directory["field_ids"]))
        deletes = any(name in sections for name in DELETE_TYPES)
        types = ALL_TYPES if deletes else TYPES
        names = {*types, PARTITION, *map(stats_column, field_ids)}
        if names != sections.keys() or not all(one.fits(size) for one in sections.values()):
            return None
        count = int(directory["count"])
        if not 0 <= count <= size:  # a path takes an offset of four bytes at least
            return None
    except (KeyError, OSError, TypeError, ValueError):
        return None
    touch(path)
    return ManifestColumns(count, field_ids, _FileColumns(count, sections, path, decode), deletes)


def encode(identity: Identity, columns: ManifestColumns) -> bytes:
    """The bytes of a file."""
    out = bytearray(_MAGIC)
    sections = []
    types = ALL_TYPES if columns.deletes else TYPES
    for name in (*types, PARTITION, *map(stats_column, columns.field_ids)):
        out += bytes(-len(out) % _ALIGN)
        section = _encode_column(columns.source.column(name))
        sections.append([name, len(out), len(section), _digest(section).hex()])
        out += section
    directory = json.dumps(
        {
            "count": columns.count,
            "field_ids": columns.field_ids,
            "format": FORMAT,
            "manifest": identity.to_list(),
            "sections": sections,
        },
        separators=(",", ":"),
    ).encode()
    out += directory + len(directory).to_bytes(8, "little") + _digest(directory) + _MAGIC
    return bytes(out)


class _Section(Struct, frozen=True):
    start: int
    size: int
    digest: str

    def fits(self, file_bytes: int) -> bool:
        return 0 <= self.start <= self.start + self.size <= file_bytes


class _FileColumns:
    """Columns of a file, each read and checked when it's first asked for."""

    def __init__(
        self,
        count: int,
        sections: dict[str, _Section],
        path: Path,
        decode: Callable[[], ManifestColumns],
    ) -> None:
        self._count = count
        self._sections = sections
        self._path = path
        self._decode = decode
        self._found: dict[str, pa.Array] = {}
        self._used = _OBJECT_BYTES * len(sections)
        self._decoded: ManifestColumns | None = None
        self._lock = threading.Lock()

    def column(self, name: str) -> pa.Array:
        """See `Columns.column`."""
        found = self._found.get(name)
        if found is not None:
            return found
        with self._lock:
            if self._decoded is None:
                found = self._checked(name, self._sections[name])
                if found is not None:
                    self._found[name] = found
                    self._used += self._sections[name].size
                    return found
                with suppress(OSError):
                    self._path.unlink(missing_ok=True)
                self._decoded = self._decode()
            return self._decoded.source.column(name)

    @property
    def nbytes(self) -> int:
        """See `Columns.nbytes`."""
        return self._used + (0 if self._decoded is None else self._decoded.nbytes)

    def _checked(self, name: str, section: _Section) -> pa.Array | None:
        try:
            with open_file(self._path) as file:
                data = _part(file, section.start, section.size)
            if _digest(data).hex() != section.digest:
                return None
            with pa.ipc.open_stream(data) as stream:
                found = stream.read_next_batch().column(0)
            found.validate(full=True)  # its offsets may point anywhere
            fits = len(found) == self._count and is_of(name, found.type) and is_sound(name, found)
        except (OSError, StopIteration, ValueError, TypeError, LookupError, pa.ArrowException):
            return None
        return found if fits else None


def _part(file: BinaryIO, start: int, size: int) -> bytes:
    """So many bytes of a file; ValueError where it has become shorter."""
    file.seek(start)
    data = file.read(size)
    if len(data) != size:
        raise ValueError("cut off")
    return data


def _directory(file: BinaryIO, file_bytes: int) -> dict[str, Any]:
    """What stands at the end of a file; ValueError or KeyError where it isn't sound."""
    end = file_bytes - _TRAILER_BYTES
    if end < 0:
        raise ValueError("not a file of this format")
    trailer = _part(file, end, _TRAILER_BYTES)
    if not trailer.endswith(_MAGIC):
        raise ValueError("not a file of this format")
    size = int.from_bytes(trailer[:8], "little")
    if size > end:
        raise ValueError("cut off")
    text = _part(file, end - size, size)
    if _digest(text) != trailer[8 : 8 + _DIGEST_BYTES]:
        raise ValueError("altered")
    directory: dict[str, Any] = json.loads(text)
    if directory["format"] != FORMAT:
        raise ValueError("of another format")
    return directory


def _encode_column(column: pa.Array) -> bytes:
    """An Arrow IPC stream of one batch with one column."""
    batch = pa.record_batch([column], names=["column"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
