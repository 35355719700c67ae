"""Statements that differ in constants alone: their shape, and the tree with parameters in it.

A proof that looked at no constant holds for every constant of the type, so a shape is planned once
(`docs/decisions/0008-a-plan-per-shape.md`). Parameters are the operands of comparisons in WHERE;
any other constant belongs to the shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import cast

from msgspec import Struct
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewrite.ir.expr import Literal, Parameter
from rewrite.ir.literals import date_literal
from rewrite.parse.bounds import TOKENS_MAX
from rewrite.parse.parse import parse
from rewrite.types import literal_number_type

_TYPED = "|".join(
    rf"(?<=\b{word})"
    for name in ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")
    for word in (name, name.lower())
)
"""What may stand right before a text that is a constant of that type."""


def _pieces(quote: str) -> re.Pattern[str]:
    """The pieces of a text in which names are quoted so."""
    return re.compile(
        rf"(?P<text>(?:[^\W\d]\w*+|{quote}[^{quote}\x00-\x1f]*+{quote}"
        r"|[^\w'\"`\\$\x00-\x08])++)"
        rf"|(?:(?<!\w)|{_TYPED})'(?P<string>[^'\\$(\x00-\x1f]*+)'(?!['\w])"
        r"|(?<![\w.])(?P<number>[0-9]++(?:\.[0-9]++)?)(?![\w.])"
    )


_PIECES, _PIECES_TRINO = _pieces("`"), _pieces('"')
_COMMENT = re.compile(r"--|/\*")
_NAME = "acc_parameter_"
_NUMBER = 7_110_000
_TIMES = (
    *(exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP),
    *(exp.DataType.Type.TIMESTAMPNTZ, exp.DataType.Type.TIMESTAMPLTZ),
    exp.DataType.Type.TIMESTAMPTZ,
)
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.Between, exp.In)


class StatementShape(Struct, frozen=True):
    """A statement's text cut at its constants: `texts` stand around `constants`.

    `kinds` are the constants' types, where a text that is a date is told from any other. Statements
    of equal `texts` and `kinds` are read alike by every parser.
    """

    texts: tuple[str, ...]
    kinds: tuple[str, ...]
    constants: tuple[Literal, ...]

    @property
    def key(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What statements of the shape have in common."""
        return self.texts, self.kinds

    def fixed(self, free: Sequence[int]) -> tuple[str, ...]:
        """The constants that aren't among the free ones, which statements may differ in."""
        others = frozenset(free)
        return tuple([one.value for i, one in enumerate(self.constants) if i not in others])

    def filled(self, constants: Collection[str]) -> str:
        """The statement with these texts as its constants."""
        pairs = zip(self.texts, (*constants, ""), strict=True)
        return "".join([part for pair in pairs for part in pair])


def shape_of(sql: str, *, trino: bool = False) -> StatementShape | None:
    """The shape; None where the text isn't told apart from its constants with certainty.

    The text is Spark's, or Trino's, where names are in double quotes.

    >>> shape_of("SELECT sum(a) FROM t WHERE d > '2024-01-01' AND b1 IN (1, 2)").kinds
    ('date', 'int', 'int')
    """
    texts: list[str] = []
    kinds: list[str] = []
    constants: list[Literal] = []
    end, after = 0, True
    if _COMMENT.search(sql):
        return None
    for piece in (_PIECES_TRINO if trino else _PIECES).finditer(sql):
        if piece.start() != end:
            return None
        end = piece.end()
        if piece.lastgroup == "text":
            if texts and not after:
                return None
            texts.append(piece[0])
            after = False
            continue
        constant = _constant(piece)
        if constant is None or after or len(constants) == TOKENS_MAX:
            return None  # nothing parses a text of more tokens
        kinds.append(constant[0])
        constants.append(constant[1])
        after = True
    if end != len(sql) or not constants:
        return None
    if after:
        texts.append("")
    return StatementShape(tuple(texts), tuple(kinds), tuple(constants))


def _constant(piece: re.Match[str]) -> tuple[str, Literal] | None:
    if piece.lastgroup == "string":
        value = piece["string"]
        return ("date" if date_literal(value) else "string"), Literal(value, "string")
    type_ = literal_number_type(piece["number"])
    return None if type_ is None else (type_, Literal(piece["number"], type_))


def parametrised(shape: StatementShape) -> tuple[exp.Expression, tuple[int, ...]] | None:
    """The tree with a `Parameter` for each constant that can be one, and the indexes of these.

    None where there is none, or where the parser doesn't show each in its place.
    """
    marks = [_mark(index, kind) for index, kind in enumerate(shape.kinds)]
    found = marked(shape, marks, parse)
    if found is None:
        return None
    places, _ = found
    tree = cast(exp.Expression, next(iter(places.values())).root())
    for index, place in places.items():
        kind = shape.kinds[index]
        type_ = "string" if kind == "date" else kind
        _put(exp.Placeholder(this=Parameter(index, type_, kind == "date")), place)
    return tree, tuple(places)


def marked(
    shape: StatementShape, marks: Sequence[str], read: Callable[[str], exp.Expression]
) -> tuple[dict[int, exp.Expression], str] | None:
    """The operands that marks became, by the indexes of their constants, and the text with these.

    The others are its own constants. None where there is no operand, or where what `read` parses
    doesn't show each in its place. Raises nothing that sqlglot raises.
    """
    written = [text_of(constant) for constant in shape.constants]
    if any(_NAME in text for text in shape.texts) or not set(marks).isdisjoint(written):
        return None
    everywhere = _places(shape.filled(marks), marks, read)
    free = tuple(index for index, mark in enumerate(marks) if mark in everywhere)
    mixed = shape.filled(
        [mark if mark in everywhere else text for mark, text in zip(marks, written, strict=True)]
    )
    places = _places(mixed, [marks[i] for i in free], read) if free else {}
    if not free or len(places) != len(free):
        return None
    return {index: places[marks[index]] for index in free}, mixed


def _put(new: exp.Expression, old: exp.Expression) -> None:
    """As `old.replace(new)`, which numbers all items of a list anew for each."""
    parent, name, place = old.parent, old.arg_key, old.index
    if parent is None or name is None or place is None:
        old.replace(new)
        return
    new.parent, new.arg_key, new.index = parent, name, place
    parent.args[name][place] = new


def _mark(index: int, kind: str) -> str:
    """What stands for the constant while the statement is parsed: alike to every parser."""
    if kind in ("string", "date"):
        return f"'{_NAME}{index}'"
    whole = str(_NUMBER + index)
    return f"{whole}.5" if kind.startswith("decimal") else whole


def text_of(constant: Literal) -> str:
    """The constant as it's written."""
    return f"'{constant.value}'" if constant.type == "string" else constant.value


def _places(
    sql: str, marks: Collection[str], read: Callable[[str], exp.Expression]
) -> dict[str, exp.Expression]:
    """The operands that the marks became; without a mark that isn't exactly one operand."""
    try:
        tree = read(sql)
    except SqlglotError:
        return {}
    where = tree.args.get("where")
    if where is None:
        return {}
    wanted = frozenset(marks)
    found: dict[str, list[exp.Expression]] = {}
    for node in tree.find_all(exp.Literal):
        text = f"'{node.this}'" if node.is_string else str(node.this)
        if text in wanted:
            found.setdefault(text, []).append(node)
    return {
        mark: nodes[0]
        for mark, nodes in found.items()
        if len(nodes) == 1 and _is_operand(nodes[0], where)
    }


def _is_operand(node: exp.Expression, where: exp.Expression) -> bool:
    """Tests whether the constant, maybe as DATE '…' or TIMESTAMP '…', is compared in that WHERE."""
    parent = node.parent
    if isinstance(parent, exp.Cast) and parent.args["to"].this in _TIMES:
        parent = parent.parent
    return isinstance(parent, _COMPARED) and parent.find_ancestor(exp.Where) is where
