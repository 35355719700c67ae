"""Names and paths that records give: nothing leads out of a store's root."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import convert
from msgspec.structs import replace

from accelerator.common.records.as_dict import as_dict
from accelerator.errors import StoreError
from accelerator.store.files.local import LocalFiles
from accelerator.store.files.names import inside, name_of
from accelerator.store.files.object_store import ObjectFiles
from accelerator.store.log.chunks import ChunkRef
from accelerator.store.log.garbage import Garbage
from accelerator.store.records import CubeRecord, IndexRecord, SegmentRecord
from tests.accelerator.store.samples import cube, segment

_INDEX = IndexRecord("i", "i", "t", "u", "BLOOM", 1, "k", 1)
_OUT = ["..", "../x", "a/../../x", "/etc/passwd", "a/\0", "\0", "a/.."]
_NO_NAMES = [*_OUT, "", ".", ".hidden", "a/b", "a b", "x" * 129, "né", "a\n", None, 7, True]


@pytest.mark.parametrize("name", _NO_NAMES, ids=repr)
def test_what_names_no_file(name: object) -> None:
    with pytest.raises(ValueError, match="no name of a file"):
        name_of(name)
    for raw, of in (
        (cube("c").to_json(), CubeRecord.from_json),
        (_INDEX.to_json(), IndexRecord.from_json),
        (segment(1, 1).to_json(), SegmentRecord.from_json),
    ):
        for key in raw.keys() & {"id", "table_uuid", "cube_id"}:
            if key == "id" and "cube_id" in raw:
                continue  # of a segment it's a number
            with pytest.raises((ValueError, TypeError)):
                of({**json.loads(json.dumps(raw)), key: name})
    sound = as_dict(Garbage(cubes=("c",), chunks=("k",)))
    for key in ("cubes", "chunks"):
        with pytest.raises(ValueError):
            convert({**sound, key: [name]}, Garbage)
    with pytest.raises(ValueError):
        convert([name, 1, 1, ""], ChunkRef)


@pytest.mark.parametrize("path", _OUT, ids=repr)
def test_paths_that_lead_out(path: str, tmp_path: Path) -> None:
    for files in (LocalFiles(str(tmp_path / "root")), ObjectFiles("memory:///bucket", {})):
        for ask in (
            lambda one=files: one.create(path, b"x"),
            lambda one=files: one.read(path),
            lambda one=files: one.read_range(path, 0, 1),
            lambda one=files: one.exists(path),
            lambda one=files: one.size(path),
            lambda one=files: one.delete([path]),
            lambda one=files: one.list(path),
            lambda one=files: one.folders(path),
            lambda one=files: list(one.entries(path)),
        ):
            with pytest.raises(StoreError, match="isn't a path in the store"):
                ask()


def test_other_names_are_taken() -> None:
    assert name_of("e0a8b936-7406-4848-98a9-1c6fbd53427f") and name_of("a..b_C.1")
    assert inside("tables/a..b/versions/v1.json") and inside("") == ""


@pytest.mark.parametrize("name", ["dimensions", "edges", "fields", "settings"])
def test_a_segment_says_what_it_was_built_from(name: str) -> None:
    raw = segment(1, 1).to_json()
    with pytest.raises(ValueError, match="built from"):
        SegmentRecord.from_json({key: value for key, value in raw.items() if key != name})


def test_a_name_is_kept() -> None:
    one = replace(cube("c"), disabled="why", published="lake.d.t")
    assert CubeRecord.from_json(one.to_json()) == one
    for key in ("disabled", "published"):
        with pytest.raises(ValueError):
            CubeRecord.from_json({**one.to_json(), key: 7})
