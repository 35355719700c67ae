"""Rules that others have put into a session: statements are left to Spark, which applies them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from accelerator.errors import BuildError
from accelerator.session.session import Accelerator

pytestmark = pytest.mark.spark
LIVE = True

_RULE = "org.apache.spark.sql.catalyst.optimizer.RemoveNoopOperators"


@pytest.fixture
def table(spark_warehouse) -> str:
    name = f"lake.d.{spark_warehouse.table('g INT, v INT')}"
    spark_warehouse.sql(f"INSERT INTO {name} VALUES (1, 1), (1, 2), (2, 3)")
    return name


@contextmanager
def _added_by_its_user(acc: Accelerator) -> Iterator[None]:
    """With a rule in `spark.experimental`."""
    jvm, methods = acc.services.engine.jvm, acc.spark._jsparkSession.experimental()
    put: Callable[[Any], None] = getattr(methods, "extraOptimizations_$eq")
    before, rules = methods.extraOptimizations(), jvm.listed_of([jvm.scala_object(_RULE)])
    put(jvm.static("org.apache.spark.api.python.PythonUtils", "toSeq", rules))
    try:
        yield
    finally:
        put(before)


def test_rules_that_a_user_adds_leave_statements_to_spark(
    spark_warehouse, table: str, tmp_path: Path
) -> None:
    store = str(tmp_path / "store")
    query = f"SELECT g, sum(v) AS s FROM {table} GROUP BY g ORDER BY g"
    with spark_warehouse.live(store=store) as acc:
        acc.execute(f"CREATE CUBE c AS SELECT g, sum(v) AS s FROM {table} GROUP BY g")
        assert acc.query(query).metrics.cubes == ("c",)
        with _added_by_its_user(acc):
            found = acc.query(query)
            assert f"may filter or mask rows. Here: {_RULE}" in str(found.metrics.fallback)
            assert found.arrow().to_pylist() == [{"g": 1, "s": 3}, {"g": 2, "s": 3}]
            with pytest.raises(BuildError, match="may filter or mask rows"):
                acc.execute(f"CREATE CUBE d AS SELECT g, count(v) AS n FROM {table} GROUP BY g")
            with pytest.raises(BuildError, match="may filter or mask rows"):
                acc.execute(f"CREATE INDEX i ON {table} USING BITMAP (g)")
        assert acc.query(query).metrics.cubes == ("c",)
    trusted = "org.apache.spark.sql.catalyst.optimizer"
    with (
        spark_warehouse.live(store=store, trusted_extensions=(trusted,)) as trusting,
        _added_by_its_user(trusting),
    ):
        assert trusting.query(query).metrics.cubes == ("c",)


def test_what_an_extension_injects_is_seen(spark_warehouse, table: str, tmp_path: Path) -> None:
    """Whoever handed it over: here a function of Java's, as the class path's services would."""
    with spark_warehouse.live(store=str(tmp_path / "store")) as acc:
        session = acc.spark._jsparkSession
        query = f"SELECT count(*) AS n FROM {table} WHERE g = 1"
        jvm = acc.services.engine.jvm
        handle = jvm.constant(jvm.scala_object(_RULE))
        kind = jvm.type("scala.Function1")
        taken = jvm._java.lang.invoke.MethodHandles.dropArguments(
            handle, 0, jvm.listed_of([jvm.type("java.lang.Object")])
        )
        function = jvm._java.lang.invoke.MethodHandleProxies.asInterfaceInstance(kind, taken)
        field = session.extensions().getClass().getDeclaredField("optimizerRules")
        field.setAccessible(True)
        buffer = field.get(session.extensions())
        before = buffer.size()
        buffer.append(function)
        try:
            assert "may filter or mask rows" in str(acc.query(query).metrics.fallback)
        finally:
            buffer.remove(before)
