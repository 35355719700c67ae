"""The SSB fact table, made in chunks that don't depend on each other.

A chunk is drawn from (seed, its first row), so that files can be made in any order, again, or
alone. Order dates are uniform and unsorted: nothing is laid out to help an accelerator.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from bench.ssb import words
from bench.ssb.dimensions import Ints, datekeys, int_array, pick
from bench.ssb.sizes import DATE_ROWS, Sizes

CHUNK_ROWS = 500_000
LINES_MAX = 7
_STREAM = 4


def file_bounds(sizes: Sizes) -> list[tuple[int, int]]:
    """First row and end row of each lineorder file."""
    edges = np.linspace(0, sizes.lineorder, sizes.lineorder_files + 1).astype(int).tolist()
    return list(itertools.pairwise(edges))


def chunks(sizes: Sizes, seed: int, start: int, end: int) -> Iterator[pa.Table]:
    """The rows [start, end) in tables of at most CHUNK_ROWS rows."""
    for first in range(start, end, CHUNK_ROWS):
        rng = np.random.default_rng([seed, _STREAM, first])
        yield _chunk(sizes, rng, first, min(CHUNK_ROWS, end - first))


def retail_prices(partkey: Ints) -> Ints:
    """A part's price in cents, by TPC-H's rule, which SSB keeps: 900.00 to 2,098.99."""
    return 90_000 + (partkey // 10) % 20_001 + 100 * (partkey % 1_000)


def _chunk(sizes: Sizes, rng: np.random.Generator, first_row: int, rows: int) -> pa.Table:
    order, line = _orders_and_lines(rng, rows)
    columns = {
        # Keys leave gaps between chunks, as dbgen's do; a key below its row number fits 32 bits
        # up to scale 350.
        "lo_orderkey": int_array(first_row + order + 1),
        "lo_linenumber": int_array(line),
        "lo_custkey": int_array(rng.integers(1, sizes.customer + 1, order[-1] + 1)[order]),
    }
    partkey = rng.integers(1, sizes.part + 1, rows)
    columns["lo_partkey"] = int_array(partkey)
    columns["lo_suppkey"] = int_array(rng.integers(1, sizes.supplier + 1, rows))
    columns |= _order_columns(rng, order) | _money_columns(rng, order, partkey)
    columns |= _commit_columns(rng, order, columns.pop("order_day").to_numpy())
    return pa.table(columns)


def _orders_and_lines(rng: np.random.Generator, rows: int) -> tuple[Ints, Ints]:
    """Order number (from 0) and line number (from 1) of each row: 1 to 7 lines an order.

    The chunk's last order is cut where the chunk ends, so that a scale has exactly its rows.
    """
    lines = rng.integers(1, LINES_MAX + 1, rows)
    orders = int(np.searchsorted(np.cumsum(lines), rows)) + 1
    lines = lines[:orders]
    order = np.repeat(np.arange(orders), lines)[:rows]
    first_of_order = np.cumsum(lines) - lines
    return order, np.arange(rows) - first_of_order[order] + 1


def _order_columns(rng: np.random.Generator, order: Ints) -> dict[str, pa.Array]:
    """What all lines of an order share. `order_day` is the day's number, used and then dropped."""
    orders = order[-1] + 1
    day = rng.integers(0, DATE_ROWS, orders)[order]
    return {
        "order_day": pa.array(day),
        "lo_orderdate": int_array(datekeys()[day]),
        "lo_orderpriority": pick(words.PRIORITIES, rng.integers(0, 5, orders)[order]),
        "lo_shippriority": pick(("0",), np.zeros(len(order), np.int64)),
    }


def _money_columns(rng: np.random.Generator, order: Ints, partkey: Ints) -> dict[str, pa.Array]:
    """Quantity, discount and tax, and the sums of money (cents) that follow from them."""
    rows = len(order)
    quantity, price = rng.integers(1, 51, rows), retail_prices(partkey)
    discount, tax = rng.integers(0, 11, rows), rng.integers(0, 9, rows)
    extended = quantity * price
    revenue = extended * (100 - discount) // 100
    # bincount adds in doubles; an order's cents stay far below 2**53, so the sum is exact.
    total = np.bincount(order, weights=revenue * (100 + tax) // 100).astype(np.int64)
    return {
        "lo_quantity": int_array(quantity),
        "lo_extendedprice": int_array(extended),
        "lo_ordtotalprice": int_array(total[order]),
        "lo_discount": int_array(discount),
        "lo_revenue": int_array(revenue),
        "lo_supplycost": int_array(6 * price // 10),
        "lo_tax": int_array(tax),
    }


def _commit_columns(rng: np.random.Generator, order: Ints, day: Ints) -> dict[str, pa.Array]:
    """Commit dates lie 30 to 90 days after the order; those past the calendar fall on its end."""
    commit = np.minimum(day + rng.integers(30, 91, len(order)), DATE_ROWS - 1)
    return {
        "lo_commitdate": int_array(datekeys()[commit]),
        "lo_shipmode": pick(words.SHIPMODES, rng.integers(0, len(words.SHIPMODES), len(order))),
    }
