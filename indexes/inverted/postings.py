"""Sets of numbers below a bound, rows or blocks of a file, as bytes: each in its smallest form.

A posting has no length, form or checksum of its own; who keeps it keeps those. Four forms:
`PLAIN` and `RUNS` are numbers of 2 bytes where the bound is at most 65,536, else of 4; `BITS` and
`ROARING` are for bounds up to 65,536 and above. All numbers are little-endian, every length is
even. `docs/formats/bitmap.md` has every byte.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any, cast
from zlib import crc32

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from pyroaring import BitMap

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

PLAIN, RUNS, BITS, ROARING = range(4)
SMALL = 1 << 16  # of one roaring container; the largest bound of the narrow forms
BOUND_MAX = 1 << 32
_CONTAINER = 8192  # bytes of a container of bits
_LISTED = 4096  # numbers that a container lists at most
_COOKIE = 12346  # of the portable format, without containers of runs
_LARGE = 1 << 18  # numbers from which a set is written by its mask
_SLICE = 1 << 20  # numbers of sets that are written together


class Postings(Struct, frozen=True):
    """Sets one behind the other. `lengths` in bytes; the other arrays too have one item a set."""

    data: bytes
    lengths: Array
    forms: Array
    crcs: Array

    @property
    def offsets(self) -> Array:
        """Where each begins, and where the last ends."""
        ends = np.cumsum(self.lengths, dtype=np.int64)
        return np.concatenate((np.zeros(1, np.int64), ends))

    def part(self, a: int, b: int) -> Postings:
        """Returns sets a to b without their bytes, for a block of the dictionary."""
        return Postings(b"", self.lengths[a:b], self.forms[a:b], self.crcs[a:b])


def encode(numbers: Array, counts: Array, bound: int) -> Postings:
    """Sets of so many numbers each, which stand set after set and ascend within each."""
    parts: list[bytes] = []
    lengths = np.zeros(len(counts), np.int64)
    forms = np.zeros(len(counts), np.uint8)
    ends = np.cumsum(counts, dtype=np.int64)
    first = 0
    while first < len(counts):
        start = int(ends[first] - counts[first])
        if counts[first] >= _LARGE:
            mask = np.zeros(bound, dtype=bool)
            mask[numbers[start : ends[first]]] = True
            data, forms[first] = encode_mask(mask)
            parts.append(data)
            lengths[first], after = len(data), first + 1
        else:
            after = max(first + 1, int(np.searchsorted(ends, start + _SLICE, "right")))
            large = np.flatnonzero(counts[first:after] >= _LARGE)
            after = first + int(large[0]) if len(large) else after
            these = slice(first, after)
            out, lengths[these], forms[these] = _encoded(
                numbers[start : ends[after - 1]], counts[these], bound
            )
            parts.append(out.tobytes())
        first = after
    data = b"".join(parts)
    return Postings(data, lengths, forms, _checksums(data, lengths))


def encode_mask(mask: Mask) -> tuple[bytes, int]:
    """One set as its bytes and form, the same ones as of `encode`; the mask has a flag a number."""
    bound, count = len(mask), int(np.count_nonzero(mask))
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
    runs = edges.reshape(-1, 2)
    chunks = [mask[at : at + SMALL] for at in range(0, bound, SMALL)]
    cards = np.array([np.count_nonzero(chunk) for chunk in chunks], np.int64)
    used = cards[cards > 0]
    contents = int(np.where(used > _LISTED, _CONTAINER, 2 * used).sum())
    numbers = [np.array([number]) for number in (count, len(runs), len(used), contents)]
    sizes = _sizes(numbers[0], numbers[1], numbers[2], numbers[3], bound=bound)
    form, wide = int(np.argmin(sizes[:, 0])), _wide(bound)
    if form == PLAIN:
        return np.flatnonzero(mask).astype(wide).tobytes(), form
    if form == RUNS:
        return np.column_stack((runs[:, 0], runs[:, 1] - runs[:, 0] - 1)).astype(
            wide
        ).tobytes(), form
    if form == BITS:
        return np.packbits(mask, bitorder="little").tobytes().ljust(_bits_size(bound), b"\0"), form
    keys = np.flatnonzero(cards)
    data = [_container(chunks[key], int(cards[key])) for key in keys]
    places = 8 + 8 * len(keys) + np.cumsum([0, *map(len, data[:-1])])
    described = np.column_stack((keys, cards[keys] - 1)).astype("<u2")
    head = np.array([_COOKIE, len(keys)], "<u4").tobytes() + described.tobytes()
    return b"".join((head, places.astype("<u4").tobytes(), *data)), form


def decode(data: bytes, form: int, bound: int) -> BitMap:
    """The set. ValueError for bytes that aren't of that form, or that hold what isn't below bound.

    Whether they are what was written, a checksum must have said.
    """
    wide = np.dtype(_wide(bound))
    if form == PLAIN and len(data) % wide.itemsize == 0:
        found = of_numbers(np.frombuffer(data, wide))
    elif form == RUNS and len(data) % (2 * wide.itemsize) == 0:
        found = _of_runs(np.frombuffer(data, wide).reshape(-1, 2).astype(np.int64), bound)
    elif form == BITS and bound <= SMALL and len(data) == _bits_size(bound):
        flags = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        found = of_numbers(np.flatnonzero(flags))
    elif form == ROARING and bound > SMALL and data:
        found = BitMap.deserialize(data)  # which refuses containers that aren't sound
    else:
        raise ValueError(f"no posting: {len(data)} bytes of form {form}")
    if found and found.max() >= bound:
        raise ValueError(f"a posting holds {found.max()}, and all should be below {bound}")
    return found


def union(parts: Iterable[tuple[bytes, int]], bound: int) -> BitMap:
    """All numbers of the sets, which are bytes with their forms."""
    wide = np.dtype(_wide(bound))
    plain: list[bytes] = []
    others: list[BitMap] = []
    for data, form in parts:
        if form == PLAIN and len(data) % wide.itemsize == 0:
            plain.append(data)
        else:
            others.append(decode(data, form, bound))
    if plain:
        others.append(decode(b"".join(plain), PLAIN, bound))
    return BitMap.union(*others) if others else BitMap()


def of_numbers(numbers: Array) -> BitMap:
    """A set of numbers, in any order; pyroaring is fast on arrays of this type alone."""
    return BitMap(array("I", numbers.astype(np.uint32).tobytes()))


def _of_runs(runs: Array, bound: int) -> BitMap:
    """Of (first, how many follow it), which must ascend: else a few bytes are work without end."""
    starts, ends = runs[:, 0], runs.sum(axis=1)
    if len(runs) and (ends[-1] >= bound or (starts[1:] <= ends[:-1]).any()):
        raise ValueError(f"runs of a posting that overlap, or go beyond {bound}")
    found = BitMap()
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        found.add_range(start, end + 1)
    return found


def _wide(bound: int) -> str:
    return "<u2" if bound <= SMALL else "<u4"


def _bits_size(bound: int) -> int:
    return -(-bound // 16) * 2


def _sizes(count: Array, runs: Array, containers: Array, contents: Array, *, bound: int) -> Array:
    """Bytes of each set in each form: an array of 4 rows."""
    wide = 2 if bound <= SMALL else 4
    none = np.full(len(count), np.iinfo(np.int64).max)
    small = bound <= SMALL
    bits = np.full(len(count), _bits_size(bound)) if small else none
    roaring = none if small else 8 + 8 * containers + contents
    return np.stack([wide * count, 2 * wide * runs, bits, roaring])


def _container(flags: Mask, count: int) -> bytes:
    if count <= _LISTED:
        return np.flatnonzero(flags).astype("<u2").tobytes()
    return np.packbits(flags, bitorder="little").tobytes().ljust(_CONTAINER, b"\0")


def _checksums(data: bytes, lengths: Array) -> Array:
    view, at, found = memoryview(data), 0, []
    for length in lengths.tolist():
        found.append(crc32(view[at : at + length]))
        at += length
    return np.array(found, np.uint32)


def _encoded(numbers: Array, counts: Array, bound: int) -> tuple[Array, Array, Array]:
    """Words of 2 bytes, lengths in bytes, forms; without a loop over the sets."""
    sets, total = len(counts), len(numbers)
    numbers = numbers.astype(np.uint32, copy=False)
    owner = np.repeat(np.arange(sets, dtype=np.int32), counts)
    other = np.ones(total, dtype=bool)  # whether another set begins here
    other[1:] = owner[1:] != owner[:-1]
    breaks = other.copy()
    breaks[1:] |= numbers[1:] != numbers[:-1] + np.uint32(1)
    run_starts = np.flatnonzero(breaks)
    high = (numbers >> np.uint32(16)).astype(np.uint16)
    cuts = other.copy()
    cuts[1:] |= high[1:] != high[:-1]
    starts = np.flatnonzero(cuts)  # of containers
    cards = np.diff(starts, append=total)
    held = owner[starts]
    run_owner = owner[run_starts]
    runs = np.bincount(run_owner, minlength=sets)
    containers = np.bincount(held, minlength=sets)
    bytes_of = np.where(cards > _LISTED, _CONTAINER, 2 * cards)
    contents = np.bincount(held, weights=bytes_of, minlength=sets).astype(np.int64)
    sizes = _sizes(counts, runs, containers, contents, bound=bound)
    forms = np.argmin(sizes, axis=0).astype(np.uint8)
    lengths = sizes[forms, np.arange(sets)].astype(np.int64)
    words = np.zeros(int(lengths.sum()) // 2, "<u2")
    begins = (np.cumsum(lengths) - lengths) // 2  # in words, of each set
    writer = _PostingWriter(words, begins, _wide(bound) == "<u2")
    firsts = np.cumsum(counts) - counts

    plain = (forms == PLAIN)[owner]
    if plain.any():
        ranks = np.flatnonzero(plain) - firsts[owner[plain]]
        writer.put(owner[plain], ranks, numbers[plain])
    in_runs = (forms == RUNS)[run_owner]
    if in_runs.any():
        more = np.diff(run_starts, append=total) - 1
        ranks = _ranks(runs)[in_runs] * 2
        writer.put(run_owner[in_runs], ranks, numbers[run_starts[in_runs]])
        writer.put(run_owner[in_runs], ranks + 1, more[in_runs])
    if (forms == BITS).any():
        chosen = (forms == BITS)[owner]
        order = np.cumsum(forms == BITS) - 1
        flags = np.zeros((int(order[-1]) + 1, _bits_size(bound) * 8), dtype=bool)
        flags[order[owner[chosen]], numbers[chosen]] = True
        packed = np.packbits(flags, axis=1, bitorder="little").view("<u2")
        words[begins[forms == BITS][:, None] + np.arange(packed.shape[1])] = packed
    if (forms == ROARING).any():
        _put_roaring(words, numbers, high, owner, begins, forms, starts, cards, containers)
    return words, lengths, forms


class _PostingWriter(Struct, frozen=True):
    """Puts numbers where their sets begin."""

    words: Array
    begins: Array
    narrow: bool

    def put(self, owner: Array, ranks: Array, numbers: Array) -> None:
        if self.narrow:
            self.words[self.begins[owner] + ranks] = numbers
            return
        at = self.begins[owner] + 2 * ranks
        self.words[at] = numbers & 0xFFFF
        self.words[at + 1] = numbers >> 16


def _ranks(counts: Array) -> Array:
    """0, 1, 2 … within each set."""
    return cast(Array, np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts))


def _put_roaring(
    words: Array,
    numbers: Array,
    high: Array,
    owner: Array,
    begins: Array,
    forms: Array,
    starts: Array,
    cards: Array,
    containers: Array,
) -> None:
    """The portable format of the sets that have it: cookie, keys and sizes, places, containers."""
    held = owner[starts]
    mine = (forms == ROARING)[held]
    rank, starts, cards, held = _ranks(containers)[mine], starts[mine], cards[mine], held[mine]
    count = containers[held]
    size = np.where(cards > _LISTED, _CONTAINER, 2 * cards)
    ends = np.cumsum(size)
    leading = np.repeat((ends - size)[rank == 0], count[rank == 0])  # what other sets have before
    place = 8 + 8 * count + (ends - size - leading)  # bytes from the set's own beginning
    sets = np.flatnonzero(forms == ROARING)
    words[begins[sets]] = _COOKIE
    words[begins[sets] + 2] = containers[sets] & 0xFFFF
    words[begins[sets] + 3] = containers[sets] >> 16
    at = begins[held] + 4 + 2 * rank
    words[at], words[at + 1] = high[starts], cards - 1
    at = begins[held] + 4 + 2 * count + 2 * rank
    words[at], words[at + 1] = place & 0xFFFF, place >> 16
    at = begins[held] + place // 2
    listed = cards <= _LISTED
    lengths = cards[listed]
    within = _ranks(lengths)
    sources = np.repeat(starts[listed], lengths) + within
    words[np.repeat(at[listed], lengths) + within] = numbers[sources] & 0xFFFF
    for target, start, card in zip(at[~listed], starts[~listed], cards[~listed], strict=True):
        flags = np.zeros(SMALL, dtype=bool)
        flags[numbers[start : start + card] & 0xFFFF] = True
        packed = np.packbits(flags, bitorder="little").view("<u2")
        words[target : target + _CONTAINER // 2] = packed
