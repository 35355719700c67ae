"""SELECTs over virtual tables: proven for DuckDB and run by it; Spark answers the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from accelerator.common.arrow.spark_types import conform, is_known
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.planning.plans import VirtualPlan
from accelerator.planning.plans.virtual import Mention, VirtualSelect
from cubes.degenerate.block_cube import itself
from cubes.may_raise import may_raise, unsafe
from cubes.sql.answer import RawSource, answer_sql
from rewrite.facts import At
from rewrite.ir.block import Block
from rewrite.ir.expr import Call, Expr, Literal
from rewrite.ir.row_block import RowBlock
from rewrite.reason import Declined, DeclinedError
from rewrite.render.row_block import rows_sql
from rewrite.types import is_numeric


def duckdb_text(block: Block | RowBlock) -> str:
    """Writes the block for DuckDB, over `raw_0` and so on; DeclinedError if that isn't proven."""
    check_types(output.expr for output in block.outputs)
    if isinstance(block, RowBlock):
        _check(may_raise(block.expressions, _divides_well))
        return rows_sql(block, "duckdb", "raw_0")
    refused = unsafe(block.conditions)
    if refused is None:
        _check(block.rows and may_raise(block.results, _divides_well))
        fact = next(o.index for o in block.occurrences if o.index not in block.null_supplied)
        newest = tuple(replace(one, at=At()) for one in block.occurrences)
        found = itself(replace(block, occurrences=newest), fact)
        if not isinstance(found, Declined):
            raw = RawSource(tuple(f"raw_{one.index}" for one in block.occurrences))
            return answer_sql(block, found[1], "duckdb", (), raw)
        refused = found
    raise DeclinedError(refused.code, refused.detail)


def check_types(exprs: Iterable[Expr]) -> None:
    """Raises DeclinedError for a type that isn't read in process."""
    for expr in exprs:
        if not is_known(expr.type):
            raise DeclinedError("expression_not_proven", f"The type {expr.type}.")


def _check(raises: bool) -> None:
    if raises:
        raise DeclinedError("may_raise")


def _divides_well(call: Call) -> bool:
    """Tests whether a double is divided by a constant other than 0, which raises for no value."""
    if call.op != "/" or call.type != "double":
        return False
    by = call.args[1]
    return isinstance(by, Literal) and is_numeric(by.type) and float(by.value) != 0


def run_virtual(plan: VirtualPlan, engine: DuckDBEngine, tag: str) -> pa.Table:
    """Returns the answer, with Spark's names and types; `plan.seen` has what was read."""
    known: dict[int, pa.Table] = {}
    read = plan.select.read().rows()
    plan.seen.append(read)

    def rows(one: VirtualSelect | Mention) -> pa.Table:
        if isinstance(one, Mention):
            return read.rows
        if id(one) not in known:
            known[id(one)] = answer(one)
        return known[id(one)]

    def answer(select: VirtualSelect) -> pa.Table:
        inputs = [rows(one) for one in select.inputs]
        tables = {f"raw_{at}": _with_places(one) for at, one in enumerate(inputs)}
        return _with_lists(engine.run(select.sql, tables, tag=tag), select, inputs)

    return answer(plan.select)


def _with_places(rows: pa.Table) -> pa.Table:
    """Replaces each array by its row's place: DuckDB gets no more of it."""
    for at, field in enumerate(rows.schema):
        if pa.types.is_list(field.type):
            places = pa.array(np.arange(rows.num_rows, dtype=np.int64))
            rows = rows.set_column(at, field.name, places)
    return rows


def _with_lists(found: pa.Table, select: VirtualSelect, inputs: Sequence[pa.Table]) -> pa.Table:
    """Casts the answer to its own types, and replaces places by their arrays."""
    types = [
        type_ if source is None else "bigint"
        for (_, type_), source in zip(select.outputs, select.lists, strict=True)
    ]
    found = conform(found, [name for name, _ in select.outputs], types)
    for at, source in enumerate(select.lists):
        if source is not None:
            of, name = source
            column = inputs[of][name].take(found.column(at))
            found = found.set_column(at, found.schema.field(at).name, column)
    return found
