"""Tables that a reader refuses whole, as a Trino client meets them beside readable ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trino
from trino.exceptions import TrinoUserError

from accelerator.common.config.config import Config
from accelerator.gateway import serving
from tests.support import unreadable_lake as lake

pytestmark = pytest.mark.served


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[trino.dbapi.Connection]:
    """One to a gateway over a readable table and two that Spark or PyIceberg refuses."""
    root: Path = tmp_path_factory.mktemp("unreadable") / "warehouse"
    catalog = lake.catalog_of(root)
    lake.add_table(catalog, "good")
    lake.add_table(catalog, "clock", lake.BY_SPARK["time"][0])
    lake.add_table(catalog, "shapes", lake.BY_PYICEBERG["geometry"][0])
    catalog.engine.dispose()
    with serving.start(Config.load(None, warehouse=str(root)), workers=1) as gateway:
        found = trino.dbapi.connect(host=gateway.url, user="ann", catalog="lake", schema="d")
        with closing(found):
            yield found


def rows(connection: trino.dbapi.Connection, sql: str) -> list[Any]:
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql)
        return [tuple(row) for row in cursor.fetchall()]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM clock",
        "SELECT sum(v) AS s FROM clock WHERE v > 10",
        "SELECT k FROM clock LIMIT 1",
        "SELECT g.k FROM good g JOIN clock c ON g.k = c.k",
        "BUILD STATISTICS ON lake.d.clock",
        "CREATE CUBE c AS SELECT k, count(*) FROM lake.d.shapes GROUP BY k",
    ],
)
def test_a_statement_over_it_says_why_and_what_to_do(
    connection: trino.dbapi.Connection, sql: str
) -> None:
    with pytest.raises(TrinoUserError) as raised:
        rows(connection, sql)
    error = raised.value
    column, type_ = ("t", "time") if "clock" in sql else ("t", "geometry(EPSG:3857)")
    assert error.error_name == "NOT_SUPPORTED"
    assert f"column {column} is {type_}" in error.message and "hint" in error.message.lower()


def test_its_neighbours_are_answered_and_listed(connection: trino.dbapi.Connection) -> None:
    assert rows(connection, "SELECT count(*), sum(v) FROM good") == [(6, 120)]
    tables = {name for (name,) in rows(connection, "SHOW TABLES")}
    assert {"good", "clock", "shapes"} <= tables
    listed = rows(
        connection,
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = 'd' AND table_name = 'good'",
    )
    assert listed == [("k",), ("v",)]
    assert rows(connection, "SHOW CONSTRAINTS") is not None
