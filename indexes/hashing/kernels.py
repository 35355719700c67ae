"""Loops over many values, compiled: hashes, and the bits of split-block Bloom filters.

Arguments are arrays that numba knows; `xxhash64.py` and `bloom/split_block.py` say what they mean.
Numbers are unsigned throughout: numba makes a float of what an unsigned and a signed one give.
"""

from __future__ import annotations

import numpy as np

from indexes.numba_cache import compiled

U = np.uint64
P1, P2, P3 = U(0x9E3779B185EBCA87), U(0xC2B2AE3D27D4EB4F), U(0x165667B19E3779F9)
P4, P5 = U(0x85EBCA77C2B2AE63), U(0x27D4EB2F165667C5)
SEED = U(42)
ONE, FOUR, EIGHT, STRIPE = U(1), U(4), U(8), U(32)
WIDTH = U(64)
SALTS = (
    np.uint32(0x47B6137B),
    np.uint32(0x44974D91),
    np.uint32(0x8824AD5B),
    np.uint32(0xA2B7289D),
    np.uint32(0x705495C7),
    np.uint32(0x2DF1424B),
    np.uint32(0x9EFC4947),
    np.uint32(0x5C6BFB31),
)


@compiled
def _turned(value, by):
    return (value << by) | (value >> (WIDTH - by))


@compiled
def _mixed(value):
    value ^= value >> U(33)
    value *= P2
    value ^= value >> U(29)
    value *= P3
    return value ^ (value >> U(32))


@compiled
def _round(state, lane):
    return _turned(state + lane * P2, U(31)) * P1


@compiled
def hash_word(word):
    """XXH64 of eight bytes."""
    state = (SEED + P5 + EIGHT) ^ _round(U(0), word)
    return _mixed(_turned(state, U(27)) * P1 + P4)


@compiled
def hash_words(words, out):
    """XXH64 of each word's eight bytes."""
    for at in range(words.shape[0]):
        out[at] = hash_word(words[at])


@compiled
def _lane(data, at, count):
    """So many bytes from a place on, as one little-endian number."""
    value = U(0)
    for place in range(count):
        value |= U(data[at + U(place)]) << U(8 * place)
    return value


@compiled
def _eight(data, at):
    return (
        U(data[at])
        | U(data[at + U(1)]) << U(8)
        | U(data[at + U(2)]) << U(16)
        | U(data[at + U(3)]) << U(24)
        | U(data[at + U(4)]) << U(32)
        | U(data[at + U(5)]) << U(40)
        | U(data[at + U(6)]) << U(48)
        | U(data[at + U(7)]) << U(56)
    )


@compiled
def hash_bytes(data, offsets, out):
    """XXH64 of data[offsets[i]:offsets[i + 1]] for each i."""
    for item in range(out.shape[0]):
        at = U(offsets[item])
        end = U(offsets[item + 1])
        length = end - at
        if length >= STRIPE:
            one, two, three, four = SEED + P1 + P2, SEED + P2, SEED, SEED - P1
            while at + STRIPE <= end:
                one = _round(one, _eight(data, at))
                two = _round(two, _eight(data, at + U(8)))
                three = _round(three, _eight(data, at + U(16)))
                four = _round(four, _eight(data, at + U(24)))
                at += STRIPE
            state = _turned(one, U(1)) + _turned(two, U(7))
            state += _turned(three, U(12)) + _turned(four, U(18))
            state = (state ^ _round(U(0), one)) * P1 + P4
            state = (state ^ _round(U(0), two)) * P1 + P4
            state = (state ^ _round(U(0), three)) * P1 + P4
            state = (state ^ _round(U(0), four)) * P1 + P4
        else:
            state = SEED + P5
        state += length
        while at + EIGHT <= end:
            state = _turned(state ^ _round(U(0), _eight(data, at)), U(27)) * P1 + P4
            at += EIGHT
        if at + FOUR <= end:
            state = _turned(state ^ (_lane(data, at, 4) * P1), U(23)) * P2 + P3
            at += FOUR
        while at < end:
            state = _turned(state ^ (U(data[at]) * P5), U(11)) * P1
            at += ONE
        out[item] = _mixed(state)


@compiled
def add_hash(words, blocks, value):
    """Set the hash's eight bits in words[blocks, 8]."""
    block = ((value >> U(32)) * blocks) >> U(32)
    key = np.uint32(value & U(0xFFFFFFFF))
    words[block, 0] |= np.uint32(1) << (np.uint32(key * SALTS[0]) >> np.uint32(27))
    words[block, 1] |= np.uint32(1) << (np.uint32(key * SALTS[1]) >> np.uint32(27))
    words[block, 2] |= np.uint32(1) << (np.uint32(key * SALTS[2]) >> np.uint32(27))
    words[block, 3] |= np.uint32(1) << (np.uint32(key * SALTS[3]) >> np.uint32(27))
    words[block, 4] |= np.uint32(1) << (np.uint32(key * SALTS[4]) >> np.uint32(27))
    words[block, 5] |= np.uint32(1) << (np.uint32(key * SALTS[5]) >> np.uint32(27))
    words[block, 6] |= np.uint32(1) << (np.uint32(key * SALTS[6]) >> np.uint32(27))
    words[block, 7] |= np.uint32(1) << (np.uint32(key * SALTS[7]) >> np.uint32(27))


@compiled
def add_hashes(words, hashes):
    """Set the bits of every hash."""
    blocks = U(words.shape[0])
    for at in range(hashes.shape[0]):
        add_hash(words, blocks, hashes[at])


@compiled
def may_hold(words, hashes, out):
    """Whether all bits of each hash are set."""
    blocks = U(words.shape[0])
    for at in range(hashes.shape[0]):
        value = hashes[at]
        block = ((value >> U(32)) * blocks) >> U(32)
        key = np.uint32(value & U(0xFFFFFFFF))
        found = True
        for lane in range(8):
            bit = np.uint32(1) << (np.uint32(key * SALTS[lane]) >> np.uint32(27))
            if words[block, lane] & bit == 0:
                found = False
                break
        out[at] = found
