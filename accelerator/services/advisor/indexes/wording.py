"""Indexes, relate columns and orders in words: what to make, and what to drop."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from accelerator.artifacts.relate.declaration import relate_columns
from accelerator.query.explain.suggest_cube import free
from accelerator.services.advisor.indexes.clustering import Ordered
from accelerator.services.advisor.indexes.options import IndexAccess, Standing
from accelerator.services.advisor.marginal_gain import MarginalGain, id_of
from accelerator.services.advisor.workload.digests import (
    index_digest,
    relate_digest,
    relate_meaning,
    used_digest,
)
from accelerator.services.clustering.order import Curve
from accelerator.store.journals.advice import Recommendation
from rewrite.render.readable import bare

if TYPE_CHECKING:
    from accelerator.artifacts.relate.declaration import RelateColumn
    from accelerator.iceberg import PinnedTable
    from accelerator.services.advisor.indexes.trial_build import Planned
    from accelerator.store import RegistryVersion

_WORDS: dict[Curve, str] = {"sort": "SORT BY", "zorder": "ZORDER BY", "hilbert": "HILBERT BY"}
_NAME_MAX = 100


def planned_digest(table_uuid: str, planned: Planned) -> str:
    """What an index that may be made means."""
    column, path = planned.column, planned.path
    of = column.field_id if path is None else relate_meaning(path.column)
    return index_digest(table_uuid, planned.kind, column.type, of)


class AccessWords:
    """Of one choice; names that are taken by then are not given again."""

    def __init__(self, shares: MarginalGain, registry: RegistryVersion) -> None:
        self._shares, self._registry = shares, registry
        self._names = set(registry.indexes)

    def created(self, chosen: Sequence[IndexAccess]) -> list[Recommendation]:
        """What the options need, each once: relate columns before the indexes on them."""
        found: dict[str, Recommendation] = {}
        ordered = sorted(chosen, key=lambda one: (-self._shares.gain(one.option), one.option.name))
        for access in ordered:
            for planned in access.planned:
                needs = tuple[str, ...]()
                relate = access.relates.get(planned.column.field_id)
                if relate is not None:
                    key = f"{access.fact.facts.uuid} {relate.name}"
                    if key not in found:
                        found[key] = self._relate(access, planned)
                    needs = (found[key].id,)
                key = f"{access.fact.facts.uuid} {planned.name}"
                gain = self._shares.gain(access.option) / len(access.planned)
                known = found.get(key)
                if known is None:
                    found[key] = self._index(access, planned, gain, needs)
                else:
                    part = self._shares.part(gain)
                    found[key] = replace(
                        known, gain_ms=known.gain_ms + gain, gain_share=known.gain_share + part
                    )
        return list(found.values())

    def _index(
        self, access: IndexAccess, planned: Planned, gain: float, needs: tuple[str, ...]
    ) -> Recommendation:
        fact, column = access.fact, planned.column
        name = free(_named(fact, column.name), self._names)
        self._names.add(name)
        ddl = (
            f"CREATE INDEX {bare(name)} ON {_full(fact)} USING {planned.kind} ({bare(column.name)})"
        )
        digest = planned_digest(fact.facts.uuid, planned)
        served = self._shares.served(access.option)
        runs = sum(one.runs for one in served)
        left = min(access.leaves.values())
        beside = " with the others" if len(access.planned) > 1 else ""
        return Recommendation(
            id=id_of("CREATE INDEX", ddl, digest),
            action="CREATE INDEX",
            table=fact.facts.name,
            table_uuid=fact.facts.uuid,
            cube="",
            ddl=ddl,
            reason=f"it would serve {runs} statements of {len(served)} shapes best,"
            f" of which one would read {left:.0%} of the bytes that it reads now{beside}",
            gain_ms=gain,
            gain_share=self._shares.part(gain),
            bytes=int(access.bytes[planned.name]),
            build_s=access.seconds[planned.name],
            statements=runs,
            samples=self._shares.samples(served),
            digest=digest,
            index=name,
            needs=needs,
        )

    def _relate(self, access: IndexAccess, planned: Planned) -> Recommendation:
        """Its gain is that of the indexes on it."""
        possible, fact = access.relates[planned.column.field_id], access.fact
        ddl, digest = possible.ddl, relate_digest(fact.facts.uuid, possible.path.column)
        return Recommendation(
            id=id_of("ADD RELATE COLUMN", ddl, digest),
            action="ADD RELATE COLUMN",
            table=fact.facts.name,
            table_uuid=fact.facts.uuid,
            cube="",
            ddl=ddl,
            reason="an index that is advised, too, is on it",
            digest=digest,
            relate=possible.name,
        )

    def order(self, ordered: Ordered) -> Recommendation:
        """The rewrite of a table."""
        fact, order = ordered.fact, ordered.order
        keys = ", ".join(bare(key.name) for key in order.keys)
        ddl = f"OPTIMIZE {_full(fact)} {_WORDS[order.curve]} ({keys})"
        served = self._shares.served(ordered.option)
        runs = sum(one.runs for one in served)
        gain = self._shares.gain(ordered.option)
        shares = sorted(ordered.leaves.values())
        middle = shares[len(shares) // 2] if shares else 1.0
        return Recommendation(
            id=id_of("OPTIMIZE", ddl, order.id),
            action="OPTIMIZE",
            table=fact.facts.name,
            table_uuid=fact.facts.uuid,
            cube="",
            ddl=ddl,
            reason=f"{runs} statements of {len(served)} shapes would read about {middle:.0%} of the"
            " bytes that they read now; it rewrites the table, so it's applied by its id alone",
            gain_ms=gain,
            gain_share=self._shares.part(gain),
            build_s=ordered.option.build_s,
            statements=runs,
            samples=self._shares.samples(served),
            digest=order.id,
        )

    def dropped(
        self, idle: Sequence[tuple[Standing, PinnedTable]], why: str, keys: set[int]
    ) -> Iterator[Recommendation]:
        """Indexes that nobody uses, and relate columns of which all indexes are among them.

        `keys` are relate columns that files are in the order of: these stay.
        """
        on = Counter((one.table_uuid, one.field_id) for one in self._registry.indexes.values())
        relates: dict[tuple[str, int], list[tuple[Standing, PinnedTable]]] = {}
        for standing, fact in idle:
            record = standing.record
            key = record.table_uuid, record.field_id
            if record.field_id < 0 and record.field_id not in keys:
                relates.setdefault(key, []).append((standing, fact))
            else:
                yield self._drop_index(standing, why)
        for (_, number), some in sorted(relates.items()):
            column = _relate_of(some[0][1], number)
            if len(some) == on[some[0][0].record.table_uuid, number] and column is not None:
                yield self._drop_relate(some, column, why)
            else:
                yield from (self._drop_index(standing, why) for standing, _ in some)

    def _drop_index(self, standing: Standing, why: str) -> Recommendation:
        record = standing.record
        ddl = f"DROP INDEX {bare(record.name)}"
        return Recommendation(
            id=id_of("DROP INDEX", ddl, record.id),
            action="DROP INDEX",
            table=record.table,
            table_uuid=record.table_uuid,
            cube="",
            ddl=ddl,
            reason=standing.why or why,
            bytes=int(standing.option.bytes),
            index=record.name,
            object_id=record.id,
        )

    def _drop_relate(
        self, some: Sequence[tuple[Standing, PinnedTable]], column: RelateColumn, why: str
    ) -> Recommendation:
        fact = some[0][1]
        ddl = f"ALTER TABLE {_full(fact)} DROP RELATE COLUMN {bare(column.name)}"
        digest = used_digest([standing.record for standing, _ in some])
        names = ", ".join(sorted(standing.record.name for standing, _ in some))
        reason = next((standing.why for standing, _ in some if standing.why), why)
        return Recommendation(
            id=id_of("DROP RELATE COLUMN", ddl, f"{column.id} {digest}"),
            action="DROP RELATE COLUMN",
            table=fact.facts.name,
            table_uuid=fact.facts.uuid,
            cube="",
            ddl=ddl,
            reason=f"{reason}, of the indexes on it, which go with it: {names}"[:1024],
            bytes=sum(int(standing.option.bytes) for standing, _ in some),
            digest=digest,
            relate=column.name,
            object_id=str(column.id),
        )


def _relate_of(fact: PinnedTable, number: int) -> RelateColumn | None:
    return next((one for one in relate_columns(fact.properties) if one.id == number), None)


def _full(fact: PinnedTable) -> str:
    return ".".join(bare(one) for one in fact.parts)


def _named(fact: PinnedTable, column: str) -> str:
    """A name for an index that SQL takes as a word."""
    words = re.sub(r"\W+", "_", f"{fact.parts[-1]}_{column}", flags=re.ASCII).strip("_").lower()
    return (words or "an_index")[:_NAME_MAX]
