"""What a session's own settings, views and neighbours do to its answers: nothing wrong, ever."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import accelerator
from accelerator.errors import BuildError
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark
LIVE = True

_CATALOG = "spark.sql.defaultCatalog"


@pytest.fixture(scope="module")
def table(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[str]:
    """A cube over a table; one group has one row."""
    name = f"lake.d.{spark_warehouse.table('k INT, v INT, w INT, g STRING, s TIMESTAMP')}"
    spark_warehouse.sql(
        f"INSERT INTO {name} SELECT id % 5, id, 2, concat('g', id % 2), TIMESTAMP'2020-01-01'"
        " FROM range(20) UNION ALL SELECT 9, 2147483647, 3, 'g', TIMESTAMP'2020-06-01'"
    )
    acc.query(
        "CREATE CUBE contexts AS SELECT k, g, count(*) n, stddev(v) d, sum(v) t, max(g) h,"
        f" max(s) m FROM {name} GROUP BY k, g"
    )
    yield name
    acc.query("DROP CUBE contexts FORCE")


@contextmanager
def _set(session: Accelerator, **settings: str) -> Iterator[None]:
    conf = session.spark.conf
    before = {key: conf.get(key, None) for key in settings}
    for key, value in settings.items():
        conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            conf.unset(key) if value is None else conf.set(key, value)


def test_two_sessions_of_two_catalogs_in_one_thread(acc: Accelerator, table: str) -> None:
    """The current catalog's default is the active session's, which others change as they work."""
    name = table.removeprefix("lake.")
    query = f"SELECT k, count(*) n FROM {name} GROUP BY k"
    spark = acc.spark.newSession()
    with (
        accelerator.attach(spark, store=acc.config.store) as mine,
        _set(mine, **{_CATALOG: "lake"}),
    ):
        other = acc.spark.newSession()
        other.conf.set(_CATALOG, "spark_catalog")
        assert mine.query(query).metrics.rewritten
        other.createDataFrame([(1,)], "k INT").collect()  # makes it the active one
        spark.conf.set("spark.any.setting", "new")
        Differential(mine).check([query, query])
        with accelerator.attach(other, store=acc.config.store) as theirs:
            for _ in range(2):
                with pytest.raises(Exception, match=r"NOT_FOUND|REQUIRES_SINGLE_PART"):
                    theirs.query(query).arrow()
                assert mine.query(query).metrics.rewritten
    acc.spark.createDataFrame([(1,)], "k INT").collect()


def test_the_active_session_stays_the_users(acc: Accelerator, table: str) -> None:
    query = f"SELECT k, count(*) n FROM {table} GROUP BY k"
    assert acc.query(query).metrics.rewritten
    gateway = acc.spark.sparkContext._gateway
    sessions = getattr(
        getattr(gateway.jvm, "org.apache.spark.sql.classic.SparkSession$"), "MODULE$"
    )
    other = acc.spark.newSession()
    try:
        other.createDataFrame([(1,)], "k INT").collect()  # makes it the active one
        with _set(acc, **{"spark.any.setting": "new"}):
            assert acc.query(query).metrics.rewritten
        assert sessions.getActiveSession().get().equals(other._jsparkSession)
        sessions.clearActiveSession()
        assert acc.query(query).metrics.rewritten
        assert not sessions.getActiveSession().isDefined()
    finally:
        acc.spark.createDataFrame([(1,)], "k INT").collect()


def test_a_namespace_by_the_name_of_global_views(
    spark_warehouse: SparkWarehouse, acc: Accelerator
) -> None:
    """To Spark its name stands for the views of all sessions alone, whatever the catalog has."""
    wh = spark_warehouse
    wh.sql("CREATE NAMESPACE lake.global_temp")
    wh.sql("CREATE TABLE lake.global_temp.seen (k INT) USING iceberg")
    wh.sql("INSERT INTO lake.global_temp.seen VALUES (1)")
    acc.query("CREATE CUBE seen AS SELECT k, count(*) n FROM lake.global_temp.seen GROUP BY k")
    catalog, namespace = wh.spark.catalog.currentCatalog(), wh.spark.catalog.currentDatabase()
    wh.sql("USE lake")
    query = "SELECT k, count(*) n FROM {}global_temp.seen GROUP BY k"
    try:
        with pytest.raises(Exception, match="NOT_FOUND"):
            acc.query(query.format("")).arrow()
        wh.sql("CREATE GLOBAL TEMP VIEW seen AS SELECT 5 k")
        Differential(acc).check([query.format("")], rewritten=False)
        Differential(acc).check([query.format("lake.")])
    finally:
        wh.spark.catalog.dropGlobalTempView("seen")
        wh.spark.catalog.setCurrentCatalog(catalog)
        if namespace:
            wh.sql(f"USE {catalog}.{namespace}")
        acc.query("DROP CUBE seen FORCE")
        wh.sql("DROP TABLE lake.global_temp.seen")
        wh.sql("DROP NAMESPACE lake.global_temp")


@pytest.mark.parametrize(
    ("setting", "value", "query"),
    [
        (
            "spark.sql.legacy.statisticalAggregate",
            "true",
            "SELECT k, stddev(v) d FROM {t} GROUP BY k",
        ),
        (
            "spark.sql.legacy.integerGroupingId",
            "true",
            "SELECT k, grouping_id() i, count(*) n FROM {t} GROUP BY ROLLUP (k)",
        ),
        ("spark.sql.timestampType", "TIMESTAMP_NTZ", "SELECT g, max(s) m FROM {t} GROUP BY g"),
        (
            "spark.sql.execution.arrow.useLargeVarTypes",
            "true",
            "SELECT k, max(g) FROM {t} GROUP BY k",
        ),
    ],
)
def test_settings_that_change_values_or_types(
    acc: Accelerator, table: str, setting: str, value: str, query: str
) -> None:
    query = query.format(t=table)
    Differential(acc).check([query])
    with _set(acc, **{setting: value}):
        Differential(acc).check([query], rewritten=False)


@pytest.mark.parametrize(
    ("setting", "value", "measure"),
    [
        ("spark.sql.ansi.enabled", "false", "sum(v * w) t"),  # a product of it overflows
        ("spark.sql.timestampType", "TIMESTAMP_NTZ", "max(s) m"),
    ],
)
def test_no_cube_is_built_under_settings_of_another_meaning(
    acc: Accelerator, table: str, setting: str, value: str, measure: str
) -> None:
    zone = "spark.sql.session.timeZone"
    acc.query(f"CREATE CUBE meant DEFERRED AS SELECT g, {measure} FROM {table} GROUP BY g")
    try:
        with (
            _set(acc, **{setting: value, zone: "Asia/Kolkata"}),
            pytest.raises(BuildError, match=setting),
        ):
            acc.query("BUILD CUBE meant")
        shown = acc.query("SHOW CUBES").arrow().to_pylist()
        assert [row["segments"] for row in shown if row["cube"] == "meant"] == [0]
    finally:
        acc.query("DROP CUBE meant FORCE")


def test_a_frame_is_no_change_of_the_session(acc: Accelerator, table: str) -> None:
    """Else each statement after one would be planned and run twice."""
    query = f"SELECT k, count(*) n FROM {table} GROUP BY k"
    wanted = sorted(acc.query(query).fetchall())
    state = acc.services.context._state()
    assert state is not None
    known, views = acc.services.context._known, set(state.views())
    frame = acc.sql(query)
    assert acc.query(query).metrics.rewritten
    assert acc.services.context._known is known is not None
    assert set(state.views()) == views
    frame.createOrReplaceTempView("contexts_frame")
    try:
        again = acc.spark.sql("SELECT * FROM contexts_frame")
        assert sorted(map(tuple, frame.collect())) == sorted(map(tuple, again.collect())) == wanted
    finally:
        acc.spark.catalog.dropTempView("contexts_frame")
