"""MurmurHash3 of many spans of bytes, compiled.

`hashing.py` says which bytes. Numbers are unsigned throughout: numba makes a float of what an
unsigned and a signed one give.
"""

from __future__ import annotations

import numpy as np

from indexes.numba_cache import compiled

U = np.uint64
C1, C2 = U(0x87C37B91114253D5), U(0x4CF5AD432745937F)
M1, M2 = U(0xFF51AFD7ED558CCD), U(0xC4CEB9FE1A85EC53)
FIVE, ADD1, ADD2 = U(5), U(0x52DCE729), U(0x38495AB5)
SEED = U(9001)
ONE, EIGHT, WIDTH = U(1), U(8), U(64)


@compiled
def _turned(value, by):
    return (value << by) | (value >> (WIDTH - by))


@compiled
def _mixed(value):
    value ^= value >> U(33)
    value *= M1
    value ^= value >> U(33)
    value *= M2
    return value ^ (value >> U(33))


@compiled
def _word(data, at, count):
    """Up to eight bytes as a number, the first one lowest."""
    found = U(0)
    for place in range(count):
        found |= U(data[at + place]) << (EIGHT * U(place))
    return found


@compiled
def _hashed(data, start, length):
    """The first half of the 128 bits, without its lowest bit."""
    h1, h2 = SEED, SEED
    at, end = start, start + length
    while end - at >= 16:
        h1 ^= _turned(_word(data, at, 8) * C1, U(31)) * C2
        h1 = (_turned(h1, U(27)) + h2) * FIVE + ADD1
        h2 ^= _turned(_word(data, at + 8, 8) * C2, U(33)) * C1
        h2 = (_turned(h2, U(31)) + h1) * FIVE + ADD2
        at += 16
    if end - at > 8:
        h2 ^= _turned(_word(data, at + 8, end - at - 8) * C2, U(33)) * C1
    if end > at:
        h1 ^= _turned(_word(data, at, min(8, end - at)) * C1, U(31)) * C2
    h1 ^= U(length)
    h2 ^= U(length)
    h1 += h2
    h2 += h1
    h1 = _mixed(h1)
    h2 = _mixed(h2)
    return (h1 + h2) >> ONE


@compiled
def hash_spans(data, starts, lengths, out):
    """The hash of each span: `data` as bytes, `starts` and `lengths` as int64, `out` as uint64."""
    for number in range(starts.shape[0]):
        out[number] = _hashed(data, starts[number], lengths[number])


@compiled
def shortest(data, width, starts, lengths):
    """Of big-endian numbers of that many bytes each, where their shortest forms start.

    Two's complement: leading bytes that only repeat the sign go.
    """
    for number in range(starts.shape[0]):
        at, end = number * width, (number + 1) * width
        sign = data[at] >> 7
        spare = 255 if sign else 0
        while at + 1 < end and data[at] == spare and (data[at + 1] >> 7) == sign:
            at += 1
        starts[number], lengths[number] = at, end - at
