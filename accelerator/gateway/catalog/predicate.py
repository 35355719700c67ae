"""What a predicate surely rules out, where only some columns of a row are known.

A catalog is listed as far as a query can need it: first schemas, then names, then columns. Promise:
a row that may pass is never ruled out; what isn't understood may pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, cast

from sqlglot import exp

from accelerator.errors import StatementError
from rewrite.analysis.query_form import operands

UNKNOWN: Final = object()
"""A value that isn't known; NULL is None."""
Row = Mapping[str, str | None]


class ColumnFilter:
    """The rows of one table that a query may need.

    `conditions` hold for each row that counts; `name` is the table's alias there, `columns` are its
    own in lower case.
    """

    def __init__(
        self, conditions: Iterable[exp.Expr] = (), name: str = "", columns: Iterable[str] = ()
    ) -> None:
        self._conditions = [
            one for whole in conditions for one in operands(cast(exp.Expression, whole))
        ]
        self._name, self._columns = name.lower(), frozenset(columns)

    def may(self, row: Row) -> bool:
        """Whether a row with these values may be needed, whatever its others are."""
        return all(
            found is UNKNOWN or found is True
            for found in (_value(one, row, self._column) for one in self._conditions)
        )

    def exactly(self, column: str) -> frozenset[str] | None:
        """The values of the column of which one is needed; None where there may be others."""
        found: frozenset[str] | None = None
        for one in self._conditions:
            some = self._values(one, column)
            if some is not None:
                found = some if found is None else found & some
        return found

    def _values(self, node: exp.Expr, column: str) -> frozenset[str] | None:
        if isinstance(node, exp.EQ):
            for one, other in ((node.this, node.expression), (node.expression, node.this)):
                if self._column(one) == column and _is_text(other):
                    return frozenset({other.name})
        if not isinstance(node, exp.In) or self._column(node.this) != column:
            return None
        texts = [one.name for one in node.expressions if _is_text(one)]
        return frozenset(texts) if texts and len(texts) == len(node.expressions) else None

    def _column(self, node: exp.Expr) -> str | None:
        """The column of the table that it is; None where it's anything else."""
        if not isinstance(node, exp.Column) or len(node.parts) > 2:
            return None
        if node.table and node.table.lower() != self._name:
            return None
        name = node.name.lower()
        return name if name in self._columns else None


def conditions_of(select: exp.Select, source: exp.Expr) -> list[exp.Expr]:
    """What holds of each row of one of its sources that counts.

    Of a source whose rows are kept without a partner that's WHERE, of one that gives NULLs then
    the ON of its join; where sides are kept on the right, nothing is said.
    """
    joins: list[exp.Join] = select.args.get("joins") or []
    sides = [str(one.args.get("side") or "").upper() for one in joins]
    if any(one not in ("", "LEFT") for one in sides):
        return []
    inner = [one for one, side in zip(joins, sides, strict=True) if not side]
    own = next((one for one in joins if one.this is source), None)
    if own is not None and own.args.get("side"):
        return _present([own.args.get("on")])
    where = select.args.get("where")
    return _present([None if where is None else where.this, *(one.args.get("on") for one in inner)])


@lru_cache(256)
def like(pattern: str, escape: str | None = None) -> Callable[[str], bool]:
    """Whether a text matches; StatementError for a pattern or an escape that Trino refuses.

    >>> like("a!_%", "!")("a_b"), like("a!_%", "!")("axb")
    (True, False)
    """
    if escape is not None and len(escape) != 1:
        raise StatementError("the escape of LIKE isn't one letter", hint="LIKE 'a!_%' ESCAPE '!'")
    parts, letters = [_Part()], iter(pattern)
    for letter in letters:
        if letter == escape:
            after = next(letters, "")
            if after not in {"%", "_", escape}:
                raise StatementError(
                    f"the pattern {pattern!r} has an escape before neither %, _ nor itself",
                    hint="write the escape twice for itself",
                )
            parts[-1].append(after)
        elif letter != "%":
            parts[-1].append(None if letter == "_" else letter)
        elif len(parts) < 2 or parts[-1]:  # %% is %
            parts.append(_Part())
    return partial(_matches, parts)


_Part = list[str | None]
"""The letters between two signs of %; None is any letter."""


def _matches(parts: Sequence[_Part], text: str) -> bool:
    """Whether the parts follow each other in the text; each is searched for once, the first first.

    Nothing is taken back, so that a pattern takes no longer than its length times the text's.
    """
    first, *others = parts
    if not others:
        return len(text) == len(first) and _stands(first, text, 0)
    last = others.pop()
    at, end = len(first), len(text) - len(last)
    if at > end or not _stands(first, text, 0) or not _stands(last, text, end):
        return False
    for part in others:
        while at + len(part) <= end and not _stands(part, text, at):
            at += 1
        at += len(part)
        if at > end:
            return False
    return True


def _stands(part: _Part, text: str, at: int) -> bool:
    return all(one is None or one == text[at + i] for i, one in enumerate(part))


def _present(nodes: Iterable[exp.Expr | None]) -> list[exp.Expr]:
    return [one for one in nodes if one is not None]


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and bool(node.args.get("is_string"))


def _value(node: exp.Expr, row: Row, column: Callable[[exp.Expr], str | None]) -> Any:
    """A text, a boolean, None for NULL, or UNKNOWN."""
    if isinstance(node, exp.Column):
        name = column(node)
        return row.get(name, UNKNOWN) if name is not None else UNKNOWN
    if isinstance(node, exp.Literal):
        return node.name if _is_text(node) else UNKNOWN
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Paren):
        return _value(node.this, row, column)
    rule = _RULES.get(type(node))
    if rule is None:
        return UNKNOWN
    return rule(node, lambda one: _value(one, row, column))


_Of = Callable[[exp.Expr], Any]


def _and(node: exp.Expr, of: _Of) -> Any:
    found = _chain(node, of)
    if any(one is False for one in found):
        return False
    return _first(UNKNOWN, None, of=found, otherwise=True)


def _or(node: exp.Expr, of: _Of) -> Any:
    found = _chain(node, of)
    if any(one is True for one in found):
        return True
    return _first(UNKNOWN, None, of=found, otherwise=False)


def _chain(node: exp.Expr, of: _Of) -> tuple[Any, ...]:
    """The values of all operands of `a OR b OR c …`, of which there may be thousands."""
    return tuple(of(one) for one in node.flatten(unnest=False))


def _first(*wanted: object, of: tuple[Any, ...], otherwise: Any) -> Any:
    return next((one for one in wanted if any(one is other for other in of)), otherwise)


def _not(node: exp.Expr, of: _Of) -> Any:
    found = of(node.this)
    return found if found is UNKNOWN or found is None else not found


def _equal(node: exp.Expr, of: _Of) -> Any:
    return _compared(of(node.this), of(node.expression))


def _unequal(node: exp.Expr, of: _Of) -> Any:
    found = _compared(of(node.this), of(node.expression))
    return found if found is UNKNOWN or found is None else not found


def _compared(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if left is UNKNOWN or right is UNKNOWN or type(left) is not type(right):
        return UNKNOWN
    return left == right


def _is(node: exp.Expr, of: _Of) -> Any:
    found = of(node.this)
    if found is UNKNOWN or not isinstance(node.expression, exp.Null):
        return UNKNOWN
    return (found is None) != bool(node.args.get("negate"))


def _in(node: exp.Expr, of: _Of) -> Any:
    if node.args.get("query") or not node.expressions:
        return UNKNOWN
    this = of(node.this)
    found = [_compared(this, of(one)) for one in node.expressions]
    return True if True in found else _first(UNKNOWN, None, of=tuple(found), otherwise=False)


def _likeness(node: exp.Expr, of: _Of, escape: str | None = None) -> Any:
    text, pattern = of(node.this), of(node.expression)
    if text is UNKNOWN or not isinstance(pattern, str):
        return UNKNOWN
    if not isinstance(text, str):
        return None if text is None else UNKNOWN
    try:
        return like(pattern, escape)(text) != bool(node.args.get("negate"))
    except StatementError:
        return UNKNOWN  # who runs the query raises


def _escaped(node: exp.Expr, of: _Of) -> Any:
    escape = of(node.expression)
    if not isinstance(node.this, exp.Like) or not isinstance(escape, str):
        return UNKNOWN
    return _likeness(node.this, of, escape)


def _cased(node: exp.Expr, of: _Of) -> Any:
    """Of ASCII alone: other letters change their case otherwise in each engine."""
    text = of(node.this)
    if not isinstance(text, str):
        return None if text is None else UNKNOWN
    if not text.isascii():
        return UNKNOWN
    return text.lower() if isinstance(node, exp.Lower) else text.upper()


def _joined(node: exp.Expr, of: _Of) -> Any:
    found = _chain(node, of)
    if any(one is None for one in found):
        return None
    return "".join(found) if all(isinstance(one, str) for one in found) else UNKNOWN


def _coalesced(node: exp.Expr, of: _Of) -> Any:
    for one in (node.this, *node.expressions):
        found = of(one)
        if found is not None:
            return found
    return None


_RULES: Mapping[type[exp.Expr], Callable[[exp.Expr, _Of], Any]] = {
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _not,
    exp.EQ: _equal,
    exp.NEQ: _unequal,
    exp.Is: _is,
    exp.In: _in,
    exp.Like: _likeness,
    exp.Escape: _escaped,
    exp.Lower: _cased,
    exp.Upper: _cased,
    exp.DPipe: _joined,
    exp.Coalesce: _coalesced,
}
