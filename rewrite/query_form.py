"""The form of any query, whether it can be bound or not: its joins, its sort, its tables' filters.

By the parser's tree alone: no name is looked up but those of relations in FROM. What isn't certain
counts in the query's favour, since these facts serve to refuse queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from rewrite.bind_expr import bind_condition
from rewrite.block import Occurrence
from rewrite.expr import Expr, conjuncts
from rewrite.names import Names
from rewrite.reason import DeclinedError

_CORRELATED = (exp.Lateral, exp.Unnest, exp.Explode, exp.Posexplode)
_PADDING = ("RIGHT", "FULL")


@dataclass(frozen=True, slots=True)
class Use:
    """One mention of a table in a query's FROM, and the predicates that stand there.

    `alone`: no other relation is joined there. `filters` are WHERE's terms, empty where an outer
    join may pad the table's rows; `terms` are those of the ONs as well.
    """

    table: exp.Table
    alone: bool
    filters: tuple[exp.Expression, ...]
    terms: tuple[exp.Expression, ...]


def only_sorts(tree: exp.Expression) -> bool:
    """Whether the whole result is a sort of rows: ORDER BY without LIMIT, grouping or aggregate."""
    query = tree.unnest()
    limit = query.args.get("limit")
    if query.args.get("order") is None or (limit is not None and not _is_all(limit)):
        return False
    if not isinstance(query, exp.Select):
        return True
    if query.args.get("group") is not None or query.args.get("from_") is None:
        return False
    return not any(_aggregates(item) for item in query.expressions)


def cross_join(tree: exp.Expression) -> str | None:
    """The relations of a product of two, as text; None where all are joined by some predicate."""
    for node in tree.find_all(exp.Select, exp.Table, exp.Subquery):
        if node.args.get("joins"):
            found = _apart(node)
            if found is not None:
                return found
    return None


def uses(tree: exp.Expression) -> Iterator[Use]:
    """Every table that the query names, but those that a WITH above defines."""
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or _is_defined(table):
            continue
        select = table.find_ancestor(exp.Select)
        if select is None:
            yield Use(table, True, (), ())
            continue
        joins = _joins(select)
        where = select.args.get("where")
        terms = tuple(_terms(where.this)) if where is not None else ()
        own = next(
            (j for j in joins if j.this is table or table in j.this.find_all(exp.Table)), None
        )
        sides = [_side(j) for j in joins]
        padded = any(s in _PADDING for s in sides) or (own is not None and _side(own) == "LEFT")
        on = tuple(t for j in joins if j.args.get("on") is not None for t in _terms(j.args["on"]))
        yield Use(table, not joins, () if padded else terms, (*terms, *on))


def filters_by(use: Use, names: Sequence[str]) -> bool:
    """Whether some predicate is on a column of these names, in every branch of its ORs."""
    alias = use.table.alias_or_name.lower()
    wanted = frozenset(name.lower().split(".")[0] for name in names)
    return any(_restricts(term, alias, wanted) for term in use.terms)


def bound_filters(use: Use, occurrence: Occurrence, zone: str | None) -> tuple[Expr, ...]:
    """The filters that name the table's own columns only, as far as they can be bound."""
    names = Names([occurrence], zone=zone)
    found: list[Expr] = []
    for term in use.filters:
        try:
            found += conjuncts(bind_condition(term, names))
        except DeclinedError:
            continue
    return tuple(found)


def _is_all(limit: exp.Expression) -> bool:
    return isinstance(limit, exp.Limit) and str(limit.expression).upper() == "ALL"


def _aggregates(item: exp.Expression) -> bool:
    return any(
        node.find_ancestor(exp.Select) is item.find_ancestor(exp.Select)
        and not isinstance(node.parent, exp.Window)
        for node in item.find_all(exp.AggFunc)
    )


def _is_defined(table: exp.Table) -> bool:
    """Whether it's the name of a WITH; one of several parts never is."""
    if table.args.get("db"):
        return False
    for above in (table, *_above(table)):
        defined = above.args.get("with_")
        if defined is not None and any(
            cte.alias.lower() == table.name.lower() for cte in defined.expressions
        ):
            return True
    return False


def _above(node: exp.Expression) -> Iterator[exp.Expression]:
    while (parent := node.parent) is not None:
        node = cast(exp.Expression, parent)
        yield node


def _joins(node: exp.Expression) -> list[exp.Join]:
    """The joins of a FROM, those in parentheses too."""
    found = list(node.args.get("joins") or ())
    source = node.args.get("from_")
    starts = [source.this] if source is not None else []
    starts += [join.this for join in found]
    for start in starts:
        inner = start
        while isinstance(inner, exp.Subquery) and not isinstance(inner.this, exp.Query):
            found += inner.args.get("joins") or ()
            inner = inner.this
        if inner is not start or isinstance(inner, exp.Table):
            found += inner.args.get("joins") or ()
    return list(dict.fromkeys(found))


def _side(join: exp.Join) -> str:
    return str(join.args.get("side") or "").upper()


def _terms(node: exp.Expression) -> Iterator[exp.Expression]:
    """The operands of nested ANDs."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, exp.Paren):
            stack.append(current.this)
        elif isinstance(current, exp.And):
            stack += (current.expression, current.this)
        else:
            yield current


def _restricts(term: exp.Expression, alias: str, wanted: frozenset[str]) -> bool:
    if isinstance(term, exp.Paren):
        return _restricts(term.this, alias, wanted)
    if isinstance(term, exp.And):
        return any(_restricts(t, alias, wanted) for t in _terms(term))
    if isinstance(term, exp.Or):
        return all(_restricts(t, alias, wanted) for t in (term.this, term.expression))
    return any(
        (not column.table or column.table.lower() == alias or column.table.lower() in wanted)
        and not wanted.isdisjoint(part.name.lower() for part in column.parts)
        for column in _columns(term)
    )


def _columns(term: exp.Expression) -> Iterator[exp.Column]:
    """The columns of a predicate, without those of its subqueries."""
    for node in term.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(node, exp.Column):
            yield node


def _apart(node: exp.Expression) -> str | None:
    """Two relations of the node's FROM between which no predicate stands."""
    first = node.args["from_"].this if isinstance(node, exp.Select) else node
    joins: list[exp.Join] = node.args["joins"]
    groups = [_aliases(first)]
    where = node.args.get("where")
    terms = list(_terms(where.this)) if where is not None else []
    select = node if isinstance(node, exp.Select) else node.find_ancestor(exp.Select)
    if where is None and select is not None and select.args.get("where") is not None:
        terms += _terms(select.args["where"].this)
    for join in joins:
        names = _aliases(join.this)
        if _is_joined(join):
            groups[0] |= names
        else:
            groups.append(names)
        if join.args.get("on") is not None:
            terms += _terms(join.args["on"])
    for term in terms:
        groups = _connected(groups, term)
    if len(groups) == 1:
        return None
    return " and ".join(", ".join(sorted(g)) or "a relation" for g in groups[:2])


def _connected(groups: list[set[str]], term: exp.Expression) -> list[set[str]]:
    """The groups with those united that the term speaks of; a bare name may be of any."""
    columns = list(_columns(term))
    named = {column.table.lower() for column in columns if column.table}
    bare = {column.name.lower() for column in columns if not column.table}
    if bare and len(bare) + len(named) > 1:
        return [set().union(*groups)]
    touched = [g for g in groups if g & named]
    if len(touched) < 2:
        return groups
    return [set().union(*touched), *(g for g in groups if not g & named)]


def _is_joined(join: exp.Join) -> bool:
    """Whether the join makes no product by its own form."""
    kind = str(join.args.get("kind") or "").upper()
    natural = str(join.args.get("method") or "").upper() == "NATURAL"
    if kind in ("SEMI", "ANTI") or natural or join.args.get("using"):
        return True
    inner = join.this
    if isinstance(inner, _CORRELATED) or isinstance(inner.this, _CORRELATED):
        return True
    return _is_one_row(inner)


def _is_one_row(relation: exp.Expression) -> bool:
    """Whether it's a subquery of one row at most, by its form."""
    query = relation.this if isinstance(relation, exp.Subquery) else None
    if not isinstance(query, exp.Select):
        return False
    if query.args.get("from_") is None:
        return True
    limit = query.args.get("limit")
    if isinstance(limit, exp.Limit) and str(limit.expression) in ("0", "1"):
        return True
    grouped = query.args.get("group") is not None
    return not grouped and any(_aggregates(item) for item in query.expressions)


def _aliases(relation: exp.Expression) -> set[str]:
    """The names by which the relation's columns may be qualified."""
    if isinstance(relation, exp.Subquery) and not relation.alias:
        inner = relation.this
        if not isinstance(inner, exp.Query):
            nested = [inner, *(j.this for j in inner.args.get("joins") or ())]
            return {name for each in nested for name in _aliases(each)}
    return {relation.alias_or_name.lower()}
