"""What the gateway has its workers do for the API: calls by name, with what the client gave.

A worker reads what it's given by the very models of the routes, and answers by one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert
from pydantic import BaseModel

from accelerator.gateway.access.check import denied
from accelerator.gateway.access.grants import Object, UserAccess
from accelerator.gateway.workers.api import models as m
from accelerator.gateway.workers.api.errors import RunBusyError
from accelerator.gateway.workers.api.runs import RunsOf
from accelerator.gateway.workers.api.tables import TablesOfUser
from accelerator.services.maintenance import requested_tasks
from accelerator.store.journals.claims import Claim
from accelerator.store.journals.run_history import id_of

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

Tell = Callable[[dict[str, Any]], None]
Json = Mapping[str, Any]


class ApiCall(Struct, frozen=True):
    """One call. `path`, `query` and `body` are what the client gave, as JSON values."""

    name: str
    access: UserAccess
    user: str
    path: Json
    query: Json
    body: Json
    log_of: str | None = None
    """The user whose logged statements it may see; None: everybody's."""

    @classmethod
    def from_dict(cls, raw: Json) -> ApiCall:
        """Reads a message; LookupError, TypeError or ValueError if it isn't one."""
        path, query, body = (dict(raw[name]) for name in ("path", "query", "body"))
        whose = convert(raw["log_of"], str | None)
        access = UserAccess.from_json(raw["access"])
        return cls(str(raw["call"]), access, str(raw["user"]), path, query, body, whose)


def answered(call: ApiCall, services: Services, tell: Tell, check: Callable[[], None]) -> BaseModel:
    """Does it. `tell` is told of what is known before it ends, `check` raises where it's to stop.

    Raises:
        RequestError, CursorError: what was given can't be.
        AccessDeniedError, UnknownTableError and others: as of the same work by statements.
    """
    match call.name:
        case "append_rows":
            return _append(call, services, check)
        case "start_run":
            return _start(call, services, tell)
        case "list_runs":
            return RunsOf(services, call.access, call.user).runs(m.Paging(**call.query))
        case "get_run":
            return RunsOf(services, call.access, call.user).run(m.RunPath(**call.path))
        case "cancel_run":
            runs = RunsOf(services, call.access, call.user)
            return runs.cancel(m.RunPath(**call.path))
        case _:
            return _of_tables(call, TablesOfUser(services, call.access))


def _of_tables(call: ApiCall, tables: TablesOfUser) -> BaseModel:
    match call.name:
        case "list_catalogs":
            return tables.catalogs()
        case "list_schemas":
            return tables.schemas(m.CatalogPath(**call.path), m.Paging(**call.query))
        case "list_tables":
            return tables.relations(m.SchemaPath(**call.path), m.Paging(**call.query))
    path = m.TablePath(**call.path)
    match call.name:
        case "get_table":
            return tables.table(path)
        case "list_refs":
            return tables.refs(path)
    paged: Mapping[str, Callable[[m.TablePath, m.Paging], BaseModel]] = {
        "list_snapshots": tables.snapshots,
        "list_partitions": tables.partitions,
        "list_files": tables.files,
    }
    if call.name in m.LISTS:
        found: BaseModel = tables.listed(call.name, path, call.query)
        return found
    return paged[call.name](path, m.Paging(**call.query))


def _append(call: ApiCall, services: Services, check: Callable[[], None]) -> m.Append:
    from accelerator.services.ingest.append import append  # imports PyIceberg

    full = TablesOfUser(services, call.access).full(m.TablePath(**call.path), "write")
    asked = Object.table(full)
    if not call.access.may("write", asked):
        raise denied("write", asked)
    body = call.body
    found = append(
        services.lake,
        full,
        Path(body["file"]),
        body["key"],
        body["digest"],
        user=call.user,
        check=check,
    )
    return m.Append(
        snapshot_id=found.snapshot_id,
        rows=found.rows,
        files=found.files,
        bytes=found.bytes,
        repeated=found.repeated,
    )


def _start(call: ApiCall, services: Services, tell: Tell) -> m.RunModel:
    """Does the work; the run's id is told once it's claimed, and what it came to is the answer."""
    runs, told = RunsOf(services, call.access, call.user), list[str]()
    task = runs.task(m.Start.model_validate(call.body))

    def began(claim: Claim) -> None:
        told.append(id_of(claim.key, claim.epoch))
        tell({"run": told[-1]})

    outcome = requested_tasks.run(services, task, call.user, began)
    if told:
        return RunsOf(services, call.access, call.user).run(m.RunPath(run=told[-1]))
    if outcome is not None and outcome.error is not None:
        raise outcome.error
    known = runs.newest(task.key)
    raise RunBusyError(
        "another process is at that work" + ("" if known is None else f": run {known.id}"),
        hint="wait for that run, or cancel it",
    )
