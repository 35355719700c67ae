"""The functions, Spark's and ours, that the rewriter gives a meaning to, by their words.

The parser knows more words than Spark, and a session may register functions of its own under any
of them: so a call by another word declines, and these are watched while a session runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrite.functions.table import BY_WORD
from rewrite.parse.parse import parse, written_name
from rewrite.reason import DeclinedError

_OF_ROWS = (
    *(
        "any_value",
        "array_join",
        "array_size",
        "collect_set",
        "corr",
        "first",
        "last",
        "max_by",
        "median",
    ),
    *("min_by", "percentile", "percentile_cont", "size", "sort_array"),
)
"""Aggregates that are computed from a group's rows, and what is made of them."""
FUNCTIONS = (
    *BY_WORD,
    *_OF_ROWS,
    *("any", "approx_count_distinct", "approx_percentile", "avg", "bool_and"),
    *("bool_or", "boolean", "coalesce", "contains", "count", "count_if", "date"),
    *("date_trunc", "day", "dayofmonth", "dayofweek", "dayofyear", "double"),
    *("endswith", "every", "float", "grouping", "grouping_id", "hour", "if"),
    *("ifnull", "ilike", "int", "like", "max", "mean", "min", "minute", "mod"),
    *("month", "nullif", "nvl", "percentile_approx", "quarter", "regexp_like"),
    *("rlike", "second", "some", "startswith", "std", "stddev", "stddev_pop"),
    *("stddev_samp", "string", "sum", "timestamp", "to_date"),
    *("trunc", "var_pop", "var_samp", "variance", "weekofyear", "year"),
)
GRAMMAR = ("timestampadd",)
"""Words that Spark's grammar has calls by, and its registry no function."""
_BOUND = frozenset({*FUNCTIONS, *GRAMMAR})
OURS = ("has_token", "match")
"""Functions of our own, as long as the session has no others under these words."""
AGGREGATE_WORDS: dict[str, type[exp.Expression]] = {
    "any": exp.LogicalOr,
    "every": exp.LogicalAnd,
    "mean": exp.Avg,
    "some": exp.LogicalOr,
    "std": exp.Stddev,
}
"""Spark's words for aggregates that the parser has no aggregate for, and what they mean."""
_OF_TWO = frozenset({"ifnull", "nvl"})


def is_aggregate(node: exp.Expr) -> bool:
    """Whether the call is one of an aggregate, maybe of a window."""
    if isinstance(node, (exp.Anonymous, exp.Any)):
        return written_name(node) in AGGREGATE_WORDS
    return isinstance(node, (exp.AggFunc, exp.WithinGroup))


def aggregate_calls(item: exp.Expr) -> Iterator[exp.Expr]:
    """The calls of aggregates in it, those of windows too."""
    return filter(is_aggregate, item.find_all(exp.AggFunc, exp.Anonymous, exp.Any, exp.WithinGroup))


def has_aggregate_call(item: exp.Expr) -> bool:
    """Whether an aggregate is called in it.

    >>> [has_aggregate_call(parse(f"SELECT {call} FROM t").expressions[0])
    ...  for call in ("1 + mean(v)", "any(b)", "sum(v)", "upper(s)", "theirs(v)")]
    [True, True, True, False, False]
    """
    return any(True for _ in aggregate_calls(item))


def may_aggregate(item: exp.Expr) -> bool:
    """The same, or a function is called that isn't known, and may be a user's aggregate."""
    calls = item.find_all(exp.Anonymous)
    return has_aggregate_call(item) or any(
        written_name(call) not in OURS and written_name(call) not in BY_WORD for call in calls
    )


def constant_needles(tree: exp.Expression) -> Iterator[str]:
    """What `has_token` is asked for wherever that is a constant."""
    for call in tree.find_all(exp.Anonymous):
        args = call.expressions
        if written_name(call) != "has_token" or isinstance(call.parent, exp.Dot) or len(args) != 2:
            continue
        if isinstance(args[1], exp.Literal) and args[1].is_string and "\\" not in args[1].this:
            yield args[1].this


def calls_ours(sql: str) -> bool:
    """Whether a function of our own is called anywhere in the statement."""
    return any(written_name(call) in OURS for call in parse(sql).find_all(exp.Anonymous))


def check_word(node: exp.Expression) -> None:
    """DeclinedError where the node was called by a word of the parser's own, or as Spark refuses.

    What stands as an operator, or has a syntax of its own (CAST), has no such word.
    """
    word = node.meta_get("written")
    if word is None or (isinstance(node, exp.Anonymous) and word not in BY_WORD):
        return
    operands = 1 + len(node.expressions)
    if word not in _BOUND or (word in _OF_TWO and operands != 2):
        raise DeclinedError("expression_unsupported", f"The function {word}.")
