"""Builds by a join: keys given piece by piece, values back in their places.

Strategy: a file of random keys, some NULL, some without a partner, one very often; its pieces are
joined here in plain Python and come back shuffled, in the order of files and pieces. Invariant:
what is built is, to the byte, what a lookup in memory builds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from accelerator.artifacts.relate.lookup import Keys, Lookup
from accelerator.builds.sidecars import shuffle, task
from accelerator.builds.sidecars.shuffle import BROKEN, FIRST, NumberedFile, file_keys, index_values
from accelerator.builds.sidecars.task import FileWork, IndexRequest, TaskInput, index_files
from indexes.kinds import KINDS

_PIECE = 16
_KEYS = pa.table({"k0": pa.array(range(40), pa.int32()), "k1": [f"t{i}" for i in range(40)]})
_VALUES = pa.array([None if i % 7 == 0 else f"v{i // 3}" for i in range(40)])
_OPTIONS = KINDS["BITMAP"].options("string", {"rows": True})
_WANTED = IndexRequest("i", "BITMAP", _OPTIONS, -9, "string", "p", ((1, "int"), (2, "string")))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (shuffle, task):
        monkeypatch.setattr(module, "BATCH", _PIECE)


def _file(path: Path, rows: int, group: int, r: Random) -> FileWork:
    keys = [r.choice((None, 3, 3, 3, r.randrange(50))) for _ in range(rows)]
    texts = [None if k is None or r.random() < 0.1 else f"t{k}" for k in keys]
    fields = [
        pa.field(name, type_, metadata={"PARQUET:field_id": str(number)})
        for number, name, type_ in ((1, "a", pa.int32()), (2, "b", pa.string()))
    ]
    table = pa.table([keys, texts], schema=pa.schema(fields))
    pq.write_table(table, path, row_group_size=group)
    return FileWork(str(path), "parquet", rows, path.stat().st_size, 0, {})


def _source(root: Path, lookup: Lookup | None = None) -> TaskInput:
    return TaskInput("", {}, str(root), {}, frozenset(), {} if lookup is None else {-9: lookup})


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """By Spark's rules: the rows of pieces that are none stay, and those with a partner."""
    values = dict(
        zip(zip(*_KEYS.to_pydict().values(), strict=True), _VALUES.to_pylist(), strict=True)
    )
    rows = [row for batch in batches for row in batch.to_pylist()]
    found = [
        {
            "file": r["file"],
            "piece": r["piece"],
            "v0": values.get((r["k0"], r["k1"])),
            "places": r["places"],
        }
        for r in rows
        if r["piece"] < 0 or values.get((r["k0"], r["k1"])) is not None
    ]
    Random(1).shuffle(found)
    found.sort(key=lambda row: (row["file"], row["piece"]))
    names = {"file": pa.int32(), "piece": pa.int32(), "v0": pa.string()}
    schema = pa.schema([*names.items(), ("places", pa.list_(pa.int32()))])
    return pa.Table.from_pylist(found, schema=schema).to_batches(max_chunksize=7)


def _written(root: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in root.rglob("*.puffin")}


@pytest.mark.parametrize("seed", range(6))
def test_as_by_a_lookup(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    r, given = Random(seed), shuffle.batches

    def uneven(*args: Any) -> Iterator[pa.RecordBatch]:
        """As Arrow may give them."""
        for batch in given(*args):
            cut = r.randrange(batch.num_rows + 1)
            yield from (batch.slice(0, cut), batch.slice(cut))

    if seed % 2:
        monkeypatch.setattr(shuffle, "batches", uneven)
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    files = [
        replace(f, number=i)
        for i, f in enumerate(
            _file(tmp_path / f"{i}.parquet", rows, r.choice((10, _PIECE, 45, 1000)), r)
            for i, rows in enumerate((0, 1, _PIECE, 100, r.randrange(200)))
        )
    ]
    lookup = Lookup(Keys(tuple(c.combine_chunks() for c in _KEYS.columns)), _VALUES)
    expected = index_files(_source(tmp_path / "one", lookup), [_WANTED], files)
    numbered = [NumberedFile(i, file) for i, file in enumerate(files)]
    pieces = list(file_keys(_source(tmp_path), _WANTED, numbered))
    told = [row for batch in pieces for row in batch.to_pylist() if row["piece"] >= 0]
    assert all(row["k0"] is not None and row["k1"] is not None for row in told)
    each = [(row["file"], row["piece"], row["k0"], row["k1"]) for row in told]
    assert seed % 2 or len(set(each)) == len(
        each
    )  # a key that stands often is one row of its piece
    other = _source(tmp_path / "other")
    found = list(index_values(other, [_WANTED], files.__getitem__, {}, _joined(pieces)))
    assert [one.path for one in found] == [one.path for one in expected]
    assert _written(tmp_path / "one") == _written(tmp_path / "other")
    for one, like in zip(found, expected, strict=True):
        (got,), (wanted,) = one.indexed, like.indexed
        assert (got.row_groups, got.light, got.why) == (wanted.row_groups, wanted.light, wanted.why)
    assert _written(tmp_path / "one")


def test_what_cannot_be_read_is_said_of_its_file_alone(tmp_path: Path) -> None:
    r = Random(0)
    good = _file(tmp_path / "a.parquet", 30, 30, r)
    lying = FileWork(good.path, "parquet", 31, 1, 1, {})
    avro = FileWork("c.avro", "avro", 5, 1, 2, {})
    files = [good, lying, avro]
    numbered = [NumberedFile(i, file) for i, file in enumerate(files)]
    pieces = list(file_keys(_source(tmp_path), _WANTED, numbered))
    # As of a file whose keys can't be cast.
    broken = {"file": 0, "piece": BROKEN, "k0": None, "k1": None, "places": []}
    assert {row["piece"] for b in pieces for row in b.to_pylist() if row["file"]} == {FIRST}
    answers = list(
        index_values(_source(tmp_path), [_WANTED], files.__getitem__, {}, _joined(pieces))
    )
    whys = [one.indexed[0].why for one in answers]
    assert (whys[0], whys[2]) == ("", "a file of avro")
    assert "31" in whys[1]
    pieces.append(pa.RecordBatch.from_pylist([broken], schema=pieces[0].schema))
    answers = list(
        index_values(_source(tmp_path), [_WANTED], files.__getitem__, {}, _joined(pieces))
    )
    assert answers[0].indexed[0].why == "its keys can't be read"


def test_a_row_with_two_partners_is_an_error(tmp_path: Path) -> None:
    file = _file(tmp_path / "a.parquet", 30, 30, Random(0))
    pieces = list(file_keys(_source(tmp_path), _WANTED, [NumberedFile(0, file)]))
    joined = _joined([*pieces, *(b for b in pieces if b.column(1)[0].as_py() >= 0)])
    with pytest.raises(ValueError, match="two rows"):
        list(index_values(_source(tmp_path), [_WANTED], lambda _: file, {}, joined))
