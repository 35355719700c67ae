"""What a client's statement asks: something of its own session, or something to run.

Words are those of Trino's lexer. Promise: a statement is one of `kinds`, or an error that says
where; none is read as another one than Trino reads, and of two statements none is run.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from accelerator.errors import AcceleratorError, StatementError
from accelerator.gateway.trino.headers import HeaderError, time_zone
from accelerator.gateway.trino.requests import call, nodes, show
from accelerator.gateway.trino.requests.cursor import TrinoCursor, flat_comments, words_of
from accelerator.gateway.trino.requests.execute_using import (
    Constant,
    constants,
    markers,
    scalar,
    spliced,
)
from accelerator.gateway.trino.requests.nodes import ClientSession, Request
from accelerator.gateway.trino.requests.unsupported import REFUSED, refused
from accelerator.query.statements.catalog import EXAMPLES
from accelerator.query.statements.grammar import BEGINNINGS, parse_statement, vacuum_fault
from accelerator.query.statements.nodes import Other
from rewrite.client import SPARK
from rewrite.parse.cursor import Word, excerpt
from rewrite.text.first_look import QUERY_WORDS, first_word
from rewrite.text.source_position import place_of
from rewrite.text.suggestions import closest, did_you_mean

_QUERY = frozenset(("SELECT", "WITH", "VALUES", "TABLE"))
_BEHIND = {
    "COMPACT": ("CUBE or a table's name", EXAMPLES["COMPACT CUBE"]),
    "OPTIMIZE": ("a table's name", EXAMPLES["OPTIMIZE"]),
    "UNDROP": ("CUBE", EXAMPLES["UNDROP CUBE"]),
}
"""Words of ours that may begin a statement of another system: what is expected, and an example."""
_UNSURE = (";", "?", "/*", "--")
"""A query without these is one statement without parameters, whatever else it holds."""
_KINDS = ("LOGICAL", "DISTRIBUTED", "IO", "VALIDATE")
_FORMATS = ("TEXT", "JSON", "GRAPHVIZ")
_ISOLATION = (
    ("SERIALIZABLE",),
    ("REPEATABLE", "READ"),
    ("READ", "COMMITTED"),
    ("READ", "UNCOMMITTED"),
)
_NEVER_PREPARED = ("PREPARE", "EXECUTE", "DEALLOCATE")


class PreparedNotFoundError(StatementError):
    """EXECUTE, DESCRIBE or DEALLOCATE of a statement that the client hasn't prepared."""

    code = "prepared_not_found"


class _Context(Struct, frozen=True):
    """One statement being read: a cursor behind its first word; `sql` is its text to the end."""

    cursor: TrinoCursor
    sql: str
    client: ClientSession
    placed: bool


def request(sql: str, client: ClientSession) -> Request:
    """What the text asks.

    StatementError where it's no statement, or more than one; ParameterError where parameters
    aren't constants or not as many as its markers; PreparedNotFoundError for an unknown one.
    """
    first = first_word(sql).text
    if client.dialect == SPARK and _is_of_spark(sql, first):
        return nodes.RunStatement(sql)
    if first in _QUERY and not any(one in sql for one in _UNSURE) and first != "WITH":
        return nodes.RunStatement(sql)
    return _read(sql, client, placed=True)


def _is_of_spark(sql: str, first: str) -> bool:
    """Decides whether it is a query of Spark or a statement of ours; others are read as Trino's."""
    return first in QUERY_WORDS or not isinstance(parse_statement(sql), Other)


def _read(sql: str, client: ClientSession, *, placed: bool) -> Request:
    text, words = _single(sql)
    if markers(words) and words[0].key != "PREPARE":
        spliced(text, words, [])  # raises: nothing is given for them
    return _of(_Context(TrinoCursor(text, words), text, client, placed))


def _single(sql: str) -> tuple[str, list[Word]]:
    """The one statement of a text, up to its semicolon, and its words; there is at least one."""
    words = words_of(sql)
    if not words or words[0].key == ";":
        raise StatementError("there is no statement", hint="for example: SELECT 1")
    text = flat_comments(sql, words) if "/*" in sql else sql
    _check_functions(text, words)
    end = next((number for number, word in enumerate(words) if word.key == ";"), None)
    if end is None:
        return text, words
    if end + 1 < len(words):
        word = words[end + 1]
        raise StatementError(
            "a second statement begins",
            hint="give one statement at a time",
            at=place_of(text, word.start, word.end),
        )
    return text[: words[end].start], words[:end]


def _check_functions(sql: str, words: list[Word]) -> None:
    """Those of a query hold semicolons, so that no end could be told."""
    if words[0].key == "WITH" and len(words) > 2 and words[1].key in ("FUNCTION", "SESSION"):
        if words[2].key in ("AS", "("):  # a query's name
            return
        raise StatementError(
            f"WITH {words[1].key} isn't supported",
            hint="write the function's expression into the query"
            if words[1].key == "FUNCTION"
            else "SET SESSION stays until RESET SESSION",
            at=place_of(sql, words[1].start, words[1].end),
        )


def _of(context: _Context) -> Request:
    """The statement whose first word comes next."""
    cursor = context.cursor
    word = cursor.peek()
    if word is None:
        raise cursor.error("a statement")
    key = word.key
    if key in _QUERY or key == "(":
        return nodes.RunStatement(context.sql, context.placed)
    grammar = _GRAMMARS.get(key)
    if grammar is not None:
        cursor.next += 1
        found = grammar(context)
        if found is not None:
            return found
        cursor.next -= 1
    if _is_ours(context.sql):
        return nodes.RunStatement(context.sql, context.placed)
    if key in REFUSED:
        return refused(cursor)
    if key == "SHOW":
        cursor.next += 1
        raise cursor.error(show.WORDS)
    fault = vacuum_fault(context.sql) if key == "VACUUM" else None
    raise fault or _unknown(cursor, word)


def _is_ours(sql: str) -> bool:
    """Whether it's a statement of our own; StatementError for one that is malformed."""
    return not isinstance(parse_statement(sql, "trino"), Other)


def _unknown(cursor: TrinoCursor, word: Word) -> StatementError:
    if word.key in _BEHIND:
        expected, example = _BEHIND[word.key]
        cursor.next += 1
        error = cursor.error(expected)
        error.hint = f"for example: {example}"
        return error
    found = excerpt(cursor.sql[word.start : word.end])
    near = closest(found, sorted({*_QUERY, *_GRAMMARS, *BEGINNINGS, *REFUSED} - {word.key}))
    return StatementError(
        f"no statement begins with {found}",
        hint=did_you_mean(near) or "a query begins with SELECT or WITH",
        at=place_of(cursor.sql, word.start, word.end),
        suggestions=near,
    )


# Each grammar gets a cursor behind the first word; None says that the statement isn't Trino's.


def _use(context: _Context) -> Request:
    cursor = context.cursor
    first = cursor.name("a schema's name").name
    if not cursor.take("."):
        return cursor.ended(nodes.UseSchema(first))
    second = cursor.name("a schema's name behind the dot")
    return cursor.ended(nodes.UseSchema(second.name, first))


def _set(context: _Context) -> Request | None:
    cursor = context.cursor
    if cursor.take("SESSION", "AUTHORIZATION"):
        word = cursor.peek()
        is_text = word is not None and word.is_text
        user = cursor.text("a user") if is_text else cursor.name("a user").name
        return cursor.ended(nodes.SetAuthorization(user))
    if cursor.take("SESSION"):
        name = _property(cursor)
        cursor.expect("=")
        value = scalar(cursor)
        return cursor.ended(nodes.SetSession(name, value))
    if cursor.take("TIME", "ZONE"):
        return _time_zone(cursor)
    if cursor.take("ROLE"):
        return _role(cursor)
    return None


def _property(cursor: TrinoCursor) -> str:
    parts = cursor.path("a session property's name")
    if len(parts) > 2:
        raise cursor.error("a property's name of one part, or two with its catalog")
    if any("." in part or "=" in part for part in parts):
        cursor.next -= 1
        raise cursor.error("a property's name without dots and signs")
    return ".".join(parts)


def _time_zone(cursor: TrinoCursor) -> Request:
    if cursor.take("LOCAL"):
        return cursor.ended(nodes.SetTimeZone(None))
    if cursor.at("INTERVAL"):
        return nodes.Refused("SET TIME ZONE INTERVAL", "give the offset as a text: '+01:00'")
    zone = cursor.text("LOCAL or a time zone's name in quotes")
    cursor.end()
    try:
        return nodes.SetTimeZone(time_zone(zone))
    except HeaderError as error:
        word = cursor.words[-1]
        place = place_of(cursor.sql, word.start, word.end)
        raise StatementError(error.message, hint=error.hint, at=place) from None


def _role(cursor: TrinoCursor) -> Request:
    word = cursor.name("ALL, NONE or a role's name")
    role = word.key if word.key in ("ALL", "NONE") else word.name
    if role in ("ALL", "NONE") and not word.key:
        cursor.next -= 1
        raise cursor.error("a role's name other than ALL and NONE")
    catalog = cursor.name("a catalog's name").name if cursor.take("IN") else None
    return cursor.ended(nodes.SetRole(role, catalog))


def _reset(context: _Context) -> Request | None:
    cursor = context.cursor
    if cursor.take("SESSION", "AUTHORIZATION"):
        return cursor.ended(nodes.SetAuthorization(None))
    cursor.expect("SESSION")
    name = _property(cursor)
    return cursor.ended(nodes.ResetSession(name))


def _prepare(context: _Context) -> Request:
    cursor = context.cursor
    name = cursor.name("a name for the statement").name
    cursor.expect("FROM")
    word = cursor.peek()
    if word is not None and word.key in _NEVER_PREPARED:
        raise cursor.error("another statement than this (none is prepared twice)")
    return nodes.Prepare(name, cursor.rest())


def _prepared(context: _Context) -> str:
    """The text of the statement that is named next."""
    cursor = context.cursor
    word = cursor.name("a prepared statement's name")
    known = context.client.prepared
    found = known.get(word.name, known.get(word.text))
    if found is None:
        near = closest(word.name, known)
        raise PreparedNotFoundError(
            f"no statement is prepared as {excerpt(word.name)}",
            hint=did_you_mean(near) or "PREPARE name FROM SELECT …",
            at=place_of(cursor.sql, word.start, word.end),
            suggestions=near,
        )
    return found


def _execute(context: _Context) -> Request:
    cursor = context.cursor
    immediate = cursor.peek(1)
    if cursor.at("IMMEDIATE") and immediate is not None and immediate.is_text:
        cursor.next += 1
        sql = cursor.text("a statement in quotes")
    else:
        sql = _prepared(context)
    given = constants(cursor) if cursor.take("USING") else []
    cursor.end()
    try:
        return _executed(sql, given, context.client)
    except AcceleratorError as error:
        error.line = error.column = None  # a place in another text than the client sent
        raise


def _executed(sql: str, given: list[Constant], client: ClientSession) -> Request:
    text, words = _single(sql)
    if words[0].key in _NEVER_PREPARED:
        raise StatementError(
            f"{words[0].key} can't be executed by EXECUTE",
            hint="prepare the statement itself",
        )
    return _read(spliced(text, words, given), client, placed=False)


def _deallocate(context: _Context) -> Request:
    cursor = context.cursor
    cursor.expect("PREPARE")
    word = cursor.peek()
    _prepared(context)
    cursor.end()
    known = word.name if word is not None else ""
    return nodes.Deallocate(
        known if word is None or known in context.client.prepared else word.text
    )


def _start(context: _Context) -> Request:
    cursor = context.cursor
    cursor.expect("TRANSACTION")
    if cursor.peek() is not None:
        _mode(cursor)
        while cursor.take(","):
            _mode(cursor)
    return cursor.ended(nodes.StartTransaction())


def _mode(cursor: TrinoCursor) -> None:
    if cursor.take("ISOLATION"):
        cursor.expect("LEVEL")
        if not any(cursor.take(*words) for words in _ISOLATION):
            raise cursor.error("SERIALIZABLE or READ COMMITTED")
        return
    cursor.expect("READ")
    cursor.one_of("ONLY", "WRITE")


def _commit(context: _Context) -> Request:
    context.cursor.take("WORK")
    return context.cursor.ended(nodes.Commit())


def _rollback(context: _Context) -> Request:
    context.cursor.take("WORK")
    return context.cursor.ended(nodes.Rollback())


def _call(context: _Context) -> Request | None:
    cursor, client = context.cursor, context.client
    first = cursor.next
    found = call.called(cursor, client.catalog, client.schema)
    if found is None:
        cursor.next = first
    return found


def _describe(context: _Context) -> Request:
    cursor = context.cursor
    following = cursor.peek(1)
    if following is not None and following.key != ".":
        for word, kind in (("INPUT", nodes.DescribeInput), ("OUTPUT", nodes.DescribeOutput)):
            if cursor.take(word):
                return cursor.ended(kind(_prepared(context)))
    table = cursor.path("a table's name")
    return cursor.ended(nodes.TrinoShowColumns(table))


def _show(context: _Context) -> Request | None:
    cursor = context.cursor
    first = cursor.next
    found = show.shown_of(cursor)
    if found is None:
        cursor.next = first
    return found


def _explain(context: _Context) -> Request | None:
    cursor = context.cursor
    own = any(cursor.at(word) for word in ("ACCELERATE", "WHY", "CREATE"))
    own = own or cursor.at("ANALYZE", "(", "FORMAT")
    if own and (not cursor.at("CREATE") or _is_ours(context.sql)):
        return None
    options = nodes.Explain("")
    if cursor.take("ANALYZE"):
        cursor.take("VERBOSE")
        options = replace(options, analyze=True)
    else:
        options = _explain_options(cursor, options)
    word = cursor.peek()
    if word is None:
        raise cursor.error("a query")
    if word.key == "EXPLAIN":
        return nodes.Refused("EXPLAIN of EXPLAIN", "EXPLAIN is for queries")
    # Blanks in the places of the words before leave the others in theirs.
    blank = "".join(one if one == "\n" else " " for one in context.sql[: word.start])
    inner = TrinoCursor(cursor.sql, cursor.words[cursor.next :])
    of = _of(_Context(inner, blank + context.sql[word.start :], context.client, context.placed))
    if isinstance(of, nodes.RunStatement) and (word.key in _QUERY or word.key == "("):
        return replace(options, sql=of.sql)
    what = of.what if isinstance(of, nodes.Refused) else f"of {word.key}"
    return nodes.Refused(f"EXPLAIN {what}", "EXPLAIN is for queries")


def _explain_options(cursor: TrinoCursor, options: nodes.Explain) -> nodes.Explain:
    """In parentheses, which may belong to the query as well."""
    if not (cursor.at("(", "TYPE") or cursor.at("(", "FORMAT")):
        return options
    cursor.expect("(")
    while True:
        if cursor.one_of("TYPE", "FORMAT") == "TYPE":
            options = replace(options, kind=cursor.one_of(*_KINDS))
        else:
            options = replace(options, format=cursor.one_of(*_FORMATS))
        if not cursor.take(","):
            cursor.expect(")")
            return options


_GRAMMARS: dict[str, Callable[[_Context], Request | None]] = {
    "CALL": _call,
    "COMMIT": _commit,
    "DEALLOCATE": _deallocate,
    "DESC": _describe,
    "DESCRIBE": _describe,
    "EXECUTE": _execute,
    "EXPLAIN": _explain,
    "PREPARE": _prepare,
    "RESET": _reset,
    "ROLLBACK": _rollback,
    "SET": _set,
    "SHOW": _show,
    "START": _start,
    "USE": _use,
}
