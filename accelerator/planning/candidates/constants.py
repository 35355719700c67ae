"""A SELECT without FROM, in process: `SELECT 1`, by which clients see whether anybody is there.

Only expressions that are proven for DuckDB are computed here. What raises there is Spark's to tell.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa
from sqlglot import exp

from accelerator.common.arrow.spark_types import conform, is_known
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.errors import EngineError, RaisesError, RowRaisedError
from accelerator.planning.plans import ConstantsPlan
from cubes.may_raise import may_raise
from rewrite.bind.names.scopes import ColumnScope
from rewrite.bind.null_folding import check_folded
from rewrite.bind.select import bind_output
from rewrite.ir.expr import Call, walk
from rewrite.reason import DeclinedError
from rewrite.render.row_block import renderer

_OF_NULL = {
    **{one: one for one in ("boolean", "tinyint", "smallint", "int", "bigint", "double", "date")},
    "string": "VARCHAR",
}
"""Spark's types of which a NULL is as good as any other, and DuckDB's names of them."""
_SHORT = frozenset({"and", "or", "case", "coalesce"})
"""Operators that may leave an operand out."""


def is_constant(tree: exp.Expression) -> bool:
    """Whether it's a SELECT of expressions and nothing else, but WHERE false.

    >>> import sqlglot
    >>> [is_constant(sqlglot.parse_one(s)) for s in ("SELECT 1, 'x'", "SELECT 1 FROM t")]
    [True, False]
    """
    parts = {key for key, value in tree.args.items() if value}
    plain = parts == {"expressions"} or (parts == {"expressions", "where"} and _is_empty(tree))
    return isinstance(tree, exp.Select) and plain


def _is_empty(tree: exp.Expression) -> bool:
    """Whether it has WHERE false, as JDBC's driver asks for keys that nobody has."""
    where = tree.args.get("where")
    return where is not None and where.this == exp.false()


def plan_constants(tree: exp.Expression, zone: str | None) -> ConstantsPlan:
    """The plan; DeclinedError for what only Spark is known to compute."""
    names = ColumnScope((), zone=zone)
    empty = _is_empty(tree)
    if empty:
        typed = _nulls(tree.expressions)
        if typed is not None:
            return typed
    outputs = [bind_output(item, names) for item in tree.expressions]
    exprs = tuple(output.expr for output in outputs)
    check_folded((), exprs)
    short = any(isinstance(n, Call) and n.op in _SHORT for e in exprs for n in walk(e))
    if (short or empty) and may_raise(exprs):
        raise DeclinedError("may_raise")
    for expr in exprs:
        if not is_known(expr.type):
            raise DeclinedError("expression_not_proven", f"The type {expr.type}.")
    if not all(output.name for output in outputs):
        raise DeclinedError("expression_not_proven", "Only Spark knows an output's name.")
    write = renderer("duckdb")
    items = ", ".join(f"{write.text(expr)} AS c{i}" for i, expr in enumerate(exprs))
    return ConstantsPlan(
        f"SELECT {items}{' WHERE false' if empty else ''}",
        tuple(output.name or "" for output in outputs),
        tuple(expr.type or "" for expr in exprs),
    )


def _nulls(items: list[exp.Expression]) -> ConstantsPlan | None:
    """The plan of casts of NULL under names, without a row; None for anything else."""
    names, types = [], []
    for item in items:
        cast = item.this if isinstance(item, exp.Alias) else None
        if not isinstance(cast, exp.Cast) or not isinstance(cast.this, exp.Null):
            return None
        names.append(item.alias)
        types.append(cast.to.sql("spark").lower())
    if not all(one in _OF_NULL for one in types):
        return None
    nulls = ", ".join(f"CAST(NULL AS {_OF_NULL[one]}) AS c{i}" for i, one in enumerate(types))
    return ConstantsPlan(f"SELECT {nulls} WHERE false", tuple(names), tuple(types))


def run_constants(plan: ConstantsPlan, engine: DuckDBEngine, tag: str) -> pa.Table:
    """The row, with Spark's names and types; RaisesError where an expression raises."""
    try:
        row = engine.run(plan.sql, {}, tag=tag)
    except EngineError as error:
        if isinstance(error, RowRaisedError) or isinstance(
            error.__cause__, duckdb.InvalidInputException
        ):  # no file is read
            raise RaisesError(error.message) from error
        raise
    return conform(row, list(plan.names), list(plan.types))
