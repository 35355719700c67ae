"""The API's routes as a table: handlers, checks of requests and the document are made from it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from pydantic import BaseModel

from accelerator.gateway.workers.api import models as m

BASE = "/api/v1"
ARROW = "application/vnd.apache.arrow.stream"
_SCHEMAS = "/catalogs/{catalog}/schemas"
_TABLES = f"{_SCHEMAS}/{{schema}}/tables"
_TABLE = f"{_TABLES}/{{table}}"


class Route(Struct, frozen=True):
    """One operation. `path` is under `BASE`; `name` is the operation's, and the worker's call.

    `sort` says what answers it: a worker's call, an append, a start of work, or a query's rows.
    """

    name: str
    method: Literal["GET", "POST"]
    path: str
    summary: str
    answer: type[BaseModel]
    in_path: type[BaseModel] = m.NoParameters
    query: type[BaseModel] = m.NoParameters
    headers: type[BaseModel] = m.NoParameters
    body: type[BaseModel] | None = None
    status: int = 200
    sort: Literal["call", "append", "start", "query"] = "call"
    errors: tuple[int, ...] = ()
    """Statuses beside those that any operation may have."""


def _of_table(name: str, what: str, summary: str, answer: type[BaseModel], **more: object) -> Route:
    path = f"{_TABLE}/{what}" if what else _TABLE
    given = {"in_path": m.TablePath, "errors": (404,), **more}
    return Route(name, "GET", path, summary, answer, **given)  # type: ignore[arg-type]


def _list_of_table(
    what: str, summary: str, answer: type[BaseModel], query: type[m.Paging] = m.Paging
) -> Route:
    return _of_table(f"list_{what}", what, summary, answer, query=query, errors=(404, 410))


ROUTES: tuple[Route, ...] = (
    Route("list_catalogs", "GET", "/catalogs", "Catalogs that the user may see", m.CatalogsModel),
    Route(
        "list_schemas",
        "GET",
        _SCHEMAS,
        "Schemas of a catalog",
        m.Schemas,
        m.CatalogPath,
        m.Paging,
        errors=(404, 410),
    ),
    Route(
        "list_tables",
        "GET",
        _TABLES,
        "Tables and views of a schema",
        m.Relations,
        m.SchemaPath,
        m.Paging,
        errors=(404, 410),
    ),
    _of_table(
        "get_table", "", "A table: columns, partitions, order, sizes, properties", m.TableModel
    ),
    _list_of_table("snapshots", "Snapshots of a table", m.Snapshots),
    _of_table("list_refs", "refs", "Branches and tags of a table", m.Refs),
    _list_of_table("partitions", "Partitions of a table", m.Partitions),
    _list_of_table("files", "Data and delete files of a table", m.FilesModel),
    *(
        _list_of_table(api.name, api.summary, model, parameters)
        for _, api, model, parameters in m.LISTS.values()
    ),
    Route(
        "append_rows",
        "POST",
        f"{_TABLE}/rows",
        "Append rows to a table, once for the key",
        m.Append,
        m.TablePath,
        headers=m.AppendHeaders,
        sort="append",
        errors=(404, 408, 409, 413, 415, 422),
    ),
    Route(
        "query",
        "POST",
        "/query",
        "Rows of a query in Trino's SQL, as Arrow's stream",
        m.StreamModel,
        body=m.QueryModel,
        sort="query",
        errors=(404, 409, 413, 415),
    ),
    Route(
        "list_runs",
        "GET",
        "/runs",
        "Runs of services: those that go on, and the history",
        m.Runs,
        query=m.Paging,
        errors=(410,),
    ),
    Route(
        "start_run",
        "POST",
        "/runs",
        "Start work on a cube, an index or a table",
        m.RunModel,
        body=m.Start,
        status=202,
        sort="start",
        errors=(404, 409, 413, 415),
    ),
    Route("get_run", "GET", "/runs/{run}", "A run", m.RunModel, m.RunPath, errors=(404,)),
    Route(
        "cancel_run",
        "POST",
        "/runs/{run}/cancel",
        "Ask a run to stop, in whatever process it is",
        m.RunModel,
        m.RunPath,
        status=202,
        errors=(404, 409),
    ),
)
