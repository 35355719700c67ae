"""What the binder may read of a parsed expression: nothing of a node is passed over in silence.

The parser is wider than Spark's: it keeps what it has read beside the operands (`NOT LIKE` is a
flag of LIKE), and takes some operators in another order. Such nodes raise `DeclinedError`.
"""

from __future__ import annotations

from sqlglot import exp

from rewrite.reason import DeclinedError

_OPERANDS = frozenset({"this", "expression", "expressions"})
_SAFE = frozenset({"safe"})
_UNIT = frozenset({"unit"})
_BESIDE: dict[type[exp.Expression], frozenset[str]] = {
    exp.ApproxDistinct: frozenset({"accuracy"}),
    exp.ApproxQuantile: frozenset({"quantile", "accuracy", "weight", "error_tolerance"}),
    exp.ArraySort: frozenset({"asc", "nulls_first"}),
    exp.Between: frozenset({"low", "high", "symmetric"}),
    exp.Case: frozenset({"ifs", "default"}),
    exp.Cast: frozenset({"to"}),
    exp.Column: frozenset({"table", "db", "catalog"}),
    exp.Concat: _SAFE,
    exp.Count: frozenset({"big_int"}),
    exp.DateTrunc: _UNIT,
    exp.Div: _SAFE,
    exp.DPipe: _SAFE,
    exp.If: frozenset({"true", "false"}),
    exp.In: frozenset({"query", "unnest"}),
    exp.Like: frozenset({"negate"}),
    exp.Literal: frozenset({"is_string"}),
    exp.Quantile: frozenset({"quantile"}),
    exp.TimestampAdd: _UNIT,
    exp.TimestampTrunc: _UNIT,
    exp.TryCast: frozenset({"to", "safe"}),
    exp.Trim: frozenset({"position"}),
    exp.TsOrDsToDate: _SAFE,
}
"""What the binder reads, or declines by itself, beside the operands."""
_CLAUSES: dict[type[exp.Expression], frozenset[str]] = {
    exp.Having: frozenset({"this"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Where: frozenset({"this"}),
}
"""What is read of clauses."""
_READ = {kind: _OPERANDS | more for kind, more in _BESIDE.items()}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg)
_TESTS = (exp.Is, exp.In, exp.Like, exp.ILike, exp.RegexpLike, exp.Between)
_BOUND_TIGHTER: frozenset[type[exp.Expr]] = frozenset({*_COMPARISONS, *_ARITHMETIC, *_TESTS})
_CONDITIONS = (*_COMPARISONS, *_TESTS, exp.Not, exp.And, exp.Or)


def check_read(node: exp.Expression) -> None:
    """DeclinedError where the node has something that the binder doesn't read."""
    known = _READ.get(type(node), _OPERANDS)
    unread = [k for k, v in node.args.items() if v and k not in known]
    if unread:
        raise DeclinedError(
            "expression_unsupported", f"Its {', '.join(unread)}: {node.sql(dialect='spark')[:80]}."
        )


def check_structure(node: exp.Expression) -> None:
    """DeclinedError where a clause has something that the binder doesn't read.

    `LIMIT 2 BY k` and `LIMIT 10 WITH TIES` are such; Spark has neither.
    """
    known = _CLAUSES[type(node)]
    unread = [k for k, v in node.args.items() if v and k not in known]
    if unread:
        raise DeclinedError(
            "block_unsupported", f"Its {', '.join(unread)}: {node.sql(dialect='spark')[:80]}."
        )


def check_operands(node: exp.Expression) -> None:
    """DeclinedError where an operand is a condition without parentheses.

    To Spark all comparisons bind alike, from the left, and tighter than IN, LIKE and BETWEEN:
    `a = b < c` is `(a = b) < c`, and `a = b IN (c)` is `(a = b) IN (c)`. To the parser they aren't.
    """
    if type(node) not in _BOUND_TIGHTER:
        return
    operands = [node.args.get(k) for k in ("this", "expression", "low", "high")]
    if any(isinstance(operand, _CONDITIONS) for operand in operands):
        raise DeclinedError(
            "expression_unsupported", f"Without parentheses: {node.sql(dialect='spark')[:80]}."
        )


def check_alias(condition: exp.Expression) -> None:
    """To Spark `FROM t WHERE (b)` is t under the alias WHERE, with its columns named anew."""
    if isinstance(condition, exp.Paren) and isinstance(
        condition.this, (exp.Column, exp.Boolean, exp.Null)
    ):
        raise DeclinedError("expression_unsupported", "A bare name in parentheses as condition.")
