"""What the rules of a dialect share: what they may ask, how they refuse, and how they write Spark.

A rule gives what stands in a node's place, or None where the rules of all dialects go on. It raises
`UnsureMeaningError` for what isn't surely the same in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from itertools import islice, pairwise
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import TokenType, exp

from rewrite.dialects.trino.time_zones import Zones
from rewrite.dialects.value_kinds import KIND, ZONE, Kind, Kinds, Meaning
from rewrite.parse.bounds import measured, trees_of


class UnsureMeaningError(ValueError):
    """Why something isn't surely the same in Spark, and how else it can be written."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


class Context(Struct, frozen=True):
    """What a rule may ask of the statement around its node.

    `kinds` of expressions, `zones` of moments, and `decimals`, where constants of DECIMAL stand:
    the parser takes `DECIMAL '1.5'` for a cast to decimal(38, 0), which would be rounded.
    """

    kinds: Kinds
    zones: Zones
    decimals: Collection[int]
    clauses: dict[int, str] = field(default_factory=dict)
    """The clauses of operators, by their ids, as far as they were looked for."""

    def of(self, node: exp.Expr | None) -> Kind | None:
        """The kind of an expression."""
        return self.kinds.of(cast(exp.Expression | None, node))

    def meaning(self, node: exp.Expr) -> Meaning:
        """The meaning of an expression, with its zone."""
        found = self.kinds.meaning(node)
        return replace(found, zone=self.zones.of(node)) if found.kind == "moment" else found


Rule = Callable[[exp.Expr, Context], exp.Expression | None]


def spark(
    template: str, kind: Kind, zone: str | None = None, /, **operands: exp.Expr | str
) -> exp.Expression:
    """An expression of Spark's of that kind, with operands in place of `:names`.

    A text is a constant. An operand of several words stands in parentheses where the template has
    none around it.

    >>> x = exp.column("a") + 1
    >>> spark("CASE WHEN :x > 0 THEN LOG10(:x) END", "double", x=x).sql("spark")
    'CASE WHEN (a + 1) > 0 THEN LOG10(a + 1) END'
    """
    root = exp.Paren(this=_parsed(template).copy())
    for place in list(root.find_all(exp.Placeholder)):
        operand = operands[place.name]
        if isinstance(operand, str):
            place.replace(exp.Literal.string(operand))
            continue
        loose = isinstance(operand, LOOSE) and not isinstance(place.parent, _CLOSED)
        place.replace(exp.paren(operand.copy()) if loose else operand.copy())
    found = cast(exp.Expression, root.this.pop())
    return with_kind(found, kind, zone)


def with_kind(node: exp.Expression, kind: Kind, zone: str | None = None) -> exp.Expression:
    """The same, with its kind, and a moment's time zone, beside it: what stands over it may ask."""
    node.meta[KIND] = kind
    if zone is not None:
        node.meta[ZONE] = zone
    return node


def checked_growth(found: exp.Expression | None) -> exp.Expression | None:
    """The same; UnsureMeaningError if it is too long.

    Many rules repeat their operand, so that nested calls grow by a power of their depth. Lists of
    IN may be long, but aren't repeated.
    """
    if found is not None and not isinstance(found, exp.In):
        nodes = sum(1 for _ in islice(found.walk(), _NODES_MAX + 1))
        if nodes > _NODES_MAX:
            raise UnsureMeaningError(
                "nested calls make the translation too long", "compute the inner ones in a subquery"
            )
    return found


def constant_text(node: exp.Expr | None, what: str) -> str:
    """The text that a constant is; UnsureMeaningError names `what` must be one."""
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.name)
    raise UnsureMeaningError(f"only a constant {what} is")


@lru_cache(512)
def _parsed(template: str) -> exp.Expr:
    text = f"SELECT {template}"
    tokens, work = measured(text, "spark")
    for token, behind in pairwise(tokens):
        named = token.text.isidentifier() and token.text.upper() not in _READ
        if named and behind.token_type is TokenType.L_PAREN:
            token.text, token.token_type = _MARK + token.text, TokenType.VAR
    [select] = trees_of(tokens, text, "spark", work)
    found = cast(exp.Select, select).expressions[0]
    for call in found.find_all(exp.Anonymous):
        call.set("this", str(call.this).removeprefix(_MARK))
    for node in found.walk():  # places in another text than the client's
        node.meta.pop("start", None)
    return cast(exp.Expr, found)


_NODES_MAX = 10_000
_MARK = "acc_call_"
"""Before the name of a function, so that the parser writes it as it stands."""
_READ = frozenset({"CAST", "EXTRACT", "WHEN", "THEN", "ELSE", "AND", "OR", "NOT", "IN", "DECIMAL"})
"""Words before a parenthesis that the parser is to read."""
LOOSE = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Interval)
_CLOSED = (exp.Anonymous, exp.Cast, exp.Paren)
