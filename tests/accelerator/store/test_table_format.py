"""The table's format: chunks, garbage, damage, golden bytes, and commits that don't grow."""

from __future__ import annotations

import json
import random
import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from accelerator.errors import StoreError
from accelerator.store import Store
from accelerator.store.files.files import open_files
from accelerator.store.log.chunks import Change, Chunks, compact_json, merged
from accelerator.store.log.cube_state import (
    CHUNK_ENTRIES_MAX,
    TOP,
    CubeState,
    Inline,
    Loader,
    _unchanged_chunks,
)
from accelerator.store.log.table_version import INLINE_BYTES_MAX
from tests.accelerator.store.samples import DIMENSION, TABLE, cube, segment
from tests.support.extent import sized

GOLDEN = Path(__file__).parent / "golden"
CUBE = "c" * 32
VERSIONS = f"tables/{TABLE}/versions"
CHUNKS = f"tables/{TABLE}/chunks"


@pytest.fixture
def root(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def store(root):
    return Store.open(str(root))


def newest(root):
    path = sorted((root / VERSIONS).glob("v*.json"))[-1]
    return json.loads(path.read_bytes())["state"]


def inside(root, number):
    """An artifact's URI under the store."""
    return f"file://{root}/tables/{TABLE}/cubes/{CUBE}/job/{number}.parquet"


class Counting:
    """Files that note what is read."""

    def __init__(self, files):
        self.files, self.reads = files, []

    def __getattr__(self, name):
        return getattr(self.files, name)

    def read(self, path):
        self.reads.append(path)
        return self.files.read(path)


# Chunks


def test_small_changes_stay_inline_and_grown_ones_are_folded(store, root):
    store.add_segments(TABLE, [segment(id, id) for id in range(1, 51)])
    for id in range(51, 100):
        store.add_segments(TABLE, [segment(id, id)])
        store.remove_segments(TABLE, [id - 50, id - 3])
        text = json.dumps(newest(root)["cubes"])
        assert len(text) < INLINE_BYTES_MAX + 2048
    assert any((root / CHUNKS).iterdir())
    again = Store.open(str(root))
    assert set(again.table(TABLE).segments) == {97, 98, 99}
    assert again.table(TABLE).of(CUBE) == store.table(TABLE).of(CUBE)


def test_one_cube_is_read_without_the_others(root):
    files = Counting(open_files(str(root)))
    writer = Store(files)
    for number, name in enumerate("abc"):
        ones = [segment(100 * number + n, n, cube_id=name * 32) for n in range(1, 100)]
        writer.add_segments(TABLE, ones)
    reader = Store(files)
    files.reads.clear()
    assert len(reader.table(TABLE).of("b" * 32)) == 99
    assert len([path for path in files.reads if path.startswith(CHUNKS)]) == 1
    assert reader.table(TABLE).of("none") == ()


def test_a_reader_that_follows_reads_only_what_is_new(root):
    files = Counting(open_files(str(root)))
    writer, reader = Store(files), Store(files)
    writer.add_segments(TABLE, [segment(id, id) for id in range(1, 200)])
    assert len(reader.table(TABLE).of(CUBE)) == 199
    for id in range(200, 230):
        writer.add_segments(TABLE, [segment(id, id)])
        files.reads.clear()
        assert len(reader.table(TABLE).of(CUBE)) == id
        assert len([path for path in files.reads if path.startswith(CHUNKS)]) <= 1


def test_a_follower_sees_what_a_fresh_reader_sees_whatever_is_merged(root, monkeypatch):
    # Small pieces, so that every kind of folding happens within a few hundred commits.
    monkeypatch.setattr("accelerator.store.log.table_version.INLINE_BYTES_MAX", 1500)
    monkeypatch.setattr("accelerator.store.log.cube_state.DEAD_ENTRIES_MAX", 60)
    monkeypatch.setattr(
        "accelerator.store.log.cube_state._tier", lambda n: (n // 4).bit_length() // 2
    )
    monkeypatch.setattr("accelerator.store.log.cube_state.FAN", 3)
    pick, present = random.Random(5), set()
    writer, follower = Store.open(str(root)), Store.open(str(root))
    for id in range(1, 301):
        gone = set(pick.sample(sorted(present), min(len(present), pick.choice([0, 0, 1, 3]))))
        writer.add_segments(TABLE, [segment(id, id)], replaces=gone)
        present = present - gone | {id}
        if pick.random() < 0.3:
            assert {one.id for one in follower.table(TABLE).of(CUBE)} == present
        if id % 20 == 0:
            fresh = Store.open(str(root))
            assert fresh.table(TABLE).of(CUBE) == follower.table(TABLE).of(CUBE)
            assert fresh.table(TABLE).of(CUBE) == writer.table(TABLE).of(CUBE)
            assert {one.id for one in fresh.table(TABLE).of(CUBE)} == present
            streamed = list(Store.open(str(root)).table(TABLE).cubes[CUBE].each())
            assert sorted(streamed, key=lambda one: one.id) == list(fresh.table(TABLE).of(CUBE))


def test_segments_one_by_one_are_those_that_are_left(root):
    """Of an id that was removed, or given anew, the newest word counts."""
    chunks = Chunks(open_files(str(root)), "chunks")

    def line(id, rows):
        return id, json.dumps(segment(id, id, rows=rows).to_json())

    def written(removed, *added):
        return chunks.write(Change(removed, added), CHUNK_ENTRIES_MAX)

    refs = (
        *written((), line(1, 10), line(2, 10), line(3, 10), line(4, 10)),
        *written((1, 2), line(1, 20)),
        *written((), line(4, 30), line(5, 30)),
    )
    inline = Inline().changed((2, 5), [segment(id, id, rows=40) for id in (3, 5, 6)])
    state = CubeState(CUBE, Loader(chunks), refs=refs, inline=inline)
    found = sorted((one.id, one.rows) for one in state.each())
    assert found == [(1, 20), (3, 40), (4, 30), (5, 40), (6, 40)]
    assert found == [(one.id, one.rows) for one in state.ordered()]
    assert found == sorted((one.id, one.rows) for one in state.each())  # once it's loaded


def test_a_try_that_lost_leaves_no_trace_in_what_is_read_later(root, monkeypatch):
    monkeypatch.setattr("accelerator.store.log.table_version.INLINE_BYTES_MAX", 1)
    first, other = Store.open(str(root)), Store.open(str(root))
    first.add_segments(TABLE, [segment(1, 1), segment(2, 2)])
    files, real = first._files, first._files.create

    def beaten(path, data):
        if "/versions/" in path:
            monkeypatch.setattr(files, "create", real)
            other.remove_segments(TABLE, [2])
        return real(path, data)

    monkeypatch.setattr(files, "create", beaten)
    first.add_segments(TABLE, [segment(3, 3)])
    other.remove_segments(TABLE, [3])
    assert set(first.table(TABLE).segments) == {1}
    assert set(Store.open(str(root)).table(TABLE).segments) == {1}


def test_merged_changes_have_the_effect_of_all():
    pick = random.Random(3)
    changes, state = [], {}
    for _ in range(50):
        gone = tuple(pick.sample(range(20), 4))
        come = tuple((one, f"{pick.random()}") for one in sorted(pick.sample(range(20), 3)))
        changes.append(Change(gone, come))
        state = {one: text for one, text in state.items() if one not in gone} | dict(come)
    for cut in range(51):
        replayed = {}
        # What was read before is no obstacle: removals stay in the merged change.
        for change in (merged(changes[:cut]), merged(changes[cut:])):
            replayed = {k: v for k, v in replayed.items() if k not in change.removed}
            replayed |= dict(change.added)
        assert replayed == state
    assert merged(changes).removed


def test_a_million_segments_need_few_chunks():
    sizes = []
    for _ in range(1_000_000 // 25):
        kept = _unchanged_chunks(tuple(Ref(one) for one in sizes), 25)
        entries = 25 + sum(sizes[kept:])
        whole, rest = divmod(entries, CHUNK_ENTRIES_MAX)
        sizes[kept:] = [CHUNK_ENTRIES_MAX] * whole + ([rest] if rest else [])
    assert sum(sizes) == 1_000_000
    assert len(sizes) <= 1_000_000 // TOP + 40


class Ref:
    def __init__(self, entries):
        self.entries = entries


@pytest.mark.parametrize(("gone", "come"), [(0, 5), (5, 0), (3, 3), (12, 1), (1, 12), (10, 20)])
def test_large_changes_are_several_chunks(tmp_path, gone, come):
    chunks = Chunks(open_files(str(tmp_path)), "chunks")
    added = tuple((one, json.dumps({"id": one})) for one in range(100, 100 + come))
    change = Change(tuple(range(gone)), added)
    refs = chunks.write(change, 8)
    assert all(ref.entries <= 8 for ref in refs)
    assert merged(chunks.read(ref) for ref in refs) == change


# Garbage


def test_garbage_is_recorded_once_its_last_segment_goes(store, root):
    shared = inside(root, 1)
    ones = [segment(1, 1, path=shared), segment(2, 2, path=shared), segment(3, 3)]
    store.add_segments(TABLE, ones)
    store.remove_segments(TABLE, [1])
    assert not store.table(TABLE).garbage
    store.add_segments(TABLE, [segment(4, 1, 2, 3)], replaces=[2, 3])
    version = store.table(TABLE)
    relative = shared.removeprefix(f"file://{root}/")
    # What isn't under the root is told by its whole URI, and is never ours to delete.
    assert version.garbage.artifacts == ("file:///w/.accelerator/3.parquet", relative)
    assert (version.number, version.prev_garbage) == (3, 0)
    store.add_segments(TABLE, [segment(5, 5)])
    assert not store.table(TABLE).garbage
    assert store.table(TABLE).prev_garbage == 3
    store.remove_segments(TABLE, [5])
    assert store.table(TABLE).prev_garbage == 3
    store.add_segments(TABLE, [segment(6, 6)])
    assert store.table(TABLE).prev_garbage == 5
    assert Store.open(str(root)).table(TABLE).prev_garbage == 5


def test_an_artifact_that_is_in_use_again_in_the_same_version_is_no_garbage(store, root):
    store.add_segments(TABLE, [segment(1, 1, path=inside(root, 1))])
    store.add_segments(TABLE, [segment(2, 1, path=inside(root, 1))], replaces=[1])
    assert not store.table(TABLE).garbage


def test_a_dropped_cube_is_garbage_as_a_whole(store, root):
    store.create_cube(cube())
    store.add_segments(TABLE, [segment(id, id) for id in range(1, 500)])
    chunks = {path.stem for path in (root / CHUNKS).iterdir()}
    files = Counting(open_files(str(root)))
    Store(files).drop_cube("sales")
    assert not [path for path in files.reads if path.startswith(CHUNKS)]
    garbage = store.table(TABLE).garbage
    assert (garbage.artifacts, garbage.cubes, set(garbage.chunks)) == ((), (CUBE,), chunks)


def test_replaced_chunks_are_garbage_and_the_others_live(store, root):
    for start in range(0, 3000, 30):
        store.add_segments(TABLE, [segment(id, id) for id in range(start + 1, start + 31)])
    version, dead = store.table(TABLE), set()
    live = {ref.name for ref in version.cubes[CUBE].refs}
    number = version.number if version.garbage else version.prev_garbage
    while number:
        older = store._table(TABLE).read(number)
        dead |= set(older.garbage.chunks)
        number = older.prev_garbage
    assert {path.stem for path in (root / CHUNKS).iterdir()} == live | dead
    assert not live & dead


def test_much_garbage_stands_in_chunks_of_its_own(store, root):
    store.add_segments(TABLE, [segment(id, id, path=inside(root, id)) for id in range(1, 301)])
    store.remove_segments(TABLE, range(1, 301))
    garbage = Store.open(str(root)).table(TABLE).garbage
    assert not garbage.artifacts
    chunks = Chunks(open_files(str(root)), CHUNKS)
    found = [path for ref in garbage.more for path in chunks.read_paths(ref)]
    assert sorted(found) == sorted(
        inside(root, id).removeprefix(f"file://{root}/") for id in range(1, 301)
    )


# Damage


def many(store):
    store.create_cube(cube())
    store.add_segments(TABLE, [segment(1, 1)])
    store.add_segments(TABLE, [segment(id, id) for id in range(2, 100)])


@pytest.mark.parametrize("hurt", ["missing", "cut", "flipped", "empty"])
def test_a_damaged_chunk_is_named_and_an_older_version_serves(store, root, hurt):
    many(store)
    (path,) = (root / CHUNKS).iterdir()
    whole = path.read_bytes()
    if hurt == "missing":
        path.unlink()
    else:
        middle = whole[:500] + bytes([whole[500] ^ 1]) + whole[501:]
        path.write_bytes({"cut": whole[:-9], "flipped": middle, "empty": b""}[hurt])
    reader = Store.open(str(root))
    assert [one.id for one in reader.table(TABLE).of(CUBE)] == [1]
    assert path.name in reader.damages()[0]
    with pytest.raises(StoreError, match=path.name) as caught:
        reader.add_segments(TABLE, [segment(200, 200)])
    assert "restore" in caught.value.hint
    path.write_bytes(whole)
    assert len(reader.table(TABLE).of(CUBE)) == 99
    assert reader.damages() == ()
    reader.add_segments(TABLE, [segment(200, 200)])


def test_a_cube_with_a_lost_chunk_can_be_dropped_and_others_go_on(store, root):
    many(store)
    store.add_segments(TABLE, [segment(500, 1, cube_id="d" * 32)])
    for path in (root / CHUNKS).iterdir():
        path.unlink()
    other = Store.open(str(root))
    other.add_segments(TABLE, [segment(501, 2, cube_id="d" * 32)])
    other.drop_cube("sales")
    assert set(other.table(TABLE).segments) == {500, 501}


def test_a_chunk_that_went_because_a_newer_version_stands_is_no_damage(store, root):
    many(store)
    reader = Store.open(str(root))
    stale = reader.table(TABLE)
    Store.open(str(root)).remove_segments(TABLE, range(1, 99))
    for path in (root / CHUNKS).iterdir():
        if path.stem in {ref.name for ref in stale.cubes[CUBE].refs}:
            kept = {ref.name for ref in reader.table(TABLE).cubes[CUBE].refs}
            if path.stem not in kept:
                path.unlink()
    assert stale.of(CUBE)
    assert reader.damages() == ()


def test_a_flipped_byte_of_a_version_is_never_believed(store, root):
    many(store)
    path = sorted((root / VERSIONS).iterdir())[-1]
    whole = path.read_bytes()
    for at in range(0, len(whole), 11):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            seen = {one.id for one in Store.open(str(root)).table(TABLE).of(CUBE)}
        except StoreError:
            continue
        assert seen in ({1}, set(range(1, 100)))


# Growth


def test_a_commit_is_small_however_many_segments_there_are(root):
    store, count = Store.open(str(root)), sized(6_000, full=20_000)
    store.add_segments(TABLE, [segment(id, id) for id in range(1, count + 1)])
    for id in range(30_001, 30_051):
        store.add_segments(TABLE, [segment(id, id)])
        path = sorted((root / VERSIONS).iterdir())[-1]
        assert path.stat().st_size <= 65_536
    assert len(Store.open(str(root)).table(TABLE).of(CUBE)) == count + 50


def test_equal_parts_of_records_are_kept_once(store, root):
    many(store)
    ones = Store.open(str(root)).table(TABLE).of(CUBE)[1:]
    assert len({id(one.fields) for one in ones}) == 1


def test_a_state_without_chunks_loads_at_once():
    state = CubeState(CUBE, Loader(Chunks(open_files("memory:///"), "chunks")))
    assert not state.load().by_id


# Golden bytes: what a version wrote is read for ever


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_older_formats_are_read_and_the_next_commit_writes_format_3(root, version):
    shutil.copytree(GOLDEN / version, root)
    store = Store.open(str(root))
    before = store.table(TABLE)
    assert before.format == int(version[1:])
    store.add_segments(TABLE, [segment(300, 3)])
    assert sorted((root / VERSIONS).iterdir())[-1].read_bytes().startswith(b'{"format":3,')
    again = Store.open(str(root)).table(TABLE)
    expected = sorted((*before.of(CUBE), segment(300, 3)), key=lambda one: one.id)
    assert again.of(CUBE) == tuple(expected)
    assert (again.number, again.floor) == (before.number + 1, 1)


def test_what_format_1_says(root):
    shutil.copytree(GOLDEN / "v1", root)
    store = Store.open(str(root))
    assert store.registry().cubes == {"sales": cube(), "spaß": cube("spaß", "d" * 32)}
    expected = [segment(1, 1), segment(2, 2), segment(2**63 - 1, 1, 2, inputs=(1, 2))]
    assert store.table(TABLE).of(CUBE) == tuple(expected)
    store.add_segments(TABLE, [segment(3, 3)])
    assert Store.open(str(root)).table(TABLE).prev_garbage == 0


def test_artifacts_of_format_2_are_told_by_their_paths_once_they_are_written_anew(root):
    """Also those in chunks, when these are merged."""
    chunks = Chunks(open_files(str(root)), "chunks")
    here = [segment(id, id, path=f"file://{root}/tables/{id}.parquet") for id in (1, 2)]
    elsewhere = segment(3, 3, path=f"file://{root}//etc/passwd")
    lines = tuple((one.id, compact_json(one.to_json())) for one in (*here, elsewhere))
    head = '{"format":2,"kind":"segments","removed":[]}'
    old = chunks._create([head, *(text for _, text in lines)], 3)
    assert chunks.read_records(old, {})[1] == [*here, elsewhere]
    told = [json.loads(text)["path"] for _, text in chunks.read(old).added]
    assert told == ["tables/1.parquet", "tables/2.parquet", f"file://{root}//etc/passwd"]
    (new,) = chunks.write(chunks.read(old), CHUNK_ENTRIES_MAX)
    assert chunks.read_records(new, {})[1] == [*here, elsewhere]


def write_golden(store):
    def at(segment):
        return replace(segment, path=store._files.uri(f"tables/{TABLE}/{segment.id}.parquet"))

    store.create_cube(cube())
    store.create_cube(cube("spaß", "d" * 32))
    store.add_segments(TABLE, [segment(1, 1), at(segment(2, 2))])
    store.add_segments(TABLE, [at(segment(2**63 - 1, 1, 2, inputs=(1, 2)))])
    more = [at(segment(id, id, dimensions=())) for id in range(3, 50)]
    store.add_segments(TABLE, more, replaces=[1])
    store.add_segments(TABLE, [segment(100, 100), segment(101, 1, cube_id="d" * 32)])
    store.remove_segments(TABLE, [*range(3, 5), 100])
    store.drop_cube("spaß")
    store.add_segments(TABLE, [segment(id, id, cube_id="e" * 32) for id in range(200, 270)])
    store.remove_segments(TABLE, range(200, 270))


def test_golden_files_of_format_3(root):
    """Renewed by calling `write_golden` on an empty folder, for a new format alone.

    `test_recycle_bin` has the bytes of the registry's formats.
    """
    old = Store.open(str(GOLDEN / "v3"))
    fresh = Store.open(str(root), now_ms=lambda: 1_750_000_000_000)
    write_golden(fresh)
    assert old.registry().cubes == fresh.registry().cubes
    moved = [one.path.replace(str(GOLDEN / "v3"), str(root)) for one in old.table(TABLE).of(CUBE)]
    assert moved == [one.path for one in fresh.table(TABLE).of(CUBE)]
    kept = {2**63 - 1, *range(5, 50), 2}
    assert set(old.table(TABLE).segments) == kept
    assert {DIMENSION} <= {uuid for _, uuid, _ in old.table(TABLE).of(CUBE)[0].dimensions}
    assert shapes(GOLDEN / "v3" / "tables") == shapes(root / "tables"), (
        "changed bytes need format 4"
    )


def shapes(root):
    """The files' bytes, less random names and tokens, and the checksums of what holds them."""
    random_parts = re.compile(rb'"commit":"\w+"|"sha256":"\w+"|(?<=")[0-9a-f]{32}(?=",\d)')
    dead = re.compile(rb'"chunks":\["[^\[\]]*"\]')
    versions = [
        dead.sub(b"", random_parts.sub(b"", path.read_bytes()))
        for path in sorted(root.rglob("v*.json"))
    ]
    return versions, sorted(path.read_bytes() for path in root.rglob("*.jsonl"))
