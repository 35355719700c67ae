"""XXH64: published vectors, the reference library, and bulk against one by one."""

from __future__ import annotations

import struct
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.hashing.xxhash64 import hash_of, hashes, xxh64

_PRIME32, _PRIME64 = 2654435761, 11400714785074694797
_NAN = float("nan")


def _sanity(length: int) -> bytes:
    """The bytes that the reference's own test of itself hashes."""
    state, found = _PRIME32, bytearray()
    for _ in range(length):
        found.append(state >> 56)
        state = state * _PRIME64 % (1 << 64)
    return bytes(found)


@pytest.mark.parametrize(
    ("data", "seed", "expected"),
    [
        (b"", 0, 0xEF46DB3751D8E999),
        (b"a", 0, 0xD24EC4F1A98C6E5B),
        (b"abc", 0, 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0, 0xFBCEA83C8A378BF1),
        (_sanity(0), _PRIME32, 0xAC75FDA2929B17EF),
        (_sanity(1), 0, 0xE934A84ADB052768),
        (_sanity(1), _PRIME32, 0x5014607643A9B4C3),
        (_sanity(4), 0, 0x9136A0DCA57457EE),
        (_sanity(14), 0, 0x8282DCC4994E35C8),
        (_sanity(14), _PRIME32, 0xC3BD6BF63DEB6DF0),
        (_sanity(222), 0, 0xB641AE8CB691C174),
        (_sanity(222), _PRIME32, 0x20CB8AB7AE10C14A),
    ],
)
def test_published_vectors(data: bytes, seed: int, expected: int) -> None:
    assert xxh64(data, seed) == expected


def test_every_length_to_a_few_stripes() -> None:
    texts = [_sanity(length) for length in range(140)]
    expected = [xxhash.xxh64_intdigest(text, 42) for text in texts]
    assert [hash_of(text) for text in texts] == expected
    assert hashes(pa.array(texts, pa.large_binary())).tolist() == expected


@settings(deadline=None)
@given(st.lists(st.none() | st.binary(max_size=80)), st.integers(0, 5), st.integers(0, 5))
def test_bytes_in_bulk(values: list[bytes | None], first: int, cut: int) -> None:
    array = pa.array(values, pa.large_binary())[first : len(values) - cut]
    assert hashes(array).tolist() == [hash_of(v) for v in array.to_pylist() if v is not None]


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(-(1 << 63), (1 << 63) - 1)), st.integers(0, 5))
def test_whole_numbers_in_bulk(values: list[int | None], first: int) -> None:
    kept = [value for value in values[first:] if value is not None]
    expected = [xxhash.xxh64_intdigest(struct.pack("<q", value), 42) for value in kept]
    assert hashes(pa.array(values, pa.int64())[first:]).tolist() == expected
    assert [hash_of(value) for value in kept] == expected


@settings(deadline=None)
@given(st.lists(st.none() | st.floats()), st.integers(0, 5))
def test_floats_in_bulk(values: list[float | None], first: int) -> None:
    array = pa.array(values, pa.float64())[first:]
    assert hashes(array).tolist() == [hash_of(v) for v in array.to_pylist() if v is not None]


def test_zeros_and_nans_are_one_value_each() -> None:
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001], np.uint64)
    found = hashes(pa.array([0.0, -0.0, _NAN, *odd.view(np.float64)], pa.float64()))
    assert found.tolist() == [hash_of(0.0)] * 2 + [hash_of(_NAN)] * 4
    assert hash_of(-0.0) == hash_of(0.0)
    assert hash_of(0.0) == hash_of(0)  # the same eight bytes, but of another domain
    assert hash_of(float(odd.view(np.float64)[1])) == hash_of(_NAN)


def test_what_has_no_hash() -> None:
    with pytest.raises(TypeError, match="int32"):
        hashes(pa.array([1], pa.int32()))
    with pytest.raises(OverflowError):
        hash_of(1 << 63)


def test_a_query_needs_no_numba() -> None:
    code = (
        "import sys; from indexes.kinds.bloom import BLOOM; from indexes.question import Among;"
        " from indexes.bloom.split_block import Filter;"
        " clauses = BLOOM.asked(Among((7, 8)), 'int', BLOOM.options('int', {}));"
        " assert not Filter.of_blocks(8).answers(clauses);"
        " sys.exit('numba' in sys.modules or 'pybloom_live' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
