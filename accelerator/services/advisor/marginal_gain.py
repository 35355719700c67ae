"""What each of the chosen options spares beside the others, and which blocks it serves. Pure."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from accelerator.services.advisor.choose import Option, saved

if TYPE_CHECKING:
    from accelerator.services.advisor.workload.queries import WorkloadQuery
    from accelerator.store.journals.advice import Action

SAMPLES_MAX = 3


class MarginalGain:
    """Of the options that are chosen; `total` is what all blocks take in a day."""

    def __init__(
        self, chosen: Sequence[Option], blocks: Sequence[WorkloadQuery], total: float
    ) -> None:
        self.chosen, self._blocks, self._total = tuple(chosen), blocks, total
        self.names = frozenset(one.name for one in chosen)
        self._saved = saved(chosen)
        self._best = self._served_best()

    def _served_best(self) -> dict[str, list[int]]:
        """By option, the blocks that it serves best of those chosen."""
        served: dict[str, list[int]] = defaultdict(list)
        for number in range(len(self._blocks)):
            able = [one for one in self.chosen if number in one.saves]
            if able:
                best = min(able, key=lambda o: (-o.saves[number], o.name))
                served[best.name].append(number)
        return served

    def gain(self, option: Option) -> float:
        """Milliseconds that it spares in a day beside the others."""
        rest = saved(one for one in self.chosen if one is not option)
        return max(0.0, self._saved - rest)

    def part(self, gain: float) -> float:
        """Which part that is of all that is taken."""
        return gain / self._total if self._total else 0.0

    def served(self, option: Option) -> list[WorkloadQuery]:
        """One block of each shape that it serves best."""
        return self._of_shapes(self._best[option.name])

    def able(self, option: Option) -> list[WorkloadQuery]:
        """One block of each shape that it could serve."""
        return self._of_shapes(option.saves)

    def _of_shapes(self, numbers: Iterable[int]) -> list[WorkloadQuery]:
        return list({(one := self._blocks[number]).shape: one for number in numbers}.values())

    def would_save_more(self, option: Option) -> bool:
        """Whether one that isn't chosen would spare something beside those that are."""
        return saved([*self.chosen, option]) > self._saved

    @staticmethod
    def samples(served: Sequence[WorkloadQuery]) -> tuple[str, ...]:
        """Texts of those that weigh most."""
        heaviest = sorted(served, key=lambda one: (-one.weight, one.shape))
        return tuple(one.sample for one in heaviest[:SAMPLES_MAX])


def id_of(action: Action, ddl: str, more: str) -> str:
    """The id of a recommendation: SQL takes it for a word."""
    digest = hashlib.blake2b(repr((action, ddl, more)).encode(), digest_size=6)
    return f"r{digest.hexdigest()}"
