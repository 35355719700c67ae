"""Rows as JSON, compiled: row after row, each value behind the one before it.

What is written may reach some bytes beyond its end, which the next value overwrites: so a number's
eight digits are one store. Digits are made eight at a time in one word (the method of P. Khuong,
"How to print integers really fast", 2017).
"""

from __future__ import annotations

import numpy as np

from accelerator.gateway.trino.json.memory import (
    load8,
    load16,
    load32,
    load64,
    store8,
    store16,
    store32,
    store64,
    trailing_zeros,
)
from indexes.numba_cache import compiled

U = np.uint64
"""Numbers without a sign are divided without a look at it; with others they'd become floats."""
WHOLE, DECIMAL, DAY, MOMENT, TEXT, WRITTEN = range(6)
"""Kinds of columns: see `write`."""
KIND, VALUES, VALID, FIRST_BIT, OFFSETS, MORE = range(6)
"""What is told of a column."""
SLACK = 32
"""Bytes behind the last row's end that are written, too."""
DAY_BYTES = 16
"""Of a day's text in the table: its ten letters, a quote, and what nobody reads."""
_NULL, _END = 0x6C6C756E, 0x2C5D  # null and ],
_DIGITS = U(0x3030303030303030)
_EIGHT, _SIXTEEN = U(10**8), U(10**16)
_COLONS = U(0x00000A00000A0000)
"""What makes colons of the third and the sixth of eight zeros."""
_UTC, _QUOTE, _MINUS, _POINT, _BLANK = 0x43545520, 34, 45, 46, 32
_DAY_US = 86_400_000_000
_ONES, _TOPS = U(0x0101010101010101), U(0x8080808080808080)
_BLANKS, _QUOTES = U(0x2020202020202020), U(0x2222222222222222)
_BACKSLASHES = U(0x5C5C5C5C5C5C5C5C)


@compiled
def _eight(value):
    """The eight digits of a number below 10**8, as numbers from 0 to 9, the first one lowest."""
    high = value // U(10_000)
    pairs = high | ((value - high * U(10_000)) << U(32))
    hundreds = ((pairs * U(10_486)) >> U(20)) & U(0x0000007F0000007F)
    both = hundreds | ((pairs - hundreds * U(100)) << U(16))
    tens = ((both * U(103)) >> U(10)) & U(0x000F000F000F000F)
    return tens | ((both - tens * U(10)) << U(8))


@compiled
def _first(place, value):
    """Writes a number below 10**8 without zeros before it; the place behind."""
    digits = _eight(value)
    left_out = trailing_zeros(digits | U(1 << 56)) & U(56)
    store64(place, (digits | _DIGITS) >> left_out)
    return place + 8 - np.int64(left_out >> U(3))


@compiled
def _number(place, value):
    """Writes a number of 64 bits without a sign; the place behind."""
    if value < _EIGHT:
        return _first(place, value)
    high = value // _EIGHT
    place = _first(place, high) if high < _EIGHT else _number_of_more(place, high)
    store64(place, _eight(value - high * _EIGHT) | _DIGITS)
    return place + 8


@compiled
def _number_of_more(place, value):
    high = value // _EIGHT
    place = _first(place, high)
    store64(place, _eight(value - high * _EIGHT) | _DIGITS)
    return place + 8


@compiled
def _last(place, value, count):
    """Writes so many digits of a number, eighteen at most, with zeros before it."""
    if count > 16:
        high = value // _SIXTEEN
        store64(place, (_eight(high) | _DIGITS) >> U(8 * (24 - count)))
        place += count - 16
        value -= high * _SIXTEEN
        count = 16
    if count > 8:
        high = value // _EIGHT
        store64(place, (_eight(high) | _DIGITS) >> U(8 * (16 - count)))
        place += count - 8
        value -= high * _EIGHT
        count = 8
    store64(place, (_eight(value) | _DIGITS) >> U(8 * (8 - count)))
    return place + count


@compiled
def _whole(address, row, size):
    """The number with a sign that a column of so many bytes each has."""
    if size == 8:
        return np.int64(load64(address + 8 * row))
    if size == 4:
        return np.int64(np.int32(load32(address + 4 * row)))
    if size == 2:
        return np.int64(np.int16(load16(address + 2 * row)))
    return np.int64(np.int8(load8(address + row)))


@compiled
def _is_odd(word):
    """Whether one of the eight letters is a control character, a quote or a backslash."""
    controls = (word - _BLANKS) & ~word
    quotes = word ^ _QUOTES
    slashes = word ^ _BACKSLASHES
    found = controls | ((quotes - _ONES) & ~quotes) | ((slashes - _ONES) & ~slashes)
    return found & _TOPS != U(0)


@compiled
def _text(place, address, length):
    """Writes letters as they are; the place behind, -1 where one has to be escaped."""
    if length >= 8:
        at = 0
        while at <= length - 8:
            word = load64(address + at)
            if _is_odd(word):
                return -1
            store64(place + at, word)
            at += 8
        word = load64(address + length - 8)
        if _is_odd(word):
            return -1
        store64(place + length - 8, word)
        return place + length
    for at in range(length):
        letter = load8(address + at)
        if letter < U(32) or letter == U(34) or letter == U(92):
            return -1
        store8(place + at, letter)
    return place + length


@compiled
def _copied(place, address, length):
    """Writes letters, whatever they are."""
    at = 0
    while at <= length - 8:
        store64(place + at, load64(address + at))
        at += 8
    while at < length:
        store8(place + at, load8(address + at))
        at += 1
    return place + length


@compiled
def _signed(place, value):
    """Writes the sign of a number below 0; the place behind."""
    if value < 0:
        store8(place, U(_MINUS))
        return place + 1
    return place


@compiled
def _size(value):
    """The number without its sign."""
    return U(-value) if value < 0 else U(value)


@compiled
def _decimal(place, value, scale, unit):
    """Writes a number of `unit`ths, in quotes; the place behind."""
    store8(place, U(_QUOTE))
    place = _signed(place + 1, value)
    number = _size(value)
    whole = number // unit
    place = _number(place, whole)
    if scale > 0:
        store8(place, U(_POINT))
        place = _last(place + 1, number - whole * unit, scale)
    store8(place, U(_QUOTE))
    return place + 1


@compiled
def _clock(place, rest):
    """Writes a blank and microseconds of a day as a time; the place behind."""
    seconds = rest // U(1_000_000)
    hours = seconds // U(3600)
    minutes = seconds // U(60) - hours * U(60)
    number = hours * U(1_000_000) + minutes * U(1000) + seconds % U(60)
    store8(place, U(_BLANK))
    store64(place + 1, (_eight(number) | _DIGITS) + _COLONS)
    store8(place + 9, U(_POINT))
    return _last(place + 10, rest - seconds * U(1_000_000), 6)


@compiled
def _day(place, days, first, last, table):
    """Writes a quote and a day's text; the place behind, -1 for one that isn't in the table."""
    if days < first or days > last:
        return -1
    store8(place, U(_QUOTE))
    text = table + (days - first) * DAY_BYTES
    store64(place + 1, load64(text))
    store64(place + 9, load64(text + 8))
    return place + 11


@compiled
def _moment(place, moment, zoned, first, last, table):
    """Writes microseconds since 1970 but for the last quote; as `_day`."""
    days = moment // _DAY_US
    place = _day(place, days, first, last, table)
    if place < 0:
        return place
    place = _clock(place, U(moment - days * _DAY_US))
    if zoned:
        store32(place, U(_UTC))
        return place + 4
    return place


@compiled
def _closed(place):
    """Writes a quote; the place behind, -1 where that is none."""
    if place < 0:
        return place
    store8(place, U(_QUOTE))
    return place + 1


@compiled
def _letters(place, kind, address, length, quoted):
    """Writes a text; the place behind, -1 where a letter has to be escaped."""
    if kind == TEXT:
        store8(place, U(_QUOTE))
        return _closed(_text(place + 1, address, length))
    if not quoted:
        return _copied(place, address, length)
    store8(place, U(_QUOTE))
    return _closed(_copied(place + 1, address, length))


@compiled
def _is_null(valid, bit):
    """Whether that bit of a column's validity says so; address 0: nothing is null."""
    return valid != 0 and (load8(valid + (bit >> 3)) >> U(bit & 7)) & U(1) == U(0)


@compiled
def write(count, told, units, first, last, table, text):
    """Writes so many rows, each with `],` behind it; how many bytes they are.

    `told` has a row for each column: its kind, the addresses of its values and of its bits of
    validity (0: none is null), which of these is the first, the address of its offsets, and one
    thing more. Kinds: whole numbers of so many bytes; decimals of 128 bits whose lower 64 have them
    whole, of that scale, a whole one of which is `units` of the column; dates; microseconds since
    1970, in a zone or not; texts to be put in quotes; texts that are JSON already, in so many
    quotes. `table` has the texts of the days from `first` to `last`.

    Less than 0 is -1 and less: the column -1 - found has a value that isn't written here.
    """
    place = text
    columns = told.shape[0]
    for row in range(count):
        sign = U(91)
        for column in range(columns):
            store8(place, sign)
            place += 1
            sign = U(44)
            if _is_null(told[column, VALID], told[column, FIRST_BIT] + row):
                store32(place, U(_NULL))
                place += 4
                continue
            kind, values, more = told[column, KIND], told[column, VALUES], told[column, MORE]
            if kind == WHOLE:
                number = _whole(values, row, more)
                place = _number(_signed(place, number), _size(number))
                continue
            if kind == DECIMAL:
                number = np.int64(load64(values + 16 * row))
                place = _decimal(place, number, more, units[column])
                continue
            if kind == DAY:
                end = _closed(_day(place, _whole(values, row, 4), first, last, table))
            elif kind == MOMENT:
                moment = np.int64(load64(values + 8 * row))
                end = _closed(_moment(place, moment, more, first, last, table))
            else:
                offsets = told[column, OFFSETS] + 4 * row
                begin = np.int64(load32(offsets))
                length = np.int64(load32(offsets + 4)) - begin
                end = _letters(place, kind, values + begin, length, more)
            if end < 0:
                return -1 - column
            place = end
        store16(place, U(_END))
        place += 2
    return place - text
