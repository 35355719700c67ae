"""The order in which a fact's rows should lie, where one surely pays: one for each table, or none.

What an order would let statements leave out is simulated (`clustering_simulation.py`) and set
against what they leave out of the files as they lie. What it spares some is less what it takes from
others. A relate column counts as a key where an index on it tells of its values, since files have
no bounds of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from msgspec import Struct

from accelerator.artifacts.relate.index_validity import key_columns
from accelerator.services.advisor.choose import Option
from accelerator.services.advisor.cost_model import order_seconds, per_day
from accelerator.services.advisor.cubes.row_sample import sampled_rows
from accelerator.services.advisor.indexes.clustering_simulation import (
    ClusteringOrder,
    Values,
    layouts,
)
from accelerator.services.advisor.indexes.options import FactAccess, FactReads
from accelerator.services.advisor.workload.filters import FAILS
from accelerator.services.clustering.options import file_bytes
from accelerator.services.clustering.order import Order, OrderKey, StoredOrder
from indexes.domains import domain_of
from indexes.question import Among, Compare, Like, Question
from rewrite.ir.expr import Column

if TYPE_CHECKING:
    from accelerator.artifacts.relate.path import Path
    from accelerator.iceberg import PinnedTable
    from accelerator.services.advisor.cubes.options import AnalysisScope

KEYS_MAX = 6
GAIN_MIN = 0.2
"""The part of what a table's filtered statements take that an order has to spare at least."""
PAYS_DAYS = 30
_ROWS_MAX = 100_000
_PART_ROWS = 5_000
"""Of the sample for each part: bounds of as many are hardly closer than those of all rows."""
_KINDS = frozenset({"BITMAP", "RANGE"})


class Ordered(Struct, frozen=True):
    """An option: the order, and what each of the fact's blocks reads then, as a share of now.

    `total` is what the fact's filtered statements take in a day.
    """

    option: Option
    fact: PinnedTable
    order: Order
    leaves: Mapping[int, float]
    total: float

    def pays(self, ms: float) -> bool:
        """Whether so much that it spares in a day is worth the rewrite."""
        return ms >= GAIN_MIN * self.total and ms * PAYS_DAYS > self.option.build_s * 1000


class FactOrder:
    """Of one fact; `access` knows its statements and what they read."""

    def __init__(
        self,
        scope: AnalysisScope,
        fact: PinnedTable,
        access: FactAccess,
        first: int,
        row_group: int,
    ) -> None:
        self._scope, self._fact, self._access = scope, fact, access
        self._first, self._row_group = first, row_group

    def offer(self) -> Ordered | None:
        """The one order that pays most; None where none surely does."""
        state, fact = self._access.state, self._fact
        if state is None:
            return None
        parts = -(-state.sample.of_bytes // min(self._row_group, file_bytes(fact)))
        keys = self._keys(state)
        if parts < 2 or not keys:
            return None
        if fact.partition_columns:
            self._scope.note(f"{fact.facts.name} is partitioned: no order of its rows is tried")
            return None
        try:
            values = self._values(keys, state, min(_ROWS_MAX, int(parts) * _PART_ROWS))
        except FAILS as error:
            self._scope.check()
            self._scope.note(f"no order of {fact.facts.name} is tried: {str(error)[:200]}")
            return None
        found = [
            self._simulated(one, keys, values, int(parts), state) for one in layouts(list(keys))
        ]
        able = [one for one in found if one is not None]

        def pays(one: Ordered) -> tuple[float, int]:
            return sum(one.option.saves.values()), -len(one.order.keys)

        best = max(able, key=pays, default=None)
        return None if best is None or best.order.id == order_id(self._fact.properties) else best

    def _keys(self, state: FactReads) -> dict[int, OrderKey]:
        """Columns that rows may be ordered by, those first whose statements take longest."""
        weights: dict[int, float] = {}
        for one in state.filtered:
            takes = one.asked.weight * self._scope.rates.now_ms(one.asked)
            able = {column.field_id for column, question in one.asks if _is_ordered(question)}
            for number in able:
                weights[number] = weights.get(number, 0.0) + takes
        found = dict[int, OrderKey]()
        for number in sorted(weights, key=lambda one: (-weights[one], one)):
            key = self._key(number)
            if key is not None and len(found) < KEYS_MAX:
                found[number] = key
        return found

    def _key(self, number: int) -> OrderKey | None:
        path = self._access.filters.relates.get(number)
        if path is not None:
            column = path.as_column
            if not self._has_relate_index(number):
                return None
        else:
            own = (c for c in self._fact.facts.columns if c.field_id == number)
            found = next(own, None)
            if found is None:
                return None
            column = found
        if domain_of(column.type) is None:
            return None
        return OrderKey(column.field_id, column.name, column.type, path=path)

    def _has_relate_index(self, number: int) -> bool:
        """Whether an index that stays tells which files have which of a relate column's values."""
        return any(
            one.record.field_id == number and one.record.kind in _KINDS and not one.droppable
            for one in self._access.standing
        )

    def _values(self, keys: Mapping[int, OrderKey], state: FactReads, most: int) -> Values:
        """A sample, of so many rows, of what statements filter by."""
        scope, fact = self._scope, self._fact
        relates: dict[int, Path] = {n: k.path for n, k in keys.items() if k.path is not None}
        named = {c.field_id for one in state.filtered for c, _ in one.asks if c.field_id > 0}
        wanted = {c.field_id: c for c in fact.facts.columns if c.field_id in named}
        by_key = {n: key_columns(path, fact) or [] for n, path in relates.items()}
        wanted |= {c.field_id: c for some in by_key.values() for c in some}
        read = [Column(0, c.field_id, c.name, c.type) for _, c in sorted(wanted.items())]
        rows, _ = sampled_rows(fact, read, scope.services.duckdb, scope.tag, scope.check)
        places = np.linspace(0, max(rows.num_rows - 1, 0), min(rows.num_rows, most))
        rows = rows.take(pa.array(np.unique(places.astype(np.int64))))
        arrays = {c.field_id: rows.column(c.name).combine_chunks() for c in read}
        found = {
            number: (arrays[number], wanted[number].type)
            for number in sorted(named & arrays.keys())
            if domain_of(wanted[number].type) is not None
        }
        for number, path in relates.items():
            lookup = scope.services.dimensions.lookup(path)
            values = lookup.of([arrays[c.field_id] for c in by_key[number]])
            found[number] = values, path.attribute.type
        return Values(found)

    def _simulated(
        self,
        layout: ClusteringOrder,
        keys: Mapping[int, OrderKey],
        values: Values,
        parts: int,
        state: FactReads,
    ) -> Ordered | None:
        """None where it doesn't surely pay."""
        scope = self._scope
        scope.check()
        shares = values.touched(layout, parts, [one.under(state.there) for one in state.filtered])
        gains, leaves = dict[int, float](), dict[int, float]()
        lost = total = 0.0
        for one, then in zip(state.filtered, shares, strict=True):
            now = state.now[one.number].bytes / max(state.sample.bytes, 1)
            takes = scope.rates.now_ms(one.asked)
            total += per_day(takes, one.asked.weight, scope.workload.days)
            ratio = then / now if now else 1.0
            if ratio > 1:
                more = takes * (ratio - 1)
                lost += per_day(more, one.asked.weight, scope.workload.days)
                continue
            spared = scope.rates.left_ms(one.asked, ratio)
            ms = per_day(spared, one.asked.weight, scope.workload.days)
            if ms > 0:
                gains[self._first + one.number] = ms
                leaves[self._first + one.number] = ratio
        gained = sum(gains.values())
        net = gained - lost
        seconds = order_seconds(state.sample.of_bytes, is_used=self._is_used())
        if net <= 0:
            return None
        saves = {number: ms * net / gained for number, ms in gains.items()}
        order = Order(
            self._fact.facts.uuid, layout.curve, tuple(keys[number] for number in layout.keys)
        )
        option = Option(f"{self._fact.facts.uuid} order", 0.0, seconds, saves)
        found = Ordered(option, self._fact, order, leaves, total)
        return found if found.pays(net) else None

    def _is_used(self) -> bool:
        uuid, registry = self._fact.facts.uuid, self._scope.services.store.registry()
        return any(one.table_uuid == uuid for one in registry.cubes.values()) or any(
            one.table_uuid == uuid for one in registry.indexes.values()
        )


def _is_ordered(question: Question) -> bool:
    """Whether bounds may leave something out for it where rows are ordered by its column."""
    if isinstance(question, Like):
        return question.starts and not question.folded
    return isinstance(question, Among | Compare)


def order_id(properties: Mapping[str, str]) -> str:
    """The id of the order that a table was rewritten in last; empty of none."""
    stored = StoredOrder.of(properties)
    return "" if stored is None else stored.id


def ordered_by(properties: Mapping[str, str]) -> set[int]:
    """The ids of the columns of that order, those of relate columns among them."""
    stored = StoredOrder.of(properties)
    return set() if stored is None else {key.id for key in stored.keys}
