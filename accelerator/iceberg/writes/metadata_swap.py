"""Changing a table's metadata in a SQL catalog: a new metadata file, one swap of the pointer.

PyIceberg 0.12 can't write the metadata of v3 tables, and writes other parts of v2 metadata anew.
So the JSON is edited as it stands: what is changed, the time of it and the metadata log; all else
is left alone. Promises: nothing is overwritten; a swap that loses leaves no file behind.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from accelerator.common.files.safe_files import sync_directory, write_synced
from accelerator.errors import UNFIT
from accelerator.iceberg.errors import CatalogError
from accelerator.iceberg.io import file_io, local_path, read_metadata

Edit = Callable[[dict[str, Any]], None]
"""Changes parsed metadata in place."""

_LOG_MAX = "write.metadata.previous-versions-max"
_LOG_MAX_DEFAULT = 100


def write_edited(location: str, io_properties: Mapping[str, str], edit: Edit) -> str:
    """Write a successor of the metadata file with that change; returns where it stands.

    CatalogError where it isn't of a form that can be changed; what the change raises.
    """
    try:
        metadata = json.loads(read_metadata(location, io_properties))
        edit(metadata)
        succeed(metadata, location, time.time_ns() // 1_000_000)
        content = json.dumps(metadata, separators=(",", ":"), ensure_ascii=False).encode()
    except UNFIT as error:
        raise CatalogError(
            f"{location} can't be changed: {error!r}",
            hint="the table's metadata isn't of Iceberg's form; properties are set in nothing else",
        ) from error
    successor = successor_location(location, str(uuid.uuid4()))
    path = local_path(successor)
    if path is not None:
        write_synced(Path(path), content)
        sync_directory(Path(path).parent)  # the pointer is swapped to what a power cut leaves
    else:
        with file_io(successor, io_properties).new_output(successor).create() as output:
            output.write(content)
    return successor


def remove(location: str, io_properties: Mapping[str, str]) -> None:
    """Remove a metadata file that no pointer ever named."""
    path = local_path(location)
    if path is not None:
        Path(path).unlink(missing_ok=True)
    else:
        file_io(location, io_properties).delete(location)


def with_properties(updates: Mapping[str, str | None]) -> Edit:
    """Sets these properties; None removes one."""

    def edit(metadata: dict[str, Any]) -> None:
        properties = metadata.setdefault("properties", {})
        for key, value in updates.items():
            if value is None:
                properties.pop(key, None)
            else:
                properties[key] = value

    return edit


def succeed(metadata: dict[str, Any], location: str, now_ms: int) -> None:
    """Make parsed metadata the successor of the file that stood at `location`."""
    properties = metadata.get("properties", {})
    log = metadata.setdefault("metadata-log", [])
    log.append({"timestamp-ms": metadata["last-updated-ms"], "metadata-file": location})
    del log[: -max(1, int(properties.get(_LOG_MAX, _LOG_MAX_DEFAULT)))]
    # Readers refuse metadata that is older than its own log, whatever this machine's clock says.
    metadata["last-updated-ms"] = max(now_ms, metadata["last-updated-ms"])


def successor_location(location: str, unique: str) -> str:
    """The next metadata file's name beside this one.

    >>> successor_location("s3://b/t/metadata/00009-abc.gz.metadata.json", "xyz")
    's3://b/t/metadata/00010-xyz.metadata.json'
    """
    folder, _, name = location.rpartition("/")
    number = re.match(r"v?(\d+)", name)
    version = int(number.group(1)) + 1 if number else 0
    return f"{folder}/{version:05d}-{unique}.metadata.json"
