"""Bytes damaged by chance: bits, lengths, counts, blocks, and two files joined.

Whatever is done is drawn from the dice that are given, so that a seed gives the same bytes again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

HUGE = (2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
SMALL = (0, 1, 2, 3, 4, 7, 8, 16, 127, 128, 255, 256)
_BLOCK_MAX = 256
_GROWN_MAX = 4096

Change = Callable[[Random, bytearray, Sequence[bytes]], None]


def damaged(r: Random, data: bytes, others: Sequence[bytes] = ()) -> tuple[bytes, bool]:
    """The bytes with one damage, or with several; `others` are sound bytes of the same format.

    And whether sound parts may have come to stand in other places, where their checksums hold.
    """
    found, moved = bytearray(data), False
    for _ in range(r.choice((1, 1, 1, 2, 2, 3, 5))):
        change = r.choice(_CHANGES)
        change(r, found, others)
        moved = moved or change in _MOVING
    return bytes(found), moved


def _bit(r: Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[r.randrange(len(data))] ^= 1 << r.randrange(8)


def _byte(r: Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[r.randrange(len(data))] = r.choice((0, 1, 127, 128, 254, 255, r.randrange(256)))


def _number(r: Random, data: bytearray, _: Sequence[bytes]) -> None:
    """A count or an offset: 1 to 8 bytes in either order, near what it was or far from it."""
    width = r.choice((1, 2, 4, 4, 8, 8))
    if len(data) < width:
        return
    at = r.randrange(len(data) - width + 1)
    if r.random() < 0.5:  # most formats keep their counts near the beginning or the end
        at = min(r.randrange(64), len(data) - width)
        at = len(data) - width - at if r.random() < 0.3 else at
    order = r.choice(("little", "little", "big"))
    before = int.from_bytes(data[at : at + width], order)  # type: ignore[arg-type]
    near = (before + 1, before - 1, 2 * before, before // 2, before ^ 0x80, before + len(data))
    value = r.choice(
        (r.choice(near), r.choice(HUGE), r.choice(SMALL), -1, len(data), r.getrandbits(64))
    )
    data[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, order)  # type: ignore[arg-type]


def _varint(r: Random, data: bytearray, _: Sequence[bytes]) -> None:
    """A number in Avro's form: that of a length, a count or a branch."""
    if not data:
        return
    at = end = r.randrange(len(data))
    while end < len(data) - 1 and data[end] > 127 and end - at < 9:
        end += 1
    value = r.choice((*SMALL, *HUGE, -1, -2, -(2**31), -(2**63), r.randrange(1 << 20)))
    data[at : end + 1] = varint(value)


def varint(value: int) -> bytes:
    """A whole number as Avro writes it, of more than 64 bits, too."""
    value = value << 1 if value >= 0 else (-value << 1) - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes((*found, value))


def _cut(r: Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        del data[r.randrange(len(data)) :]


def _beheaded(r: Random, data: bytearray, _: Sequence[bytes]) -> None:
    del data[: r.randrange(min(len(data), 64) + 1)]


def _grown(r: Random, data: bytearray, _: Sequence[bytes]) -> None:
    size = r.choice((1, 2, 3, 4, 8, 16, r.randrange(1, _GROWN_MAX)))
    data += r.choice((bytes(size), b"\xff" * size, r.randbytes(size), bytes(data[-size:])))


def _block(r: Random, data: bytearray) -> tuple[int, int]:
    at = r.randrange(len(data))
    return at, min(at + r.randrange(1, _BLOCK_MAX), len(data))


def _doubled(r: Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        a, b = _block(r, data)
        data[b:b] = data[a:b]


def _dropped(r: Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        a, b = _block(r, data)
        del data[a:b]


def _moved(r: Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Two blocks of one length, swapped."""
    if len(data) < 4:
        return
    size = r.randrange(1, min(_BLOCK_MAX, len(data) // 2))
    a = r.randrange(len(data) - 2 * size + 1)
    b = r.randrange(a + size, len(data) - size + 1)
    data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]


def _filled(r: Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        a, b = _block(r, data)
        data[a:b] = r.choice((bytes(b - a), b"\xff" * (b - a), r.randbytes(b - a)))


def _joined(r: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """The beginning, and another's end; or a block of another's in its place."""
    if not others:
        return
    other = r.choice(others)
    if not other or not data:
        return
    if r.random() < 0.5:
        at = r.randrange(len(data))
        data[at:] = other[min(at, len(other)) if r.random() < 0.7 else r.randrange(len(other)) :]
    else:
        a = r.randrange(len(other))
        part = other[a : a + r.randrange(1, _BLOCK_MAX)]
        at = r.randrange(len(data)) if r.random() < 0.3 else min(a, len(data))
        data[at : at + len(part)] = part


_CHANGES: tuple[Change, ...] = (
    *(_bit, _byte, _number, _number, _number, _varint, _cut, _beheaded),
    *(_grown, _doubled, _dropped, _moved, _filled, _joined),
)
_MOVING = frozenset({_beheaded, _doubled, _dropped, _moved, _joined})
