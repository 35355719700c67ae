"""Claims: one owner at a time, whoever pauses or dies and wherever; dead ones are followed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.store.files.files import open_files
from accelerator.store.journals.claims import (
    FOLDER,
    HOLD_MS,
    MARGIN_MS,
    Claims,
    TaskProgress,
    path_of,
)
from accelerator.store.journals.process_identity import identity, is_gone
from tests.accelerator.store.runner.claim_world import KEY, World

GOLDEN = Path(__file__).parent / "golden"
HOLD_S, MARGIN_S = HOLD_MS / 1000, MARGIN_MS / 1000
FILES_MAX = 12
"""Two epochs with a claim, prolongations and an end each, and what pauses may add."""

_WHO = st.integers(0, 2)
_STEP = st.one_of(
    st.tuples(st.just("go"), _WHO, st.sampled_from(("claim", "prolong", "end"))),
    st.tuples(st.just("go"), _WHO, st.just("claim")),
    st.tuples(st.just("kill"), _WHO, st.sampled_from(("before", "after"))),
    st.tuples(st.just("time"), _WHO, st.floats(0, 150)),
    st.tuples(st.just("skew"), _WHO, st.floats(-MARGIN_S / 2, MARGIN_S / 2)),
)


def play(world, processes, steps, between):
    """The steps, one request each; `between` looks at what is there after each."""
    for kind, who, what in steps:
        one = processes[who]
        if kind == "time":
            world.now += what
        elif kind == "skew":
            one.skew_s = what
        elif kind == "kill":
            one.kill(what)
            processes[who] = world.process(one.skew_s)
        elif one.busy:
            one.step()
        elif what == "claim" or one.claim is not None:
            one.start(what)
        between()
    for one in processes:
        one.finish()
        between()


@settings(max_examples=300, deadline=None)
@given(st.lists(_STEP, min_size=10, max_size=120), st.booleans())
def test_no_two_are_held_at_once(steps, tells):
    world = World(tells=tells)
    processes = [world.process(), world.process(), world.process()]

    def between():
        assert sum(one.held for one in processes) <= 1

    play(world, processes, steps, between)
    assert_one_can_follow(world)


_WILD = st.one_of(_STEP, st.tuples(st.just("skew"), _WHO, st.floats(-(10**6), 10**6)))


@settings(max_examples=150, deadline=None)
@given(st.lists(_WILD, min_size=10, max_size=120))
def test_whatever_the_clocks_do_an_owner_hears_that_it_was_followed(steps):
    world = World(tells=False)
    processes = [world.process(), world.process(), world.process()]
    play(world, processes, steps, lambda: None)
    epochs = [one.claim.epoch for one in processes if one.claim is not None]
    assert len(epochs) == len(set(epochs))
    for one in processes:
        if one.claim is not None and one.claim.epoch < max(epochs):
            assert one.do("prolong") is False and not one.held
    for one in processes:
        one.skew_s = 0.0
    assert_one_can_follow(world)


def assert_one_can_follow(world):
    """Sooner or later somebody else gets it, whose clock is right; and few files are left."""
    late = world.process()
    for _ in range(3):
        if late.do("claim"):
            break
        world.now += HOLD_S + 1
    assert late.held
    assert len(world.files.held) <= FILES_MAX
    late.do("end")
    assert Claims(world.files).seen(KEY).last == {"ran": late.name}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("order", ["claim", "prolong", "end"])
def test_a_crash_at_any_request_leaves_what_another_can_follow(order, when):
    for requests in range(12):
        world = World()
        one, other = world.process(), world.process()
        if order != "claim":
            one.do("claim")
        one.start(order)
        for _ in range(requests):
            if one.busy:
                one.step()
        ended = not one.busy
        one.kill(when)
        assert other.do("claim") and other.held
        if ended:
            return
    raise AssertionError("it never came to its end")


def test_a_paused_process_does_not_make_an_epoch_that_was_deleted():
    world = World()
    slow, others = world.process(), [world.process() for _ in range(4)]
    slow.start("claim")
    slow.step()  # it has seen that there's none, and is about to make the first
    for one in others:
        assert one.do("claim").epoch
        one.do("end")
    holder = world.process()
    holder.do("claim")
    slow.finish()
    assert slow.claim is None and holder.held
    assert holder.do("prolong")


def test_a_prolongation_that_took_too_long_does_not_count():
    world = World()
    slow = world.process(skew_s=-MARGIN_S / 2)
    other = world.process(skew_s=MARGIN_S / 2)
    slow.do("claim")
    world.now += HOLD_S - 1
    slow.start("prolong")
    world.now += 2
    other.start("claim")
    for _ in range(2):
        other.step()  # it has seen that the claim is over, and is about to make the next one
    slow.finish()
    assert slow.answer is False and not slow.held
    other.finish()
    assert other.held


def test_a_dead_one_of_another_machine_is_followed_once_its_time_is_over():
    world = World(tells=False)
    one, other = world.process(), world.process()
    one.do("claim")
    one.kill("before")
    assert other.do("claim") is None
    world.now += HOLD_S + MARGIN_S - 1
    assert world.process().do("claim") is None
    world.now += 2
    found = world.process().do("claim")
    assert found.deaths == 1


def test_one_whose_clock_is_hours_ahead_is_followed_by_who_has_watched_it():
    world = World(tells=False)
    ahead, watcher = world.process(skew_s=7200), world.process()
    ahead.do("claim")
    ahead.kill("before")
    assert watcher.do("claim") is None
    world.now += HOLD_S + 1
    assert watcher.do("claim").deaths == 1


def test_progress_and_the_last_end_are_seen():
    world = World()
    one, other = world.process(), world.process()
    one.do("claim")
    one.do("prolong")
    found = Claims(world.files).seen(KEY)
    assert (found.progress, found.last, found.ended) == (TaskProgress(1, 2), None, False)
    one.do("end")
    found = Claims(world.files).seen(KEY)
    assert found.last == {"ran": one.name} and found.ended
    assert other.do("claim").last == {"ran": one.name}
    other.kill("before")
    third = world.process()
    assert third.do("claim").last == {"ran": one.name} and third.claim.deaths == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"format":1}',
        b'{"format":2,"token":"a"}',
        b"\xff",
        b'{"format":1,"token":"t","process":"p","began_ms":0,"expires_ms":"soon","last":null}',
        b"[" * 70_000,
        b" " * 1_000_000,
    ],
)
def test_what_is_no_claim_stops_nobody(data):
    world = World()
    world.files.create(path_of(KEY, 7), data)
    world.files.create(f"{FOLDER}/{KEY}/notes.txt", b"mine")
    found = world.process().do("claim")
    assert found.epoch == 8 and found.last is None


def test_keys_that_lead_elsewhere_are_refused(tmp_path):
    claims = Claims(open_files(str(tmp_path)))
    for key in ("..", "a/b", "", "x" * 200):
        with pytest.raises(ValueError, match="no name"):
            claims.claim(key)


def test_a_process_of_this_machine_is_known_to_be_gone():
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "from accelerator.store.journals.process_identity import *; print(identity())",
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
    ).stdout.strip()
    if not told:
        pytest.skip("this system doesn't tell")
    assert is_gone(told) and not is_gone(identity())
    assert not is_gone(told.replace(told.split()[1], "0" * 8 + "-0000-0000-0000-" + "0" * 12))
    assert not any(map(is_gone, ("", "linux", "linux 1 2 3 4", "windows 1", told + " 1")))


def test_golden_files(tmp_path):
    """Renewed by hand, for a new version alone: `docs/formats/services.md`."""
    claims = Claims(open_files(str(tmp_path)), now_ms=lambda: 1_750_000_000_000, process="p")
    one = claims.claim(KEY)
    assert one is not None and one.prolong(TaskProgress(3, 12))
    one.end({"outcome": "done"})
    two = claims.claim(KEY)
    assert two is not None and two.prolong(TaskProgress(0, 0))
    paths = {str(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*.json")}
    made = {name: _plain(path.read_text()) for name, path in sorted(paths.items())}
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / "claims.json").write_text(json.dumps(made, indent=1) + "\n")
    kept = json.loads((GOLDEN / "claims.json").read_text())
    assert made == kept, "changed bytes need version 2"


def _plain(text):
    found = json.loads(text)
    assert text == json.dumps(found, sort_keys=True) + "\n"
    return text.replace(found["token"], "TOKEN")


def test_folders_of_other_names_are_no_keys(tmp_path):
    for name in ("refresh-a", "refresh-a b", "refresh-é", ".x", "refresh-" + "x" * 130):
        (tmp_path / "services" / "v1" / name).mkdir(parents=True)
    claims = Claims(open_files(str(tmp_path)))
    assert claims.known_keys() == ("refresh-a",)
    assert claims.forget(claims.known_keys()) == 0


def test_what_killed_writers_left_half_written_goes_a_day_later(tmp_path):
    folder = tmp_path / "services" / "v1" / KEY
    claims = Claims(open_files(str(tmp_path)))
    assert claims.claim(KEY) is not None
    for number, age_s in ((1, 0), (2, 90_000)):
        draft = folder / f"{2:020d}.json#{number}"
        draft.write_text("half")
        os.utime(draft, ns=(time.time_ns() - age_s * 10**9,) * 2)
    assert claims.drop_drafts() == 1
    assert sorted(one.name for one in folder.iterdir()) == [f"{1:020d}.json", f"{2:020d}.json#1"]
