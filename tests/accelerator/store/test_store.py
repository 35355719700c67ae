"""The store's promises, one by one, on the local disk and in an object store in memory."""

from __future__ import annotations

import os
import random
import threading
import timeit

import pytest

from accelerator.errors import (
    ConfigError,
    CubeExistsError,
    CubeNotFoundError,
    StoreConflictError,
    StoreError,
)
from accelerator.store import Store, local_path, segment_id
from accelerator.store.files.files import open_files
from accelerator.store.files.local import LocalFiles
from accelerator.store.files.object_store import _split_options
from tests.accelerator.store.samples import TABLE, cube, file, segment


@pytest.fixture(params=["local", "memory"])
def files(request, tmp_path):
    root = str(tmp_path / "store") if request.param == "local" else "memory:///"
    return open_files(root)


@pytest.fixture
def store(files):
    return Store(files)


def test_a_missing_root_is_an_empty_store_and_stays_missing(tmp_path):
    store = Store.open(str(tmp_path / "none"))
    assert not store.registry().cubes
    assert not store.table(TABLE).segments
    assert store.table(TABLE).of("any") == ()
    assert store.jobs(TABLE) == ()
    assert not (tmp_path / "none").exists()


def test_cubes_are_created_updated_and_dropped(store, files):
    store.create_cube(cube())
    store.change_cube("sales", published="lake.shop.sales_cube")
    other = Store(files)
    assert other.registry().cubes == {"sales": cube(published="lake.shop.sales_cube")}
    assert other.drop_cube("sales").published == "lake.shop.sales_cube"
    assert not store.registry().cubes
    assert store.registry().number == 3


def test_a_name_in_use_and_an_unknown_name_are_typed_errors(store):
    store.create_cube(cube())
    with pytest.raises(CubeExistsError, match="sales") as caught:
        store.create_cube(cube(id="d" * 32))
    assert caught.value.hint
    with pytest.raises(CubeNotFoundError, match="other"):
        store.drop_cube("other")
    with pytest.raises(CubeNotFoundError, match="replaced"):
        store.change_cube("sales", "d" * 32, published=None)
    assert store.registry().number == 1


def test_replacing_or_dropping_a_cube_forgets_its_segments_only(store):
    store.create_cube(cube())
    store.add_segments(TABLE, [segment(1, 1), segment(2, 1, cube_id="e" * 32)])
    store.create_cube(cube(id="d" * 32), replace=True)
    assert set(store.table(TABLE).segments) == {2}
    store.add_segments(TABLE, [segment(3, 1, cube_id="d" * 32)])
    store.drop_cube("sales")
    assert set(store.table(TABLE).segments) == {2}


def test_another_process_commit_is_seen_at_once(store, files):
    other = Store(files)
    for id in range(1, 6):
        other.add_segments(TABLE, [segment(id, id)])
        assert set(store.table(TABLE).segments) == set(range(1, id + 1))


def test_the_second_builder_of_a_file_loses_and_is_told(store, files):
    other = Store(files)
    store.add_segments(TABLE, [segment(1, 1), segment(2, 2)])
    added = other.add_segments(TABLE, [segment(3, 2), segment(4, 3), segment(5, 4, 1)])
    assert added.lost == (3, 5)
    assert set(store.table(TABLE).segments) == {1, 2, 4}
    assert added.version.number == 2
    # All lost: nothing is committed. One's own repeat isn't a loss.
    assert other.add_segments(TABLE, [segment(6, 1)]).version.number == 2
    assert store.add_segments(TABLE, [segment(1, 1)]).lost == ()


def test_two_segments_of_one_call_may_not_share_a_file_either(store):
    assert store.add_segments(TABLE, [segment(1, 1, 2), segment(2, 2, 3)]).lost == (2,)


@pytest.mark.parametrize(
    "changes",
    [
        {"cube_id": "d" * 32},
        {"files": (file(1, "dv:7"),)},
        {"dimensions": ((1, TABLE, 43),)},
        {"fields": ((TABLE, 3, "decimal(12,2)", False),)},
        {"settings": (("session_time_zone", "Asia/Tokyo"),)},
        {"format": 2},
    ],
)
def test_another_source_of_the_same_rows_is_no_double(store, changes):
    store.add_segments(TABLE, [segment(1, 1)])
    assert store.add_segments(TABLE, [segment(2, 1, **changes)]).lost == ()


def test_a_merged_segment_keeps_its_inputs_usable_and_may_be_merged_again(store):
    store.add_segments(TABLE, [segment(id, id) for id in (1, 2, 3)])
    assert store.add_segments(TABLE, [segment(10, 1, 2, inputs=(1, 2))]).lost == ()
    assert store.add_segments(TABLE, [segment(20, 1, 2, 3, inputs=(10, 3))]).lost == ()
    assert set(store.table(TABLE).segments) == {1, 2, 3, 10, 20}


def test_a_merge_is_a_double_only_of_one_with_all_of_its_files(store):
    """After a delete in one of a merge's files the others are merged anew."""
    store.add_segments(TABLE, [segment(id, id) for id in (1, 2, 3)])
    store.add_segments(TABLE, [segment(10, 1, 2, inputs=(1, 2))])
    assert store.add_segments(TABLE, [segment(11, 2, 1, inputs=(2, 1))]).lost == (11,)
    assert store.add_segments(TABLE, [segment(12, 2, 3, inputs=(2, 3))]).lost == ()
    assert store.add_segments(TABLE, [segment(13, 2, inputs=(2,))]).lost == (13,)
    assert set(store.table(TABLE).segments) == {1, 2, 3, 10, 12}


def test_replaced_segments_go_in_the_same_version(store):
    store.add_segments(TABLE, [segment(1, 1), segment(2, 2)])
    added = store.add_segments(TABLE, [segment(3, 1, 2)], replaces=[1, 2])
    assert (added.lost, set(added.version.segments), added.version.number) == ((), {3}, 2)
    assert set(store.remove_segments(TABLE, [3, 99]).segments) == set()


def test_unsound_segments_are_refused_before_anything_is_written(store):
    store.add_segments(TABLE, [segment(1, 1)])
    for bad in (segment(0, 2), segment(2**63, 2), segment(1, 2), segment(5), segment(5, 2, 2)):
        with pytest.raises(StoreError):
            store.add_segments(TABLE, [segment(4, 4), bad])
    with pytest.raises(StoreConflictError, match="99"):
        store.add_segments(TABLE, [segment(5, 1, inputs=(1, 99))])
    with pytest.raises(StoreError, match="JSON"):
        store.add_segments(TABLE, [segment(5, 5, facts={"max": float("nan")})])
    assert set(store.table(TABLE).segments) == {1}
    assert store.table(TABLE).number == 1


def test_a_job_names_its_prefix_until_it_ends(store, files):
    store.create_cube(cube())
    job = store.begin_job(TABLE, "c" * 32)
    assert Store(files).jobs(TABLE) == (job,)
    assert job.uri.endswith(f"tables/{TABLE}/cubes/{'c' * 32}/{job.id}")
    inside = f"tables/{TABLE}/cubes/{'c' * 32}/{job.id}/part-0.parquet"
    files.create(inside, b"rows")
    uri = f"{job.uri}/part-0.parquet"
    assert store.artifacts(job) == {uri: 4}
    assert (store.artifact_size(uri), store.read_range(uri, 0, 9)) == (4, b"rows")
    store.add_segments(TABLE, [segment(1, 1, path=uri)], job=job)
    assert store.jobs(TABLE) == ()
    store.finish_job(job)
    store.delete_artifacts([uri, uri])
    with pytest.raises(FileNotFoundError):
        store.read_range(uri, 0, 9)


def test_a_build_whose_cube_or_log_is_gone_commits_nothing(store, files):
    store.create_cube(cube())
    lost, late = (store.begin_job(TABLE, "c" * 32) for _ in range(2))
    Store(files).finish_job(lost)
    with pytest.raises(StoreConflictError, match="taken for dead"):
        store.add_segments(TABLE, [segment(1, 1)], job=lost)
    Store(files).drop_cube("sales")
    with pytest.raises(CubeNotFoundError, match="dropped while"):
        store.add_segments(TABLE, [segment(1, 1)], job=late)
    assert store.table(TABLE).number == 0


def test_only_files_of_the_store_are_touched(tmp_path):
    store = Store.open(f"file://{tmp_path}/store")
    victim = tmp_path / "victim"
    victim.write_text("kept")
    for uri in (str(victim), f"file://{tmp_path}/store/../victim", f"file:{victim}"):
        with pytest.raises(StoreError, match="isn't under"):
            store.delete_artifacts([uri])
    assert victim.exists()


def test_file_uris_of_every_spelling_are_local_paths(tmp_path):
    assert local_path("file:///a b/c%20d") == local_path("file:/a b/c%20d") == "/a b/c%20d"
    job = Store.open(str(tmp_path / "a b#1")).begin_job(TABLE, "c")
    assert job.uri.startswith("file:///")
    with pytest.raises(ConfigError, match="scheme"):
        Store.open("ftp://host/x")


def test_connection_options_are_told_apart_from_the_clouds():
    options = {"aws_region": "x", "aws_allow_http": "true", "timeout": "5s"}
    assert _split_options("s3://b", options) == (
        {"aws_region": "x"},
        {"allow_http": True, "timeout": "5s"},
    )
    assert _split_options("gs://b", {}) == (None, None)
    assert Store.open("s3://b/k", options=options)
    with pytest.raises(StoreError, match="aws_nope") as caught:
        Store.open("s3://b/k", options={"aws_nope": "1"})
    assert "store_options" in caught.value.hint


def test_a_read_only_or_unwritable_root_reads_but_refuses_writes(tmp_path):
    Store.open(str(tmp_path)).create_cube(cube())
    frozen = Store.open(str(tmp_path), read_only=True)
    assert "sales" in frozen.registry().cubes
    (tmp_path / "plain").write_text("a file, so no folder can be made here")
    for store in (frozen, Store.open(str(tmp_path / "plain"))):
        with pytest.raises(StoreError) as caught:
            store.create_cube(cube("other"))
        assert caught.value.hint
        with pytest.raises(StoreError):
            store.begin_job(TABLE, "c")
    assert (tmp_path / "plain").is_file()


def test_a_root_under_nothing_is_a_store_error():
    with pytest.raises(StoreError, match="No such file") as caught:
        Store.open("/proc/nowhere/store").create_cube(cube())
    assert caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_permissions_are_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="Permission") as caught:
        Store.open(str(tmp_path / "store")).create_cube(cube())
    assert "store" in caught.value.hint


# Damage and formats


@pytest.mark.parametrize("cut", [0, 1, 40, 200, -1, -2])
def test_a_torn_newest_version_is_named_and_the_last_good_one_serves(tmp_path, cut):
    store = Store.open(str(tmp_path))
    store.create_cube(cube())
    newest = tmp_path / "registry" / f"v{2:020d}.json"
    store.create_cube(cube("other"))
    whole = newest.read_bytes()
    newest.write_bytes(whole[:cut])
    hurt = Store.open(str(tmp_path))
    assert set(hurt.registry().cubes) == {"sales"}
    assert newest.name in hurt.damages()[0]
    with pytest.raises(StoreError, match="damaged") as caught:
        hurt.create_cube(cube("third"))
    assert "restore" in caught.value.hint
    newest.write_bytes(whole)
    hurt.create_cube(cube("third"))
    assert set(hurt.registry().cubes) == {"sales", "other", "third"}
    assert hurt.damages() == ()


def test_a_flipped_byte_anywhere_is_never_believed(tmp_path):
    Store.open(str(tmp_path)).create_cube(cube())
    path = tmp_path / "registry" / f"v{1:020d}.json"
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            seen = Store.open(str(tmp_path)).registry()
        except StoreError:
            continue
        # The token of the commit is the only part that says nothing about the state.
        assert seen.cubes == {"sales": cube()}


def test_a_version_under_the_wrong_name_is_damage(tmp_path):
    store = Store.open(str(tmp_path))
    store.create_cube(cube())
    folder = tmp_path / "registry"
    (folder / f"v{2:020d}.json").write_bytes((folder / f"v{1:020d}.json").read_bytes())
    assert store.registry().number == 1
    assert "says registry 1 of itself" in store.damages()[0]


def test_a_newer_format_is_refused_with_a_hint(tmp_path):
    path = tmp_path / "registry" / f"v{1:020d}.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"format":5,"anything":"else"}')
    store = Store.open(str(tmp_path))
    for call in (store.registry, lambda: store.create_cube(cube())):
        with pytest.raises(StoreError, match="format 5") as caught:
            call()
        assert "upgrade" in caught.value.hint
    assert len(list(path.parent.iterdir())) == 1


def test_leftover_drafts_and_strange_names_are_ignored(tmp_path):
    store = Store.open(str(tmp_path))
    store.create_cube(cube())
    for name in (f"v{2:020d}.json#123", "notes.txt", "v3.json"):
        (tmp_path / "registry" / name).write_bytes(b"torn")
    again = Store.open(str(tmp_path))
    assert again.registry().number == 1
    assert LocalFiles(str(tmp_path)).list("registry") == [
        "registry/notes.txt",
        f"registry/v{1:020d}.json",
        "registry/v3.json",
    ]


# Caching


def test_nothing_new_costs_next_to_nothing(tmp_path):
    store = Store.open(str(tmp_path))
    store.create_cube(cube())
    store.add_segments(TABLE, [segment(id, id) for id in range(1, 1001)])
    for read in (store.registry, lambda: store.table(TABLE).of("c" * 32)):
        best = min(timeit.repeat(read, number=500, repeat=5)) / 500
        assert best <= 0.05e-3, f"{best * 1e3:.4f} ms"
    assert store.table(TABLE) is store.table(TABLE)


def test_max_age_skips_the_probe_and_no_longer(files):
    now = [0.0]
    store = Store(files, max_age_s=10.0, clock=lambda: now[0])
    other = Store(files)
    assert not store.registry().cubes
    other.create_cube(cube())
    now[0] = 9.9
    assert not store.registry().cubes
    now[0] = 10.0
    assert store.registry().cubes
    # One's own write is read whatever the age.
    other.create_cube(cube("b"))
    store.create_cube(cube("c"))
    assert set(store.registry().cubes) == {"sales", "b", "c"}


def test_a_hole_in_the_numbers_is_not_taken_for_the_end_after_a_pause(tmp_path):
    now = [0.0]
    files = open_files(str(tmp_path))
    sleeper = Store(files, clock=lambda: now[0])
    sleeper.create_cube(cube("a"))
    other = Store(files)
    for name in "bcd":
        other.create_cube(cube(name))
    for number in (1, 2, 3):
        (tmp_path / "registry" / f"v{number:020d}.json").unlink()
    now[0] = 301.0
    assert set(sleeper.registry().cubes) == set("abcd")
    sleeper.create_cube(cube("e"))
    assert set(other.registry().cubes) == set("abcde")


# Racing


def test_racing_threads_lose_nothing_and_share_no_number(files):
    stores = [Store(files) for _ in range(8)]
    barrier, failures, numbers = threading.Barrier(64), [], []

    def write(index):
        barrier.wait()
        try:
            added = stores[index % 8].add_segments(TABLE, [segment(index + 1, index + 1)])
            numbers.append(added.version.number)
        except StoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(index,)) for index in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sorted(numbers) == list(range(1, 65))
    assert set(Store(files).table(TABLE).segments) == set(range(1, 65))


def test_racing_builders_of_one_file_leave_one_segment(files):
    stores = [Store(files) for _ in range(16)]
    barrier, lost = threading.Barrier(16), []

    def write(store):
        id = segment_id()
        barrier.wait()
        lost.extend(store.add_segments(TABLE, [segment(id, 1)]).lost)

    threads = [threading.Thread(target=write, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lost) == 15
    assert len(Store(files).table(TABLE).segments) == 1


def test_the_programs_own_random_numbers_stay_as_they_are(files):
    """Leases write from a thread of their own: a seeded program must not notice."""
    random.seed(7)
    before = random.getstate()
    barrier = threading.Barrier(4)

    def write(index):
        barrier.wait()
        Store(files).add_segments(TABLE, [segment(index + 1, index + 1)])

    threads = [threading.Thread(target=write, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert random.getstate() == before


def test_a_commit_that_never_wins_gives_up_with_a_conflict(files):
    class AlwaysLate:
        def __getattr__(self, name):
            return getattr(files, name)

        def create(self, path, data):
            return False

    with pytest.raises(StoreConflictError, match="50 times") as caught:
        Store(AlwaysLate(), sleep=lambda _: None).create_cube(cube())
    assert caught.value.hint


@pytest.mark.parametrize("reply", ["lost", "exists"])
def test_a_commit_whose_reply_was_lost_is_recognised(files, reply):
    class LostReply:
        def __getattr__(self, name):
            return getattr(files, name)

        def create(self, path, data):
            assert files.create(path, data)
            if reply == "lost":
                raise StoreError("connection reset")
            return False

    version = Store(LostReply()).create_cube(cube())
    assert version.number == 1
    assert Store(files).registry().number == 1


def test_a_version_that_a_vacuum_deletes_before_it_is_read_is_not_damaged(files):
    """A reader found the newest, and a vacuum made a newer one and deleted it."""

    class Late:
        def __getattr__(self, name):
            return getattr(files, name)

        def read(self, path):
            if path.endswith("v00000000000000000001.json") and files.exists(path):
                Store(files).add_segments(TABLE, [segment(2, 2)])
                files.delete([path])
            return files.read(path)

    Store(files).add_segments(TABLE, [segment(1, 1)])
    store = Store(Late())
    assert set(store.table(TABLE).segments) == {1, 2}
    assert store.damages() == ()
    store.add_segments(TABLE, [segment(3, 3)])


def test_a_build_whose_log_is_written_twice_for_a_lost_reply_begins(files):
    class Twice:
        def __getattr__(self, name):
            return getattr(files, name)

        def create(self, path, data):
            files.create(path, data)
            return files.create(path, data)

    job = Store(Twice()).begin_job(TABLE, "c" * 32)
    assert [one.id for one in Store(files).jobs(TABLE)] == [job.id]


def test_a_draft_that_a_vacuum_deletes_is_written_again(tmp_path, monkeypatch):
    """A full vacuum can't tell the draft of a writer that slept long from a dead one's."""
    link, drafts = os.link, []

    def vacuumed(draft, target):
        drafts.append(draft)
        if len(drafts) < 3:
            draft.unlink()
        link(draft, target)

    monkeypatch.setattr(os, "link", vacuumed)
    files = LocalFiles(str(tmp_path))
    assert files.create("a/b", b"whole")
    assert files.read("a/b") == b"whole"
    assert len(set(drafts)) == 3
    assert [one.name for one in (tmp_path / "a").iterdir()] == ["b"]
    monkeypatch.setattr(os, "link", lambda draft, target: link(tmp_path / "none", target))
    with pytest.raises(StoreError):
        files.create("a/c", b"whole")


def test_what_a_job_wrote_may_go_while_it_is_listed(files):
    """A vacuum that took the build for dead deletes what the build itself is about to."""

    class Vacuumed:
        def __getattr__(self, name):
            return getattr(files, name)

        def list(self, prefix):
            found = files.list(prefix)
            files.delete(found)
            return found

    store = Store(Vacuumed())
    job = store.begin_job(TABLE, "c" * 32)
    files.create(store._relative(f"{job.uri}/1.parquet"), b"rows")
    assert store.artifacts(job) in ({f"{job.uri}/1.parquet": 4}, {})
