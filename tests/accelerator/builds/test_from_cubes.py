"""Which of a finer cube's segments are taken, and in which jobs."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from accelerator.artifacts.segments.records import COLUMN_BYTES
from accelerator.builds.segments.roll_up import RollUpSource, is_lighter
from accelerator.common.config.config import Config
from cubes.match.roll_up import Derivation, derive
from tests.accelerator.store.samples import segment
from tests.cubes.star import Star, cube


@pytest.mark.parametrize(
    ("limits", "parts"),
    [
        ({}, [[1, 2, 3]]),
        ({"duckdb_bytes_max": 600}, [[1, 3]]),
        ({"duckdb_bytes_max": 500}, [[1], [3]]),
        ({"build_bytes_per_job": 500}, [[1], [3]]),
        ({"build_files_per_job": 2}, [[1, 2], [3]]),
        ({"duckdb_bytes_max": 200}, []),
    ],
)
def test_jobs_are_no_larger_than_duckdb_reads(
    limits: dict[str, Any], parts: list[list[int]]
) -> None:
    fine = cube("SELECT g, k, sum(v) s FROM f GROUP BY g, k")
    found = derive(cube("SELECT g, sum(v) s FROM f GROUP BY g"), fine, [Star.tables["f"]], "UTC")
    assert isinstance(found, Derivation)
    segments = tuple(segment(i, i, bytes=size) for i, size in ((1, 300), (2, 900), (3, 300)))
    made = RollUpSource("c", found, segments).parts(Config(**limits))
    assert [[s.id for s in part.segments] for part in made] == parts


def test_cells_that_outweigh_their_file_are_left() -> None:
    """Only what is read of them counts."""
    small = segment(1, 1)
    one = replace(small, files=(replace(small.files[0], size_bytes=20 << 20),))
    heavy = replace(one, facts={COLUMN_BYTES: {"d0": 1 << 20, "s1": 30 << 20}})
    assert is_lighter(heavy, frozenset({"d0"}))
    assert not is_lighter(heavy, frozenset({"d0", "s1"}))
    assert is_lighter(replace(heavy, files=small.files), frozenset({"d0"}))
