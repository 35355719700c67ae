"""Plans of a SELECT over answers of others: each is planned as a statement, then what stands above.

Only answers that are small by their form are taken into memory: groups, or the first rows, and
tables beside them that are small by their size. DuckDB computes what stands above; what isn't
proven for it leaves the whole statement to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from sqlglot import exp

from accelerator.common.arrow.spark_types import is_known
from accelerator.common.config.config import Config
from accelerator.iceberg import Pin
from accelerator.iceberg.pruning.spark_doubts import may_be_doubtful, pruning_doubt_above
from accelerator.planning.plans import (
    Attempt,
    CoverPlan,
    DuckDBRun,
    Input,
    MergedPlan,
    NestedPlan,
    PlainPlan,
    Plan,
    RowsPlan,
)
from accelerator.planning.sources.duckdb_text import check_deletes
from accelerator.planning.tolerance import averages_by_order
from cubes.degenerate.block_cube import itself
from cubes.match.derive_aggregates import unsigned_calls
from cubes.may_raise import may_raise, unsafe
from cubes.sql.answer import RawSource, answer_sql
from rewrite.bind.join_rows import bind_above
from rewrite.bind.null_folding import check_folded
from rewrite.functions.aggregates import exact_names
from rewrite.ir.block import Block
from rewrite.ir.expr import Aggregate, Column, Expr, columns, transform, walk
from rewrite.ir.row_block import RowBlock
from rewrite.reason import Declined, DeclinedError
from rewrite.rules.derived_tables import Answers, Beside, DerivedTable, Nested
from rewrite.types import FLOATING

if TYPE_CHECKING:
    from accelerator.iceberg.pins.pinned_table import PinnedTable

_FIRST_MAX = 100_000
"""First rows that are kept as an answer to go on with."""
_BESIDE_BYTES_MAX, _BESIDE_ROWS_MAX = 64 * 1024 * 1024, 2_000_000
"""Of a table that is read whole, to be joined with answers."""
_BESIDE_FILES_MAX = 1000
"""The same: each is opened, one after the other."""


def plan_nested(
    split: Nested,
    planned: Callable[[exp.Expression], Plan],
    rows: Callable[[Beside], Plan],
    config: Config,
    zone: str | None,
    *,
    by_spark: bool,
) -> Plan:
    """The plan of the SELECT; a plain one with the reason.

    `planned` plans its inner ones, `rows` all of a table's that stands beside them.
    """
    if by_spark or config.engine == "spark":
        declined = Declined("engine_unavailable", "Derived tables are put together in DuckDB.")
        return PlainPlan(declined)
    plans: dict[str, Input] = {}
    found: dict[int, Attempt] = {}  # by identity: a SELECT that is read twice was tried once
    for name, inner in split.inner.items():
        plan = planned(inner)
        found.update((id(one), one) for one in plan.tried)
        refused = refused_input(plan)
        if refused is not None or not isinstance(plan, Input):
            return PlainPlan(refused or Declined("block_unsupported"), tuple(found.values()))
        plans[name] = plan
    for name, beside in split.beside.items():
        plan = rows(beside)
        found.update((id(one), one) for one in plan.tried)
        if isinstance(plan, PlainPlan):
            return PlainPlan(plan.declined, tuple(found.values()))
        if not isinstance(plan, RowsPlan) or plan.engine != "duckdb":
            return PlainPlan(_large(), tuple(found.values()))
        plans[name] = plan
    tried = tuple(found.values())
    try:
        answers = Answers({name: answer_of(plan.block) for name, plan in plans.items()})
        block = bind_above(split.outer, answers, zone)
        if block.rows and block.limit is not None and not block.order:
            check_unsorted(split.inner.values())
        return _over(block, plans, tried)
    except DeclinedError as error:
        return PlainPlan(error.declined, tried)


def check_unsorted(selects: Iterable[exp.Expression]) -> None:
    """DeclinedError where Spark may give the first of sorted rows, though it needn't."""
    orders = (order for select in selects for order in select.find_all(exp.Order))
    if any(isinstance(order.parent, exp.Query) for order in orders):
        raise DeclinedError("limit_unordered")


def refused_input(plan: Plan) -> Declined | None:
    """Why an answer isn't one to go on with."""
    if isinstance(plan, PlainPlan):
        return plan.declined
    if isinstance(plan, NestedPlan):
        alone = plan.branches or len(plan.inputs) == 1  # no more rows than answers that are small
        return None if alone or _is_small(plan.block) else _rows_in_from()
    if isinstance(plan, MergedPlan):
        return None
    if not isinstance(plan, (CoverPlan, RowsPlan)) or plan.engine != "duckdb":
        return Declined("engine_unavailable", "A derived table is answered by Spark.")
    if isinstance(plan, RowsPlan):
        limit = plan.block.limit
        return None if limit is not None and limit <= _FIRST_MAX else _rows_in_from()
    return None if _is_small(plan.block) else _rows_in_from()


def _is_small(block: Block) -> bool:
    return not block.rows or (block.limit is not None and block.limit <= _FIRST_MAX)


def _large() -> Declined:
    return Declined("block_unsupported", "A join of a large table with a derived table.")


def rows_beside(beside: Beside, pin: Pin, planned: Callable[[exp.Expression], Plan]) -> Plan:
    """The plan of all rows of the table, which `planned` plans; a plain one of a large table."""
    pinned = pin.pinned(beside.parts)
    if pinned is None:
        return PlainPlan(Declined("table_unknown", f"The table {'.'.join(beside.parts)}."))
    if pinned.size_bytes > _BESIDE_BYTES_MAX or pinned.rows_told > _BESIDE_ROWS_MAX:
        return PlainPlan(_large())
    files = pinned.live_files()
    if len(files) > _BESIDE_FILES_MAX:
        return PlainPlan(_large())
    try:
        check_deletes(pinned, files)
    except DeclinedError as error:
        return PlainPlan(error.declined)
    return planned(beside.select(pinned.facts.columns))


def _rows_in_from() -> Declined:
    return Declined("block_unsupported", "A derived table of rows that aren't grouped.")


def answer_of(block: Block | RowBlock) -> DerivedTable:
    """What is known of the block's answer; DeclinedError without Spark's names and types."""
    columns = []
    for output in block.outputs:
        type_ = output.expr.type
        if output.name is None or type_ is None or not is_known(type_):
            raise DeclinedError("expression_not_proven", "A derived column's name or type.")
        columns.append((output.name, type_))
    if isinstance(block, RowBlock) or block.rows:
        return DerivedTable(columns)
    shown = [output.expr for output in block.outputs]
    if block.sets or any(key not in shown for key in block.keys):
        return DerivedTable(columns)
    return DerivedTable(columns, frozenset(shown.index(key) for key in block.keys))


def is_inexact(plan: Input) -> bool:
    """Whether an output's last digits may go by the order in which rows were added."""
    seen: dict[int, Input] = {}
    waiting = [plan]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        nodes = (node for output in one.block.outputs for node in walk(output.expr))
        calls = [node for node in nodes if isinstance(node, Aggregate)]
        inputs = one.inputs if isinstance(one, NestedPlan) else ()
        tables = [table for below in inputs or (one,) for table in below.tables()]
        if any(_goes_by_order(call) or averages_by_order(call, tables) for call in calls):
            return True
        waiting += inputs
    return False


def unsigned_outputs(plan: Input) -> list[str]:
    """Returns the outputs in which zeros may have lost their sign: a cube has grouped by them."""
    seen: dict[int, Input] = {}
    waiting, calls = [plan], set[Aggregate]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if isinstance(one, CoverPlan):
            match = one.cover.match
            calls |= unsigned_calls(one.cover.cube, match.finals, match.slots)
        elif not isinstance(one, RowsPlan):
            waiting += one.inputs
    if not calls:
        return []
    own = isinstance(plan, NestedPlan)
    return [
        output.name or ""
        for output in plan.block.outputs
        if output.expr.type in FLOATING and (own or not calls.isdisjoint(walk(output.expr)))
    ]


def _goes_by_order(call: Aggregate) -> bool:
    exact = call.function in ("min", "max", "count", "count_if", *exact_names())
    return not exact and (call.type in FLOATING or call.type is None)


def _check_floats(block: Block, plans: Mapping[str, Input]) -> None:
    """DeclinedError where floats of two SELECTs are compared: sums may differ in last digits."""
    for condition in block.conditions:
        floats = {c.occurrence for c in columns(condition) if c.type in FLOATING}
        names = {block.occurrences[one].table.name for one in floats}
        if len(names) > 1 and any(is_inexact(plans[name]) for name in names):
            raise DeclinedError("expression_not_proven", "Floats of two SELECTs are compared.")


def _check_groups(block: Block, inputs_of: Callable[[Column], Sequence[Input]]) -> None:
    """DeclinedError if rows are grouped by a floating sum: its last digits decide the groups."""
    distinct = [arg for call in block.aggregates if call.distinct for arg in call.args]
    grouped = (*block.keys, *distinct)
    used = {c for expr in grouped for c in columns(expr) if c.type in (*FLOATING, None)}
    if any(map(is_inexact, (one for column in used for one in inputs_of(column)))):
        raise DeclinedError("expression_not_proven", "Groups by a sum of another SELECT's floats.")


def _over(
    block: Block,
    plans: dict[str, Input],
    tried: tuple[Attempt, ...],
) -> NestedPlan:
    refused = unsafe(block.conditions)
    if refused is not None:
        raise DeclinedError(refused.code, refused.detail)
    _check_floats(block, plans)
    inputs = [plans[o.table.name] for o in block.occurrences]
    for tests in _meant(block.tested, inputs):
        check_folded(tests, ())
    doubt = pruning_doubt_above(block.tested, lambda c: _sources(inputs[c.occurrence], c))
    if isinstance(doubt, Declined):
        raise DeclinedError(doubt.code, doubt.detail)
    return over_answers(block, inputs, tried)


def _meant(exprs: Sequence[Expr], inputs: Sequence[Input]) -> list[list[Expr]]:
    """The expressions with what the inputs' outputs are in their place, as Spark sees them.

    A set operation's outputs are those of each of its branches: so there are several lists.
    """
    given = [_outputs(plan) for plan in inputs]
    branches = range(max([1, *map(len, given)]))
    return [
        _put(exprs, [known[min(branch, len(known) - 1)] if known else None for known in given])
        for branch in branches
    ]


def _put(exprs: Sequence[Expr], given: Sequence[Sequence[Expr] | None]) -> list[Expr]:
    """The expressions with those by occurrence and place for their columns."""

    def meant(expr: Expr) -> Expr | None:
        if not isinstance(expr, Column):
            return None
        outputs = given[expr.occurrence]
        return expr if outputs is None else outputs[expr.field_id]

    return [transform(expr, meant) for expr in exprs]


def _outputs(plan: Input) -> list[list[Expr]]:
    """What an input's outputs are, for each branch; empty where no test goes below it.

    Columns of two inputs are told apart by occurrences that no statement has.
    """
    block, apart = plan.block, id(plan)
    if block.limit is not None:
        return []
    own = [output.expr for output in block.outputs]
    if isinstance(plan, NestedPlan) and plan.branches:
        single = [one for one in plan.inputs if not isinstance(one, NestedPlan)]
        return [_put(own, [found]) for one in single for found in _outputs(one)]
    if isinstance(plan, NestedPlan):
        return []  # a chain of them may double at each link

    def moved(expr: Expr) -> Expr | None:
        if not isinstance(expr, Column):
            return None
        return replace(expr, occurrence=expr.occurrence + apart)

    return [[transform(expr, moved) for expr in own]]


def may_be_doubted(plan: Input) -> bool:
    """Whether an answer's column is one of a table of which some test is doubtful."""
    columns_ = (
        Column(0, place, output.name or "", output.expr.type)
        for place, output in enumerate(plan.block.outputs)
    )
    return any(may_be_doubtful(*one) for column in columns_ for one in _sources(plan, column))


def _sources(plan: Input, column: Column) -> Iterator[tuple[Column, PinnedTable]]:
    """The tables' columns that an answer's column is, where Spark tests it before it answers."""
    block = plan.block
    own = block.outputs[column.field_id].expr
    grouped = isinstance(block, Block) and not block.rows and own not in block.keys
    if not isinstance(own, Column) or block.limit is not None or grouped:
        return
    if isinstance(plan, NestedPlan):
        for one in plan.inputs if plan.branches else (plan.inputs[own.occurrence],):
            yield from _sources(one, own)
    elif isinstance(plan, MergedPlan):
        yield from _sources(plan.covers[0], replace(column, field_id=plan.block.keys.index(own)))
    else:
        yield own, plan.pinned[own.occurrence]


def over_answers(
    block: Block,
    inputs: Sequence[Input],
    tried: tuple[Attempt, ...],
    *,
    branches: str = "",
) -> NestedPlan:
    """The plan of a block over the answers of `inputs`, in the order of its occurrences.

    With `branches` these are all of its one occurrence, which that text reads. DeclinedError where
    DuckDB isn't proven for it.
    """
    _check_groups(block, lambda c: inputs if branches else (inputs[c.occurrence],))
    fact = next(o.index for o in block.occurrences if o.index not in block.null_supplied)
    found = itself(block, fact)
    if isinstance(found, Declined):
        raise DeclinedError(found.code, found.detail)
    names = tuple(o.name for o in block.outputs)
    if None in names:
        raise DeclinedError("expression_not_proven", "Only Spark knows an output's name.")
    tables = tuple(f"raw_{number}" for number in range(len(inputs)))
    raises = block.rows and may_raise(block.results)
    read = RawSource((branches,) if branches else tables, raises=raises)
    text = answer_sql(block, found[1], "duckdb", [], read)
    run = DuckDBRun(text, tuple((name, index) for index, name in enumerate(tables)))
    return NestedPlan(
        inputs=tuple(inputs),
        tried=tried,
        block=block,
        duckdb=run,
        names=tuple(n or "" for n in names),
        branches=bool(branches),
    )
