"""Planning asks the manifests for the columns that decide, not for all that a statement names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

import accelerator
from accelerator import Accelerator
from accelerator.iceberg.statistics.file_statistics import FileColumn
from accelerator.iceberg.tables.live_files import ColumnarFiles

_WIDTH = 120


@pytest.fixture(scope="module")
def acc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accelerator]:
    warehouse: Path = tmp_path_factory.mktemp("wide")
    catalog = SqlCatalog("lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=str(warehouse))
    catalog.create_namespace("w")
    columns = {
        f"c{number}": pa.array([float(number + row) for row in range(4)])
        if number % 3
        else pa.array([number + row for row in range(4)])
        for number in range(_WIDTH)
    }
    rows = pa.table({**columns, "p": pa.array([1, 1, 2, 2])})
    catalog.create_table("w.plain", rows.schema).append(rows)
    table = catalog.create_table("w.parted", rows.schema)
    with table.update_spec() as change:
        change.add_identity("p")
    assert table.spec() == PartitionSpec(
        PartitionField(_WIDTH + 1, 1000, IdentityTransform(), "p"), spec_id=table.spec().spec_id
    )
    table.append(rows)
    with accelerator.open(warehouse) as session:
        yield session


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often the manifests were asked for each column."""
    found: Counter[int] = Counter()
    told = ColumnarFiles.told

    def counting(self: ColumnarFiles, field_id: int) -> FileColumn:
        found[field_id] += 1
        return told(self, field_id)

    monkeypatch.setattr(ColumnarFiles, "told", counting)
    return found


@pytest.mark.parametrize(
    ("sql", "most"),
    [
        ("SELECT * FROM w.plain", 0),
        ("SELECT * FROM w.plain WHERE c3 > 5", 1),
        ("SELECT * FROM w.plain ORDER BY c0 LIMIT 2", 1),
        ("SELECT * FROM w.plain ORDER BY c1 LIMIT 2", 1),
        ("SELECT c1, c2 FROM w.plain WHERE c3 > 5", 1),
        ("SELECT c0 + c3 AS s, * FROM w.plain", 2),
        # Its own bounds may contradict a partition, which nobody but Spark answers.
        ("SELECT * FROM w.parted", 1),
        ("SELECT p FROM w.parted WHERE c3 > 5", 2),
    ],
)
def test_only_columns_that_decide_are_asked_for(
    acc: Accelerator, asked: Counter[int], sql: str, most: int
) -> None:
    answer = acc.query(sql)
    assert answer.metrics.engine == "duckdb" and len(answer.arrow())
    assert len(asked) <= most


def test_a_wide_answer_has_the_rows_of_its_columns(acc: Accelerator) -> None:
    """Columns are taken by name from what was read, each under its own."""
    rows = acc.query("SELECT * FROM w.parted ORDER BY c0").arrow().to_pylist()
    assert [row["p"] for row in rows] == [1, 1, 2, 2]
    assert [[row[f"c{n}"] for n in range(_WIDTH)] for row in rows] == [
        [n + place for n in range(_WIDTH)] for place in range(4)
    ]
