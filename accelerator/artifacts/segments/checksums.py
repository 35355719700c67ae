"""Are artifacts what was written? Their bytes and cells beside what their records say.

A bit that turned on a disk decodes to other numbers, which neither Parquet's readers nor sizes
tell, and a segment that isn't in its file would be read as one without cells. Promises: a file is
read once a process, and again where its size or time has changed. A record of an earlier release
has no checksum: of its file only the cells are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_ISREG
from zlib import crc32

from accelerator.common.files.safe_files import open_file
from accelerator.common.lru_cache import Recent
from accelerator.errors import EngineError, StoreError
from accelerator.store import SegmentRecord, Store
from cubes.sql.build import SEGMENT

CHECKSUM = "crc32"
"""The fact that has the checksum of the whole artifact: CRC-32, as eight hexadecimal digits."""
_CHUNK = 1 << 20
_BATCH_ROWS = 1 << 16
_KNOWN: Recent[str] = Recent(1 << 16)
"""Checksums by path, size and time."""
_CELLS: Recent[Mapping[int, int] | None] = Recent(1 << 16)
"""By the same, how many cells the file has of each segment; None where that can't be read."""


def checksum(path: str) -> str:
    """Of a file's bytes; OSError where it can't be read."""
    return _KNOWN.get_or(_state(path), lambda: _computed(path))


class _NotAFileError(OSError):
    """A pipe, a device or a folder: whoever opens it may wait for ever."""


def _state(path: str) -> tuple[str, int, int]:
    found = Path(path).stat()
    if not S_ISREG(found.st_mode):
        raise _NotAFileError(path)
    return path, found.st_size, found.st_mtime_ns


def altered(
    segments: Iterable[SegmentRecord], store: Store, *, anew: bool = False
) -> list[SegmentRecord]:
    """Those whose artifact is there, and isn't what was written or hasn't their cells.

    What isn't under the store isn't opened, and nothing is told of it: a store that others know
    by another path has segments of theirs. A copy that isn't what was written is fetched anew, as
    the object store's file may be.

    `anew`: files are read whatever was read of them, as a disk loses bits without a word.
    """
    files: dict[tuple[str, object], Mapping[int, int] | None] = {}
    found = []
    for segment in segments:
        if not segment.rows:
            continue
        recorded = segment.facts.get(CHECKSUM)
        file = segment.path, recorded if isinstance(recorded, str | None) else ""
        if file not in files:
            held = store.holds(segment.path)
            files[file] = _cells_of(store, *file, anew=anew) if held else None
        cells = files[file]
        if cells is not None and cells.get(segment.id) != segment.rows:
            found.append(segment)
    return found


def check(segments: Iterable[SegmentRecord], store: Store) -> None:
    """EngineError where an artifact isn't what was written."""
    for segment in altered(segments, store):
        raise EngineError(
            f"{segment.path} isn't what was written: its checksum differs, or cells aren't there",
            hint="it's forgotten, and the next BUILD CUBE makes its cells anew",
        )


def _cells_of(store: Store, uri: str, recorded: object, *, anew: bool) -> Mapping[int, int] | None:
    """Counts as `_cells` does, in an artifact or in its copy."""
    found = _cells(store.local(uri), recorded, anew=anew)
    if found == {} and store.forget_copy(uri):
        try:
            (path,) = store.fetch([uri])
            found = _cells(path, recorded, anew=anew)
        except StoreError:
            return None
    return found


def _cells(path: str, recorded: object, *, anew: bool) -> Mapping[int, int] | None:
    """How many cells a file has of each segment, one that was altered of none.

    None where it can't be read: who opens it says so.
    """
    try:
        state = _state(path)
        if recorded is not None:
            if anew:
                _KNOWN.put(state, _computed(path))
            if _KNOWN.get_or(state, lambda: _computed(path)) != recorded:
                return {}
        return _CELLS.get_or(state, lambda: _counted(path))
    except _NotAFileError:
        return {}
    except OSError:
        return None


def _counted(path: str) -> Mapping[int, int] | None:
    # These are slow to import; so are Arrow's compute functions, which count values as well.
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from accelerator.common.arrow.numpy_buffers import to_numpy

    found: Counter[int] = Counter()
    try:
        with open_file(path) as opened, pq.ParquetFile(opened) as file:
            for batch in file.iter_batches(_BATCH_ROWS, columns=[SEGMENT]):
                column = batch.column(SEGMENT)
                numbers = column if column.type == pa.int64() else column.cast(pa.int64())
                values, counts = np.unique(to_numpy(numbers, -1), return_counts=True)
                found.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
    except (pa.ArrowException, KeyError):
        return None
    return found


def _computed(path: str) -> str:
    found = 0
    with open_file(path) as file:
        while chunk := file.read(_CHUNK):
            found = crc32(chunk, found)
    return f"{found:08x}"
