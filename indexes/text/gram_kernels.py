"""The grams of many texts, compiled: the rules of `grams.py` over UTF-8."""

from __future__ import annotations

import numpy as np

from indexes.hashing.kernels import ONE, P1, P2, U, add_hash, hash_word
from indexes.numba_cache import compiled

# Places in `state`.
USED, OVERFLOWED, INVALID, STATE_SIZE = range(4)
RING = U(7)
IDEOGRAPH = U(1 << 32)  # in the ring, beside a code point
CODE = U((1 << 32) - 1)
MEMO_BITS = 16
MEMO = 1 << MEMO_BITS
MEMO_SHIFT = U(64 - MEMO_BITS)


@compiled
def _is_ascii(data, at, end):
    every = np.uint8(0)
    for place in range(at, end):
        every |= data[place]
    return every < 0x80


@compiled
def _take_ascii(data, at, end, gram, power, fold, memo, table, found, used):
    """A row of ASCII alone: as `take_rows`, and several times as fast.

    Returns how many are found, or -1 where there's no room.
    """
    mask = U(table.shape[0] - 1)
    key = U(0)
    for place in range(at, min(at + gram - 1, end)):
        key = key * P1 + U(fold[data[place]]) + ONE
    gone = U(0)
    for place in range(at + gram - 1, end):
        key = (key - gone * power) * P1 + U(fold[data[place]]) + ONE
        gone = U(fold[data[place - gram + 1]]) + ONE
        recent = (key * P2) >> MEMO_SHIFT
        if memo[recent] == key and key != U(0):
            continue
        value = hash_word(key)
        slot = value & mask
        while table[slot] != U(0) and table[slot] != value:
            slot = (slot + ONE) & mask
        if table[slot] != value or value == U(0):
            if used == found.shape[0]:
                return np.int64(-1)
            table[slot] = value
            found[used] = value
            used += 1
        memo[recent] = key
    return used


@compiled
def _flush(words, table, memo, found, used):
    """What was found goes into the filter."""
    blocks = U(words.shape[0])
    for item in range(used):
        add_hash(words, blocks, found[item])
    table[:] = U(0)
    memo[:] = U(0)


@compiled
def take_rows(data, offsets, valid, first, last, gram, fold, memo, table, found, state, words):  # noqa: PLR0912, PLR0915 - one loop
    """Gather the hashes of all grams of rows from `first` on, each once.

    Returns the row that it stopped at, `last` or one for which `found` has no room; that one is to
    be taken again with more. With `words` (a filter) it needs no room: what was found goes there
    when `found` is full, and state says OVERFLOWED. INVALID: a row isn't UTF-8.

    Args:
        data: uint8; the texts.
        offsets: int64; text i is data[offsets[i]:offsets[i + 1]].
        valid: uint8; 0 where it's NULL; may be empty.
        first: int; a row.
        last: int; the row to stop before.
        gram: int; code points of a gram.
        fold: uint32[65536].
        memo: uint64[MEMO]; windows that were met lately, and stand in `found`.
        table: uint64, a power of two; hashes where they fall, 0 for none.
        found: uint64, half as many; the hashes.
        state: int64[STATE_SIZE].
        words: uint32[blocks, 8]; no blocks for none.
    """
    mask = U(table.shape[0] - 1)
    limit = U(found.shape[0])
    used = U(state[USED])
    blocks = U(words.shape[0])
    length = U(gram)
    under = ONE
    for _ in range(gram - 1):
        under *= P1
    power = under * P1
    ring = np.zeros(8, dtype=np.uint64)
    for row in range(first, last):
        if valid.shape[0] > 0 and valid[row] == 0:
            continue
        if offsets[row + 1] - offsets[row] <= found.shape[0] and _is_ascii(
            data, offsets[row], offsets[row + 1]
        ):
            taken = np.int64(-1)
            while taken < 0:
                taken = _take_ascii(
                    data,
                    offsets[row],
                    offsets[row + 1],
                    gram,
                    under,
                    fold,
                    memo,
                    table,
                    found,
                    np.int64(used),
                )
                if taken < 0:
                    if blocks == U(0):
                        state[USED] = np.int64(found.shape[0])
                        return row
                    _flush(words, table, memo, found, found.shape[0])
                    used = U(0)
                    state[OVERFLOWED] = 1
            used = U(taken)
            continue
        at = U(offsets[row])
        end = U(offsets[row + 1])
        count = U(0)
        key = U(0)
        wide = U(0)
        before = U(0)
        while at < end:
            code = U(data[at])
            if code < U(0x80):
                at += ONE
            else:
                more = U(0)
                least = U(0x80)
                if U(0xC2) <= code < U(0xE0):
                    more = U(1)
                    code &= U(0x1F)
                elif U(0xE0) <= code < U(0xF0):
                    more = U(2)
                    least = U(0x800)
                    code &= U(0x0F)
                elif U(0xF0) <= code < U(0xF5):
                    more = U(3)
                    least = U(0x10000)
                    code &= U(0x07)
                if more == U(0) or at + more >= end:
                    state[INVALID] = 1
                    break
                sound = True
                for step in range(more):
                    byte = U(data[at + U(step) + ONE])
                    sound = sound and byte & U(0xC0) == U(0x80)
                    code = code << U(6) | byte & U(0x3F)
                if (
                    not sound
                    or code < least
                    or code > U(0x10FFFF)
                    or (code >= U(0xD800) and code < U(0xE000))
                ):
                    state[INVALID] = 1
                    break
                at += more + ONE
            if code < U(0x10000):
                code = U(fold[code])
            digit = code + ONE
            now = U(0)
            if code >= U(0x3400) and (
                code <= U(0x4DBF)
                or U(0x4E00) <= code <= U(0x9FFF)
                or U(0xF900) <= code <= U(0xFAFF)
                or U(0x20000) <= code <= U(0x3FFFF)
            ):
                now = IDEOGRAPH
                wide += ONE
            key = key * P1 + digit
            if count >= length:
                gone = ring[(count - length) & RING]
                key -= (gone & CODE) * power
                wide -= gone >> U(32)
            previous = ring[(count - ONE) & RING]
            ring[count & RING] = digit | now
            count += ONE
            if now != U(0) and before != U(0) and count > ONE:
                value = hash_word((previous & CODE) * P1 + digit)
            elif count >= length and wide <= ONE:
                value = hash_word(key)
            else:
                before = now
                continue
            before = now
            place = value & mask
            while table[place] != U(0) and table[place] != value:
                place = (place + ONE) & mask
            if table[place] == value and value != U(0):
                continue
            if used == limit:
                if blocks == U(0):
                    state[USED] = np.int64(used)
                    return row
                _flush(words, table, memo, found, used)
                used = U(0)
                state[OVERFLOWED] = 1
                place = value & mask
            table[place] = value
            found[used] = value
            used += ONE
    state[USED] = np.int64(used)
    return last


@compiled
def put_again(found, used, table):
    """Fill an empty table with the hashes."""
    mask = U(table.shape[0] - 1)
    for item in range(used):
        value = found[item]
        place = value & mask
        while table[place] != U(0):
            place = (place + ONE) & mask
        table[place] = value
