"""The functions of Spark that the rewriter gives a meaning to, by the words that call them.

The parser knows more words than Spark, and a session may register functions of its own under any
of them: so a call by another word declines, and these are watched while a session runs.
"""

from __future__ import annotations

from sqlglot import exp

from rewrite.reason import DeclinedError

FUNCTIONS = (
    *("any", "approx_count_distinct", "approx_percentile", "avg", "bool_and", "bool_or", "boolean"),
    *("coalesce", "concat", "contains", "count", "count_if", "date", "date_trunc", "day"),
    *("dayofmonth", "endswith", "ilike", "startswith"),
    *("dayofyear", "double", "every", "float", "if", "ifnull", "int", "lcase", "like", "lower"),
    *("max", "mean", "min", "mod", "month", "nvl", "percentile_approx", "quarter", "some", "std"),
    *("stddev", "stddev_pop", "stddev_samp", "string", "substr", "substring", "sum", "timestamp"),
    *("trunc", "ucase", "upper", "var_pop", "var_samp", "variance", "weekofyear", "year"),
)
_OF_TWO = frozenset({"ifnull", "nvl"})


def check_word(node: exp.Expression) -> None:
    """DeclinedError where the node was called by a word of the parser's own, or as Spark refuses.

    What stands as an operator, or has a syntax of its own (CAST), has no such word.
    """
    word = node.meta.get("written")
    if word is None or isinstance(node, exp.Anonymous):
        return
    operands = 1 + len(node.expressions)
    if word not in FUNCTIONS or (word in _OF_TWO and operands != 2):
        raise DeclinedError("expression_unsupported", f"The function {node.meta['written']}.")
