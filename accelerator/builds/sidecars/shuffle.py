"""Builds on relate columns whose dimensions are too large to be sent to every task.

Spark joins the fact's keys with them: a first task gives a file's keys piece by piece, each
distinct one with its places in the piece, a join puts values to keys, and a last task gets what
belongs to a file in the pieces' order. It runs in Spark's Python workers, as `work` does, whose
rules hold here: memory holds a piece and what the kinds keep. A key that stands often is one row of
its piece, one with a NULL is none: what a piece has no value for is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

import numpy as np
import pyarrow as pa
from msgspec import Struct

from accelerator.artifacts.sidecars.records import Indexed
from accelerator.builds.sidecars.task import (
    BATCH,
    FileWork,
    IndexRequest,
    RunningIndex,
    TaskInput,
    TaskResult,
    batches,
    pieces,
    readable,
    rows_of,
)
from accelerator.common.arrow.spark_types import arrow_type
from indexes.domains import NotIndexableError

FIRST, BROKEN = -1, -2
"""Pieces that are none: one that each file has, and one of files whose keys can't be read."""


class NumberedFile(Struct, frozen=True):
    """A data file under a number of the job."""

    number: int
    file: FileWork


class ReusableIndexes(Struct, frozen=True):
    """For which indexes of a file what was built before holds."""

    path: str
    indexes: frozenset[str]


def look(
    source: TaskInput, wanted: Sequence[IndexRequest], files: Sequence[FileWork]
) -> list[ReusableIndexes]:
    """Returns the indexes of each file that need no new build: it has no key that has changed."""
    return [ReusableIndexes(file.path, _reusable(source, wanted, file)) for file in files]


def _reusable(source: TaskInput, wanted: Sequence[IndexRequest], file: FileWork) -> frozenset[str]:
    if not file.doubtful:
        return frozenset()
    with readable(source, file) as parquet:
        if isinstance(parquet, str):
            return frozenset()
        groups = rows_of(parquet)
        running = [RunningIndex(source, one, file, groups, parquet) for one in wanted]
        doubtful = [one for one in running if one.checks]
        for number, rows, names in pieces(groups, doubtful):
            for batch in batches(parquet, number, rows, names):
                for one in doubtful:
                    one.check(batch)
        return frozenset(one.index_id for one in doubtful if one.unchanged)


def keys_schema(wanted: IndexRequest) -> str:
    """The columns that `file_keys` gives, as Spark's SQL."""
    keys = [f"k{i} {type_}" for i, (_, type_) in enumerate(wanted.keys)]
    return ", ".join(["file INT", "piece INT", *keys, "places ARRAY<INT>"])


def file_keys(
    source: TaskInput, wanted: IndexRequest, files: Sequence[NumberedFile]
) -> Iterator[pa.RecordBatch]:
    """Each file's pieces: distinct keys without NULLs, and their places in the piece.

    A row more without a key says that there is such a file, or that its keys can't be read.
    """
    for one in files:
        yield _no_key(wanted, one.number, FIRST)
        with readable(source, one.file) as parquet:
            if isinstance(parquet, str):
                continue
            groups = rows_of(parquet)
            running = RunningIndex(source, wanted, one.file, groups, parquet)
            if running.why:
                continue
            try:
                first = 0
                for group, rows, names in pieces(groups, [running]):
                    at = 0
                    for batch in batches(parquet, group, rows, names):
                        keys = running.keys(batch)
                        yield from _pieces_of(one.number, first, at, keys)
                        at += batch.num_rows
                    first += -(-rows // BATCH)
            except (NotIndexableError, pa.ArrowInvalid):
                yield _no_key(wanted, one.number, BROKEN)


def _no_key(wanted: IndexRequest, number: int, piece: int) -> pa.RecordBatch:
    keys = [pa.nulls(1, arrow_type(type_)) for _, type_ in wanted.keys]
    return _batch(number, piece, keys, pa.array([[]], pa.list_(pa.int32())))


def _pieces_of(
    number: int, first: int, at: int, keys: Sequence[pa.Array]
) -> Iterator[pa.RecordBatch]:
    """The batch's rows, which begin `at` a row of their row group, cut where pieces end."""
    done, rows = 0, len(keys[0])
    while done < rows:
        place = (at + done) % BATCH
        count = min(rows - done, BATCH - place)
        part = [key.slice(done, count) for key in keys]
        yield _distinct(number, first + (at + done) // BATCH, place, part)
        done += count


def _distinct(number: int, piece: int, place: int, keys: Sequence[pa.Array]) -> pa.RecordBatch:
    names = [f"k{i}" for i in range(len(keys))]
    places = pa.array(np.arange(place, place + len(keys[0]), dtype=np.int32))
    table = pa.table([*keys, places], names=[*names, "places"])
    for name in names:
        if table.column(name).null_count:
            table = table.filter(table.column(name).is_valid())
    grouped = table.group_by(names, use_threads=False).aggregate([("places", "list")])
    found = grouped.combine_chunks()
    columns = [found.column(name).combine_chunks() for name in (*names, "places_list")]
    return _batch(number, piece, columns[:-1], columns[-1])


def _batch(number: int, piece: int, keys: Sequence[pa.Array], places: pa.Array) -> pa.RecordBatch:
    count = len(places)
    told = [pa.repeat(pa.scalar(one, pa.int32()), count) for one in (number, piece)]
    names = ["file", "piece", *(f"k{i}" for i in range(len(keys))), "places"]
    return pa.RecordBatch.from_arrays([*told, *keys, places], names)


def index_values(
    source: TaskInput,
    wanted: Sequence[IndexRequest],
    file_of: Callable[[int], FileWork],
    held: Mapping[str, frozenset[str]],
    joined: Iterable[pa.RecordBatch],
) -> Iterator[TaskResult]:
    """The indexes of all files of which there are rows; `held` names those that hold as they are.

    Rows are (file, piece, value, places), in the order of files and pieces. OSError and Arrow's
    errors where a file can't be read, ValueError where a place has two values.
    """
    for number, runs in groupby(_runs(joined), lambda run: run.file):
        file = file_of(number)
        found = _index_file(source, wanted, file, held.get(file.path, frozenset()), runs)
        yield TaskResult(file.path, tuple(found))


class _PieceRows(Struct, frozen=True):
    """Rows of one piece."""

    file: int
    piece: int
    values: pa.Array
    places: pa.ListArray


def _runs(joined: Iterable[pa.RecordBatch]) -> Iterator[_PieceRows]:
    for batch in joined:
        if not batch.num_rows:
            continue
        files, pieces_ = (batch.column(i).to_numpy(zero_copy_only=False) for i in (0, 1))
        starts = np.flatnonzero((np.diff(files) != 0) | (np.diff(pieces_) != 0)) + 1
        bounds = [0, *starts.tolist(), batch.num_rows]
        for first, end in pairwise(bounds):
            values, places = (batch.column(i).slice(first, end - first) for i in (2, 3))
            yield _PieceRows(int(files[first]), int(pieces_[first]), values, places)


def _index_file(
    source: TaskInput,
    wanted: Sequence[IndexRequest],
    file: FileWork,
    held: frozenset[str],
    runs: Iterable[_PieceRows],
) -> Iterator[Indexed]:
    with readable(source, file) as parquet:
        if isinstance(parquet, str):
            yield from (Indexed(one.index_id, why=parquet) for one in wanted)
            return
        groups = rows_of(parquet)
        running = [
            RunningIndex(source, one, file, groups, parquet)
            for one in wanted
            if one.index_id not in held
        ]
    for values in _values(groups, wanted[0].type, runs):
        for one in running:
            one.add_values(values)
    made = {one.index_id: one.finish() for one in running}
    for each in wanted:
        yield made.get(each.index_id) or Indexed(each.index_id, groups, unchanged=True)


def _values(
    groups: Sequence[int], type_: str, runs: Iterable[_PieceRows]
) -> Iterator[pa.Array | None]:
    """Of every piece the values in their places; None in its stead where keys can't be read."""
    by_piece = groupby(runs, lambda run: run.piece)
    piece, some = next(by_piece, (None, iter(())))
    if piece == BROKEN:
        yield None
        return
    number = 0
    for rows in groups:
        for first in range(0, rows, BATCH):
            while piece is not None and piece < number:
                piece, some = next(by_piece, (None, iter(())))
            count = min(BATCH, rows - first)
            here = list(some) if piece == number else []
            yield _placed(here, count, arrow_type(type_))
            number += 1


def _placed(runs: Sequence[_PieceRows], count: int, type_: pa.DataType) -> pa.Array:
    """The values in their places, NULL where there is none."""
    if not runs:
        return pa.nulls(count, type_)
    values = pa.concat_arrays([run.values.cast(type_) for run in runs])
    lists = pa.concat_arrays([run.places for run in runs])
    places = lists.flatten().to_numpy(zero_copy_only=False)
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    of = np.full(count, -1, dtype=np.int64)
    of[places] = np.repeat(np.arange(len(values)), lengths)
    if np.count_nonzero(of >= 0) != len(places):
        raise ValueError("a row has met two rows of a dimension whose key is unique")
    return values.take(pa.array(of, mask=of < 0))
