"""Trino's functions of numbers as Spark SQL: logarithms, rounded doubles, extremes of a row.

Where Trino gives NaN or an infinity, Spark gives NULL or raises; where Trino rounds a double as it
is, Spark rounds its digits.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewrite.dialects.rule import Context, Rule, UnsureMeaningError, spark

PARTS: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.Log: ("this", "expression"),
    exp.Pow: ("this", "expression"),
    exp.Atan2: ("this", "expression"),
    **dict.fromkeys((exp.Ln, exp.Sqrt, exp.Cbrt, exp.Exp, exp.IsNan), ("this",)),
    **dict.fromkeys((exp.Sin, exp.Cos, exp.Tan, exp.Asin, exp.Acos, exp.Atan), ("this",)),
    **dict.fromkeys((exp.Degrees, exp.Radians), ("this",)),
    **dict.fromkeys((exp.Greatest, exp.Least), ("this", "expressions")),
    exp.Pi: (),
    exp.Round: ("this", "decimals"),
}
_NUMBERS = ("whole", "decimal", "double", "real")
_EXACT = ("whole", "decimal")
_ORDERED = ("whole", "decimal", "string", "date", "local", "moment")
_SECONDS = "seconds"
"""The key in the `meta` of seconds of a time."""
_STEP = "step"
"""The key in the `meta` of whole parts of such seconds of what they are divided by."""
_DIGITS_MAX = 15
_EXACT_END = 1 << 52
"""Doubles from here on are whole."""
_BOTH = ("this", "expression")
_SIDES = ("this", "expression", "low", "high")
_VALUED = (exp.Column, exp.Literal, exp.Func, exp.Binary, exp.Subquery)
"""What has a kind of its own, so that all of an expression is a decimal where all of these are."""


def _logarithm(function: str, node: exp.Expr, context: Context) -> exp.Expression:
    """Of zero it's the least double, of less NaN; Spark's is NULL."""
    _check_number(node, context)
    return spark(
        f"COALESCE({function}(CAST(:x AS DOUBLE)), CASE WHEN :x = 0 THEN"
        " CAST('-Infinity' AS DOUBLE) WHEN :x < 0 THEN CAST('NaN' AS DOUBLE) END)",
        "double",
        x=node,
    )


def _log(node: exp.Expr, context: Context) -> exp.Expression:
    written = str(node.meta_get("written") or "")
    if written in ("log10", "log2"):
        return _logarithm(written.upper(), node.args["expression"], context)
    base = node.args["this"]
    known = isinstance(base, exp.Literal) and not base.is_string
    if not known or not float(base.name) > 0 or float(base.name) == 1:
        raise UnsureMeaningError("only constant bases above 0 other than 1 are")
    found = _logarithm("LN", node.args["expression"], context)
    return spark(":x / LN(CAST(:b AS DOUBLE))", "double", x=found, b=base)


def _ln(node: exp.Expr, context: Context) -> exp.Expression:
    return _logarithm("LN", node.args["this"], context)


def _of_doubles(name: str) -> Rule:
    """Functions that are Java's in both, of one double."""

    def rule(node: exp.Expr, context: Context) -> exp.Expression:
        _check_number(node.args["this"], context)
        return spark(f"{name}(CAST(:x AS DOUBLE))", "double", x=node.args["this"])

    return rule


def _of_two_doubles(name: str) -> Rule:
    def rule(node: exp.Expr, context: Context) -> exp.Expression:
        for operand in (node.args["this"], node.args["expression"]):
            _check_number(operand, context)
        return spark(
            f"{name}(CAST(:x AS DOUBLE), CAST(:y AS DOUBLE))",
            "double",
            x=node.args["this"],
            y=node.args["expression"],
        )

    return rule


def _check_number(node: exp.Expr, context: Context) -> None:
    if context.of(node) not in _NUMBERS:
        raise UnsureMeaningError("whether it's of a number isn't known", "CAST it AS DOUBLE")


def _pi(_: exp.Expr, __: Context) -> exp.Expression:
    return spark("PI()", "double")


def _round(node: exp.Expr, context: Context) -> exp.Expression | None:
    """Of decimals the value is the same; doubles are multiplied, rounded half up and divided."""
    digits = node.args.get("decimals")
    if digits is not None and not (isinstance(digits, exp.Literal) and digits.name.isdigit()):
        raise UnsureMeaningError("only constant numbers of digits are")
    if _is_exact(node.args["this"], context):
        return None
    number = 0 if digits is None else int(digits.name)
    if context.of(node.args["this"]) != "double" or number > _DIGITS_MAX:
        raise UnsureMeaningError(
            "only decimals and doubles are surely rounded alike",
            "CAST it AS DECIMAL(p, s), or AS DOUBLE",
        )
    factor, end = f"1e{number}", f"{_EXACT_END / 10**number!r}"
    end = end if "e" in end else f"{end}e0"
    times, by = (f" * {factor}", f" / {factor}") if number else ("", "")
    return spark(
        f"CASE WHEN :x < 0 AND :x > -{end} THEN -(ROUND(-:x{times}, 0){by})"
        f" WHEN :x >= 0 AND :x < {end} THEN ROUND(:x{times}, 0){by} ELSE :x END",
        "double",
        x=node.args["this"],
    )


def _is_exact(node: exp.Expr, context: Context) -> bool:
    """Returns whether all values are integers and decimals; conditions and counted ones aside."""

    def is_aside(one: exp.Expr) -> bool:
        return isinstance(one, (exp.Count, exp.CountIf)) or context.of(one) == "boolean"

    values = [one for one in node.walk(prune=is_aside) if isinstance(one, _VALUED)]
    return all(context.of(one) in (*_EXACT, "boolean") for one in values)


def _is_nan(node: exp.Expr, context: Context) -> exp.Expression:
    """Of NULL it's NULL."""
    _check_number(node.args["this"], context)
    x = node.args["this"]
    return spark("CASE WHEN :x IS NOT NULL THEN ISNAN(CAST(:x AS DOUBLE)) END", "boolean", x=x)


def _whole_up(node: exp.Expr, context: Context) -> exp.Expression | None:
    """`ceil` of a double is a double; from -1 to 0 it is -0.0."""
    return _whole(node, context, "CASE WHEN :x > -1e0 AND :x < 0e0 THEN -0e0 ELSE {} END", "CEIL")


def seconds(node: exp.Expression) -> exp.Expression:
    """The same, noted to be seconds of a time, which are less than 2^43 and no NaN."""
    node.meta[_SECONDS] = True
    return node


def is_step(node: exp.Expr) -> bool:
    """Returns whether it's a whole number of seconds: `floor(seconds / 60) * 60`, or no 60."""
    product = node.unnest()
    if not isinstance(product, exp.Mul):
        return bool(product.meta_get(_STEP) == "1")
    number, step = product.expression, product.this.unnest().meta_get(_STEP)
    return isinstance(number, exp.Literal) and bool(step == number.name)


def _step_of(node: exp.Expr) -> str | None:
    """Returns the constant that divides a time's seconds; None if it's something else."""
    quotient = node.unnest()
    if quotient.meta_get(_SECONDS):
        return "1"
    if not isinstance(quotient, exp.Div) or not quotient.this.unnest().meta_get(_SECONDS):
        return None
    number = quotient.expression
    is_whole = isinstance(number, exp.Literal) and not number.is_string and number.name.isdigit()
    return number.name if is_whole and number.name.strip("0") else None


def _whole_down(node: exp.Expr, context: Context) -> exp.Expression | None:
    """`floor`; the seconds of a time, and parts of them, are in the range of a BIGINT."""
    step = _step_of(node.args["this"])
    if step is not None:
        found = spark("CAST(FLOOR(:x) AS DOUBLE)", "double", x=node.args["this"])
        found.meta[_STEP] = step
        return found
    return _whole(node, context, "{}", "FLOOR")


def _whole(node: exp.Expr, context: Context, form: str, name: str) -> exp.Expression | None:
    """Doubles stay doubles: Spark makes a BIGINT of them, which ends at 2^63 and has no NaN."""
    kind = context.of(node.args["this"])
    if kind not in ("double", "real"):
        return None
    type_ = "DOUBLE" if kind == "double" else "FLOAT"
    end = f"{_EXACT_END!r}e0"
    kept = f"CASE WHEN :x <> 0e0 AND ABS(:x) < {end} THEN CAST({name}(:x) AS {type_}) ELSE :x END"
    text = form.format(kept)
    if kind == "real" and text != kept:
        text = f"CAST({text} AS FLOAT)"
    return spark(text, kind, x=node.args["this"])


def _single(node: exp.Expr, context: Context) -> exp.Expression | None:
    """`sum` and `avg` of REALs are REALs, of doubles in between."""
    if context.of(node.args["this"]) != "real":
        return None
    inner = node.copy()
    return spark("CAST(:s AS FLOAT)", "real", s=inner)


def beside_real(node: exp.Expr, context: Context) -> exp.Expression | None:
    """Integers and decimals beside a REAL become REALs; to Spark both become doubles."""
    parts = [one for one in _SIDES if node.args.get(one) is not None]
    kinds = {context.of(node.args[part]) for part in parts}
    listed = node.expressions if isinstance(node, exp.In) else []
    kinds |= {context.of(one) for one in listed} | {context.of(node.args.get("query"))}
    if "real" not in kinds or not kinds & set(_EXACT):
        return None
    if node.args.get("query") is not None:
        raise UnsureMeaningError("REAL beside other numbers of a query", "CAST them AS DOUBLE")

    def single(one: exp.Expr) -> exp.Expr:
        is_exact = context.of(one) in _EXACT
        return spark("CAST(:x AS FLOAT)", "real", x=one) if is_exact else one

    for part in parts:
        node.set(part, single(node.args[part]))
    if listed:
        node.set("expressions", [single(one) for one in listed])
    return None


def _divided(node: exp.Expr, context: Context) -> exp.Expression | None:
    """A REAL divided by a REAL is one."""
    beside_real(node, context)
    if {context.of(node.args[part]) for part in _BOTH} - {"nothing"} != {"real"}:
        return None
    return spark("CAST(:x / :y AS FLOAT)", "real", x=node.args["this"], y=node.args["expression"])


def extreme(node: exp.Expr, context: Context) -> exp.Expression:
    """`greatest` and `least` are NULL where one operand is; NaN is neither in each."""
    operands = [node.args["this"], *node.expressions]
    kinds = {context.of(one) for one in operands}
    alike = len(kinds) == 1 or kinds <= set(_EXACT)
    if not alike or not kinds <= set(_ORDERED):
        raise UnsureMeaningError("operands of one kind are alone, which have no NaN")
    name = "GREATEST" if isinstance(node, exp.Greatest) else "LEAST"
    names = {f"x{at}": one for at, one in enumerate(operands)}
    present = " AND ".join(f":{name} IS NOT NULL" for name in names)
    listed = ", ".join(f":{name}" for name in names)
    kind = kinds.pop() if len(kinds) == 1 else "decimal"
    zone = context.zones.of(operands[0]) if kind == "moment" else None
    return spark(f"CASE WHEN {present} THEN {name}({listed}) END", kind or "other", zone, **names)


def finite(node: exp.Expr, context: Context) -> exp.Expression:
    """`is_finite`: NaN is above every number."""
    [x] = node.expressions
    _check_number(x, context)
    return spark("ABS(:x) < CAST('Infinity' AS DOUBLE)", "boolean", x=x)


def infinite(node: exp.Expr, context: Context) -> exp.Expression:
    """`is_infinite`."""
    [x] = node.expressions
    _check_number(x, context)
    return spark("ABS(:x) = CAST('Infinity' AS DOUBLE)", "boolean", x=x)


RULES: Mapping[type[exp.Expr], Rule] = {
    exp.Ceil: _whole_up,
    exp.Floor: _whole_down,
    exp.Div: _divided,
    **dict.fromkeys((exp.Mul, exp.Mod), beside_real),
    **dict.fromkeys((exp.Sum, exp.Avg), _single),
    exp.Log: _log,
    exp.Ln: _ln,
    exp.Pi: _pi,
    exp.Round: _round,
    exp.IsNan: _is_nan,
    exp.Greatest: extreme,
    exp.Least: extreme,
    exp.Pow: _of_two_doubles("POWER"),
    exp.Atan2: _of_two_doubles("ATAN2"),
    **{
        type_: _of_doubles(type_.__name__.upper())
        for type_ in (
            *(exp.Sqrt, exp.Cbrt, exp.Exp, exp.Sin, exp.Cos, exp.Tan),
            *(exp.Asin, exp.Acos, exp.Atan, exp.Degrees, exp.Radians),
        )
    },
}
