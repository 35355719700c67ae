"""Manifests entry by entry: partition values as written, and damaged bytes as an error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.avro.file import AvroFile
from pyiceberg.manifest import (
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
)
from pyiceberg.typedef import Record

from accelerator.iceberg.errors import ManifestError
from accelerator.iceberg.files import FileCache, live_entries
from accelerator.iceberg.io import LocalInputs
from tests.accelerator.iceberg.avro_writer import Layout, Writer
from tests.accelerator.iceberg.manifests import PARTITIONS, entries, entry, listed

_KINDS = sorted(set(PARTITIONS) - {"double", "nanos"})


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


def _said(value: Any) -> Any:
    """All that a record has; its maps are decoded when they're first asked.

    In maps PyIceberg takes numbers for such without a sign.
    """
    if isinstance(value, Record):
        return [_said(value[place]) for place in range(len(value))]
    if isinstance(value, Mapping):
        return {k: v % (1 << 64) if isinstance(v, int) else v for k, v in value.items()}
    return value


@given(st.data())
def test_all_else_is_as_pyicebergs_own_reader_has_it(path: Path, data: st.DataObject) -> None:
    """Days, times, decimals and UUIDs too; doubles apart, which it misreads."""
    names = data.draw(st.lists(st.sampled_from(_KINDS), max_size=3, unique=True))
    path.write_bytes(Writer(_layout(*names)).file(data.draw(entries(tuple(names)))))
    found = live_entries(LocalInputs(), listed(str(path)))
    schema, types = MANIFEST_ENTRY_SCHEMAS[3], {-1: ManifestEntry, 2: DataFile}
    enums = {0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent}
    with AvroFile[ManifestEntry](LocalInputs().new_input(str(path)), schema, types, enums) as file:
        wanted = [one for one in file if one.status != ManifestEntryStatus.DELETED]
    assert repr(list(map(_said, found))) == repr(list(map(_said, wanted)))


def test_types_that_pyiceberg_does_not_know_are_no_damage(path: Path) -> None:
    with pytest.raises(ManifestError, match="timestamp-nanos") as raised:
        _files(path, Writer(_layout("nanos")).file([entry(partition=(1,))]))
    assert "damaged" not in raised.value.message


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
