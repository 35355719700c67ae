"""After every kind of table change the answers are plain Spark's, before and after a build.

Strategy: one star (fact `f`, dimension `p`) per format version, two cubes, a fixed list of queries.
Each step changes a table, then compares at the coverage that is left, after BUILD CUBE and, at the
end, after COMPACT CUBE. Invariant: equal answers, no fallback by failure, and after a build every
query that the cubes can answer is rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

_CUBE = """
    CREATE CUBE {f}_c AS
    SELECT g, f.k, p.region, d, count(*) n, sum(v) sv, count(v) cv, min(x) lo, max(w) hi,
           sum(m) sm, avg(m) am, count(DISTINCT v) dv, count(DISTINCT s) ds, stddev(x) sd
    FROM lake.d.{f} f JOIN lake.d.{p} p ON f.k = p.k
    GROUP BY g, f.k, p.region, d"""
_PLAIN_CUBE = """
    CREATE CUBE {f}_l AS
    SELECT g, p.region, count(*) n, sum(v) sv, max(s) ms
    FROM lake.d.{f} f LEFT JOIN lake.d.{p} p ON f.k = p.k
    GROUP BY g, p.region"""

_JOINED = (
    "SELECT p.region, count(*) n, sum(v) s, avg(m) a FROM {f} f JOIN {p} p ON f.k = p.k GROUP"
    " BY p.region",
    "SELECT g, count(DISTINCT v) a, count(DISTINCT s) b FROM {f} f, {p} p WHERE f.k = p.k"
    " GROUP BY g",
    "SELECT p.region, sum(v) s, max(s) t FROM {f} f LEFT JOIN {p} p ON f.k = p.k GROUP BY p.region",
    "SELECT min(x) a, max(w) b FROM {f} f JOIN {p} p ON f.k = p.k WHERE p.region <> 'r1'",
    "SELECT g, p.region, stddev(x) s FROM {f} f JOIN {p} p ON f.k = p.k GROUP BY g, p.region",
)
_SINGLE = (
    "SELECT g, count(*) n, sum(v) s FROM {f} GROUP BY g",
    "SELECT count(*) n, sum(v) s FROM {f}",
)
# With a dangling key the inner cube can't stand for the fact alone: only its segment is lost.
_INNER_ONLY = (
    "SELECT d, sum(m) s, count(v) c FROM {f} GROUP BY d",
    "SELECT year(d) y, avg(v) a FROM {f} WHERE g IN ('g1', 'g2') GROUP BY year(d)",
    "SELECT count(DISTINCT v) a, sum(CASE WHEN g = 'g1' THEN v END) b FROM {f} WHERE d <"
    " '2020-01-20'",
)


@dataclass
class Star:
    """One fact and one dimension with their cubes."""

    acc: Accelerator
    warehouse: SparkWarehouse
    f: str
    p: str
    both: Differential
    checks: int = 0

    def sql(self, text: str) -> None:
        self.acc.spark.sql(text.format(f=f"lake.d.{self.f}", p=f"lake.d.{self.p}")).collect()

    def insert(self, start: int, stop: int) -> None:
        """Files with NULLs, duplicates, and keys of which 6 has no partner from 900 on."""
        self.sql(
            "INSERT INTO {f} SELECT if(id % 13 = 0, NULL, concat('g', id % 4)),"
            " CAST(if(id >= 900, id % 7, id % 6) AS INT), date_add(DATE'2020-01-01', CAST(id %"
            " 30 AS INT)),"
            " CAST(if(id % 11 = 0, NULL, id % 50) AS INT), id * 1000000007, CAST(id AS"
            " DECIMAL(8,2)) / 8,"
            f" CAST(id % 9 AS FLOAT) / 8, concat('s', id % 23) FROM range({start}, {stop}, 1, 1)"
        )

    def queries(self, source: str = "") -> tuple[list[str], list[str]]:
        """Those that a complete build must rewrite, and those that need every key to be found."""
        f = f"lake.d.{self.f}{source}"
        sure = [q.format(f=f, p=f"lake.d.{self.p}") for q in (*_JOINED, *_SINGLE)]
        return sure, [q.format(f=f) for q in _INNER_ONLY]

    def check(
        self, where: str, *, built: bool, found: bool | None = None, source: str = ""
    ) -> None:
        """Every query; `built`: all must be rewritten, `found`: those of the inner cube too."""
        sure, inner = self.queries(source)
        self.checks += 1
        some = (sure + inner)[self.checks % len(sure + inner)]
        self.both.check(sure, rewritten=built or None, spark=[some], where=where)
        self.both.check(inner, rewritten=found, where=where)

    def step(self, where: str, change: Callable[[], None], *, found: bool | None = None) -> None:
        """A change, a look at what coverage is left, a build, a look at all of it."""
        change()
        self.both.changed()
        self.check(f"{where}, before BUILD", built=False)
        self.build()
        self.check(f"{where}, after BUILD", built=True, found=found)

    def create(self, cube: str) -> None:
        self.acc.query(cube.format(f=self.f, p=self.p))

    def build(self) -> None:
        for cube in (f"{self.f}_c", f"{self.f}_l"):
            self.acc.query(f"BUILD CUBE {cube}")

    def snapshot(self) -> int:
        rows = self.warehouse.sql(
            f"SELECT snapshot_id FROM lake.d.{self.f}.refs WHERE name = 'main'"
        )
        return int(rows[0][0])


_FACT = "g STRING, k INT, d DATE, v INT, w BIGINT, m DECIMAL(10,2), x FLOAT, s STRING"


def _star(warehouse: SparkWarehouse, acc: Accelerator, version: int, properties: str = "") -> Star:
    f = warehouse.table(_FACT, version=version, properties=properties)
    p = warehouse.table("k INT, region STRING", version=version, properties=properties)
    star = Star(acc, warehouse, f, p, Differential(acc))
    star.sql(
        "INSERT INTO {p} SELECT CAST(id AS INT), if(id = 5, NULL, concat('r', id % 3)) FROM"
        " range(0, 6, 1, 1)"
    )
    star.insert(0, 200)
    star.insert(200, 300)
    for cube in (_CUBE, _PLAIN_CUBE):
        star.create(cube)
    return star


@pytest.fixture
def star(
    request: pytest.FixtureRequest, spark_warehouse: SparkWarehouse, acc: Accelerator
) -> Iterator[Star]:
    made = _star(spark_warehouse, acc, getattr(request, "param", 2))
    yield made
    for cube in (f"{made.f}_c", f"{made.f}_l"):
        acc.query(f"DROP CUBE IF EXISTS {cube}")


_V3 = pytest.mark.parametrize("star", [3], ids=["v3"], indirect=True)


@pytest.mark.long
@_V3
def test_rows_change(star: Star) -> None:
    star.check("first build", built=True, found=True)
    star.step("append", lambda: star.insert(300, 400), found=True)
    star.step("delete rows", lambda: star.sql("DELETE FROM {f} WHERE v % 7 = 3"), found=True)
    star.step(
        "update", lambda: star.sql("UPDATE {f} SET v = v + 1, g = 'g9' WHERE k = 2"), found=True
    )
    merge = (
        "MERGE INTO {f} t USING (SELECT * FROM {f} WHERE v = 4) o ON t.w = o.w"
        " WHEN MATCHED AND t.k = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET t.x = 7.5"
    )
    star.step("merge", lambda: star.sql(merge), found=True)
    star.step("dangling keys", lambda: star.insert(900, 1000))
    compact = (
        f"CALL lake.system.rewrite_data_files(table => 'd.{star.f}', options =>"
        " map('rewrite-all', 'true'))"
    )
    star.step("compaction", lambda: star.sql(compact))
    star.insert(400, 450)
    star.build()
    for cube in (f"{star.f}_c", f"{star.f}_l"):
        star.acc.query(f"COMPACT CUBE {cube}")
    star.both.changed()
    star.check("after COMPACT", built=True)
    star.step("delete after COMPACT", lambda: star.sql("DELETE FROM {f} WHERE w < 20000000000"))
    star.step(
        "overwrite",
        lambda: star.sql("INSERT OVERWRITE {f} SELECT * FROM {f} WHERE k <> 6"),
        found=True,
    )
    star.sql("DELETE FROM {f}")
    star.both.changed()
    star.check("all deleted", built=False)


@pytest.mark.long
def test_position_deletes(star: Star) -> None:
    star.step("delete", lambda: star.sql("DELETE FROM {f} WHERE v % 7 = 3"), found=True)
    for cube in (f"{star.f}_c", f"{star.f}_l"):
        star.acc.query(f"COMPACT CUBE {cube}")
    change = "UPDATE {f} SET v = v + 1, g = 'g9' WHERE w < 30000000000"
    star.step("update after COMPACT", lambda: star.sql(change), found=True)


@pytest.mark.long
@_V3
def test_time_travel_branches_and_rollback(star: Star) -> None:
    first = star.snapshot()
    star.insert(300, 400)
    star.sql("DELETE FROM {f} WHERE v = 5")
    star.build()
    star.both.changed()
    star.check("a snapshot", built=False, source=f" VERSION AS OF {first}")
    star.sql("ALTER TABLE {f} CREATE BRANCH b")
    star.sql("INSERT INTO {f}.branch_b SELECT * FROM {f} WHERE v = 7")
    star.sql("DELETE FROM {f}.branch_b WHERE v = 8")
    star.check("a branch", built=False, source=" VERSION AS OF 'b'")
    star.check("main beside a branch", built=True, found=True)
    star.sql(f"ALTER TABLE {{f}} CREATE TAG old AS OF VERSION {first}")
    star.check("a tag", built=False, source=" VERSION AS OF 'old'")
    rollback = f"CALL lake.system.rollback_to_snapshot('d.{star.f}', {first})"
    star.step("rollback", lambda: star.sql(rollback), found=True)
    star.step("append after rollback", lambda: star.insert(300, 350), found=True)


@pytest.mark.long
def test_schema_and_partitions_evolve(star: Star) -> None:
    star.step(
        "a column added", lambda: star.sql("ALTER TABLE {f} ADD COLUMN extra INT"), found=True
    )
    star.step("another dropped", lambda: star.sql("ALTER TABLE {f} DROP COLUMN extra"), found=True)
    promote = [
        "ALTER TABLE {f} ALTER COLUMN v TYPE BIGINT",
        "ALTER TABLE {f} ALTER COLUMN m TYPE DECIMAL(12,2)",
    ]
    for change in promote:
        star.sql(change)
        star.both.changed()
        star.check(change, built=False)
    star.step("rows of the wider types", lambda: star.insert(300, 400))
    star.sql("ALTER TABLE {f} ALTER COLUMN x TYPE DOUBLE")
    star.build()
    star.both.changed()
    star.check("a cube of min(x), which keeps a FLOAT", built=False)
    reason = star.acc.query(star.queries()[0][3]).metrics.all_rows
    assert reason is not None and reason.startswith("schema_changed")
    star.acc.query(f"DROP CUBE {star.f}_c")
    star.create(_CUBE)
    star.both.changed()
    star.check("a cube of min(x), which keeps a DOUBLE", built=True)
    star.step("partitions", lambda: star.sql("ALTER TABLE {f} ADD PARTITION FIELD truncate(2, g)"))
    star.step("partitioned rows", lambda: star.insert(400, 500))
    star.step("delete a partition", lambda: star.sql("DELETE FROM {f} WHERE g = 'g1'"))
    star.step("nullable", lambda: star.sql("DELETE FROM {f} WHERE g IS NULL"))


def test_a_renamed_column_keeps_its_cube(star: Star) -> None:
    star.sql("ALTER TABLE {f} RENAME COLUMN v TO vv")
    star.sql("ALTER TABLE {f} ADD COLUMN v INT")
    f = f"lake.d.{star.f}"
    queries = [f"SELECT g, sum(vv) s, count(DISTINCT vv) c FROM {f} GROUP BY g"]
    star.both.check(queries, rewritten=True, spark=queries, where="renamed")
    queries = [f"SELECT g, sum(v) s, count(v) c FROM {f} GROUP BY g"]
    star.both.check(queries, rewritten=False, where="a new column of the old name")


@pytest.mark.long
def test_dimensions_change(star: Star) -> None:
    star.sql("INSERT INTO {p} SELECT 6, 'r6'")
    star.both.changed()
    star.check("dimension insert, before BUILD", built=False)
    star.step("fact rows find it", lambda: star.insert(900, 950), found=True)
    star.step(
        "dimension update", lambda: star.sql("UPDATE {p} SET region = 'r9' WHERE k = 1"), found=True
    )
    star.step("dimension delete", lambda: star.sql("DELETE FROM {p} WHERE k = 2"))
    star.step("duplicate key", lambda: star.sql("INSERT INTO {p} SELECT 3, 'twice'"))
    star.step("duplicate gone", lambda: star.sql("DELETE FROM {p} WHERE region = 'twice'"))
    star.step("NULL keys", lambda: star.sql("INSERT INTO {p} VALUES (NULL, 'n'), (NULL, 'm')"))
    star.step("dimension emptied", lambda: star.sql("DELETE FROM {p}"))


@pytest.mark.long
def test_copy_on_write(spark_warehouse: SparkWarehouse, acc: Accelerator) -> None:
    modes = ", ".join(
        f"'write.{kind}.mode'='copy-on-write'" for kind in ("delete", "update", "merge")
    )
    star = _star(spark_warehouse, acc, 2)
    star.sql(f"ALTER TABLE {{f}} SET TBLPROPERTIES ({modes})")
    star.step("delete", lambda: star.sql("DELETE FROM {f} WHERE v = 3"), found=True)
    star.step("update", lambda: star.sql("UPDATE {f} SET g = NULL WHERE v = 4"), found=True)


def test_a_table_made_anew_has_no_cube(spark_warehouse: SparkWarehouse, acc: Accelerator) -> None:
    star = _star(spark_warehouse, acc, 2)
    star.sql("DROP TABLE {f} PURGE")
    star.sql(f"CREATE TABLE {{f}} ({_FACT}) USING iceberg")
    star.insert(0, 50)
    sure, inner = star.queries()
    star.both.changed()
    star.both.check([*sure, *inner], rewritten=False, where="made anew")


@pytest.mark.long
@pytest.mark.parametrize("built_between", [True, False])
def test_one_file_appended_twice(
    spark_warehouse: SparkWarehouse, acc: Accelerator, built_between: bool
) -> None:
    star = _star(spark_warehouse, acc, 2)
    [[path]] = spark_warehouse.sql(
        f"SELECT file_path FROM lake.d.{star.f}.files ORDER BY record_count LIMIT 1"
    )
    folder = f"file://{spark_warehouse.root}/twice_{star.f}"
    spark_warehouse.step(
        f"a copy of {star.f}'s file under {folder}",
        lambda engine: engine.session.read.parquet(path).write.parquet(folder),
    )
    add = (
        f"CALL lake.system.add_files(table => 'd.{star.f}', check_duplicate_files => false,"
        f" source_table => '`parquet`.`{folder}`')"
    )
    star.sql(add)
    if built_between:
        star.build()
    star.sql(add)
    star.both.changed()
    star.check("added twice, before BUILD", built=False)
    star.build()
    star.check("added twice, after BUILD", built=False)


def test_added_files_have_columns_by_names(
    spark_warehouse: SparkWarehouse, acc: Accelerator
) -> None:
    """Without field ids a file's `v` is whichever column the name mapping says it is by now."""
    table, warehouse = spark_warehouse.table("k INT, v INT"), spark_warehouse
    folder = f"file://{warehouse.root}/added_{table}"
    rows = "SELECT CAST(id % 3 AS INT) k, CAST(id AS INT) v FROM range(30)"
    warehouse.step(
        f"{rows} under {folder}", lambda engine: engine.session.sql(rows).write.parquet(folder)
    )
    warehouse.sql(
        f"CALL lake.system.add_files(table => 'd.{table}', source_table => '`parquet`.`{folder}`')"
    )
    acc.query(f"CREATE CUBE {table}_c AS SELECT k, sum(v) s FROM lake.d.{table} GROUP BY k")
    queries, both = [f"SELECT k, sum(v) s FROM lake.d.{table} GROUP BY k"], Differential(acc)
    both.check(queries, where="added")
    warehouse.sql(f"ALTER TABLE lake.d.{table} RENAME COLUMN v TO w")
    warehouse.sql(f"ALTER TABLE lake.d.{table} ADD COLUMN v INT")
    queries = [query.replace("(v)", "(w)") for query in queries]
    both.check(queries, rewritten=None, spark=queries, where="renamed")
    acc.query(f"BUILD CUBE {table}_c")
    both.check(queries, rewritten=True, spark=queries, where="built again")
    acc.query(f"DROP CUBE {table}_c")
