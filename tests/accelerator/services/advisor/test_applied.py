"""The ledger of what was applied: its file, who is first, and what can't be believed."""

from __future__ import annotations

import json
import threading
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from accelerator.errors import StoreConflictError, StoreError
from accelerator.store.files.local import LocalFiles
from accelerator.store.journals import ledger as apply_ledger
from accelerator.store.journals.ledger import (
    ACTS_MAX,
    ENTRIES_MAX,
    FOLDER,
    SHAPES_MAX,
    Act,
    AdviceLedger,
    AppliedAdvice,
)
from accelerator.store.journals.medians import MedianRange

_TEXT = st.text(max_size=50)
_NUMBER = st.floats(0, 1e12)
_ENTRY = st.builds(
    AppliedAdvice,
    key=st.uuids().map(lambda one: one.hex),
    id=st.text(max_size=32),
    action=st.sampled_from(["CREATE CUBE", "DROP CUBE", "CREATE INDEX"]),
    table=_TEXT,
    table_uuid=_TEXT,
    name=_TEXT,
    by=st.sampled_from(get_args(apply_ledger.By)),
    state=st.sampled_from(get_args(apply_ledger.State)),
    began_ms=st.integers(0, 2**47),
    ended_ms=st.integers(0, 2**47),
    artifact_id=_TEXT,
    digest=_TEXT,
    gain_ms=_NUMBER,
    bytes=st.integers(0, 2**60),
    build_s=_NUMBER,
    built_s=_NUMBER,
    reason=_TEXT,
)
_ACT = st.builds(
    Act,
    id=_TEXT,
    kind=st.sampled_from(get_args(apply_ledger.ActKind)),
    digest=_TEXT,
    name=_TEXT,
    at_ms=st.integers(0, 2**47),
)
ONE = AppliedAdvice("0" * 32, "r0", "CREATE CUBE", "lake.d.f", "u", "c", "auto", "begun", 1)


def _numbered(number: int, **fields) -> AppliedAdvice:
    return replace(ONE, key=f"{number:032x}", began_ms=number, **fields)


@pytest.fixture
def files(tmp_path) -> LocalFiles:
    return LocalFiles(str(tmp_path))


_SHAPES = st.text(max_size=32)


@given(
    st.lists(_ENTRY, max_size=5),
    st.dictionaries(_SHAPES, _NUMBER, max_size=5),
    st.dictionaries(_SHAPES, st.integers(0, 2**47), max_size=5),
    st.dictionaries(_SHAPES, st.tuples(st.integers(0, 2**40), _NUMBER, _NUMBER), max_size=5),
    st.lists(_ACT, max_size=5),
)
def test_what_is_written_is_read(entries, raw_ms, vain_ms, raw_runs, acts):
    ledger = AdviceLedger(3, tuple(entries), raw_ms, vain_ms, raw_runs, tuple(acts))
    assert apply_ledger.decoded(apply_ledger.encoded(ledger), 3) == ledger


@given(st.data())
def test_what_is_no_ledger_is_refused_and_nothing_else_is_raised(data):
    """One value in the file is another one."""
    act = Act("a", "dropped", "d", "c", 1)
    ledger = AdviceLedger(1, (ONE,), {"s": 1.0}, {}, {"s": (30, 1.0, 1.0)}, (act,))
    raw = json.loads(apply_ledger.encoded(ledger))
    parts = [raw, raw["entries"][0], raw["raw_ms"], raw["raw_runs"], raw["acts"][0]]
    into = data.draw(st.sampled_from(parts))
    key = data.draw(st.sampled_from(sorted(into)))
    into[key] = data.draw(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.none())
    )
    try:
        found = apply_ledger.decoded(json.dumps(raw).encode())
    except (ValueError, TypeError, LookupError):
        return
    assert apply_ledger.decoded(apply_ledger.encoded(found)) == found  # as good as the one before


def test_an_entry_takes_the_place_of_its_key_and_old_ones_go():
    ledger = AdviceLedger().with_entry(ONE).with_entry(replace(ONE, state="done"))
    assert [one.state for one in ledger.entries] == ["done"]
    ledger = AdviceLedger().with_entry(_numbered(0))  # begun: it's to be gone on with
    for number in range(1, ENTRIES_MAX + 10):
        ledger = ledger.with_entry(_numbered(number, state="done"))
    assert len(ledger.entries) == ENTRIES_MAX
    assert ledger.entries[0].began_ms == 0 and ledger.entries[1].began_ms == 11
    assert ledger.without(_numbered(0).key).entries == ledger.entries[1:]
    raw = AdviceLedger(raw_ms={"old": 1.0, "both": 1.0}).with_raw(
        {f"s{n}": 2.0 for n in range(SHAPES_MAX - 2)} | {"both": 3.0}
    )
    assert len(raw.raw_ms) == SHAPES_MAX and raw.raw_ms["both"] == 3.0
    assert "old" in raw.raw_ms and "old" not in raw.with_raw({"new": 1.0}).raw_ms


def test_changes_of_many_threads_are_all_there(files):
    def add(number: int) -> None:
        for own in range(5):
            entry = _numbered(100 * number + own)
            apply_ledger.change(files, lambda known, one=entry: known.with_entry(one))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found = apply_ledger.read(files)
    assert len(found.entries) == 20 <= found.number  # who was overtaken writes once more
    assert len(files.list(FOLDER)) == apply_ledger.KEPT


def test_a_damaged_file_gives_way_to_the_one_before(files, caplog):
    assert apply_ledger.read(files) == AdviceLedger()
    apply_ledger.change(files, lambda known: known.with_entry(_numbered(1)))
    files.create(f"{FOLDER}/{2:020d}.json", b'{"version": 1, "entries": "x"}')
    files.create(f"{FOLDER}/foreign.txt", b"")
    assert [one.began_ms for one in apply_ledger.read(files).entries] == [1]
    assert "passed over" in caplog.text
    apply_ledger.change(files, lambda known: known.with_entry(_numbered(2)))
    found = apply_ledger.read(files)
    assert [one.began_ms for one in found.entries] == [1, 2] and found.number == 3


def test_a_writer_that_paused_while_its_number_was_deleted_tries_again(files):
    paused = [True]

    def changed(known: AdviceLedger) -> AdviceLedger:
        if paused.pop() if paused else False:
            for number in range(10, 20):  # others write, and let old numbers go
                apply_ledger.change(files, lambda one, n=number: one.with_entry(_numbered(n)))
        return known.with_entry(_numbered(1))

    apply_ledger.change(files, changed)
    assert [one.began_ms for one in apply_ledger.read(files).entries] == [*range(10, 20), 1]


class _Unreachable(LocalFiles):
    """Lists, and can't read."""

    def read_range(self, path, offset, length):
        raise StoreError("no answer", hint="try again")


class _Busy(LocalFiles):
    """Others are always first."""

    def create(self, path, data):
        super().create(path, data)
        return False


def test_a_store_that_cant_be_read_loses_nothing(files, tmp_path):
    """Else the next change would forget all that was marked."""
    apply_ledger.change(files, lambda known: known.with_entry(ONE))
    with pytest.raises(StoreError):
        apply_ledger.change(_Unreachable(str(tmp_path)), lambda known: known)
    assert apply_ledger.read(files).entries == (ONE,)
    with pytest.raises(StoreConflictError):
        apply_ledger.change(_Busy(str(tmp_path)), lambda known: known)


def test_of_an_id_and_kind_the_last_act_counts():
    first = Act("a", "dropped", "d", "c", 1)
    ledger = AdviceLedger().with_acts([first, Act("b", "altered", "", "x", 2)])
    ledger = ledger.with_acts([replace(first, at_ms=3), Act("a", "undropped", "d", "mine", 4)])
    assert ledger.acted("dropped") == {"a": replace(first, at_ms=3)}
    assert ledger.acted("dropped", "undropped")["a"].name == "mine"
    assert [one.id for one in ledger.acts] == ["b", "a", "a"]
    many = ledger.with_acts(replace(first, id=str(n)) for n in range(ACTS_MAX))
    assert len(many.acts) == ACTS_MAX and "b" not in many.acted("altered")


def test_a_file_of_an_older_release_is_read():
    raw = json.loads(apply_ledger.encoded(AdviceLedger(1, (ONE,), {"s": 2.0})))
    del raw["acts"], raw["raw_runs"]
    found = apply_ledger.decoded(json.dumps(raw).encode(), 1)
    assert found == AdviceLedger(1, (ONE,), {"s": 2.0})
    assert found.before("s") == MedianRange(0, 2.0, 2.0, 2.0) and found.before("t") is None
