"""What of a fact and its dimensions decides sizes: combinations of values, unique keys, partners.

Dimensions are read whole, with the columns in question alone, so that what follows from another
attribute doesn't count twice. Of the fact all rows are read where they're few, else row groups from
all over it. What can't be read here is unknown, and whoever asks is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil, prod
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accelerator.engines.duckdb.table_scan import table_scan, with_scans
from accelerator.errors import AcceleratorError
from accelerator.iceberg import PinnedTable
from accelerator.services.advisor.cubes.cube_select import key_names, names
from accelerator.services.advisor.cubes.row_sample import (
    GROUP,
    Distinct,
    Sampled,
    cells,
    sampled_rows,
)
from rewrite.ir.block import Block, equal_columns
from rewrite.ir.expr import Column, Expr, columns, occurrences
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Renderer, quote

if TYPE_CHECKING:
    from accelerator.engines.duckdb.engine import DuckDBEngine

DIMENSION_ROWS_MAX = 20_000_000
"""A dimension of more isn't read; cubes over its attributes aren't advised."""
_FEW = 50_000
"""Rows that are enough to tell an order of keys by."""
_FULL = 0.6
_SKETCHED, _UNSKETCHED = 1.05, 2
"""A sketch's figure is less than 5 % too small, by three standard errors. NULL and the empty text
aren't in it."""
_KEY, _HAS, _LONG = "k", "p", "l"
_FAILS = (AcceleratorError, OSError, ValueError, KeyError, pa.ArrowException)
"""What reading a table's files raises."""


class Profile:
    """Of one fact, its star of all that is asked, and the tables of that.

    Reads on being made; `check` is asked before each table whether to go on.
    """

    def __init__(
        self,
        star: Block,
        pinned: Sequence[PinnedTable],
        duckdb: DuckDBEngine,
        tag: str,
        check: Callable[[], None],
    ) -> None:
        self._star, self._pinned, self._duckdb, self._tag = star, tuple(pinned), duckdb, tag
        self._check = check
        self._names = {name: number for number, name in enumerate(names(star))}
        self._keys = {name: number for number, name in enumerate(key_names(star))}
        self._unknown: set[int] = set()
        self._counted: dict[frozenset[int], Distinct] = {}
        self._near: dict[frozenset[int], int] = {}
        self._runs: dict[frozenset[int], int] = {}
        self._most: dict[int, int] = {}
        self._lengths: dict[int, float] = {}
        self.unique: frozenset[int] = frozenset()
        self.complete: frozenset[int] = frozenset()
        self.sampled = Sampled(0, 0, 0, 0)
        self._rows = self._read()
        places = np.linspace(0, max(self._rows.num_rows - 1, 0), _FEW)
        few = np.unique(places.astype(np.int64)) if self._rows.num_rows else places[:0]
        self._few = self._rows.take(pa.array(few, pa.int64()))

    @property
    def fact_rows(self) -> int:
        """Rows of the fact."""
        return self.sampled.of

    def places(self, star: Block) -> list[int] | None:
        """Which occurrence of the profile's star each of the star's is; None where one isn't."""
        found = [self._names.get(name) for name in names(star)]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None

    def cells(self, star: Block) -> int | None:
        """Cells of the star's cube once it's merged; None where that can't be told."""
        places = self.places(star)
        keys = [self._keys.get(name) for name in key_names(star)]
        numbers = frozenset(number for number in keys if number is not None)
        if places is None or None in keys or not self.sampled.rows:
            return None
        if self._unknown.intersection(places[1:]):
            return None
        if not numbers:
            return 1
        if numbers not in self._counted:
            self._counted[numbers] = self._distinct(numbers)
        return cells(self._counted[numbers], self.sampled, self._product(numbers))

    def about(self, star: Block) -> int | None:
        """As `cells`, of the rows that were looked at alone, and in a few ms: within some %."""
        places = self.places(star)
        keys = [self._keys.get(name) for name in key_names(star)]
        numbers = frozenset(number for number in keys if number is not None)
        if places is None or None in keys or self._unknown.intersection(places[1:]):
            return None
        return self._about(numbers)

    def prefixes(self, star: Block, order: Sequence[int], cells: int) -> list[int]:
        """Combinations of the star's first key in that order, of its first two, and so on: about.

        Once they're nearly as many as there are `cells` they're said to be that.
        """
        known = key_names(star)
        found: list[int] = []
        taken = frozenset[int]()
        for number in order:
            key = self._keys.get(known[number])
            taken |= frozenset(() if key is None else (key,))
            if key is None or (found and found[-1] >= _FULL * cells):
                found.append(cells)
            else:
                found.append(min(self._about(taken), cells))
        return found

    def order(self, star: Block, first: Callable[[int], bool]) -> list[int]:
        """An order of its keys in which the rows that are sorted by it have few, long runs.

        Those of which `first` says so stand before the others. Counted in a part of the rows; once
        nearly each of these is a combination of its own, keys of few values come before others.
        """
        known = key_names(star)
        waiting, order, taken = list(range(len(known))), list[int](), frozenset[int]()
        full = _FULL * self._few.num_rows
        runs = 0

        def cost(number: int) -> tuple[bool, int, int, int]:
            key = self._keys.get(known[number])
            if key is None:
                return not first(number), self._few.num_rows, 0, number
            values = self._most.get(key, 0)
            more = 0 if runs >= full else self._run(taken | {key})
            return not first(number), more, values, number

        while waiting:
            best = min(waiting, key=cost)
            waiting.remove(best)
            order.append(best)
            key = self._keys.get(known[best])
            taken |= frozenset(() if key is None else (key,))
            runs = self._run(taken) if runs < full else runs
        return order

    def _run(self, numbers: frozenset[int]) -> int:
        """Combinations in a part of the rows."""
        if len(numbers) == 1:
            (key,) = numbers
            return min(int(self._few.num_rows), self._most.get(key, 0))
        if numbers not in self._runs:
            self._runs[numbers] = self._approximately(numbers, self._few)
        return self._runs[numbers]

    def _about(self, numbers: frozenset[int]) -> int:
        if numbers in self._counted:
            return self._counted[numbers].seen
        if not numbers:
            return 1
        if numbers not in self._near:
            self._near[numbers] = self._approximately(numbers, self._rows)
        return self._near[numbers]

    def _approximately(self, numbers: frozenset[int], rows: pa.Table) -> int:
        by = ", ".join(f"{_KEY}{key}" for key in sorted(numbers))
        text = f"SELECT APPROX_COUNT_DISTINCT(HASH({by})) AS n FROM codes"
        (row,) = self._duckdb.run(text, {"codes": rows}, tag=self._tag).to_pylist()
        return int(row["n"])

    def values(self, key: str) -> int | None:
        """How many values a key of that name has in the rows that were looked at."""
        return self._most.get(self._keys.get(key, -1))

    def length(self, key: str) -> float:
        """Bytes of a text of a key of that name, on average; 0 of what is no text."""
        return self._lengths.get(self._keys.get(key, -1), 0.0)

    def _product(self, keys: frozenset[int]) -> int:
        """Combinations that there can be: of one table together, of several the product."""
        by_table: dict[int, set[int]] = {}
        for key in keys:
            named = occurrences(self._star.keys[key])
            by_table.setdefault(max(named), set()).add(key)
        found = [
            self._table_product(table, frozenset(own)) for table, own in sorted(by_table.items())
        ]
        return prod(found)

    def _table_product(self, table: int, keys: frozenset[int]) -> int:
        if not table:  # of the fact's own values others may come that weren't seen
            return min(self.sampled.of, self._sketched(keys) or self.sampled.of)
        seen = self._counted.get(keys)
        if seen is None:
            seen = self._counted[keys] = self._distinct(keys)
        # A dimension's rows are all there are, and one more: rows without a partner.
        return max(seen.seen, min(self._pinned[table].rows_told + 1, self.sampled.of))

    def _sketched(self, keys: frozenset[int]) -> int | None:
        """So many combinations of the fact's columns at most, by sketches of the pinned snapshot.

        None where a key is no column, or has none.
        """
        told, found = self._pinned[0].sketched(), 1
        for key in keys:
            column = self._star.keys[key]
            sketch = told.get(column.field_id) if isinstance(column, Column) else None
            if sketch is None or not sketch.pinned:
                return None
            found *= ceil(sketch.distinct * _SKETCHED) + _UNSKETCHED
        return found

    def _distinct(self, keys: frozenset[int]) -> Distinct:
        by = ", ".join(f"{_KEY}{key}" for key in sorted(keys))
        text = (
            "SELECT COUNT(*) AS seen, COUNT(*) FILTER (n = 1) AS r1, COUNT(*) FILTER (n = 2) AS r2,"
            " COUNT(*) FILTER (b = 1) AS g1, COUNT(*) FILTER (b = 2) AS g2 FROM"
            f" (SELECT COUNT(*) AS n, COUNT(DISTINCT {GROUP}) AS b FROM codes GROUP BY {by})"
        )
        if self.sampled.whole:
            text = (
                "SELECT COUNT(*) AS seen, 0 AS r1, 0 AS r2, 0 AS g1, 0 AS g2"
                f" FROM (SELECT DISTINCT {by} FROM codes)"
            )
        (row,) = self._duckdb.run(text, {"codes": self._rows}, tag=self._tag).to_pylist()
        return Distinct(*(int(row[name]) for name in ("seen", "r1", "r2", "g1", "g2")))

    # Reading.

    def _read(self) -> pa.Table:
        """The keys of the rows that are looked at, as numbers: equal ones for equal values."""
        wanted = self._columns_by_occurrence()
        own = sorted(wanted[0], key=lambda column: column.name)
        fact, self.sampled = sampled_rows(
            self._pinned[0], own, self._duckdb, self._tag, self._check
        )
        scans: dict[str, str] = {}
        tables: dict[str, pa.Table] = {"t0": fact}
        unique = set()
        for number in range(1, len(self._pinned)):
            self._check()
            found = self._dimension(number, sorted(wanted[number], key=lambda c: c.name))
            if found is None:
                self._unknown.add(number)
                continue
            scans.update(found[0])
            tables.update(found[1])
            unique.add(number)
        self.unique = frozenset(unique)
        self._spread_unknown()
        joined = self._joined(scans, tables)
        self.complete = frozenset(self._complete(joined))
        self._most = {
            key: len(pc.unique(joined[f"{_KEY}{key}"]))
            for key in range(len(self._star.keys))
            if f"{_KEY}{key}" in joined.column_names
        }
        for key in set(range(len(self._star.keys))) - self._most.keys():
            self._unknown.update(o for o in occurrences(self._star.keys[key]) if o)
            self._keys = {name: one for name, one in self._keys.items() if one != key}
        return joined

    def _columns_by_occurrence(self) -> list[set[Column]]:
        star = self._star
        exprs = [*star.keys, *star.conditions]
        found: list[set[Column]] = [set() for _ in star.occurrences]
        for column in (c for expr in exprs for c in columns(expr)):
            found[column.occurrence].add(column)
        return found

    def _dimension(
        self, number: int, wanted: Sequence[Column]
    ) -> tuple[dict[str, str], dict[str, pa.Table]] | None:
        """A scan of it under its name, if each key stands there once; None where it can't be."""
        pinned = self._pinned[number]
        own = self._own_columns(number)
        if pinned.rows_told > DIMENSION_ROWS_MAX or not own:
            return None
        name = f"t{number}"
        try:
            files = pinned.live_files()
            asked = [column.name for column in wanted]
            scan = table_scan(pinned, asked, files, name, self._duckdb, self._tag)
            scans = {name: scan.text} if scan.text else {}
            keys = ", ".join(quote(column.name, "duckdb") for column in own)
            present = " AND ".join(f"{quote(c.name, 'duckdb')} IS NOT NULL" for c in own)
            text = (
                f"SELECT COUNT(*) AS n, COUNT(DISTINCT ({keys})) AS k FROM {name} WHERE {present}"
            )
            (row,) = self._duckdb.run(
                with_scans(scans, text), scan.tables, tag=self._tag
            ).to_pylist()
        except _FAILS:
            return None
        return (scans, scan.tables) if row["n"] == row["k"] else None

    def _own_columns(self, number: int) -> list[Column]:
        """Its columns by which it's joined, where it's joined by equalities of columns alone."""
        on = self._on(number)
        found: list[Column] = []
        for conjunct in on:
            pair = equal_columns(conjunct)
            mine = [c for c in pair or () if c.occurrence == number]
            if len(mine) != 1:
                return []
            found.append(mine[0])
        return sorted(set(found), key=lambda column: column.field_id)

    def _on(self, number: int) -> tuple[Expr, ...]:
        left = {edge.occurrence: edge.on for edge in self._star.left_edges}
        found = left.get(number)
        if found is not None:
            return found
        return tuple(c for c in self._star.conjuncts if max(occurrences(c)) == number)

    def _spread_unknown(self) -> None:
        """What is joined by what isn't known isn't known either."""
        for number in range(1, len(self._pinned)):
            named = {o for c in self._on(number) for o in occurrences(c)}
            if self._unknown & named:
                self._unknown.add(number)

    def _joined(self, scans: Mapping[str, str], tables: Mapping[str, pa.Table]) -> pa.Table:
        render = Renderer("duckdb", lambda c: f"t{c.occurrence}.{quote(c.name, 'duckdb')}")
        items = [f"t0.{GROUP} AS {GROUP}"]
        shown: list[str] = []
        for key, expr in enumerate(self._star.keys):
            if self._unknown & occurrences(expr):
                continue
            try:
                items.append(f"HASH({render.text(expr)}) AS {_KEY}{key}")
            except DeclinedError:
                continue
            shown.append(f"{_KEY}{key}")
            if expr.type == "string":
                items.append(f"STRLEN({render.text(expr)}) AS {_LONG}{key}")
        text = "FROM t0"
        for number in range(1, len(self._pinned)):
            if number in self._unknown:
                continue
            on = [render.text(c) for c in self._on(number)]
            text += f" LEFT JOIN t{number} ON {' AND '.join(on)}"
            own = quote(self._own_columns(number)[0].name, "duckdb")
            items.append(f"t{number}.{own} IS NOT NULL AS {_HAS}{number}")
        text = with_scans(scans, f"SELECT {', '.join(items)} {text}")
        found = self._duckdb.run(text, tables, tag=self._tag)
        for name in [one for one in found.column_names if one.startswith(_LONG)]:
            self._lengths[int(name[1:])] = pc.mean(found[name]).as_py() or 0.0
            found = found.drop_columns([name])
        return _coded(found, shown)

    def _complete(self, joined: pa.Table) -> Iterator[int]:
        """The occurrences in which each row that was looked at has a partner."""
        for number in range(1, len(self._pinned)):
            name = f"{_HAS}{number}"
            if name in joined.column_names and pc.all(joined[name]).as_py() is not False:
                yield number


def _coded(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """With small numbers in the place of these columns' values."""
    for name in names:
        column = table[name].combine_chunks()
        codes = pc.dictionary_encode(column, null_encoding="encode")
        codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
        table = table.set_column(table.column_names.index(name), name, codes.indices)
    return table
