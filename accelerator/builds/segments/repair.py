"""Segments whose artifact is gone, cut or damaged: found, and forgotten, to be built anew.

A build looks at names and sizes. A query looks at checksums, once a process: it falls back when an
artifact fails it, and only then are its artifacts decoded from end to end. One that can't be looked
at (the store is out of reach, or elsewhere than its records say) is never taken for broken.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from accelerator.artifacts.segments.checksums import altered
from accelerator.artifacts.segments.records import FILE_BYTES
from accelerator.engines.duckdb.engine import DuckDBEngine, parquet_scan
from accelerator.errors import EngineError, StoreError
from accelerator.store import SegmentRecord, Store, local_path


def broken_segments(
    store: Store, segments: Iterable[SegmentRecord], *, contents: bool = False
) -> list[int]:
    """Ids of segments whose file is missing, or of another size than was recorded.

    `contents`: or isn't what was written.
    """
    filled = [s for s in segments if s.rows]
    sizes = {path: _size(store, path) for path in {s.path for s in filled}}
    wrong = {s.id for s in altered(filled, store)} if contents else set[int]()
    return [s.id for s in filled if s.id in wrong or _is_broken(s, sizes[s.path])]


def unreadable_segments(
    duckdb: DuckDBEngine, store: Store, segments: Iterable[SegmentRecord]
) -> list[int]:
    """Ids of segments whose file is there and can't be read, or isn't what was written."""
    filled = [s for s in segments if s.rows]
    broken = {s.path for s in altered(filled, store)}
    others = {s.path for s in filled if store.holds(s.path)} - broken
    broken |= {path for path in others if not _is_readable(duckdb, store.local(path))}
    return [s.id for s in filled if s.path in broken]


def _is_readable(duckdb: DuckDBEngine, path: str) -> bool:
    try:
        if not Path(path).is_file():
            return True  # a build finds that out, or the store is elsewhere now
        duckdb.run(f"SELECT COUNT(COLUMNS(*)) FROM {parquet_scan([path])}")
    except EngineError as error:
        return "Out of Memory" in str(error)
    except OSError:  # no file can have that name
        return False
    return True


def _is_broken(segment: SegmentRecord, size: int | None) -> bool:
    recorded = segment.facts.get(FILE_BYTES)
    if size is None:
        return False
    return size < 0 or (recorded is not None and recorded != size)


def _size(store: Store, uri: str) -> int | None:
    """The artifact's bytes, -1 where it's gone, None where nobody can tell."""
    try:
        return store.artifact_size(uri)
    except FileNotFoundError:
        return -1
    except StoreError:
        path = Path(local_path(uri))  # recorded under another name of this store's root
        return path.stat().st_size if path.is_absolute() and path.exists() else None
