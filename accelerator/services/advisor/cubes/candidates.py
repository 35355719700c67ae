"""Cubes that might be made, each a SELECT that was bound, and which blocks each answers.

A candidate answers a block where `match` proves it, and where the joins that the proof needs
counted hold on the tables as they are: nothing else is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct
from sqlglot.errors import SqlglotError

from accelerator.errors import AcceleratorError
from accelerator.query.explain.suggest_cube import Select
from accelerator.services.advisor.cubes.cube_select import (
    facts_of,
    key_names,
    merged,
    name_of,
    star,
)
from accelerator.services.advisor.workload.queries import WorkloadQuery
from accelerator.store.journals.advice import DDL_MAX
from cubes.definition import CubeDefinition, define_stored
from cubes.match.match import match
from cubes.match_result import Match
from rewrite.errors import DefinitionError
from rewrite.ir.block import Block
from rewrite.reason import DeclinedError

Bind = Callable[[str], Block]
_BASES_MAX = 48
"""Stars of blocks that are merged with others, those first whose blocks take longest."""
CANDIDATES_MAX = 200
"""Of one fact, merged ones among them: each is sized, and matched with each block."""
_TRIED_MAX = 1_000
"""Merges whose sizes are asked for."""
_SLACK = 1.1
_NAME_MAX = 2_048
"""Of a DDL, beside its SELECT."""
_KEYS_MAX = 24
"""A cube of more dimensions has as many cells as its fact has rows."""


class CubeCandidate(Struct, frozen=True):
    """A cube that may be made: its star, the text of it, and what that means once bound."""

    name: str
    star: Block
    text: str
    title: str
    cube: CubeDefinition


def made(star: Block, bind: Bind) -> CubeCandidate | None:
    """The candidate of a star; None where SQL or cubes can't have it."""
    try:
        select = Select(star, star.occurrences[0])
        text = select.text()
        cube = define_stored(bind(text))
    except (DeclinedError, DefinitionError, AcceleratorError, SqlglotError, RecursionError):
        return None
    if len(text) + _NAME_MAX > DDL_MAX:
        return None
    return CubeCandidate(name_of(star), star, text, select.name(), cube)


def base(block: Block, rows: Sequence[int], bind: Bind) -> CubeCandidate | None:
    """The cube that one block wants, which is proven to answer it; None where there is none."""
    for fact in facts_of(block, rows):
        for distinct in (False, True):
            try:
                wanted = star(block, fact, distinct=distinct)
            except DeclinedError:
                break
            found = made(wanted, bind) if len(wanted.keys) <= _KEYS_MAX else None
            if found is not None and isinstance(match(block, found.cube), Match):
                return found
            if not any(call.distinct for call in block.aggregates):
                break
    return None


def candidates(
    bases: Mapping[str, tuple[CubeCandidate, float]],
    bind: Bind,
    size: Callable[[Block], float | None],
    check: Callable[[], None],
) -> list[CubeCandidate]:
    """The bases and merges of them, those that took longest first merged first.

    `bases` by name, with what the blocks of each take. `size` gives about the bytes of a star's
    cube, None where that isn't known: a merge has to save some, or nearly.
    """
    order = sorted(bases.values(), key=lambda one: (-one[1], one[0].name))
    firsts = [one for one, _ in order][:_BASES_MAX]
    found = {one.name: one for one, _ in order[:CANDIDATES_MAX]}
    sizes = {one.name: size(one.star) for one in found.values()}
    seen, level = set(found), firsts
    while level and len(found) < CANDIDATES_MAX and len(seen) < _TRIED_MAX:
        fresh: list[CubeCandidate] = []
        for one, other in _pairs(level, firsts):
            check()
            both = _both(one, other)
            name = "" if both is None else name_of(both)
            if both is None or name in seen:
                continue
            seen.add(name)
            parts = sizes[one.name], sizes[other.name]
            if len(seen) > _TRIED_MAX or not _is_smaller(size(both), *parts):
                continue
            candidate = made(both, bind)
            if candidate is None or candidate.name in found:
                continue
            found[candidate.name] = candidate
            sizes[candidate.name] = size(both)
            fresh.append(candidate)
            if len(found) >= CANDIDATES_MAX:
                break
        level = fresh
    return list(found.values())


def _is_smaller(both: float | None, *parts: float | None) -> bool:
    """Whether a merge takes hardly more than its parts together."""
    known = [part for part in parts if part is not None]
    if both is None or len(known) < len(parts):
        return False
    return both <= _SLACK * sum(known)


def _pairs(
    level: Sequence[CubeCandidate], firsts: Sequence[CubeCandidate]
) -> Iterator[tuple[CubeCandidate, CubeCandidate]]:
    """Each of the level with each base, those that have most dimensions in common first."""
    if level is firsts:
        pairs: Iterable[tuple[CubeCandidate, CubeCandidate]] = combinations(level, 2)
    else:
        pairs = ((one, other) for one in level for other in firsts)
    ranked = sorted(
        ((-_alike(one, other), number, one, other) for number, (one, other) in enumerate(pairs)),
        key=lambda row: row[:2],
    )
    yield from ((one, other) for _, _, one, other in ranked)


def _alike(one: CubeCandidate, other: CubeCandidate) -> float:
    """Which share of their dimensions two have in common."""
    mine, theirs = set(key_names(one.star)), set(key_names(other.star))
    every = len(mine | theirs)
    return len(mine & theirs) / every if every else 1.0


def _both(one: CubeCandidate, other: CubeCandidate) -> Block | None:
    try:
        both = merged(one.star, other.star)
    except DeclinedError:
        return None
    return both if len(both.keys) <= _KEYS_MAX else None


class CandidateMatch(Struct, frozen=True):
    """That a cube answers a block; `columns` are those of its stored ones that are read."""

    asked: int
    columns: frozenset[str]


def answers(
    cube: CubeDefinition, asked: Sequence[WorkloadQuery], holds: Callable[[Match], bool]
) -> list[CandidateMatch]:
    """The blocks that the cube answers, by their numbers; `holds` says whether its needs do."""
    found = []
    for number, one in enumerate(asked):
        if one.block.rows or cube.fact.uuid not in one.block.tables:
            continue
        try:
            proof = match(one.block, cube)
        except DeclinedError:
            continue
        if isinstance(proof, Match) and not proof.delta and holds(proof):
            found.append(CandidateMatch(number, proof.stored))
    return found
