"""What a client's own statements do: nothing here, but headers that its next requests carry.

Trino's clients keep their session themselves, so that any gateway can answer any of their requests.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping

from msgspec import Struct, field

from accelerator.errors import StatementError
from accelerator.gateway.trino.headers import response_headers
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.nodes import ClientSession, OfSession
from rewrite.client import SPARK, TRINO
from rewrite.text.printable import one_line
from rewrite.text.suggestions import closest, did_you_mean

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DAYS_MAX = 36_500
DIALECTS = (TRINO, SPARK)
"""The dialects in which clients may write queries."""


class Property(Struct, frozen=True):
    """A property that a client's session may have, as SHOW SESSION tells of it."""

    name: str
    default: str
    type: str
    doc: str
    read: Callable[[str], object]


def _switch(text: str) -> bool:
    found = {"true": True, "false": False}.get(text.strip().lower())
    if found is None:
        raise ValueError("it's true or false")
    return found


def _duration(text: str) -> float:
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError("it's a number and a unit, such as 90s or 1.5m")
    seconds = float(found[1]) * _SECONDS[found[2]]
    if seconds > _DAYS_MAX * _SECONDS["d"]:
        raise ValueError(f"it's {_DAYS_MAX}d at most")
    return seconds


def _dialect(text: str) -> str:
    found = text.strip().lower()
    if found not in DIALECTS:
        raise ValueError(f"it's {' or '.join(DIALECTS)}")
    return found


PROPERTIES = {
    one.name: one
    for one in (
        Property(
            "accelerate",
            "true",
            "boolean",
            "false: Spark alone answers, from the table's own files",
            _switch,
        ),
        Property(
            "dialect",
            "trino",
            "varchar",
            "the SQL of queries: trino, or spark, whose names are completed alike",
            _dialect,
        ),
        Property(
            "query_max_run_time",
            "",
            "varchar",
            "how long a statement may take, e.g. 5m; never longer than the gateway's own limit",
            _duration,
        ),
        Property("result_cache", "true", "boolean", "false: answers are computed anew", _switch),
    )
}


class UnknownPropertyError(StatementError):
    """A session property that isn't known, or a value that it can't have."""

    code = "session_property_invalid"


def _constant(known: Property) -> str:
    """An example of a value, as SET SESSION takes it."""
    return known.default if known.type == "boolean" else repr(known.default or "5m")


def check_property(name: str, value: str | None = None) -> None:
    """UnknownPropertyError for a name that is none, or a value that it can't have."""
    known = PROPERTIES.get(name.lower())
    if known is None:
        near = closest(name, list(PROPERTIES))
        raise UnknownPropertyError(
            f"there is no session property {one_line(name)[:80]}",
            hint=did_you_mean(near) or f"SHOW SESSION lists them: {', '.join(PROPERTIES)}",
            suggestions=near,
        )
    if value is not None:
        try:
            known.read(value)
        except ValueError as error:
            raise UnknownPropertyError(
                f"the session property {known.name} can't be {one_line(value)[:80]}: {error}",
                hint=f"SET SESSION {known.name} = {_constant(known)}",
            ) from error


class Wishes(Struct, frozen=True):
    """What a client's properties ask for."""

    accelerate: bool = True
    timeout_s: float = 0.0
    cache: bool = True
    dialect: str = TRINO

    @classmethod
    def of(cls, properties: Mapping[str, str], timeout_s: float) -> Wishes:
        """Of these properties, where a statement may take so long at most; 0: no limit."""
        for name, value in properties.items():
            check_property(name, value)
        given = {name.lower(): value for name, value in properties.items()}
        own = _duration(given["query_max_run_time"]) if "query_max_run_time" in given else 0.0
        limits = [one for one in (own, timeout_s) if one > 0]
        return cls(
            _switch(given.get("accelerate", "true")),
            min(limits, default=0.0),
            _switch(given.get("result_cache", "true")),
            _dialect(given.get("dialect", TRINO)),
        )


class Changes(Struct, frozen=True):
    """What the client is told to keep, and what the statement is called."""

    update_type: str
    headers: list[tuple[str, str]] = field(default_factory=list)


def changes(asked: OfSession, client: ClientSession) -> Changes:  # noqa: PLR0912 - one case each
    """What a statement of its session makes a client keep; StatementError where it can't."""
    match asked:
        case nodes.UseSchema(schema, catalog):
            if catalog is None and client.catalog is None:
                raise StatementError(
                    "USE names a schema, and the client has no catalog",
                    hint="USE catalog.schema",
                )
            return Changes("USE", response_headers(set_catalog=catalog, set_schema=schema))
        case nodes.SetSession(name, value):
            check_property(name, value)
            return Changes("SET SESSION", response_headers(set_session={name.lower(): value}))
        case nodes.ResetSession(name):
            check_property(name)
            return Changes("RESET SESSION", response_headers(clear_session=[name.lower()]))
        case nodes.Prepare(name, sql):
            return Changes("PREPARE", response_headers(added_prepare={name: sql}))
        case nodes.Deallocate(name):
            return Changes("DEALLOCATE", response_headers(deallocated_prepare=[name]))
        case nodes.StartTransaction():
            if client.transaction is not None:
                raise StatementError(
                    "the client is in a transaction already", hint="COMMIT or ROLLBACK it first"
                )
            started = response_headers(started_transaction=str(uuid.uuid4()))
            return Changes("START TRANSACTION", started)
        case nodes.Commit():
            return Changes("COMMIT", response_headers(clear_transaction=True))
        case nodes.Rollback():
            return Changes("ROLLBACK", response_headers(clear_transaction=True))
        case nodes.SetRole():
            return Changes("SET ROLE", response_headers(set_role=asked))
        case nodes.SetAuthorization(user):
            if user is None:
                headers = response_headers(reset_authorization_user=True)
                return Changes("RESET SESSION AUTHORIZATION", headers)
            headers = response_headers(set_authorization_user=user)
            return Changes("SET SESSION AUTHORIZATION", headers)
        case nodes.SetTimeZone():
            raise StatementError(
                "SET TIME ZONE isn't supported: a client says its zone with each statement",
                hint="set the time zone where the client connects, e.g. timezone= or --timezone",
            )
