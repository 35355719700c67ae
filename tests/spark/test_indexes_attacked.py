"""Statements and tables that were once answered wrongly or rudely since indexes came.

Strategy: each test makes the table that did it, asks in both ways, and says whether falling back to
plain Spark is allowed there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from accelerator.errors import BuildError, IndexDefinitionError
from accelerator.session import Accelerator
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark


@pytest.fixture
def acc(spark_warehouse, tmp_path: Path) -> Iterator[Accelerator]:
    with spark_warehouse.attach(store=str(tmp_path / "store")) as acc:
        yield acc


def test_texts_that_are_no_utf8(spark_warehouse, acc) -> None:
    """Spark's LIKE sees U+FFFD in place of them, and counts them otherwise than DuckDB does."""
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT, s STRING')}"
    for first, text in (
        (0, "IF(id % 2 = 0, CAST(X'61FF62' AS STRING), 'a\ufffdb')"),
        (50, "CAST(X'EDA080ED' AS STRING)"),
        (100, "concat('plain', id)"),
    ):
        wh.sql(
            f"INSERT INTO {table} SELECT CAST(id + {first} AS INT), {text} FROM range(0, 20, 1, 1)"
        )
    for kind in ("BLOOM", "BITMAP", "NGRAM_BLOOM"):
        acc.execute(f"CREATE INDEX {kind} ON {table} USING {kind} (s)")
    likes = ("a\ufffd_", "\ufffd_%", "a_b", "____", "a\ufffd%b", "%\ufffd_", "plain1_", "a%")
    wheres = [f"s {word} '{like}'" for like in likes for word in ("LIKE", "NOT LIKE")]
    wheres += ["s ILIKE 'A\ufffdB'", "s = 'a\ufffdb'", "contains(s, '\ufffd')", "s >= 'p'"]
    Differential(acc).check(
        [f"SELECT {what} FROM {table} WHERE {w}" for w in wheres for what in ("k", "count(*)")],
        rewritten=None,
    )
    assert not acc.fallbacks  # nothing has failed: Spark reads what it must read
    assert acc.query(f"SELECT k FROM {table} WHERE s LIKE 'plain1_'").metrics.files_read == 1


def test_verify_of_rows_in_no_order(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT, s STRING')}"
    for first in (0, 50, 100):
        wh.sql(
            f"INSERT INTO {table} SELECT CAST(id * 37 % 151 AS INT), concat('s', id % 5)"
            f" FROM range({first}, {first + 50})"
        )
    acc.execute(f"CREATE INDEX few ON {table} USING BITMAP (s)")
    for rest in ("", " WHERE s = 's3'", " WHERE k > 20", " WHERE s = 's3' ORDER BY k"):
        (found,) = acc.execute(f"VERIFY SELECT k FROM {table}{rest}").to_pylist()
        assert found["equal"] and found["rewritten"], (rest, found)


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


def test_sums_of_decimals_at_the_edge_of_64_bits(spark_warehouse, acc) -> None:
    """A value of 18 digits times its rows: DuckDB's product of two such decimals has 18 digits."""
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT, n DECIMAL(18, 4)')}"
    for sign in ("", "-"):
        wh.sql(
            f"INSERT INTO {table} SELECT CAST(id AS INT), {sign}99999999999999.9999"
            f" FROM range(0, {20 + len(sign)}, 1, 1)"
        )
    for column in ("k", "n"):
        acc.execute(f"CREATE INDEX of_{column} ON {table} USING BITMAP ({column})")
    wheres = ("", " WHERE n > 0", " WHERE k < 7", " WHERE k < 0")
    queries = [f"SELECT sum(n), avg(n) FROM {table}{w}" for w in wheres]
    Differential(acc).check(queries, spark=queries[:2])
    assert all(acc.query(query).metrics.files_read == 0 for query in queries)


def test_what_a_killed_replacing_leaves_is_no_index_to_build(spark_warehouse, acc) -> None:
    """Its name is no one else's: a user's index of that name was dropped by the next replacing."""
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT')}"
    wh.sql(f"INSERT INTO {table} VALUES (1)")
    acc.execute(f"CREATE INDEX few ON {table} USING BITMAP (k)")
    with pytest.raises(IndexDefinitionError, match="being replaced") as caught:
        acc.execute(f"CREATE INDEX `few#new` ON {table} USING BLOOM (k)")
    assert caught.value.hint
    left = acc.store.registry(fresh=True).index("few")
    acc.store.create_index(replace(left, id="left", name="few#new"))
    wh.sql(f"INSERT INTO {table} VALUES (2)")
    assert [one["cube"] for one in acc.execute(f"BUILD ALL ON {table}").to_pylist()] == ["few"]
    acc.execute(f"VACUUM {table}")
    assert "few#new" in acc.store.registry(fresh=True).indexes  # its build may live
    acc.execute(f"CREATE OR REPLACE INDEX few ON {table} USING BLOOM (k)")
    assert [*acc.store.registry(fresh=True).indexes] == ["few"]
    acc.store.create_index(replace(left, id="older", name="few#new", created_ms=0))
    acc.execute(f"VACUUM {table}")
    assert [*acc.store.registry(fresh=True).indexes] == ["few"]
