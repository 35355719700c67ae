"""Answers from manifests against plain Spark, over specs, changes, deletes and predicates.

Strategy: a table of several partitionings and formats goes through random changes; after each of
them random statements of counts, minima, maxima and group keys are answered both ways. How often
the manifests answered is counted, so that the test can't pass by declining.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, UUIDType
from pyspark.errors import PySparkException

from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from tests.spark.asked import COLUMNS, ROWS, Asked, append
from tests.support.equality_deletes import write_equality_delete

pytestmark = pytest.mark.spark


@pytest.fixture
def acc(spark_warehouse, tmp_path: Path) -> Iterator[Accelerator]:
    acc = spark_warehouse.attach(store=str(tmp_path / "store"))
    yield acc
    acc.close()


@pytest.mark.long
@pytest.mark.parametrize(
    ("version", "clauses"),
    [
        (2, ""),
        (3, "PARTITIONED BY (d)"),
        (2, "PARTITIONED BY (o, s)"),
        (1, "PARTITIONED BY (months(d), bucket(4, a))"),
        (3, "PARTITIONED BY (c, truncate(1, s))"),
    ],
)
def test_statements_through_changes(spark_warehouse, acc, version: int, clauses: str) -> None:
    wh = spark_warehouse
    if version == 1:
        name = "v1_manifest_answers"
        wh.sql(
            f"CREATE TABLE lake.d.{name} ({COLUMNS}) USING iceberg {clauses}"
            " TBLPROPERTIES ('format-version'='1')"
        )
    else:
        name = wh.table(COLUMNS, version=version, clauses=clauses)
    asked = Asked(wh, acc, f"lake.d.{name}", version * 100 + len(clauses))
    asked.some(2)  # of no file at all
    for first in (0, 40, 200):
        append(asked, first, nulls=first // 100)
    asked.some(10)
    changes = [
        f"DELETE FROM {asked.table} WHERE a = 5",
        f"DELETE FROM {asked.table} WHERE a BETWEEN 200 AND 202",
        f"ALTER TABLE {asked.table} ADD COLUMN z INT",
        f"UPDATE {asked.table} SET b = NULL WHERE a = 50",
        f"ALTER TABLE {asked.table} ADD PARTITION FIELD a",
        f"INSERT OVERWRITE {asked.table} SELECT * FROM {asked.table} WHERE a < 230",
    ]
    for change in changes:
        wh.sql(change)
        asked.some(3)
        asked.ask(f"SELECT count(*) AS n FROM {asked.table}")
        asked.ask(f"SELECT DISTINCT d FROM {asked.table}")
    asked.ask(f"SELECT count(z) AS n, min(z) AS lo FROM {asked.table}")
    assert asked.answered >= asked.asked / 4


def test_counts_need_no_data_file(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    asked = Asked(
        wh, acc, f"lake.d.{wh.table(COLUMNS, version=3, clauses='PARTITIONED BY (d)')}", 0
    )
    for first in (0, 100):
        append(asked, first)
    t = asked.table
    for sql in (
        f"SELECT count(*) AS n, count(b) AS m, min(a) AS lo, max(t) AS hi FROM {t}",
        f"SELECT d, count(*) AS n FROM {t} GROUP BY d HAVING count(*) > 1 ORDER BY d DESC LIMIT 2",
        f"SELECT DISTINCT year(d) AS y FROM {t} WHERE d > '2024-02-27'",
        f"SELECT max(d) AS d FROM {t}",
        f"SELECT count(DISTINCT d) AS n FROM {t} WHERE a >= 100",
    ):
        metrics = asked.ask(sql)
        assert (metrics.rewritten, metrics.files_read, metrics.cubes) == (True, 0, ()), sql
    metrics = asked.ask(f"SELECT count(*) AS n FROM {t} WHERE a >= 120 AND d = '2024-02-28'")
    assert (metrics.rewritten, metrics.files_read, metrics.files_total) == (True, 1, 8)


def test_a_file_without_a_row_left_has_no_group(spark_warehouse, acc) -> None:
    """Its rows are gone by a deletion vector, and so is its partition's value."""
    wh = spark_warehouse
    asked = Asked(
        wh, acc, f"lake.d.{wh.table(COLUMNS, version=3, clauses='PARTITIONED BY (d)')}", 0
    )
    append(asked, 0)
    # Row by row: a delete of whole partitions would drop the files.
    wh.sql(f"DELETE FROM {asked.table} WHERE d = '2024-02-28' AND a < 20")
    wh.sql(f"DELETE FROM {asked.table} WHERE d = '2024-02-28' AND a >= 20 AND a + 0 >= 20")
    assert asked.ask(f"SELECT DISTINCT d FROM {asked.table}").rewritten
    assert asked.ask(f"SELECT d, count(*) AS n FROM {asked.table} GROUP BY d").rewritten
    assert asked.ask(f"SELECT count(*) AS n FROM {asked.table}").files_read == 0


def test_an_error_of_the_predicate_is_raised(spark_warehouse, acc) -> None:
    """Though no file would be read for the rest of it."""
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table(COLUMNS)}", 0)
    append(asked, 0)
    for predicate in ("d = '2024-02-30'", "a = 'x'"):
        with pytest.raises(PySparkException):
            acc.query(f"SELECT count(*) FROM {asked.table} WHERE a < 0 AND {predicate}")


def test_states_of_the_table(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table(COLUMNS, clauses='PARTITIONED BY (d)')}", 0)
    append(asked, 0)
    wh.sql(f"ALTER TABLE {asked.table} CREATE BRANCH b1")
    first = wh.sql(f"SELECT snapshot_id FROM {asked.table}.snapshots")[0][0]
    append(asked, 100)
    for state in (f"VERSION AS OF {first}", "VERSION AS OF 'b1'", ""):
        sql = f"SELECT count(*) AS n, max(a) AS hi FROM {asked.table} {state}"
        assert asked.ask(sql).rewritten
    wh.sql(f"INSERT INTO {asked.table}.branch_b1 {ROWS.format(first=500, rows=9, nulls=0)}")
    assert asked.ask(f"SELECT max(a) AS hi FROM {asked.table} VERSION AS OF 'b1'").rewritten
    assert asked.ask(f"SELECT max(a) AS hi FROM {asked.table}").rewritten


def test_a_value_that_contradicts_its_partition_is_left_to_spark(spark_warehouse, acc) -> None:
    """A file that was added with another partition's value than its rows have."""
    wh = spark_warehouse
    source = f"lake.d.{wh.table('a INT, p INT')}"
    wh.sql(f"INSERT INTO {source} VALUES (1, 5), (2, 5)")
    target = f"lake.d.{wh.table('a INT, p INT', clauses='PARTITIONED BY (p)')}"
    path = wh.sql(f"SELECT file_path FROM {source}.files")[0][0]
    folder = Path(path.removeprefix("file:")).parent
    moved = folder.parent / "added" / "p=7"
    moved.mkdir(parents=True, exist_ok=True)
    (moved / "x.parquet").write_bytes(Path(path.removeprefix("file:")).read_bytes())
    wh.sql(
        f"CALL lake.system.add_files(table => '{target.removeprefix('lake.')}',"
        f" source_table => '`parquet`.`{moved.parent}`')"
    )
    asked = Asked(wh, acc, target, 0)
    for sql in ("max(p) AS m", "count(*) AS n", "min(a) AS lo"):
        asked.ask(f"SELECT {sql} FROM {target}")
    asked.ask(f"SELECT p, count(*) AS n FROM {target} GROUP BY p")
    asked.ask(f"SELECT count(*) AS n FROM {target} WHERE p = 5")
    asked.ask(f"SELECT count(*) AS n FROM {target} WHERE p = 7")
    for sql in ("*", "p", "a", "a + 1 AS b, p"):  # rows, whose planning asks few columns' bounds
        asked.ask(f"SELECT {sql} FROM {target}")
        asked.ask(f"SELECT {sql} FROM {target} WHERE a > 1")
        asked.ask(f"SELECT {sql} FROM {target} WHERE p = 5")
    asked.ask(f"SELECT * FROM {target} ORDER BY p LIMIT 1 OFFSET 1")


def test_a_column_of_another_name_in_files_without_ids(spark_warehouse, acc, tmp_path) -> None:
    """The mapping gives the old name to a new column, the manifest still tells of the old one."""
    wh = spark_warehouse
    wh.sql(
        f"CREATE TABLE lake.d.{(name := 'unnumbered')} (a INT, b INT) USING iceberg"
        " TBLPROPERTIES ('format-version'='2')"
    )
    folder = tmp_path / "files"
    folder.mkdir()
    pq.write_table(
        pa.table({"a": pa.array([1, 2], "int32"), "b": pa.array([7, 8], "int32")}),
        folder / "x.parquet",
    )
    wh.sql(
        f"CALL lake.system.add_files(table => 'd.{name}', source_table => '`parquet`.`{folder}`')"
    )
    asked = Asked(wh, acc, f"lake.d.{name}", 0)
    assert asked.ask(f"SELECT count(a) AS n FROM {asked.table} WHERE b > 0").rewritten
    wh.sql(f"ALTER TABLE {asked.table} RENAME COLUMN a TO z")
    assert asked.ask(f"SELECT count(z) AS n FROM {asked.table} WHERE b > 0").rewritten
    wh.sql(f"ALTER TABLE {asked.table} ADD COLUMN a INT")
    for sql in ("count(z) AS n", "min(z) AS n", "count(a) AS n"):
        asked.ask(f"SELECT {sql} FROM {asked.table} WHERE b > 0")
    asked.ask(f"SELECT count(*) AS n FROM {asked.table} WHERE z > 0")


def test_long_lists(spark_warehouse, acc) -> None:
    """By their ends: a file inside of them is read, one outside isn't."""
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table(COLUMNS)}", 0)
    for first in (0, 1000, 2000):
        append(asked, first)
    select = f"SELECT count(*) AS n FROM {asked.table} WHERE a"
    for first, read in ((20, 2), (500, 2), (1030, 3), (5000, 0)):
        listed = ", ".join(map(str, range(first, first + 1000, 3)))
        assert asked.ask(f"{select} IN ({listed})").files_read == read
        asked.ask(f"{select} NOT IN ({listed})")
        asked.ask(f"{select} NOT IN ({listed}, NULL)")


def test_a_uuid_is_compared_as_a_text(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    schema = Schema(NestedField(1, "u", UUIDType()), NestedField(2, "k", IntegerType()))
    ids = [UUID(int=0x61616161616161616161616161616100 + i) for i in range(3)]

    def written(_engine: object) -> None:
        with closing(SqlCatalog("lake", **wh.catalogs[0].properties)) as catalog:
            table = catalog.create_table("d.with_uuid", schema)
            column = pa.array([i.bytes for i in ids], pa.uuid())
            table.append(pa.table({"u": column, "k": pa.array([1, 2, 3], "int32")}))

    wh.step(f"d.with_uuid: {ids}", written)
    asked = Asked(wh, acc, "lake.d.with_uuid", 0)
    for predicate in (f"u = '{ids[0]}'", f"u < '{ids[2]}'", "u < 'a'", "u >= '6'"):
        asked.ask(f"SELECT count(*) AS n FROM {asked.table} WHERE {predicate}")
    assert asked.ask(f"SELECT count(u) AS n FROM {asked.table} WHERE u IS NOT NULL").rewritten


def test_constants_of_many_digits(spark_warehouse, acc) -> None:
    """Those beyond Python's 28 digits are exact, and what Spark rounds is left to it."""
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table('a INT, c DECIMAL(5,0)')}", 0)
    for value in (1, 0):  # two files, so that one may be left out
        wh.sql(f"INSERT INTO {asked.table} VALUES ({value}, {value})")
    for predicate in ("c = 1.{}1", "c < 1.{}1", "c IN (0.0, 1.{}1)", "NOT (c >= 1.{}1)"):
        predicate = predicate.format("0" * 28)
        asked.ask(f"SELECT count(*) AS n FROM {asked.table} WHERE {predicate}")
    for op in ("=", "<", "<=", "<>"):
        asked.ask(f"SELECT count(*) AS n FROM {asked.table} WHERE a {op} 1.{'0' * 35}1")
    with pytest.raises(PySparkException):
        acc.query(
            f"SELECT count(*) AS n FROM {asked.table} WHERE a >= 0 OR CAST(a AS DOUBLE) < 1e400"
        )


def test_explain_says_what_the_manifests_did(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table(COLUMNS, clauses='PARTITIONED BY (d)')}", 0)
    append(asked, 0)
    text = acc.query(f"SELECT count(*) AS n FROM {asked.table} WHERE a < 0").explain()
    assert "DuckDB in process" in text
    assert re.search("left out +4 of 4 files: no row", text), text
    rows = acc.query(f"EXPLAIN WHY NOT SELECT sum(a) FROM {asked.table}").arrow().to_pylist()
    assert (None, "cubes_none") in [(row["cube"], row["code"]) for row in rows]


def test_spark_merges_the_cells_too(spark_warehouse, acc) -> None:
    """A frame of `acc.sql` is Spark's, cells and staged files in one."""
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table(COLUMNS, clauses='PARTITIONED BY (d)')}", 0)
    for first in (0, 100):
        append(asked, first)
    before = wh.sql("SHOW VIEWS IN lake.d")
    for rest in ("", "WHERE a >= 100", "WHERE a >= 120", "WHERE a < 0", "WHERE d > '2024-02-27'"):
        for items in ("count(*) AS n, min(c) AS lo, max(t) AS hi", "max(d) AS d, count(b) AS m"):
            sql = f"SELECT {items} FROM {asked.table} {rest}"
            assert differ(acc.sql(sql).toArrow(), wh.spark.sql(sql).toArrow()) == [], sql
        sql = f"SELECT d, count(*) AS n FROM {asked.table} {rest} GROUP BY d"
        assert differ(acc.sql(sql).toArrow(), wh.spark.sql(sql).toArrow()) == [], sql
    assert acc.fallbacks == {}
    assert wh.sql("SHOW VIEWS IN lake.d") == before


def test_a_partition_that_no_bound_proves_is_left_to_spark(spark_warehouse, acc) -> None:
    """As above, of a table that keeps no bounds."""
    wh = spark_warehouse
    none = "'write.metadata.metrics.default'='none'"
    name = wh.table("a INT, p INT", clauses="PARTITIONED BY (p)", properties=none)
    folder = wh.root / "unproven" / "p=7"
    rows = "SELECT CAST(id AS INT) AS a, CAST(id % 2 + 5 AS INT) AS p FROM range(9)"
    wh.step(
        f"files of {rows} under {folder}",
        lambda engine: engine.session.sql(rows).coalesce(1).write.parquet(str(folder), "overwrite"),
    )
    wh.sql(
        f"CALL lake.system.add_files(table => 'd.{name}',"
        f" source_table => '`parquet`.`{folder.parent}`')"
    )
    asked = Asked(wh, acc, f"lake.d.{name}", 0)
    for sql in ("min(a) AS m", "count(a) AS n", "max(p) AS p"):
        asked.ask(f"SELECT {sql} FROM {asked.table} WHERE p = 7")
        asked.ask(f"SELECT {sql} FROM {asked.table} WHERE p = 5")
    asked.ask(f"SELECT p, count(a) AS n FROM {asked.table} GROUP BY p")


def test_equality_deletes_are_counted_by_spark(spark_warehouse, acc) -> None:
    """A streaming writer's: the manifests don't say how many rows they hit, nor which are left."""
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table('k INT, v INT')}", 0)
    for first in (0, 100):
        wh.sql(f"INSERT INTO {asked.table} SELECT id, id FROM range({first}, {first + 50})")
    write_equality_delete(wh, asked.table.rpartition(".")[2], [0, 3, 49, 149])
    wh.sql(f"INSERT INTO {asked.table} SELECT id, id FROM range(200, 250)")
    for items in ("count(*) AS n", "min(k) AS lo, max(k) AS hi", "count(v) AS n, max(v) AS hi"):
        for rest in ("", " WHERE k >= 100", " WHERE k >= 200", " WHERE k < 100", " WHERE k > 500"):
            asked.ask(f"SELECT {items} FROM {asked.table}{rest}")
    # The last commit's rows are spared by the delete: they come from the manifest.
    assert asked.ask(f"SELECT count(*) AS n FROM {asked.table} WHERE k >= 200").files_read == 0
