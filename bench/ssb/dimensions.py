"""The four SSB dimension tables as Arrow tables, by the rules of the paper (rev. 3, section 2).

Each table draws from a stream of its own, so none depends on the order they are made in.
Text columns are dictionary encoded here; Parquet writes them as plain strings.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.ssb import words
from bench.ssb.sizes import DATE_ROWS

Ints = npt.NDArray[np.int64]
FIRST_DAY = dt.date(1992, 1, 1)
_ADDRESS_LETTERS = np.array(
    list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ,"), dtype="U1"
)


def customer(rows: int, rng: np.random.Generator) -> pa.Table:
    """30,000 customers a scale unit, their cities uniform over the 250."""
    columns = _who_and_where("c", "cust", "Customer", rows, rng)
    columns["c_mktsegment"] = pick(words.MKTSEGMENTS, rng.integers(0, 5, rows))
    return pa.table(columns)


def supplier(rows: int, rng: np.random.Generator) -> pa.Table:
    """2,000 suppliers a scale unit, their cities uniform over the 250."""
    return pa.table(_who_and_where("s", "supp", "Supplier", rows, rng))


def part(rows: int, rng: np.random.Generator) -> pa.Table:
    """Parts, uniform over the 1,000 brands; manufacturer and category are parts of the brand."""
    brand = rng.integers(0, len(words.BRANDS), rows)
    category = brand // words.BRANDS_PER_CATEGORY
    first, second = rng.integers(0, len(words.COLORS), (2, rows))
    colors = np.array(words.COLORS)
    return pa.table(
        {
            "p_partkey": int_array(np.arange(1, rows + 1)),
            "p_name": pa.array(np.char.add(np.char.add(colors[first], " "), colors[second])),
            "p_mfgr": pick(words.MFGRS, category // 5),
            "p_category": pick(words.CATEGORIES, category),
            "p_brand1": pick(words.BRANDS, brand),
            "p_color": pick(words.COLORS, first),
            "p_type": pick(words.TYPES, rng.integers(0, len(words.TYPES), rows)),
            "p_size": int_array(rng.integers(1, 51, rows)),
            "p_container": pick(words.CONTAINERS, rng.integers(0, len(words.CONTAINERS), rows)),
        }
    )


def dates() -> pa.Table:
    """The calendar from 1992-01-01 on: seven years, the paper's 2,556 days."""
    days = calendar()
    in_year = [day.timetuple().tm_yday for day in days]
    # Python's Monday is 0; the paper's week starts on Sunday, day 1.
    in_week = [day.isoweekday() % 7 + 1 for day in days]
    month_name = [words.MONTHS[day.month - 1] for day in days]
    columns: dict[str, Sequence[object]] = {
        "d_datekey": datekeys().tolist(),
        "d_date": [f"{m} {d.day}, {d.year}" for m, d in zip(month_name, days, strict=True)],
        "d_dayofweek": [words.WEEKDAYS[day - 1] for day in in_week],
        "d_month": month_name,
        "d_year": [day.year for day in days],
        "d_yearmonthnum": [day.year * 100 + day.month for day in days],
        "d_yearmonth": [f"{m[:3]}{d.year}" for m, d in zip(month_name, days, strict=True)],
        "d_daynuminweek": in_week,
        "d_daynuminmonth": [day.day for day in days],
        "d_daynuminyear": in_year,
        "d_monthnuminyear": [day.month for day in days],
        "d_weeknuminyear": [(day - 1) // 7 + 1 for day in in_year],
        "d_sellingseason": [words.SEASONS[day.month - 1] for day in days],
        "d_lastdayinweekfl": [int(day == 7) for day in in_week],
        "d_lastdayinmonthfl": [int((day + dt.timedelta(1)).day == 1) for day in days],
        "d_holidayfl": [int((day.month, day.day) in words.HOLIDAYS) for day in days],
        "d_weekdayfl": [int(day in range(2, 7)) for day in in_week],
    }
    return pa.table({name: _inferred(values) for name, values in columns.items()})


def calendar() -> list[dt.date]:
    """Every day of the date table, in order."""
    return [FIRST_DAY + dt.timedelta(day) for day in range(DATE_ROWS)]


def datekeys() -> Ints:
    """`d_datekey` of every day, in order: 19920101 and so on."""
    return np.array([d.year * 10_000 + d.month * 100 + d.day for d in calendar()], dtype=np.int64)


def pick(values: Sequence[str], which: Ints) -> pa.DictionaryArray:
    """The values at those positions, as a dictionary array: no string is ever copied."""
    return pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int32)), pa.array(values))


def int_array(values: Ints) -> pa.Array:
    """32-bit integers, the type of every SSB number."""
    return pa.array(values.astype(np.int32))


def _who_and_where(
    prefix: str, key: str, noun: str, rows: int, rng: np.random.Generator
) -> dict[str, pa.Array]:
    """The columns that customer and supplier share, key to phone, in the paper's order."""
    numbers = np.arange(1, rows + 1)
    city = rng.integers(0, len(words.CITIES), rows)
    nation = city // words.CITIES_PER_NATION
    return {
        f"{prefix}_{key}key": int_array(numbers),
        f"{prefix}_name": pa.array([f"{noun}#{number:09d}" for number in numbers.tolist()]),
        f"{prefix}_address": _addresses(rows, rng),
        f"{prefix}_city": pick(words.CITIES, city),
        f"{prefix}_nation": pick(words.NATIONS, nation),
        f"{prefix}_region": pick(words.REGION_OF_NATION, nation)
        .dictionary_decode()
        .dictionary_encode(),
        f"{prefix}_phone": _phones(nation, rng),
    }


def _addresses(rows: int, rng: np.random.Generator) -> pa.Array:
    """Random text of 10 to 25 characters."""
    letters = _ADDRESS_LETTERS[rng.integers(0, len(_ADDRESS_LETTERS), (rows, 25))]
    whole = np.ascontiguousarray(letters).view("U25").ravel().tolist()
    lengths = rng.integers(10, 26, rows).tolist()
    # A blank at either end would make the text depend on who trims it.
    texts = (text[:n].strip() for text, n in zip(whole, lengths, strict=True))
    return pa.array(list(texts), pa.string())


def _phones(nation: Ints, rng: np.random.Generator) -> pa.Array:
    """`cc-aaa-bbb-dddd`, the country code being 10 + the nation's number."""
    area = rng.integers(100, 1000, (2, len(nation)))
    line = rng.integers(1000, 10_000, len(nation))
    rows = zip((nation + 10).tolist(), *area.tolist(), line.tolist(), strict=True)
    return pa.array([f"{code}-{a}-{b}-{c}" for code, a, b, c in rows], pa.string())


def _inferred(values: Sequence[object]) -> pa.Array:
    return pa.array(values, pa.int32() if isinstance(values[0], int) else pa.string())
