"""SQL text to a statement of ours, a query, or something for Spark.

Pure: nothing is resolved or run. Its first word shows a query, without any tokenizing. What
isn't unmistakably ours is `Other`; what is ours and malformed is a `StatementError`. The grammar
is in `docs/reference/sql.md`.
"""

from __future__ import annotations

import re
from contextlib import suppress

from sqlglot.errors import TokenError

from accelerator.errors import StatementError, StatementTooDeepError
from accelerator.query.statements.catalog import BEGINNINGS, EXAMPLES, FORMS, PLANNED
from accelerator.query.statements.cursor import Reader
from accelerator.query.statements.grammar import query, service, vacuum
from accelerator.query.statements.nodes import NotBuilt, Other, Statement
from rewrite.parse.bounds import HINT, TooDeepError
from rewrite.text.first_look import QUERY_WORDS, first_word

_WORDS = re.compile(r"\w+(?:\s+\w+)*")
_HEAD = 200
"""Characters in which a statement's words are."""


def parse_statement(sql: str, dialect: str = "spark") -> Statement:
    """Returns the statement that the text is."""
    first = first_word(sql)
    if first.text in QUERY_WORDS:
        return query(sql)
    if first.text not in BEGINNINGS or first.in_parentheses:
        return Other(sql)
    try:
        reader = Reader(sql, first.end, dialect, EXAMPLES["CREATE CUBE"])
    except TooDeepError as error:
        if not _is_ours(sql[first.end - len(first.text) :]):
            return Other(sql)
        raise StatementTooDeepError(f"the statement isn't parsed: {error}", hint=HINT) from error
    except TokenError as error:
        if not _is_ours(sql[first.end - len(first.text) :]):
            return Other(sql)
        raise StatementError(
            f"the statement can't be read: {error}",
            hint="look for a quote or a comment that isn't closed",
        ) from error
    found = _ours(reader, first.text)
    if found is None:
        return Other(sql)
    reader.check_names()
    return found


def _ours(reader: Reader, first: str) -> Statement | None:
    """The statement of the row whose words come next; None if it isn't ours."""
    begun, given = first, tuple[object, ...]()
    if first == "EXPLAIN" and reader.take("CREATE"):
        begun = "EXPLAIN CREATE"
    if begun.endswith("CREATE"):
        given = (reader.take("OR", "REPLACE"),)
    elif first == "ALTER" and reader.take("TABLE"):
        begun = "ALTER TABLE"
        try:
            given = (reader.table(),)
        except StatementError:
            return None  # IDENTIFIER(…) and the like: Spark's to read
    for form in BEGINNINGS[first]:
        words = form.begin or form.words
        if _follow(words, begun, reader):
            reader.meant(form.example or EXAMPLES["CREATE CUBE"])
            parse = form.parser
            found = parse(reader, *given)
            if found is not None and not isinstance(found, NotBuilt):
                reader.end()
            return found
    for planned in PLANNED:
        if _follow(planned, first, reader):
            return service(planned, reader)
    if first == "BUILD":
        reader.meant(EXAMPLES["BUILD CUBE"])
        *others, last = (form.words.split()[1] for form in BEGINNINGS[first])
        raise reader.error(f"{', '.join(others)} or {last}")
    return None


def _follow(words: str, begun: str, reader: Reader) -> bool:
    """Steps over what follows of the words behind those that were read, if it comes next."""
    if not words.startswith(begun):
        return False
    rest = words.removeprefix(begun).split()
    return not rest or reader.take(*rest)


def _is_ours(text: str) -> bool:
    """Decides whether words of ours begin a text that can't be tokenized."""
    begun = _WORDS.match(text[:_HEAD].upper())
    words = "" if begun is None else " ".join(begun[0].split()).replace(" OR REPLACE", "") + " "
    return words.startswith("BUILD ") or (
        not words.startswith(("ANALYZE TABLE ", "ANALYZE TABLES "))
        and any(
            not form.shared and words.startswith(f"{form.begin or form.words} ") for form in FORMS
        )
    )


def vacuum_fault(sql: str) -> StatementError | None:
    """Returns the fault of a VACUUM that isn't ours to the end; None for another statement.

    Spark has no such statement, unless somebody has extended it.
    """
    first = first_word(sql)
    if first.text == "VACUUM":
        with suppress(TokenError, TooDeepError):
            try:
                vacuum(Reader(sql, first.end, "spark", EXAMPLES["VACUUM"]))
            except StatementError as error:
                return error
    return None
