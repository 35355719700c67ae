"""What of the log is deleted: files past their days, and the oldest beyond so many bytes.

Any process may do so at any time, several at once too: what goes is told by the names alone, and a
file that is gone already is no error. Files of other names, and of other formats, stay.
"""

from __future__ import annotations

from msgspec import Struct

from accelerator.store.files.entries import is_draft
from accelerator.store.files.files import StoreFiles
from accelerator.store.journals.query_log.paths import FOLDER, LogFile, log_file

_DAY_US = 86_400_000_000
_BATCH = 1000


class Trimmed(Struct, frozen=True):
    """What went, and what is left."""

    files: int
    bytes: int
    bytes_left: int


def trim(files: StoreFiles, *, days: float, bytes_max: int, now_us: int) -> Trimmed:
    """Deletes what is beyond the bounds; 0 is none. StoreError where the store can't be used.

    A file's age is counted from the clock here, or from the storage's newest file where the clock
    is ahead of that: one that is wrong by years deletes nothing. A name that is later than the
    storage's time of writing by more than a day counts as that much later. A draft that its writer
    hasn't finished within a day is a dead one's.
    """
    found: list[tuple[int, LogFile]] = []
    drafts: list[tuple[int, str]] = []
    written_us = 0
    for entry in files.entries(FOLDER):
        one = log_file(entry.path, entry.bytes)
        if one is not None:
            modified_us = entry.modified_ms * 1000
            found.append((min(one.newest_us, modified_us + _DAY_US), one))
            written_us = max(written_us, modified_us)
        elif is_draft(entry.path.rpartition("/")[2]):
            drafts.append((entry.modified_ms * 1000, entry.path))
    now_us = min(now_us, written_us) if found else now_us
    found.sort(key=lambda pair: (pair[0], pair[1].path))
    left = sum(one.bytes for _, one in found)
    going: list[str] = []
    gone = 0
    for time_us, one in found:
        is_old = days > 0 and time_us < now_us - days * _DAY_US
        if not is_old and not 0 < bytes_max < left:
            continue
        going.append(one.path)
        left -= one.bytes
        gone += one.bytes
    going += [path for time_us, path in drafts if time_us < now_us - _DAY_US]
    for begin in range(0, len(going), _BATCH):
        files.delete(going[begin : begin + _BATCH])
    return Trimmed(len(going), gone, left)
