"""Puts staged rows into an order and writes them, by Spark.

Relate columns come by left joins from their dimensions, whose keys are unique, so that no row is
lost or doubled. They, and what else the order needs, are dropped before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from msgspec import Struct, field
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import arrow_udf

from accelerator.artifacts.relate.lookup import Lookup
from accelerator.services.clustering.curves import CURVES, bits_of
from accelerator.services.clustering.order import Order, relates
from accelerator.services.clustering.ranks import Ranking
from cubes.spark import unexpanded_in
from rewrite.render.expressions import quote

_BROADCAST_BYTES = 64 * 1024 * 1024
_SAMPLED = 50_000
_SEED = 7


class RowLayout(Struct, frozen=True):
    """How rows are to lie: in so many parts, each of whole partitions or of a part of one."""

    order: Order
    partition_by: tuple[str, ...]
    """What the table is partitioned by, as SQL."""
    parts: int
    rows: int
    rankings: tuple[Ranking, ...] = ()
    """Of a curve: what its columns are ranked by; none: by a sample of these rows."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Iceberg's own, of the write."""


def rewrite(
    session: SparkSession,
    relation: str,
    layout: RowLayout,
    lookups: Mapping[int, tuple[Lookup | DataFrame, Sequence[str]]],
) -> tuple[Ranking, ...]:
    """Writes the relation's rows to itself, ordered; returns what a curve's columns are ranked by.

    A relate column's lookup, or rows of its keys and last the value, is given by its id, with the
    columns that its keys are in.
    """
    rows = session.table(unexpanded_in(session, relation))
    own = [F.col(quote(name, "spark")) for name in rows.columns]
    free = _free_prefix(rows.columns)
    joined, keys = rows, dict[int, Column]()
    for number, (key, path) in enumerate(relates(layout.order.keys)):
        lookup, columns = lookups[key.field_id]
        value = f"{free}value{number}"
        joined = _joined(session, joined, lookup, columns, f"{free}key{number}_", value)
        keys[key.field_id] = F.col(value).cast(path.attribute.type)
    for key in layout.order.keys:
        keys.setdefault(key.field_id, F.col(quote(key.name, "spark")))
    by = [F.expr(unexpanded_in(session, one)) for one in layout.partition_by]
    rankings = layout.rankings
    if layout.order.curve != "sort":
        wanted = [keys[key.field_id].cast(key.ranked_as) for key in layout.order.keys]
        rankings = rankings or _rankings(joined, layout, wanted)
        place = _on_curve(layout.order.curve, rankings)(*wanted)
        joined = joined.withColumn(f"{free}place", place)
        by.append(F.col(f"{free}place"))
    for key in layout.order.keys:
        column = keys[key.field_id]
        by.append(column.desc_nulls_last() if key.descending else column.asc_nulls_first())
    ordered = joined.repartitionByRange(layout.parts, *by).sortWithinPartitions(*by)
    writer = ordered.select(*own).writeTo(relation)
    for name, value in layout.options.items():
        writer = writer.option(name, value)
    writer.append()
    return rankings


def _rankings(rows: DataFrame, layout: RowLayout, wanted: Sequence[Column]) -> tuple[Ranking, ...]:
    """What a sample says of the order's columns, which is read for it."""
    named = [column.alias(f"c{number}") for number, column in enumerate(wanted)]
    share = min(1.0, _SAMPLED / max(1, layout.rows))
    sample = rows.select(*named).sample(share, _SEED).toArrow()
    pairs = zip(sample.columns, layout.order.keys, strict=True)
    return tuple(Ranking.of(column.combine_chunks(), key.ranked_as) for column, key in pairs)


def _on_curve(curve: str, rankings: Sequence[Ranking]) -> Any:
    """A function of the columns. Workers import this package for it, as they do for indexes."""
    bits = bits_of(len(rankings))

    @arrow_udf("bigint")  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    def place(*columns: pa.Array) -> pa.Array:  # the hints choose the kind of function
        ranks = [one.ranks(c, bits) for one, c in zip(rankings, columns, strict=True)]
        return pa.array(CURVES[curve](ranks, bits))

    return place


def _joined(
    session: SparkSession,
    rows: DataFrame,
    lookup: Lookup | DataFrame,
    columns: Sequence[str],
    prefix: str,
    value: str,
) -> DataFrame:
    """The rows with the lookup's value beside them."""
    names = [f"{prefix}{i}" for i in range(len(columns))]
    if isinstance(lookup, Lookup):
        table = pa.table([*lookup.keys.columns, lookup.values], names=[*names, value])
        found = session.createDataFrame(table)
        if lookup.nbytes <= _BROADCAST_BYTES:
            found = F.broadcast(found)
    else:
        found = lookup.toDF(*names, value)
    same = [
        F.col(quote(one, "spark")) == F.col(name) for one, name in zip(columns, names, strict=True)
    ]
    condition = same[0]
    for one in same[1:]:
        condition = condition & one
    return rows.join(found, condition, "left").drop(*names)


def _free_prefix(names: Sequence[str]) -> str:
    """What no column's name begins with."""
    prefix = "order_"
    while any(name.lower().startswith(prefix) for name in names):
        prefix = f"_{prefix}"
    return prefix
