"""A parsed SELECT without aggregates over one table to a `RowBlock`.

Whatever else it is raises `DeclinedError`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrite.bind.allow_list import check_alias
from rewrite.bind.calls.known_words import has_aggregate_call
from rewrite.bind.expressions import bind_condition
from rewrite.bind.from_clause import From, bind_from
from rewrite.bind.names.scopes import OutputNames, Visible
from rewrite.bind.null_folding import check_constants, check_folded
from rewrite.bind.select import (
    LIMIT_MAX,
    bind_limit,
    bind_order,
    bind_output,
    output_aliases,
    whole_number,
)
from rewrite.facts import Facts
from rewrite.ir.block import Output
from rewrite.ir.expr import conjuncts, has_aggregate
from rewrite.ir.row_block import RowBlock
from rewrite.reason import DeclinedError

_ALLOWED = frozenset({"expressions", "from_", "where", "order", "limit", "offset", "hint"})


def selects_rows(tree: exp.Expression) -> bool:
    """Whether the statement has the clauses of a SELECT of one table's rows.

    >>> import sqlglot
    >>> [selects_rows(sqlglot.parse_one(f"SELECT a FROM t {more}", read="spark"))
    ...  for more in ("ORDER BY b LIMIT 9", "GROUP BY a ORDER BY a", "ORDER BY b", "WHERE a = 9")]
    [True, False, True, True]
    """
    if not isinstance(tree, exp.Select) or tree.args.get("from_") is None:
        return False
    known = all(k in _ALLOWED for k, v in tree.args.items() if v)
    return known and not any(has_aggregate_call(item) for item in tree.expressions)


def bind_rows(tree: exp.Expression, facts: Facts, zone: str | None = None) -> RowBlock:
    """The normal form of `tree` under the pins that `facts` gives; `zone` as for `bind_block`."""
    if not isinstance(tree, exp.Select) or not selects_rows(tree):
        raise DeclinedError("block_unsupported")
    source = bind_from(tree, facts, zone)
    if len(source.tables) > 1:
        raise DeclinedError("block_unsupported", "A join in a derived table of rows.")
    names = source.names
    where = tree.args.get("where")
    if where is not None:
        check_alias(where.this)
    conditions = source.inner
    if where is not None:
        conditions += conjuncts(bind_condition(where.this, names))
    outputs = tuple(o for item in tree.expressions for o in _outputs(item, source))
    over = OutputNames(names, output_aliases(outputs))
    order = bind_order(tree, over, outputs)
    computed = (*(o.expr for o in outputs), *(k.expr for k in order))
    if any(has_aggregate(e) for e in (*conditions, *computed)):
        raise DeclinedError("block_unsupported", "An aggregate among rows.")
    limit, offset = bind_limit(tree), _offset(tree)
    check_folded(conditions, [k.expr for k in order if limit is not None])
    check_constants(computed, conditions)
    if (limit or 0) + offset > LIMIT_MAX:  # Spark raises for it
        raise DeclinedError("block_unsupported", "LIMIT and OFFSET beyond an int.")
    return RowBlock(source.tables[0], conditions, outputs, order, limit, offset)


def _outputs(item: exp.Expression, source: From) -> Iterator[Output]:
    (table,) = source.visible
    if isinstance(item, exp.Star):
        if any(item.args.values()):
            raise DeclinedError("block_unsupported", "SELECT * EXCEPT.")
        yield from all_outputs(table)
    elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        parts = tuple(p.name.lower() for p in item.parts[:-1])
        if any(item.this.args.values()) or parts != tuple(
            p.lower() for p in table.path[-len(parts) :]
        ):
            raise DeclinedError("block_unsupported", "SELECT of another table's *.")
        yield from all_outputs(table)
    else:
        yield bind_output(item, source.names)


def all_outputs(table: Visible) -> Iterator[Output]:
    """Yields each column of the table as an output."""
    for name, column in table.named_columns:
        yield Output(name, None, column)


def _offset(tree: exp.Select) -> int:
    offset = tree.args.get("offset")
    return 0 if offset is None else whole_number(offset.expression, "OFFSET")
