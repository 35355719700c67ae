"""The place of a name in a statement's text, for errors that know the name alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from accelerator.errors import AcceleratorError, UnknownTableError
from rewrite.identifiers.qualified_name import parts_of
from rewrite.text.source_position import SourcePosition, place_of
from rewrite.text.spark_lexer import Token, scanned
from rewrite.text.suggestions import did_you_mean

Misnamed = Callable[[], Mapping[str, Sequence[str]]]
"""Catalogs without a table, each with the names of the catalogs that its database has."""


Near = Callable[[tuple[str, ...]], tuple[str, ...]]
"""The names of tables that are closest to one."""


@contextmanager
def placed(sql: str, misnamed: Misnamed = dict, near: Near = lambda _: ()) -> Iterator[None]:
    """Errors of what runs inside say where in the text the name is that they don't know.

    If a table is unknown because its catalog has another name in its database, the hint names it;
    else `near` may suggest names.
    """
    try:
        yield
    except AcceleratorError as error:
        if isinstance(error, UnknownTableError) and not error.suggestions:
            with suppress(AcceleratorError):
                error.hint = _named_catalogs(misnamed()) or error.hint
                names = near(parts_of(error.unknown)) if error.unknown else ()
                if names:
                    error.suggestions, error.hint = names, did_you_mean(names)
        if error.unknown and error.line is None:
            found = _place(sql, error.unknown)
            if found is not None:
                error.place(found)
        raise


def named_catalogs(catalog: str, others: Sequence[str]) -> str:
    """Returns the hint for a catalog that has another name in its database."""
    return (
        f"set catalog_name: the catalog's database has tables of {', '.join(others)},"
        f" and none of {catalog}"
    )


def _named_catalogs(misnamed: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(named_catalogs(name, others) for name, others in misnamed.items())


def _place(sql: str, name: str) -> SourcePosition | None:
    """Of the first words that are the name, quoted or not."""
    tokens = scanned(sql) or []
    wanted = _bare(name)
    for first, token in enumerate(tokens):
        last = _end(tokens, first)
        for end in (last, first):
            if _bare(sql[token.start : tokens[end].end]) == wanted:
                return place_of(sql, token.start, tokens[end].end)
    return None


def _end(tokens: Sequence[Token], first: int) -> int:
    """The number of the last token of the words with dots between them that begin there."""
    while first + 2 < len(tokens) and tokens[first + 1].key == ".":
        first += 2
    return first


def _bare(name: str) -> str:
    return name.replace("`", "").replace(" ", "").lower()
