"""Our statements against real tables: publishing, estimates, figures, bad input, odd sessions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import accelerator
from accelerator.errors import (
    AcceleratorError,
    BuildError,
    CubeExistsError,
    CubeNotFoundError,
    DefinitionError,
    NotIcebergError,
    StatementError,
    StatementTooDeepError,
    StoreError,
    UnknownColumnError,
    UnknownTableError,
)
from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator

pytestmark = pytest.mark.spark
LIVE = True


class Shop:
    """A table `d.tN` of two files, and a session over it."""

    def __init__(self, wh, acc: Accelerator) -> None:
        self.wh, self.acc = wh, acc
        self.name = wh.table("g STRING, v INT, x DECIMAL(10,2)", clauses="PARTITIONED BY (g)")
        self.table = f"lake.d.{self.name}"
        for number in range(2):
            self.append(number)

    def append(self, number: int) -> None:
        self.wh.sql(
            f"INSERT INTO {self.table} SELECT element_at(array('a b', 'ü%20', 'x/y?#', NULL),"
            f" CAST(id % 4 AS INT) + 1), id, id / 7 FROM range({number * 50}, {number * 50 + 50})"
        )

    @property
    def select(self) -> str:
        return (
            f"SELECT g, count(*) AS n, sum(v) AS s, avg(x) AS a, count(DISTINCT v) AS d,"
            f" min(v + v) AS lo, approx_percentile(v, 0.3, 1000) AS p FROM {self.table} GROUP BY g"
        )

    def create(self, name: str = "shop", rest: str = "") -> None:
        self.acc.query(f"CREATE CUBE {name} {rest} AS {self.select}")

    def published(self, table: str) -> list[str]:
        """How the published table differs from the defining SELECT."""
        spark = self.wh.spark
        mine = spark.sql(f"SELECT * EXCEPT (row_count) FROM {table}").toArrow()
        return differ(mine, spark.sql(self.select).toArrow())


@pytest.fixture
def shop(spark_warehouse, tmp_path: Path) -> Iterator[Shop]:
    acc = spark_warehouse.attach(store=str(tmp_path / "store"))
    yield Shop(spark_warehouse, acc)
    acc.close()
    assert spark_warehouse.sql("SELECT 1 AS one")[0].one == 1


@pytest.mark.long
def test_a_published_table_follows_its_cube(shop: Shop) -> None:
    shop.create()
    name = shop.acc.query("PUBLISH CUBE shop").arrow()["table"][0].as_py()
    assert name == "lake.d.shop_cube"
    assert shop.published(name) == []
    shop.append(2)
    assert shop.published(name) != []  # as it was, until a build
    shop.acc.query("BUILD CUBE shop")
    assert shop.published(name) == []
    shop.wh.sql(f"DELETE FROM {shop.table} WHERE g = 'a b'")  # whole files: nothing to build
    shop.acc.query("BUILD CUBE shop")
    assert shop.published(name) == []
    shop.acc.query("PUBLISH CUBE shop AS lake.d.elsewhere")
    assert shop.published("lake.d.elsewhere") == []
    assert not shop.wh.spark.catalog.tableExists(name)
    shop.acc.query("DROP CUBE shop")
    assert not shop.wh.spark.catalog.tableExists("lake.d.elsewhere")


def test_publishing_never_touches_a_table_that_is_not_its_own(shop: Shop) -> None:
    shop.create("`it's`")
    rows = shop.wh.sql(f"SELECT count(*) AS n FROM {shop.table}")[0].n
    with pytest.raises(StatementError, match="is a table already"):
        shop.acc.query(f"PUBLISH CUBE `it's` AS {shop.table}")
    assert shop.wh.sql(f"SELECT count(*) AS n FROM {shop.table}")[0].n == rows
    assert (
        shop.acc.query("PUBLISH CUBE `it's` AS d.own").arrow()["table"][0].as_py() == "lake.d.own"
    )
    shop.wh.sql("DROP TABLE lake.d.own")
    shop.wh.sql("CREATE TABLE lake.d.own (mine INT) USING iceberg")
    shop.acc.query("DROP CUBE `it's`")
    assert shop.wh.spark.catalog.tableExists("lake.d.own")
    shop.wh.sql("DROP TABLE lake.d.own")


def test_a_cube_without_segments_is_not_published(shop: Shop) -> None:
    shop.create(rest="DEFERRED")
    with pytest.raises(BuildError, match="no valid segment"):
        shop.acc.query("PUBLISH CUBE shop")


def test_estimates_and_figures(shop: Shop) -> None:
    estimate = shop.acc.query(f"EXPLAIN CREATE CUBE shop AS {shop.select}").arrow().to_pylist()[0]
    assert shop.acc.services.store.registry().cubes == {}
    assert estimate["fact_rows"] == 100 and estimate["files"] == 8 and estimate["rows"] > 0
    shop.create()
    shop.create("other", "DEFERRED")
    built = shop.acc.query(f"BUILD ALL ON {shop.table}").arrow().to_pylist()
    assert [(row["cube"], row["files"]) for row in built] == [("other", 8), ("shop", 0)]
    shop.acc.query(shop.select)
    counted = f"SELECT g, sum(v) AS n FROM {shop.table} GROUP BY g"
    for _merged in range(2):  # what is read are the columns that are named
        few, all_ = (shop.acc.query(q).metrics.bytes_read for q in (counted, shop.select))
        assert 0 < few < all_ / 2
        shop.acc.query("COMPACT CUBE shop")
    before = sum(shop.acc.query("SHOW CUBES").arrow()["hits"].to_pylist())
    shop.acc.query(shop.select)
    shown = {row["cube"]: row for row in shop.acc.query("SHOW CUBES").arrow().to_pylist()}
    for row in shown.values():
        assert (row["files_covered"], row["files_total"], row["status"]) == (8, 8, "complete")
        assert row["bytes"] > 0
    assert sum(row["hits"] for row in shown.values()) == before + 1


def test_segments_are_merged_again_after_a_delete(shop: Shop) -> None:
    """Those of an earlier merge too, of which a file is no more as it was."""
    shop.create()
    for v in (7, 93):
        merged = shop.acc.query("COMPACT CUBE shop").arrow().to_pylist()[0]
        assert (merged["files"], merged["segments"]) == (8, 1)
        shop.wh.sql(f"DELETE FROM {shop.table} WHERE v = {v}")
        shop.acc.query("BUILD CUBE shop")
    shop.acc.query("COMPACT CUBE shop")
    figures = shop.acc.query("SHOW CUBES").arrow().to_pylist()[0]
    assert (figures["files_covered"], figures["segments"]) == (8, 1)
    assert shop.acc.verify(shop.select).equal


def test_statistics_of_sketches_that_spark_makes(shop: Shop) -> None:
    made = f"CALL lake.system.compute_table_stats(table => 'd.{shop.name}', columns => array({{}}))"
    shop.wh.sql(made.format("'g', 'v'"))
    explain = f"EXPLAIN CREATE CUBE shop AS {shop.select}"
    estimate = shop.acc.query(explain).arrow().to_pylist()[0]
    cells = shop.wh.sql(f"SELECT count(*) AS n FROM (SELECT g FROM {shop.table} GROUP BY g)")[0].n
    assert estimate["merged_rows_max"] == cells < estimate["rows"]
    assert estimate["distinct_values"] == "g 3"
    shown = {
        row["column"]: row
        for row in shop.acc.query(f"SHOW STATISTICS ON {shop.table}").arrow().to_pylist()
    }
    assert (shown["g"]["distinct_values"], shown["g"]["distinct_current"]) == (3, True)
    assert (shown["v"]["distinct_values"], shown["x"]["distinct_values"]) == (100, None)
    truth = shop.wh.sql(
        f"SELECT count_if(g IS NULL), min(v), max(v), min(x), max(x), max(g) FROM {shop.table}"
    )[0]
    told = [shown["g"]["nulls"], shown["v"]["min"], shown["v"]["max"]]
    assert [*map(str, told), shown["x"]["min"], shown["x"]["max"]] == [str(v) for v in truth[:5]]
    assert shown["g"]["max"] == truth[5] and shown["g"]["max_exact"]  # of a partition
    assert (shown["g"]["rows"], shown["g"]["files"], shown["g"]["rows_exact"]) == (100, 8, True)
    shop.wh.sql(f"DELETE FROM {shop.table} WHERE v = 0")  # by a delete file
    old = {
        row["column"]: row
        for row in shop.acc.query(f"SHOW STATISTICS ON {shop.table}").arrow().to_pylist()
    }
    assert not old["v"]["distinct_current"] and old["v"]["distinct_values"] == 100
    assert (old["v"]["min"], old["v"]["min_exact"], old["v"]["max_exact"]) == ("0", False, True)
    assert (old["v"]["rows"], old["v"]["rows_exact"]) == (100, False)


def test_cubes_and_constraints_leave_no_trace_in_the_table(shop: Shop) -> None:
    before = shop.wh.pinned(shop.name)
    shop.create()
    shop.acc.query("PUBLISH CUBE shop")
    assert shop.wh.pinned(shop.name).metadata_location == before.metadata_location
    shop.acc.query(f"ALTER TABLE {shop.table} ADD CONSTRAINT u UNIQUE (v) NOT ENFORCED")
    shop.acc.query(f"ALTER TABLE {shop.table} DROP CONSTRAINT u")
    shop.acc.query("DROP CUBE shop")
    assert shop.wh.pinned(shop.name).properties == before.properties
    assert not shop.wh.spark.catalog.tableExists("lake.d.shop_cube")


BAD = [
    ("g, count(*) AS n FROM lake.d.nope GROUP BY g", UnknownTableError, "lake.d.nope"),
    ("g, count(*) AS n FROM plain_parquet GROUP BY g", NotIcebergError, "plain_parquet"),
    ("nope, count(*) AS n FROM {t} GROUP BY nope", UnknownColumnError, "nope"),
    ("g, count(*) AS n FROM {t} a JOIN {t} b ON a.v = b.v GROUP BY g", UnknownColumnError, "g"),
    ("'${{x}}' AS m, count(*) AS n FROM {t} GROUP BY 1", DefinitionError, "can't be parsed"),
    ("sum(" + " + ".join(["v"] * 1500) + ") AS m FROM {t}", StatementTooDeepError, "too deeply"),
    ("g, median(v) AS m FROM {t} GROUP BY g", DefinitionError, "percentile"),
    ("g, collect_list(v) AS m FROM {t} GROUP BY g", DefinitionError, "(?i)collect_list"),
    ("g, sum(rand()) AS m FROM {t} GROUP BY g", DefinitionError, "(?i)rand"),
    ("uuid() AS u, count(*) AS n FROM {t} GROUP BY 1", DefinitionError, "(?i)uuid"),
    ("g, max(current_timestamp()) AS m FROM {t} GROUP BY g", DefinitionError, "(?i)current_time"),
    ("g, count(*) AS n FROM {t} WHERE now() > '2020' GROUP BY g", DefinitionError, "(?i)now"),
    ("g, count(*) AS n FROM {t} GROUP BY g LIMIT 3", DefinitionError, "LIMIT"),
    ("g, count(*) AS n FROM {t} GROUP BY g ORDER BY g", DefinitionError, "ORDER BY"),
    ("g, count(*) AS n FROM {t} GROUP BY g HAVING count(*) > 1", DefinitionError, "HAVING"),
    ("g, sum(v) OVER (PARTITION BY g) AS n FROM {t}", DefinitionError, "OVER"),
    ("g, count(*) AS n FROM (SELECT * FROM {t}) GROUP BY g", DefinitionError, "SELECT"),
    ("count(*) AS n FROM {t} WHERE v IN (SELECT 1)", DefinitionError, "(?i)subquery"),
    ("count(DISTINCT v) + 1 AS n FROM {t}", DefinitionError, "n computes"),
    ("g, sum(DISTINCT v) AS n FROM {t} GROUP BY g", DefinitionError, "DISTINCT"),
    ("g, count(*) AS n FROM {t} VERSION AS OF 1 GROUP BY g", UnknownTableError, "snapshot 1"),
]


def test_what_a_cube_cannot_hold_is_named_and_leaves_nothing(shop: Shop, tmp_path: Path) -> None:
    where = tmp_path / "parquet"
    shop.wh.sql(
        "CREATE TABLE spark_catalog.default.plain USING parquet"
        f" LOCATION '{where}' AS SELECT 1 AS g"
    )
    shop.wh.spark.range(3).selectExpr("id AS g").createOrReplaceTempView("plain_parquet")
    for text, kind, named in BAD:
        statement = f"CREATE CUBE bad AS SELECT {text.format(t=shop.table)}"
        with pytest.raises(kind, match=named) as raised:
            shop.acc.query(statement)
        assert raised.value.hint, statement
    with pytest.raises(NotIcebergError, match="plain"):
        shop.acc.query("CREATE CUBE bad AS SELECT g FROM spark_catalog.default.plain GROUP BY g")
    shop.wh.spark.catalog.dropTempView("plain_parquet")
    shop.wh.sql("DROP TABLE spark_catalog.default.plain")
    assert shop.acc.services.store.registry().cubes == {}
    assert not (tmp_path / "store").exists()
    for statement in ("BUILD CUBE no", "COMPACT CUBE no", "PUBLISH CUBE no", "DROP CUBE no"):
        with pytest.raises(CubeNotFoundError, match="no"):
            shop.acc.query(statement)


def test_a_name_in_use_and_a_build_that_fails(shop: Shop) -> None:
    shop.create(rest="DEFERRED")
    with pytest.raises(CubeExistsError, match="shop"):
        shop.create()
    overflow = f"CREATE CUBE big AS SELECT g, sum(v * 2000000000) AS s FROM {shop.table} GROUP BY g"
    with pytest.raises(BuildError, match=r"big failed in Spark.*OVERFLOW"):
        shop.acc.query(overflow)
    assert sorted(shop.acc.services.store.registry(fresh=True).cubes) == [
        "shop"
    ]  # as a table that fails


def test_one_that_fails_keeps_none_of_the_others_from_being_built(shop: Shop) -> None:
    shop.create(rest="DEFERRED")
    big = "CREATE CUBE {} DEFERRED AS SELECT g, sum(v * 2000000000) AS s FROM {} GROUP BY g"
    shop.acc.query(big.format("a_big", shop.table))
    with pytest.raises(BuildError, match="a_big failed"):
        shop.acc.query(f"BUILD ALL ON {shop.table}")
    assert shop.acc.query(shop.select).metrics.rewritten
    shop.acc.query(big.format("b_big", shop.table))
    with pytest.raises(BuildError, match=r"2 of 3 cubes.*a_big.*b_big"):
        shop.acc.query(f"BUILD ALL ON {shop.table}")


def test_stores_that_cannot_be_written(shop: Shop, tmp_path: Path) -> None:
    shop.create()
    spark = shop.wh.spark
    reader = accelerator.attach(spark, store=str(tmp_path / "store"), store_read_only=True)
    assert reader.query(shop.select).metrics.rewritten
    (tmp_path / "file").write_text("not a folder")
    lost = accelerator.attach(spark, store=str(tmp_path / "file" / "store"))
    assert differ(lost.query(shop.select).arrow(), lost.services.plain_table(shop.select)) == []
    for acc in (reader, lost):
        with pytest.raises(StoreError) as raised:
            acc.query(f"CREATE CUBE another AS {shop.select}")
        assert raised.value.hint
    for statement in ("COMPACT CUBE shop", "PUBLISH CUBE shop", "DROP CUBE shop"):
        with pytest.raises(AcceleratorError):
            reader.query(statement)
    assert not spark.catalog.tableExists("lake.d.shop_cube")


def test_names_that_mean_something_else_in_this_session(shop: Shop) -> None:
    shop.create()
    spark, query = shop.wh.spark, f"SELECT g, count(*) AS n FROM {shop.name} GROUP BY g"
    spark.sql("USE lake.d")
    assert shop.acc.verify(query).rewritten
    spark.createDataFrame([("other", 1)], "g STRING, v INT").createOrReplaceTempView(shop.name)
    hidden = shop.acc.verify(query)
    assert hidden.equal and not hidden.rewritten and hidden.rows == 1
    spark.catalog.dropTempView(shop.name)
    assert shop.acc.verify(query).rewritten
    shadowed = shop.acc.verify(f"WITH {shop.name} AS (SELECT 'a' AS g) {query}")
    assert shadowed.equal and not shadowed.rewritten
    spark.sql(f"CREATE VIEW lake.d.v_{shop.name} AS SELECT * FROM {shop.table} WHERE v < 9")
    assert shop.acc.verify(query.replace(shop.name, f"v_{shop.name}")).equal


@pytest.mark.parametrize(
    ("setting", "value", "rewritten"),
    [
        ("spark.sql.ansi.enabled", "false", False),
        ("spark.sql.caseSensitive", "true", False),
        ("spark.sql.ansi.doubleQuotedIdentifiers", "true", False),
        ("spark.sql.session.timeZone", "Asia/Tokyo", True),
    ],
)
def test_settings_of_the_session(shop: Shop, setting: str, value: str, rewritten: bool) -> None:
    shop.create()
    conf = shop.wh.spark.conf
    before = conf.get(setting)
    conf.set(setting, value)
    try:
        verified = shop.acc.verify(shop.select)
    finally:
        conf.set(setting, before)
    assert verified.equal and verified.rewritten is rewritten


def test_other_threads_have_the_same_current_catalog(shop: Shop) -> None:
    shop.create()
    query = f"SELECT g, count(*) AS n FROM d.{shop.name} GROUP BY g"
    shop.wh.sql("USE lake")
    metrics = [shop.acc.query(query).metrics]
    thread = threading.Thread(target=lambda: metrics.append(shop.acc.query(query).metrics))
    thread.start()
    thread.join(60)
    assert [m.rewritten for m in metrics] == [True, True], metrics


def test_both_answers_are_of_one_moment(shop: Shop) -> None:
    shop.create()
    outcome = shop.acc.verify(
        f"SELECT g, now() AS asked, count(*) AS n FROM {shop.table}"
        " WHERE current_date > DATE '2020-01-01' GROUP BY g"
    )
    assert outcome.equal and outcome.rewritten
    asked = f"SELECT g, count(*) AS n FROM {shop.table} WHERE now() > current_date() GROUP BY g"
    assert shop.acc.query(f"VERIFY {asked}").arrow()["equal"][0].as_py()
    assert shop.acc.sql(asked).count() == shop.acc.query(asked).num_rows
