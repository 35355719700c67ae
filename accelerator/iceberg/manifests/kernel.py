"""The interpreter that runs a manifest's program over its decompressed blocks, compiled by numba.

It reads no byte outside the block that an entry stands in, and stops with a code at the first thing
that isn't as the program says. It writes one column of each array per entry, so an entry that found
an array too small is run again from its start after the array has grown.

Importing this module imports numba, which takes a good part of a second; see `reader`.
"""

from __future__ import annotations

import numpy as np

from accelerator.iceberg.manifests import program as ops
from indexes.compiled import compiled

# What `run` returns. DONE, or which array must grow, or (below zero) what is wrong.
DONE = 0
GROW_KEYS = 1
GROW_LIST = 2
CUT_OFF = -1
BAD_VALUE = -2
LEFT_OVER = -3

FULL = -2  # instead of a place: there's no room for another key

# Places in `state`: where `run` goes on.
BLOCK, ROW, AT, ENTRY, LIST_USED, KEYS_USED, STATE_SIZE = range(7)

_LENGTH_MASK = (1 << 32) - 1
TILE = 64  # entries whose bytes stay in the processor's caches together
_MAX = np.iinfo(np.int64).max

END, LONG, BYTES, FIXED = ops.END, ops.LONG, ops.BYTES, ops.FIXED
LAST_NUMBERED = ops.LAST_NUMBERED
BOOL, FLOAT, DOUBLE = ops.BOOL, ops.FLOAT, ops.DOUBLE
UNION, JUMP, LOOP, AGAIN, CLEAR = ops.UNION, ops.JUMP, ops.LOOP, ops.AGAIN, ops.CLEAR
EMIT, TEXT_KEY, APPEND, LISTED = ops.EMIT, ops.TEXT_KEY, ops.APPEND, ops.LISTED
COUNTS, BOUNDS, LONGS, SKIP_LONGS = ops.COUNTS, ops.BOUNDS, ops.LONGS, ops.SKIP_LONGS
KEY, VALUE, COUNT_MAPS = ops.KEY, ops.VALUE, ops.COUNT_MAPS


@compiled
def _varint(data, at, end):
    """A zigzag number and the place behind it; -1 for the place if it's cut off or too long."""
    value = np.int64(0)
    shift = 0
    found = np.int64(-1)
    while at < end and shift < 70:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            if shift < 70 or byte < 2:
                found = at
            break
    return ((value >> 1) & _MAX) ^ -(value & 1), found


@compiled
def _slot(keys, used, guess, key):
    """Where the key stands, looked for from the guess on; `used` if it's nowhere."""
    for place in range(guess, used):
        if keys[place] == key:
            return place
    for place in range(min(guess, used)):
        if keys[place] == key:
            return place
    return used


@compiled
def _text_key(data, start, length):
    """A field id written in decimal digits; -1 if it isn't one."""
    if length < 1 or length > 10:
        return np.int64(-1)
    value = np.int64(0)
    for at in range(start, start + length):
        digit = np.int64(data[at]) - 48
        if digit < 0 or digit > 9:
            return np.int64(-1)
        value = value * 10 + digit
    return value


@compiled
def _items(data, at, end):
    """How many items the array's next block has, 0 at its end, and the place of the first."""
    count, at = _varint(data, at, end)
    if at >= 0 and count < 0:
        count = -count
        _, at = _varint(data, at, end)
    if at < 0 or count < 0 or count > end - at:
        return count, np.int64(-1)
    return count, at


@compiled
def _pairs(data, at, end, bounds, keys, used, cells, entry):  # noqa: PLR0912 - see below
    """An array of (key, long) or (key, bytes) into a column of cells.

    Returns the place behind it, or FULL. Nearly all of a manifest is read here. So `_varint` is
    written out twice: numba counts references where a function is given an array, inlined or not,
    which would take ten times as long as the number itself.
    """
    guess = 0
    while True:
        count, at = _items(data, at, end)
        if at < 0 or count == 0:
            return at, used
        for _ in range(count):
            key = np.int64(0)
            shift = 0
            byte = np.int64(128)
            while byte > 127:
                if at >= end or shift > 63:
                    return np.int64(-1), used
                byte = np.int64(data[at])
                at += 1
                key |= (byte & 127) << shift
                shift += 7
            if shift > 63 and byte > 1:
                return np.int64(-1), used
            key = ((key >> 1) & _MAX) ^ -(key & 1)
            number = np.int64(0)
            shift = 0
            byte = np.int64(128)
            while byte > 127:
                if at >= end or shift > 63:
                    return np.int64(-1), used
                byte = np.int64(data[at])
                at += 1
                number |= (byte & 127) << shift
                shift += 7
            if shift > 63 and byte > 1:
                return np.int64(-1), used
            number = ((number >> 1) & _MAX) ^ -(number & 1)
            if guess >= used or keys[guess] != key:
                guess = _slot(keys, used, guess, key)
                if guess == used:
                    if used == keys.shape[0]:
                        return np.int64(FULL), used
                    keys[used] = key
                    used += 1
            if bounds:
                if number < 0 or number > end - at:
                    return np.int64(-1), used
                cells[guess, entry] = at << 32 | (number + 1)
                at += number
            else:
                cells[guess, entry] = number + 1 if 0 <= number < _MAX else 0
            guess += 1


@compiled
def _skip_longs(data, at, end, width):
    """The place behind an array whose items are so many numbers each, -1 if it's cut off."""
    while True:
        count, at = _varint(data, at, end)
        if at < 0 or count == 0:
            return at
        if count < 0:
            size, at = _varint(data, at, end)
            if at < 0 or size < 0 or size > end - at:
                return np.int64(-1)
            at += size
            continue
        if count > end - at:
            return np.int64(-1)
        left = count * width
        while left > 0:
            if at >= end:
                return np.int64(-1)
            left -= data[at] < 128
            at += 1


@compiled
def _longs(data, at, end, listed, used):
    """An array of numbers, put behind the used ones. Returns the place behind it, or FULL."""
    while True:
        count, at = _items(data, at, end)
        if at < 0 or count == 0:
            return at, used
        if count > listed.shape[0] - used:
            return np.int64(FULL), used
        for _ in range(count):
            number, at = _varint(data, at, end)
            if at < 0:
                return at, used
            listed[used] = number
            used += 1


@compiled
def run(  # noqa: PLR0912, PLR0915 - one loop, as interpreters are
    program, data, blocks, state, stack, scalars, seen, keys, stats, listed, list_ends
):
    """Run the program for every entry of the blocks, from `state` on.

    Args:
        program: int64[ops, 4].
        data: the decompressed bytes, less than 2^31 of them.
        blocks: int64[blocks, 3]: entries, start, end.
        state: int64[STATE_SIZE]; where to go on, and how much of `listed` and `keys` is used.
        stack: int64[depth, 2], for loops: items left, and the row of the loop.
        scalars: int64[rows, entries]; bytes as start << 32 | length + 1.
        seen: uint8[rows, entries]; 1 where there is a value. One more row, for the list itself.
        keys: int64[capacity]; field ids, in the order in which they were met.
        stats: int64[maps, capacity, entries]; counts as value + 1, bytes as above, 0 for none.
        listed: int64[capacity]; the values of all lists.
        list_ends: int64[entries]; where the entry's list ends in `listed`.
    """
    list_row = seen.shape[0] - 1
    capacity = keys.shape[0]
    used = state[KEYS_USED]
    list_used = state[LIST_USED]
    entry = state[ENTRY]
    block = state[BLOCK]
    row = state[ROW]
    at = state[AT]
    while block < blocks.shape[0]:
        end = blocks[block, 2]
        if row == 0:
            at = blocks[block, 1]
        while row < blocks[block, 0]:
            state[BLOCK] = block
            state[ROW] = row
            state[AT] = at
            state[ENTRY] = entry
            state[LIST_USED] = list_used
            pc = 0
            depth = 0
            key = np.int64(0)
            key_length = np.int64(0)
            value = np.int64(0)
            has_value = False
            while True:
                op = program[pc, 0]
                a = program[pc, 1]
                pc += 1
                if op <= LAST_NUMBERED:
                    number, at = _varint(data, at, end)
                    if at < 0:
                        return CUT_OFF
                    if op == UNION:
                        if number < 0 or number >= a:
                            return BAD_VALUE
                        pc = program[pc + number, 1]
                        continue
                    if op == BYTES:
                        if number < 0 or number > end - at:
                            return CUT_OFF
                        start = at
                        at += number
                        if a == KEY:
                            key = start
                            key_length = number
                            continue
                        number = start << 32 | (number + 1)
                    if a >= 0:
                        scalars[a, entry] = number
                        seen[a, entry] = 1
                    elif a == KEY:
                        key = number
                    elif a == VALUE:
                        value = number
                        has_value = True
                elif op == JUMP:
                    pc = a
                elif op in (COUNTS, BOUNDS):
                    at, used = _pairs(data, at, end, op == BOUNDS, keys, used, stats[a], entry)
                    state[KEYS_USED] = used
                    if at < 0:
                        return GROW_KEYS if at == FULL else CUT_OFF
                elif op == FIXED:
                    number = program[pc - 1, 2]
                    if number > end - at:
                        return CUT_OFF
                    if a >= 0:
                        scalars[a, entry] = at << 32 | (number + 1)
                        seen[a, entry] = 1
                    at += number
                elif op == SKIP_LONGS:
                    at = _skip_longs(data, at, end, a)
                    if at < 0:
                        return CUT_OFF
                elif op == LONGS:
                    seen[list_row, entry] = 1
                    at, list_used = _longs(data, at, end, listed, list_used)
                    if at < 0:
                        return GROW_LIST if at == FULL else CUT_OFF
                elif op == LISTED:
                    seen[list_row, entry] = 1
                elif op in (LOOP, AGAIN):
                    if op == LOOP:
                        stack[depth, 0] = 0
                        depth += 1
                        here = pc - 1
                    else:
                        here = a
                        stack[depth - 1, 0] -= 1
                    least = program[here, 3]
                    while stack[depth - 1, 0] == 0:
                        count, at = _varint(data, at, end)
                        if at < 0:
                            return CUT_OFF
                        if count == 0:
                            break
                        if count < 0:
                            count = -count
                            number, at = _varint(data, at, end)
                            if at < 0:
                                return CUT_OFF
                            if program[here, 2] == 1:
                                if number < 0 or number > end - at:
                                    return CUT_OFF
                                at += number
                                continue
                        if count < 0 or count > (end - at) // least:
                            return CUT_OFF
                        stack[depth - 1, 0] = count
                    if stack[depth - 1, 0] == 0:
                        depth -= 1
                        pc = program[here, 1]
                    else:
                        pc = here + 1
                elif op == CLEAR:
                    key = np.int64(-1)
                    has_value = False
                elif op == TEXT_KEY:
                    key = _text_key(data, key, key_length)
                    if key < 0:
                        return BAD_VALUE
                elif op == EMIT:
                    guess = _slot(keys, used, np.int64(0), key)
                    if guess == used:
                        if used == capacity:
                            return GROW_KEYS
                        keys[used] = key
                        used += 1
                        state[KEYS_USED] = used
                    if not has_value:
                        value = np.int64(0)
                    elif a < COUNT_MAPS:
                        value = value + 1 if 0 <= value < _MAX else 0
                    stats[a, guess, entry] = value
                elif op == APPEND:
                    if not has_value:
                        return BAD_VALUE
                    if list_used == listed.shape[0]:
                        return GROW_LIST
                    listed[list_used] = value
                    list_used += 1
                elif op == BOOL:
                    if at >= end:
                        return CUT_OFF
                    if data[at] > 1:
                        return BAD_VALUE
                    if a >= 0:
                        scalars[a, entry] = data[at]
                        seen[a, entry] = 1
                    at += 1
                elif op in (FLOAT, DOUBLE):
                    size = 4 if op == FLOAT else 8
                    if size > end - at:
                        return CUT_OFF
                    if a >= 0:
                        number = np.int64(0)
                        for place in range(size):
                            number |= np.int64(data[at + place]) << (8 * place)
                        scalars[a, entry] = number
                        seen[a, entry] = 1
                    at += size
                elif op == END:
                    break
                else:
                    return BAD_VALUE
            list_ends[entry] = list_used
            entry += 1
            row += 1
        if at != end and blocks[block, 0] > 0:
            return LEFT_OVER
        if blocks[block, 0] == 0 and blocks[block, 2] != blocks[block, 1]:
            return LEFT_OVER
        block += 1
        row = np.int64(0)
    state[LIST_USED] = list_used
    return DONE


@compiled
def gather(data, spans, width, out):
    """Copy the spans (start << 32 | length + 1, 0 for none) to `out`, one behind the other.

    With a width each has that length or is none, and takes that many bytes of `out` either way.
    """
    target = 0
    for place in range(spans.shape[0]):
        span = spans[place]
        if span == 0:
            target += width
            continue
        start = span >> 32
        length = (span & _LENGTH_MASK) - 1
        for at in range(length):
            out[target + at] = data[start + at]
        target += length


@compiled
def survey(cells, bounds_from):
    """For each map and key: how many entries have a cell, the least, the largest and their sum.

    Of bounds (maps from `bounds_from` on) it's lengths, each by one too high.
    """
    found = np.zeros((cells.shape[0], cells.shape[1], 4), dtype=np.int64)
    for number in range(cells.shape[0]):
        mask = _LENGTH_MASK if number >= bounds_from else _MAX
        for slot in range(cells.shape[1]):
            there = 0
            low = np.int64(_MAX)
            high = np.int64(0)
            total = np.int64(0)
            for entry in range(cells.shape[2]):
                value = cells[number, slot, entry] & mask
                there += value != 0
                high = max(high, value)
                total += value
                if value != 0:
                    low = min(low, value)
            found[number, slot, 0] = there
            found[number, slot, 1] = low
            found[number, slot, 2] = high
            found[number, slot, 3] = total
    return found


@compiled
def gather_all(data, spans, widths, places, out):
    """As `gather`, for spans[map, key, entry] at once, from each one's place in `out` on.

    A few entries at a time, whose bytes stand close together: they're read from memory once.
    """
    for first in range(0, spans.shape[2], TILE):
        last = min(first + TILE, spans.shape[2])
        for number in range(spans.shape[0]):
            for slot in range(spans.shape[1]):
                target = places[number, slot]
                for entry in range(first, last):
                    span = spans[number, slot, entry]
                    if span == 0:
                        target += widths[number, slot]
                        continue
                    start = span >> 32
                    length = (span & _LENGTH_MASK) - 1
                    for at in range(length):
                        out[target + at] = data[start + at]
                    target += length
                places[number, slot] = target
