"""The runs of many texts, compiled: the first half of `tokens.py` over UTF-8."""

from __future__ import annotations

import numpy as np

from indexes.hashing.kernels import P1, P2, U
from indexes.numba_cache import compiled

NONE, LETTERS, IDEOGRAPHS = range(3)
# Places in `state`, and in what is told of a run.
USED, PAIRS, TAIL = range(3)
KIND, LAST = range(2)
FEW = 1 << 10
MULTIPLIER = P1 | U(1)


@compiled
def _decoded(data, at, end):
    """The code point there and how many bytes it takes; -1 and 1 for what is no UTF-8."""
    code = np.int64(data[at])
    more = 0
    least = 0x80
    if 0xC2 <= code < 0xE0:
        more = 1
        code &= 0x1F
    elif 0xE0 <= code < 0xF0:
        more = 2
        least = 0x800
        code &= 0x0F
    elif 0xF0 <= code < 0xF5:
        more = 3
        least = 0x10000
        code &= 0x07
    if more == 0 or at + more >= end:
        return np.int64(-1), 1
    for step in range(more):
        byte = np.int64(data[at + step + 1])
        if byte & 0xC0 != 0x80:
            return np.int64(-1), 1
        code = code << 6 | byte & 0x3F
    if code < least or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return np.int64(-1), 1
    return code, more + 1


@compiled
def _encoded(code, text, at):
    """Writes the code point; how many bytes it takes."""
    if code < 0x80:
        text[at] = code
        return 1
    if code < 0x800:
        text[at] = 0xC0 | code >> 6
        text[at + 1] = 0x80 | code & 0x3F
        return 2
    if code < 0x10000:
        text[at] = 0xE0 | code >> 12
        text[at + 1] = 0x80 | code >> 6 & 0x3F
        text[at + 2] = 0x80 | code & 0x3F
        return 3
    text[at] = 0xF0 | code >> 18
    text[at + 1] = 0x80 | code >> 12 & 0x3F
    text[at + 2] = 0x80 | code >> 6 & 0x3F
    text[at + 3] = 0x80 | code & 0x3F
    return 4


@compiled
def _same(text, first, other, length):
    for step in range(length):  # noqa: SIM110 - numba takes no generators
        if text[first + step] != text[other + step]:
            return False
    return True


@compiled
def _number(text, begin, length, key, table, keys, starts, used):
    """Of the run that stands at the end of the text; `used` where it's a new one, and put there."""
    key = (key ^ (key >> U(29))) * P2
    key ^= key >> U(32)
    mask = U(table.shape[0] - 1)
    place = key & mask
    while table[place] != 0:
        run = np.int64(table[place]) - 1
        first = starts[run]
        if (
            keys[run] == key
            and starts[run + 1] - first == length
            and _same(text, first, begin, length)
        ):
            return run
        place = (place + U(1)) & mask
    table[place] = used + 1
    keys[used] = key
    starts[used + 1] = begin + length
    return used


@compiled
def _cut_row(data, at, end, row, kinds, fold, text, table, keys, starts, told, runs, rows, state):  # noqa: PLR0912 - one loop
    """One text, for whose runs there must be room, were all new. False: it isn't UTF-8."""
    used, pairs, tail = state[USED], state[PAIRS], state[TAIL]
    sound = True
    now = np.int64(0)
    key = U(0)
    begin = tail
    while True:
        code = np.int64(0)
        width = 1
        kind = np.int64(0)
        if at < end:
            code = np.int64(data[at])
            if code >= 0x80:
                code, width = _decoded(data, at, end)
            if code >= 0:
                kind = np.int64(kinds[code])
            else:
                sound = False
        if kind != now:
            if now != 0:
                run = _number(text, begin, tail - begin, key, table, keys, starts, used)
                if run == used:
                    told[run, KIND] = now
                    told[run, LAST] = -1
                    used += 1
                else:
                    tail = begin
                if told[run, LAST] != row:
                    told[run, LAST] = row
                    runs[pairs] = run
                    rows[pairs] = row
                    pairs += 1
            now = kind
            key = U(0)
            begin = tail
        if at >= end:
            break
        at += width
        if kind == 0:
            continue
        if code < 0x10000:
            code = np.int64(fold[code])
        if code < 0x80:
            text[tail] = code
            tail += 1
        else:
            tail += _encoded(code, text, tail)
        key = (key ^ U(code)) * MULTIPLIER
    state[USED], state[PAIRS], state[TAIL] = used, pairs, tail
    return sound


@compiled
def _wider(size, keys, used):
    """A table of that size with all of the runs in it."""
    found = np.zeros(size, dtype=np.int32)
    mask = U(size - 1)
    for run in range(used):
        place = keys[run] & mask
        while found[place] != 0:
            place = (place + U(1)) & mask
        found[place] = run + 1
    return found


@compiled
def cut(data, offsets, valid, kinds, fold):
    """The distinct runs of the texts, and in which rows each stands.

    Returns: the runs' bytes one behind the other, where each begins and the last one ends, the kind
    of each; the runs and rows of all pairs, rows ascending; the rows that aren't UTF-8.

    Args:
        data: uint8; the texts.
        offsets: int64; text i is data[offsets[i]:offsets[i + 1]].
        valid: uint8; 0 where it's NULL; may be empty.
        kinds: uint8[0x110000]; NONE, LETTERS or IDEOGRAPHS of each code point.
        fold: uint32[65536]; what each code point becomes, of no more bytes than before.
    """
    count = offsets.shape[0] - 1
    size = offsets[count] - offsets[0]
    text = np.empty(size + 4, dtype=np.uint8)
    # A run takes a byte, and another one is between two of a text.
    most = (size + count) // 2 + 1
    runs = np.empty(most, dtype=np.int32)
    rows = np.empty(most, dtype=np.int32)
    broken = np.empty(count, dtype=np.int32)
    breaks = 0
    room = FEW
    table = np.zeros(2 * room, dtype=np.int32)
    keys = np.empty(room, dtype=np.uint64)
    starts = np.zeros(room + 1, dtype=np.int64)
    told = np.empty((room, 2), dtype=np.int32)
    state = np.zeros(3, dtype=np.int64)
    for row in range(count):
        if valid.shape[0] > 0 and valid[row] == 0:
            continue
        at, end = offsets[row], offsets[row + 1]
        used = state[USED]
        if used + (end - at) // 2 + 1 > room:
            while used + (end - at) // 2 + 1 > room:
                room *= 2
            wider_keys = np.empty(room, dtype=np.uint64)
            wider_keys[:used] = keys[:used]
            wider_starts = np.zeros(room + 1, dtype=np.int64)
            wider_starts[: used + 1] = starts[: used + 1]
            wider_told = np.empty((room, 2), dtype=np.int32)
            wider_told[:used] = told[:used]
            keys, starts, told = wider_keys, wider_starts, wider_told
            table = _wider(2 * room, keys, used)
        if not _cut_row(
            data, at, end, row, kinds, fold, text, table, keys, starts, told, runs, rows, state
        ):
            broken[breaks] = row
            breaks += 1
    used, pairs, tail = state[USED], state[PAIRS], state[TAIL]
    return (
        text[:tail].copy(),
        starts[: used + 1].copy(),
        told[:used, KIND].copy(),
        runs[:pairs].copy(),
        rows[:pairs].copy(),
        broken[:breaks].copy(),
    )
