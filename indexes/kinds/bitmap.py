"""BITMAP: which rows have which value, by a sorted dictionary of the file's distinct values.

Exact for equality, IN, comparisons, IS NULL and LIKE, and so for what NOT makes of them, where the
blob has rows and few enough bytes are to be read; else what is told encloses the answer. By default
a blob has rows where these take no more bytes than the column does, else blocks of rows alone. NaN
is a value, above all numbers. `inverted/cells.py` makes answers of the index alone. No blob
is built for a file of more than `ndv_max` values, or of more than 64 MB of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from pyroaring import BitMap

from indexes.domains import BYTES, Key, NotIndexableError, domain_of, scale_of
from indexes.inverted.dictionary import key_of, to_values
from indexes.inverted.reader import TYPE, Inverted, keys_of, open_blob
from indexes.inverted.writer import ColumnCodes, InvertedShape, rows_pay, write
from indexes.kind import Blob, Clauses, ColumnIndexer, IndexedColumn, OptionError, Options, Read
from indexes.question import Among, Compare, IsNull, Like, Question, Value, Within
from indexes.row_verdict import Between, RowVerdict

TEXTS_MAX = 1 << 20  # bytes of a dictionary whose texts are compared one by one
_MANY = 32  # values of a list from which on the file's are looked up in it, not it in the file's
_REPLACEMENT = "\ufffd"  # what Spark may see in place of bytes that aren't UTF-8
_WHOLE = {  # option: default, least, most
    "bins": (64, 0, 1024),
    "block_rows": (8192, 0, 1 << 20),
    "ndv_max": (100_000, 1, 10_000_000),
}
_AUTO = "auto"
_BLOCK_ROWS_LEAST = 64  # but for 0


class Light(Protocol):
    """The seam for a light blob beside the heavy one: a filter over the distinct values."""

    def blobs(self, distinct: pa.Array, column: IndexedColumn, nulls: int) -> Sequence[Blob]:
        """Of distinct values in their domain, none of them NULL, and of so many NULL rows."""
        ...

    def asked(self, question: Question, type_: str, options: Options) -> Clauses | None:
        """As `Kind.asked`."""
        ...


class Bitmap(Struct, frozen=True):
    """The kind. `light`: makes the light blob and answers for it; without it there's none."""

    light: Light | None = None
    name: str = "BITMAP"

    def options(self, type_: str, given: Options) -> Options:
        """All options.

        `rows`: whether rows are kept, or blocks of rows alone, or `auto`, as each file has it: rows
        where these take no more bytes than the column (`inverted_writer.rows_pay`); `bins`: parts
        of the values' range, 0 to 1024; `block_rows`: rows of a block, 64 to 1,048,576, or 0 for
        row groups; `ndv_max`: distinct values of a file at most, 1 to 10,000,000.
        """
        if domain_of(type_) is None:
            raise NotIndexableError(f"the type {type_}")
        unknown = sorted(set(given) - {"rows", *_WHOLE})
        if unknown:
            told = f"BITMAP has no option {unknown[0]}: rows, {', '.join(_WHOLE)}"
            raise OptionError(told, unknown[0], ("rows", *_WHOLE))
        rows = str(given.get("rows", _AUTO)).lower()
        if rows not in ("true", "false", _AUTO):
            raise OptionError(f"rows is true, false or auto, not {given['rows']!r}")
        found: dict[str, str | int | bool] = {"rows": rows if rows == _AUTO else rows == "true"}
        whole = {
            name: _whole(name, given.get(name, default), least, most)
            for name, (default, least, most) in _WHOLE.items()
        }
        if 0 < whole["block_rows"] < _BLOCK_ROWS_LEAST:
            raise OptionError(f"block_rows is 0 or at least {_BLOCK_ROWS_LEAST}")
        return {**found, **whole}

    def builder(self, column: IndexedColumn, options: Options) -> ColumnIndexer:
        return _BitmapBuilder(column, dict(options), self.light)

    def asked(self, question: Question, type_: str, options: Options) -> Clauses | None:
        return None if self.light is None else self.light.asked(question, type_, options)

    def probe(
        self, blob: Blob, read: Read, question: Question, column: IndexedColumn
    ) -> RowVerdict | None:
        opened = open_blob(blob, read, column)
        return None if opened is None else _verdict(opened, question, column.type, blocks=False)

    def probe_blocks(
        self, blob: Blob, read: Read, question: Question, column: IndexedColumn
    ) -> RowVerdict | None:
        """Probes blocks of rows alone: less is read, and row groups can be skipped."""
        opened = open_blob(blob, read, column)
        return None if opened is None else _verdict(opened, question, column.type, blocks=True)


class _BitmapBuilder:
    def __init__(self, column: IndexedColumn, options: dict[str, Any], light: Light | None) -> None:
        domain = domain_of(column.type)
        if domain is None:
            raise NotIndexableError(f"the type {column.type}")
        starts = _starts(column.row_groups, options["block_rows"])
        self._auto = options["rows"] == _AUTO
        row_level = options["rows"] is True
        self._shape = InvertedShape(domain, starts, row_level, options["bins"], options["ndv_max"])
        self._column, self._light, self._codes = column, light, ColumnCodes(self._shape)

    def add(self, values: pa.Array) -> None:
        self._codes.add(values)

    def finish(self) -> Sequence[Blob]:
        if self._codes.rows != self._column.rows:
            raise ValueError(f"{self._codes.rows} rows were given of {self._column.rows}")
        finished = self._codes.finish()
        if finished is None or not self._column.rows:
            return ()
        shape = self._shape
        if self._auto:
            shape = replace(shape, row_level=rows_pay(*finished))
        written = write(*finished, shape)
        properties = {
            "head": str(written.head),
            "rows": str(self._column.rows),
            "nulls": str(written.nulls),
            "ndv": str(written.ndv),
            "domain": shape.domain,
            "scale": str(scale_of(self._column.type)),
            "level": "rows" if shape.row_level else "blocks",
        }
        heavy = Blob(TYPE, written.data, False, properties)
        if self._light is None:
            return (heavy,)
        keys = written.keys
        distinct = to_values(
            keys.to_pylist() if shape.domain == BYTES else keys.to_numpy(), shape.domain
        )
        return (heavy, *self._light.blobs(distinct, self._column, written.nulls))


def _whole(name: str, given: str | float | bool, least: int, most: int) -> int:
    text = str(given)
    if isinstance(given, bool) or not text.isascii() or not text.isdigit():
        raise OptionError(f"{name} is a whole number, not {given!r}")
    if not least <= int(text) <= most:
        raise OptionError(f"{name} is from {least} to {most}, not {text}")
    return int(text)


def _starts(row_groups: Sequence[int], block_rows: int) -> npt.NDArray[np.int64]:
    """The first rows of the blocks, each within a row group, and the number of rows."""
    starts: list[int] = []
    at = 0
    for rows in row_groups:
        starts += range(at, at + rows, block_rows or max(rows, 1))
        at += rows
    return np.array([*starts, at], np.int64)


def _verdict(opened: Inverted, question: Question, type_: str, blocks: bool) -> RowVerdict | None:
    if isinstance(question, IsNull):
        return RowVerdict.exactly(opened.head.rows, opened.nulls, BitMap())
    ranges: list[tuple[int, int]] | None
    exact = True
    if isinstance(question, Among):
        keys = _keys_of(question.values, opened.head.domain)
        ranges = None if keys is None else _among(opened, keys)
    elif isinstance(question, Compare):
        ranges = _compared(opened, question)
    elif isinstance(question, Within):
        ranges = _within(opened, question)
    elif not isinstance(question, Like) or type_ != "string":
        ranges = None
    elif (found := _like(opened, question)) is not None:
        ranges, exact = found
    else:
        ranges = None
    if ranges is None:
        return None
    told = opened.by_blocks(ranges) if blocks else opened.verdict(ranges)
    return told if exact else _at_most(told)


def _at_most(told: RowVerdict) -> RowVerdict:
    """Where the rows that were found needn't all be TRUE."""
    none, valued = BitMap(), told.true.upper | told.false.upper
    return RowVerdict(told.rows, Between(none, told.true.upper), Between(told.false.lower, valued))


def _keys_of(values: tuple[Value, ...], domain: str) -> frozenset[Key] | None:
    """Returns the list's keys; None if the domain lacks one."""
    try:
        return _keys_in_domain(values, domain)
    except NotIndexableError:
        return None


@lru_cache(16)
def _keys_in_domain(values: tuple[Value, ...], domain: str) -> frozenset[Key]:
    """Of a list, which all files are asked for alike.

    NotIndexableError isn't kept: to the cache 1.0 is 1, which another domain has.
    """
    keys = [key_of(value, domain) for value in values]
    known = frozenset(key for key in keys if key is not None)
    if len(known) < len(set(keys)):
        raise NotIndexableError(f"not all of the values are of the domain {domain}")
    return known


def _among(opened: Inverted, keys: Collection[Key]) -> list[tuple[int, int]]:
    if len(keys) > _MANY:
        least, most = min(keys), max(keys)
        part = opened.rank(least)[0], sum(opened.rank(most))
        if opened.dictionary_bytes(part) <= TEXTS_MAX:
            stored = keys_of(opened, part)
            stored = stored if opened.head.domain == BYTES else stored.tolist()
            found = [code for code, key in enumerate(stored, part[0]) if key in keys]
            return _joined([(code, code + 1) for code in found])
    found = sorted(code for key in keys for code, there in [opened.rank(key)] if there)
    return _joined([(code, code + 1) for code in found])


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ascending ranges, with those that touch made one."""
    found: list[tuple[int, int]] = []
    for a, b in ranges:
        if found and found[-1][1] == a:
            found[-1] = found[-1][0], b
        else:
            found.append((a, b))
    return found


def _compared(opened: Inverted, question: Compare) -> list[tuple[int, int]] | None:
    key = key_of(question.value, opened.head.domain)
    if key is None:
        return None
    code, there = opened.rank(key)
    after = code + there
    ranges = {
        "<": (0, code),
        "<=": (0, after),
        ">": (after, opened.head.ndv),
        ">=": (code, opened.head.ndv),
    }
    return [ranges[question.op]] if question.op in ranges else None


def _within(opened: Inverted, question: Within) -> list[tuple[int, int]] | None:
    low = _compared(opened, Compare(">" if question.low_open else ">=", question.low))
    high = _compared(opened, Compare("<" if question.high_open else "<=", question.high))
    if low is None or high is None:
        return None
    first, after = low[0][0], high[0][1]
    return [(first, max(first, after))]


def _like(opened: Inverted, question: Like) -> tuple[list[tuple[int, int]], bool] | None:
    """The texts that match, and whether these are all that may and all do.

    A run of whole characters stands in a text's bytes where it stands in its characters, so bytes
    are compared; but for the character that stands for bytes that aren't UTF-8.
    """
    if question.folded or any(_REPLACEMENT in run for run in question.runs):
        return None
    try:
        runs = [run.encode() for run in question.runs]
    except UnicodeEncodeError:  # half a surrogate pair: no text has it, but who knows its reader
        return None
    if not runs:
        whole = not (question.starts or question.ends)
        return ([(0, opened.head.ndv)], question.exact) if whole else None
    if len(runs) == 1 and question.starts and question.ends and question.exact:
        return _among(opened, frozenset(runs)), True
    first = (0, opened.head.ndv)
    if question.starts and runs[0]:
        first = opened.rank(runs[0])[0], opened.rank(_after(runs[0]))[0]
    if len(runs) == 1 and not question.ends and question.starts:
        return [first], question.exact
    if opened.dictionary_bytes(first) > TEXTS_MAX:
        return ([first], False) if question.starts else None
    texts = keys_of(opened, first)
    found = [
        first[0] + at
        for at, text in enumerate(texts)
        if _matches(text, runs, question.starts, question.ends)
    ]
    return _joined([(code, code + 1) for code in found]), question.exact


def _after(prefix: bytes) -> bytes:
    """The least bytes above all that begin with the prefix, which is UTF-8: no byte is 255."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


def _matches(text: bytes, runs: Sequence[bytes], starts: bool, ends: bool) -> bool:
    """Whether the runs stand in the text in their order, each behind the one before it."""
    at, end = 0, len(text)
    inner = list(runs)
    if starts:
        if not text.startswith(inner[0]):
            return False
        at = len(inner.pop(0))
    if ends and inner:
        last = inner.pop()
        end -= len(last)
        if end < at or not text.endswith(last):
            return False
    elif ends and not text.endswith(runs[0]):
        return False
    for run in inner:
        found = text.find(run, at, end)
        if found < 0:
            return False
        at = found + len(run)
    return True
