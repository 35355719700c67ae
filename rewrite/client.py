"""Who asks a statement, as far as its meaning depends on it: where its names are, what it's called.

A client of another protocol sends this with each statement; nothing of it is a session's setting.
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from msgspec import Struct

from rewrite.errors import StatementError

SPARK = "spark"
TRINO = "trino"
DIALECTS = (SPARK, TRINO, "duckdb", "postgres", "mysql", "clickhouse", "starrocks")
"""The dialects in which statements may be written."""
FullName = tuple[str, str, str]
"""Catalog, schema, table."""
Names = tuple[str | None, ...]
"""The names of outputs in order; None for one that has none."""


class ClientContext(Struct, frozen=True, kw_only=True):
    """`catalog` and `schema` complete names; `user`, `version` and the zone are told when asked.

    `time_zone` is a name of the IANA's. `now` is the moment at which the statement was asked, with
    a zone; None leaves what asks for it refused. `catalogs` are those that the client may name;
    None: all that there are.
    """

    catalog: str | None = None
    schema: str | None = None
    user: str = ""
    time_zone: str = "UTC"
    version: str = ""
    now: datetime | None = None
    catalogs: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for value in (self.catalog, self.schema, self.user, self.time_zone, self.version):
            if value is not None and ("${" in value or not value.isprintable()):
                raise StatementError(
                    f"{value!r} can't be a name here",
                    hint="catalog, schema, user and time zone are without ${ and controls",
                )

    def local(self) -> datetime | None:
        """The moment as the clocks of its time zone show it; StatementError for an unknown zone."""
        if self.now is None:
            return None
        try:
            return self.now.astimezone(ZoneInfo(self.time_zone))
        except (KeyError, ValueError, OSError) as error:
            raise StatementError(
                f"no time zone {self.time_zone} is known", hint="e.g. Europe/Berlin or UTC"
            ) from error


class Translated(Struct, frozen=True):
    """A client's query: Spark's text, the tables that it names, and what its outputs are called.

    `names` is None if they aren't known; a name is None if Trino names that output by its place.
    `timed`: the constants contain the moment at which the statement was asked.
    """

    text: str
    tables: tuple[FullName, ...]
    names: Names | None
    timed: bool = False
