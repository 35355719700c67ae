"""The interpreter that runs a program over the decompressed blocks of a manifest, or of a list.

It reads no byte outside the block that an entry stands in, and stops with a code at the first thing
that isn't as the program says. It writes one column of each array per entry, so an entry that found
an array too small is run again from its start after the array has grown.

Python runs these functions as they stand, over bytes and lists; `machine` compiles the same ones
for much that is to be read. So they hold to what both mean alike: numbers that are kept have 64
bits, `int64` makes one, and `_MAX` cuts off what Python's numbers have beyond them.
"""

from __future__ import annotations

import numpy as np

from accelerator.iceberg.manifests import program as ops

int64 = int
"""Compiled, this is numpy's own."""

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

OP_SIZE = 4  # numbers of an operation
BLOCK_SIZE = 3  # numbers of a block: entries, start, end

_LENGTH_MASK = (1 << 32) - 1
TILE = 64  # entries whose bytes stay in the processor's caches together
_MAX = np.iinfo(np.int64).max

END, LONG, BYTES, FIXED = ops.END, ops.LONG, ops.BYTES, ops.FIXED
LAST_NUMBERED = ops.LAST_NUMBERED
BOOL, FLOAT, DOUBLE = ops.BOOL, ops.FLOAT, ops.DOUBLE
UNION, JUMP, LOOP, AGAIN, CLEAR = ops.UNION, ops.JUMP, ops.LOOP, ops.AGAIN, ops.CLEAR
EMIT, TEXT_KEY, APPEND, LISTED = ops.EMIT, ops.TEXT_KEY, ops.APPEND, ops.LISTED
COUNTS, BOUNDS, LONGS, SKIP_LONGS = ops.COUNTS, ops.BOUNDS, ops.LONGS, ops.SKIP_LONGS
KEY, VALUE, MISSING, COUNT_MAPS = ops.KEY, ops.VALUE, ops.MISSING, ops.COUNT_MAPS


def _varint(data, at, end):
    """A zigzag number and the place behind it; -1 for the place if it's cut off or too long."""
    value = int64(0)
    shift = 0
    found = int64(-1)
    while at < end and shift < 70:
        byte = int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            if shift < 70 or byte < 2:
                found = at
            break
    return ((value >> 1) & _MAX) ^ -(value & 1), found


def _slot(keys, used, guess, key):
    """Where the key stands, looked for from the guess on; `used` if it's nowhere."""
    for place in range(guess, used):
        if keys[place] == key:
            return place
    for place in range(min(guess, used)):
        if keys[place] == key:
            return place
    return used


def _text_key(data, start, length):
    """A field id written in decimal digits; -1 if it isn't one."""
    if length < 1 or length > 10:
        return int64(-1)
    value = int64(0)
    for at in range(start, start + length):
        digit = int64(data[at]) - 48
        if digit < 0 or digit > 9:
            return int64(-1)
        value = value * 10 + digit
    return value


def _items(data, at, end):
    """How many items the array's next block has, 0 at its end, and the place of the first."""
    count, at = _varint(data, at, end)
    if at >= 0 and count < 0:
        count = -count
        _, at = _varint(data, at, end)
    if at < 0 or count < 0 or count > end - at:
        return count, int64(-1)
    return count, at


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
            key = int64(0)
            shift = 0
            byte = int64(128)
            while byte > 127:
                if at >= end or shift > 63:
                    return int64(-1), used
                byte = int64(data[at])
                at += 1
                key |= (byte & 127) << shift
                shift += 7
            if shift > 63 and byte > 1:
                return int64(-1), used
            key = ((key >> 1) & _MAX) ^ -(key & 1)
            number = int64(0)
            shift = 0
            byte = int64(128)
            while byte > 127:
                if at >= end or shift > 63:
                    return int64(-1), used
                byte = int64(data[at])
                at += 1
                number |= (byte & 127) << shift
                shift += 7
            if shift > 63 and byte > 1:
                return int64(-1), used
            number = ((number >> 1) & _MAX) ^ -(number & 1)
            if guess >= used or keys[guess] != key:
                guess = _slot(keys, used, guess, key)
                if guess == used:
                    if used == len(keys):
                        return int64(FULL), used
                    keys[used] = key
                    used += 1
            if bounds:
                if number < 0 or number > end - at:
                    return int64(-1), used
                cells[guess, entry] = at << 32 | (number + 1)
                at += number
            else:
                cells[guess, entry] = number + 1 if 0 <= number < _MAX else 0
            guess += 1


def _skip_longs(data, at, end, width):
    """The place behind an array whose items are so many numbers each, -1 if it's cut off."""
    while True:
        count, at = _varint(data, at, end)
        if at < 0 or count == 0:
            return at
        if count < 0:
            size, at = _varint(data, at, end)
            if at < 0 or size < 0 or size > end - at:
                return int64(-1)
            at += size
            continue
        if count > end - at:
            return int64(-1)
        left = count * width
        while left > 0:
            if at >= end:
                return int64(-1)
            left -= data[at] < 128
            at += 1


def _longs(data, at, end, listed, used):
    """An array of numbers, put behind the used ones. Returns the place behind it, or FULL."""
    while True:
        count, at = _items(data, at, end)
        if at < 0 or count == 0:
            return at, used
        if count > len(listed) - used:
            return int64(FULL), used
        for _ in range(count):
            number, at = _varint(data, at, end)
            if at < 0:
                return at, used
            listed[used] = number
            used += 1


def run(  # noqa: PLR0912, PLR0915 - one loop, as interpreters are
    program, data, blocks, state, stack, scalars, seen, keys, stats, listed, lists
):
    """Run the program for every entry of the blocks, from `state` on.

    Args:
        program: int64[OP_SIZE * ops].
        data: the decompressed bytes, less than 2^31 of them.
        blocks: int64[BLOCK_SIZE * blocks].
        state: int64[STATE_SIZE]; where to go on, and how much of `listed` and `keys` is used.
        stack: int64[depth], for loops: items left.
        scalars: int64[rows, entries]; bytes as start << 32 | length + 1.
        seen: uint8[rows, entries]; 1 where there is a value.
        keys: int64[capacity]; field ids, in the order in which they were met.
        stats: int64[maps, capacity, entries]; counts as value + 1, bytes as above, 0 for none.
        listed: int64[capacity]; the values of all lists.
        lists: int64[lists, entries]; of `listed` start << 32 | length + 1, 0 for none.
    """
    capacity = len(keys)
    used = state[KEYS_USED]
    list_used = state[LIST_USED]
    entry = state[ENTRY]
    block = state[BLOCK]
    row = state[ROW]
    at = state[AT]
    while block * BLOCK_SIZE < len(blocks):
        rows = blocks[BLOCK_SIZE * block]
        end = blocks[BLOCK_SIZE * block + 2]
        if row == 0:
            at = blocks[BLOCK_SIZE * block + 1]
        while row < rows:
            state[BLOCK] = block
            state[ROW] = row
            state[AT] = at
            state[ENTRY] = entry
            state[LIST_USED] = list_used
            pc = 0
            depth = 0
            key = int64(0)
            key_length = int64(0)
            value = int64(0)
            has_value = False
            while True:
                op = program[OP_SIZE * pc]
                a = program[OP_SIZE * pc + 1]
                pc += 1
                if op <= LAST_NUMBERED:
                    number, at = _varint(data, at, end)
                    if at < 0:
                        return CUT_OFF
                    if op == UNION:
                        if number < 0 or number >= a:
                            return BAD_VALUE
                        pc = program[OP_SIZE * (pc + number) + 1]
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
                    number = program[OP_SIZE * (pc - 1) + 2]
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
                    start = list_used
                    at, list_used = _longs(data, at, end, listed, list_used)
                    if at < 0:
                        return GROW_LIST if at == FULL else CUT_OFF
                    lists[a, entry] = start << 32 | (list_used - start + 1)
                elif op == LISTED:
                    lists[a, entry] = list_used << 32 | 1
                elif op in (LOOP, AGAIN):
                    if op == LOOP:
                        stack[depth] = 0
                        depth += 1
                        here = pc - 1
                    else:
                        here = a
                        stack[depth - 1] -= 1
                    least = program[OP_SIZE * here + 3]
                    while stack[depth - 1] == 0:
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
                            if program[OP_SIZE * here + 2] == 1:
                                if number < 0 or number > end - at:
                                    return CUT_OFF
                                at += number
                                continue
                        if count < 0 or count > (end - at) // least:
                            return CUT_OFF
                        stack[depth - 1] = count
                    if stack[depth - 1] == 0:
                        depth -= 1
                        pc = program[OP_SIZE * here + 1]
                    else:
                        pc = here + 1
                elif op == CLEAR:
                    key = int64(-1)
                    has_value = False
                elif op == TEXT_KEY:
                    key = _text_key(data, key, key_length)
                    if key < 0:
                        return BAD_VALUE
                elif op == EMIT:
                    guess = _slot(keys, used, int64(0), key)
                    if guess == used:
                        if used == capacity:
                            return GROW_KEYS
                        keys[used] = key
                        used += 1
                        state[KEYS_USED] = used
                    if not has_value:
                        value = int64(0)
                    elif a < COUNT_MAPS:
                        value = value + 1 if 0 <= value < _MAX else 0
                    stats[a, guess, entry] = value
                elif op == APPEND:
                    if not has_value:
                        if program[OP_SIZE * (pc - 1) + 2] == 0:
                            return BAD_VALUE
                        value = int64(MISSING)
                    if list_used == listed.shape[0]:
                        return GROW_LIST
                    listed[list_used] = value
                    list_used += 1
                    lists[a, entry] += 1
                elif op == BOOL:
                    if at >= end:
                        return CUT_OFF
                    if data[at] > 1:
                        return BAD_VALUE
                    if a >= 0:
                        scalars[a, entry] = data[at]
                        seen[a, entry] = 1
                    elif a == VALUE:
                        value = int64(data[at])
                        has_value = True
                    at += 1
                elif op in (FLOAT, DOUBLE):
                    size = 4 if op == FLOAT else 8
                    if size > end - at:
                        return CUT_OFF
                    if a >= 0:
                        number = int64(data[at + size - 1])
                        if number > 127:
                            number -= 256
                        for place in range(size - 2, -1, -1):
                            number = number << 8 | int64(data[at + place])
                        scalars[a, entry] = number
                        seen[a, entry] = 1
                    at += size
                elif op == END:
                    break
                else:
                    return BAD_VALUE
            entry += 1
            row += 1
        if rows == 0:
            at = blocks[BLOCK_SIZE * block + 1]
        if at != end:
            return LEFT_OVER
        block += 1
        row = int64(0)
    state[LIST_USED] = list_used
    return DONE


def gather(data, spans, width, out):
    """Copy the spans (start << 32 | length + 1, 0 for none) to `out`, one behind the other.

    With a width each has that length or is none, and takes that many bytes of `out` either way.
    """
    target = 0
    for place in range(spans.shape[0]):
        span = int64(spans[place])
        if span == 0:
            target += width
            continue
        start = span >> 32
        length = (span & _LENGTH_MASK) - 1
        for at in range(length):
            out[target + at] = data[start + at]
        target += length


def survey(cells, bounds_from):
    """For each map and key: how many entries have a cell, the least, the largest, bounds' sum.

    Of bounds (maps from `bounds_from` on) it's lengths, each by one too high.
    """
    found = np.zeros((cells.shape[0], cells.shape[1], 4), dtype=np.int64)
    for number in range(cells.shape[0]):
        mask = _LENGTH_MASK if number >= bounds_from else _MAX
        for slot in range(cells.shape[1]):
            there = 0
            low = int64(_MAX)
            high = int64(0)
            total = int64(0)
            for entry in range(cells.shape[2]):
                value = int64(cells[number, slot, entry]) & mask
                there += value != 0
                high = max(high, value)
                if number >= bounds_from:
                    total += value
                if value != 0:
                    low = min(low, value)
            found[number, slot, 0] = there
            found[number, slot, 1] = low
            found[number, slot, 2] = high
            found[number, slot, 3] = total
    return found


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
                    span = int64(spans[number, slot, entry])
                    if span == 0:
                        target += widths[number, slot]
                        continue
                    start = span >> 32
                    length = (span & _LENGTH_MASK) - 1
                    for at in range(length):
                        out[target + at] = data[start + at]
                    target += length
                places[number, slot] = target
