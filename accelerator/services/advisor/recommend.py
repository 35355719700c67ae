"""A choice in words: what to create, and what to drop, with what it spares and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from accelerator.query.explain.suggest_cube import free
from accelerator.services.advisor.cubes.options import Offer
from accelerator.services.advisor.indexes.clustering import Ordered, ordered_by
from accelerator.services.advisor.indexes.options import IndexAccess, Standing
from accelerator.services.advisor.indexes.wording import AccessWords
from accelerator.services.advisor.marginal_gain import MarginalGain, id_of
from accelerator.services.advisor.workload.digests import digest_of
from accelerator.store.journals.advice import Recommendation
from rewrite.render.readable import bare

if TYPE_CHECKING:
    from accelerator.iceberg import PinnedTable
    from accelerator.services.advisor.cubes.candidates import CubeCandidate
    from accelerator.store import CubeRecord, RegistryVersion

Choosable = Offer | IndexAccess | Standing | Ordered
"""What the choice is among; each has its `option`."""
SHAPES_MAX = 100


class Recommending:
    """Of one choice among offers. `facts` are their tables by uuid, as far as they're there."""

    def __init__(
        self,
        offers: Sequence[Choosable],
        shares: MarginalGain,
        registry: RegistryVersion,
        facts: Mapping[str, PinnedTable],
        keep_days: float,
    ) -> None:
        self._offers, self._shares, self._keep_days = offers, shares, keep_days
        self._registry, self._facts = registry, facts
        self._taken = set(registry.cubes) | {one.cube.name for one in registry.bin}

    def all(self) -> Iterator[Recommendation]:
        """Those to make, what spares most first, but what is needed before it; then those to drop.

        Orders come behind indexes of as much gain.
        """
        chosen = [one for one in self._offers if one.option.name in self._shares.names]
        words = AccessWords(self._shares, self._registry)
        made = words.created([one for one in chosen if isinstance(one, IndexAccess)])
        made += [words.order(one) for one in chosen if isinstance(one, Ordered)]
        cubes = [one for one in chosen if isinstance(one, Offer) and one.candidate is not None]
        cubes.sort(key=lambda one: (-self._shares.gain(one.option), one.option.name))
        made += [self._create(one, one.candidate) for one in cubes if one.candidate is not None]
        yield from _in_order(made)
        idle = [one for one in self._offers if one.option.name not in self._shares.names]
        for one in idle:
            if isinstance(one, Offer) and one.record is not None and one.droppable:
                yield self._drop(one, one.record)
        yield from self._idle_indexes([one for one in idle if isinstance(one, Standing)], words)

    def _idle_indexes(
        self, idle: Sequence[Standing], words: AccessWords
    ) -> Iterator[Recommendation]:
        why = "it left nothing out for any statement that counts"
        if self._keep_days:
            why = f"it left nothing out for {self._keep_days:g} days"
        known = [
            (one, self._facts[one.record.table_uuid])
            for one in idle
            if one.droppable and one.record.table_uuid in self._facts
        ]
        keys = {key for fact in self._facts.values() for key in ordered_by(fact.properties)}
        yield from words.dropped(known, why, keys)

    def _create(self, offer: Offer, candidate: CubeCandidate) -> Recommendation:
        name = free(candidate.title, self._taken)
        self._taken.add(name)
        digest = digest_of(candidate.cube)
        ddl = f"CREATE CUBE {bare(name)} AS {candidate.text}"
        served, gain = self._shares.served(offer.option), self._shares.gain(offer.option)
        runs = sum(one.runs for one in served)
        return Recommendation(
            id=id_of("CREATE CUBE", ddl, digest),
            action="CREATE CUBE",
            table=candidate.cube.fact.name,
            table_uuid=candidate.cube.fact.uuid,
            cube=name,
            ddl=ddl,
            reason=f"it would answer {runs} statements of {len(served)} shapes best",
            gain_ms=gain,
            gain_share=self._shares.part(gain),
            bytes=int(offer.option.bytes),
            build_s=offer.option.build_s,
            statements=runs,
            samples=self._shares.samples(served),
            digest=digest,
        )

    def _drop(self, offer: Offer, record: CubeRecord) -> Recommendation:
        ddl = f"DROP CUBE {bare(record.name)}"
        why = "it isn't among those that pay best"
        if self._keep_days:
            why = f"it answered nothing for {self._keep_days:g} days"
        if self._shares.would_save_more(offer.option):
            why += ", and the budget has better uses"
        elif offer.option.saves:
            why += ", and others answer what it could"
        why = offer.why or why
        served = self._shares.able(offer.option)
        return Recommendation(
            id=id_of("DROP CUBE", ddl, record.id),
            action="DROP CUBE",
            table=record.table,
            table_uuid=record.table_uuid,
            cube=record.name,
            ddl=ddl,
            reason=why,
            bytes=int(offer.option.bytes),
            statements=sum(one.runs for one in served),
            samples=self._shares.samples(served),
            cube_id=record.id,
            shapes=tuple(sorted({one.shape for one in served}))[:SHAPES_MAX],
        )


def _in_order(made: Sequence[Recommendation]) -> list[Recommendation]:
    """What spares most first, and each behind what it needs."""
    found: dict[str, Recommendation] = {}
    by_id = {one.id: one for one in made}
    for one in sorted(made, key=lambda one: -one.gain_ms):
        for need in one.needs:
            found.setdefault(need, by_id[need])
        if one.action != "ADD RELATE COLUMN":
            found.setdefault(one.id, one)
    return list(found.values())
