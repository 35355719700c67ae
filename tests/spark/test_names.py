"""Names that people write: aggregates' synonyms, columns by path, branches and tags, times.

Every statement's names, types and rows are plain Spark's; what Spark refuses is refused alike.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accelerator.errors import AcceleratorError
from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[str]:
    """A cube over two files."""
    name = spark_warehouse.table("g STRING, k INT, v INT, b BOOLEAN")
    for number in range(2):
        spark_warehouse.sql(
            f"INSERT INTO lake.d.{name} SELECT element_at(array('a', 'b', NULL), 1 + CAST(id % 3 AS"
            f" INT)), id % 4, id, id % 5 = 0 FROM range({number * 20}, {number * 20 + 20})"
        )
    acc.query(
        "CREATE CUBE names AS SELECT g, k, count(*) n, sum(v) s, count(v) c, max(v) h, stddev(v) d,"
        f" bool_and(b) e, bool_or(b) o FROM lake.d.{name} GROUP BY g, k"
    )
    yield name
    acc.query("DROP CUBE names")


def test_synonyms(acc: Accelerator, table: str) -> None:
    words = ["std(v)", "stddev_samp(v)", "Variance(v)", "var_samp(v)", "mean(v)", "every(b)"]
    words += ["some(b)", "any(b)", "bool_or(b)", "sum(v) FILTER (WHERE k = 1)", "count_if(k <> 2)"]
    words += ["sum(CASE WHEN k = 1 THEN v ELSE 0 END)", "count(if(g IS NULL, 1, NULL))"]
    query = f"SELECT g, {', '.join(words)} FROM lake.d.{table} GROUP BY g"
    Differential(acc).check([query], spark=[query])
    assert acc.planner.plan(query)[0].engine == "duckdb"


def test_columns_by_their_tables_path(live_acc: Accelerator, table: str) -> None:
    acc, spark, t = live_acc, live_acc.spark, table
    queries = [
        f"SELECT d.{t}.g, sum(lake.d.{t}.v) FROM lake.d.{t} WHERE {t}.k > 0 GROUP BY {t}.g",
        f"SELECT LAKE.D.{t}.g, count(*) FROM lake.d.{t} GROUP BY 1 ORDER BY d.{t}.g",
    ]
    Differential(acc).check(queries, spark=queries)
    catalog, namespace = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    spark.sql("USE lake.d")
    try:
        short = [f"SELECT lake.d.{t}.g, sum(d.{t}.v) FROM {t} GROUP BY {t}.g"]
        Differential(acc).check(short, spark=short)
    finally:
        spark.catalog.setCurrentCatalog(catalog)
        if namespace:
            spark.sql(f"USE {catalog}.{namespace}")


@pytest.mark.parametrize("name", ["lake.{}.v", "d.x.v", "x.d.{}.v", "lake.lake.d.{}.v"])
def test_paths_that_name_nothing(acc: Accelerator, table: str, name: str) -> None:
    _refused(acc, f"SELECT sum({name.format(table)}) FROM lake.d.{table}")
    _refused(acc, f"SELECT sum(d.{table}.v) FROM lake.d.{table} AS {table}")


def _refused(acc: Accelerator, query: str) -> None:
    with pytest.raises(Exception, match=r"UNRESOLVED|PARSE|NOT_FOUND|ROUTINE"):
        acc.plain_table(query)
    with pytest.raises(Exception, match=r"UNRESOLVED|PARSE|NOT_FOUND|ROUTINE"):
        acc.query(query).arrow()


@pytest.fixture(scope="module")
def history(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[str]:
    """A table with a branch, a tag, a changed schema, and a cube over all its files."""
    wh = spark_warehouse
    name = wh.table("g STRING, v INT")
    full = f"lake.d.{name}"
    wh.sql(f"INSERT INTO {full} VALUES ('a', 1), ('b', 2)")
    wh.sql(f"ALTER TABLE {full} CREATE BRANCH b")
    wh.sql(f"ALTER TABLE {full} CREATE TAG old")
    wh.sql(f"INSERT INTO {full}.branch_b VALUES ('b', 10), (NULL, 20)")
    wh.sql(f"INSERT INTO {full} VALUES ('a', 100)")
    acc.query(f"CREATE CUBE history AS SELECT g, v, count(*) n, sum(v) s FROM {full} GROUP BY g, v")
    wh.sql(f"ALTER TABLE {full} RENAME COLUMN v TO w")
    wh.sql(f"INSERT INTO {full} VALUES ('c', 1000)")
    yield name
    acc.query("DROP CUBE history")


def test_branches_and_tags_as_names(acc: Accelerator, history: str) -> None:
    full = f"lake.d.{history}"
    snapshots = acc.plain_table(f"SELECT snapshot_id FROM {full}.snapshots").to_pylist()
    queries = [
        f"SELECT g, count(*) n, sum(w) s FROM {full}.branch_b GROUP BY g",
        f"SELECT branch_b.g, count(*) n FROM {full}.branch_b GROUP BY branch_b.g",
        f"SELECT x.g, sum(x.v) s FROM {full}.tag_old AS x GROUP BY x.g",
        # A branch by the word tag is a branch; a tag by the word branch has the table's columns.
        f"SELECT g, sum(w) s FROM {full}.tag_b GROUP BY g",
        f"SELECT g, sum(w) s FROM {full}.branch_old GROUP BY g",
        f"SELECT g, sum(w) s FROM {full}.branch_main GROUP BY g",
        f"SELECT g, count(*) s FROM {full}.snapshot_id_{snapshots[0]['snapshot_id']} GROUP BY g",
        f"SELECT b.g, count(*) n FROM {full}.branch_b b JOIN {full} m ON b.g = m.g GROUP BY b.g",
    ]
    Differential(acc).check(queries[:-1], spark=queries)
    Differential(acc).check(queries[-1:], rewritten=None)
    for wrong in (f"{full}.tag_none", f"d.{history}.BRANCH_b", f"{history}.branch_b"):
        with pytest.raises(Exception, match=r"NOT_FOUND|none"):
            acc.query(f"SELECT count(*) n FROM {wrong}").arrow()
    for wrong in (f"d.{history}.g", f"{history}.g"):
        _refused(acc, f"SELECT count({wrong}) n FROM {full}.branch_b")


def test_a_table_of_a_branchs_name_is_itself(
    spark_warehouse: SparkWarehouse, acc: Accelerator, history: str
) -> None:
    wh, full = spark_warehouse, f"lake.d.{history}"
    query = f"SELECT count(DISTINCT g) n FROM {full}.branch_b"  # which manifests don't tell
    Differential(acc).check([query])
    wh.sql(f"CREATE NAMESPACE {full}")
    wh.sql(f"CREATE TABLE {full}.branch_b (g STRING, v INT) USING iceberg")
    try:
        Differential(acc).check([query], rewritten=False)
    finally:
        wh.sql(f"DROP TABLE {full}.branch_b")
        wh.sql(f"DROP NAMESPACE {full}")
    Differential(acc).check([query])


def test_time_travel_to_a_time(live_acc: Accelerator, history: str) -> None:
    acc, full, spark = live_acc, f"lake.d.{history}", live_acc.spark
    times = acc.plain_table(
        "SELECT date_format(made_current_at, \"yyyy-MM-dd'T'HH:mm:ss.SSS\") t,"
        " date_format(made_current_at + INTERVAL 5 HOURS 30 MINUTES, 'yyyy-MM-dd HH:mm:ss.SSS') z,"
        f" unix_millis(made_current_at) ms FROM {full}.history ORDER BY 1"
    ).to_pylist()
    assert len(times) == 3
    at = [f"TIMESTAMP AS OF '{each['t']}'" for each in times]
    at += [f"FOR SYSTEM_TIME AS OF TIMESTAMP'{each['t']}'" for each in times]
    at += [f"FOR TIMESTAMP AS OF '{each['z']}+05:30'" for each in times]
    at += [f"TIMESTAMP AS OF {each['ms'] // 1000 + 1}" for each in times]
    queries = [f"SELECT g, count(*) n FROM {full} {each} GROUP BY g" for each in at]
    queries += [f"SELECT g, count(*) n FROM {full} {at[1]} AS x GROUP BY x.g"]
    queries += [f"SELECT count(*) n FROM {full}.at_timestamp_{times[1]['ms']}"]
    Differential(acc).check(queries, spark=queries)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        there = [f"SELECT g, count(*) n FROM {full} TIMESTAMP AS OF '{times[1]['z']}' GROUP BY g"]
        Differential(acc).check(there, spark=there, where="another time zone")
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    now = f"SELECT count(*) n FROM {full} TIMESTAMP AS OF current_timestamp()"
    Differential(acc).check([now], rewritten=False)
    with pytest.raises(Exception, match=r"(?i)snapshot"):
        acc.query(f"SELECT count(*) n FROM {full} TIMESTAMP AS OF '2001-01-01'").arrow()


@pytest.mark.parametrize("state", [".branch_b", ".snapshot_id_1", " TIMESTAMP AS OF '2099-01-01'"])
def test_no_cube_of_a_past_state(acc: Accelerator, history: str, state: str) -> None:
    with pytest.raises(AcceleratorError):
        acc.query(
            f"CREATE CUBE past AS SELECT g, count(*) n FROM lake.d.{history}{state} GROUP BY g"
        )


@pytest.mark.parametrize("joined", [False, True])
def test_columns_called_as_builds_call_theirs(
    acc: Accelerator, spark_warehouse: SparkWarehouse, joined: bool
) -> None:
    columns = ("_acc_part", "_acc_segment", "segment", "d0", "s0")
    name = spark_warehouse.table(", ".join(f"{column} INT" for column in columns))
    values = ", ".join(f"CAST(id % {n} AS INT)" for n, _ in enumerate(columns, 2))
    spark_warehouse.sql(f"INSERT INTO lake.d.{name} SELECT {values} FROM range(40)")
    listed, source = ", ".join(f"t.{one}" for one in columns), f"lake.d.{name} t"
    source += f" JOIN lake.d.{name} u ON t.d0 = u.d0" if joined else ""
    query = f"SELECT {listed}, count(*) n, sum(t.d0) s FROM {source} GROUP BY {listed}"
    acc.query(f"CREATE CUBE own_names AS {query}")
    try:
        Differential(acc).check([query], rewritten=True)
    finally:
        acc.query("DROP CUBE own_names")
