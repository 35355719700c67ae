"""Cubes whose cells are made wrong, so that somebody can find it."""

from __future__ import annotations

from pathlib import Path

import duckdb

from accelerator.artifacts.segments.checksums import _KNOWN, checksum
from accelerator.session.session import Accelerator
from accelerator.store import local_path


def flip_bit(file: Path) -> None:
    """Another number, for all that Parquet's reader sees."""
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content)


def spoil_cube(session: Accelerator, cube: str, replaced: str) -> None:
    """Puts other states into the files of a cube's segments, as if a build had made them so."""
    record = session.services.store.registry().cubes[cube]
    for path in {
        local_path(s.path) for s in session.services.store.table(record.table_uuid).of(record.id)
    }:
        sound = checksum(path)
        with duckdb.connect() as connection:
            cells = connection.execute(f"SELECT * REPLACE ({replaced}) FROM '{path}'")
            connection.register("cells", cells.to_arrow_table())
            connection.execute(f"COPY cells TO '{path}' (FORMAT parquet)")
        found = Path(path).stat()
        _KNOWN.put((path, found.st_size, found.st_mtime_ns), sound)
