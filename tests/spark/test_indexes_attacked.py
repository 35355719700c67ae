"""Indexes that lost their column, their file or their replacement: each was handled rudely once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from accelerator.errors import BuildError, IndexDefinitionError
from accelerator.session.session import Accelerator
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark


@pytest.fixture
def acc(spark_warehouse, tmp_path: Path) -> Iterator[Accelerator]:
    with spark_warehouse.attach(store=str(tmp_path / "store")) as acc:
        yield acc


def test_indexes_that_lost_their_column_stop_no_other(spark_warehouse, acc) -> None:
    """REPLACE TABLE keeps a column's field id whatever its type becomes."""
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT, s STRING, gone INT')}"
    wh.sql(f"INSERT INTO {table} VALUES (1, 'one', 1)")
    for kind, column in (("BITMAP", "gone"), ("NGRAM_BLOOM", "s"), ("BLOOM", "k")):
        acc.execute(f"CREATE INDEX of_{column} ON {table} USING {kind} ({column})")
    wh.sql(f"CREATE OR REPLACE TABLE {table} (k STRING, s INT) USING iceberg")
    wh.sql(f"INSERT INTO {table} VALUES ('1', 1), ('one', 2)")
    wh.sql(f"INSERT INTO {table} VALUES ('3', 3)")
    assert [b["files"] for b in acc.execute(f"BUILD ALL ON {table}").to_pylist()] == [3]
    for name, why in (("of_gone", "dropped"), ("of_s", "made anew")):
        with pytest.raises(IndexDefinitionError, match=why) as caught:
            acc.execute(f"BUILD INDEX {name}")
        assert caught.value.hint
    shown = {r["index"]: r["status"] for r in acc.execute("SHOW INDEXES").to_pylist()}
    assert shown["of_k"] == "complete" and "made anew" in shown["of_s"]
    wheres = ("k = '1'", "k = '2'", "s = 1", "k LIKE '%one%'", "s <> 1")
    Differential(acc).check([f"SELECT * FROM {table} WHERE {w}" for w in wheres], rewritten=None)
    assert acc.query(f"SELECT * FROM {table} WHERE k = '2'").metrics.files_read == 0


def test_a_build_says_what_its_task_has_raised(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT')}"
    wh.sql(f"INSERT INTO {table} VALUES (1)")
    Path(wh.sql(f"SELECT file_path FROM {table}.files")[0][0].removeprefix("file:")).unlink()
    with pytest.raises(BuildError, match="FileNotFoundError"):
        acc.execute(f"CREATE INDEX missing ON {table} USING BLOOM (k)")


def test_what_a_killed_replacing_leaves_is_no_index_to_build(spark_warehouse, acc) -> None:
    """Its name is no one else's: a user's index of that name was dropped by the next replacing."""
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT')}"
    wh.sql(f"INSERT INTO {table} VALUES (1)")
    acc.execute(f"CREATE INDEX few ON {table} USING BITMAP (k)")
    with pytest.raises(IndexDefinitionError, match="being replaced") as caught:
        acc.execute(f"CREATE INDEX `few#new` ON {table} USING BLOOM (k)")
    assert caught.value.hint
    left = acc.services.store.registry(fresh=True).index("few")
    acc.services.store.create_index(replace(left, id="left", name="few#new"))
    wh.sql(f"INSERT INTO {table} VALUES (2)")
    assert [one["cube"] for one in acc.execute(f"BUILD ALL ON {table}").to_pylist()] == ["few"]
    acc.execute(f"VACUUM {table}")
    assert "few#new" in acc.services.store.registry(fresh=True).indexes  # its build may live
    acc.execute(f"CREATE OR REPLACE INDEX few ON {table} USING BLOOM (k)")
    assert [*acc.services.store.registry(fresh=True).indexes] == ["few"]
    acc.services.store.create_index(replace(left, id="older", name="few#new", created_ms=0))
    acc.execute(f"VACUUM {table}")
    assert [*acc.services.store.registry(fresh=True).indexes] == ["few"]
