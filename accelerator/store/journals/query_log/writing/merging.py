"""Many small files of the log as few: read and validated, written whole, deleted later.

Several processes may do so at once, and any of them may die at any time. A merged file tells of
which files it was made (`merged_parts.py`), and readers take the rows of each of these once,
whichever files have them. So files that were merged may stand beside what they became; a later
round deletes them, when nobody can be reading a listing that lacks the merged one.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from msgspec import Struct

from accelerator.store.files.files import StoreFiles
from accelerator.store.journals.query_log.encoding.decode import (
    FILE_BYTES_MAX,
    DamagedError,
    Decoded,
    NewerError,
    decoded,
)
from accelerator.store.journals.query_log.encoding.encode import file_of
from accelerator.store.journals.query_log.paths import (
    FOLDER,
    MERGED,
    LogFile,
    day_of,
    log_file,
    path_of,
)
from accelerator.store.journals.query_log.record import ROWS_MAX
from accelerator.store.journals.query_log.writing.merged_parts import WrittenLogFile, begins

AGE_US = 3_600_000_000
"""Files are left alone until the storage has had them for so long."""
_GRACE_US = 600_000_000
"""What was merged is deleted once the merged file stands for so long."""
_SMALL_BYTES = 512 * 1024
_GROUP_BYTES = 4 * 1024**2
_EXPANDED_MAX = 64 * 1024**2
_FEW = 8
"""Fewer files of a day are merged only once the day is over."""


class MergedFiles(Struct):
    """What one round did: files that became `made` new ones, and files deleted since they had."""

    merged: int = 0
    made: int = 0
    deleted: int = 0


class _Stored(Struct, frozen=True):
    """A file, and when the storage got it; Unix time in microseconds."""

    file: LogFile
    modified_us: int

    @property
    def is_small(self) -> bool:
        return self.file.bytes <= _SMALL_BYTES

    def may_hold(self, other: _Stored) -> bool:
        """Whether it, a merged file, may have been made of that file."""
        if other.modified_us > self.modified_us:
            return False
        inside = self.file.oldest_us <= other.file.newest_us <= self.file.newest_us
        return inside and other is not self


class _ReadFile(Struct, frozen=True):
    """A file of which the parts are known."""

    stored: _Stored
    rows: int
    parts: frozenset[str]


def merge(
    files: StoreFiles, *, now_us: int, files_max: int = 1000, age_us: int = AGE_US
) -> MergedFiles:
    """One round that reads at most so many files, the oldest days first.

    Ages are told by the storage's times, counted from its newest file where the clock here is
    ahead of that. Files are left alone until the storage has had them for `age_us`. What is
    damaged, or a later release's, stays as it is. StoreError as of the store.
    """
    done, left = MergedFiles(), files_max
    days = _by_day(files)
    now_us = _by_storage(days, now_us)
    for day, stored in sorted(days.items()):
        few = 2 if day < day_of(now_us - AGE_US) else _FEW
        small = [one for one in stored if one.is_small and one.modified_us <= now_us - age_us]
        made = [one for one in stored if one.file.is_merged]
        holders = [one for one in made if any(map(one.may_hold, small))]
        if (len(small) < few and not holders) or left <= 0:
            continue
        merged = [one for one in small if one.file.is_merged][:left]
        known = list(_read_files(files, [*merged, *(one for one in holders if one not in small)]))
        plain = [one for one in small if not one.file.is_merged]
        # Of a file that another one was made of no more is asked.
        held = {part for one in known if len(one.parts) > 1 for part in one.parts}
        known += [
            _ReadFile(one, 0, frozenset({one.file.id})) for one in plain if one.file.id in held
        ]
        unread = [one for one in plain if one.file.id not in held][: left - len(merged)]
        left -= len(merged) + len(unread)
        known += _read_files(files, unread)
        known.sort(key=lambda one: one.stored.file.path)
        for group in _groups(_uncovered(files, known, now_us, done)):
            if len(group) >= few:
                _write(files, group, done)
    return done


def crowd(files: StoreFiles, *, now_us: int, age_us: int) -> int:
    """How many small files a round of `merge` would merge or delete, by one listing.

    Of those that a merged file may have been made of lately nothing is to be done yet.
    """
    days = _by_day(files)
    now_us = _by_storage(days, now_us)
    found = 0
    for stored in days.values():
        fresh = [
            one for one in stored if one.file.is_merged and one.modified_us > now_us - _GRACE_US
        ]
        found += sum(
            one.is_small
            and not one.file.is_merged
            and one.modified_us <= now_us - age_us
            and not any(made.may_hold(one) for made in fresh)
            for one in stored
        )
    return found


def _by_storage(days: Mapping[str, Sequence[_Stored]], now_us: int) -> int:
    """Now; the time of the storage's newest file where the clock is ahead of that."""
    return min(now_us, max((one.modified_us for day in days.values() for one in day), default=0))


def _by_day(files: StoreFiles) -> dict[str, list[_Stored]]:
    """The log's files by their days, in the order of their names."""
    found: dict[str, list[_Stored]] = defaultdict(list)
    for entry in files.entries(FOLDER):
        one = log_file(entry.path, entry.bytes)
        if one is not None:
            found[day_of(one.newest_us)].append(_Stored(one, entry.modified_ms * 1000))
    for stored in found.values():
        stored.sort(key=lambda one: one.file.path)
    return found


def _read(files: StoreFiles, file: LogFile, names: Sequence[str] | None = None) -> Decoded | None:
    """What it holds; None where it's gone, or none of what is merged here."""
    if file.bytes > FILE_BYTES_MAX:
        return None
    try:
        return decoded(files.read_range(file.path, 0, file.bytes), names)
    except (FileNotFoundError, DamagedError, NewerError):
        return None


def _read_files(files: StoreFiles, stored: Iterable[_Stored]) -> Iterator[_ReadFile]:
    for one in stored:
        found = _read(files, one.file, ("started",))
        if found is not None:
            parts = found.parts_of(one.file.id)
            yield _ReadFile(one, found.rows.num_rows, frozenset(part.id for part in parts))


def _uncovered(
    files: StoreFiles, known: Sequence[_ReadFile], now_us: int, done: MergedFiles
) -> Iterator[_ReadFile]:
    """The small files whose parts don't all stand in another one; those that do go in time.

    No two files have the same parts, so none goes for another that goes for it.
    """
    holders: dict[str, list[_ReadFile]] = defaultdict(list)
    for one in known:
        for part in one.parts if len(one.parts) > 1 else ():
            holders[part].append(one)
    going = []
    for one in known:
        over = [of.stored for of in holders[min(one.parts)] if one.parts < of.parts]
        if any(of.modified_us <= now_us - _GRACE_US for of in over):
            going.append(one.stored.file.path)
        elif not over and one.stored.is_small:
            yield one
    if going:
        files.delete(going)
        done.deleted += len(going)


def _groups(known: Iterable[_ReadFile]) -> Iterator[list[_ReadFile]]:
    """Files whose rows fit into one, in the order of their times."""
    group: list[_ReadFile] = []
    rows = size = 0
    for one in known:
        more = one.stored.file.bytes
        if group and (rows + one.rows > ROWS_MAX or size + more > _GROUP_BYTES):
            yield group
            group, rows, size = [], 0, 0
        group.append(one)
        rows, size = rows + one.rows, size + more
    yield group


def _write(files: StoreFiles, group: Sequence[_ReadFile], done: MergedFiles) -> None:
    """Writes the merged file; one of the same parts has the same name, whoever makes it."""
    tables: list[pa.Table] = []
    parts: dict[str, WrittenLogFile] = {}
    inputs: list[LogFile] = []
    size = 0
    for one in group:
        found = _read(files, one.stored.file)
        if found is None:
            continue
        size += found.rows.nbytes
        if size > _EXPANDED_MAX:
            break
        inputs.append(one.stored.file)
        for part, row in begins(found.parts_of(one.stored.file.id)):
            if part.id not in parts:
                tables.append(found.rows.slice(row, part.rows))
                parts[part.id] = part
    if len(inputs) < 2 or len(parts) < 2:
        return
    lost = sum(part.lost for part in parts.values())
    data = file_of(pa.concat_tables(tables).combine_chunks(), lost, list(parts.values()))
    newest, oldest = max(one.newest_us for one in inputs), min(one.oldest_us for one in inputs)
    name = hashlib.sha256(",".join(sorted(parts)).encode()).hexdigest()[:32]
    if len(data) <= FILE_BYTES_MAX and files.create(path_of(newest, oldest, name, MERGED), data):
        done.made += 1
        done.merged += len(inputs)
