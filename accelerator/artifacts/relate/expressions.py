"""Expressions over attributes of dimensions, as relate columns: what may be one, and its values.

Only what is proven to mean the same in Spark and in DuckDB, which computes the values, and what
raises on no row: a statement whose predicate may raise leaves no file out, so that such a relate
column would never be used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.common.arrow.spark_types import arrow_type, is_known
from accelerator.errors import EngineError, RelateColumnError
from accelerator.iceberg.pruning.column_ranges import range_of
from cubes.may_raise import unsafe
from rewrite.bind.expressions import bind
from rewrite.functions.casts import cast_of
from rewrite.functions.table import BY_OP
from rewrite.identifiers.qualified_name import joined
from rewrite.ir.expr import Aggregate, Call, Column, Expr, columns, walk
from rewrite.ir.integer_ranges import raises_nothing
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Renderer, check_duckdb
from rewrite.types import TOKEN_TESTS, decimal_parts

if TYPE_CHECKING:
    from accelerator.artifacts.relate.path import Path
    from accelerator.engines.duckdb.engine import DuckDBEngine
    from accelerator.iceberg import PinnedTable

_HINTS = {
    "may_raise": "whole numbers may leave their type: cast one of them to BIGINT",
    "expression_not_proven": "operators that DuckDB has alike can stand in it",
    "expression_unsupported": "deterministic functions of columns can stand in it, each column"
    " behind its table's name",
}


class _Names:
    """Looks up a column, which stands behind its table's name; times have no zone of a session."""

    zone: str | None = None

    def __init__(self, find: Callable[[tuple[str, ...]], Column]) -> None:
        self._find = find

    def column(self, qualifier: tuple[str, ...], name: str) -> Expr:
        """What the name means; DeclinedError for one without a table's."""
        if not qualifier:
            raise DeclinedError("expression_unsupported", f"{name} without its table's name.")
        return self._find((*qualifier, name))


def bound(text: str, find: Callable[[tuple[str, ...]], Column]) -> Expr:
    """The tree of an expression as written, in which `find` tells what a name means.

    RelateColumnError where it can't be read, or isn't one that may be declared.
    """
    try:
        expr = bind(_single(text), _Names(find))
        _check_calls(expr)
    except SqlglotError as error:
        raise RelateColumnError(
            f"{text} can't be read: {str(error).splitlines()[0]}",
            hint="an expression over columns of dimensions stands between FROM and ON",
        ) from error
    except DeclinedError as error:
        raise _refused(text, error) from error
    if isinstance(expr, Aggregate) or any(isinstance(n, Aggregate) for n in walk(expr)):
        raise RelateColumnError(f"{text} has an aggregate", hint="it's computed row by row")
    if not columns(expr):
        raise RelateColumnError(f"{text} has no column", hint="name a column of a dimension")
    if not is_known(expr.type):
        raise RelateColumnError(
            f"the type of {text} isn't known here",
            hint="give functions arguments of the types that they take",
        )
    return expr


def _single(text: str) -> exp.Expression:
    tree = parse(f"SELECT {text}")
    said = [name for name, value in tree.args.items() if value]
    items = tree.args.get("expressions") or []
    if not isinstance(tree, exp.Select) or said != ["expressions"] or len(items) != 1:
        raise DeclinedError("expression_unsupported", "More than one expression.")
    node: exp.Expression = items[0]
    if isinstance(node, exp.Alias):
        raise DeclinedError("expression_unsupported", f"The name {node.alias} behind it.")
    return node


def _check_calls(expr: Expr) -> None:
    """DeclinedError where an operator isn't proven alike in DuckDB, or is a function of ours."""
    for node in walk(expr):
        if isinstance(node, Call):
            if node.op in TOKEN_TESTS:
                raise DeclinedError("expression_unsupported", f"{node.op}, which isn't Spark's.")
            check_duckdb(node)
            if _may_leave_a_value(node):
                raise DeclinedError("expression_not_proven", f"The operator {node.op}.")


def _may_leave_a_value(call: Call) -> bool:
    """Decides whether only Spark can compute some values, which a build in process would need."""
    if call.op == "concat":
        return any(arg.type != "string" for arg in call.args)
    if call.op == "cast":
        return cast_of(call.args[0].type, call.type or "") is not None
    return call.op in BY_OP or call.op == "%"


def _refused(text: str, error: DeclinedError) -> RelateColumnError:
    declined = error.declined
    hint = _HINTS.get(declined.code, "docs/reference/relate-columns.md says what can stand in it")
    return RelateColumnError(
        f"{text} can't be a relate column: {declined.sentence} [{declined.code}]", hint=hint
    )


def check_raises(expr: Expr, text: str, dimensions: Sequence[PinnedTable]) -> None:
    """RelateColumnError where the expression may raise on some row that dimensions may have.

    They are told by the place in the path, from 1 on.
    """
    known = range_of((dimensions[0], *dimensions))

    def sure(call: Call) -> bool:  # computed decimals have no tests in indexes yet
        return decimal_parts(call.type) is None and raises_nothing(call, known)

    declined = unsafe([expr], sure)
    if declined is not None:
        raise _refused(text, DeclinedError(declined.code, declined.detail))


def computed(path: Path, values: Sequence[pa.Array], engine: DuckDBEngine) -> pa.Array:
    """The expression's values, of its columns' in their order.

    RelateColumnError where it raises, or a column has another type than when it was declared.
    """
    expr, type_ = path.column.expression, path.attribute.type
    names = {column: f"c{i}" for i, column in enumerate(path.column.columns)}
    render = Renderer("duckdb", lambda column: names[column])
    places = pa.array(range(len(values[0])), pa.int64())
    rows = pa.table([places, *values], names=["place", *names.values()])
    try:
        if expr is None:
            raise DeclinedError("expression_unsupported")
        sql = f"SELECT {render.text(expr)} AS v FROM acc_rows ORDER BY place"
        found = engine.run(sql, {"acc_rows": rows}).column("v").combine_chunks()
        return found.cast(arrow_type(type_))
    except (EngineError, DeclinedError, pa.ArrowInvalid) as error:
        raise RelateColumnError(
            f"the relate column {path.column.name} can't be computed: {error}",
            hint="drop it, and add one that raises on no row of the dimensions",
        ) from error


def spark_text_of(expr: Expr, tables: Sequence[tuple[str, ...]]) -> str:
    """Its text, with full names of columns; `tables` are the path's, the fact first."""
    name = Renderer("spark", lambda c: joined((*tables[c.occurrence], c.name)))
    return name.text(expr)
