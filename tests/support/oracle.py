"""Spark's analyser as an oracle for the binder: names, types and NULLs of all that is bound.

The binder's types decide which engine may compute what, also of statements that nothing answers;
these would hide a wrong type from a comparison of answers.
"""

from __future__ import annotations

from pyspark.sql.types import StructType
from sqlglot.errors import SqlglotError

from accelerator.errors import AcceleratorError
from accelerator.session.session import Accelerator
from rewrite.ir.block import Block
from rewrite.ir.expr import Column
from rewrite.parse.parse import UnsureError
from rewrite.reason import DeclinedError


def disagreements(session: Accelerator, sql: str) -> list[str]:
    """Where the binder's outputs are other than Spark says; nothing for what it doesn't bind."""
    try:
        block = session.services.planner.bind(sql)[0]
    except (DeclinedError, AcceleratorError, SqlglotError, UnsureError):
        return []
    return compared(block, session.spark.sql(sql).schema)


def compared(block: Block, schema: StructType) -> list[str]:
    """Each output beside the field in its place."""
    if len(block.outputs) != len(schema.fields):
        return [f"{len(block.outputs)} outputs are bound, Spark has {len(schema.fields)}"]
    found = []
    for output, field in zip(block.outputs, schema.fields, strict=True):
        if output.name is not None and output.name != field.name:
            found.append(f"{output.name!r} is bound, Spark calls it {field.name!r}")
        if output.expr.type not in (field.dataType.simpleString(), None):
            told = field.dataType.simpleString()
            found.append(f"{field.name} is bound as {output.expr.type}, Spark says {told}")
        if field.nullable and _never_null(block, output.expr):
            found.append(f"{field.name} is bound as never NULL, Spark says it may be")
    return found


def _never_null(block: Block, expr: object) -> bool:
    """Whether the tables say so: a required column of a side that no left join adds NULLs to."""
    if not isinstance(expr, Column) or block.sets or expr.occurrence in block.null_supplied:
        return False
    own = block.occurrences[expr.occurrence].table.columns
    return any(c.field_id == expr.field_id and c.required for c in own)
