"""Reasons why a cover isn't run by Spark: its text can't be written, or may give something else."""

from __future__ import annotations

from accelerator.planning.sources.choose import CoverCandidate
from accelerator.planning.sources.duckdb_text import types_now
from cubes.may_raise import computes_errors
from cubes.sql.answer import RawSource, SegmentSource, answer_sql
from cubes.sql.build import has_one_schema
from rewrite.functions.aggregates import ROW_AGGREGATES
from rewrite.ir.block import Block
from rewrite.ir.expr import Aggregate, Call, walk
from rewrite.reason import Declined, DeclinedError

_GATHERED = frozenset({"set", "bitmap", "m2"})
"""States that merge as lists of values in Spark, though the functions themselves need no list."""


def text_declined(block: Block, best: CoverCandidate) -> Declined | None:
    """Returns why Spark's text of the cover can't be written; None if it can."""
    try:
        if block.rows:
            raw = RawSource(tuple(o.table.name for o in block.occurrences))
            answer_sql(block, best.cover.match, "spark", (), raw)
        else:
            tables = tuple(o.table.name for o in block.occurrences)
            delta = RawSource(tables, fact=False) if best.cover.match.delta else None
            answer_sql(block, best.cover.match, "spark", [SegmentSource("cube", "")], delta)
    except DeclinedError as error:
        return error.declined
    return _by_duckdb_alone(block)


def differs_in_spark(block: Block, best: CoverCandidate) -> Declined | None:
    """Returns why Spark may not answer the cover as it answers the statement; None if it does."""
    return _by_duckdb_alone(block) or _type_changed(block, best) or _raises_early(block, best)


def _by_duckdb_alone(block: Block) -> Declined | None:
    """Declines row aggregates, and only values of groups, which Spark computes as it's asked."""
    for node in (node for expr in block.results for node in walk(expr)):
        if isinstance(node, Aggregate) and node.function in ROW_AGGREGATES:
            return Declined("expression_not_proven", f"{node.function} of rows, in Spark.")
        if isinstance(node, Call) and node.op == "only_value":
            return Declined("expression_not_proven", "A group's only value, in Spark.")
    return None


def _type_changed(block: Block, best: CoverCandidate) -> Declined | None:
    """Why Spark isn't told the types in segment files, which DuckDB reads in them."""
    if has_one_schema(best.cover.cube, types_now(block, best.cover.match)):
        return None
    return Declined("schema_changed", "A dimension is computed of a column of another type.")


def _raises_early(block: Block, best: CoverCandidate) -> Declined | None:
    """Why Spark may raise for a group of cells that it drops as a group of rows; None if it won't.

    A measure that gathers values into lists makes Spark compute all outputs of each group, where
    generated code computes those of the groups that HAVING and LIMIT leave.
    """
    drops = block.having is not None or (block.grouped and block.limit)
    finals = (final.measure for final in best.cover.match.finals)
    gathers = any(one is not None and not _GATHERED.isdisjoint(one.states) for one in finals)
    return Declined("may_raise") if drops and gathers and computes_errors(block.results) else None
