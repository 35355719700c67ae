"""Manifests entry by entry: partition values as written, and damaged bytes as an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.iceberg.errors import ManifestError
from accelerator.iceberg.files import FileCache
from accelerator.iceberg.io import LocalInputs
from tests.accelerator.iceberg.avro_writer import Layout, Writer
from tests.accelerator.iceberg.manifests import PARTITIONS, entry, listed


def _layout(*names: str) -> Layout:
    return Layout(partition=tuple((1000 + at, PARTITIONS[n][0]) for at, n in enumerate(names)))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("manifests") / "m.avro"


def _files(path: Path, data: bytes) -> list[tuple[object, ...]]:
    path.write_bytes(data)
    found = FileCache().listed(LocalInputs(), listed(str(path), length=len(data)))
    return [file.partition for file in found]


@given(st.floats(allow_nan=False), st.floats(width=32, allow_nan=False), st.text(max_size=3))
def test_partition_values_are_those_that_were_written(
    path: Path, double: float, single: float, name: str
) -> None:
    written = Writer(_layout("double", "float", "string")).file(
        [entry(partition=(double, single, name)), entry(partition=(0.1, None, None))]
    )
    assert _files(path, written) == [(double, single, name), (0.1, None, None)]


def test_bytes_that_are_cut_off_or_altered_are_an_error_or_the_same_values(path: Path) -> None:
    """No length is believed, and nothing crashes."""
    data = Writer(_layout("double", "string")).file([entry(partition=(0.1, "x"))] * 3)
    for end in range(0, len(data) - 1, 3):
        try:
            assert _files(path, data[:end]) == []  # Avro takes a file without blocks for whole
        except ManifestError:
            continue
    for at in range(len(data) - 120, len(data), 2):
        for byte in (0x00, 0x7F, 0xFF):
            altered = bytearray(data)
            altered[at] = byte
            try:
                found = _files(path, bytes(altered))
            except ManifestError:
                continue
            assert len(found) <= 3
