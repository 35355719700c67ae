"""Split-block filters: nothing added is ever missed, folds and bundles answer as the filters do."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.bloom.split_block import (
    TYPE,
    Bundle,
    Filter,
    blocks_for,
    blocks_within,
    false_positive_rate,
    read_filter,
    transpose,
)
from indexes.hashing.xxhash64 import HASH, Hashes, hash_of
from indexes.kind import Blob
from tests.support.extent import sized

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
WORD = st.integers(0, (1 << 64) - 1)
BLOCKS = st.builds(lambda m, e: m << e, st.integers(8, 15), st.integers(0, 4))


def _array(values: list[int]) -> Hashes:
    return np.array(values, dtype=np.uint64)


def _filter(blocks: int, values: list[int]) -> Filter:
    found = Filter.of_blocks(blocks)
    found.add(_array(values))
    return found


def _random(count: int, seed: int) -> Hashes:
    return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)


def test_no_added_hash_is_missed() -> None:
    added = _random(300_000, 1)
    for bits in (4, 10.5, 40):
        found = Filter.of_blocks(blocks_for(len(added), bits))
        found.add(added)
        for _ in range(3):
            assert found.may_all(added).all()
            found = found.folded() if found.blocks % 2 == 0 else found
        assert Filter.from_bytes(found.to_bytes()).may_all(added).all()


@settings(deadline=None)
@given(BLOCKS, st.lists(WORD, max_size=300), st.lists(WORD, max_size=50))
def test_one_by_one_as_in_bulk(blocks: int, values: list[int], others: list[int]) -> None:
    found = _filter(blocks, values)
    assert all(found.may(value) for value in values)
    asked = values + others
    assert found.may_all(_array(asked)).tolist() == [found.may(value) for value in asked]
    again = Filter.from_bytes(found.to_bytes())
    assert [again.may(value) for value in asked] == [found.may(value) for value in asked]


def test_the_lower_half_never_moves_a_hash_to_another_block() -> None:
    edges = [-(-(b << 32) // 9) - 1 << 32 | 0xFFFFFFFF for b in range(1, 9)]
    found = _filter(9, edges)
    assert all(found.may(value) for value in edges)
    assert [int(row.any()) for row in found.words] == [1] * 8 + [0]


@settings(deadline=None)
@given(BLOCKS, st.lists(WORD, max_size=300), st.lists(WORD, max_size=50))
def test_folding_is_building_smaller(blocks: int, values: list[int], others: list[int]) -> None:
    large = _filter(blocks * 4, values)
    half, quarter = large.folded(), large.folded().folded()
    assert half.to_bytes() == _filter(blocks * 2, values).to_bytes()
    assert quarter.to_bytes() == _filter(blocks, values).to_bytes()
    assert large.of_size(blocks).to_bytes() == quarter.to_bytes()
    assert half.of_size(blocks * 2).to_bytes() == half.to_bytes()
    spread, asked = quarter.of_size(blocks * 4), values + others
    assert [spread.may(value) for value in asked] == [quarter.may(value) for value in asked]


@settings(max_examples=sized(25, full=50), deadline=None)
@given(
    BLOCKS,
    st.lists(st.lists(WORD, max_size=60), min_size=1, max_size=9),
    st.lists(st.lists(WORD, max_size=4), max_size=3),
    st.data(),
)
def test_a_bundle_answers_as_its_filters(
    blocks: int, files: list[list[int]], asked: list[list[int]], data: st.DataObject
) -> None:
    filters = [_filter(blocks, values) for values in files]
    known = [value for values in files for value in values]
    if known:  # otherwise next to no clause would hold anywhere
        asked = [
            [*clause, *data.draw(st.lists(st.sampled_from(known), max_size=3))] for clause in asked
        ]
    clauses = tuple(tuple(clause) for clause in asked)
    stored, bundle = transpose(filters), Bundle(blocks, len(files))
    assert len(stored) == bundle.size
    reads: list[int] = []

    def read(offset: int, length: int) -> bytes:
        reads.append(length)
        return stored[offset : offset + length]

    assert bundle.may(clauses, read).tolist() == [one.answers(clauses) for one in filters]
    assert set(reads) <= {32 * len(files)}


def test_a_bundle_of_crowded_filters() -> None:
    filters = [_filter(9, _random(130, seed).tolist()) for seed in range(8)]
    stored, asked = transpose(filters), _random(2000, 99).tolist()
    rows = [Bundle(9, 8).may(((v,),), lambda at, n: stored[at : at + n]).tolist() for v in asked]
    assert rows == [[one.may(value) for one in filters] for value in asked]


def test_a_bundle_in_a_mapped_file(tmp_path: Path) -> None:
    filters = [_filter(24, _random(50, seed).tolist()) for seed in range(70)]
    (tmp_path / "bundle").write_bytes(b"\0" * 5 + transpose(filters))
    mapped = np.memmap(tmp_path / "bundle", dtype=np.uint8, mode="r", offset=0)[5:]
    clauses = ((int(_random(50, 3)[7]),),)
    found = Bundle(24, 70).may(clauses, lambda at, length: mapped[at : at + length])  # type: ignore[arg-type,return-value]
    assert found.tolist() == [one.answers(clauses) for one in filters]
    assert found[3] and not found.all()


def test_clauses_of_nothing_and_no_clauses() -> None:
    full = _filter(8, _random(10_000, 1).tolist())
    stored = transpose([full, full])
    assert not full.answers(((),))
    assert full.answers(())
    assert not Bundle(8, 2).may(((),), lambda at, n: stored[at : at + n]).any()
    assert Bundle(8, 2).may((), lambda at, n: stored[at : at + n]).all()


@pytest.mark.parametrize(("bits", "expected"), [(8, 0.0328), (10.5, 0.0099), (16, 0.0013)])
def test_false_positives_are_as_many_as_in_theory(bits: float, expected: float) -> None:
    values = 100_000
    blocks = math.ceil(values * bits / 256)
    found = Filter.of_blocks(blocks)
    found.add(_random(values, 1))
    rate = found.may_all(_random(1 << 21, 2)).mean()
    assert rate <= 1.1 * false_positive_rate(values, blocks)
    assert false_positive_rate(values, blocks) == pytest.approx(expected, rel=0.05)


def test_rates_at_the_ends() -> None:
    assert false_positive_rate(0, 8) == 0
    assert false_positive_rate(math.inf, 8) == 1
    assert false_positive_rate(1e6, 8) == pytest.approx(1)


@given(st.floats(0, 1e8), st.floats(4, 40))
def test_sizes_are_of_few_sorts(values: float, bits: float) -> None:
    blocks = blocks_for(values, bits)
    assert blocks_within(32 * blocks) == blocks_within(32 * blocks + 31) == blocks
    assert blocks_within(32 * blocks - 1) < blocks or blocks == 8
    odd = blocks
    while odd > 15:
        assert odd % 2 == 0
        odd //= 2
    assert 8 <= odd <= 15
    if 8 < blocks < 1 << 23:
        assert values * bits <= blocks * 256 <= values * bits * 1.126 + 256


@pytest.mark.parametrize("distinct", [1, 500, 20_000])
def test_a_filter_is_folded_to_the_values_it_has(distinct: int) -> None:
    rows, values = 200_000, _random(distinct, 1)
    made = Filter.of_blocks(blocks_for(rows, 10.5))
    made.add(np.resize(values, rows))
    assert made.distinct == pytest.approx(distinct, rel=0.02, abs=1)
    found = made.fitted(10.5)
    assert found.may_all(values).all()
    if found.blocks > 15:
        assert 0.98 * 10.5 * distinct <= found.blocks * 256 <= 2.1 * 10.5 * distinct


def test_a_full_filter_has_any_number_of_values() -> None:
    full = Filter(np.full((8, 8), 0xFFFFFFFF, dtype=np.uint32))
    assert math.isinf(full.distinct)
    assert full.fitted(10).blocks == 8


def test_bytes_that_are_no_filter() -> None:
    good = _filter(8, [1, 2, 3]).to_bytes()
    said = {"hash": HASH, "z": "8"}
    assert read_filter(Blob(TYPE, good, True, said)).may(3)
    for blob, words in [
        (Blob(TYPE, good[:-1], True, said), "255 bytes"),
        (Blob(TYPE, b"", True, said), "0 bytes"),
        (Blob(TYPE, good[:-32], True, said), "of 8 blocks has 224 bytes"),
        (Blob(TYPE, good, True, {"z": "8"}), "of None"),
        (Blob(TYPE, good, True, {**said, "hash": "murmur3"}), "murmur3"),
        (Blob("acc-sbbf-v2", good, True, said), "acc-sbbf-v2"),
    ]:
        with pytest.raises(ValueError, match=words):
            read_filter(blob)
    with pytest.raises(ValueError, match="64 bytes, 63 were read"):
        Bundle(8, 2).may(((1,),), lambda _, n: bytes(n - 1))


def test_golden_bytes() -> None:
    filters = [_filter(8, [hash_of(n) for n in range(at, at + 20)]) for at in (0, 10)]
    assert filters[0].to_bytes() == (GOLDEN / "sbbf.bin").read_bytes()
    assert transpose(filters) == (GOLDEN / "sbbf-bundle.bin").read_bytes()
