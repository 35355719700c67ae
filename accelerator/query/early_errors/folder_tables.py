"""The tables of a warehouse's own catalog, a SQLite file, as far as errors need them.

It reads names, and of a table the names of its columns. Nothing of PyIceberg is imported, which
takes longer than all the rest of an error. Promise: what it says is what the lake says, or nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from accelerator.common.files.file_uri import other_host, path_of
from accelerator.errors import UNFIT
from accelerator.query.early_errors.absence import is_absent, nearest
from rewrite.analysis.unknown_names import LakeNames
from rewrite.text.spark_keywords import LACKED_TYPES

_METADATA_MAX = 16 << 20
"""Bytes of a metadata file that is read twice, here and by who answers the statement."""
_NAMED = (
    "SELECT * FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
)
_CATALOGS = "SELECT DISTINCT catalog_name FROM iceberg_tables"
_LISTED = "SELECT * FROM iceberg_tables WHERE catalog_name = ?"


class FolderTables:
    """Those of the catalog of that name in the file, which is the session's only one."""

    def __init__(self, file: Path, catalog: str) -> None:
        self._file, self._catalog = file, catalog

    def find(self, parts: tuple[str, ...]) -> LakeNames | None:
        """The table of that name; None where there is none, or it can't be read quickly."""
        with suppress(sqlite3.Error, OSError, *UNFIT):
            rows = self._rows(self._full(parts))
            if len(rows) == 1 and not _is_view(rows[0]):
                return _names_in_metadata(str(rows[0]["metadata_location"]))
        return None

    def is_absent(self, parts: tuple[str, ...]) -> bool:
        """Whether surely neither table nor view is found under that name, by any rule."""
        with suppress(sqlite3.Error, OSError):
            return is_absent(parts, self._full(parts), lambda full: not self._rows(full))
        return False

    def near(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The names of tables that are closest to it, as statements may write them."""
        with suppress(sqlite3.Error, OSError):
            return nearest(parts, self._tables(), self._catalog)
        return ()

    def misnamed(self) -> dict[str, list[str]]:
        """The catalog, if it has no tables, with the names of those that have some in the file."""
        with suppress(sqlite3.Error, OSError):
            others = sorted(str(row["catalog_name"]) for row in self._select(_CATALOGS))
            if others and self._catalog not in others:
                return {self._catalog: others}
        return {}

    def _full(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        if len(parts) > 1 and parts[0] == self._catalog:
            return parts
        return (self._catalog, *parts)

    def _tables(self) -> Iterator[tuple[str, ...]]:
        for row in self._select(_LISTED, (self._catalog,)):
            if not _is_view(row):
                yield (self._catalog, *row["table_namespace"].split("."), row["table_name"])

    def _rows(self, full: tuple[str, ...]) -> list[sqlite3.Row]:
        return self._select(_NAMED, (self._catalog, ".".join(full[1:-1]), full[-1]))

    def _select(self, text: str, values: tuple[str, ...] = ()) -> list[sqlite3.Row]:
        address = f"{self._file.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute(text, values).fetchall()


def _is_view(row: sqlite3.Row) -> bool:
    return "iceberg_type" in row.keys() and row["iceberg_type"] == "VIEW"  # noqa: SIM118


def _names_in_metadata(location: str) -> LakeNames | None:
    """The columns by the table's metadata file, where that is a small one on this machine."""
    path = path_of(location)
    file = Path(path)
    local = not ("://" in path or other_host(location)) and file.name.endswith(".metadata.json")
    if not local or file.name.endswith(".gz.metadata.json") or file.stat().st_size > _METADATA_MAX:
        return None
    metadata: dict[str, Any] = json.loads(file.read_bytes())
    schemas = metadata.get("schemas") or [metadata["schema"]]
    current = metadata.get("current-schema-id", 0)
    now = next((s for s in schemas if s.get("schema-id", 0) == current), schemas[-1])
    if _is_refused(now):
        return None
    names = {name.lower() for one in schemas for name in _names(one)}
    parts = frozenset(part for name in names for part in name.split("."))
    return LakeNames(tuple(field["name"] for field in now["fields"]), parts)


def _is_refused(kind: Any) -> bool:
    """Returns whether Spark refuses a schema with that type, so that no name in it is the error."""
    if not isinstance(kind, dict):
        return kind in LACKED_TYPES
    fields = kind.get("fields", ())
    if len({str(field["name"]).lower() for field in fields}) < len(fields):
        return True
    inner = [field["type"] for field in fields]
    return any(map(_is_refused, [*inner, *map(kind.get, ("element", "key", "value"))]))


def _names(kind: Any) -> Iterator[str]:
    """The names of fields in a schema or a type, those inside it, too."""
    if not isinstance(kind, dict):
        return
    for field in kind.get("fields", ()):
        yield str(field["name"])
        yield from _names(field["type"])
    for inner in ("element", "key", "value"):
        yield from _names(kind.get(inner))
