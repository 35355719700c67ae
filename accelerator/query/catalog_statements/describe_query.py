"""DESCRIBE QUERY: the columns that a query would give, with their types and comments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from accelerator.iceberg import Pin
from accelerator.query.catalog_statements import listings
from accelerator.query.statements.nodes import Query
from rewrite.analysis.query_form import uses
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.reason import CATALOG_NEEDS_SPARK as NEEDS_SPARK
from rewrite.reason import DeclinedError

if TYPE_CHECKING:
    from accelerator.query.catalog_statements.session import QueryPlanner


def described(sql: str, queries: QueryPlanner) -> pa.Table:
    """The columns; errors of names as the query itself has them."""
    query = queries.read(sql, "spark")
    if not isinstance(query, Query):
        raise DeclinedError(NEEDS_SPARK, "It isn't a query.")
    queries.check(query)
    outputs = queries.plan(query)[0].outputs()
    if outputs is None:
        raise DeclinedError(NEEDS_SPARK, "The query's columns.")
    if any("struct<" in type_ for _, type_ in outputs):
        raise DeclinedError(NEEDS_SPARK, "A column is a struct.")
    _check_comments(sql, queries.services.lake.pin())
    return listings.described([(name, type_, None) for name, type_ in outputs])


def _check_comments(sql: str, pin: Pin) -> None:
    """DeclinedError if a column that the query may give has a comment, which Spark hands on."""
    try:
        tree = parse(sql)
    except PARSER_FAILS as error:
        raise DeclinedError(NEEDS_SPARK, "The query's text.") from error
    for use in uses(tree):
        pinned = pin.pinned(tuple(part.name for part in use.table.parts))
        if pinned is None or any(one.doc is not None for one in pinned.schema.fields):
            raise DeclinedError(NEEDS_SPARK, "Columns have comments, which Spark hands on.")
