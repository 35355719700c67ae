"""The place of a name in a statement's text, for errors that know the name alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from accelerator.errors import AcceleratorError
from rewrite.place import Place, place_of
from rewrite.scan import Token, scanned


@contextmanager
def placed(sql: str) -> Iterator[None]:
    """Errors of what runs inside say where in the text the name is that they don't know."""
    try:
        yield
    except AcceleratorError as error:
        if error.unknown and error.line is None:
            found = _place(sql, error.unknown)
            if found is not None:
                error.place(found)
        raise


def _place(sql: str, name: str) -> Place | None:
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
