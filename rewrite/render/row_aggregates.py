"""Row aggregates as DuckDB's text over the rows of a group."""

from __future__ import annotations

from rewrite.functions.aggregates import ROW_AGGREGATES
from rewrite.ir.expr import Aggregate, Expr, Literal
from rewrite.reason import DeclinedError
from rewrite.render.expressions import ColumnText, Dialect, Renderer, bounded


def rows_renderer(dialect: Dialect, column: ColumnText) -> Renderer:
    """A renderer of expressions over rows, in which aggregates are computed from these."""
    render = Renderer(dialect, column, lambda call: _aggregate(call, render))
    return render


def _aggregate(call: Aggregate, render: Renderer) -> str:
    """DuckDB's text; DeclinedError for Spark, whose plain statement computes the aggregate."""
    if render.dialect == "spark":
        raise DeclinedError("expression_not_proven", f"{call.function} of rows, in Spark.")
    where = None if call.where is None else render.text(call.where)

    def argument(expr: Expr) -> str:
        text = render.text(expr)
        filtered = where is not None and not isinstance(expr, Literal)
        return f"(CASE WHEN {where} THEN {text} END)" if filtered else text

    texts = [argument(one) for one in call.args]
    if call.function == "count" and call.distinct:
        return f"COUNT(DISTINCT {texts[0]})"
    text = ROW_AGGREGATES[call.function].text(call.args, texts)
    return bounded(text, f"A long argument of {call.function}.")
