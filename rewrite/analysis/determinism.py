"""Whether a query has one right answer, or Spark itself could give another one at another time.

Only what is known to be determined counts as such: a function that isn't known, a choice among rows
that tie inside the query, and the drawing of rows each leave the answer open. What LIMIT leaves
of the whole query's rows is told apart (`uncut`): without it the answer may well be determined.
Last digits of floating sums, and estimates, are for others to judge.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from sqlglot import exp

from rewrite.bind.calls.known_words import FUNCTIONS, GRAMMAR, OURS
from rewrite.client import SPARK
from rewrite.identifiers.quoting import unexpanded
from rewrite.parse.bounds import tree_of
from rewrite.parse.parse import written_name

_ESTIMATES = frozenset({"approx_count_distinct", "approx_percentile", "percentile_approx"})
_OF_PLACES = frozenset(
    {"row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"}
)
"""Window functions that tell rows apart which tie."""
_OF_PEERS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
_OTHERS = (
    *("abs", "ceil", "ceiling", "floor", "greatest", "least", "length", "ltrim", "nullif", "nvl2"),
    *("replace", "round", "rtrim", "sign", "trim", "date_add", "date_sub", "datediff"),
)
_BY_ORDER = frozenset({"any_value", "collect_set", "first", "last", "max_by", "min_by"})
"""Aggregates that may give the value of any of several rows."""
_KNOWN = (
    frozenset({*FUNCTIONS, *GRAMMAR, *OURS, *_OF_PLACES, *_OF_PEERS, *_OTHERS})
    - _ESTIMATES
    - _BY_ORDER
)
_WITHOUT_WORD = (
    *(exp.Case, exp.Cast, exp.Ceil, exp.Connector, exp.Exists, exp.Extract, exp.Floor, exp.If),
    *(exp.RegexpLike, exp.StrPosition, exp.Substring, exp.Trim, exp.TsOrDsToDate),
)
"""What is determined, and of which the tree doesn't tell the word, or that has none."""
_CUTS = (exp.Limit, exp.Fetch, exp.Offset)
KEY = "acc_key_"
"""Names of sort keys that were made outputs begin so."""


class Uncut(Struct, frozen=True):
    """A query without its order and limit, and its sort keys as outputs.

    `keys` are the places of those that it gives by itself, None for one that it doesn't.
    """

    sql: str
    keys: tuple[int | None, ...]


def undetermined(tree: exp.Expression, *, estimates: bool = False) -> str | None:
    """The sentence of what leaves the answer open, a limit of the whole aside; None for nothing.

    With `estimates` that's also a function that estimates.

    >>> from rewrite.parse.parse import parse
    >>> undetermined(parse("SELECT a FROM t ORDER BY a LIMIT 3"))
    >>> undetermined(parse("SELECT max(a) FROM (SELECT a FROM t LIMIT 3)"))
    'A LIMIT inside chooses among rows.'
    """
    whole = _whole(tree)
    for node in tree.walk():
        if isinstance(node, exp.TableSample):
            return "TABLESAMPLE draws rows."
        if isinstance(node, _CUTS) and node.parent is not whole:
            return "A LIMIT inside chooses among rows."
        if isinstance(node, exp.Window) and not _is_determined(node):
            return "The order of a window isn't total."
        if isinstance(node, exp.Func):
            word = _word(node)
            known = isinstance(node, _WITHOUT_WORD) if word is None else word in _KNOWN
            if not known and (estimates or not _is_estimate(node, word)):
                return f"The function {word or node.sql_name().lower()} may give something else."
    return None


def _is_estimate(node: exp.Expr, word: str | None) -> bool:
    return isinstance(node, exp.ApproxQuantile) or word in _ESTIMATES


def _word(node: exp.Expr) -> str | None:
    return written_name(node) if isinstance(node, exp.Expression) else None


def is_cut(tree: exp.Expression) -> bool:
    """Whether the whole query has a LIMIT or OFFSET."""
    whole = _whole(tree)
    return any(whole.args.get(key) is not None for key in ("limit", "offset"))


def uncut(tree: exp.Expression) -> Uncut:
    """The query without its LIMIT, OFFSET and ORDER BY, with its sort keys as further columns.

    >>> from rewrite.parse.parse import parse
    >>> uncut(parse("SELECT a FROM t GROUP BY a ORDER BY max(b), a LIMIT 3")).sql
    'SELECT a, MAX(b) AS acc_key_0 FROM t GROUP BY a'
    """
    copied = tree.copy()
    whole = _whole(copied)
    order = whole.args.get("order")
    places: list[int | None] = []
    for number, item in enumerate(order.expressions if order is not None else ()):
        place = _place(whole, item.this)
        places.append(place)
        if place is not None:
            continue
        if isinstance(whole, exp.Select) and not whole.args.get("distinct") and _is_key(item):
            key = tree_of(f"{item.this.sql(SPARK)} AS {KEY}{number}", SPARK)
            whole.append("expressions", key)
    for part in ("limit", "offset", "order"):
        whole.set(part, None)
    return Uncut(unexpanded(copied.sql(SPARK)), tuple(places))


def _is_key(item: exp.Expression) -> bool:
    """Whether a sort key is an expression, neither a place among the outputs nor ALL."""
    return not isinstance(item.this, exp.Literal) and item.this.name.lower() != "all"


def _place(whole: exp.Expression, key: exp.Expression) -> int | None:
    """Where a sort key stands among the outputs; None where it doesn't, or that isn't known."""
    first = whole
    while isinstance(first, exp.SetOperation):
        first = first.this
    outputs = first.expressions if isinstance(first, exp.Select) else []
    if not outputs or any(one.is_star for one in outputs):
        return None
    if isinstance(key, exp.Literal):
        return int(key.this) - 1 if not key.is_string and key.this.isdigit() else None
    if isinstance(key, exp.Column) and not key.table:
        names = [one.alias_or_name.lower() for one in outputs]
        return names.index(key.name.lower()) if names.count(key.name.lower()) == 1 else None
    same = (n for n, one in enumerate(outputs) if one.unalias() == key)
    return next(same, None)


def _whole(tree: exp.Expression) -> exp.Expression:
    """The query without parentheses around it."""
    while isinstance(tree, exp.Subquery) and not any(tree.args.get(k) for k in ("limit", "order")):
        tree = tree.this
    return tree


def _is_determined(window: exp.Window) -> bool:
    """Whether rows that tie in its order can't change it, or none do."""
    call = window.this
    if isinstance(call, (exp.IgnoreNulls, exp.RespectNulls)):
        call = call.this
    word = _word(call) if isinstance(call, exp.Func) else None
    spec = window.args.get("spec")
    by_place = word in _OF_PLACES
    by_rows = spec is not None and str(spec.args.get("kind", "")).upper() == "ROWS"
    if word in _OF_PEERS or not (by_place or by_rows):
        return True
    select = window.find_ancestor(exp.Select)
    group = select.args.get("group") if select is not None else None
    if group is None or any(group.args.get(k) for k in ("rollup", "cube", "grouping_sets", "all")):
        return False
    keys = group.expressions
    told = [*(window.args.get("partition_by") or ()), *_sorted_by(window)]
    # A bare number is a place among the outputs in GROUP BY, and a constant in a window.
    return bool(keys) and all(key in told and not isinstance(key, exp.Literal) for key in keys)


def _sorted_by(window: exp.Window) -> Iterator[exp.Expression]:
    order = window.args.get("order")
    for item in order.expressions if order is not None else ():
        yield item.this
