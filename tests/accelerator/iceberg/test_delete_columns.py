"""Deletes as columns against deletes matched one by one, over manifests of both kinds.

Strategy: hypothesis draws manifests of data and delete files in several specs, with few paths,
partitions and sequence numbers, so that they meet often. They are written as bytes and read, and
matched from what was drawn. Invariants: the files that are left and their deletes are the same, and
so is what is known of the rows that are left.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from accelerator.iceberg.manifests.columns import ManifestColumns
from accelerator.iceberg.manifests.manifest_file import DATA, DELETES, ManifestFile
from accelerator.iceberg.manifests.reader import decode_manifest
from accelerator.iceberg.tables.data_file import PATH_FIELD_ID, DeleteRef, LiveFile, applying
from accelerator.iceberg.tables.delete_matching import DeleteFiles, Listed
from accelerator.iceberg.tables.live_files import ColumnarFiles
from indexes.bounds import UNKNOWN
from tests.accelerator.iceberg.avro_writer import Layout, Writer
from tests.accelerator.iceberg.manifests import entry, listed
from tests.support.extent import sized

_NAN = float("nan")
_DECIMAL = {"type": "fixed", "name": "d", "logicalType": "decimal", "precision": 9, "scale": 2}
SPECS: Mapping[int, tuple[tuple[int, Any, tuple[Any, ...]], ...]] = {
    0: (),
    1: ((1000, "int", (None, 1, 2)),),
    2: ((1001, "double", (None, 0.0, -0.0, _NAN)), (1002, "string", (None, "", "x"))),
    3: ((1003, {**_DECIMAL, "size": 4}, (None, b"\xff\xff\xff\xfe", bytes(4), b"\0\0\1\0")),),
    4: ((1004, "int", (None,)),),
}
"""Of each spec the fields, with the values that they have here; 4 has only a void one."""
UNPARTITIONED = frozenset({0, 4})
DECIMALS = frozenset({1003})
_PATHS = st.sampled_from(["a", "b", "c", "d"])
_NUMBERS = st.integers(1, 3)


@dataclass(frozen=True)
class Manifest:
    """What a manifest lists, and how the list of manifests names it."""

    spec_id: int
    deletes: bool
    entries: tuple[dict[str, Any], ...]
    sequence_number: int = 3

    def bytes(self) -> bytes:
        """Its file. Decimals are wider in manifests of deletes, as after a promotion."""
        fields = [(field_id, type_) for field_id, type_, _ in SPECS[self.spec_id]]
        return Writer(Layout(version=3, partition=tuple(fields), deletes=True)).file(
            list(self.entries)
        )


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    """A manifest of either kind."""
    spec_id, deletes = draw(st.sampled_from(sorted(SPECS))), draw(st.booleans())
    made = []
    for _ in range(draw(st.integers(0, 4))):
        values = tuple(draw(st.sampled_from(of)) for _, _, of in SPECS[spec_id])
        own = draw(_delete()) if deletes else {"file_path": draw(_PATHS), "record_count": 10}
        plain = dict.fromkeys(("referenced_data_file", "content_offset", "content_size_in_bytes"))
        one = entry(**{**plain, **own, "partition": values})
        made.append({**one, "sequence_number": draw(st.none() | _NUMBERS)})
    return Manifest(spec_id, deletes, tuple(made))


@st.composite
def _delete(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["equality", "position", "named", "bounded", "vector"]))
    own: dict[str, Any] = {"content": 2 if kind == "equality" else 1}
    own["file_path"] = draw(st.sampled_from(["p", "q", "r", "s"]))
    own["record_count"] = draw(_NUMBERS)
    if kind in ("named", "vector"):
        own["referenced_data_file"] = draw(_PATHS)
    if kind == "vector":
        own["content_offset"], own["content_size_in_bytes"] = draw(_NUMBERS), 40
    if kind == "bounded":
        lower, upper = draw(_PATHS).encode(), draw(_PATHS).encode()
        own["lower_bounds"], own["upper_bounds"] = {PATH_FIELD_ID: lower}, {PATH_FIELD_ID: upper}
    return own


@settings(max_examples=sized(40, full=300), deadline=None)
@given(st.lists(manifests(), max_size=6))
def test_deletes_are_those_of_each_file_by_itself(drawn: list[Manifest]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        named = [_written(Path(folder), n, one) for n, one in enumerate(drawn)]
        expected = _one_by_one(drawn)
        found = _columnar(named)
        everything = np.ones(len(expected), dtype=bool)
        assert _told(found.live(everything)) == _told(expected)
        every_other = np.arange(len(expected)) % 2 == 0
        assert _told(found.live(every_other)) == _told(expected)[::2]
    for told, file in zip(found.vectored.tolist(), expected, strict=True):
        kinds = [ref.content for ref in file.deletes]
        known = file.deletes[0].record_count if kinds == ["dv"] else UNKNOWN if kinds else 0
        # Two vectors of one file can't be: all that counts is that nothing wrong is told.
        assert told == known or (told == UNKNOWN and _vectors(drawn, file.path) > 1)


def test_a_decimal_that_grew_is_the_same_partition() -> None:
    data = Manifest(3, False, (_plain(file_path="a", partition=(b"\0\0\1\0",)),), 1)
    delete = Manifest(3, True, (_plain(content=1, partition=(b"\0\0\1\0",)),), 2)
    wider = Writer(
        Layout(version=3, partition=((1003, {**_DECIMAL, "size": 8}),), deletes=True)
    ).file([_plain(content=1, partition=(bytes(6) + b"\1\0",))])
    with tempfile.TemporaryDirectory() as folder:
        files = _written(Path(folder), 0, data)
        (Path(folder) / "1.avro").write_bytes(wider)
        deletes = _listed(str(Path(folder) / "1.avro"), delete)
        assert _columnar([files, deletes]).vectored.tolist() == [UNKNOWN]


def _plain(**file: Any) -> dict[str, Any]:
    none = dict.fromkeys(("referenced_data_file", "content_offset", "content_size_in_bytes"))
    return entry(**{**none, **file})


def _vectors(drawn: Sequence[Manifest], path: str) -> int:
    files = [one["data_file"] for manifest in drawn for one in manifest.entries]
    return sum(f["content_offset"] is not None and f["referenced_data_file"] == path for f in files)


def _written(folder: Path, number: int, manifest: Manifest) -> ManifestFile:
    path = folder / f"{number}.avro"
    path.write_bytes(manifest.bytes())
    return _listed(str(path), manifest)


def _listed(path: str, manifest: Manifest) -> ManifestFile:
    content = DELETES if manifest.deletes else DATA
    found = listed(path, manifest.sequence_number)
    return replace(found, partition_spec_id=manifest.spec_id, content=content)


def _load(manifest: ManifestFile) -> ManifestColumns:
    return decode_manifest(Path(manifest.manifest_path).read_bytes(), manifest)


def _columnar(named: Sequence[ManifestFile]) -> ColumnarFiles:
    deletes = [Listed(one.partition_spec_id, _load(one)) for one in named if one.content == DELETES]
    return ColumnarFiles(
        [one for one in named if one.content == DATA],
        _load,
        {spec_id: {} for spec_id in SPECS},
        None,
        DeleteFiles(deletes, UNPARTITIONED, DECIMALS),
    )


def _one_by_one(drawn: Sequence[Manifest]) -> list[LiveFile]:
    """The specification's rules, said of one pair at a time."""
    deletes = [(m, one) for m in drawn if m.deletes for one in m.entries]
    found = []
    for manifest in drawn:
        for one in () if manifest.deletes else manifest.entries:
            refs = [_ref(m, d) for m, d in deletes if _reaches((m, d), (manifest, one))]
            file, number = one["data_file"], _number(manifest, one)
            found.append(
                LiveFile(
                    file["file_path"], number, file["file_size_in_bytes"], file["record_count"],
                    "parquet", manifest.spec_id, applying(refs, number),
                )
            )  # fmt: skip
    return found


def _number(manifest: Manifest, one: Mapping[str, Any]) -> int:
    number: int | None = one["sequence_number"]
    return manifest.sequence_number if number is None else number


def _ref(manifest: Manifest, one: Mapping[str, Any]) -> DeleteRef:
    file, number = one["data_file"], _number(manifest, one)
    offset = file["content_offset"]
    kind: Literal["equality", "position", "dv"] = "position" if offset is None else "dv"
    if file["content"] == 2:
        kind = "equality"
    size = file["content_size_in_bytes"]
    return DeleteRef(file["file_path"], kind, number, file["record_count"], offset, size)


def _reaches(
    delete: tuple[Manifest, Mapping[str, Any]], data: tuple[Manifest, Mapping[str, Any]]
) -> bool:
    (of, one), (manifest, other) = delete, data
    mine, file = one["data_file"], other["data_file"]
    if mine["content"] == 2 and of.spec_id in UNPARTITIONED:
        return True
    named = mine["referenced_data_file"]
    lower, upper = ((mine[n] or {}).get(PATH_FIELD_ID) for n in ("lower_bounds", "upper_bounds"))
    if named is None and lower is not None and lower == upper:
        named = lower.decode()
    if mine["content"] != 2 and named is not None:
        return bool(named == file["file_path"])
    same = [_comparable(one["data_file"]["partition"]) for one in (one, other)]
    return of.spec_id == manifest.spec_id and same[0] == same[1]


def _comparable(partition: tuple[Any, ...]) -> tuple[Any, ...]:
    """NaN equals itself, and -0.0 goes with 0.0."""
    return tuple(("NaN" if v != v else v + 0.0) if isinstance(v, float) else v for v in partition)


def _told(files: Sequence[LiveFile]) -> list[tuple[str, int, tuple[DeleteRef, ...]]]:
    """Deletes of one path may come in any order."""
    return [
        (file.path, file.sequence_number, tuple(sorted(file.deletes, key=repr))) for file in files
    ]
