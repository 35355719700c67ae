"""Snapshots as the columns of their manifests: paths told apart, files found again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.iceberg.columnar_files import ColumnarFiles, _polynomials
from accelerator.iceberg.files import LiveFile
from accelerator.iceberg.identity import Place
from accelerator.iceberg.manifest_columns import TYPES, InMemory, ManifestColumns
from accelerator.iceberg.statistics import FileStatistics


class _Manifest:
    """What of a manifest list's entry is looked at."""

    def __init__(self, name: str, spec: int = 0) -> None:
        self.manifest_path, self.partition_spec_id = name, spec


def _columns(paths: list[str], days: list[int | None] | None = None) -> ManifestColumns:
    made = {name: pa.nulls(len(paths), type_) for name, type_ in TYPES.items()}
    made["path"] = pa.array(paths, pa.string())
    made["record_count"] = pa.array([10] * len(paths), pa.int64())
    made["size_bytes"] = pa.array(range(len(paths)), pa.int64())
    child = pa.array(days or [None] * len(paths), pa.int32())
    made["partition"] = pa.StructArray.from_arrays([child], ["1000"])
    return ManifestColumns(len(paths), (), InMemory(made))


def _files(*manifests: list[str]) -> ColumnarFiles:
    named = [(_Manifest(f"m{n}"), _columns(paths)) for n, paths in enumerate(manifests)]
    listed = dict(zip((f"m{n}" for n in range(len(manifests))), manifests, strict=True))
    return ColumnarFiles(named, {0: {}}, lambda one: [_live(p) for p in listed[one.manifest_path]])


def _live(path: str) -> LiveFile:
    return LiveFile(path, 1, 1, 10, "parquet", 0, (), {}, {}, {}, {}, {})


@settings(deadline=None)
@given(st.lists(st.lists(st.text(max_size=5), max_size=5), max_size=4))
def test_paths_that_stand_twice_are_told(manifests: list[list[str]]) -> None:
    paths = [path for manifest in manifests for path in manifest]
    files = _files(*manifests)
    assert files.single.tolist() == [paths.count(path) == 1 for path in paths]
    chosen = np.array([index % 2 == 0 for index in range(len(paths))], dtype=bool)
    assert [file.path for file in files.live(chosen)] == paths[::2]


@given(st.lists(st.text()))
def test_equal_texts_have_equal_polynomials(texts: list[str]) -> None:
    one = _polynomials(pa.array(["x", *texts, *texts], pa.string())[1:]).tolist()
    assert one[: len(texts)] == one[len(texts) :]


def test_texts_of_a_manifest_have_polynomials_of_their_own() -> None:
    names = [f"s3://b/part-{n:05d}-{n * 7919 % 1000}.parquet" for n in range(20_000)]
    assert len(set(_polynomials(pa.array(names)).tolist())) == len(names)


def test_specs_fix_values_of_their_own_files_alone() -> None:
    first, second = _columns(["a", "b"], [5, None]), _columns(["c"], [7])
    manifests = [(_Manifest("m0", 1), first), (_Manifest("m1", 0), second)]
    files = ColumnarFiles(manifests, {0: {}, 1: {3: Place(0, 1000)}}, lambda _: [])
    found = FileStatistics(files).column(3, "date")
    assert found.bounds.lower.to_pylist() == [5, None, None]
    assert found.fixed.tolist() == [True, True, False]
    assert found.bounds.nulls.tolist() == [0, 10, -1]
