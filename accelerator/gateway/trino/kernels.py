"""Rows as JSON, compiled: how wide each value is, then each value written in its place.

Functions over whole columns, called in two passes: `*_widths` add to the width of each row, then
`write_*` write a column's values and move each row's place behind them. A value stands behind its
sign, `[` or a comma. `valid` is empty where no value is null.
"""

from __future__ import annotations

import numpy as np

from indexes.compiled import compiled

U = np.uint64
"""Numbers without a sign are divided without a look at it; with others they'd become floats."""
QUOTE, BACKSLASH, COMMA, OPEN, CLOSE = 34, 92, 44, 91, 93
_MINUS, _POINT, _BLANK, _COLON = 45, 46, 32, 58
_DAY_US = 86_400_000_000


@compiled
def _digits(value):
    """How many digits the number, of 64 bits without a sign, has."""
    count = 1
    while value >= U(10000):
        value //= U(10000)
        count += 4
    if value >= U(1000):
        return count + 3
    if value >= U(100):
        return count + 2
    if value >= U(10):
        return count + 1
    return count


@compiled
def _put(text, at, value, count):
    """Writes so many digits of the number, the last of them; returns the place behind."""
    end = at + count
    place = end
    while place - at >= 2:
        place -= 2
        pair = value % U(100)
        value //= U(100)
        text[place] = np.uint8(pair // U(10) + U(48))
        text[place + 1] = np.uint8(pair % U(10) + U(48))
    if place > at:
        text[place - 1] = np.uint8(value % U(10) + U(48))
    return end


@compiled
def _null(text, at):
    text[at] = 110
    text[at + 1] = 117
    text[at + 2] = 108
    text[at + 3] = 108
    return at + 4


@compiled
def decimal_widths(values, valid, scale, width):
    """Numbers of 64 bits with a point before their last `scale` digits, in quotes.

    With a scale of -1 they're whole numbers, without quotes. None may be the least of 64 bits.
    """
    nulls = valid.size > 0
    for row in range(values.size):
        if nulls and not valid[row]:
            width[row] += 5
            continue
        value = values[row]
        sign = 1
        if value < 0:
            sign = 2
            value = -value
        count = _digits(U(value))
        if scale < 0:
            width[row] += sign + count
        elif scale == 0:
            width[row] += sign + count + 2
        else:
            width[row] += sign + max(count, scale + 1) + 3


@compiled
def write_decimals(values, valid, scale, text, at, sign):
    """See `decimal_widths`."""
    nulls = valid.size > 0
    for row in range(values.size):
        place = at[row]
        text[place] = sign
        place += 1
        if nulls and not valid[row]:
            at[row] = _null(text, place)
            continue
        value = values[row]
        if scale >= 0:
            text[place] = QUOTE
            place += 1
        if value < 0:
            text[place] = _MINUS
            place += 1
            value = -value
        number = U(value)
        count = _digits(number)
        if scale <= 0:
            place = _put(text, place, number, count)
        else:  # all digits, the first of them moved to make room for the point
            count = max(count, scale + 1)
            end = _put(text, place + 1, number, count)
            whole = count - scale
            for letter in range(whole):
                text[place + letter] = text[place + letter + 1]
            text[place + whole] = _POINT
            place = end
        if scale >= 0:
            text[place] = QUOTE
            place += 1
        at[row] = place


@compiled
def date_widths(count, valid, extra, width):
    """Dates, and times of `extra` more letters, in quotes: all as wide as each other."""
    nulls = valid.size > 0
    for row in range(count):
        if nulls and not valid[row]:
            width[row] += 5
        else:
            width[row] += 13 + extra


@compiled
def _put_day(text, place, days, first, table):
    start = (days - first) * 10
    for letter in range(10):
        text[place + letter] = table[start + letter]
    return place + 10


@compiled
def write_dates(values, valid, first, table, text, at, sign):
    """Days since 1970, whose texts stand in the table from the day `first` on."""
    nulls = valid.size > 0
    for row in range(values.size):
        place = at[row]
        text[place] = sign
        if nulls and not valid[row]:
            at[row] = _null(text, place + 1)
            continue
        text[place + 1] = QUOTE
        place = _put_day(text, place + 2, values[row], first, table)
        text[place] = QUOTE
        at[row] = place + 1


@compiled
def write_moments(values, valid, first, table, zone, text, at, sign):
    """Microseconds since 1970, with `zone` behind them."""
    nulls = valid.size > 0
    for row in range(values.size):
        place = at[row]
        text[place] = sign
        if nulls and not valid[row]:
            at[row] = _null(text, place + 1)
            continue
        text[place + 1] = QUOTE
        days = values[row] // _DAY_US
        rest = U(values[row] - days * _DAY_US)
        place = _put_day(text, place + 2, days, first, table)
        text[place] = _BLANK
        seconds = rest // U(1_000_000)
        place = _put(text, place + 1, seconds // U(3600), 2)
        text[place] = _COLON
        place = _put(text, place + 1, seconds // U(60) % U(60), 2)
        text[place] = _COLON
        place = _put(text, place + 1, seconds % U(60), 2)
        text[place] = _POINT
        place = _put(text, place + 1, rest % U(1_000_000), 6)
        for letter in range(zone.size):
            text[place + letter] = zone[letter]
        place += zone.size
        text[place] = QUOTE
        at[row] = place + 1


@compiled
def text_widths(offsets, data, valid, quotes, width):
    """Texts as they are, between `quotes` quotes; whether none has to be escaped."""
    nulls = valid.size > 0
    for row in range(offsets.size - 1):
        if nulls and not valid[row]:
            width[row] += 5
        else:
            width[row] += 1 + quotes + offsets[row + 1] - offsets[row]
    if quotes:
        for place in range(offsets[0], offsets[offsets.size - 1]):
            letter = data[place]
            if letter < 32 or letter in (QUOTE, BACKSLASH):
                return False
    return True


@compiled
def write_texts(offsets, data, valid, quotes, text, at, sign):
    """See `text_widths`."""
    nulls = valid.size > 0
    for row in range(offsets.size - 1):
        place = at[row]
        text[place] = sign
        place += 1
        if nulls and not valid[row]:
            at[row] = _null(text, place)
            continue
        if quotes:
            text[place] = QUOTE
            place += 1
        for letter in range(offsets[row], offsets[row + 1]):
            text[place] = data[letter]
            place += 1
        if quotes:
            text[place] = QUOTE
            place += 1
        at[row] = place


@compiled
def places(width, at):
    """Where each row begins; how many bytes there are. A row ends with `]` and a comma."""
    total = 0
    for row in range(width.size):
        at[row] = total
        total += width[row] + 2
    return total


@compiled
def close_rows(text, at):
    """Writes the ends of all rows."""
    for row in range(at.size):
        text[at[row]] = CLOSE
        text[at[row] + 1] = COMMA
