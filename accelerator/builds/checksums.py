"""Are artifacts what was written? Their bytes beside the checksum that their records keep.

A bit that turned on a disk decodes to other numbers, which neither Parquet's readers nor sizes
tell. Promises: a file is read once a process, and again where its size or time has changed. A
record of an earlier release has no checksum, and is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

from accelerator.errors import EngineError
from accelerator.recent import Recent
from accelerator.store import SegmentRecord, local_path

CHECKSUM = "crc32"
"""The fact that has the checksum of the whole artifact: CRC-32, as eight hexadecimal digits."""
_CHUNK = 1 << 20
_KNOWN: Recent[str] = Recent(1 << 16)
"""By path, size and time."""


def checksum(path: str) -> str:
    """Of a file's bytes; OSError where it can't be read."""
    found = Path(path).stat()
    return _KNOWN.get_or((path, found.st_size, found.st_mtime_ns), lambda: _computed(path))


def altered(segments: Iterable[SegmentRecord]) -> list[SegmentRecord]:
    """Those whose artifact is there, and isn't what was written."""
    wrong: dict[tuple[str, str], bool] = {}
    found = []
    for segment in segments:
        recorded = segment.facts.get(CHECKSUM) if segment.rows else None
        if recorded is None:
            continue
        key = (segment.path, str(recorded))
        if key not in wrong:
            wrong[key] = _differs(local_path(segment.path), str(recorded))
        if wrong[key]:
            found.append(segment)
    return found


def check(segments: Iterable[SegmentRecord]) -> None:
    """EngineError where an artifact isn't what was written."""
    for segment in altered(segments):
        raise EngineError(
            f"{segment.path} isn't what was written: its checksum differs",
            hint="it's forgotten, and the next BUILD CUBE makes its cells anew",
        )


def _differs(path: str, recorded: str) -> bool:
    try:
        return checksum(path) != recorded
    except OSError:
        return False  # who opens it says so


def _computed(path: str) -> str:
    found = 0
    with Path(path).open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            found = crc32(chunk, found)
    return f"{found:08x}"
