"""Statements as they're written, in any dialect, with their queries in Spark SQL.

From here on everything reads Spark SQL alone: what is planned, what runs plain, what is compared.
Names of a client's statement are completed here, so that none of a session's settings matters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from accelerator.common.lru_cache import Recent, by_text
from accelerator.engines.session_settings import SessionContext
from accelerator.errors import AcceleratorError, ConfigError, UnknownTableError, UntranslatedError
from accelerator.iceberg import Lake, UnreadableTableError
from accelerator.iceberg.tables.schema import columns_of_states
from accelerator.query.statements.catalog import needed_table
from accelerator.query.statements.nodes import (
    AddConstraint,
    AddRelateColumn,
    CreateCube,
    EstimateCube,
    OfQuery,
    Other,
    PublishCube,
    Query,
    Statement,
    TableName,
)
from accelerator.query.statements.parse import parse_statement
from accelerator.query.virtual_tables import log_table
from rewrite.client import DIALECTS, SPARK, TRINO, ClientContext, Translated
from rewrite.dialects.qualify_names import FILES, check_name, full_name, is_odd
from rewrite.dialects.translated_shape import TranslatedShape, translated_shape
from rewrite.dialects.value_kinds import ANY_STATE, Columns
from rewrite.facts import At
from rewrite.identifiers.qualified_name import joined
from rewrite.parse.current_time import TimedText, asks_for_time, timed_text
from rewrite.parse.statement_shape import StatementShape, shape_of
from rewrite.text.first_look import first_word
from rewrite.text.printable import one_line

MayLook = Callable[[TableName], None]
"""Raises if nothing of the table or view of that full name may be looked up."""
Rests = dict[tuple[str, ...], Mapping[str, str] | None]
"""Tables' columns and their types, on which a translation rests; None: nothing is known of it."""


class _TranslatedText(Struct, frozen=True):
    translated: Translated
    rests: Rests


def _anything(_full: TableName) -> None:
    """Allows every look."""


_Place = tuple[ClientContext, str]
"""A client without its moment, and the time zone of Spark's session."""


class _CachedText(Struct, frozen=True):
    text: str
    rests: Rests


class _CachedShape(Struct, frozen=True):
    shape: TranslatedShape
    rests: Rests


class Translation:
    """Reads statements; threads may share it."""

    def __init__(self, lake: Lake, context: SessionContext) -> None:
        self._lake, self._context = lake, context
        self._known: Recent[_CachedText] = Recent()
        self._known_of_clients: Recent[_TranslatedText] = by_text()
        self._forms: Recent[tuple[int, ...]] = by_text()
        self._shapes: Recent[_CachedShape] = by_text()
        self._timed: Recent[TimedText | Literal[False]] = by_text()

    def statement(
        self,
        sql: str,
        dialect: str,
        client: ClientContext | None = None,
        may_look: MayLook | None = None,
    ) -> Statement:
        """The statement; StatementError, of a query UntranslatedError, where it can't be read.

        With a `client` its names are completed, and nothing goes to Spark as it stands: a statement
        that is neither a query nor ours is an UntranslatedError. Errors of names are as in
        `rewrite.completed`; UnknownTableError if ours needs an Iceberg table. `may_look` is asked
        before a table's columns are looked up; who gives it calls `check_ours` after its rights.
        """
        if dialect not in DIALECTS:
            raise ConfigError(
                f"no dialect {dialect!r} is known", hint=f"one of {', '.join(DIALECTS)}"
            )
        found = parse_statement(sql, dialect)
        try:
            if client is not None:
                named = _OfClient(self, client, dialect, may_look or _anything).statement(found)
                if may_look is None:
                    self.check_ours(named)
                return named
            return self._with_moment(found if dialect == SPARK else self._in_spark(found, dialect))
        except AcceleratorError as error:
            error.move(_query_text(found) or sql, sql)
            raise

    def _with_moment(self, found: Statement) -> Statement:
        """The statement with this moment as a constant wherever its query asks for the time."""
        if isinstance(found, OfQuery):
            query = self._with_moment(found.query)
            return replace(found, query=query) if isinstance(query, Query) else found
        if not isinstance(found, Query) or found.plain or not asks_for_time(found.bare):
            return found
        if log_table.may_name(found.bare) or FILES in found.bare.lower():
            return found  # our own tables know what they are asked for
        timed = self._timed.get(found.bare)
        if timed is None:
            timed = timed_text(found.bare)
            self._timed.put(found.bare, timed or False)
        if not timed or timed.may_name(self._columns()[1]):
            return found
        text = timed.at(datetime.now(UTC), self._context.settings()["time_zone"])
        return found if text is None else replace(found, bare=text, untimed=found.bare)

    def _in_spark(self, found: Statement, dialect: str) -> Statement:
        if isinstance(found, Query):
            return self._translated(found, dialect)
        if isinstance(found, CreateCube):
            return replace(found, select_sql=self._query(found.select_sql, dialect))
        if isinstance(found, EstimateCube):
            select = self._query(found.cube.select_sql, dialect)
            return replace(found, cube=replace(found.cube, select_sql=select))
        if isinstance(found, OfQuery):
            return replace(found, query=self._translated(found.query, dialect))
        if isinstance(found, Other) and dialect == TRINO:
            from rewrite.dialects.trino.shows import SHOWS, spark_shows

            first = first_word(found.sql)
            if first.text in SHOWS and not first.in_parentheses:
                query = partial(self._query, dialect=dialect)
                return Other(spark_shows(found.sql, first.end, query))
        return found

    def _translated(self, query: Query, dialect: str) -> Query:
        text = self._query(query.bare, dialect)
        return Query(text, text, query.plain, translated=True)

    def _query(self, sql: str, dialect: str) -> str:
        known = self._known.get((sql, dialect))
        if known is not None and self._holds(known.rests):
            return known.text
        from rewrite.dialects.translate import translated  # Spark's own dialect does without

        asked, columns = self._columns()
        found = translated(sql, dialect, columns)
        self._known.put((sql, dialect), _CachedText(found, asked))
        return found

    def query_of(
        self, client: ClientContext, sql: str, dialect: str, may_look: MayLook = _anything
    ) -> Translated:
        """A client's query in Spark SQL, its names completed."""
        zone = self._context.settings()["time_zone"]
        place = replace(client, now=None), zone
        known = self._known_of_clients.get((sql, dialect, place))
        if known is not None and self._holds(known.rests, may_look):
            return known.translated
        shape = shape_of(sql, trino=True) if dialect == TRINO else None
        found = None if shape is None else self._by_shape(shape, place, may_look)
        if found is not None:
            return found
        from rewrite.dialects.translate import translated_for

        asked, columns = self._columns(may_look)
        catalogs = self._catalogs(sql, client)
        found = translated_for(client, sql, dialect, columns, catalogs, zone)
        odd = [one for one in found.tables if is_odd(one)]
        for one in odd:
            may_look(one)
            self._check_exists(one, views=True)
        if not found.timed and not odd:
            kept = _TranslatedText(found, asked)
            self._known_of_clients.put((sql, dialect, place), kept)
            if shape is not None:
                self._learn(shape, client, zone, kept)
        return found

    def _by_shape(
        self, shape: StatementShape, place: _Place, may_look: MayLook
    ) -> Translated | None:
        """The translation that one of another statement of the shape gives."""
        free = self._forms.get((shape.key, place))
        if not free:
            return None
        known = self._shapes.get((shape.key, shape.fixed(free), place))
        if known is None or not self._holds(known.rests, may_look):
            return None
        return known.shape.filled(shape.constants)

    def _learn(
        self, shape: StatementShape, client: ClientContext, zone: str, kept: _TranslatedText
    ) -> None:
        """Keeps what the shape's statements have in common, from the second one on."""
        place = replace(client, now=None), zone
        form = self._forms.get((shape.key, place))
        if form is None:
            self._forms.put((shape.key, place), ())
            return
        from rewrite.dialects.translate import translated_for

        asked, columns = self._columns()
        made = translated_shape(
            shape,
            kept.translated,
            lambda sql: translated_for(
                client, sql, TRINO, columns, self._catalogs(sql, client), zone
            ),
        )
        if made is not None and asked == kept.rests:
            self._forms.put((shape.key, place), made.free)
            key = shape.key, shape.fixed(made.free), place
            self._shapes.put(key, _CachedShape(made, asked))

    def _holds(self, rests: Rests, may_look: MayLook = _anything) -> bool:
        """Whether tables have the columns still on which a translation rests."""
        if not rests:
            return True
        _, columns = self._columns(may_look)
        return all(columns(parts) == known for parts, known in rests.items())

    def _catalogs(self, sql: str, client: ClientContext) -> Collection[str]:
        """Those in which a statement's tables may be; one of our own only where it's asked for."""
        known = self._named(client)
        named = log_table.may_name(f"{client.catalog}.{sql}")
        own = named and not log_table.is_hidden(self._lake.catalogs)
        return [*known, log_table.CATALOG] if own else known

    def _named(self, client: ClientContext) -> Collection[str]:
        """The lake's catalogs that the client may name."""
        known = self._lake.catalogs
        if client.catalogs is None:
            return known
        return [one for one in known if one in client.catalogs]

    def check_ours(self, found: Statement) -> None:
        """UnknownTableError if ours needs an Iceberg table that the lake doesn't have.

        Spark would get the statement unchanged if it named a table of another kind.
        """
        table = needed_table(found)
        if table is not None:
            self._check_exists(table, views=False)

    def _check_exists(self, full: TableName, *, views: bool) -> None:
        """UnknownTableError where the lake has no table of that full name, with `views` no view."""
        pin = self._lake.pin()
        if pin.table(full) is None and not (views and pin.view(full) is not None):
            raise _unknown(full)

    def check_present(self, full: TableName) -> None:
        """UnknownTableError where the catalog surely has nothing of that full name."""
        end = full[-1]
        bare = end[: -len(FILES)] if end.lower().endswith(FILES) else end
        reader = self._lake.catalogs.get(full[0])
        if reader is not None and reader.is_absent((*full[1:-1], bare)):
            raise _unknown(full)

    def full_name(self, parts: TableName, client: ClientContext) -> TableName:
        """The full name of a table that a client names."""
        return full_name(parts, client, self._named(client))

    def _columns(self, may_look: MayLook = _anything) -> tuple[Rests, Columns]:
        """What tells tables' columns, and what it has told, by the names it was asked for."""
        asked: Rests = {}
        pin = self._lake.pin()

        def columns(parts: tuple[str, ...]) -> Mapping[str, str] | None:
            asked[parts] = found = look_up(parts)
            return found

        def look_up(parts: tuple[str, ...]) -> Mapping[str, str] | None:
            if log_table.is_log(parts, self._lake.catalogs):
                return log_table.TYPES
            if self._context.is_temporary(parts):
                return self._context.columns(parts)
            named = parts[:-1] if parts[-1] == ANY_STATE else parts
            may_look(named)
            try:
                if named != parts:
                    pinned = pin.described(named)
                    return (
                        None
                        if pinned is None
                        else columns_of_states(pinned.facts.name, pinned.metadata)
                    )
                table = pin.listing().table(parts, At())
                view = pin.view(parts) if table is None else None
            except UnreadableTableError:
                # Spark may read it. Whether it's refused is said once rights have been checked.
                raw = pin.raw(named)
                return None if raw is None else raw.columns
            except AcceleratorError:
                return None
            if table is not None:
                return {c.name: c.type for c in table.columns}
            return self._context.columns(parts) if view is None else dict(view.columns)

        return asked, columns


def _query_text(found: Statement) -> str | None:
    """The text of the query in a statement; None if it has none."""
    if isinstance(found, Query):
        return found.bare
    if isinstance(found, CreateCube):
        return found.select_sql
    if isinstance(found, EstimateCube):
        return found.cube.select_sql
    if isinstance(found, OfQuery):
        return found.query.bare
    return None


def _unknown(full: TableName) -> UnknownTableError:
    return UnknownTableError(
        f"there is no table {one_line(joined(full))}",
        hint="SHOW TABLES lists those of a schema",
        unknown=joined(full),
    )


class _OfClient:
    """Statements of one client, by whose catalog and schema names are completed."""

    def __init__(
        self, translation: Translation, client: ClientContext, dialect: str, may_look: MayLook
    ) -> None:
        self._translation, self._client, self._dialect = translation, client, dialect
        self._may_look = may_look

    def statement(self, found: Statement) -> Statement:
        """The statement with full names."""
        if isinstance(found, Query):
            return self._query(found)
        if isinstance(found, CreateCube):
            return replace(found, select_sql=self._text(found.select_sql))
        if isinstance(found, EstimateCube):
            select = self._text(found.cube.select_sql)
            return replace(found, cube=replace(found.cube, select_sql=select))
        if isinstance(found, OfQuery):
            return replace(found, query=self._query(found.query))
        if isinstance(found, Other):
            raise UntranslatedError(
                f"the statement isn't translated from {self._dialect} for a client:"
                " it's neither a query nor one of the accelerator's own",
                hint="docs/reference/sql.md lists the accelerator's own statements",
            )
        return self._named(found)

    def _query(self, query: Query) -> Query:
        found = self._translated(query.bare)
        text = found.text
        return Query(text, text, query.plain, True, found.tables, found.names, found.timed)

    def _text(self, sql: str) -> str:
        return self._translated(sql).text

    def _translated(self, sql: str) -> Translated:
        return self._translation.query_of(self._client, sql, self._dialect, self._may_look)

    def _named(self, found: Statement) -> Statement:
        """A statement of ours, of whose table nothing is looked up."""
        if isinstance(found, PublishCube) and found.target is not None:
            return replace(found, target=self._full(found.target))
        table: TableName | None = getattr(found, "table", None)
        if table is None:
            return found
        full = self._full(table)
        if isinstance(found, AddConstraint) and found.constraint.references is not None:
            there = self._full(found.constraint.references)
            return replace(
                found, table=full, constraint=replace(found.constraint, references=there)
            )
        if isinstance(found, AddRelateColumn):
            return replace(self._relate(found, full), table=full)
        own: Any = found  # one of those with a table
        named: Statement = replace(own, table=full)
        return named

    def _full(self, table: TableName) -> TableName:
        full = self._translation.full_name(table, self._client)
        check_name(full)
        return full

    def _relate(self, found: AddRelateColumn, fact: TableName) -> AddRelateColumn:
        """Its dimensions in full; of one that is named already the end of its name will do."""
        if found.expression:
            raise UntranslatedError(
                "a relate column that is computed isn't translated for a client:"
                " names in its expression aren't completed",
                hint="declare it where statements are Spark's own",
            )
        *dimension, attribute = found.source
        there = self._full(tuple(dimension))
        known = [fact, there]

        def column(path: TableName) -> TableName:
            *qualifier, name = path
            parts = tuple(one.lower() for one in qualifier)
            ends = (tuple(one.lower() for one in t[-len(parts) :]) for t in known)
            if not parts or parts in ends:
                return path
            return (*self._full(tuple(qualifier)), name)

        pairs = tuple((column(left), column(right)) for left, right in found.equalities)
        return replace(found, source=(*there, attribute), equalities=pairs)
