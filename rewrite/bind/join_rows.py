"""A parsed SELECT of rows over joins to a `Block` of rows; semi joins, IN and EXISTS are joins.

Whatever else it is raises `DeclinedError`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlglot import exp

from rewrite.bind.calls.known_words import has_aggregate_call
from rewrite.bind.from_clause import From, bind_from
from rewrite.bind.names.scopes import OutputNames
from rewrite.bind.null_folding import check_constants, check_folded
from rewrite.bind.select import (
    bind_block,
    bind_limit,
    bind_order,
    bind_output,
    bind_where,
    output_aliases,
)
from rewrite.bind.semi_joins import semi_terms
from rewrite.bind.table_rows import all_outputs
from rewrite.facts import Facts
from rewrite.ir.block import Block, Output
from rewrite.ir.expr import Expr, has_aggregate
from rewrite.reason import DeclinedError

_ALLOWED = frozenset({"expressions", "from_", "joins", "where", "order", "limit", "hint"})


def joins_rows(tree: exp.Expression) -> bool:
    """Whether the statement has the clauses of a SELECT of rows over several tables.

    >>> import sqlglot
    >>> [joins_rows(sqlglot.parse_one(f"SELECT a FROM t {more}", read="spark"))
    ...  for more in ("JOIN d ON k = j", "WHERE k IN (SELECT j FROM d)", "WHERE k = 1")]
    [True, True, False]
    """
    if not isinstance(tree, exp.Select) or tree.args.get("from_") is None:
        return False
    if any(v and k not in _ALLOWED for k, v in tree.args.items()):
        return False
    if any(has_aggregate_call(item) for item in tree.expressions):
        return False
    where = tree.args.get("where")
    return bool(tree.args.get("joins")) or (where is not None and bool(semi_terms(where.this)[1]))


def bind_joined(tree: exp.Expression, facts: Facts, zone: str | None = None) -> Block:
    """The normal form of `tree` under the pins that `facts` gives; `zone` as for `bind_block`."""
    if not joins_rows(tree):
        raise DeclinedError("block_unsupported")
    return bind_row_block(tree, facts, zone)


def bind_row_block(tree: exp.Expression, facts: Facts, zone: str | None = None) -> Block:
    """The same of a SELECT of rows over any number of tables."""
    if not isinstance(tree, exp.Select) or any(
        v and k not in _ALLOWED for k, v in tree.args.items()
    ):
        raise DeclinedError("block_unsupported")
    source = bind_from(tree, facts, zone)
    tables, where = bind_where(tree, source, facts)
    outputs = tuple(o for item in tree.expressions for o in _outputs(item, tree, source))
    over = OutputNames(source.names, _aliases(tree, outputs))
    order = bind_order(tree, over, outputs)
    conditions = source.inner + where
    exprs = (*conditions, *(o.expr for o in outputs), *(k.expr for k in order))
    if any(has_aggregate(e) for e in exprs):
        raise DeclinedError("block_unsupported", "An aggregate among rows.")
    block = Block(
        occurrences=tables,
        left_edges=source.left,
        conjuncts=conditions,
        keys=(),
        outputs=outputs,
        having=None,
        order=order,
        limit=bind_limit(tree),
        grouped=False,
        rows=True,
    )
    check_folded(block.tested, [k.expr for k in order if block.limit is not None])
    check_constants(block.results, block.tested)
    return block


def _aliases(tree: exp.Select, outputs: tuple[Output, ...]) -> dict[str, Expr | None]:
    """What an output's name stands for in ORDER BY, which can't name what stands there twice."""
    times = Counter((o.name or "").lower() for o in outputs)
    order = tree.args.get("order")
    for named in order.find_all(exp.Column) if order is not None else ():
        if not named.table and times[named.name.lower()] > 1:
            raise DeclinedError("name_ambiguous", f"Two outputs are called {named.name}.")
    return output_aliases(tuple(o for o in outputs if times[(o.name or "").lower()] == 1))


def bind_above(tree: exp.Expression, facts: Facts, zone: str | None = None) -> Block:
    """The block of a SELECT of either kind: of groups, or of rows of any number of tables."""
    if not isinstance(tree, exp.Select):
        raise DeclinedError("block_unsupported")
    grouped = any(tree.args.get(key) for key in ("group", "having", "distinct"))
    if grouped or any(has_aggregate_call(item) for item in tree.expressions):
        return bind_block(tree, facts, zone)
    try:
        return bind_row_block(tree, facts, zone)
    except DeclinedError:
        block = bind_block(tree, facts, zone)
        if not any(has_aggregate(o.expr) for o in block.outputs):
            raise
        return block


def _outputs(item: exp.Expression, tree: exp.Select, source: From) -> Iterator[Output]:
    inner = item.this if isinstance(item, exp.Column) else item
    if not isinstance(inner, exp.Star):
        yield bind_output(item, source.names)
        return
    joins = tree.args.get("joins") or ()
    turned = any(j.args.get("using") or str(j.args.get("side")).upper() == "RIGHT" for j in joins)
    if any(inner.args.values()) or turned:
        raise DeclinedError("block_unsupported", "SELECT * EXCEPT, or under USING or RIGHT JOIN.")
    parts = [p.name.lower() for p in item.parts[:-1]] if isinstance(item, exp.Column) else []
    meant = [t for t in source.visible if parts == [p.lower() for p in _end(t.path, len(parts))]]
    if parts and len(meant) != 1:
        raise DeclinedError("name_ambiguous", f"SELECT {'.'.join(parts)}.*")
    for table in meant:
        yield from all_outputs(table)


def _end(path: tuple[str, ...], count: int) -> tuple[str, ...]:
    return path[max(0, len(path) - count) :]
