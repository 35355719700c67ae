"""A parsed SELECT to a `Block`: tables to pins, names to field ids, in Spark's order of look-up.

Whatever isn't one aggregate block over tables, inner, left and semi joins raises `DeclinedError`.
"""

from __future__ import annotations

import re
from typing import TypeGuard

from msgspec.structs import replace
from sqlglot import exp

from rewrite.bind.allow_list import check_alias, check_structure
from rewrite.bind.calls.known_words import is_aggregate, may_aggregate
from rewrite.bind.calls.table_functions import DAYS_LATER
from rewrite.bind.exists_to_count import counted
from rewrite.bind.expressions import bind, bind_condition
from rewrite.bind.from_clause import From, bind_from, occurrence_of
from rewrite.bind.grouping import (
    Grouping,
    grouping_of,
    grouping_of_all,
    is_all,
    is_name_all,
    resolve_sets,
)
from rewrite.bind.key_constants import check_key_constants
from rewrite.bind.names.nested_fields import with_field_names
from rewrite.bind.names.output_name import output_name
from rewrite.bind.names.scopes import AliasNames, ColumnScope, OutputNames
from rewrite.bind.null_folding import check_constants, check_folded
from rewrite.bind.semi_joins import bind_semi, right_side, semi_terms
from rewrite.facts import Facts
from rewrite.ir.block import Block, Occurrence, Output, SortKey
from rewrite.ir.expr import (
    Aggregate,
    Call,
    Column,
    Expr,
    children,
    columns,
    conjuncts,
    has_aggregate,
    occurrences,
    walk,
)
from rewrite.reason import DeclinedError

_ALLOWED = frozenset(
    {
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "hint",
        "distinct",
    }
)

LIMIT_MAX = 2**31 - 1


def bind_block(tree: exp.Expression, facts: Facts, zone: str | None = None) -> Block:
    """The normal form of `tree`, a SELECT, under the pins that `facts` gives.

    `zone` is the session's time zone, in which times without an offset are read.
    """
    if not isinstance(tree, exp.Select):
        raise DeclinedError("block_unsupported")
    tree = counted(tree)
    extra = sorted(k for k, v in tree.args.items() if v and k not in _ALLOWED)
    if extra or tree.args.get("from_") is None:
        raise DeclinedError("block_unsupported", f"It has: {', '.join(extra) or 'no FROM'}.")
    source = bind_from(tree, facts, zone)
    names = source.names
    tables, where = bind_where(tree, source, facts)
    inner = source.inner + where
    if any(has_aggregate(c) for c in inner):
        raise DeclinedError("block_unsupported", "An aggregate in WHERE.")
    outputs = tuple(bind_output(item, names) for item in tree.expressions)
    grouping, grouped = _grouping(tree, names, outputs)
    aliases = output_aliases(outputs)
    over = OutputNames(names, aliases)
    having = _having(tree, over, outputs, grouping.keys)
    order = bind_order(tree, over, outputs)
    _check_order(tree, over, outputs, grouping)
    check_key_constants(tree, names)
    block = Block(
        occurrences=tables,
        left_edges=source.left,
        conjuncts=inner,
        keys=grouping.keys,
        outputs=tuple(Output(o.name, o.alias, resolve_sets(o.expr, grouping)) for o in outputs),
        having=None if having is None else resolve_sets(having, grouping),
        order=tuple(replace(key, expr=resolve_sets(key.expr, grouping)) for key in order),
        limit=bind_limit(tree),
        grouped=grouped,
        sets=grouping.sets,
    )
    check_folded(block.tested, (*block.keys, *block.aggregates))
    check_constants((*block.keys, *block.results), block.tested)
    return block


def bind_where(
    tree: exp.Select, source: From, facts: Facts
) -> tuple[tuple[Occurrence, ...], tuple[Expr, ...]]:
    """All tables, those that IN and EXISTS join behind the others, and WHERE's conjuncts."""
    where, names = tree.args.get("where"), source.names
    if where is None:
        return source.tables, ()
    check_structure(where)
    check_alias(where.this)
    plain, joining = semi_terms(where.this)
    if not joining:
        return source.tables, conjuncts(bind_condition(where.this, names))
    tables = list(source.tables)
    found = [c for term in plain for c in conjuncts(bind_condition(term, names, void=True))]
    for term in joining:
        own = occurrence_of(len(tables), right_side(term), facts, names.zone)
        tables.append(own)
        found += bind_semi(term, own, names, facts)
    return tuple(tables), tuple(found)


def _having(
    tree: exp.Select, scope: OutputNames, outputs: tuple[Output, ...], keys: tuple[Expr, ...]
) -> Expr | None:
    """HAVING; where it needs what no output is, Spark finds outputs and keys alone in ORDER BY.

    No aggregates, and no columns that an output or a key is made of.
    """
    having, order = tree.args.get("having"), tree.args.get("order")
    if having is None:
        return None
    check_structure(having)
    check_alias(having.this)
    bound = bind_condition(having.this, scope, void=True)
    if order is not None and _needs_more(bound, outputs):
        shown = {*keys, *(output.expr for output in outputs)}
        first = scope.outputs_first()
        found = (bind(column, first) for column in order.find_all(exp.Column))
        if may_aggregate(order) or any(isinstance(c, Column) and c not in shown for c in found):
            raise DeclinedError("block_unsupported", "HAVING and ORDER BY by what no output is.")
    return bound


def _check_order(
    tree: exp.Select, scope: OutputNames, outputs: tuple[Output, ...], grouping: Grouping
) -> None:
    """DeclinedError for what Spark may not find in ORDER BY and HAVING above grouping sets.

    Keys that no output shows under their own name, though it may be the same expression, and in
    ORDER BY columns that a key is made of.
    """
    if not grouping.sets:
        return
    order, having = tree.args.get("order"), tree.args.get("having")
    shown = {(output.alias or output.name or "").lower() for output in outputs}
    for clause in (order, having):
        for column in clause.find_all(exp.Column) if clause is not None else ():
            in_grouping = isinstance(column.parent, (exp.Grouping, exp.GroupingId))
            if column.name.lower() not in shown and (in_grouping or not _is_aggregated(column)):
                raise DeclinedError("block_unsupported", "A key that no output shows by its name.")
    if order is None:
        return
    made = {c for key in grouping.keys if not isinstance(key, Column) for c in columns(key)}
    for column in order.find_all(exp.Column) if made else ():
        if not _is_aggregated(column) and bind(column, scope) in made:
            raise DeclinedError("block_unsupported", "ORDER BY by what a key is made of.")


def _is_aggregated(column: exp.Expr) -> bool:
    """Whether it stands in an aggregate."""
    around = column.parent
    while around is not None and not is_aggregate(around):
        around = around.parent
    return around is not None


def _needs_more(expr: Expr, outputs: tuple[Output, ...]) -> bool:
    if any(expr == output.expr for output in outputs):
        return False
    if isinstance(expr, (Aggregate, Column)):
        return True
    return any(_needs_more(arg, outputs) for arg in children(expr))


def bind_output(item: exp.Expression, names: ColumnScope) -> Output:
    """One item of SELECT; DeclinedError for a star."""
    inner = item.this if isinstance(item, exp.Alias) else item
    if isinstance(inner, exp.Star) or (
        isinstance(getattr(inner, "this", None), exp.Star) and isinstance(inner, exp.Column)
    ):
        raise DeclinedError("block_unsupported", "SELECT *.")
    expr = bind(inner, names)
    if isinstance(item, exp.Alias):
        return Output(item.alias or name_of(inner, expr), item.alias, expr)
    called = with_field_names(inner, lambda parts: names.column(parts[:-1], parts[-1]))
    return Output(name_of(called, expr), None, expr)


def name_of(node: exp.Expression, expr: Expr) -> str | None:
    """Spark's name of an output without an alias; it names `d + 3` by the type of d."""
    sums = node.find(exp.Add, exp.Sub) is not None
    if sums and any(isinstance(one, Call) and one.op in DAYS_LATER.values() for one in walk(expr)):
        return None
    return output_name(node)


def output_aliases(outputs: tuple[Output, ...]) -> dict[str, Expr | None]:
    """What each output's name stands for, in lower case; None where it's ambiguous.

    An alias that is given twice is ambiguous even where both are one expression; a column that
    stands there twice isn't.
    """
    aliases: dict[str, Expr | None] = {}
    given: set[str] = set()
    for output in outputs:
        name = (
            output.alias or (output.name if isinstance(output.expr, Column) else None) or ""
        ).lower()
        twice = name in given or aliases.get(name, output.expr) != output.expr
        aliases[name] = None if twice else output.expr
        if output.alias:
            given.add(name)
    aliases.pop("", None)
    return aliases


def _grouping(
    tree: exp.Select, names: ColumnScope, outputs: tuple[Output, ...]
) -> tuple[Grouping, bool]:
    group, distinct = tree.args.get("group"), tree.args.get("distinct")
    aggregated = any(has_aggregate(o.expr) for o in outputs) or tree.args.get("having") is not None
    if distinct is not None:
        if group is not None or aggregated or distinct.args.get("on"):
            raise DeclinedError("block_unsupported", "DISTINCT over an aggregate.")
        return Grouping(tuple(o.expr for o in outputs)), True
    if group is None:
        if not aggregated:
            raise DeclinedError("no_aggregate")
        return Grouping(()), False
    scope = AliasNames(names, output_aliases(outputs))
    if is_all(group) and not (is_name_all(group) and scope.names_something("all")):
        _check_not_named_all(scope)
        grouping = grouping_of_all(tuple(o.expr for o in outputs))
        return grouping, bool(grouping.keys)
    return grouping_of(group, lambda item: _position(item, outputs) or bind(item, scope)), True


def _check_not_named_all(scope: AliasNames) -> None:
    """Declines GROUP BY ALL and ORDER BY ALL if ALL is a name: Spark looks for that first."""
    if scope.names_something("all"):
        raise DeclinedError("name_ambiguous", "A column or an output is called all.")


def _position(node: exp.Expression, outputs: tuple[Output, ...]) -> Expr | None:
    """The output of that number, parentheses or not; None where the node is no whole number."""
    bare = node.unnest()
    negative = isinstance(bare, exp.Neg)
    if negative:
        bare = bare.this.unnest()
    if not _is_whole(bare):
        return None
    index = int(bare.this) - 1
    if negative or not 0 <= index < len(outputs):
        raise DeclinedError("expression_unsupported", f"The position {node.sql(dialect='spark')}.")
    return outputs[index].expr


def _is_whole(node: object) -> TypeGuard[exp.Literal]:
    return (
        isinstance(node, exp.Literal)
        and not node.is_string
        and re.fullmatch(r"\d+", node.this) is not None
    )


def bind_order(
    tree: exp.Select, scope: OutputNames, outputs: tuple[Output, ...]
) -> tuple[SortKey, ...]:
    """ORDER BY, with Spark's defaults: NULLs first where it ascends."""
    order = tree.args.get("order")
    if order is None:
        return ()
    check_structure(order)
    keys: list[SortKey] = []
    for item in order.expressions:
        if not isinstance(item, exp.Ordered):
            raise DeclinedError("block_unsupported", "ORDER BY with options.")
        check_structure(item)
        if _is_order_by_all(order):
            _check_not_named_all(scope)
            keys += (_sort_key(item, output.expr) for output in outputs)
            continue
        expr = _position(item.this, outputs)
        if expr is None:
            # Beside an aggregate Spark takes the names for columns, or fails.
            expr = bind(item.this, scope if may_aggregate(item.this) else scope.outputs_first())
            if tree.args.get("distinct") is not None:
                _check_columns_of_distinct(item.this, scope, outputs)
        keys.append(_sort_key(item, expr))
    return tuple(keys)


def _sort_key(item: exp.Ordered, expr: Expr) -> SortKey:
    descending, nulls_first = bool(item.args.get("desc")), item.args.get("nulls_first")
    return SortKey(expr, descending, not descending if nulls_first is None else bool(nulls_first))


def _is_order_by_all(order: exp.Expression) -> bool:
    """Decides whether ALL is the one sort key; Spark then sorts by all outputs."""
    (first, *more) = order.expressions
    return not more and isinstance(first.this, exp.Var) and first.this.name.upper() == "ALL"


def _check_columns_of_distinct(
    node: exp.Expression, scope: OutputNames, outputs: tuple[Output, ...]
) -> None:
    """DeclinedError for a sort key over DISTINCT that names what isn't one of its columns.

    Spark looks names up among these alone: of `SELECT DISTINCT g IS NULL` there's no `g` any more.
    """
    aliases = {o.alias.lower() for o in outputs if o.alias}
    bare = {o.expr for o in outputs if o.alias is None and isinstance(o.expr, Column)}
    for named in node.find_all(exp.Column):
        by_alias = not named.table and named.name.lower() in aliases
        found = None if by_alias else bind(named, scope)
        is_field = isinstance(found, Column) and found.path and named.table
        if not by_alias and (is_field or found not in bare):
            raise DeclinedError("block_unsupported", "ORDER BY what DISTINCT has left out.")
    if may_aggregate(node):
        raise DeclinedError("block_unsupported", "ORDER BY an aggregate over DISTINCT.")


def bind_limit(tree: exp.Select) -> int | None:
    """LIMIT as a number of rows."""
    limit = tree.args.get("limit")
    if limit is None:
        return None
    if not isinstance(limit, exp.Limit):
        raise DeclinedError("block_unsupported", "FETCH.")
    check_structure(limit)
    return whole_number(limit.expression, "LIMIT")


def whole_number(node: exp.Expression, clause: str) -> int:
    """The number of a LIMIT or OFFSET; DeclinedError for an expression."""
    if not _is_whole(node) or int(node.this) > LIMIT_MAX:
        raise DeclinedError("block_unsupported", f"{clause} with an expression, or beyond an int.")
    return int(node.this)


def loose_columns(expr: Expr, keys: tuple[Expr, ...]) -> set[int]:
    """Occurrences named outside of aggregates and group keys, which Spark refuses."""
    if expr in keys or isinstance(expr, Aggregate):
        return set()
    if isinstance(expr, Column):
        return occurrences(expr)
    found: set[int] = set()
    for arg in getattr(expr, "args", ()):
        found |= loose_columns(arg, keys)
    return found
