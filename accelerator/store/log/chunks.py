"""Chunks: immutable files that many versions share, and how their names, sizes and sums are kept.

A chunk is a change of one cube's segments (ids that go, then records that come), or a list of
garbage. Its name is random and never used twice, so a chunk that is garbage stays garbage. What
is read must have the length and checksum that the version says; else it's `Damaged`. Artifacts are
told by their paths under the root, so that a store may be moved.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct, convert

from accelerator.common.records.bounds import Int64
from accelerator.errors import UNFIT, StoreError
from accelerator.store.files.files import StoreFiles
from accelerator.store.files.names import FileName
from accelerator.store.records import Json, SegmentRecord

CHUNK_FORMAT = 3
"""Format 2 told artifacts by URI."""
_URI_FORMAT = 2
_SURROGATE = re.compile(r"\\u[dD]")


class Damaged(Exception):
    """A file that can't be trusted; its text says which one and why."""


class ChunkRef(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A version's reference to a chunk; `entries` counts removals and additions alike."""

    name: FileName
    entries: Int64
    bytes: Int64
    sha256: str


class Change(Struct, frozen=True):
    """A change of a cube's segments: `removed` go first, then `added` come, as lines of JSON."""

    removed: tuple[int, ...]
    added: tuple[tuple[int, str], ...]

    @property
    def entries(self) -> int:
        """How much there is to read."""
        return len(self.removed) + len(self.added)


def compact_json(value: object) -> str:
    """JSON in one spelling: sorted keys, no spaces, no NaN; StoreError for what isn't JSON.

    Nor is a text that has half a pair of surrogates.
    """
    try:
        text = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        text.encode()
        return text
    except (TypeError, ValueError) as error:
        raise StoreError(f"a record isn't plain JSON: {error}") from error


def read_json(text: str) -> Any:
    """The inverse. ValueError for what isn't JSON, or has half a pair of surrogates."""
    value = json.loads(text)
    if _SURROGATE.search(text):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def merged(changes: Iterable[Change]) -> Change:
    """One change with the effect of several, oldest first.

    Removals stay although what they removed may be gone with them: whoever has read the older
    chunks already applies this one on top of them.
    """
    removed: dict[int, None] = {}
    added: dict[int, str] = {}
    for change in changes:
        for one in change.removed:
            removed[one] = None
            added.pop(one, None)
        added.update(change.added)
    return Change(tuple(sorted(removed)), tuple(sorted(added.items())))


class Chunks:
    """The chunks of one table: a folder of write-once files."""

    def __init__(self, files: StoreFiles, folder: str) -> None:
        self._files, self._folder, self._root = files, folder, files.uri("")

    def path(self, name: str) -> str:
        """Where a chunk is, under the store's root."""
        return f"{self._folder}/{name}.jsonl"

    def told(self, segment: SegmentRecord) -> Json:
        """A segment as JSON values, its artifact by the path under the root, where it is."""
        raw = segment.to_json()
        path = segment.path.removeprefix(self._root)
        return raw if _is_absolute(path) else raw | {"path": path}

    def line(self, segment: SegmentRecord) -> str:
        """The same as a line of a chunk."""
        return compact_json(self.told(segment))

    def record(self, raw: Json, shared: dict[Any, Any] | None = None) -> SegmentRecord:
        """The inverse of `told`; `shared` as of `SegmentRecord.from_json`."""
        path = convert(raw["path"], str)
        if not _is_absolute(path):
            raw["path"] = self._root + path
        return SegmentRecord.from_json(raw, shared)

    def write(self, change: Change, entries_max: int) -> tuple[ChunkRef, ...]:
        """A change as one chunk, or as several if it's large; to be applied in this order."""
        gone, come = (
            list(_parts(change.removed, entries_max)),
            list(_parts(change.added, entries_max)),
        )
        pieces = [(part, ()) for part in gone] + [((), part) for part in come]
        if gone and come and len(gone[-1]) + len(come[0]) <= entries_max:
            pieces[len(gone) - 1 : len(gone) + 1] = [(gone[-1], come[0])]
        refs = []
        for removed, added in pieces:
            head = {"format": CHUNK_FORMAT, "kind": "segments", "removed": list(removed)}
            lines = [compact_json(head), *(text for _, text in added)]
            refs.append(self._create(lines, len(removed) + len(added)))
        return tuple(refs)

    def read(self, ref: ChunkRef) -> Change:
        """A chunk of segments, its records still as text."""
        head, lines = self._lines(ref, "segments")
        try:
            if head["format"] == _URI_FORMAT:
                lines = [self.line(self.record(read_json(line))) for line in lines]
            added = tuple((int(read_json(line)["id"]), line) for line in lines)
            return Change(tuple(int(one) for one in head["removed"]), added)
        except UNFIT as error:
            raise self._damaged(ref, f"its content doesn't fit: {error!r}") from error

    def read_records(
        self, ref: ChunkRef, shared: dict[Any, Any]
    ) -> tuple[list[int], list[SegmentRecord]]:
        """A chunk of segments, decoded; equal parts of records are kept once, in `shared`."""
        head, lines = self._lines(ref, "segments")
        try:
            records = [self.record(read_json(line), shared) for line in lines]
            return [int(one) for one in head["removed"]], records
        except UNFIT as error:
            raise self._damaged(ref, f"its content doesn't fit: {error!r}") from error

    def write_paths(self, paths: Sequence[str], entries_max: int) -> tuple[ChunkRef, ...]:
        """A long list of garbage, as chunks."""
        head = compact_json({"format": CHUNK_FORMAT, "kind": "garbage"})
        return tuple(
            self._create([head, *(compact_json(path) for path in part)], len(part))
            for part in _parts(paths, entries_max)
        )

    def read_paths(self, ref: ChunkRef) -> list[str]:
        """The inverse of `write_paths`, for one chunk."""
        _, lines = self._lines(ref, "garbage")
        try:
            return [convert(read_json(line), str) for line in lines]
        except UNFIT as error:
            raise self._damaged(ref, f"its content doesn't fit: {error!r}") from error

    def _create(self, lines: list[str], entries: int) -> ChunkRef:
        data = ("\n".join(lines) + "\n").encode()
        ref = ChunkRef(uuid.uuid4().hex, entries, len(data), hashlib.sha256(data).hexdigest())
        if not self._files.create(self.path(ref.name), data):
            # A reply was lost and the put repeated: the random name makes it ours, if it's whole.
            self._lines(ref, None)
        return ref

    def _lines(self, ref: ChunkRef, kind: str | None) -> tuple[dict[str, Any], list[str]]:
        try:
            data = self._files.read(self.path(ref.name))
        except FileNotFoundError:
            raise self._damaged(ref, "missing") from None
        if len(data) != ref.bytes or hashlib.sha256(data).hexdigest() != ref.sha256:
            raise self._damaged(ref, "torn or altered: its checksum doesn't match")
        # Not splitlines: a path may hold other characters that count as ends of lines there.
        try:
            first, *lines = data.decode().rstrip("\n").split("\n")
            head = read_json(first)
        except UNFIT as error:
            raise self._damaged(ref, f"its head can't be read: {error!r}") from error
        if not isinstance(head, dict):
            raise self._damaged(ref, "its head isn't an object")
        known = head.get("format") in (_URI_FORMAT, CHUNK_FORMAT)
        if kind is not None and not (known and head.get("kind") == kind):
            raise self._damaged(ref, f"it isn't a chunk of {kind}")
        return head, lines

    def _damaged(self, ref: ChunkRef, why: str) -> Damaged:
        return Damaged(f"{self._files.uri(self.path(ref.name))}: {why}")


def _is_absolute(path: str) -> bool:
    """Whether it's a URI, or a path from a machine's root: not one under the store's."""
    return "://" in path or path.startswith("/")


def _parts(items: Sequence[Any], size: int) -> Iterator[Any]:
    for start in range(0, len(items), size):
        yield tuple(items[start : start + size])
