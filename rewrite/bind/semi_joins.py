"""Semi joins, IN and EXISTS as inner joins, where the right side has each key once.

A row then meets one row of the right side at most, so the inner join, of which no column of that
side is used, is the same bag of rows. Equalities that are identity join them, and a NULL meets
nothing either way. Whatever isn't proven raises `DeclinedError`.
"""

from __future__ import annotations

from typing import cast

from sqlglot import exp

from rewrite.bind.allow_list import check_alias
from rewrite.bind.expressions import bind, bind_condition, boolean
from rewrite.bind.names.scopes import ColumnScope
from rewrite.facts import Facts
from rewrite.ir.block import Occurrence, equal_columns
from rewrite.ir.expr import Column, Expr, Literal, conjuncts, occurrences
from rewrite.reason import DeclinedError

_READ = frozenset({"expressions", "from_", "where"})
_FUNCTIONS = frozenset({"user", "session_user", "localtimestamp", "grouping__id"})
_FUNCTION_PREFIX = "current_"
"""Names that Spark reads as functions, before it looks among the columns of the query around."""
_HIDDEN_PREFIX = "_"
"""Of columns that a table has without naming them: `_file`, `_pos`."""


def check_met_once(own: Occurrence, parts: tuple[Expr, ...], facts: Facts) -> None:
    """DeclinedError unless no row meets two rows of `own` under all of `parts`.

    A part may name `own` alone, the tables before it alone, or equal a column of each.
    """
    keys: set[int] = set()
    for part in parts:
        named = occurrences(part)
        if own.index not in named or len(named) == 1:
            continue
        pair = equal_columns(part)
        if pair is None:
            raise DeclinedError(
                "join_unsupported", "A semi join by other than equal columns of one type."
            )
        keys |= {column.field_id for column in pair if column.occurrence == own.index}
    if not keys or not facts.unique(own.parts, own.at, frozenset(keys)):
        raise DeclinedError("semi_not_unique", f"The table {own.table.name}.")


def semi_terms(condition: exp.Expression) -> tuple[list[exp.Expression], list[exp.Expression]]:
    """The operands of the condition's ANDs: those without a subquery that joins, and with one.

    Without recursion, since there may be thousands.
    """
    plain: list[exp.Expression] = []
    joining: list[exp.Expression] = []
    stack = [condition]
    while stack:
        current = stack.pop()
        inner = cast(exp.Expression, current.unnest())
        if isinstance(inner, exp.And):
            stack += (inner.expression, inner.this)
        elif _query(inner) is None:
            plain.append(current)
        else:
            joining.append(inner)
    return plain, joining


def _query(term: exp.Expression) -> exp.Select | None:
    """The SELECT of `EXISTS (…)` or of `column IN (…)`; None for any other term."""
    if not isinstance(term, (exp.Exists, exp.In)):
        return None
    said = {name for name, value in term.args.items() if value}
    found: object = None
    if isinstance(term, exp.Exists) and said == {"this"}:
        found = term.this
    elif said == {"this", "query"}:
        query = term.args["query"]
        plain = isinstance(query, exp.Subquery) and [k for k, v in query.args.items() if v]
        if plain == ["this"] and isinstance(term.this.unnest(), exp.Column):
            found = query.this
    return found if isinstance(found, exp.Select) else None


def right_side(term: exp.Expression) -> exp.Expression:
    """What the term's subquery reads FROM; DeclinedError where it has other clauses than WHERE."""
    query = _checked(term)
    read = _READ | {"distinct"} if isinstance(term, exp.In) else _READ
    more = sorted(name for name, value in query.args.items() if value and name not in read)
    distinct = query.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        more.append("distinct on")
    if more or query.args.get("from_") is None or not query.expressions:
        raise DeclinedError(
            "expression_unsupported",
            f"A subquery with {', '.join(more) or 'no FROM or no output'}.",
        )
    return query.args["from_"].this  # type: ignore[no-any-return]


def _checked(term: exp.Expression) -> exp.Select:
    query = _query(term)
    if query is None:
        raise ValueError("the term has no subquery that joins")
    return query


def bind_semi(
    term: exp.Expression, own: Occurrence, outer: ColumnScope, facts: Facts
) -> tuple[Expr, ...]:
    """The conjuncts by which the inner join with `own`, the term's right side, is the term."""
    query = _checked(term)
    parts = _in(term, query, own, outer) if isinstance(term, exp.In) else _exists(query, own, outer)
    check_met_once(own, parts, facts)
    return parts


def _in(
    term: exp.Expression, query: exp.Select, own: Occurrence, outer: ColumnScope
) -> tuple[Expr, ...]:
    """Of an IN, which sees nothing but its own table."""
    names = ColumnScope((own,), zone=outer.zone, inside=True)
    outputs = [bind(_bare(item), names) for item in query.expressions]
    if len(outputs) != 1 or not isinstance(outputs[0], Column):
        raise DeclinedError("expression_unsupported", "IN of other than a subquery's one column.")
    return (boolean("=", bind(term.this, outer), outputs[0]), *_where(query, names))


def _exists(query: exp.Select, own: Occurrence, outer: ColumnScope) -> tuple[Expr, ...]:
    """Of an EXISTS, whose WHERE may equal its table's columns with those of the query around."""
    names = ColumnScope((own,), zone=outer.zone, inside=True)
    for item in query.expressions:
        if isinstance(item, exp.Star) and not any(item.args.values()):
            continue
        if not isinstance(bind(_bare(item), names), (Column, Literal)):
            raise DeclinedError("expression_unsupported", "EXISTS of other than rows.")
    parts = _where(query, _Correlated(own, outer))
    if any(own.index not in named for named in map(occurrences, parts) if named):
        raise DeclinedError("expression_unsupported", "EXISTS under a predicate on another table.")
    return parts


def _bare(item: exp.Expression) -> exp.Expression:
    return item.this if isinstance(item, exp.Alias) else item


def _where(query: exp.Select, names: ColumnScope | _Correlated) -> tuple[Expr, ...]:
    where = query.args.get("where")
    if where is None:
        return ()
    check_alias(where.this)
    return conjuncts(bind_condition(where.this, names))


class _Correlated:
    """Names in an EXISTS: of its own table first, then of the query around.

    What Spark may find among its own table in a way that isn't known here is ambiguous: a field of
    a column, a column that isn't named, a function without parentheses.
    """

    def __init__(self, own: Occurrence, outer: ColumnScope) -> None:
        self.zone = outer.zone
        self._own, self._outer = own, outer
        self._names = ColumnScope((own,), zone=outer.zone, inside=True)

    def column(self, qualifier: tuple[str, ...], name: str) -> Column:
        """The one column that the name means."""
        if self._names.find(qualifier, name):
            return self._names.column(qualifier, name)
        if self._may_be_own(qualifier, name.lower()):
            raise DeclinedError("name_ambiguous", f"The name {'.'.join((*qualifier, name))}.")
        return self._outer.column(qualifier, name)

    def _may_be_own(self, qualifier: tuple[str, ...], name: str) -> bool:
        if qualifier:
            alias, column = self._own.alias.lower(), self._own.table.column
            return any(part.lower() == alias or column(part) is not None for part in qualifier)
        return name in _FUNCTIONS or name.startswith((_FUNCTION_PREFIX, _HIDDEN_PREFIX))
