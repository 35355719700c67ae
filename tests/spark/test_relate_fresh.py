"""Relate columns while tables change: what a build does again, and what is answered until then.

Strategy: a fact of ten files, of which each has keys of its own, and a dimension of a hundred rows.
Each test changes something, counts what is read and rebuilt, and compares with plain Spark.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from accelerator.errors import (
    AcceleratorError,
    BuildError,
    IndexDefinitionError,
    RelateColumnError,
    RelateKeyError,
    UnknownTableError,
)
from accelerator.session.session import Accelerator
from accelerator.store import IndexRecord
from tests.spark.differential import Differential
from tests.spark.relate_shop import FILES, Shop

pytestmark = pytest.mark.spark


@pytest.fixture
def acc(spark_warehouse, tmp_path: Path) -> Iterator[Accelerator]:
    store = str(tmp_path / "store")
    with spark_warehouse.attach(store=store, engine="duckdb") as acc:
        yield acc


@pytest.fixture
def shop(spark_warehouse, acc) -> Shop:
    return Shop(spark_warehouse, acc)


def test_just_the_files_that_hold_changed_keys_are_built_again(shop) -> None:
    assert shop.read("d.name = 'n3'") == 1
    shop.sql("UPDATE {d} SET name = 'other' WHERE k IN (35, 71)")  # of a hundred
    assert shop.read("d.name = 'other'") == 2  # bounds of the keys say that others have none
    assert shop.read("d.name = 'n5'") == 3
    assert shop.build() == 2
    assert [shop.read(f"d.name = '{name}'") for name in ("other", "n5", "n3")] == [2, 1, 1]
    assert shop.build() == 0
    shop.sql("UPDATE {d} SET n = -n")  # not what the index is on
    assert shop.read("d.name = 'n5'") == 1
    assert shop.build() == 0


def test_a_key_that_no_fact_has_rebuilds_nothing_and_prunes_on(shop) -> None:
    shop.sql("INSERT INTO {d} VALUES (5000, 'n5', 1), (NULL, 'n6', 2), (NULL, 'n6', 3)")
    assert shop.read("d.name = 'n5'") == 1
    assert shop.build() == 0
    shop.sql("DELETE FROM {d} WHERE k = 5000")
    assert shop.read("d.name = 'n5'") == 1
    assert shop.build() == 0


def test_a_dangling_key_finds_a_partner(shop) -> None:
    shop.sql("DELETE FROM {d} WHERE k BETWEEN 20 AND 29")
    assert shop.build() == 1
    assert shop.read("d.name = 'n2'") == 0
    shop.sql("INSERT INTO {d} VALUES (25, 'n7', 1)")
    assert shop.read("d.name = 'n7'") == 2
    assert shop.build() == 1
    assert shop.read("d.name = 'n7'") == 2
    assert shop.read("d.name = 'n2'") == 0


def test_a_dimension_at_an_earlier_time(shop) -> None:
    first = shop.wh.pinned(shop.d.rpartition(".")[2]).facts.snapshot_id
    shop.sql("UPDATE {d} SET name = 'n9' WHERE k = 35")
    for build in (False, True):
        if build:
            assert shop.build() == 1
        then = f"VERSION AS OF {first}"
        assert shop.read("d.name = 'n9'") == 2
        assert shop.read("d.name = 'n9'", then) == (2 if build else 1)
        assert shop.read("d.name = 'n3'", then) == 1


def test_a_key_that_is_no_key_any_more_prunes_nothing_until_it_is_again(shop) -> None:
    shop.sql("INSERT INTO {d} VALUES (35, 'n9', 1)")
    assert shop.read("d.name = 'n9'") == FILES
    with pytest.raises(RelateKeyError, match=r"\(35\) × 2") as caught:
        shop.build()
    assert caught.value.hint
    shop.sql("DELETE FROM {d} WHERE k = 35 AND name = 'n3'")
    assert shop.read("d.name = 'n9'") == 2
    assert shop.build() == 1
    assert shop.read("d.name = 'n9'") == 2


def test_a_build_of_all_goes_past_relate_columns_that_are_broken(shop) -> None:
    acc = shop.acc
    acc.execute(f"CREATE INDEX of_k ON {shop.f} USING BLOOM (k)")
    shop.append(0)
    shop.sql("INSERT INTO {d} VALUES (35, 'n9', 1)")
    assert [row["cube"] for row in acc.execute(f"BUILD ALL ON {shop.f}").to_pylist()] == ["of_k"]
    shop.append(1)
    shop.sql("ALTER TABLE {d} DROP COLUMN name")
    assert [row["files"] for row in acc.execute(f"BUILD ALL ON {shop.f}").to_pylist()] == [1]
    shop.append(2)
    shop.sql("DROP TABLE {d}")
    assert [row["files"] for row in acc.execute(f"BUILD ALL ON {shop.f}").to_pylist()] == [1]


def test_a_dropped_attribute(shop) -> None:
    shop.sql("ALTER TABLE {d} DROP COLUMN name")
    shop.sql("ALTER TABLE {d} ADD COLUMN name STRING")
    assert shop.read("d.name = 'n5'") == FILES
    assert shop.read("d.name IS NULL AND d.n = 1") == FILES
    with pytest.raises(RelateColumnError, match="no column name any more"):
        shop.build()
    (row,) = shop.acc.execute(f"SHOW INDEXES ON {shop.f}").to_pylist()
    assert "no column name any more" in row["status"]
    told = shop.acc.execute(f"SHOW RELATE COLUMNS ON {shop.f}").to_pylist()
    assert [(r["name"], "no column name" in r["status"]) for r in told] == [
        ("n", False),
        ("name", True),
    ]


def test_a_dropped_dimension_and_one_of_its_name(shop) -> None:
    shop.sql("DROP TABLE {d}")
    with pytest.raises(UnknownTableError, match="is gone"):
        shop.build()
    shop.sql("CREATE TABLE {d} (k INT, name STRING, n INT) USING iceberg")
    shop.sql("INSERT INTO {d} VALUES (1, 'n5', 1), (1, 'n5', 2)")
    assert shop.read("d.name = 'n5'") == FILES
    with pytest.raises(UnknownTableError, match="another table"):
        shop.build()
    shop.acc.execute(f"ALTER TABLE {shop.f} DROP RELATE COLUMN name")
    assert shop.acc.execute(f"SHOW INDEXES ON {shop.f}").num_rows == 0


def test_a_replaced_dimension(shop) -> None:
    """REPLACE TABLE keeps the uuid, and the field ids of columns whose names stay."""
    shop.sql(
        "CREATE OR REPLACE TABLE {d} USING iceberg AS SELECT CAST(id AS INT) AS k,"
        " concat('n', 9 - id DIV 10) AS name, CAST(id AS INT) AS n FROM range(100)"
    )
    assert shop.read("d.name = 'n0'") == FILES
    shop.build()
    assert shop.read("d.name = 'n0'") == 1
    shop.sql("CREATE OR REPLACE TABLE {d} (k STRING, name INT, n INT) USING iceberg")
    shop.sql("INSERT INTO {d} VALUES ('35', 5, 1), ('71', 6, 2)")
    for where in ("d.name = 5", "d.name IS NULL", "d.n = 1"):
        assert shop.read(where) == FILES
    with pytest.raises(AcceleratorError) as caught:
        shop.build()
    assert caught.value.hint


def test_promoted_keys_and_attributes(shop) -> None:
    """One session knows the dimension by the narrow key already."""
    acc = shop.acc
    acc.execute(f"CREATE INDEX of_n ON {shop.f} USING BITMAP (n)")
    assert shop.read("d.n = 35") == 1
    for table, column in ((shop.f, "k"), (shop.d, "k"), (shop.d, "n")):
        shop.wh.sql(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE BIGINT")
        shop.read("d.n = 35")
    assert (shop.read("d.n = 35"), shop.read("d.name = 'n3'")) == (1, 1)
    shop.append(3)
    assert shop.build() == 1
    assert acc.execute("BUILD INDEX of_n").to_pylist()[0]["files"] == 1
    assert (shop.read("d.n = 35"), shop.read("d.name = 'n3'")) == (2, 2)
    shop.sql("UPDATE {d} SET name = 'x' WHERE k = 71")
    assert shop.build() == 1
    assert shop.read("d.name = 'x'") == 1


def test_renamed_tables_and_columns(shop) -> None:
    shop.sql("ALTER TABLE {f} RENAME COLUMN k TO k1")
    shop.sql("ALTER TABLE {d} RENAME COLUMN k TO k2")
    shop.sql("ALTER TABLE {d} RENAME COLUMN name TO k")
    query = f"SELECT sum(k1) AS n FROM {shop.f} f JOIN {shop.d} d ON f.k1 = d.k2 WHERE d.k = 'n3'"
    Differential(shop.acc).check([query])
    assert shop.acc.query(query).metrics.files_read == 1


@pytest.mark.parametrize("clause", ["bucket(4, k)", "k", "truncate(20, k)"])
def test_partitioned_facts(spark_warehouse, acc, clause: str) -> None:
    wh = spark_warehouse
    f = f"lake.d.{wh.table('k INT, v INT', clauses=f'PARTITIONED BY ({clause})')}"
    d = f"lake.d.{wh.table('k INT, name STRING')}"
    wh.sql(f"INSERT INTO {d} SELECT CAST(id AS INT), concat('n', id % 7) FROM range(30)")
    wh.sql(
        f"INSERT INTO {f} SELECT CAST(nullif(id % 33, 5) AS INT), CAST(id AS INT) FROM range(200)"
    )
    acc.execute(f"ALTER TABLE {f} ADD RELATE COLUMN name FROM {d}.name ON {f}.k = {d}.k")
    acc.execute(f"CREATE INDEX few ON {f} USING BITMAP (name)")
    for kind in ("JOIN", "LEFT JOIN"):
        queries = [
            f"SELECT count(*) AS n, sum(v) AS s FROM {f} f {kind} {d} d ON f.k = d.k WHERE {where}"
            for where in ("name = 'n3'", "name IS NULL", "NOT (name = 'n3')", "name = 'no'")
        ]
        Differential(acc).check(queries, rewritten=None)
    assert acc.query(queries[-1]).metrics.files_read == 0


def test_a_commit_that_fails_leaves_what_was(shop, monkeypatch) -> None:
    shop.sql("UPDATE {d} SET name = 'other' WHERE k IN (35, 71)")

    def no_space(*_args: object, **_how: object) -> None:
        raise BuildError("no space is left", hint="make some")

    monkeypatch.setattr(shop.acc.services.store, "add_segments", no_space)
    with pytest.raises(BuildError):
        shop.build()
    monkeypatch.undo()
    assert (shop.read("d.name = 'other'"), shop.read("d.name = 'n5'")) == (2, 3)
    assert shop.build() == 2
    assert shop.read("d.name = 'n5'") == 1


def test_a_build_that_stops_between_jobs(spark_warehouse, tmp_path: Path, monkeypatch) -> None:
    """What it had committed holds, and the next build makes just what is lacking."""
    monkeypatch.setattr("accelerator.builds.sidecars.builder._FILES_MAX", 1)
    store = str(tmp_path / "store")
    with spark_warehouse.attach(store=store, engine="duckdb") as acc:
        shop = Shop(spark_warehouse, acc)
        shop.sql("UPDATE {d} SET name = 'other' WHERE k % 10 = 5 AND k < 60")
        commit, done = acc.services.store.add_segments, list[int]()

        def some(*args, **how):
            if len(done) == 7:
                raise BuildError("killed", hint="build again")
            done.append(1)
            return commit(*args, **how)

        monkeypatch.setattr(acc.services.store, "add_segments", some)
        with pytest.raises(BuildError):
            shop.build()
        monkeypatch.setattr(acc.services.store, "add_segments", commit)
        for where in ("d.name = 'other'", "d.name = 'n3'", "d.name = 'n8'"):
            shop.ask(where)
        assert shop.build() <= 3  # of six, in ten jobs
        assert shop.read("d.name = 'other'") == 6
        assert (shop.read("d.name = 'n3'"), shop.build()) == (1, 0)


@contextmanager
def _one_behind(spark_warehouse, tmp_path: Path) -> Iterator[tuple[Shop, Accelerator, IndexRecord]]:
    """A shop, and another session whose builds have pinned an earlier state of the dimension."""
    store = str(tmp_path / "store")
    with (
        spark_warehouse.attach(store=store, engine="duckdb") as acc,
        spark_warehouse.attach(store=store, engine="duckdb") as other,
    ):
        shop = Shop(spark_warehouse, acc)
        shop.sql("UPDATE {d} SET name = 'other' WHERE k IN (35, 71)")
        record = other.services.store.registry(fresh=True).index("BITMAP")
        early = other.services.index_builder.target(record)
        shop.sql("UPDATE {d} SET name = 'n5' WHERE k IN (12, 71)")
        other.services.index_builder.target = lambda _: early
        yield shop, other, record


def test_two_sessions_that_build_at_once(spark_warehouse, tmp_path: Path) -> None:
    """One of them has pinned an earlier state of the dimension."""
    with _one_behind(spark_warehouse, tmp_path) as (shop, other, record):
        threads = [
            threading.Thread(target=other.services.index_builder.build, args=([record],)),
            threading.Thread(target=shop.build),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        del other.services.index_builder.target
        for where in ("other", "n5", "n1", "n7", "n9"):
            shop.ask(f"d.name = '{where}'")
        shop.build()
        assert [shop.read(f"d.name = '{name}'") for name in ("other", "n5", "n1", "n9")] == [
            1,
            3,
            1,
            1,
        ]
        assert shop.build() == 0


def test_another_build_ends_a_bundle_while_this_one_commits(
    spark_warehouse, tmp_path: Path
) -> None:
    """What the slower one offers of that bundle goes; what it has built stands."""
    with _one_behind(spark_warehouse, tmp_path) as (shop, other, record):
        add, built = other.services.store.add_segments, list[int]()

        def late(*args: object, **named: object) -> object:
            if not built:
                built.append(shop.build())
                built.append(shop.build())
            return add(*args, **named)

        other.services.store.add_segments = late
        other.services.index_builder.build([record])
        del other.services.index_builder.target
        assert built == [3, 0]
        for where in ("other", "n5", "n1", "n7", "n9"):
            shop.ask(f"d.name = '{where}'")
        shop.build()
        assert [shop.read(f"d.name = '{name}'") for name in ("other", "n5", "n1")] == [1, 3, 1]
        assert shop.build() == 0


def test_dropped_with_its_indexes(shop) -> None:
    acc = shop.acc
    acc.execute(f"CREATE INDEX of_v ON {shop.f} USING BLOOM (v)")
    acc.execute(f"ALTER TABLE {shop.f} DROP RELATE COLUMN name")
    assert [r["index"] for r in acc.execute(f"SHOW INDEXES ON {shop.f}").to_pylist()] == ["of_v"]
    assert shop.read("d.name = 'n5'") == FILES
    with pytest.raises(AcceleratorError, match="no column name"):
        acc.execute(f"CREATE INDEX again ON {shop.f} USING BITMAP (name)")
    acc.execute(
        f"ALTER TABLE {shop.f} ADD RELATE COLUMN name FROM {shop.d}.name ON {shop.f}.k = {shop.d}.k"
    )
    assert shop.read("d.name = 'n5'") == FILES  # what was built was of another
    acc.execute(f"CREATE INDEX again ON {shop.f} USING BITMAP (name)")
    assert shop.read("d.name = 'n5'") == 1


def test_an_index_whose_relate_column_spark_has_dropped(shop) -> None:
    shop.sql("ALTER TABLE {f} UNSET TBLPROPERTIES ('accelerator.relate.name')")
    assert shop.read("d.name = 'n5'") == FILES
    with pytest.raises(IndexDefinitionError, match="relate column name, which was dropped"):
        shop.build()


def test_vacuum_keeps_what_a_divided_bundle_shares(shop) -> None:
    """Some files of a bundle are built again; the others' blobs stand in the same artifact."""
    shop.sql("UPDATE {d} SET name = 'other' WHERE k = 35")
    assert shop.build() == 1
    shop.acc.execute(f"VACUUM {shop.f} RETAIN 0 HOURS")
    assert shop.read("d.name = 'n5'") == 1
    shop.sql("UPDATE {d} SET name = 'other' WHERE k = 55")
    assert shop.build() == 1
    shop.acc.execute(f"VACUUM {shop.f} FULL RETAIN 0 HOURS")
    assert [shop.read(f"d.name = '{name}'") for name in ("other", "n7", "n3")] == [2, 1, 1]
    assert not shop.acc.fallbacks


@pytest.mark.parametrize("engine", ["spark", "auto"])
def test_other_engines(spark_warehouse, tmp_path: Path, engine: str) -> None:
    store = str(tmp_path / "store")
    with spark_warehouse.attach(store=store, engine=engine) as acc:
        shop = Shop(spark_warehouse, acc, "BITMAP BLOOM NGRAM_BLOOM BOUNDS")
        for where, files in (
            ("d.name = 'n3'", 1),
            ("d.name LIKE '%n3%'", 1),
            ("d.name > 'n7'", 2),
            ("d.name = 'n3' OR d.k = 71", 2),
            ("d.name = 'no'", 0),
        ):
            assert shop.read(where) == files, where
            assert shop.acc.sql(shop.query(where)).toArrow().num_rows == 1
