"""One table of a gateway: what its metadata tells, and appends to it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from accelerator.client.http import Http, Json, part
from accelerator.client.streams import written
from rewrite.identifiers.qualified_name import joined

_ARROW = "application/vnd.apache.arrow.stream"


class Appended(Struct, frozen=True):
    """What an append came to: its snapshot (None where there were no rows), and how much it is.

    `repeated`: an append of the same key had been made already, and this one changed nothing.
    """

    snapshot_id: int | None
    rows: int
    files: int
    bytes: int
    repeated: bool
    key: str


class Table:
    """A table by its catalog, schema and name; nothing is asked before a method is called.

    Each method raises ApiError with what the gateway says, and UnreachableError. What it tells are
    the objects of the API's document; times are Unix time in milliseconds.
    """

    def __init__(self, http: Http, catalog: str, schema: str, name: str) -> None:
        self.catalog, self.schema, self.name = catalog, schema, name
        self._http = http
        parts = map(part, (catalog, schema, name))
        self._path = "/catalogs/{}/schemas/{}/tables/{}".format(*parts)

    def __repr__(self) -> str:
        return f"Table({joined((self.catalog, *self.schema.split('.'), self.name))})"

    def info(self) -> Json:
        """Its columns, partitions, order, sizes and properties."""
        return self._http.get(self._path)

    def snapshots(self) -> Iterator[Json]:
        """Its snapshots, the newest first."""
        return self._http.items(f"{self._path}/snapshots")

    def refs(self) -> list[Json]:
        """Its branches and tags."""
        found: list[Json] = self._http.get(f"{self._path}/refs")["items"]
        return found

    def partitions(self) -> Iterator[Json]:
        """The partitions of its newest snapshot, with counts of rows, files and bytes."""
        return self._http.items(f"{self._path}/partitions", limit=1000)

    def files(self) -> Iterator[Json]:
        """The data and delete files of its newest snapshot."""
        return self._http.items(f"{self._path}/files", limit=1000)

    def cubes(self) -> Iterator[Json]:
        """Its cubes."""
        return self._http.items(f"{self._path}/cubes")

    def indexes(self) -> Iterator[Json]:
        """Its indexes."""
        return self._http.items(f"{self._path}/indexes")

    def coverage(self, *, cube: str | None = None, index: str | None = None) -> Iterator[Json]:
        """By data file what covers it, or why nothing does; of one cube or index alone."""
        path = f"{self._path}/coverage"
        return self._http.items(path, limit=1000, cube=cube, index=index)

    def statistics(self) -> Iterator[Json]:
        """What its metadata says of each column."""
        return self._http.items(f"{self._path}/statistics")

    def recommendations(self) -> Iterator[Json]:
        """What was advised for it last."""
        return self._http.items(f"{self._path}/recommendations")

    def append(self, rows: Any, *, key: str | None = None) -> Appended:
        """Appends rows, all at once and, for a key, once.

        Args:
            rows: Arrow's (a table, batches, a reader), or a frame of pandas or polars. Columns go
                by name; what is missing is NULL; no value is rounded, parsed or cut.
            key: names this append, 8 to 64 letters, digits, `_`, `.` and `-`. Whoever sends the
                same rows under the same key again appends nothing. By default a new one.

        Raises:
            ApiError: `upload_schema` names the column that doesn't fit; nothing was appended.
            UnreachableError: whether it was appended isn't known; the same key may be sent again.
        """
        key = uuid.uuid4().hex if key is None else key
        headers = {"Content-Type": _ARROW, "Idempotency-Key": key}
        with written(rows) as file:
            found = self._http.upload(f"{self._path}/rows", file, headers)
        return Appended(**found, key=key)
