"""Which options to take under two budgets, where a question is served by the best one taken. Pure.

What a set saves is monotone and submodular: one more option never saves less, and saves less the
more there are. A lazy greedy choice by savings per cost is bettered by exchanges, then by a branch
and bound that ends after so many steps. Where it ends before, the choice is the best one there is.
Equal inputs give equal choices, whatever their order: ties go by name.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

_STEPS_MAX = 500_000
"""Options that the search looks at, each as often as it does: a second or two."""
_EXCHANGES_MAX = 1_000_000
"""Options that exchanges look at: a few seconds. Of hundreds of options it's all of them."""
_SEEDS_MAX = 12
_ROUNDS_MAX = 24
_EPSILON = 1e-9


class Option(Struct, frozen=True):
    """What may be taken. `saves` is by question, so many ms; `fixed` ones are taken anyway.

    `bytes` and `build_s` are what it takes from the budgets; 0 or more.
    """

    name: str
    bytes: float
    build_s: float
    saves: Mapping[int, float] = field(default_factory=dict)
    fixed: bool = False


class ChosenOptions(Struct, frozen=True):
    """The options that are taken, by name, and what they save together.

    `is_best`: nothing saves more within the budgets.
    """

    names: tuple[str, ...]
    saved: float
    is_best: bool


def saved(options: Iterable[Option]) -> float:
    """What they save together: each question is served by the one that saves most."""
    best: dict[int, float] = {}
    for option in options:
        for question, ms in option.saves.items():
            best[question] = max(ms, best.get(question, 0.0))
    return sum(best.values())


def choose(
    options: Sequence[Option], bytes_max: float, build_s_max: float, steps: int = _STEPS_MAX
) -> ChosenOptions:
    """The options that save most within the budgets; fixed ones are taken, and count."""
    ordered = sorted(options, key=lambda one: one.name)
    fixed = [one for one in ordered if one.fixed]
    left = _Budgets(
        bytes_max - sum(one.bytes for one in fixed),
        build_s_max - sum(one.build_s for one in fixed),
    )
    free = [one for one in ordered if not one.fixed and left.fits(one) and one.saves]
    base = _best_of(fixed)
    found = _Choices(free, base, left)
    picked = found.greedy(())
    for seed in sorted(free, key=lambda one: (-saved([one]), one.name))[:_SEEDS_MAX]:
        picked = found.better(picked, found.greedy((seed,)))
    picked = found.exchanged(picked)
    picked, is_best = found.bounded(picked, steps)
    picked = found.without_idle(picked)
    names = tuple(sorted([*(one.name for one in fixed), *(one.name for one in picked)]))
    return ChosenOptions(names, saved([*fixed, *picked]), is_best)


class _Budgets(Struct, frozen=True):
    """What is left of the budgets."""

    bytes: float
    build_s: float

    def fits(self, one: Option) -> bool:
        return one.bytes <= self.bytes + _EPSILON and one.build_s <= self.build_s + _EPSILON

    def without(self, one: Option) -> _Budgets:
        return _Budgets(self.bytes - one.bytes, self.build_s - one.build_s)


def _best_of(options: Iterable[Option]) -> dict[int, float]:
    best: dict[int, float] = {}
    for option in options:
        _add(best, option)
    return best


def _add(best: dict[int, float], option: Option) -> None:
    for question, ms in option.saves.items():
        if ms > best.get(question, 0.0):
            best[question] = ms


def _more(best: Mapping[int, float], option: Option) -> float:
    """What an option saves beyond what is saved already."""
    get = best.get
    return sum(ms - had for q, ms in option.saves.items() if ms > (had := get(q, 0.0)))


class _Choices:
    """Choices among options within the rest of the budgets."""

    def __init__(self, free: Sequence[Option], base: Mapping[int, float], left: _Budgets) -> None:
        self._free, self._base, self._left = free, base, left

    def _cost(self, one: Option) -> float:
        """Its share of the budgets."""
        parts = ((one.bytes, self._left.bytes), (one.build_s, self._left.build_s))
        return sum(part / whole for part, whole in parts if part > 0 and whole > 0)

    def _density(self, more: float, one: Option) -> float:
        return more / max(self._cost(one), _EPSILON)

    def value(self, picked: Iterable[Option]) -> float:
        best = dict(self._base)
        for one in picked:
            _add(best, one)
        return sum(best.values())

    def better(self, one: Sequence[Option], other: Sequence[Option]) -> Sequence[Option]:
        """The one that saves more; of two alike the one of fewer bytes, then by names."""
        a, b = self.value(one), self.value(other)
        if abs(a - b) > _EPSILON * max(1.0, a, b):
            return one if a > b else other
        return min(one, other, key=_order)

    def greedy(self, seed: Sequence[Option]) -> Sequence[Option]:
        """Takes what saves most for its cost, again and again. Lazy: savings only shrink."""
        best, left, picked = dict(self._base), self._left, list(seed)
        for one in picked:
            _add(best, one)
            left = left.without(one)
        taken = {one.name for one in picked}
        heap = [
            (-self._density(_more(best, one), one), one.name, number, len(picked))
            for number, one in enumerate(self._free)
            if one.name not in taken
        ]
        heapq.heapify(heap)
        while heap:
            _, name, number, known = heapq.heappop(heap)
            one = self._free[number]
            if not left.fits(one):
                continue
            more = _more(best, one)
            if more <= _EPSILON:
                continue
            if known < len(picked):
                heapq.heappush(heap, (-self._density(more, one), name, number, len(picked)))
                continue
            picked.append(one)
            _add(best, one)
            left = left.without(one)
        return picked

    def exchanged(self, picked: Sequence[Option]) -> Sequence[Option]:
        """One out, and what is best then in, as long as that saves more."""
        steps = _EXCHANGES_MAX
        for _ in range(_ROUNDS_MAX):
            before = picked
            for out in sorted(before, key=lambda one: one.name):
                steps -= len(self._free) + len(picked)
                if steps < 0:
                    return picked
                rest = [one for one in picked if one is not out]
                if len(rest) == len(picked):
                    continue
                others = _Choices(
                    [one for one in self._free if one is not out], self._base, self._left
                )
                picked = self.better(picked, others.greedy(rest))
            if picked is before or self.value(picked) <= self.value(before) + _EPSILON:
                return picked
        return picked

    def bounded(self, picked: Sequence[Option], steps: int) -> tuple[Sequence[Option], bool]:
        """A better choice if there is one, and whether all were looked at or ruled out."""
        search = _BranchAndBound(self, self._free, picked, steps)
        search.run(dict(self._base), self._left)
        return search.picked, search.steps > 0

    def without_idle(self, picked: Sequence[Option]) -> Sequence[Option]:
        """Without those that save nothing beside the others."""
        by_question: dict[int, dict[str, float]] = {}
        for one in picked:
            for question, ms in one.saves.items():
                by_question.setdefault(question, {})[one.name] = ms
        kept = {one.name: one for one in picked}
        for one in sorted(picked, key=lambda one: (-one.bytes, one.name)):
            if self._lost(one, by_question) <= _EPSILON:
                del kept[one.name]
                for question in one.saves:
                    del by_question[question][one.name]
        return list(kept.values())

    def _lost(self, one: Option, by_question: Mapping[int, Mapping[str, float]]) -> float:
        """What wouldn't be saved without it, beside those that are left."""
        lost = 0.0
        for question, ms in one.saves.items():
            others = (had for name, had in by_question[question].items() if name != one.name)
            most = max(self._base.get(question, 0.0), max(others, default=0.0))
            lost += max(0.0, ms - most)
        return lost


def _order(picked: Sequence[Option]) -> tuple[float, tuple[str, ...]]:
    return sum(one.bytes for one in picked), tuple(sorted(one.name for one in picked))


class _BranchAndBound:
    """Takes or leaves option after option, where what is left could still save more."""

    def __init__(
        self, found: _Choices, free: Sequence[Option], picked: Sequence[Option], steps: int
    ) -> None:
        self.picked, self.steps = picked, steps
        self._most = found.value(picked)
        self._free = free

    def run(self, best: dict[int, float], left: _Budgets) -> None:
        """From nothing taken."""
        self._go(list(self._free), best, left, [], sum(best.values()))

    def _go(
        self,
        free: Sequence[Option],
        best: dict[int, float],
        left: _Budgets,
        taken: list[Option],
        value: float,
    ) -> None:
        self.steps -= 1 + len(free)
        if self.steps <= 0:
            return
        if value > self._most * (1 + _EPSILON) + _EPSILON:
            self._most, self.picked = value, tuple(taken)
        more = [(_more(best, one), one) for one in free if left.fits(one)]
        more = [pair for pair in more if pair[0] > _EPSILON]
        if not more or value + _bound(more, left) <= self._most * (1 + _EPSILON) + _EPSILON:
            return
        more.sort(key=lambda pair: (-pair[0], pair[1].name))
        one, rest = more[0][1], [pair[1] for pair in more[1:]]
        with_it = dict(best)
        _add(with_it, one)
        self._go(rest, with_it, left.without(one), [*taken, one], sum(with_it.values()))
        self._go(rest, best, left, taken, value)


def _bound(more: Sequence[tuple[float, Option]], left: _Budgets) -> float:
    """At least what these could save together: parts of them fill each of the budgets."""
    by_bytes = _filled([(ms, one.bytes) for ms, one in more], left.bytes)
    return min(by_bytes, _filled([(ms, one.build_s) for ms, one in more], left.build_s))


def _filled(pairs: list[tuple[float, float]], room: float) -> float:
    pairs.sort(key=lambda pair: pair[0] / pair[1] if pair[1] > 0 else float("inf"), reverse=True)
    total = 0.0
    for ms, cost in pairs:
        if cost <= 0:
            total += ms
        elif cost <= room:
            total += ms
            room -= cost
        else:
            return total + ms * max(room, 0.0) / cost
    return total
