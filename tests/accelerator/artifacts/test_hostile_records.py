"""What the store says of bundles and sidecars, in another shape: nothing is known of these files.

No statement fails over it, and no length makes more memory be asked for than a file has.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

from accelerator.artifacts.sidecars import bundle, records
from accelerator.artifacts.sidecars.probe import UNREADABLE, _parts, reads_of
from accelerator.store.records import BUNDLE
from fuzz.bytes.formats.bundles import FORMATS, bundle_record
from fuzz.bytes.formats.heavy import sidecar_record
from fuzz.bytes.json_mutations import damaged_json

_ODD = (None, True, -1, 2**70, 1.5, float("inf"), float("nan"), "x", [], {}, [[]])


@pytest.fixture(scope="module")
def sound():
    return [one for format_ in FORMATS for one in format_.samples()]


def test_records_of_any_shape_are_refused_by_the_errors_that_are_caught(sound):
    r, taken = Random(5), 0
    for one in sound:
        for _ in range(300):
            facts = damaged_json(r, one.facts)
            if not isinstance(facts, dict):
                continue
            record = bundle_record(facts, one.context[1])
            try:
                found, places = records.pieces_of(record), records.places_of(record)
            except UNREADABLE:
                continue
            taken += 1
            assert len(places) == len(record.files)
            assert all(p is None or (0 <= p[0] < len(found) and p[1] >= 0) for p in places)
            assert records.answers_for(record, "bigint") in (True, False)
    assert taken


@pytest.mark.parametrize("odd", _ODD, ids=repr)
def test_other_values_in_a_bundles_places(sound, odd):
    facts = sound[0].facts[BUNDLE]
    for name in facts:
        record = bundle_record({BUNDLE: {**facts, name: odd}}, sound[0].context[1])
        for ask in (records.pieces_of, records.places_of):
            with suppress(*UNREADABLE):
                ask(record)
        with suppress(*UNREADABLE):
            records.taken_apart([record], lambda _: lambda offset, length: b"")


@pytest.mark.parametrize("odd", _ODD, ids=repr)
def test_other_values_in_a_sidecars_places(odd):
    blob = {"type": "acc-x-v1", "properties": {"rows": "7"}, "offset": 4, "length": 9}
    sides = [
        {records.SIDECAR: {"row_groups": [7], "blobs": [{**blob, name: odd}]}} for name in blob
    ]
    sides += [{records.SIDECAR: {"row_groups": odd, "blobs": [blob]}}, {records.SIDECAR: odd}]
    for facts in sides:
        with suppress(*UNREADABLE):
            records.heavy_of(sidecar_record(facts, "bigint", 7))


def test_places_beyond_a_bundle_are_refused():
    may = np.array([True, False])
    assert bundle.at(may, np.array([1, 0, 1])).tolist() == [False, True, False]
    for places in ([2], [-1], [0, 2**40]):
        with pytest.raises(ValueError, match="names more"):
            bundle.at(may, np.array(places))


def test_a_record_of_a_bundle_without_fields_is_of_no_use(sound):
    record = bundle_record(sound[0].facts, sound[0].context[1])
    assert not records.answers_for(replace(record, fields=()), "bigint")


def test_a_read_takes_no_more_memory_than_the_file_has(tmp_path: Path):
    path = tmp_path / "sidecar"
    path.write_bytes(b"0123456789")
    with path.open("rb") as file:
        read = reads_of(file)
        assert read(0, 4) == b"0123"
        assert read(8, 2**60) == b"89"
        assert read(10, 1) == read(2**62, 2**62) == b""
        for offset, length in ((-1, 4), (0, -1)):
            with pytest.raises(ValueError):
                read(offset, length)


def test_a_file_written_anew_under_an_old_path_is_another(sound):
    """The bundle tells of the file that was there before."""
    record = bundle_record(sound[0].facts, sound[0].context[1])
    paths = pa.array([one.path for one in record.files])
    numbers = np.array([one.sequence_number for one in record.files])
    told = np.concatenate([part.files for part in _parts(record, paths, numbers, None)])
    assert len(told)
    numbers[told[0]] += 1
    later = np.concatenate([part.files for part in _parts(record, paths, numbers, None)])
    assert sorted(later) == sorted(told[1:])
