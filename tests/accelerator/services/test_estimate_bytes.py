"""What EXPLAIN CREATE CUBE says of a cell's bytes is what cells take, by SSB's cubes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.builds.segments.size_estimate import cell_bytes
from bench.ssb.cubes import CUBES, Cube
from bench.ssb.generate import TABLES, generate
from cubes.definition import from_dict
from tests.support.pristine import Pristine

ROWS = 60_000


@pytest.fixture(scope="module")
def acc(pristine: Pristine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accelerator]:
    """SSB at a hundredth, whose cubes are built without Spark."""
    made: Path = tmp_path_factory.mktemp("ssb")
    assert generate(made, 0.01).lineorder == ROWS

    def fill(catalog: SqlCatalog) -> None:
        catalog.create_namespace("ssb")
        for name in TABLES:
            files = sorted((made / name).glob("*.parquet"))
            table = catalog.create_table(f"ssb.{name}", pq.read_schema(files[0]))
            for file in files:
                table.append(pq.read_table(file))

    with accelerator.open(pristine.lake(fill), build_in_process_bytes_max=10**10) as session:
        yield session
        assert not session.spark_started


@pytest.mark.parametrize("cube", CUBES, ids=lambda one: one.name)
def test_cells_take_what_is_said(acc: Accelerator, cube: Cube) -> None:
    """Merged or not: within a quarter."""
    acc.execute(cube.create("lake.ssb"))
    for _ in range(2):
        record = acc.services.store.registry(fresh=True).cubes[cube.name]
        builder = acc.services.builder
        segments = builder.coverage(builder.target(record)).segments
        cells, size = sum(one.rows for one in segments), sum(one.bytes for one in segments)
        said = cells * cell_bytes(from_dict(dict(record.definition)), ROWS / cells)
        assert 0.75 * size < said < 1.25 * size, (cube.name, len(segments), size / cells)
        acc.execute(f"COMPACT CUBE {cube.name}")
