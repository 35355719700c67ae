"""The one decoder of manifests, into columns, and of lists of manifests.

The container is opened by `container`, the writer's schema becomes a program (`program`), an
interpreter (`kernel`) runs it into arrays, and here the arrays become Arrow columns. What the
interpreter refuses, or a manifest can't hold, raises `ManifestError`. The interpreter is given:
`kernel` itself, which Python runs, or `compiled.COMPILED`; both do the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from accelerator.iceberg.manifests import interpreter
from accelerator.iceberg.manifests.avro_container import Container, damaged, unsupported
from accelerator.iceberg.manifests.columns import (
    ALL_TYPES,
    KINDS,
    Bools,
    Int64s,
    ManifestColumns,
    Raw,
    assemble,
    narrowest,
    stats_struct,
    validity,
)
from accelerator.iceberg.manifests.manifest_file import ManifestFile, PartitionSummary
from accelerator.iceberg.manifests.program import (
    COUNT_MAPS,
    LISTS,
    MAPS,
    MISSING,
    ROW_COUNTS,
    SUMMARY_LIST,
    PartitionTypeField,
    Program,
    list_program_for,
    program_for,
    summary_program_for,
)

_KEYS_AT_FIRST = 16
_KEYS_SMALL = 512
_CELLS_SMALL = 1 << 17  # statistics of one kind for which Python isn't too slow
_CELLS_MAX = 1 << 24  # statistics of one kind, files times columns, unless the manifest is larger
_LENGTH_MASK = (1 << 32) - 1
_FAULTS = {
    interpreter.CUT_OFF: "an entry is cut off",
    interpreter.BAD_VALUE: "an entry has a value that its schema doesn't allow",
    interpreter.LEFT_OVER: "a block has bytes behind its last entry",
}
_SPANS = frozenset({"path", "format", "key_metadata", "referenced_data_file", "manifest_path"})
_SHORT = {"partition_spec_id": pa.int32()}
_DELETED = 2  # an entry's status


class OutgrownError(Exception):
    """Python would take too long over these bytes; never leaves this folder."""


def decode_entries(container: Container, manifest: ManifestFile, machine: Any) -> ManifestColumns:
    """The live files of the manifest; ManifestError where it's damaged or unknown.

    By Python, OutgrownError where the bytes hold more statistics than is worth its while.
    """
    program = program_for(container.schema)
    found = _run(program, container, machine)
    return assemble(_Reading(program, container, found, machine).raw(), manifest)


def decode_list(container: Container, machine: Any) -> tuple[ManifestFile, ...]:
    """The manifests of the list, in its order; ManifestError where it's damaged or unknown."""
    program = list_program_for(container.schema)
    reading = _Reading(program, container, _run(program, container, machine), machine)
    columns = {name: reading.column(name).to_pylist() for name in program.places}
    return tuple(
        ManifestFile.checked(dict(zip(columns, row, strict=True)))
        for row in zip(*columns.values(), strict=True)
    )


def decode_summaries(container: Container, machine: Any) -> Iterator[ListedManifest]:
    """The same with rows and summaries of partitions, of which a caller makes no more than needed.

    ManifestError as for `decode_list`.
    """
    program = summary_program_for(container.schema)
    arrays = _run(program, container, machine)
    reading = _Reading(program, container, arrays, machine)
    columns = {name: reading.column(name).to_pylist() for name in program.places}
    for row, span in zip(
        zip(*columns.values(), strict=True), arrays.lists[SUMMARY_LIST].tolist(), strict=True
    ):
        fields = dict(zip(columns, row, strict=True))
        counts = {name: fields.pop(name, None) for name, _ in ROW_COUNTS.values()}
        first, length = span >> 32, max(0, (span & _LENGTH_MASK) - 1)
        values = arrays.listed[first : first + length]
        summaries = _summaries(program.summary, values, container.data)
        yield ListedManifest(ManifestFile.checked(fields), counts, summaries)


def _summaries(
    names: tuple[str, ...], values: Int64s, data: bytes | bytearray
) -> Iterator[PartitionSummary]:
    for first in range(0, len(values), len(names) or 1):
        found: dict[str, Any] = {}
        for name, value in zip(names, values[first : first + len(names)].tolist(), strict=True):
            if value == MISSING:
                continue
            start = value >> 32
            end = start + (value & _LENGTH_MASK) - 1
            is_bound = name.endswith("bound")
            found[name] = bytes(data[start:end]) if is_bound else bool(value)
        yield PartitionSummary(**found)


class ListedManifest(Struct, frozen=True):
    """A manifest with its counts of rows, None where unknown, and its partition fields' ranges."""

    manifest: ManifestFile
    row_counts: Mapping[str, int | None]
    summaries: Iterator[PartitionSummary]


class _Arrays(Struct):
    """What the interpreter writes; see `interpreter.run`."""

    scalars: Int64s
    seen: npt.NDArray[np.uint8]
    keys: Int64s
    stats: Int64s
    listed: Int64s
    lists: Int64s


def _run(program: Program, container: Container, machine: Any) -> _Arrays:
    rows = container.rows
    blocks = [n for block in container.blocks for n in (block.rows, block.start, block.end)]
    data: Any = container.data
    given: list[Any] = [program.ops, blocks, [0] * interpreter.STATE_SIZE, [0] * program.depth]
    if machine is not interpreter:
        data = _read_only(container)
        given = [np.array(one, dtype=np.int64) for one in given]
    ops, blocks, state, stack = given
    to = _Arrays(
        scalars=np.zeros((program.rows, rows), dtype=np.int64),
        seen=np.zeros((program.rows, rows), dtype=np.uint8),
        keys=np.zeros(_KEYS_AT_FIRST, dtype=np.int64),
        stats=np.zeros((len(MAPS), _KEYS_AT_FIRST, rows), dtype=np.int64),
        listed=np.zeros(rows, dtype=np.int64),
        lists=np.zeros((len(LISTS), rows), dtype=np.int64),
    )
    while True:
        code = machine.run(
            ops, data, blocks, state, stack, to.scalars, to.seen, to.keys, to.stats, to.listed,
            to.lists,
        )  # fmt: skip
        if code == interpreter.DONE:
            to.keys = to.keys[: state[interpreter.KEYS_USED]]
            to.listed = to.listed[: state[interpreter.LIST_USED]]
            return to
        if code == interpreter.GROW_KEYS:
            if machine is interpreter and len(to.keys) * max(rows, _KEYS_SMALL) >= _CELLS_SMALL:
                raise OutgrownError
            _grow_keys(to, int(state[interpreter.ENTRY]), len(data))
        elif code == interpreter.GROW_LIST:
            # A value takes a byte at least, so this is enough for every list there can be.
            size = min(max(2 * len(to.listed), 1024), len(data) + 1)
            size = len(data) + 1 if size <= len(to.listed) else size
            to.listed = _grown(to.listed, size)
        else:
            raise damaged(_FAULTS[code])


def _read_only(container: Container) -> npt.NDArray[np.uint8]:
    """Writable arrays are another type to numba, for which it compiles anew."""
    data = np.frombuffer(container.data, dtype=np.uint8)
    data.flags.writeable = False
    return data


def _grow_keys(to: _Arrays, entry: int, data_bytes: int) -> None:
    _, capacity, rows = to.stats.shape
    if 2 * capacity * rows > max(_CELLS_MAX, data_bytes):
        raise unsupported("its entries have statistics of too many different columns")
    to.keys = _grown(to.keys, 2 * capacity)
    stats = np.zeros((len(MAPS), 2 * capacity, rows), dtype=np.int64)
    # Only whole entries are copied: this one is run again, and the rest was never touched.
    stats[:, :capacity, :entry] = to.stats[:, :, :entry]
    to.stats = stats


def _grown(array: Int64s, size: int) -> Int64s:
    grown = np.zeros(size, dtype=np.int64)
    grown[: len(array)] = array
    return grown


class _Reading:
    """The arrays of one manifest, on their way to Arrow."""

    def __init__(
        self, program: Program, container: Container, arrays: _Arrays, machine: Any
    ) -> None:
        self._program, self._machine = program, machine
        self._data = container.data if machine is interpreter else _read_only(container)
        self._arrays = arrays
        live = np.ones(container.rows, dtype=np.bool_)
        place = program.places.get("status")
        if place is not None:
            live = (arrays.scalars[place] != _DELETED) | (arrays.seen[place] == 0)
        self._live: Bools | None = None if live.all() else live
        self._count = int(live.sum())

    def raw(self) -> Raw:
        columns = {name: self.column(name) for name in self._program.places}
        for number, name in enumerate(LISTS):
            columns[name] = self._lists(number, ALL_TYPES[name])
        partition = {one.field_id: self._partition(one) for one in self._program.partition}
        return Raw(self._count, columns, partition, self._stats())

    def column(self, name: str) -> pa.Array:
        values, seen = self._row(self._program.places[name])
        if name in _SPANS:
            return self._texts(values, seen, ALL_TYPES.get(name, pa.string()))
        return _integers(values, seen, _SHORT.get(name) or ALL_TYPES.get(name, pa.int64()))

    def _row(self, place: int) -> tuple[Int64s, Bools]:
        values, seen = self._arrays.scalars[place], self._arrays.seen[place].view(np.bool_)
        return (values, seen) if self._live is None else (values[self._live], seen[self._live])

    def _partition(self, field: PartitionTypeField) -> pa.Array:
        values, seen = self._row(field.place)
        type_ = KINDS[field.kind]
        if field.kind == "null":
            return pa.nulls(self._count)
        if field.symbols:
            return _symbols(values, seen, field.symbols)
        if field.kind in ("string", "binary"):
            return self._texts(values, seen, type_)
        if field.kind in ("int", "long"):
            return _integers(values, seen, type_)
        if field.kind == "bool":
            return pa.array(values.astype(np.bool_), mask=~seen)
        plain = values.astype(np.uint32).view(np.float32) if field.kind == "float" else values
        return _numbers(plain, seen, type_)

    def _texts(self, spans: Int64s, seen: Bools, type_: pa.DataType) -> pa.Array:
        if spans.min(initial=0) < 0 or _ends(spans).max(initial=0) > len(self._data):
            raise damaged("a text isn't where it should be")
        offsets = _offsets(spans, seen)
        plain = np.empty(int(offsets[-1]), dtype=np.uint8)
        self._machine.gather(self._data, np.ascontiguousarray(spans), 0, plain)
        buffers = [validity(seen), pa.py_buffer(offsets), pa.py_buffer(plain)]
        made = pa.Array.from_buffers(type_, len(spans), buffers)
        if type_ == pa.string():
            try:
                made.validate(full=True)
            except pa.ArrowInvalid as error:
                raise damaged("a text isn't UTF-8") from error
        return made

    def _lists(self, number: int, type_: pa.DataType) -> pa.Array:
        spans = self._arrays.lists[number]
        if self._live is not None:
            spans = spans[self._live]
        seen = spans != 0
        offsets = _offsets(spans, seen)
        starts = np.repeat((spans >> 32) - offsets[:-1], np.diff(offsets))
        listed = self._arrays.listed[starts + np.arange(len(starts))]
        values = _integers(listed, np.ones(len(listed), dtype=np.bool_), type_.value_type)
        return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(~seen))

    def _stats(self) -> Mapping[int, pa.StructArray]:
        keys = self._arrays.keys.tolist()
        cells = self._arrays.stats[:, : len(keys)]
        if self._live is not None:
            cells = cells[:, :, self._live]
        known = self._machine.survey(cells, COUNT_MAPS)
        counts, bounds = cells[:COUNT_MAPS], cells[COUNT_MAPS:]
        gathered = _Gathered.of(self._machine, self._data, bounds, known[COUNT_MAPS:])
        rows = known[:COUNT_MAPS].tolist()
        found = {}
        for slot, field_id in enumerate(keys):
            if not known[:, slot, 0].any():
                continue  # of deleted entries alone, or with nothing but nulls
            parts = [_counts(counts[at, slot], *rows[at][slot]) for at in range(COUNT_MAPS)]
            parts += [gathered.array(bounds[at, slot], at, slot) for at in range(len(bounds))]
            found[field_id] = stats_struct(parts)
        return found


class _Gathered(Struct, frozen=True):
    """The bytes of all bounds, each field's together; `known` as `interpreter.survey` has it."""

    known: Int64s
    widths: Int64s
    starts: Int64s
    sizes: Int64s
    buffer: pa.Buffer

    @classmethod
    def of(cls, machine: Any, data: Any, spans: Int64s, known: Int64s) -> _Gathered:
        there, low, high, total = (known[:, :, at] for at in range(4))
        widths = np.where((there > 0) & (low == high), low - 1, 0)
        sizes = np.where(widths > 0, widths * spans.shape[2], total - there)
        ends = np.cumsum(sizes).reshape(sizes.shape)
        starts = ends - sizes
        plain = np.zeros(int(sizes.sum()), dtype=np.uint8)
        machine.gather_all(data, spans, widths, starts.copy(), plain)
        return cls(known, widths, starts, sizes, pa.py_buffer(plain))

    def array(self, spans: Int64s, number: int, slot: int) -> pa.Array:
        """Of a fixed width where all have one, of the null type where there are none."""
        there = int(self.known[number, slot, 0])
        if not there:
            return pa.nulls(len(spans))
        plain = self.buffer.slice(int(self.starts[number, slot]), int(self.sizes[number, slot]))
        valid = _validity(spans, there)
        width = int(self.widths[number, slot])
        if width:
            return pa.Array.from_buffers(pa.binary(width), len(spans), [valid, plain])
        offsets = _offsets(spans, spans != 0)
        return pa.Array.from_buffers(pa.binary(), len(spans), [valid, pa.py_buffer(offsets), plain])


def _counts(cells: Int64s, there: int, low: int, high: int, _: int) -> pa.Array:
    """Of cells that are one too high, as narrow as they fit; the rest is `interpreter.survey`'s."""
    if not there:
        return pa.nulls(len(cells))
    type_ = narrowest(low - 1, high - 1)
    plain = (cells - (cells != 0 if there < len(cells) else 1)).astype(type_.to_pandas_dtype())
    return pa.Array.from_buffers(type_, len(cells), [_validity(cells, there), pa.py_buffer(plain)])


def _validity(cells: Int64s, there: int) -> pa.Buffer | None:
    return None if there == len(cells) else validity(cells != 0)


def _ends(spans: Int64s) -> Int64s:
    """Where each one's bytes end."""
    ends: Int64s = np.where(spans != 0, (spans >> 32) + (spans & _LENGTH_MASK) - 1, 0)
    return ends


def _offsets(spans: Int64s, seen: Bools) -> npt.NDArray[np.int32]:
    lengths = np.where(seen, (spans & _LENGTH_MASK) - 1, 0)
    offsets = np.zeros(len(spans) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _integers(values: Int64s, seen: Bools, type_: pa.DataType) -> pa.Array:
    plain = np.where(seen, values, 0)
    if type_ == pa.int32():
        if len(plain) and (plain.min() < -(1 << 31) or plain.max() >= 1 << 31):
            raise damaged("a number is longer than 32 bits")
        return _numbers(plain.astype(np.int32), seen, type_)
    return _numbers(plain, seen, type_)


def _numbers(plain: npt.NDArray[np.generic], seen: Bools, type_: pa.DataType) -> pa.Array:
    buffer = pa.py_buffer(np.ascontiguousarray(plain))
    return pa.Array.from_buffers(type_, len(plain), [validity(seen), buffer])


def _symbols(values: Int64s, seen: Bools, symbols: tuple[str, ...]) -> pa.Array:
    there = values[seen]
    if len(there) and (there.min() < 0 or there.max() >= len(symbols)):
        raise damaged("an enum has more values than its schema says")
    return pa.array(symbols, pa.string()).take(pa.array(values, mask=~seen))
