"""`UNNEST(sequence(a, b, INTERVAL …))` in FROM, as Cube writes a series of days, in Spark SQL.

Both ends are constants, since Trino raises beyond 10,000 values and Spark doesn't: so the values
are counted here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from sqlglot import exp

from rewrite.dialects.rule import Context, Rule, UnsureMeaningError, spark
from rewrite.dialects.trino.timestamps_with_zone import is_in_utc

PARTS: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.Unnest: ("expressions", "alias"),
    exp.GenerateSeries: ("start", "end", "step"),
}
_VALUES_MAX = 10_000
_DIGITS_MAX = 9
_CONSTANT = re.compile(r"(?:DATE|TIMESTAMP|TIMESTAMP_NTZ) '([0-9:. -]+)(?:Z|\+00:00)?'")
_MONTHS = {"MONTH": 1, "YEAR": 12}
_SECONDS = {"DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}


def _series(node: exp.Expr, context: Context) -> exp.Expression:
    """The values as rows of a subquery."""
    values, alias = node.expressions, node.args.get("alias") or exp.TableAlias()
    names = alias.args.get("columns") or []
    if len(values) != 1 or not isinstance(values[0], exp.GenerateSeries) or len(names) != 1:
        raise UnsureMeaningError("only one sequence, with a name for its column, is")
    start, end, step = (values[0].args[part] for part in ("start", "end", "step"))
    kind = context.of(start)
    if (
        kind not in ("date", "local")
        or context.of(end) != kind
        or not _is_short(start, end, step, kind)
    ):
        raise UnsureMeaningError(
            "only constant dates or times, with a constant interval between, are",
            f"write both ends as constants, for up to {_VALUES_MAX} values",
        )
    call = spark("EXPLODE(SEQUENCE(:a, :b, :i))", kind, a=start, b=end, i=step)
    select = exp.Select(expressions=[exp.Alias(this=call, alias=names[0].copy())])
    return exp.Subquery(this=select, alias=exp.TableAlias(this=alias.this.copy()))


def _sequence(node: exp.Expr, context: Context) -> None:
    """Checks that UNNEST, whose rule writes the sequence, is around it."""
    step = node.args.get("step")
    if not isinstance(node.parent, exp.Unnest) or not isinstance(step, exp.Interval):
        raise UnsureMeaningError("only sequences with an interval in UNNEST of FROM are")
    if not is_in_utc(context):
        raise UnsureMeaningError("only sequences in a session in UTC are")


def _is_short(start: exp.Expr, end: exp.Expr, step: exp.Expr, kind: str) -> bool:
    """Returns whether both engines have the same values from one constant to the other."""
    first, last = _clock(start), _clock(end)
    number, name = step.this.name, str(step.args["unit"].name).upper()
    if first is None or last is None or not number.isdecimal() or len(number) > _DIGITS_MAX:
        return False
    count = int(number)
    if last < first or count == 0:
        return False
    if name in _MONTHS:
        months = (last.year - first.year) * 12 + last.month - first.month
        return months // (count * _MONTHS[name]) < _VALUES_MAX
    seconds = count * _SECONDS.get(name, 0)
    if not seconds or (kind == "date" and name != "DAY"):
        return False
    return (last - first).total_seconds() // seconds < _VALUES_MAX


def _clock(node: exp.Expr) -> datetime | None:
    """The time that a translated constant is."""
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    found = _CONSTANT.fullmatch(node.name) if isinstance(node, exp.Var) else None
    try:
        return None if found is None else datetime.fromisoformat(found[1])
    except ValueError:
        return None


RULES: Mapping[type[exp.Expr], Rule] = {
    exp.Unnest: _series,
    exp.GenerateSeries: _sequence,
}
