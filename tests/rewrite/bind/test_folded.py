"""Statements that Spark may fail inside for are left to it; what is no such value isn't.

What plain Spark does with each kind stands in `plain_pruning.slt`.
"""

from __future__ import annotations

import pytest

from rewrite.bind.null_folding import check_folded
from rewrite.ir.expr import Aggregate, Call, Column, Expr, Literal, Parameter
from rewrite.reason import DeclinedError
from tests.cubes.star import block

NULL = Literal("NULL", "void")


def column(type_: str) -> Column:
    return Column(0, 1, "c", type_)


def call(op: str, *args: Expr) -> Call:
    return Call(op, args, "boolean")


def declines(*conditions: Expr, computed: tuple[Expr, ...] = ()) -> bool:
    try:
        check_folded(conditions, computed)
    except DeclinedError as error:
        assert error.declined.code == "folded_null"
        return True
    return False


@pytest.mark.parametrize(
    ("type_", "constant", "equal", "order"),
    [
        ("int", Literal("1.5", "decimal(2,1)"), True, False),
        ("int", Literal("1.0", "decimal(2,1)"), False, False),
        ("int", Literal("3000000000", "bigint"), True, True),
        ("int", Literal("2147483647", "bigint"), False, True),
        ("int", Literal("-2147483648", "bigint"), False, True),
        ("int", Literal("7", "bigint"), False, False),
        ("int", Literal("7", "int"), False, False),
        ("int", Literal("1e300", "double"), True, True),
        ("bigint", Literal("7", "int"), False, False),
        ("bigint", Literal("9223372036854775808", "decimal(19,0)"), True, True),
        ("decimal(5,2)", Literal("1.25", "decimal(3,2)"), False, False),
        ("decimal(5,2)", Literal("1.234", "decimal(4,3)"), True, False),
        ("decimal(5,2)", Literal("1000", "int"), True, True),
        ("decimal(38,0)", Literal("1.5", "decimal(2,1)"), True, False),
        ("float", Literal("1.5", "double"), True, True),
        ("double", Literal("1.5", "double"), False, False),
        ("date", Literal("2020-01-01 12:00:00", "timestamp"), True, True),
        ("string", Literal("a", "string"), False, False),
        ("int", Parameter(0, "int"), False, False),
        ("int", Parameter(0, "decimal(2,1)"), True, True),
        ("bigint", Parameter(0, "int"), False, False),
        ("int", NULL, False, False),
    ],
)
def test_a_constant_beside_what_the_type_holds(
    type_: str, constant: Expr, equal: bool, order: bool
) -> None:
    for op, fails in (("=", equal), ("<>", equal), ("in", equal), ("<", order), (">=", order)):
        for args in ((column(type_), constant), (constant, column(type_))):
            test = call(op, *args)
            assert not declines(test)
            assert not declines(call("or", call("not", test), column("boolean")))
            assert declines(call("is_null", test)) is fails, (op, args)
            assert declines(computed=(test,)) is fails


def test_lists_of_which_a_part_is_beside() -> None:
    """Spark takes out of IN what no value of the type is: `i IN (1, 3000000000)` is `i = 1`."""
    c, one, two = column("int"), Literal("1", "int"), Literal("2", "bigint")
    beside = [Literal("3000000000", "bigint"), Literal("1.5", "decimal(2,1)")]
    for constants in ((one, *beside), (beside[0], one), (one, two, beside[1]), (one, NULL)):
        test = call("in", c, *constants)
        assert not declines(call("is_null", test)) and not declines(computed=(test,))
        flag = call("case", test, Literal("true", "boolean"), Literal("false", "boolean"))
        assert not declines(flag) and not declines(call("not", flag))
    assert declines(call("is_null", call("in", c, *beside)))
    assert declines(call("is_null", call("in", c, Parameter(0, "bigint"))))
    for other in (call("<>", c, one), call("not", call("in", c, one))):
        assert declines(call("is_null", call("and", call("in", c, beside[0], one), other)))
    pair = call("and", call("in", c, one, two, beside[0]), call("not", call("in", c, one, two)))
    assert declines(call("is_null", pair))
    assert declines(call("=", c, beside[0]), call("is_null", call("in", c, one, beside[1])))


def test_below_casts() -> None:
    wide = Call("cast", (column("int"), Literal("bigint", "type")), "bigint")
    assert declines(call("is_null", call("=", wide, Literal("3000000000", "bigint"))))
    assert not declines(call("is_null", call("=", wide, Literal("3", "bigint"))))


def test_conditions_of_case() -> None:
    test = call("=", column("int"), Literal("1.5", "decimal(2,1)"))
    one, two = Literal("1", "int"), Literal("2", "int")
    shown = Call("case", (test, one, two), "int")
    assert not declines(computed=(shown, Aggregate("sum", (shown,), False, None, "bigint")))
    assert declines(call("=", shown, two))  # Spark compares in its branches
    assert not declines(call("case", test, column("boolean"), column("boolean")))
    assert declines(call("case", column("boolean"), test, column("boolean")))
    assert declines(computed=(Call("case", (column("boolean"), test, NULL), "boolean"),))


def test_a_condition_that_spark_compares_with_true() -> None:
    """Spark makes `NOT (c <=> TRUE)` of `if(c, FALSE, TRUE)`, even if it simplifies first."""
    test = call("=", column("int"), Literal("2147483648", "bigint"))
    b, s = column("boolean"), column("string")
    true, false = Literal("true", "boolean"), Literal("false", "boolean")
    present = call("not", call("is_null", s))
    for given in (
        (false, true),
        (true, false),
        (present, false),
        (call("or", b, true), call("and", b, false)),
        (call("=", s, s), false),
        (call("or", present, true), call("case", b, true, true)),
    ):
        case = call("case", test, *given)
        assert not declines(call("case", b, true, test, *given)), given
        assert declines(case), given
        assert declines(call("not", case)) and declines(call("or", b, case))
        assert not declines(computed=(case, call("case", case, b, b))), given
    for branches in ((b, true), (true, b), (b, b), (false, call("=", s, Literal("a", "string")))):
        assert not declines(call("case", test, *branches)), branches
        denied = call("not", call("case", test, *branches))  # its conditions are values
        assert declines(denied) and declines(call("and", call("not", call("or", b, denied)), b))
    in_range = call("=", column("int"), Literal("5", "int"))
    assert not declines(call("not", call("case", in_range, b, true)))
    assert not declines(call("case", in_range, false, true))
    assert declines(call("case", call("and", b, NULL), false, true))
    assert declines(call("case", call("case", test, false, true), b, true))


def test_arguments_of_aggregates() -> None:
    test = call("or", column("boolean"), NULL)
    assert declines(computed=(Aggregate("max", (test,), False, None, "boolean"),))
    assert not declines(
        computed=(Aggregate("count", (Literal("1", "int"),), False, test, "bigint"),)
    )


def test_many_terms() -> None:
    terms = [call("=", column("int"), Literal(str(i), "int")) for i in range(5000)]
    assert not declines(call("is_null", call("or", *terms)))
    assert declines(call("is_null", call("or", *terms, NULL)))


def test_a_test_beside_its_denial() -> None:
    b, k, five = column("boolean"), column("int"), Literal("5", "int")
    for pair in (
        (b, call("not", b)),
        (call("<", k, five), call(">=", k, five)),
        (call("<", k, five), call("<=", five, k)),
        (call("=", k, five), call("or", call("<>", k, five), Column(0, 9, "o", "boolean"))),
    ):
        for op in ("and", "or"):
            assert not declines(call(op, *pair))
            assert declines(call("is_null", call(op, *pair)))
    assert not declines(call("is_null", call("and", b, call("<", k, five))))
    assert not declines(call("is_null", call("and", call("<", k, five), call(">", k, five))))


def test_a_null_of_case() -> None:
    """Of CASE alone Spark makes no AND; what is compared with it goes into its branches."""
    b, true, one = column("boolean"), Literal("true", "boolean"), Literal("1", "int")
    assert not declines(call("is_null", call("case", b, true, NULL)))
    assert not declines(computed=(call("case", b, NULL, true),))
    numbers = Call("case", (b, one, NULL), "int")
    assert not declines(computed=(numbers,))
    assert not declines(call("=", numbers, one))
    assert declines(call("is_null", call("=", numbers, one)))


def test_tests_that_mean_the_same() -> None:
    v, s, five = column("int"), column("string"), Literal("5", "int")
    wide = Call("cast", (v, Literal("bigint", "type")), "bigint")
    text, prefix = Literal("abc", "string"), Literal("a%", "string")
    same = (
        (call("=", v, five), call("<>", five, v)),
        (call("<", v, five), call(">=", v, Literal("5.0", "decimal(2,1)"))),
        (call("<", v, five), call(">=", wide, Literal("5", "bigint"))),
        (call("in", v, five), call("<>", v, five)),
        (call("in", v, five, v), call("not", call("in", v, v, five))),
        (call("like", s, text), call("<>", s, text)),
        (call("like", s, prefix), call("not", call("startswith", s, Literal("a", "string")))),
    )
    for pair in same:
        assert declines(call("is_null", call("and", *pair)))
    assert not declines(call("is_null", call("and", call("=", v, five), call("=", v, v))))


def test_a_constant_that_a_condition_puts_in_place() -> None:
    v, k = Column(0, 1, "v", "bigint"), Column(0, 2, "k", "int")
    equal = call("=", v, Literal("3000000000", "bigint"))
    assert declines(equal, call("is_null", call("=", v, k)))
    assert not declines(call("=", v, Literal("3", "int")), call("is_null", call("=", v, k)))


def test_deep_and_wide() -> None:
    """One pass: minutes would be noticed."""
    expr: Expr = column("boolean")
    for number in range(400):
        test = call("=", Column(0, number, "c", "int"), Literal("1", "int"))
        expr = call("and" if number % 2 else "or", call("is_null", expr), test)
    declines(call("is_null", expr))  # or not: it comes to an end
    items = [Literal(str(i), "int") for i in range(3000)]
    computed = [Call("+", (Column(0, i, "c", "int"), items[0]), "int") for i in range(3000)]
    assert not declines(call("is_null", call("in", column("int"), *items, *computed)))


@pytest.mark.parametrize(
    "constant",
    [
        "abs(-2147483648) = v",
        "round(2147483647, -1) = v",
        "add_months(DATE '2013-01-31', 2147483647) = dt",
        "add_months(dt, 3) = dt AND dt > add_months(DATE '2013-01-31', -2147483648)",
    ],
)
def test_functions_of_constants_that_raise_are_left_in_conditions(constant: str) -> None:
    """Where no row passes DuckDB never computes them."""
    with pytest.raises(DeclinedError) as caught:
        block(f"SELECT count(*) FROM f WHERE {constant}")
    assert caught.value.declined.code == "may_raise"


def test_a_few_months_later_than_a_constant_raises_nothing() -> None:
    block("SELECT count(*) FROM f WHERE dt >= add_months(DATE '2013-01-31', -12)")
    block("SELECT count(*) FROM f WHERE dt >= add_months(dt, 2147483647)")
