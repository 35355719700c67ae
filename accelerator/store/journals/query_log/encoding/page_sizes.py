"""What a Parquet file's footer and pages say of themselves, read without expanding anything.

Arrow trusts the sizes that stand before each page, and some of what it tells of a malformed
footer's columns ends the process. So the sizes are read here, in plain Python: Thrift's compact
protocol, whose structs become mappings from field numbers. Anything odd is a ValueError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

MAGIC = b"PAR1"
_FOOTER_MAX = 4 * 1024**2
_VALUES_MAX = 200_000
_DEPTH_MAX = 12
_STOP, _TRUE, _FALSE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 7, 8, 9, 10, 12
_BYTE, _WHOLE = 3, (4, 5, 6)
# Plain, dictionary (its old name too) and run lengths: none gives more bytes than its page has,
# but for the dictionary's values, which stay in it.
_ENCODINGS = frozenset((0, 2, 3, 8))
_LEVELS = 3


class PageSizes(Struct, frozen=True):
    """Rows and row groups, names of leaves with their dots, and the footer's own key and values.

    `expanded`: bytes of all pages together; `values`: of the leaf that has most.
    """

    rows: int
    row_groups: int
    leaves: frozenset[str]
    metadata: Mapping[bytes, bytes]
    expanded: int
    values: int


def sizes_of(data: bytes) -> PageSizes:
    """Of a whole file; ValueError for what isn't one, or is encoded as the log's files aren't."""
    if len(data) < 12 or data[:4] != MAGIC or data[-4:] != MAGIC:
        raise ValueError("it has no footer of Parquet")
    length = int.from_bytes(data[-8:-4], "little")
    if length > min(_FOOTER_MAX, len(data) - 12):
        raise ValueError("its footer is longer than it can be")
    start = len(data) - 8 - length
    footer = _ThriftCursor(data, start, len(data) - 8).struct()
    if not _bytes(footer.get(6, b"")).startswith(b"parquet-cpp-arrow"):
        raise ValueError("another writer's")
    groups = _structs(footer, 4)
    leaves: set[str] = set()
    expanded = most = 0
    for group in groups:
        for column in _structs(group, 1):
            if 1 in column or 8 in column:
                raise ValueError("a column is elsewhere, or encrypted")
            chunk = _struct(column, 3)
            leaves.add(b".".join(_bytes(one) for one in chunk.get(3, ())).decode())
            size, values = _pages(data, chunk, start)
            expanded += size
            most = max(most, values, _whole(chunk, 5))
    metadata = {_bytes(one.get(1)): _bytes(one.get(2, b"")) for one in _structs(footer, 5)}
    return PageSizes(_whole(footer, 3), len(groups), frozenset(leaves), metadata, expanded, most)


def _pages(data: bytes, chunk: Mapping[int, Any], footer: int) -> tuple[int, int]:
    """Bytes that a column's pages expand to, and values that they have."""
    begin = _whole(chunk, 9)
    if 11 in chunk and 0 < _whole(chunk, 11) < begin:
        begin = _whole(chunk, 11)
    end = begin + _whole(chunk, 7)
    if not len(MAGIC) <= begin <= end <= footer:
        raise ValueError("a column isn't inside the file")
    expanded = values = 0
    while begin < end:
        reader = _ThriftCursor(data, begin, end)
        page = reader.struct()
        begin = reader.place + _whole(page, 3)
        if begin > end:
            raise ValueError("a page ends behind its column")
        expanded += _whole(page, 2)
        values += sum(_values(page))
    return expanded, values


def _values(page: Mapping[int, Any]) -> Iterator[int]:
    """Of its one header: of data in version 1 or 2, or of a dictionary."""
    for field, encoding, levels in ((5, 2, (3, 4)), (7, 2, ()), (8, 4, ())):
        if field in page:
            header = _struct(page, field)
            if header.get(encoding) not in _ENCODINGS:
                raise ValueError("a page's encoding isn't one of the log's")
            if any(header.get(one) != _LEVELS for one in levels):
                raise ValueError("a page's levels aren't run lengths")
            yield _whole(header, 1)


def _struct(of: Mapping[int, Any], field: int) -> Mapping[int, Any]:
    found = of.get(field)
    if not isinstance(found, dict):
        raise ValueError("a part of the footer is missing")
    return found


def _structs(of: Mapping[int, Any], field: int) -> list[Mapping[int, Any]]:
    found = of.get(field, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError("a part of the footer is something else")
    return found


def _whole(of: Mapping[int, Any], field: int) -> int:
    found = of.get(field)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 2**62:
        raise ValueError("a number of the footer is none, or negative")
    return found


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a name of the footer is none")
    return value


class _ThriftCursor:
    """A cursor over Thrift's compact protocol, up to `end`."""

    def __init__(self, data: bytes, place: int, end: int) -> None:
        self._data, self.place, self._end = data, place, end
        self._left = _VALUES_MAX

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Field number → value; of one that is there twice the last."""
        if depth > _DEPTH_MAX:
            raise ValueError("nested too deeply")
        found: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) & 15 != _STOP:
            number = number + (head >> 4) if head >> 4 else self._signed()
            if number in found:
                raise ValueError("a field is there twice")
            found[number] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ValueError("it has too many values")
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in _WHOLE:
            return self._signed()
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth)
        if kind == _BYTE:
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise ValueError(f"no value of Parquet: {kind}")  # maps among them

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 15
        if size == 15:
            size = self._unsigned()
        if size > min(self._left, self._end - self.place):
            raise ValueError("a list is longer than the bytes")
        if kind in (_TRUE, _FALSE):
            return [self._byte() == _TRUE for _ in range(size)]
        return [self._value(kind, depth + 1) for _ in range(size)]

    def _byte(self) -> int:
        if self.place >= self._end:
            raise ValueError("it ends too early")
        self.place += 1
        return self._data[self.place - 1]

    def _bytes(self, length: int) -> bytes:
        if length > self._end - self.place:
            raise ValueError("it ends too early")
        self.place += length
        return self._data[self.place - length : self.place]

    def _unsigned(self) -> int:
        found = shift = 0
        while True:
            one = self._byte()
            found |= (one & 127) << shift
            if one < 128:
                return found
            shift += 7
            if shift > 63:
                raise ValueError("a number is too long")

    def _signed(self) -> int:
        found = self._unsigned()
        return (found >> 1) ^ -(found & 1)
