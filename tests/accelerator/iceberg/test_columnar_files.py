"""Snapshots as the columns of their manifests: paths told apart, files found again."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from accelerator.iceberg.manifests.columns import (
    TYPES,
    InMemory,
    ManifestColumns,
    stats_column,
    stats_struct,
)
from accelerator.iceberg.statistics.cache import StatisticsCache
from accelerator.iceberg.statistics.file_statistics import (
    ColumnStatistics,
    FileStatistics,
    held_bytes,
    slim,
)
from accelerator.iceberg.tables.live_files import ColumnarFiles, _polynomials
from accelerator.iceberg.tables.partition_specs import PartitionColumn


class _Manifest:
    """What of a manifest list's entry is looked at."""

    def __init__(self, name: str, spec: int = 0) -> None:
        self.manifest_path, self.partition_spec_id = name, spec
        self.manifest_length, self.sequence_number, self.added_snapshot_id = 1, 1, 1


def _columns(paths: list[str], days: list[int | None] | None = None) -> ManifestColumns:
    made = {name: pa.nulls(len(paths), type_) for name, type_ in TYPES.items()}
    made["path"] = pa.array(paths, pa.string())
    made["sequence_number"] = pa.array([1] * len(paths), pa.int64())
    made["record_count"] = pa.array([10] * len(paths), pa.int64())
    made["size_bytes"] = pa.array(range(len(paths)), pa.int64())
    child = pa.array(days or [None] * len(paths), pa.int32())
    made["partition"] = pa.StructArray.from_arrays([child], ["1000"])
    return ManifestColumns(len(paths), (), InMemory(made))


def _files(*manifests: list[str]) -> ColumnarFiles:
    named = [_Manifest(f"m{n}") for n in range(len(manifests))]
    listed = dict(zip((one.manifest_path for one in named), manifests, strict=True))
    return ColumnarFiles(
        named,
        lambda one: _columns(listed[one.manifest_path]),
        {0: {}},
    )


@settings(deadline=None)
@given(st.lists(st.lists(st.text(max_size=5), max_size=5), max_size=4))
def test_paths_that_stand_twice_are_told(manifests: list[list[str]]) -> None:
    paths = [path for manifest in manifests for path in manifest]
    files = _files(*manifests)
    assert files.single.tolist() == [paths.count(path) == 1 for path in paths]
    chosen = np.array([index % 2 == 0 for index in range(len(paths))], dtype=bool)
    assert [file.path for file in files.live(chosen)] == paths[::2]
    keys = {(path, 1) for path in paths[::2]} | {("nowhere", 1), *((path, 2) for path in paths)}
    assert files.named(keys).tolist() == [(path, 1) in keys for path in paths]
    some = files.some(chosen)
    assert some.named(keys).tolist() == [True] * len(paths[::2])
    assert not some.named(set()).any()


@given(st.lists(st.text()))
def test_equal_texts_have_equal_polynomials(texts: list[str]) -> None:
    one = _polynomials(pa.array(["x", *texts, *texts], pa.string())[1:]).tolist()
    assert one[: len(texts)] == one[len(texts) :]


def test_texts_of_a_manifest_have_polynomials_of_their_own() -> None:
    names = [f"s3://b/part-{n:05d}-{n * 7919 % 1000}.parquet" for n in range(20_000)]
    assert len(set(_polynomials(pa.array(names)).tolist())) == len(names)


def test_specs_fix_values_of_their_own_files_alone() -> None:
    columns = {"m0": _columns(["a", "b"], [5, None]), "m1": _columns(["c"], [7])}
    manifests = [_Manifest("m0", 1), _Manifest("m1", 0)]
    identity = {0: {}, 1: {3: PartitionColumn(1000)}}
    files = ColumnarFiles(manifests, lambda m: columns[m.manifest_path], identity)
    found = FileStatistics(files).column(3, "date")
    assert found.bounds.lower.to_pylist() == [5, None, None]
    assert found.fixed.tolist() == [True, True, False]
    assert found.bounds.nulls.tolist() == [0, 10, -1]


@dataclass(frozen=True)
class _Entry:
    """A file of a manifest: its path, the bounds of column 1, its nulls, its partition's value."""

    path: str
    bounds: tuple[int, int] | None
    nulls: int | None
    day: int | None


_ENTRIES = st.builds(
    _Entry,
    st.sampled_from("abcdefgh"),
    st.none() | st.tuples(st.integers(-2, 2), st.integers(-2, 2)),
    st.none() | st.sampled_from([0, 10]),
    st.none() | st.integers(-1, 1),
)
_STATES = st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=4)


@settings(deadline=None)
@given(st.lists(st.lists(_ENTRIES, max_size=3), min_size=6, max_size=6), _STATES)
def test_a_state_after_another_is_as_if_made_alone(
    manifests: list[list[_Entry]], states: list[list[int]]
) -> None:
    earlier: FileStatistics | None = None
    for state in states:
        named = [_Manifest(f"m{n}", n % 2) for n in state]
        before = None if earlier is None else earlier.source
        assert before is None or isinstance(before, ColumnarFiles)
        alone, after = _of(named, manifests, None), _of(named, manifests, before)
        expected, found = FileStatistics(alone), FileStatistics(after, earlier=earlier)
        assert after.rows.tolist() == alone.rows.tolist()
        assert after.sizes.tolist() == alone.sizes.tolist()
        assert after.single.tolist() == alone.single.tolist()
        for type_ in ("int", "bigint", "boolean"):
            assert _plain(found.column(1, type_)) == _plain(expected.column(1, type_))
        earlier = found


def test_a_state_after_another_decodes_new_manifests_alone() -> None:
    entries = [[_Entry(f"f{n}", (n, n), 0, None)] for n in range(3)]
    loaded: list[str] = []
    first = _of([_Manifest("m0"), _Manifest("m2")], entries, None, loaded)
    earlier = FileStatistics(first)
    assert earlier.column(1, "int").bounds.lower.to_pylist() == [0, 2]
    assert first.single.all()
    loaded.clear()
    second = _of([_Manifest("m1"), _Manifest("m0"), _Manifest("m2")], entries, first, loaded)
    found = FileStatistics(second, earlier=earlier)
    assert found.column(1, "int").bounds.lower.to_pylist() == [1, 0, 2]
    assert second.single.all()
    assert set(loaded) == {"m1"}


def test_columns_of_other_rules_arent_used_again() -> None:
    entries = [[_Entry("f0", (3, 3), 0, None)]]
    first = _of([_Manifest("m0")], entries, None)
    earlier = FileStatistics(first)
    assert earlier.column(1, "int").bounds.lower.to_pylist() == [3]
    misnamed = FileStatistics(_of([_Manifest("m0")], entries, first), set(), {1}, earlier)
    assert misnamed.column(1, "int").bounds.lower.to_pylist() == [None]
    assert FileStatistics(_of([_Manifest("m0", 1)], entries, first), earlier=earlier).column(
        1, "int"
    ).bounds.lower.to_pylist() == [None]


def test_statistics_keep_a_budget() -> None:
    entries = [[_Entry(f"f{n}", (n, n), 0, None) for n in range(1000)]]
    cache = StatisticsCache(60_000)

    def state(table: str, name: str) -> FileStatistics:
        return cache.get_or(
            table, name, lambda earlier: FileStatistics(_of([_Manifest("m0")], entries, None))
        )

    kept = state("t", "1")
    for type_ in ("int", "bigint", "date"):
        kept.column(1, type_)
    assert state("t", "1") is kept
    assert cache.nbytes <= 60_000  # the state is alone, so the oldest of its columns goes
    assert list(kept._columns) == [(1, "bigint"), (1, "date")]
    other = state("u", "1")
    for type_ in ("int", "bigint"):
        other.column(1, type_)
    assert state("u", "1") is other
    assert cache.nbytes <= 60_000
    assert state("t", "1") is not kept


def test_the_state_used_last_of_the_table_is_the_earlier_one() -> None:
    cache = StatisticsCache(1 << 20)
    asked: list[FileStatistics | None] = []

    def make(earlier: FileStatistics | None) -> FileStatistics:
        asked.append(earlier)
        return FileStatistics(_of([], [], None))

    one, _, _ = (cache.get_or(*key, make) for key in (("t", 1), ("t", 2), ("u", 1)))
    cache.get_or("t", 1, make)
    cache.get_or("t", 3, make)
    assert asked[0] is None
    assert asked[1] is one
    assert asked[2] is None
    assert asked[3:] == [one]


def test_equal_items_take_no_memory() -> None:
    assert held_bytes(slim(np.full(1000, 7, dtype=np.int64))) == 8
    assert held_bytes(slim(np.arange(10, dtype=np.int64))) == 80


def _of(
    named: list[_Manifest],
    manifests: list[list[_Entry]],
    earlier: ColumnarFiles | None,
    loaded: list[str] | None = None,
) -> ColumnarFiles:
    def load(one: _Manifest) -> ManifestColumns:
        if loaded is not None:
            loaded.append(one.manifest_path)
        return _with_bounds(manifests[int(one.manifest_path[1:])])

    return ColumnarFiles(named, load, {0: {}, 1: {1: PartitionColumn(1000)}}, earlier)


def _with_bounds(entries: list[_Entry]) -> ManifestColumns:
    plain = _columns([e.path for e in entries], [e.day for e in entries])
    counts = pa.array([10] * len(entries), pa.int64())
    nulls = pa.array([e.nulls for e in entries], pa.int64())
    lower, upper = (
        pa.array(
            [e.bounds and struct.pack("<i", sorted(e.bounds)[at]) for e in entries], pa.binary()
        )
        for at in (0, 1)
    )
    stats = stats_struct([counts, nulls, pa.nulls(len(entries)), lower, upper])
    assert isinstance(plain.source, InMemory)
    columns = {**plain.source.columns, stats_column(1): stats}
    return replace(plain, field_ids=(1,), source=InMemory(columns))


def _plain(found: ColumnStatistics) -> tuple[object, ...]:
    bounds = found.bounds
    assert bounds.rows.tolist() == [10] * len(bounds.rows)
    arrays = (bounds.lower, bounds.upper)
    flags = (bounds.nulls, bounds.nans, found.tight, found.fixed, found.unproven)
    return (
        *(one.to_pylist() for one in arrays),
        *(one.tolist() for one in flags),
        found.contradicts,
    )
