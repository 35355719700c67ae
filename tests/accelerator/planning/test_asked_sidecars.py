"""Sidecars of all files are asked only if those of some files leave row groups out."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.artifacts.sidecars.probe import HeavyIndex

_FILES, _ROWS = 40, 400


@pytest.fixture(scope="module")
def acc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accelerator]:
    """Lines in 40 files of four row groups: `job` is in each group, `first` in one of each file."""
    folder = tmp_path_factory.mktemp("asked")
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=str(folder))
    catalog.create_namespace("log")
    schema = pa.schema([("n", pa.int64()), ("message", pa.string())])
    groups = {"write.parquet.row-group-limit": str(_ROWS // 4)}
    table = catalog.create_table("log.lines", schema, properties=groups)
    for number in range(_FILES):
        table.append(_lines(number))
    catalog.close()
    with accelerator.open(folder) as session:
        session.query("CREATE INDEX words ON log.lines USING TOKEN_BITMAP (message)")
        yield session


def _lines(number: int) -> pa.Table:
    numbers = range(number * _ROWS, (number + 1) * _ROWS)
    texts = ["job done" if n % 10 else f"id{n} and nothing else" for n in numbers]
    texts[1] = "first"
    return pa.table({"n": list(numbers), "message": texts})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, int]]:
    """The keys of the files whose sidecars were asked."""
    found: set[tuple[str, int]] = set()
    rows = HeavyIndex.rows

    def telling(index: HeavyIndex, key: tuple[str, int], question: object) -> object:
        found.add(key)
        return rows(index, key, question)  # type: ignore[arg-type]

    monkeypatch.setattr(HeavyIndex, "rows", telling)
    return found


def test_a_ubiquitous_token_asks_sixteen_files(
    acc: Accelerator, asked: set[tuple[str, int]]
) -> None:
    answer = acc.query("SELECT * FROM log.lines WHERE has_token(message, 'job')")
    assert answer.arrow().num_rows == _FILES * (_ROWS * 9 // 10 - 1)
    assert (len(asked), answer.metrics.indexes) == (16, ())


def test_a_token_of_one_row_group_in_four_asks_all_files(
    acc: Accelerator, asked: set[tuple[str, int]]
) -> None:
    answer = acc.query("SELECT * FROM log.lines WHERE has_token(message, 'first')")
    assert sorted(answer.arrow()["n"].to_pylist()) == [n * _ROWS + 1 for n in range(_FILES)]
    assert (len(asked), answer.metrics.row_groups_read) == (_FILES, _FILES)
