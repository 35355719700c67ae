"""Tables that a reader refuses whole, beside real Spark: what it refuses is the typed error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator.errors import AcceleratorError
from accelerator.iceberg import CatalogSettings, UnreadableTableError
from accelerator.query.early_errors.refused_tables import _SAID
from accelerator.session.session import Accelerator
from tests.support import unreadable_lake as lake
from tests.support.recording.live import LIVE as SPARK
from tests.support.warehouse import attached

LIVE = True
pytestmark = [pytest.mark.spark, pytest.mark.long]
_SLOW = ("future", "transform_several")
"""Iceberg tries again for 90 seconds to parse these."""
_REFUSED = {**lake.BY_SPARK, **lake.BY_ICEBERG}


@pytest.fixture(scope="module")
def acc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accelerator]:
    root: Path = tmp_path_factory.mktemp("unreadable") / "warehouse"
    catalog = lake.catalog_of(root)
    lake.add_table(catalog, "good")
    for name, (change, _, _) in {**_REFUSED, **lake.BY_PYICEBERG}.items():
        lake.add_table(catalog, name, change)
    for name, change in lake.READ.items():
        lake.add_table(catalog, name, change)
    catalog.engine.dispose()
    engine = SPARK.over(root, root / "catalog.db")
    properties = {"uri": f"sqlite:///{root / 'catalog.db'}", "warehouse": root.as_uri() + "/"}
    settings = [CatalogSettings("lake", "sql", properties)]
    store = str(tmp_path_factory.mktemp("unreadable-store"))
    with attached(engine, settings, store=store) as session:
        yield session


@pytest.mark.parametrize("table", [one for one in _REFUSED if one not in _SLOW])
def test_what_spark_refuses_is_the_typed_error(acc: Accelerator, table: str) -> None:
    spark = acc.services.engine.session
    _, column, _ = _REFUSED[table]
    for text in (
        f"SELECT count(*) FROM lake.d.{table}",
        f"SELECT sum(v) FROM lake.d.{table} WHERE v > 10",
        f"SELECT rand() > 2 FROM lake.d.{table}",
        f"SELECT * FROM lake.d.{table} VERSION AS OF 'main'",
    ):
        if table.startswith(("pair", "new_pair")) and "VERSION" in text:
            continue  # which Spark reads
        with pytest.raises(Exception, match=_SAID) as sparks:
            spark.sql(text).collect()
        assert not isinstance(sparks.value, AcceleratorError)
        if table.startswith("transform"):  # only the run of Spark's own frame fails
            with pytest.raises(Exception, match=f"{_SAID.pattern}|can't be read"):
                acc.sql(text).collect()
            asks = [acc.query]
        else:
            asks = [acc.query, lambda sql: acc.sql(sql).collect()]
        for ask in asks:
            with pytest.raises(UnreadableTableError) as raised:
                ask(text)
            assert raised.value.refusal.column == column
    if table.startswith(("time", "nano")):  # Spark can't even describe these
        for text in (f"DESCRIBE lake.d.{table}", f"INSERT INTO lake.d.{table} (k) VALUES (1)"):
            for ask in (acc.query, acc.sql):
                with pytest.raises(UnreadableTableError):
                    ask(text)
    assert acc.services.failures.counts == {}


@pytest.mark.parametrize("table", [*lake.BY_PYICEBERG, *lake.READ])
def test_what_spark_reads_is_answered_as_spark_does(acc: Accelerator, table: str) -> None:
    spark = acc.services.engine.session
    for text in (
        f"SELECT count(*), sum(v) FROM lake.d.{table}",
        f"SELECT k, v FROM lake.d.{table} ORDER BY k, v",
    ):
        answer = acc.query(text)
        assert answer.fetchall() == [tuple(row) for row in spark.sql(text).collect()]
        code = (answer.metrics.fallback or "").partition(":")[0]
        assert code == ("table_needs_spark" if table in lake.BY_PYICEBERG else "")
    assert acc.services.failures.counts == {}


def test_names_in_two_cases_are_read_where_they_differ(acc: Accelerator) -> None:
    spark = acc.services.engine.session
    text = "SELECT count(*) FROM lake.d.pair"
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert spark.sql(text).collect()[0][0] == 6
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
