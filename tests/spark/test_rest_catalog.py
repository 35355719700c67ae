"""A session attached over an Iceberg REST catalog: a server that serves tables, by the protocol.

The server hands out what the SQLite catalog of the same warehouse says now (it takes no commits),
so Spark and PyIceberg read the tables through HTTP while the tests change them behind it.
"""

from __future__ import annotations

import gzip
import json
import logging
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

import accelerator
from accelerator.session.session import Accelerator
from rewrite.facts import At
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark
LIVE = True


@dataclass
class RestCatalog:
    """The reading half of Iceberg's REST protocol over the warehouse's own catalog."""

    warehouse: SparkWarehouse
    asked: list[str] = field(default_factory=list)

    @Request.application
    def __call__(self, request: Request) -> Response:
        self.asked.append(f"{request.method} {request.path}")
        match request.path.strip("/").split("/"):
            case ["v1", "config"]:
                return _json({"defaults": {"view-endpoints-supported": "true"}, "overrides": {}})
            case ["v1", "namespaces", name]:
                return _json({"namespace": [name], "properties": {}})
            case ["v1", "namespaces", "d", "tables", name]:
                found = self.warehouse.lake.pin().pinned(("lake", "d", name), At())
                if found is not None:
                    location = found.metadata_location
                    text = Path(location.removeprefix("file://").removeprefix("file:")).read_text()
                    shown = {"metadata-location": location, "metadata": json.loads(text)}
                    return _json({**shown, "config": {}})
            case ["v1", "namespaces", "d", "views", name]:
                shown = self._view(name)
                if shown is not None:
                    return _json({**shown, "config": {}})
                error = {"message": name, "type": "NoSuchViewException", "code": 404}
                return _json({"error": error}, 404)
        error = {"message": request.path, "type": "NoSuchTableException", "code": 404}
        return _json({"error": error}, 404)

    def _view(self, name: str) -> dict[str, object] | None:
        text = "SELECT metadata_location FROM iceberg_tables WHERE table_name = ? AND"
        text += " iceberg_type = 'VIEW'"
        with sqlite3.connect(self.warehouse.root / "catalog.db") as catalog:
            found = catalog.execute(text, (name,)).fetchone()
        if found is None:
            return None
        content = Path(found[0].removeprefix("file://").removeprefix("file:")).read_bytes()
        content = gzip.decompress(content) if found[0].endswith(".gz.metadata.json") else content
        return {"metadata-location": found[0], "metadata": json.loads(content)}


def _json(value: object, status: int = 200) -> Response:
    return Response(json.dumps(value), status=status, mimetype="application/json")


@pytest.fixture(scope="module")
def rest(spark_warehouse: SparkWarehouse) -> Iterator[RestCatalog]:
    served = RestCatalog(spark_warehouse)
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = make_server("127.0.0.1", 0, served, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    conf = spark_warehouse.spark.conf
    conf.set("spark.sql.catalog.rest", "org.apache.iceberg.spark.SparkCatalog")
    conf.set("spark.sql.catalog.rest.type", "rest")
    conf.set("spark.sql.catalog.rest.uri", f"http://127.0.0.1:{server.server_port}")
    conf.set("spark.sql.catalog.rest.cache-enabled", "false")
    yield served
    for key in ("", ".type", ".uri", ".cache-enabled"):
        conf.unset(f"spark.sql.catalog.rest{key}")
    server.shutdown()
    thread.join()


@pytest.fixture
def acc(
    rest: RestCatalog, spark_warehouse: SparkWarehouse, tmp_path: Path
) -> Iterator[Accelerator]:
    with spark_warehouse.attach(store=str(tmp_path)) as session:
        yield session


def test_cubes_over_tables_of_a_rest_catalog(
    rest: RestCatalog, spark_warehouse: SparkWarehouse, acc: Accelerator
) -> None:
    name = spark_warehouse.table("k INT, g STRING, v BIGINT")

    def insert(start: int) -> None:
        spark_warehouse.sql(
            f"INSERT INTO lake.d.{name} SELECT CAST(id AS INT), concat('g', id % 3), id"
            f" FROM range({start}, {start + 50}, 1, 1)"
        )

    insert(0)
    acc.query(f"CREATE CUBE c AS SELECT g, sum(v) s, count(*) n FROM rest.d.{name} GROUP BY g")
    queries = [
        f"SELECT g, sum(v) s FROM rest.d.{name} GROUP BY g",
        f"SELECT count(*) n FROM rest.d.{name} WHERE g <> 'g1'",
    ]
    both = Differential(acc)
    both.check(queries, where="built")
    insert(50)
    spark_warehouse.sql(f"DELETE FROM lake.d.{name} WHERE k = 7")
    both.changed()
    both.check(queries, rewritten=None, where="changed")
    acc.query("BUILD CUBE c")
    both.check(queries, where="built again")
    assert f"GET /v1/namespaces/d/tables/{name}" in rest.asked


def test_views_of_a_rest_catalog(
    rest: RestCatalog, spark_warehouse: SparkWarehouse, acc: Accelerator
) -> None:
    name = spark_warehouse.table("g STRING, v BIGINT")
    spark_warehouse.sql(f"INSERT INTO lake.d.{name} VALUES ('a', 1), ('a', 2), ('b', NULL)")
    spark_warehouse.sql(
        f"CREATE VIEW lake.d.{name}_view AS SELECT g, sum(v) AS s FROM rest.d.{name} GROUP BY g"
    )
    acc.query(f"CREATE CUBE c AS SELECT g, sum(v) FROM rest.d.{name} GROUP BY g")
    both = Differential(acc)
    both.check([f"SELECT g, s FROM rest.d.{name}_view", f"SELECT max(s) FROM rest.d.{name}_view"])
    assert f"GET /v1/namespaces/d/views/{name}_view" in rest.asked
    spark_warehouse.sql(f"DROP VIEW lake.d.{name}_view")


def test_a_table_that_the_catalog_lacks_is_named(acc: Accelerator) -> None:
    with pytest.raises(accelerator.AcceleratorError, match="nothing"):
        acc.query("CREATE CUBE c AS SELECT k, sum(v) s FROM rest.d.nothing GROUP BY k")


def test_a_server_that_is_gone_is_an_error_of_the_statement(
    rest: RestCatalog, spark_warehouse: SparkWarehouse, tmp_path: Path
) -> None:
    """Spark's own error: the accelerator falls back and stands in nobody's way."""
    conf = spark_warehouse.spark.conf
    conf.set("spark.sql.catalog.dead", "org.apache.iceberg.spark.SparkCatalog")
    conf.set("spark.sql.catalog.dead.type", "rest")
    conf.set("spark.sql.catalog.dead.uri", "http://127.0.0.1:1")
    try:
        with spark_warehouse.attach(store=str(tmp_path)) as session:
            name = spark_warehouse.table("k INT")
            assert session.query(f"SELECT count(*) n FROM rest.d.{name}").fetchall() == [(0,)]
    finally:
        for key in ("", ".type", ".uri"):
            conf.unset(f"spark.sql.catalog.dead{key}")
