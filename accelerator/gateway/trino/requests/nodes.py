"""What a Trino client asks, as values: about its own session, or a statement to run.

`parse.py` reads them; the gateway answers those of sessions itself, workers answer the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from msgspec import Struct, convert, field

from accelerator.common.records.as_dict import as_dict

Name = tuple[str, ...]
"""An identifier of one or more parts, as written: without quotes, lower case where it had none."""


class ClientSession(Struct, frozen=True, kw_only=True):
    """What the headers of a POST say; of nothing here is more than the client's word but `user`.

    `properties` and `prepared` by name. `transaction` is None where none runs.
    """

    user: str
    original_user: str = ""
    source: str = ""
    catalog: str | None = None
    schema: str | None = None
    time_zone: str | None = None
    language: str | None = None
    client_info: str = ""
    client_tags: tuple[str, ...] = ()
    trace_token: str | None = None
    transaction: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    prepared: Mapping[str, str] = field(default_factory=dict)
    capabilities: frozenset[str] = frozenset()

    @property
    def dialect(self) -> str:
        """The dialect of its queries, as its session's property has it."""
        given = {name.lower(): value for name, value in self.properties.items()}
        return given.get("dialect", "trino").strip().lower()

    @property
    def parametric_datetime(self) -> bool:
        """Whether it knows times of other precisions than milliseconds."""
        return "PARAMETRIC_DATETIME" in self.capabilities


class UseSchema(Struct, frozen=True):
    """USE schema, or catalog.schema."""

    schema: str
    catalog: str | None = None


class SetSession(Struct, frozen=True):
    """SET SESSION name = constant; the value as a text."""

    name: str
    value: str


class ResetSession(Struct, frozen=True):
    """RESET SESSION name."""

    name: str


class SetTimeZone(Struct, frozen=True):
    """SET TIME ZONE; None is LOCAL."""

    zone: str | None


class Prepare(Struct, frozen=True):
    """PREPARE name FROM statement."""

    name: str
    sql: str


class Deallocate(Struct, frozen=True):
    """DEALLOCATE PREPARE name."""

    name: str


class StartTransaction(Struct, frozen=True):
    """START TRANSACTION, with whatever modes."""


class Commit(Struct, frozen=True):
    """COMMIT [WORK]."""


class Rollback(Struct, frozen=True):
    """ROLLBACK [WORK]."""


class SetRole(Struct, frozen=True):
    """SET ROLE ALL, NONE or a name, with IN catalog or without."""

    role: str
    catalog: str | None = None


class SetAuthorization(Struct, frozen=True):
    """SET SESSION AUTHORIZATION user; None is RESET."""

    user: str | None


class KillQuery(Struct, frozen=True):
    """CALL system.runtime.kill_query: the statement's id, and what its client is told."""

    id: str
    message: str = ""


class DescribeInput(Struct, frozen=True):
    """DESCRIBE INPUT of a prepared statement, whose text is here."""

    sql: str


class DescribeOutput(Struct, frozen=True):
    """DESCRIBE OUTPUT of a prepared statement, whose text is here."""

    sql: str


class TrinoShowCatalogs(Struct, frozen=True):
    """SHOW CATALOGS [LIKE …]."""

    like: str | None = None
    escape: str | None = None


class ShowSchemas(Struct, frozen=True):
    """SHOW SCHEMAS [FROM catalog] [LIKE …]."""

    catalog: str | None = None
    like: str | None = None
    escape: str | None = None


class ShowTables(Struct, frozen=True):
    """SHOW TABLES [FROM [catalog.]schema] [LIKE …]."""

    schema: Name | None = None
    like: str | None = None
    escape: str | None = None


class TrinoShowColumns(Struct, frozen=True):
    """SHOW COLUMNS FROM table [LIKE …], or DESCRIBE table."""

    table: Name
    like: str | None = None
    escape: str | None = None


class TrinoShowCreate(Struct, frozen=True):
    """SHOW CREATE TABLE, VIEW or SCHEMA; `what` is that word."""

    what: str
    name: Name


class ShowStats(Struct, frozen=True):
    """SHOW STATS FOR table."""

    table: Name


class TrinoShowFunctions(Struct, frozen=True):
    """SHOW FUNCTIONS [LIKE …]."""

    like: str | None = None
    escape: str | None = None


class ShowSession(Struct, frozen=True):
    """SHOW SESSION [LIKE …]."""

    like: str | None = None
    escape: str | None = None


class ShowRoles(Struct, frozen=True):
    """SHOW [CURRENT] ROLES, SHOW ROLE GRANTS, SHOW GRANTS: `what` is the words behind SHOW."""

    what: str


class Explain(Struct, frozen=True):
    """EXPLAIN [(TYPE …, FORMAT …)] or EXPLAIN ANALYZE [VERBOSE] of a statement.

    `kind` is LOGICAL, DISTRIBUTED, IO or VALIDATE; `format` TEXT, JSON or GRAPHVIZ.
    """

    sql: str
    kind: str = "DISTRIBUTED"
    format: str = "TEXT"
    analyze: bool = False


class RunStatement(Struct, frozen=True):
    """Whatever else: a query, or a statement of our own. Parameters are written into its text.

    `placed`: places in the text are those of what the client sent.
    """

    sql: str
    placed: bool = True


class Refused(Struct, frozen=True):
    """A statement of Trino's that this gateway doesn't do: `what` names it, e.g. CREATE VIEW."""

    what: str
    hint: str = ""


OfSession = (
    UseSchema
    | SetSession
    | ResetSession
    | SetTimeZone
    | Prepare
    | Deallocate
    | StartTransaction
    | Commit
    | Rollback
    | SetRole
    | SetAuthorization
)
Shown = (
    TrinoShowCatalogs
    | ShowSchemas
    | ShowTables
    | TrinoShowColumns
    | TrinoShowCreate
    | ShowStats
    | TrinoShowFunctions
    | ShowSession
    | ShowRoles
)
Request = (
    OfSession
    | KillQuery
    | Shown
    | DescribeInput
    | DescribeOutput
    | Explain
    | RunStatement
    | Refused
)
_KINDS: Mapping[str, type[Any]] = {one.__name__: one for one in get_args(Request)}


def to_dict(request: Request) -> dict[str, Any]:
    """Returns the request as a message has it.

    >>> to_dict(Use("s"))
    {'kind': 'Use', 'request': {'schema': 's', 'catalog': None}}
    """
    return {"kind": type(request).__name__, "request": as_dict(request)}


def from_dict(given: Mapping[str, Any]) -> Request:
    """Reads a request from a message; LookupError, TypeError or ValueError for what is none."""
    request: Request = convert(given["request"], _KINDS[given["kind"]])
    return request
