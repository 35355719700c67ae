"""MEASURES: every aggregate that a cube can keep, its states, and how the answer comes out of them.

To add one: a row here, a property test in `tests/spark/test_measures.py`, a line in
`docs/reference/measures.md`. A finish is given the texts of its state columns, one per state, over
the cells of a group, the aggregate itself, and how the group's cells are merged; it returns an
expression over the group whose value has Spark's own type.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from cubes import kll
from cubes.states import STATES, as_rows_have_it
from rewrite import types
from rewrite.ir.expr import Aggregate, Literal
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Dialect, duckdb_type, literal, smallest

Merge = Callable[[str, str], str]
"""The text of a column over the cells of a group, merged by an aggregate function."""
Finish = Callable[[list[str], Aggregate, Dialect, Merge], str]
_LEAST, _LARGEST = -(2**63), 2**63 - 1


class Measure(Struct, frozen=True):
    """One aggregate function: its states and its finish(columns, aggregate, dialect, merge).

    `arguments` is how many it takes, the first being what the states are of. `estimate` is how
    near an approximate measure comes, and empty for an exact one.
    """

    function: str
    states: tuple[str, ...]
    finish: Finish
    distinct: bool = False
    arguments: int = 1
    estimate: str = ""


def of_cells(function: str, column: str) -> str:
    """Merges the column of any number of cells."""
    return f"{function}({column})"


def of_one_cell(function: str, column: str) -> str:
    """Returns what merging gives where each group has one cell, in DuckDB's dialect."""
    return f"[{column}]" if function == "list" else column


def _type(aggregate: Aggregate) -> str:
    if aggregate.type is None:
        raise DeclinedError("expression_not_proven", "An aggregate's type isn't known.")
    return aggregate.type


def _argument_type(aggregate: Aggregate) -> str | None:
    return aggregate.args[0].type if aggregate.args else None


def _typed(text: str, type_: str, dialect: Dialect) -> str:
    return f"CAST({text} AS {duckdb_type(type_) if dialect == 'duckdb' else type_})"


def _count(columns: list[str], _aggregate: Aggregate, dialect: Dialect, merge: Merge) -> str:
    return _typed(f"COALESCE({merge('SUM', columns[0])}, 0)", "bigint", dialect)


def _merged(function: str) -> Finish:
    def finish(columns: list[str], aggregate: Aggregate, dialect: Dialect, merge: Merge) -> str:
        type_ = _type(aggregate)
        argument = columns[0]
        if function in ("MIN", "MAX"):
            argument = as_rows_have_it(argument, type_, dialect)
        return _typed(merge(function, argument), type_, dialect)

    return finish


def _sum(columns: list[str], aggregate: Aggregate, dialect: Dialect, merge: Merge) -> str:
    """If a sum of bigints overflows, Spark names the addition in its error, not a cast."""
    if dialect == "duckdb" or _argument_type(aggregate) != "bigint":
        return _merged("SUM")(columns, aggregate, dialect, merge)
    total = merge("SUM", columns[0])
    fits = f"{total} BETWEEN {_LEAST}BD AND {_LARGEST}BD"
    overflow = f"CASE WHEN NOT {fits} THEN {_LARGEST}L + 1L"
    return f"({overflow} ELSE CAST({total} AS BIGINT) END)"


def _avg(columns: list[str], aggregate: Aggregate, dialect: Dialect, merge: Merge) -> str:
    total, rows = (merge("SUM", column) for column in columns)
    parts = types.decimal_parts(_argument_type(aggregate))
    if parts is None:
        return f"(CAST({total} AS DOUBLE) / NULLIF({rows}, 0))"
    if types.averages_as_double(_argument_type(aggregate)):
        return _avg_in_doubles(total, rows, parts, _type(aggregate), dialect)
    return _avg_decimal(total, rows, parts, _type(aggregate), dialect)


def _avg_in_doubles(
    total: str, rows: str, parts: tuple[int, int], type_: str, dialect: Dialect
) -> str:
    """Divides as Spark's rule DecimalAggregates does: unscaled sum, rows, 10^scale, all DOUBLE.

    Spark rounds half up the digits that a DOUBLE is printed with, the fewest that name it. DuckDB
    prints the same digits, but casts a DOUBLE to a decimal by its bits. So the text is cast, to 38
    digits, because DuckDB refuses texts like 4.5e-15 for narrower decimals.
    """
    precision, scale = parts
    wide = "HUGEINT" if dialect == "duckdb" else f"DECIMAL({precision + 10},0)"
    text = "VARCHAR" if dialect == "duckdb" else "STRING"
    unscaled = f"CAST(REPLACE(CAST({total} AS {text}), '.', '') AS {wide})"
    count = f"CAST(NULLIF({rows}, 0) AS DOUBLE)"
    value = f"(CAST({unscaled} AS DOUBLE) / {count} / CAST('1e{scale}' AS DOUBLE))"
    if dialect == "duckdb":
        value = f"CAST(CAST({value} AS VARCHAR) AS DECIMAL(38,{scale + 4}))"
    return _typed(value, type_, dialect)


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
        step = f"CAST('{smallest(unit)}' AS DECIMAL({unit},{unit}))"
        return f"CAST({signed} * {step} AS {type_.upper()})"
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
    one = f"CAST('{smallest(unit)}' AS DECIMAL({unit + 1},{unit}))"
    return f"CAST(({signed} * {one}) AS {type_})"


def _set_size(columns: list[str], _aggregate: Aggregate, dialect: Dialect, merge: Merge) -> str:
    if dialect == "spark":
        return f"CAST(size(array_distinct(flatten(collect_list({columns[0]})))) AS BIGINT)"
    values = f"list_distinct(flatten({merge('list', columns[0])}))"
    return f"CAST(COALESCE(len({values}), 0) AS BIGINT)"


def _bitmap_size(columns: list[str], _aggregate: Aggregate, dialect: Dialect, merge: Merge) -> str:
    bitmaps = merge("collect_list" if dialect == "spark" else "list", columns[0])
    return f"COALESCE(acc_bitmap_count({bitmaps}), CAST(0 AS BIGINT))"


def _hll_size(columns: list[str], _aggregate: Aggregate, dialect: Dialect, merge: Merge) -> str:
    if dialect == "spark":
        return f"COALESCE(hll_sketch_estimate(hll_union_agg({columns[0]}, true)), 0L)"
    return f"COALESCE(acc_hll_count({merge('list', columns[0])}), CAST(0 AS BIGINT))"


def _percentile(columns: list[str], aggregate: Aggregate, dialect: Dialect, merge: Merge) -> str:
    """Calls our function in either engine: Spark's own needs a constant rank and drops NaN."""
    share, accuracy = (literal(a, dialect) for a in aggregate.args[1:] if isinstance(a, Literal))
    sketches = merge("collect_list" if dialect == "spark" else "list", columns[0])
    rows = f"CAST({merge('SUM', columns[1])} AS BIGINT)"
    value = f"acc_kll_quantile({sketches}, {share}, CAST({accuracy} AS BIGINT), {rows})"
    if _type(aggregate) == "bigint" and dialect == "duckdb":
        # As a double the largest bigint is 2^63, which Spark's own cast takes back to 2^63 - 1.
        # LEAST passes NULLs over, hence the CASE.
        least = f"LEAST(CAST({value} AS HUGEINT), CAST({2**63 - 1} AS HUGEINT))"
        value = f"CASE WHEN {rows} > 0 THEN {least} END"
    return _typed(value, _type(aggregate), dialect)


def _variance(sample: bool, root: bool) -> Finish:
    """Chan's merge: every part's own spread, and that of the parts' means about the common mean."""

    def finish(columns: list[str], _aggregate: Aggregate, dialect: Dialect, merge: Merge) -> str:
        n, mean, m2 = columns
        rows = merge("SUM", n)
        alone = merge is of_one_cell
        common = mean if alone else f"(SUM({n} * {mean}) / NULLIF({rows}, 0))"
        # Spark merges it with a part of no rows: NaN if the mean's square isn't finite, else 0.
        square = f"({common} * ({common} / NULLIF({rows}, 0)) * 0)"
        if alone:
            between = square
        elif dialect == "spark":
            parts = f"collect_list(CASE WHEN {n} > 0 THEN struct({n} AS n, {mean} AS m) END)"
            between = f"aggregate({parts}, 0D, (acc, s) -> acc + s.n * pow(s.m - {common}, 2))"
            between += f" + {square}"
        else:
            parts = f"list(struct_pack(n := {n}, m := {mean})) FILTER (WHERE {n} > 0)"
            # In HAVING DuckDB takes `s.n` for a column.
            of_part = f"struct_extract(s, 'n') * pow(struct_extract(s, 'm') - {common}, 2)"
            between = f"list_sum(list_transform({parts}, lambda s: {of_part})) + {square}"
        spread = f"({merge('SUM', m2)} + {between})"
        divisor = f"NULLIF({rows} - 1, 0)" if sample else f"NULLIF({rows}, 0)"
        value = f"(CAST({spread} AS DOUBLE) / {divisor})"
        return f"sqrt({value})" if root else value

    return finish


_MOMENTS = ("count", "mean", "m2")
_HLL = "HLL, 2^14 registers, standard error 0.8 %"
_KLL = "KLL, rank error at most 1/accuracy at 99 % confidence"
_LIST = (
    Measure("count", ("count",), _count),
    Measure("sum", ("sum",), _sum),
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
    Measure("approx_count_distinct", ("hll",), _hll_size, estimate=_HLL),
    Measure("approx_percentile", ("kll", "count"), _percentile, arguments=3, estimate=_KLL),
)
MEASURES: dict[tuple[str, bool], tuple[Measure, ...]] = {}
for _measure in _LIST:
    _key = (_measure.function, _measure.distinct)
    MEASURES[_key] = (*MEASURES.get(_key, ()), _measure)

ROWS = Measure("count", ("rows",), _count)
"""count(*), kept by every cube."""
WHOLE = Measure("", (), lambda columns, _aggregate, _dialect, merge: merge("ANY_VALUE", columns[0]))
"""A value that one cell of a group has; ANY_VALUE ignores the NULL of the other cells."""


def measure_of(aggregate: Aggregate) -> Measure | None:
    """The measure that keeps this aggregate over an argument of its type, None if there is none.

    min and max don't care for DISTINCT.
    """
    distinct = aggregate.distinct and aggregate.function not in ("min", "max")
    argument = _argument_type(aggregate)
    for measure in MEASURES.get((aggregate.function, distinct), ()):
        kept = all(STATES[name].stored(argument) is not None for name in measure.states)
        if kept and len(aggregate.args) == measure.arguments:
            return measure
    return None


def sketch_size(measure: Measure, aggregate: Aggregate) -> int:
    """The size that the aggregate's accuracy asks of its sketch; 0 where it has none."""
    if not any(STATES[name].sized for name in measure.states):
        return 0
    accuracy = aggregate.args[2]
    wanted = int(accuracy.value) if isinstance(accuracy, Literal) else 0
    size = kll.size_for(wanted)
    if size is None:
        finest = kll.accuracy_of(kll.SIZE_MAX)
        raise DeclinedError(
            "aggregate_unsupported", f"No sketch has the accuracy {wanted}; at most {finest}."
        )
    return size
