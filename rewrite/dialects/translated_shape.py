"""The translation of statements that differ in compared constants alone, made once.

No rule of a translation looks at a plain constant that is compared in WHERE, but for its type: so
one text, cut at such constants, is the translation of them all. That each stands in it exactly
once, and that a first statement's text comes out of it as it was translated, is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct
from sqlglot import exp

from rewrite.client import TRINO, Translated
from rewrite.errors import UntranslatedError
from rewrite.ir.expr import Literal
from rewrite.parse.parse import parse
from rewrite.parse.statement_shape import StatementShape, marked, text_of

_TEXT = "acc_translated_"
_WHOLE = 7_220_000
_CONSTANTS_MAX = 64


class TranslatedShape(Struct, frozen=True):
    """The text of a translation around its constants; `free` are their places among the shape's."""

    texts: tuple[str, ...]
    free: tuple[int, ...]
    like: Translated

    def filled(self, constants: Sequence[Literal]) -> Translated:
        """The translation of the statement that has these constants."""
        parts = [self.texts[0]]
        for index, text in zip(self.free, self.texts[1:], strict=True):
            parts += (text_of(constants[index]), text)
        return Translated("".join(parts), self.like.tables, self.like.names)


def translated_shape(
    shape: StatementShape, known: Translated, translate: Callable[[str], Translated]
) -> TranslatedShape | None:
    """That of a Trino statement's shape whose translation is `known`; None where it isn't sure.

    `translate` is asked once more, for the statement with other constants.
    """
    if known.timed or len(shape.constants) > _CONSTANTS_MAX:
        return None
    marks = [_mark(index, kind) for index, kind in enumerate(shape.kinds)]
    found = marked(shape, marks, lambda sql: parse(sql, TRINO))
    if found is None or not all(map(_is_plain, found[0].values())):
        return None
    try:
        other = translate(found[1])
    except UntranslatedError:
        return None
    cut = _cut(other.text, {marks[index]: index for index in found[0]})
    if cut is None or (other.tables, other.names) != (known.tables, known.names):
        return None
    made = TranslatedShape(*cut, known)
    return made if made.filled(shape.constants) == known else None


def _mark(index: int, kind: str) -> str:
    """A constant of that type that no statement has."""
    if kind == "date":
        return f"'{7100 + index}-11-07'"
    if kind == "string":
        return f"'{_TEXT}{index}'"
    whole = str(_WHOLE + index)
    return f"{whole}.5" if kind.startswith("decimal") else whole


def _is_plain(place: exp.Expression) -> bool:
    """Whether it's compared as it stands, and not first made a date."""
    return not isinstance(place.parent, exp.Cast)


def _cut(text: str, marks: dict[str, int]) -> tuple[tuple[str, ...], tuple[int, ...]] | None:
    """What stands around the marks, and which they are; None where one isn't there exactly once."""
    pattern = "|".join(map(re.escape, marks))
    pieces = re.split(rf"(?<![\w.])({pattern})(?![\w.])", text)
    found = [marks[one] for one in pieces[1::2]]
    if sorted(found) != sorted(marks.values()):
        return None
    return tuple(pieces[::2]), tuple(found)
