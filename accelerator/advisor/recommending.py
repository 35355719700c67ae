"""A choice in words: what to create, and what to drop, with what it spares and for whom."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from accelerator.advisor.advice import Action, Recommendation
from accelerator.advisor.asked import Asked
from accelerator.advisor.choose import saved
from accelerator.suggested_cube import free
from cubes.definition import CubeDefinition, to_dict
from rewrite.words import bare

if TYPE_CHECKING:
    from accelerator.advisor.candidates import Candidate
    from accelerator.advisor.offers import Offer
    from accelerator.store import CubeRecord, RegistryVersion

SAMPLES_MAX, SHAPES_MAX = 3, 100


class Recommending:
    """Of one choice among offers; `total` is what all blocks take in a day."""

    def __init__(
        self,
        offers: Sequence[Offer],
        chosen: Sequence[Offer],
        blocks: Sequence[Asked],
        total: float,
        registry: RegistryVersion,
        keep_days: float,
    ) -> None:
        self._offers, self._chosen, self._keep_days = offers, chosen, keep_days
        self._blocks, self._total = blocks, total
        self._taken = set(registry.cubes) | {one.cube.name for one in registry.bin}
        self._served = self._best()

    def _best(self) -> dict[str, list[int]]:
        """By option, the blocks that it serves best of those chosen."""
        served: dict[str, list[int]] = defaultdict(list)
        for number in range(len(self._blocks)):
            able = [one.option for one in self._chosen if number in one.option.saves]
            if able:
                best = min(able, key=lambda o: (-o.saves[number], o.name))
                served[best.name].append(number)
        return served

    def all(self) -> Iterator[Recommendation]:
        """Those to create, what spares most first; then those to drop."""
        every = saved(one.option for one in self._chosen)
        created: list[tuple[float, Offer, Candidate]] = []
        for one in self._chosen:
            if one.candidate is not None:
                rest = [other.option for other in self._chosen if other is not one]
                created.append((max(0.0, every - saved(rest)), one, one.candidate))
        for gain, one, candidate in sorted(created, key=lambda row: (-row[0], row[1].option.name)):
            yield self._create(one, candidate, gain)
        names = {one.option.name for one in self._chosen}
        for one in self._offers:
            if one.record is not None and one.droppable and one.option.name not in names:
                yield self._drop(one, one.record)

    def _create(self, offer: Offer, candidate: Candidate, gain: float) -> Recommendation:
        name = free(candidate.title, self._taken)
        self._taken.add(name)
        digest = digest_of(candidate.cube)
        ddl = f"CREATE CUBE {bare(name)} AS {candidate.text}"
        served = [self._blocks[number] for number in self._served[offer.option.name]]
        shapes = {one.shape: one for one in served}
        runs = sum(one.runs for one in shapes.values())
        return Recommendation(
            id=_id("CREATE CUBE", ddl, digest),
            action="CREATE CUBE",
            table=candidate.cube.fact.name,
            table_uuid=candidate.cube.fact.uuid,
            cube=name,
            ddl=ddl,
            reason=f"it would answer {runs} statements of {len(shapes)} shapes best",
            gain_ms=gain,
            gain_share=gain / self._total if self._total else 0.0,
            bytes=int(offer.option.bytes),
            build_s=offer.option.build_s,
            statements=runs,
            samples=_samples(list(shapes.values())),
            digest=digest,
        )

    def _drop(self, offer: Offer, record: CubeRecord) -> Recommendation:
        ddl = f"DROP CUBE {bare(record.name)}"
        why = "it isn't among those that pay best"
        if self._keep_days:
            why = f"it answered nothing for {self._keep_days:g} days"
        chosen = [one.option for one in self._chosen]
        if saved([*chosen, offer.option]) > saved(chosen):
            why += ", and the budget has better uses"
        elif offer.option.saves:
            why += ", and others answer what it could"
        why = offer.why or why
        shapes = {self._blocks[number].shape: number for number in offer.option.saves}
        served = [self._blocks[number] for number in shapes.values()]
        return Recommendation(
            id=_id("DROP CUBE", ddl, record.id),
            action="DROP CUBE",
            table=record.table,
            table_uuid=record.table_uuid,
            cube=record.name,
            ddl=ddl,
            reason=why,
            bytes=int(offer.option.bytes),
            statements=sum(one.runs for one in served),
            samples=_samples(served),
            cube_id=record.id,
            shapes=tuple(sorted(shapes))[:SHAPES_MAX],
        )


def _samples(served: Sequence[Asked]) -> tuple[str, ...]:
    heaviest = sorted(served, key=lambda one: (-one.weight, one.shape))
    return tuple(one.sample for one in heaviest[:SAMPLES_MAX])


def digest_of(cube: CubeDefinition) -> str:
    """What the cube means, by the ids of tables and fields, and their types."""
    raw = to_dict(cube)
    tables = [[uuid, ref] for _, uuid, _, ref in raw["tables"]]
    parts = ("left", "conjuncts", "dimensions", "states")
    text = json.dumps([tables, *(raw[name] for name in parts)])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _id(action: Action, ddl: str, more: str) -> str:
    digest = hashlib.blake2b(repr((action, ddl, more)).encode(), digest_size=6)
    return f"r{digest.hexdigest()}"  # SQL takes it for a word
