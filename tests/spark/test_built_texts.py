"""Spark replaces `${…}` in a user's own statement, and in no text that is built here."""

from __future__ import annotations

from pathlib import Path

import pytest

import accelerator
from accelerator.errors import StatementError
from accelerator.query.runtime.services import Services
from cubes.spark import unexpanded_in
from rewrite.identifiers.quoting import SUBSTITUTION
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark
LIVE = True

_NAME = "${spark.sql.session.timeZone}"
_CONSTANT = r"'\u0024{spark.sql.session.timeZone}'"
"""The same text as Spark's constant, which Spark replaces nothing in."""


@pytest.fixture(scope="module")
def table(spark_warehouse: SparkWarehouse) -> str:
    """Rows of which some have a text that names a variable, some that variable's value."""
    name = spark_warehouse.table("g STRING, v BIGINT")
    spark_warehouse.sql(
        f"INSERT INTO lake.d.{name} VALUES ({_CONSTANT}, 1), ({_CONSTANT}, 2), ('UTC', 3), ('b', 4)"
    )
    return f"lake.d.{name}"


def test_sessions_of_our_own_replace_nothing(spark_warehouse: SparkWarehouse) -> None:
    assert spark_warehouse.spark.conf.get(SUBSTITUTION) == "false"
    rows = spark_warehouse.spark.newSession().sql(f"SELECT '{_NAME}' AS t").collect()
    assert [row["t"] for row in rows] == [_NAME]


def test_a_user_replaces_what_built_texts_do_not(
    spark_warehouse: SparkWarehouse, table: str, tmp_path: Path
) -> None:
    session = spark_warehouse.spark.newSession()
    session.conf.set(SUBSTITUTION, "true")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    with accelerator.attach(
        session, store=str(tmp_path / "store"), build_in_process_bytes_max=0
    ) as acc:
        own = f"SELECT count(*) AS n, '{_NAME}' AS t FROM {table} WHERE g = '{_NAME}'"
        assert acc.query(own).arrow().to_pylist() == [{"n": 1, "t": "UTC"}]
        assert [row.asDict() for row in acc.sql(own).collect()] == [{"n": 1, "t": "UTC"}]

        cube = (
            f"CREATE CUBE c AS SELECT g, sum(v) AS s FROM {table} WHERE g = {_CONSTANT} GROUP BY g"
        )
        acc.query(cube)
        asked = f"SELECT g, sum(v) AS s FROM {table} WHERE g = {_CONSTANT} GROUP BY g"
        found = acc.query(asked)
        assert found.arrow().to_pylist() == [{"g": _NAME, "s": 3}]
        assert found.metrics.fallback is None
        assert [tuple(row) for row in acc.sql(asked).collect()] == [(_NAME, 3)]
        published = acc.query("PUBLISH CUBE c").arrow()["table"][0].as_py()
        rows = session.sql(f"SELECT * FROM {published}").collect()
        assert [tuple(row) for row in rows] == [(_NAME, 3, 2)]
        acc.query("DROP CUBE c")

        _check_names(acc.services, table)


def _check_names(services: Services, table: str) -> None:
    """A name can't be escaped, so it's refused while Spark would replace it."""
    engine = services.engine
    with pytest.raises(StatementError, match=r"a name has \$\{"):
        services.plain_table(f"SELECT v AS `{_NAME}` FROM {table}", built=True)
    with pytest.raises(StatementError, match=r"a name has \$\{"):
        engine.load(("lake", "d", _NAME))
    assert services.context.columns(("lake", "d", _NAME)) is None
    engine.session.conf.set(SUBSTITUTION, "false")
    assert services.plain_table(f"SELECT v AS `{_NAME}` FROM {table}", built=True).num_rows == 4
    assert unexpanded_in(engine.session, _NAME) == _NAME
