"""Loops of range filters, compiled: codes as bits, searches in them, and bits of prefixes.

Codes are sorted whole numbers from 0 to `last`, in the form of Elias and Fano: of each the lower
`low_bits` as they are, the rest as the number of zeros before its one. docs/formats/range.md has
every bit. Bits are counted from the lowest of the first byte; who reads puts `PAD` bytes behind.

Numbers are unsigned throughout: numba makes a float of what an unsigned and a signed one give.
"""

from __future__ import annotations

import numpy as np

from indexes.hashing.kernels import ONE, P1, P2, U
from indexes.numba_cache import compiled

PAD = 16
"""Bytes behind an array of bits that may be read, though nothing is there."""
ZERO, SEVEN, EIGHT, SIX, WORD = U(0), U(7), U(8), U(6), U(64)
ALL = U(0xFFFFFFFFFFFFFFFF)
CHILDREN = U(127)

# How a layer of prefixes is asked for a range, and the places of what it's asked for.
JOINED, SPLIT, BELOW = 0, 1, 2
LEFT, RIGHT, SLOTS = 4, 5, 6


@compiled
def low_bits(count, last):
    """How many lower bits each of so many codes has, of which none is above `last`."""
    each = last // count
    found = ZERO
    while each > ONE:
        each >>= ONE
        found += ONE
    return found


@compiled
def bit_size(count, last):
    """Bits of so many codes; none for none."""
    if count == ZERO:
        return ZERO
    low = low_bits(count, last)
    return count * (low + ONE) + (last >> low)


@compiled
def bit_sizes(counts, lasts, out):
    """`bit_size` of each count[c, f]; `lasts` by c."""
    for cell in range(counts.shape[0]):
        for file in range(counts.shape[1]):
            out[cell, file] = bit_size(U(counts[cell, file]), lasts[cell])


@compiled
def _put(out, at, value, width):
    """So many bits at a place, where there are zeros."""
    byte, shift = at >> U(3), at & SEVEN
    while width > ZERO:
        room = EIGHT - shift
        out[byte] |= np.uint8((value << shift) & U(0xFF))
        value >>= room
        width -= min(room, width)
        byte += ONE
        shift = ZERO


@compiled
def _get(data, at, width):
    """So many bits from a place on, 1 to 64."""
    byte, shift = at >> U(3), at & SEVEN
    value = ZERO
    for place in range(8):
        value |= U(data[byte + U(place)]) << U(8 * place)
    value >>= shift
    if shift + width > WORD:
        value |= U(data[byte + EIGHT]) << (WORD - shift)
    if width < WORD:
        value &= (ONE << width) - ONE
    return value


@compiled
def _ones(word):
    word -= (word >> ONE) & U(0x5555555555555555)
    word = (word & U(0x3333333333333333)) + ((word >> U(2)) & U(0x3333333333333333))
    word = (word + (word >> U(4))) & U(0x0F0F0F0F0F0F0F0F)
    return (word * U(0x0101010101010101)) >> U(56)


@compiled
def put_codes(codes, begin, last, out, at):
    """Codes, all of them from `begin` on, at a place in bits."""
    count = U(codes.shape[0])
    if count == ZERO:
        return
    low = low_bits(count, last)
    mask = (ONE << low) - ONE
    lows = at + count + (last >> low)
    for number in range(codes.shape[0]):
        value = codes[number] - begin
        _put(out, at + (value >> low) + U(number), ONE, ONE)
        _put(out, lows + U(number) * low, value & mask, low)


@compiled
def put_cells(codes, splits, begins, lasts, places, out):
    """Of one file the codes of each cell c, codes[splits[c]:splits[c + 1]], at places[c]."""
    for cell in range(begins.shape[0]):
        part = codes[splits[cell] : splits[cell + 1]]
        put_codes(part, begins[cell], lasts[cell], out, places[cell])


@compiled
def get_codes(data, begin, last, out):
    """All codes of one file, whose number is that of `out`; False where they aren't all there.

    Nor where they aren't in their order.
    """
    count = U(out.shape[0])
    if count == ZERO:
        return True
    if bit_size(count, last) > U(data.shape[0] - PAD) << U(3):
        return False
    low = low_bits(count, last)
    end = count + (last >> low)
    place, high, before = ZERO, ZERO, ZERO
    for number in range(out.shape[0]):
        while place < end and not (data[place >> U(3)] >> np.uint8(place & SEVEN)) & np.uint8(1):
            place += ONE
            high += ONE
        if place >= end:
            return False
        place += ONE
        value = high << low
        if low > ZERO:
            value |= _get(data, end + U(number) * low, low)
        if value > last or value < before:
            return False
        before = value
        out[number] = begin + value
    return True


@compiled
def _search(data, at, count, last, least, most):
    """How many codes are below `least`, and whether one is from there to `most`."""
    low = low_bits(count, last)
    end = at + count + (last >> low)
    wanted, beyond = least >> low, most >> low
    place, high = at, ZERO
    while place + WORD <= end:
        zeros = WORD - _ones(_get(data, place, WORD))
        if high + zeros >= wanted:
            break
        high += zeros
        place += WORD
    while place < end:
        if (data[place >> U(3)] >> np.uint8(place & SEVEN)) & np.uint8(1):
            if high >= wanted:
                number = place - at - high
                value = high << low
                if number >= count:  # more ones than codes: nobody wrote that, so it may be any
                    return number, True
                if low > ZERO:
                    value |= _get(data, end + number * low, low)
                if value >= least:
                    return number, value <= most
        else:
            high += ONE
            if high > beyond:
                place += ONE
                break
        place += ONE
    return place - at - high, False


@compiled
def search_cell(data, at, counts, files, last, least, most, inside, gaps, found):
    """Marks the files of a cell that may have a code from `least` to `most`.

    `counts`, `files`: of the files that have codes in the cell, whose bits begin at `at`. Where
    codes are ends of stretches (`gaps`), `inside` says of each file whether the cell begins in one.
    False where the data is too short for so many codes.
    """
    room = U(data.shape[0] - PAD) << U(3)
    for number in range(counts.shape[0]):
        file = files[number]
        size = bit_size(counts[number], last)
        if size > room - at:
            return False
        if not found[file]:
            below, met = _search(data, at, counts[number], last, least, most)
            if met or (gaps and ((below & ONE) == ONE) != inside[file]):
                found[file] = True
        at += size
    return True


@compiled
def text_keys(data, offsets, skip, out):
    """Of each text the eight bytes behind the first `skip`, as a number that sorts like them."""
    for item in range(out.shape[0]):
        at, end = U(offsets[item]) + skip, U(offsets[item + 1])
        value = ZERO
        for _ in range(8):
            value <<= EIGHT
            if at < end:
                value |= U(data[at])
            at += ONE
        out[item] = value


@compiled
def shared_length(data, offsets, prefix, most):
    """With how many bytes of the prefix, `most` at most, every text begins."""
    for item in range(offsets.shape[0] - 1):
        at, end = offsets[item], offsets[item + 1]
        most = min(most, end - at)
        for place in range(most):
            if data[at + place] != prefix[place]:
                most = place
                break
    return most


@compiled
def shared_bits(keys, out):
    """out[b]: how many neighbours among sorted keys differ in the lowest b bits alone."""
    for number in range(1, keys.shape[0]):
        differ = keys[number] ^ keys[number - 1]
        bits = 0
        while differ > ZERO:
            differ >>= ONE
            bits += 1
        out[bits] += 1


@compiled
def _word_of(prefix, layer, words):
    """The word that has the bit of a prefix of that layer."""
    value = (prefix >> SIX) * P1 + U(layer + 1) * P2
    value ^= value >> U(33)
    value *= U(0xFF51AFD7ED558CCD)
    value ^= value >> U(33)
    value *= U(0xC4CEB9FE1A85EC53)
    value ^= value >> U(33)
    return ((value >> U(32)) * words) >> U(32)


@compiled
def add_prefixes(words, layers, keys):
    """Sets the bits of every key's prefixes."""
    size = U(words.shape[0])
    for number in range(keys.shape[0]):
        prefix = keys[number]
        for layer in range(layers):
            words[_word_of(prefix, layer, size)] |= ONE << (prefix & U(63))
            prefix >>= SEVEN


@compiled
def _mask(first, last, layer, size, words, masks, slot, most):
    """The bits of prefixes from the first to the last; False where it takes more slots."""
    used = 0
    while True:
        if used == most:
            return False
        end = min(last, first | U(63))
        words[layer, slot + used] = _word_of(first, layer, size)
        masks[layer, slot + used] = (ALL >> (U(63) - (end - first))) << (first & U(63))
        used += 1
        if end == last:
            return True
        first = end + ONE


@compiled
def plan_prefixes(low, high, layers, size, ways, words, masks):
    """What the layers are asked for the keys from `low` to `high`: arrays of layers × `SLOTS`.

    False: too long a range to be asked for, any filter may hold a key of it. Masks of 0 are of no
    word. Of a `JOINED` layer one prefix is looked up, at `LEFT`. At the `SPLIT` the prefixes
    between both ends, in the first four slots, and those of the ends. `BELOW` it those on the left
    end's right, in the first two, those on the right end's left, in the next two, and both ends.
    """
    masks[:] = ZERO
    words[:] = ZERO
    for layer in range(layers - 1, -1, -1):
        by = U(7 * layer)
        left, right = low >> by, high >> by
        ends = ONE if layer > 0 else ZERO  # whole prefixes alone, but for the keys themselves
        if left == right:
            ways[layer] = JOINED
            _mask(left, left, layer, size, words, masks, LEFT, 1)
            continue
        if layer == layers - 1 or left >> SEVEN == right >> SEVEN:
            ways[layer] = SPLIT
            first, last = left + ends, right - ends
            if first <= last and not _mask(first, last, layer, size, words, masks, 0, 4):
                return False
        else:
            ways[layer] = BELOW
            first, last = left + ends, left | CHILDREN
            if first <= last:
                _mask(first, last, layer, size, words, masks, 0, 2)
            first = right & ~CHILDREN
            if right >= first + ends:
                _mask(first, right - ends, layer, size, words, masks, 2, 2)
        if layer > 0:
            _mask(left, left, layer, size, words, masks, LEFT, 1)
            _mask(right, right, layer, size, words, masks, RIGHT, 1)
    return True


@compiled
def _answer(ways, masks, rows, file):
    """Whether a file may hold a key of the planned range; rows[layer, slot, file] are its words."""
    left, right = True, True
    for layer in range(ways.shape[0] - 1, -1, -1):
        of = rows[layer]
        mask = masks[layer]
        at_left = of[LEFT, file] & mask[LEFT] != ZERO
        at_right = of[RIGHT, file] & mask[RIGHT] != ZERO
        if ways[layer] == JOINED:
            if not at_left:
                return False
            if layer == 0:
                return True
            continue
        if left and (of[0, file] & mask[0] or of[1, file] & mask[1]):
            return True
        if right and (of[2, file] & mask[2] or of[3, file] & mask[3]):
            return True
        left, right = left and at_left, right and at_right
        if not (left or right):
            return False
    return False


@compiled
def answer_prefixes(ways, masks, rows, found):
    """Marks the files that may hold a key of the planned range."""
    for file in range(found.shape[0]):
        if not found[file]:
            found[file] = _answer(ways, masks, rows, file)


@compiled
def may_prefixes(words, layers, lows, highs, out):
    """Of one filter whether it may hold a key of each range."""
    size = U(words.shape[0])
    ways = np.zeros(layers, dtype=np.uint8)
    at = np.zeros((layers, SLOTS), dtype=np.uint64)
    masks = np.zeros((layers, SLOTS), dtype=np.uint64)
    rows = np.zeros((layers, SLOTS, 1), dtype=np.uint64)
    for number in range(lows.shape[0]):
        out[number] = True
        if plan_prefixes(lows[number], highs[number], layers, size, ways, at, masks):
            for layer in range(layers):
                for slot in range(SLOTS):
                    rows[layer, slot, 0] = words[at[layer, slot]]
            out[number] = _answer(ways, masks, rows, 0)
