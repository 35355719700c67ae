"""Advice as bytes: what was written is read, and nothing else is believed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from accelerator.errors import UNFIT, StoreError
from accelerator.store.files.files import open_files
from accelerator.store.journals.advice import (
    Advice,
    Recommendation,
    decoded,
    encoded,
    newest,
    read,
    write,
)

ONE = Recommendation(
    id="r0123456789ab",
    action="CREATE CUBE",
    table="lake.d.f",
    table_uuid="u",
    cube="c",
    ddl="CREATE CUBE c AS SELECT 1",
    reason="",
    gain_ms=1.5,
    samples=("SELECT 'ß' AS \x00\n",),
)
SAID = Advice(
    1_000, "u", "lake.d.f", 10, 1.0, left_out={"x": 3}, notes=("n",), recommendations=(ONE,)
)
KEYS = ("made_ms", "scope", "bytes_max", "days", "left_out", "notes", "recommendations", "version")
OWN = (
    *("id", "action", "ddl", "gain_ms", "bytes", "samples", "table_uuid", "digest"),
    *("index", "relate", "object_id", "needs"),
)


def test_what_was_written_is_read():
    assert decoded(encoded(SAID)) == SAID


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@given(st.sampled_from(KEYS), values)
def test_what_has_another_shape_is_refused_or_harmless(key, value):
    raw = json.loads(encoded(SAID)) | {key: value}
    try:
        found = decoded(json.dumps(raw).encode())
    except UNFIT:
        return
    assert decoded(encoded(found)) == found


@given(st.sampled_from(OWN), values)
def test_so_are_recommendations(key, value):
    raw = json.loads(encoded(SAID))
    raw["recommendations"][0][key] = value
    try:
        found = decoded(json.dumps(raw).encode())
    except UNFIT:
        return
    assert decoded(encoded(found)) == found


@given(st.binary(max_size=40))
def test_bytes_of_anybody(data):
    with pytest.raises(UNFIT):
        decoded(data)


def test_damaged_files_are_passed_over(tmp_path, caplog):
    files = open_files(str(tmp_path))
    write(files, SAID)
    for number, data in enumerate((b"", b"[" * 100_000, b"{}", b" " * 5_000_000)):
        files.create(f"advice/v1/20261127T144501123456-{number:016x}.json", data)
    files.create("advice/v1/other.json", b"{}")
    assert read(files) == [SAID]
    assert "4 files of advice" in caplog.text


def test_of_each_table_the_newest_counts():
    other = replace(ONE, table_uuid="v")
    every = Advice(2, "", "", 1, 1.0, recommendations=(ONE, other))
    assert newest([every, SAID]) == [(every, ONE), (every, other)]
    nothing = replace(SAID, recommendations=())
    assert newest([nothing, every]) == [(every, other)]
    assert newest([nothing, every], "u") == []
    assert newest([SAID, every], "v") == [(every, other)]


def test_samples_give_way_to_the_limit_of_a_file(tmp_path):
    files = open_files(str(tmp_path))
    long = replace(ONE, samples=("日" * 16_384,) * 3)
    write(files, replace(SAID, recommendations=(long,) * 30))
    (found,) = read(files)
    assert [one.samples for one in found.recommendations] == [long.samples[:1]] * 30
    write(files, replace(SAID, made_ms=2_000, recommendations=(long,) * 300))
    found, _ = read(files)
    assert len(found.recommendations) == 300 and not found.recommendations[0].samples
    with pytest.raises(StoreError):
        write(files, replace(SAID, recommendations=(ONE,) * 1_001))
    assert len(read(files)) == 2
