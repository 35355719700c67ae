"""MEASURES: every aggregate that a cube can keep, its states, and how the answer comes out of them.

To add one: a row here, a property test in `tests/spark/test_measures.py`, a line in
`docs/reference/measures.md`. A finish is given the texts of its state columns, one per state, over
the cells of a group, and returns an aggregate expression whose value has Spark's own type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cubes.states import STATES
from rewrite import types
from rewrite.reason import DeclinedError
from rewrite.render import Dialect, duckdb_type

Finish = Callable[[list[str], str | None, str, Dialect], str]


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate function: its states and its finish(columns, argument type, type, dialect)."""

    function: str
    states: tuple[str, ...]
    finish: Finish
    distinct: bool = False
    approximate: bool = False


def _typed(text: str, type_: str, dialect: Dialect) -> str:
    return f"CAST({text} AS {duckdb_type(type_) if dialect == 'duckdb' else type_})"


def _count(columns: list[str], _argument: str | None, _type: str, dialect: Dialect) -> str:
    return _typed(f"COALESCE(SUM({columns[0]}), 0)", "bigint", dialect)


def _merged(merge: str) -> Finish:
    def finish(columns: list[str], _argument: str | None, type_: str, dialect: Dialect) -> str:
        return _typed(f"{merge}({columns[0]})", type_, dialect)

    return finish


def _avg(columns: list[str], argument: str | None, type_: str, dialect: Dialect) -> str:
    total, rows = f"SUM({columns[0]})", f"SUM({columns[1]})"
    parts = types.decimal_parts(argument)
    if parts is None:
        return f"(CAST({total} AS DOUBLE) / NULLIF({rows}, 0))"
    return _avg_decimal(total, rows, parts, type_, dialect)


def _avg_decimal(
    total: str, rows: str, parts: tuple[int, int], type_: str, dialect: Dialect
) -> str:
    """Exact integers, rounded half up once, as Spark's own avg rounds; never SQL's decimal `/`."""
    precision, scale = parts
    digits, unit = precision + 4, scale + 4
    if dialect == "duckdb":
        if digits + unit > 38:
            raise DeclinedError("expression_not_proven", f"avg of decimal({precision},{scale}).")
        unscaled = f"CAST(REPLACE(CAST({total} AS VARCHAR), '.', '') AS HUGEINT)"
        count = f"CAST({rows} AS HUGEINT)"
        whole = f"((ABS({unscaled}) * 20000 + {count}) // NULLIF(2 * {count}, 0))"
        signed = f"CAST({whole} * SIGN({unscaled}) AS DECIMAL({38 - unit},0))"
        return (
            f"CAST({signed} * CAST('{_unit(unit)}' AS DECIMAL({unit},{unit})) AS {type_.upper()})"
        )
    return _avg_decimal_spark(total, rows, parts, type_)


def _avg_decimal_spark(total: str, rows: str, parts: tuple[int, int], type_: str) -> str:
    """Quotient and remainder apart: Spark's `div` gives a bigint, its `*` clips at 38 digits."""
    precision, scale = parts
    digits, unit, wide = precision + 4, scale + 4, precision + 10
    if wide > 32 or digits + unit + 2 > 38:
        raise DeclinedError(
            "expression_not_proven", f"avg of decimal({precision},{scale}) in Spark."
        )
    unscaled = f"CAST(REPLACE(CAST({total} AS STRING), '.', '') AS DECIMAL({wide},0))"
    size, count = f"ABS({unscaled})", f"CAST(NULLIF({rows}, 0) AS DECIMAL(18,0))"
    rest = f"({size} % {count})"
    whole = f"CAST(({size} - {rest}) / {count} AS DECIMAL({wide},0))"
    fraction = f"(({rest} * 20000BD + {count}) div (2BD * {count}))"
    value = f"CAST(({whole} * 10000BD + {fraction}) AS DECIMAL({digits},0))"
    signed = f"(CASE WHEN {unscaled} < 0 THEN - {value} ELSE {value} END)"
    one = f"CAST('{_unit(unit)}' AS DECIMAL({unit + 1},{unit}))"
    return f"CAST(({signed} * {one}) AS {type_})"


def _unit(scale: int) -> str:
    """The smallest step at that scale, in plain digits."""
    return f"0.{'1':0>{scale}}"


def _set_size(columns: list[str], _argument: str | None, _type: str, dialect: Dialect) -> str:
    if dialect == "spark":
        return f"CAST(size(array_distinct(flatten(collect_list({columns[0]})))) AS BIGINT)"
    return f"CAST(COALESCE(len(list_distinct(flatten(list({columns[0]})))), 0) AS BIGINT)"


def _bitmap_size(columns: list[str], _argument: str | None, _type: str, dialect: Dialect) -> str:
    gather = "collect_list" if dialect == "spark" else "list"
    return f"COALESCE(acc_bitmap_count({gather}({columns[0]})), CAST(0 AS BIGINT))"


def _hll_size(columns: list[str], _argument: str | None, _type: str, dialect: Dialect) -> str:
    if dialect == "spark":
        return f"COALESCE(hll_sketch_estimate(hll_union_agg({columns[0]}, true)), 0L)"
    return f"COALESCE(acc_hll_count(list({columns[0]})), CAST(0 AS BIGINT))"


def _variance(sample: bool, root: bool) -> Finish:
    """Chan's merge: every part's own spread, and that of the parts' means about the common mean."""

    def finish(columns: list[str], _argument: str | None, _type: str, dialect: Dialect) -> str:
        n, mean, m2 = columns
        rows, total = f"SUM({n})", f"SUM({n} * {mean})"
        common = f"({total} / NULLIF({rows}, 0))"
        if dialect == "spark":
            parts = f"collect_list(CASE WHEN {n} > 0 THEN struct({n} AS n, {mean} AS m) END)"
            between = f"aggregate({parts}, 0D, (acc, s) -> acc + s.n * pow(s.m - {common}, 2))"
        else:
            parts = f"list(struct_pack(n := {n}, m := {mean})) FILTER (WHERE {n} > 0)"
            between = f"list_sum(list_transform({parts}, lambda s: s.n * pow(s.m - {common}, 2)))"
        spread = f"(SUM({m2}) + {between})"
        divisor = f"NULLIF({rows} - 1, 0)" if sample else f"NULLIF({rows}, 0)"
        value = f"(CAST({spread} AS DOUBLE) / {divisor})"
        return f"sqrt({value})" if root else value

    return finish


_MOMENTS = ("count", "mean", "m2")
_LIST = (
    Measure("count", ("count",), _count),
    Measure("sum", ("sum",), _merged("SUM")),
    Measure("min", ("min",), _merged("MIN")),
    Measure("max", ("max",), _merged("MAX")),
    Measure("avg", ("sum", "count"), _avg),
    Measure("count", ("bitmap",), _bitmap_size, distinct=True),
    Measure("count", ("set",), _set_size, distinct=True),
    Measure("bool_and", ("min",), _merged("MIN")),
    Measure("bool_or", ("max",), _merged("MAX")),
    Measure("stddev", _MOMENTS, _variance(sample=True, root=True)),
    Measure("stddev_pop", _MOMENTS, _variance(sample=False, root=True)),
    Measure("var_samp", _MOMENTS, _variance(sample=True, root=False)),
    Measure("var_pop", _MOMENTS, _variance(sample=False, root=False)),
    Measure("approx_count_distinct", ("hll",), _hll_size, approximate=True),
)
MEASURES: dict[tuple[str, bool], tuple[Measure, ...]] = {}
for _measure in _LIST:
    _key = (_measure.function, _measure.distinct)
    MEASURES[_key] = (*MEASURES.get(_key, ()), _measure)

ROWS = Measure("count", ("rows",), _count)
"""count(*), kept by every cube."""


def measure_of(function: str, distinct: bool, argument: str | None) -> Measure | None:
    """The measure that keeps this aggregate over an argument of that type, None if there is none.

    min and max don't care for DISTINCT.
    """
    if function in ("min", "max"):
        distinct = False
    for measure in MEASURES.get((function, distinct), ()):
        if all(STATES[name].stored(argument) is not None for name in measure.states):
            return measure
    return None
