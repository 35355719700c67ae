"""The form of any query, whether it can be bound or not: its joins, its sort, its tables' filters.

By the parser's tree alone: no name is looked up but those of relations in FROM. What isn't certain
counts in the query's favour, since these facts serve to refuse queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import cast

from msgspec import Struct
from sqlglot import exp

from rewrite.bind.calls.known_words import aggregate_calls
from rewrite.bind.expressions import bind_condition
from rewrite.bind.names.scopes import ColumnScope
from rewrite.ir.block import Occurrence
from rewrite.ir.expr import Expr, conjuncts
from rewrite.parse.with_definitions import Definitions
from rewrite.reason import DeclinedError

_CORRELATED = (exp.Lateral, exp.Unnest, exp.Explode, exp.Posexplode)
_BEFORE_OVER = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)
_PADDING = ("RIGHT", "FULL")


class TableReference(Struct, frozen=True):
    """One mention of a table in a query's FROM, and the predicates that stand there.

    `alone`: no other relation is joined there. `filters` are WHERE's terms, empty where an outer
    join may pad the table's rows; `terms` are those of the ONs as well.
    """

    table: exp.Table
    alone: bool
    filters: tuple[exp.Expression, ...]
    terms: tuple[exp.Expression, ...]


def only_sorts(tree: exp.Expression) -> bool:
    """Whether the whole result is a sort of rows: ORDER BY without LIMIT, grouping or aggregate.

    DISTINCT groups.
    """
    query, sorted_ = tree, False
    while True:  # parentheses may have both behind them
        limit = query.args.get("limit")
        if limit is not None and not _is_all(limit):
            return False
        sorted_ = sorted_ or query.args.get("order") is not None
        if not isinstance(query, exp.Subquery):
            break
        query = query.this
    if not sorted_ or not isinstance(query, exp.Select):
        return sorted_
    if query.args.get("from_") is None or any(query.args.get(k) for k in ("group", "distinct")):
        return False
    return not any(_aggregates(item) for item in query.expressions)


def cross_join(tree: exp.Expression) -> str | None:
    """The relations of a product of two, as text; None where all are joined by some predicate."""
    known = Definitions()
    for node in tree.find_all(exp.Select, exp.Table, exp.Subquery):
        if node.args.get("joins"):
            found = _apart(node, known)
            if found is not None:
                return found
    return None


def uses(tree: exp.Expression) -> Iterator[TableReference]:
    """Every table that the query names, but those that a WITH above defines."""
    known, forms = Definitions(), dict[int, _SelectForm]()
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or known.item_of(table) is not None:
            continue
        if isinstance(table.find_ancestor(exp.Hint, exp.Query), exp.Hint):
            continue
        select = table.find_ancestor(exp.Select)
        if select is None:
            yield TableReference(table, True, (), ())
            continue
        form = forms.get(id(select))
        if form is None:
            form = forms[id(select)] = _form(select)
        padded = form.padding or any(_holds(join.this, table) for join in form.left)
        yield TableReference(table, form.alone, () if padded else form.filters, form.terms)


class _SelectForm(Struct, frozen=True):
    """The joins and predicates of one SELECT: `left` are its LEFT JOINs."""

    alone: bool
    padding: bool
    left: tuple[exp.Join, ...]
    filters: tuple[exp.Expression, ...]
    terms: tuple[exp.Expression, ...]


def _form(select: exp.Select) -> _SelectForm:
    joins = _joins(select)
    where = select.args.get("where")
    filters = tuple(operands(where.this)) if where is not None else ()
    on = tuple(t for j in joins if j.args.get("on") is not None for t in operands(j.args["on"]))
    left = tuple(join for join in joins if _side(join) == "LEFT")
    padding = any(_side(join) in _PADDING for join in joins)
    return _SelectForm(not joins, padding, left, filters, (*filters, *on))


def hides_tables(tree: exp.Expression) -> bool:
    """Whether it names a table where none is seen: IDENTIFIER('t'), or a function's TABLE(t)."""
    sources = (table.this for table in tree.find_all(exp.Table))
    return any(
        source.name.upper() == "IDENTIFIER"
        or any(call.name.upper() == "TABLE" for call in source.find_all(exp.Anonymous))
        for source in sources
        if isinstance(source, exp.Anonymous)
    )


def filters_by(use: TableReference, names: Sequence[str]) -> bool:
    """Whether some predicate is on one of these columns, in every branch of its ORs."""
    around = (above for above in _above(use.table) if isinstance(above, exp.Subquery))
    aliases = {use.table.alias_or_name.lower(), *(one.alias.lower() for one in around)}
    wanted = frozenset(name.lower() for name in names)
    return any(_restricts(term, aliases, wanted) for term in use.terms)


def bound_filters(
    use: TableReference, occurrence: Occurrence, zone: str | None
) -> tuple[Expr, ...]:
    """The filters that name the table's own columns only, as far as they can be bound."""
    names = ColumnScope([occurrence], zone=zone)
    found: list[Expr] = []
    for term in use.filters:
        try:
            found += conjuncts(bind_condition(term, names))
        except (DeclinedError, RecursionError):
            continue
    return tuple(found)


def _holds(relation: exp.Expression, table: exp.Table) -> bool:
    """Whether it's that very node; one that is written alike is another."""
    return any(node is table for node in relation.find_all(exp.Table))


def _is_all(limit: exp.Expression) -> bool:
    return isinstance(limit, exp.Limit) and str(limit.expression).upper() == "ALL"


def _aggregates(item: exp.Expression) -> bool:
    return any(
        node.find_ancestor(exp.Select) is item.find_ancestor(exp.Select)
        and not _is_windowed(cast(exp.Expression, node))
        for node in aggregate_calls(item)
    )


def _is_windowed(node: exp.Expression) -> bool:
    """Whether the function has an OVER, maybe behind FILTER or IGNORE NULLS."""
    while isinstance(node.parent, _BEFORE_OVER):
        node = cast(exp.Expression, node.parent)
    return isinstance(node.parent, exp.Window) and node.arg_key == "this"


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


def operands(
    node: exp.Expression, kind: type[exp.Expression] = exp.And
) -> Iterator[exp.Expression]:
    """The operands of nested ANDs, or ORs; without recursion, since there may be thousands."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, exp.Paren):
            stack.append(current.this)
        elif isinstance(current, kind):
            stack += (current.expression, current.this)
        else:
            yield current


def _restricts(term: exp.Expression, aliases: Set[str], wanted: frozenset[str]) -> bool:
    if isinstance(term, exp.Paren):
        return _restricts(term.this, aliases, wanted)
    if isinstance(term, exp.And):
        return any(_restricts(t, aliases, wanted) for t in operands(term))
    if isinstance(term, exp.Or):
        return all(_restricts(t, aliases, wanted) for t in operands(term, exp.Or))
    return any(
        (not column.table or column.table.lower() in aliases or column.table.lower() in wanted)
        and not wanted.isdisjoint(part.name.lower() for part in column.parts)
        for column in _columns(term)
    )


def _columns(term: exp.Expression) -> Iterator[exp.Column]:
    """The columns of a predicate, without those of its subqueries."""
    for node in term.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(node, exp.Column):
            yield node


def _apart(node: exp.Expression, known: Definitions) -> str | None:
    """Two relations of the node's FROM between which no predicate stands."""
    first = node.args["from_"].this if isinstance(node, exp.Select) else node
    joins: list[exp.Join] = node.args["joins"]
    relations = [(first, _is_one_row(first, known))]
    relations += [(join.this, _is_joined(join, known)) for join in joins]
    groups = [_aliases(one) for one, joined in relations if not joined] or [set()]
    groups[0] |= {name for one, joined in relations if joined for name in _aliases(one)}
    around = _around(node) - set().union(*groups)
    groups.append(around)
    where = node.args.get("where")
    terms = list(operands(where.this)) if where is not None else []
    select = node if isinstance(node, exp.Select) else node.find_ancestor(exp.Select)
    if where is None and select is not None and select.args.get("where") is not None:
        terms += operands(select.args["where"].this)
    terms += [t for j in joins if j.args.get("on") is not None for t in operands(j.args["on"])]
    for term in terms:
        groups = _connected(groups, term)
    groups = [group for group in groups if not group <= around]
    if len(groups) < 2:
        return None
    return " and ".join(", ".join(sorted(g)) or "a relation" for g in groups[:2])


def _around(node: exp.Expression) -> set[str]:
    """The names of the relations of the queries around, which a subquery may name as well."""
    selects = [above for above in _above(node) if isinstance(above, exp.Select)]
    if not isinstance(node, exp.Select):
        selects = selects[1:]
    sources = [s.args["from_"].this for s in selects if s.args.get("from_") is not None]
    sources += [join.this for select in selects for join in _joins(select)]
    return {name for source in sources for name in _aliases(source)}


def _connected(groups: list[set[str]], term: exp.Expression) -> list[set[str]]:
    """The groups with those united that the term speaks of.

    A bare name may be of any, and so may a field of a column, or a LATERAL VIEW's name.
    """
    known: set[str] = set().union(*groups)
    named: set[str] = set()
    bare: set[str] = set()
    for column in _columns(term):
        parts = [part.name.lower() for part in column.parts]
        found = known.intersection(parts[:-1])
        named |= found
        if not found:
            bare.add(".".join(parts))
    if bare and len(bare) + len(named) > 1:
        return [set().union(*groups)]
    touched = [g for g in groups if g & named]
    if len(touched) < 2:
        return groups
    return [set().union(*touched), *(g for g in groups if not g & named)]


def _is_joined(join: exp.Join, known: Definitions) -> bool:
    """Whether the join makes no product by its own form."""
    kind = str(join.args.get("kind") or "").upper()
    natural = str(join.args.get("method") or "").upper() == "NATURAL"
    if kind in ("SEMI", "ANTI") or natural or join.args.get("using"):
        return True
    inner = join.this
    if isinstance(inner, _CORRELATED) or isinstance(inner.this, _CORRELATED):
        return True
    return _is_one_row(inner, known)


def _is_one_row(relation: exp.Expression, known: Definitions) -> bool:
    """Whether it's a subquery, or one in WITH, of one row at most, by its form."""
    query: object = relation.this if isinstance(relation, exp.Subquery) else None
    if isinstance(relation, exp.Table) and isinstance(relation.this, exp.Identifier):
        defined = known.item_of(relation)
        query = None if defined is None else defined.this
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
