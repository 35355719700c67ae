"""Tables that a reader refuses whole: one typed error, or plain Spark, and no other table suffers.

Without a JVM: whoever asks Spark fails with another error.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import accelerator
from accelerator import Accelerator
from accelerator.errors import EngineError
from accelerator.iceberg import UnreadableTableError
from accelerator.iceberg.unreadable import unparsed
from tests.support import unreadable_lake as lake

_SPARKS = (*lake.BY_SPARK, *lake.BY_ICEBERG)
_QUERIES = (
    "SELECT count(*) FROM lake.d.{t}",
    "SELECT sum(v) FROM lake.d.{t}",
    "SELECT min(v) FROM lake.d.{t} WHERE v > 10",
    "SELECT v FROM lake.d.{t} WHERE false",
    "SELECT v FROM lake.d.{t} ORDER BY v LIMIT 1",
    "WITH w AS (SELECT k FROM lake.d.{t}) SELECT 1 FROM w",
    "SELECT count(*) FROM lake.d.good JOIN lake.d.{t} USING (v)",
    "SELECT 1 FROM lake.d.good WHERE EXISTS (SELECT 1 FROM lake.d.{t})",
    "SELECT count(*) FROM lake.d.good UNION ALL SELECT count(*) FROM lake.d.{t}",
    "SELECT rand() FROM lake.d.{t}",
)
_OURS = (
    "CREATE CUBE c AS SELECT k, sum(v) FROM lake.d.{t} GROUP BY k",
    "ESTIMATE CUBE c AS SELECT k, sum(v) FROM lake.d.{t} GROUP BY k",
    "CREATE INDEX i ON lake.d.{t} USING BLOOM (v)",
    "ALTER TABLE lake.d.{t} ADD CONSTRAINT c UNIQUE (k) NOT ENFORCED",
    "ALTER TABLE lake.d.{t} ADD RELATE COLUMN w FROM lake.d.good.v ON k = lake.d.good.k",
    "BUILD STATISTICS ON lake.d.{t}",
    "BUILD ALL ON lake.d.{t}",
    "OPTIMIZE lake.d.{t} SORT BY k",
    "VACUUM lake.d.{t}",
    "SHOW CUBES ON lake.d.{t}",
    "SHOW INDEXES ON lake.d.{t}",
    "SHOW COVERAGE ON lake.d.{t}",
)


@pytest.fixture(autouse=True)
def _no_spark(no_java: None) -> None:
    """Whoever asks Spark fails with another error."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("unreadable") / "warehouse"
    catalog = lake.catalog_of(root)
    lake.add_table(catalog, "good")
    for cases in (lake.BY_SPARK, lake.BY_ICEBERG, lake.BY_PYICEBERG):
        for name, (change, _, _) in cases.items():
            lake.add_table(catalog, name, change)
    for name, change in lake.READ.items():
        lake.add_table(catalog, name, change)
    catalog.engine.dispose()
    return root


@pytest.fixture
def acc(folder: Path, tmp_path: Path) -> Iterator[Accelerator]:
    with accelerator.open(folder, store=str(tmp_path / "store")) as session:
        yield session


def _refused(acc: Accelerator, sql: str) -> UnreadableTableError:
    with pytest.raises(UnreadableTableError) as raised:
        acc.query(sql)
    assert raised.value.code == "table_unreadable"
    assert raised.value.hint
    return raised.value


@pytest.mark.parametrize("table", _SPARKS)
def test_what_spark_refuses_is_one_error_with_the_column(acc: Accelerator, table: str) -> None:
    _, column, type_ = (lake.BY_SPARK | lake.BY_ICEBERG)[table]  # type: ignore[operator]
    for text in _QUERIES:
        error = _refused(acc, text.format(t=table))
        assert (error.refusal.column, error.refusal.type) == (column, type_), text
        assert f"lake.d.{table}" in error.message
        assert column in error.message and type_ in error.message
        assert error.by_spark
    assert acc.services.failures.counts == {}
