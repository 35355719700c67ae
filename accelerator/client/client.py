"""The client: catalogs and tables of a gateway, and the runs of its store's services."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import Any, Self

import pyarrow as pa

from accelerator.client.errors import UnreachableError
from accelerator.client.http import Http, part
from accelerator.client.runs import Run
from accelerator.client.streams import read
from accelerator.client.tables import Table
from rewrite.errors import StatementError
from rewrite.identifiers.qualified_name import parts_of


def connect(
    url: str,
    *,
    user: str = "",
    password: str = "",
    verify: bool | str = True,
    timeout_s: float = 120.0,
    busy_wait_s: float = 60.0,
) -> Client:
    """A client of the gateway at that address, as `http://127.0.0.1:8080`; nothing is asked yet.

    `verify` is a file of certificates that are trusted, or False: none is checked. `timeout_s` is
    how long an answer may take. A gateway that is too busy to begin something is asked again, for
    `busy_wait_s` at most; 0: its first refusal is raised.
    """
    return Client(Http(url, user, password, verify, timeout_s, busy_wait_s))


class Client:
    """Made by `connect`; ends with its `with`. One thread uses it at a time."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def __repr__(self) -> str:
        return f"Client({self._http.url})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def catalogs(self) -> list[str]:
        """The catalogs that the user may see."""
        return [one["name"] for one in self._http.get("/catalogs")["items"]]

    def schemas(self, catalog: str) -> Iterator[str]:
        """The schemas of a catalog; one within another has a dot between them."""
        path = f"/catalogs/{part(catalog)}/schemas"
        return (str(one["name"]) for one in self._http.items(path))

    def tables(self, catalog: str | None = None, schema: str | None = None) -> Iterator[Table]:
        """The tables of a schema, of all schemas of a catalog, or of all catalogs."""
        for one in self.catalogs() if catalog is None else [catalog]:
            for name in self.schemas(one) if schema is None else [schema]:
                path = f"/catalogs/{part(one)}/schemas/{part(name)}/tables"
                for found in self._http.items(path):
                    if found["kind"] == "table":
                        yield Table(self._http, one, name, found["name"])

    def table(self, name: str | Sequence[str]) -> Table:
        """The table of that full name: `lake.shop.sales`, or its parts."""
        parts = parts_of(name) if isinstance(name, str) else tuple(name)
        if len(parts) < 3:
            raise StatementError(
                f"{name!r} is no full name of a table", hint="give catalog, schema and table"
            )
        return Table(self._http, parts[0], ".".join(parts[1:-1]), parts[-1])

    def query(self, sql: str, *, catalog: str | None = None, schema: str | None = None) -> pa.Table:
        """The rows of a query in Trino's SQL; catalog and schema complete its names.

        ApiError with what is wrong with it, UnreachableError where the answer broke off.
        """
        given = {"sql": sql, "catalog": catalog, "schema": schema}
        with BytesIO() as file:
            self._http.stream("/query", given, file)
            try:
                return read(file)
            except (ValueError, pa.ArrowException) as error:
                raise UnreachableError(
                    f"the answer can't be read: {error}", hint="ask again"
                ) from error

    def runs(self, limit: int = 100) -> list[Run]:
        """The runs that have ended, the last ones first."""
        found = self._http.items("/runs", limit=min(limit, 1000))
        return [Run(self._http, one) for one in islice(found, limit)]

    def running(self) -> list[Run]:
        """The runs that go on now, in whatever process of the store."""
        found = self._http.get("/runs", limit=1)["running"]
        return [Run(self._http, one) for one in found]

    def run(self, id: str) -> Run:
        """The run of that id."""
        return Run(self._http, self._http.get(f"/runs/{part(id)}"))

    def start(
        self,
        action: str,
        *,
        cube: str | None = None,
        index: str | None = None,
        table: str | Sequence[str] | None = None,
        full: bool = False,
    ) -> Run:
        """Starts work, in a process of the gateway's.

        `refresh` of a cube or an index, `compact` of a cube, `vacuum` (`full`: it looks for orphans
        too) or `analyze` of a table. ApiError `run_busy` where it's being done already.
        """
        body: dict[str, Any] = {"action": action}
        if full:
            body["full"] = True
        if cube is not None:
            body["cube"] = cube
        if index is not None:
            body["index"] = index
        if table is not None:
            found = self.table(table)
            body["table"] = [found.catalog, found.schema, found.name]
        return Run(self._http, self._http.post("/runs", body))
