"""Tables that a reader refuses whole, by their metadata files: no Spark and no JVM makes them.

Each is a table of PyIceberg with rows, whose newest metadata file is written anew with one thing
changed. Of `CASES` Spark's own answer was asked: `tests/spark/test_unreadable_on_tables.py`.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import text

Metadata = dict[str, Any]
Change = Callable[[Metadata], None]

ROWS = pa.table({"k": pa.array([1, 2, 3], pa.int64()), "v": pa.array([10, 20, 30], pa.int64())})


def catalog_of(folder: Path) -> SqlCatalog:
    """The catalog of a warehouse's folder, as `accelerator.open` finds it, with a namespace `d`."""
    folder.mkdir(parents=True, exist_ok=True)
    properties = {"uri": f"sqlite:///{folder / 'catalog.db'}", "warehouse": folder.as_uri() + "/"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("d")
    return catalog


def add_table(catalog: SqlCatalog, name: str, change: Change | None = None) -> Metadata:
    """Adds a table of two commits of `ROWS`; its metadata, changed.

    Its data files are those of a table `base`, which costs much less than rows of its own.
    """
    if not catalog.table_exists("d.base"):
        made = catalog.create_table("d.base", ROWS.schema)
        for _ in range(2):
            made.append(ROWS)
    base = Path(catalog.load_table("d.base").metadata_location.removeprefix("file://"))
    metadata: Metadata = json.loads(base.read_text())
    folder = base.parents[2] / name
    metadata |= {"table-uuid": str(uuid.uuid4()), "location": folder.as_uri(), "metadata-log": []}
    (change or (lambda _: None))(metadata)
    file = folder / "metadata" / f"00001-{uuid.uuid4()}.metadata.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(metadata))
    with catalog.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
                " metadata_location, iceberg_type) VALUES ('lake', 'd', :name, :file, 'TABLE')"
            ),
            {"name": name, "file": file.as_uri()},
        )
    return metadata


def change_metadata(catalog: SqlCatalog, name: str, change: Change) -> None:
    """Writes the table's newest metadata file anew, changed, and points the catalog to it."""
    values = {"name": name}
    with catalog.engine.begin() as connection:
        found = connection.execute(
            text("SELECT metadata_location FROM iceberg_tables WHERE table_name = :name"), values
        )
        path = Path(str(found.scalar()).removeprefix("file://"))
        metadata: Metadata = json.loads(path.read_text())
        change(metadata)
        newer = path.with_name(f"0{path.name}")
        newer.write_text(json.dumps(metadata))
        connection.execute(
            text("UPDATE iceberg_tables SET metadata_location = :new WHERE table_name = :name"),
            {"new": newer.as_uri(), **values},
        )


def column(id: int, name: str, type_: Any) -> Metadata:
    """An optional field."""
    return {"id": id, "name": name, "required": False, "type": type_}


def struct(*fields: Metadata) -> Metadata:
    """A struct's type."""
    return {"type": "struct", "fields": list(fields)}


def listed(element: Any) -> Metadata:
    """A list's type."""
    return {"type": "list", "element-id": 40, "element": element, "element-required": False}


def mapped(key: Any, value: Any) -> Metadata:
    """A map's type."""
    ids = {"key-id": 41, "value-id": 42}
    return {"type": "map", **ids, "key": key, "value": value, "value-required": False}


def columns(*added: Metadata, version: int = 2) -> Change:
    """Adds columns to the current schema, in a format of that version."""

    def change(metadata: Metadata) -> None:
        metadata["schemas"][-1]["fields"] += added
        metadata["last-column-id"] = 50
        _upgrade(metadata, version)

    return change


def earlier(field: Metadata, *, is_newest: bool = False) -> Change:
    """Gives the first snapshot a schema of its own with that column, or the newest one.

    Tag `tagged` and branch `branched` are the first snapshot.
    """

    def change(metadata: Metadata) -> None:
        old = metadata["schemas"][0]
        new = copy.deepcopy(old) | {"schema-id": 1}
        (new if is_newest else old)["fields"].append(field)
        metadata |= {"schemas": [old, new], "current-schema-id": 1, "last-column-id": 50}
        first, second = metadata["snapshots"]
        first["schema-id"], second["schema-id"] = 0, 1
        for name, type_ in (("tagged", "tag"), ("branched", "branch")):
            metadata["refs"][name] = {"snapshot-id": first["snapshot-id"], "type": type_}

    return change


def partitioned(field: Mapping[str, Any], *, is_current: bool = True) -> Change:
    """Adds a partition spec."""

    def change(metadata: Metadata) -> None:
        given = {"field-id": 1000, "name": "p", **field}
        metadata["partition-specs"].append({"spec-id": 1, "fields": [given]})
        metadata["last-partition-id"] = 1000
        if is_current:
            metadata["default-spec-id"] = 1

    return change


def _upgrade(metadata: Metadata, version: int) -> None:
    metadata["format-version"] = version
    if version > 2:
        metadata["next-row-id"] = 100


def _statistics(metadata: Metadata) -> None:
    snapshot = {"snapshot-id": metadata["current-snapshot-id"]}
    blob = {"type": "acme-bloom", "sequence-number": 1, "fields": [1], "properties": {}, **snapshot}
    sizes = {"file-size-in-bytes": 1, "file-footer-size-in-bytes": 1, "statistics-path": "file:/x"}
    metadata["statistics"] = [{**snapshot, **sizes, "blob-metadata": [blob]}]


def _operation(metadata: Metadata) -> None:
    metadata["snapshots"][-1]["summary"]["operation"] = "merge"


_TWINS = struct(column(11, "a", "int"), column(12, "A", "int"))
BY_SPARK: Mapping[str, tuple[Change, str, str]] = {
    "pair": (columns(column(10, "K", "string")), "K", "string"),
    "pair_struct": (columns(column(10, "s", _TWINS)), "s.A", "int"),
    "pair_list": (columns(column(10, "s", listed(_TWINS))), "s.element.A", "int"),
    "pair_map": (columns(column(10, "s", mapped("string", _TWINS))), "s.value.A", "int"),
    "pair_accent": (columns(column(10, "é", "int"), column(11, "É", "int")), "É", "int"),
    "pair_sharp": (columns(column(10, "ß", "int"), column(11, "ẞ", "int")), "ẞ", "int"),
    "pair_kelvin": (columns(column(10, "\u212a", "int")), "\u212a", "int"),
    "time": (columns(column(10, "t", "time")), "t", "time"),
    "time_struct": (columns(column(10, "s", struct(column(11, "t", "time")))), "s.t", "time"),
    "time_list": (columns(column(10, "s", listed("time"))), "s.element", "time"),
    "time_value": (columns(column(10, "s", mapped("string", "time"))), "s.value", "time"),
    "time_key": (columns(column(10, "s", mapped("time", "string"))), "s.key", "time"),
    "nano": (columns(column(10, "t", "timestamp_ns"), version=3), "t", "timestamp_ns"),
    "nano_zoned": (columns(column(10, "t", "timestamptz_ns"), version=3), "t", "timestamptz_ns"),
    "new_time": (earlier(column(10, "t", "time"), is_newest=True), "t", "time"),
    "new_pair": (earlier(column(10, "K", "int"), is_newest=True), "K", "int"),
    "both": (
        columns(column(10, "g", "variant"), column(11, "t", "time"), version=3),
        *("t", "time"),
    ),
}
"""What Spark refuses: the column that is named for it, and its type."""
_ZORDER = {"source-id": 1, "transform": "zorder"}
BY_ICEBERG: Mapping[str, tuple[Change, str, str]] = {
    "transform": (partitioned(_ZORDER), "p", "zorder"),
    "transform_old": (partitioned(_ZORDER, is_current=False), "p", "zorder"),
    "transform_several": (
        partitioned({"source-ids": [1, 2], "transform": "bucket[4]"}),
        *("p", "bucket[4] of [1, 2]"),
    ),
    "future": (columns(column(10, "t", "polygon"), version=3), "t", "polygon"),
}
"""What Iceberg's library for Spark refuses."""
BY_PYICEBERG: Mapping[str, tuple[Change, str, str]] = {
    "variant": (columns(column(10, "t", "variant"), version=3), "t", "variant"),
    "variant_inside": (
        columns(column(10, "t", struct(column(11, "x", "variant"))), version=3),
        *("t.x", "variant"),
    ),
    "geometry": (
        columns(column(10, "t", "geometry(EPSG:3857)"), version=3),
        "t",
        "geometry(EPSG:3857)",
    ),
    "version_4": (columns(version=4), "", ""),
    "statistics": (_statistics, "", ""),
    "operation": (_operation, "", ""),
}
"""What PyIceberg alone refuses: Spark answers."""
READ: Mapping[str, Change] = {
    "old_time": earlier(column(10, "t", "time")),
    "old_pair": earlier(column(10, "K", "int")),
    "sharp": columns(column(10, "ß", "int"), column(11, "SS", "int")),
    "sigma": columns(column(10, "σ", "int"), column(11, "ς", "int")),
    "dotless": columns(column(10, "i", "int"), column(11, "İ", "int")),
    "void": columns(column(10, "t", "unknown"), version=3),
}
"""What both read in the newest state."""
