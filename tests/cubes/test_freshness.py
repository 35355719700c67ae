"""The cover is exact: each live file has one source, half a segment is never used.

Strategy: random live files, random segments over subsets of them, some with other deletes or
counters; then single cases for each reason to refuse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from cubes.coverage import Coverage, cover
from cubes.definition import FORMAT
from cubes.match_result import Needs
from tests.cubes.star import Star, cube

_CUBE = cube("SELECT f.g, d.region, sum(n) s FROM f JOIN d ON f.k = d.k GROUP BY f.g, d.region")
_PINNED = {0: Star.tables["f"], 1: Star.tables["d"]}
_NAMED = Needs(named=((1, 1),))


@dataclass(frozen=True)
class File:
    path: str
    sequence_number: int = 1
    deletes_key: str = ""
    size_bytes: int = 10


class Counter(Struct, frozen=True):
    edge: int = 1
    missing: int | None = 0
    unique: bool | None = True


class Segment(Struct, frozen=True):
    id: int
    files: tuple[File, ...]
    dimensions: tuple[tuple[int, str, int | None], ...] = ((1, "uuid-d", 101),)
    edges: tuple[Counter, ...] = (Counter(),)
    fields: tuple[tuple[str, int, str, bool], ...] = (("uuid-f", 5, "int", True),)
    settings: tuple[tuple[str, str], ...] = ()
    format: int = FORMAT
    facts: dict[str, Any] = {}


def _cover(segments: list[Segment], files: list[File], needs: Needs = _NAMED) -> Coverage:
    return cover(_CUBE, segments, files, _PINNED, needs, {})


_files = st.builds(
    File,
    st.sampled_from("abcde"),
    st.integers(1, 2),
    st.sampled_from(["", "x"]),
)


@given(st.lists(_files, max_size=6), st.lists(st.lists(_files, min_size=1, max_size=3), max_size=5))
def test_the_cover_is_exact(files: list[File], parts: list[list[File]]) -> None:
    segments = [
        Segment(number, tuple({(f.path, f.sequence_number): f for f in part}.values()))
        for number, part in enumerate(parts)
    ]
    found = _cover(segments, files)
    sources = [f for s in found.segments for f in s.files] + list(found.uncovered)
    assert sorted(map(repr, sources)) == sorted(map(repr, files))


_WHOLE = [Segment(1, (File("a"),)), Segment(2, (File("b"),)), Segment(3, (File("a"), File("b")))]


def _ids(found: Coverage) -> list[int]:
    return [s.id for s in found.segments]


def test_merged_segments_come_first() -> None:
    assert _ids(_cover(_WHOLE, [File("a"), File("b")])) == [3]


def test_a_merged_segment_that_lost_a_file_gives_way() -> None:
    found = _cover(_WHOLE, [File("a"), File("b", deletes_key="x")])
    assert (_ids(found), found.uncovered) == ([1], (File("b", deletes_key="x"),))


def test_t44_deletes_before_and_after() -> None:
    built = [Segment(1, (File("a", deletes_key="x"),))]
    for deletes in ("", "y"):
        found = _cover(built, [File("a", deletes_key=deletes)])
        assert found.refused == {"files_changed": 1}


def test_t49_one_file_twice_is_read_raw() -> None:
    for twice in ([File("a"), File("a")], [File("a"), File("a", sequence_number=2)]):
        assert _cover([_WHOLE[0]], twice).uncovered == tuple(twice)


def test_t38_a_file_of_another_commit_or_size() -> None:
    for file in (File("a", sequence_number=2), File("a", size_bytes=11)):
        assert _cover([_WHOLE[0]], [file]).uncovered == (file,)


def _refused(segment: Segment, needs: Needs) -> dict[str, int]:
    return dict(_cover([segment], [File("a")], needs).refused)


def test_each_reason_to_refuse() -> None:
    good = _WHOLE[0]
    complete, unique = Needs(frozenset({1})), Needs(unique=frozenset({1}))
    assert _refused(good, replace(_NAMED, complete=frozenset({1}), unique=frozenset({1}))) == {}
    other = replace(good, dimensions=((1, "uuid-d", 7),))
    assert _refused(other, _NAMED) == {"dimension_changed": 1}
    assert _refused(other, Needs()) == {}
    for missing in (None, 1):
        lost = replace(good, edges=(Counter(missing=missing),))
        assert _refused(lost, complete) == {"join_not_counted": 1}
        assert _refused(lost, unique) == {}
    for known in (None, False):
        several = replace(good, edges=(Counter(unique=known),))
        assert _refused(several, unique) == {"join_not_counted": 1}
    assert _refused(replace(good, edges=()), complete) == {"join_not_counted": 1}
    for fields in ((("uuid-f", 5, "bigint", True),), (("uuid-f", 99, "int", True),)):
        assert _refused(replace(good, fields=fields), Needs()) == {"schema_changed": 1}
    assert _refused(replace(good, format=FORMAT + 1), Needs()) == {"segment_unreadable": 1}


def test_names_in_files_without_field_ids() -> None:
    """After a rename and a new column of the old name, such a file has the column of the other."""
    table = _PINNED[0]
    columns = tuple(replace(c, layout="[v, w]" if c.field_id == 5 else "") for c in table.columns)
    pinned = {0: replace(table, columns=columns), 1: _PINNED[1]}
    for read, refused in (("int", 1), ("int [v]", 1), ("int [v, w]", 0)):
        built = replace(_WHOLE[0], fields=(("uuid-f", 5, read, True),))
        found = cover(_CUBE, [built], [File("a")], pinned, Needs(), {})
        assert found.refused.get("schema_changed", 0) == refused


def test_two_states_of_one_table_that_read_a_field_otherwise() -> None:
    """Tables made from one metadata file have one uuid, and so have two states of a table."""
    table = _PINNED[0]
    other = tuple(replace(c, layout="default 1") for c in table.columns)
    pinned = {0: table, 1: _PINNED[1], 2: replace(table, columns=other)}
    assert cover(_CUBE, _WHOLE[:1], [File("a")], pinned, Needs(), {}).refused == {
        "schema_changed": 1
    }
    pinned[2] = table
    assert not cover(_CUBE, _WHOLE[:1], [File("a")], pinned, Needs(), {}).refused


def test_sums_of_sums_need_bounds() -> None:
    needs = Needs(bounded=((5, 6, "+int"),))
    assert _refused(_WHOLE[0], needs) == {"aggregate_not_in_cube": 1}
    for high, refused in ((2**31 - 2, {}), (2**31 - 1, {"aggregate_not_in_cube": 1})):
        bounds = {"bounds": {"5": [0, 1], "6": [0, high]}}
        assert _refused(replace(_WHOLE[0], facts=bounds), needs) == refused
