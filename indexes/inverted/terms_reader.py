"""The reader of inverted blobs of terms: where each of many terms of a file's rows stands.

What is told of a term is in which *units* it stands: single rows, or blocks of as many rows each.
Of a term without a set nothing is told: it may stand anywhere. So may every term in the units that
are *unknown*. `terms_writer.py` writes such blobs; `docs/formats/terms.md` has every byte.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from msgspec import Struct
from pyroaring import BitMap

from indexes.domains import BYTES, Key
from indexes.inverted.dictionary import Directory, rising
from indexes.inverted.keyed import Codes, Keyed, checked, head_of
from indexes.inverted.postings import BOUND_MAX, decode
from indexes.kind import Read
from indexes.puffin import exactly
from indexes.row_verdict import Between, RowVerdict

TYPE = "acc-terms-v1"
MAGIC = b"AIT1"
NULLS_INSIDE = 16 << 10
"""Bytes of the NULL rows' set that are read with the head."""
_Place = tuple[int, int, int, int]


class TermsHead(Struct, frozen=True):
    """What the first read gives. `unit`: rows of one; a set is offset, length, form, checksum."""

    rows: int
    unit: int
    terms: int
    unknown: _Place
    null: _Place
    directory: Directory


def parse_head(data: bytes, domain: str) -> TermsHead:
    """ValueError for what isn't a head."""
    source = head_of(data, MAGIC)
    rows, unit, terms, text = (source.number(form) for form in "QIIB")
    if not unit or rows >= BOUND_MAX or bool(text) != (domain == BYTES):
        raise ValueError(f"the blob isn't of the domain {domain}, or has {rows} rows")
    unknown, null = ([source.number(form) for form in "QQBI"] for _ in range(2))
    directory = Directory.read_from(source, domain, 1)
    source.end()
    rising(directory.codes, 0, terms)
    return TermsHead(rows, unit, terms, (*unknown,), (*null,), directory)  # type: ignore[arg-type]


class Terms(Keyed):
    """An open blob; it keeps what it has read. `data`: its first bytes, the head at least."""

    def __init__(self, head: TermsHead, domain: str, data: bytes, read: Read) -> None:
        super().__init__(head.directory, domain, 1, read)
        self.head, self.data = head, data

    @classmethod
    def open(cls, read: Read, length: int, domain: str) -> Terms:
        """`length`: bytes to begin with, as the blob's properties have it."""
        data = exactly(read, 0, length)
        return cls(parse_head(data, domain), domain, data, read)

    @property
    def units(self) -> int:
        """How many there are."""
        return -(-self.head.rows // self.head.unit)

    @cached_property
    def nulls(self) -> BitMap:
        """The rows that are NULL."""
        return self._set(self.head.null, self.head.rows)

    @cached_property
    def unknown(self) -> BitMap:
        """The units of which nothing is told."""
        return self._set(self.head.unknown, self.units)

    def having(self, key: Key) -> BitMap | None:
        """Returns the units that contain the term; None if it may be any."""
        found = self._code_of(key)
        return BitMap() if found is None else self._units(found)

    def having_all(self, keys: Iterable[Key]) -> BitMap | None:
        """The units in which all of the terms stand; None where it may be any.

        The rarest come first, and what comes after nothing is left isn't read.
        """
        found = []
        for key in keys:
            code = self._code_of(key)
            if code is None:
                return BitMap()
            found.append((self._count(code), code))
        left: BitMap | None = None
        for _, code in sorted(found):
            units = self._units(code)
            if units is not None:
                left = units if left is None else left & units
            if left is not None and not left:
                break
        return left

    def having_any(self, codes: Codes) -> BitMap | None:
        """The units in which any of the terms of these codes stands; None where it may be any."""
        sets = [
            (data, form, decode(data, form, self.units)) for data, form in self.sets_of([codes], 0)
        ]
        if not all(data for data, *_ in sets):
            return None
        return BitMap.union(*(units for *_, units in sets)) if sets else BitMap()

    def verdict(self, units: BitMap | None, *, exact: bool) -> RowVerdict:
        """Of a question whose TRUE rows all stand in those units, or in one that is unknown.

        `exact`: each row of a known unit of one row is TRUE, unless it's NULL.
        """
        valued = BitMap(range(self.head.rows)) - self.nulls
        if units is None:
            return self._verdict(Between(BitMap(), valued), valued)
        upper = self._rows(units | self.unknown) & valued
        sure = exact and self.head.unit == 1
        return self._verdict(Between(upper - self.unknown if sure else BitMap(), upper), valued)

    def _verdict(self, true: Between, valued: BitMap) -> RowVerdict:
        return RowVerdict(self.head.rows, true, Between(valued - true.upper, valued - true.lower))

    def _rows(self, units: BitMap) -> BitMap:
        if self.head.unit == 1:
            return units
        found = BitMap()
        for number in units:
            begin = number * self.head.unit
            found.add_range(begin, min(begin + self.head.unit, self.head.rows))
        return found

    def _code_of(self, key: Key) -> int | None:
        code, there = self.rank(key)
        return code if there else None

    def _count(self, code: int) -> int:
        (block,) = self.blocks((code, code + 1))
        return int(block.counts[code - block.first])

    def _units(self, code: int) -> BitMap | None:
        ((data, form),) = self.sets_of([(code, code + 1)], 0)
        return decode(data, form, self.units) if data else None

    def _set(self, place: _Place, bound: int) -> BitMap:
        offset, length, form, crc = place
        inside = offset + length <= len(self.data)
        found = self.data[offset : offset + length] if inside else self.part(offset, length)
        return decode(checked(found, crc), form, bound)
