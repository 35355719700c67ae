"""Functions of numbers.

Spark rounds the shortest decimal text of a DOUBLE (`BigDecimal(x).setScale(n, HALF_UP)`), DuckDB
the product with a power of ten, which differs at ties.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewrite import types
from rewrite.functions.row import (
    RAISE,
    Arguments,
    Signature,
    SparkFunction,
    constant,
    number,
    same,
)

_DIGITS_MAX, _DIVISOR_MAX = 15, 2**40
_FAST = "1e12"
"""Below it a product with a power of ten is off by less than 0.001."""
_EXACT = "4e15"
"""Below it half steps between whole numbers are DOUBLEs."""
_WHOLE = "1e16"
"""From here on a DOUBLE has no digit behind the point."""


def _digits(args: Arguments) -> int:
    return number(args[1]) if len(args) > 1 else 0


def _is_few(args: Arguments) -> str | None:
    return args[0].type if -_DIGITS_MAX <= _digits(args) <= _DIGITS_MAX else None


def _rounded_double(args: Arguments, texts: Sequence[str]) -> str:
    """The multiple of the power of ten whose half step up isn't above the number, signless.

    That half step is the DOUBLE next to its decimal, since a quotient (or a product below 2^53) is
    rounded once. No two decimals of so few digits have one DOUBLE, so comparing DOUBLEs compares
    the texts.
    """
    x, digits = texts[0], _digits(args)
    power = f"1e{abs(digits)}::DOUBLE"
    to, back = ("*", "/") if digits >= 0 else ("/", "*")
    scaled = f"abs({x} {to} {power})"
    steps, half = f"floor({scaled})", f"(floor({scaled}) + 0.5::DOUBLE) {back} {power}"
    rounded = f"({steps} + CAST(abs({x}) >= {half} AS INTEGER)) {back} {power}"
    if digits >= 0:
        is_fast, has_digits = f"{scaled} < {_FAST}", f"abs({x}) < {_WHOLE}"
        exact = f"CAST(CAST({x} AS VARCHAR) AS DECIMAL(38,{digits}))"
        slow = f"CAST(CAST({exact} AS VARCHAR) AS DOUBLE)"
    else:
        is_fast, has_digits, slow = f"abs({x}) < {_EXACT}", f"isfinite({x})", RAISE
    return (
        f"(CASE WHEN {is_fast} THEN sign({x}) * ({rounded}) + 0::DOUBLE "
        f"WHEN ({has_digits}) IS NOT TRUE THEN {x} ELSE {slow} END)"
    )


def _rounded_decimal_type(args: Arguments) -> str | None:
    parts, digits = types.decimal_parts(args[0].type), _digits(args)
    if parts is None or digits < 0:
        return None
    scale = min(parts[1], digits)
    return types.decimal_type(parts[0] - parts[1] + 1 + scale, scale)


def _rounded_decimal(args: Arguments, texts: Sequence[str]) -> str:
    return f"CAST({texts[0]} AS {(_rounded_decimal_type(args) or '').upper()})"


def _kept_whole(args: Arguments) -> str | None:
    return args[0].type if _digits(args) >= 0 else None


def _rounded_whole_type(args: Arguments) -> str | None:
    return args[0].type if -9 <= _digits(args) < 0 else None


def _rounded_whole(args: Arguments, texts: Sequence[str]) -> str:
    power = 10 ** -_digits(args)
    wide = f"CAST({texts[0]} AS HUGEINT)"
    half = f"CASE WHEN {texts[0]} < 0 THEN -{power // 2} ELSE {power // 2} END"
    target = "INTEGER" if args[0].type == "int" else "BIGINT"
    return f"CAST((({wide} + {half}) // {power}) * {power} AS {target})"


def _no_fraction(args: Arguments) -> str | None:
    parts = types.decimal_parts(args[0].type)
    return None if parts is None else types.decimal_type(parts[0] - parts[1] + 1, 0)


def _ceiled(function: str) -> tuple[Signature, ...]:
    def decimal(args: Arguments, texts: Sequence[str]) -> str:
        return f"CAST({function}({texts[0]}) AS {(_no_fraction(args) or '').upper()})"

    return (
        Signature(("whole",), "bigint", "CAST({0} AS BIGINT)"),
        Signature(("double",), "bigint", f"CAST({function}({{0}}) AS BIGINT)"),
        Signature(("decimal",), _no_fraction, decimal),
    )


def _remainder_type(args: Arguments) -> str | None:
    """The wider type of both; a divisor below 1 is Spark's."""
    wide = "bigint" if "bigint" in (args[0].type, args[1].type) else "int"
    return wide if 0 < number(args[1]) <= _DIVISOR_MAX else None


def _remainder(args: Arguments, texts: Sequence[str]) -> str:
    """Java's remainder of a negative number is negative, and made positive."""
    value, divisor = f"CAST({texts[0]} AS BIGINT)", texts[1]
    text = f"((({value} % {divisor}) + {divisor}) % {divisor})"
    return f"CAST({text} AS {'BIGINT' if _remainder_type(args) == 'bigint' else 'INTEGER'})"


def _is_two(args: Arguments) -> str | None:
    return "double" if float(constant(args[1]) or "0") == 2 else None


def _extreme(function: str) -> tuple[Signature, ...]:
    """`greatest` or `least`: of equal values, as are zeros of both signs, the first one."""

    def gives(args: Arguments) -> str | None:
        kinds = {arg.type for arg in args}
        if len(args) < 2:
            return None
        if len(kinds) == 1:
            (only,) = kinds
            known = ("string", "date", "boolean", "double", *types.EXACT, *types.TIMESTAMPS)
            return only if only in known or types.decimal_parts(only) else None
        if kinds <= set(types.EXACT):
            return "bigint"
        doubles = all(arg.type == "double" or types.widens(arg.type, "double") for arg in args)
        return "double" if "double" in kinds and doubles else None

    def writes(args: Arguments, texts: Sequence[str]) -> str:
        type_ = gives(args)
        if type_ != "double":
            shown = f"CAST({{}} AS {type_.upper()})" if type_ in types.EXACT else "{}"
            return f"{function}({', '.join(map(shown.format, texts))})"
        doubles = [f"CAST({text} AS DOUBLE)" for text in texts]
        found = f"{function}({', '.join(doubles)})"
        zeros = " ".join(f"WHEN {one} = 0 THEN {one}" for one in doubles)
        return f"(CASE WHEN {found} = 0 THEN CASE {zeros} END ELSE {found} END)"

    return (Signature(("any",), gives, writes, repeats=True),)


NUMBERS = (
    SparkFunction(
        "abs",
        (
            Signature(("whole",), same, "abs({0})", raises=True),
            Signature(("double",), same, "abs({0})"),
            Signature(("decimal",), same, "abs({0})"),
        ),
        nodes=("Abs",),
    ),
    SparkFunction(
        "round",
        (
            *(Signature(takes, _kept_whole, "{0}") for takes in (("whole",), ("whole", "=int"))),
            Signature(("whole", "=int"), _rounded_whole_type, _rounded_whole, raises=True),
            *(
                form
                for more in ((), ("=int",))
                for form in (
                    Signature(("double", *more), _is_few, _rounded_double),
                    Signature(("decimal", *more), _rounded_decimal_type, _rounded_decimal),
                )
            ),
        ),
        nodes=("Round",),
        slots=("this", "decimals"),
        behind=", 0",
    ),
    SparkFunction(
        "ceil",
        _ceiled("ceil"),
        words=("ceil", "ceiling"),
        nodes=("Ceil",),
        named=(("ceil", "CEIL"),),
    ),
    SparkFunction("floor", _ceiled("floor"), nodes=("Floor",), named=(("floor", "FLOOR"),)),
    SparkFunction(
        "sign",
        (
            Signature(("whole",), "double", "CAST(sign({0}) AS DOUBLE)"),
            Signature(("decimal",), "double", "CAST(sign({0}) AS DOUBLE)"),
            Signature(
                ("double",),
                "double",
                "CASE WHEN isnan({0}) OR {0} = 0 THEN {0} ELSE CAST(sign({0}) AS DOUBLE) END",
            ),
        ),
        words=("sign", "signum"),
        nodes=("Sign",),
        named=(("signum", "SIGNUM"),),
    ),
    SparkFunction("pmod", (Signature(("whole", "=whole"), _remainder_type, _remainder),)),
    SparkFunction(
        "sqrt",
        (Signature(("as double",), "double", "sqrt(CAST({0} AS DOUBLE))"),),
        nodes=("Sqrt",),
        named=(("sqrt", "SQRT"),),
    ),
    SparkFunction(
        "power",
        (
            Signature(
                ("as double", "=as double"),
                _is_two,
                "(CAST({0} AS DOUBLE) * CAST({0} AS DOUBLE))",
            ),
        ),
        words=("power", "pow"),
        nodes=("Pow",),
        named=(("power", "POWER"),),
        slots=("this", "expression"),
    ),
    *(
        SparkFunction(
            function,
            _extreme(function),
            nodes=(function.title(),),
            slots=("this", "expressions"),
            flags=frozenset({"ignore_nulls"}),
        )
        for function in ("greatest", "least")
    ),
)
