"""SSB's 13 queries over tables of catalogs that run here, in process, beside plain Spark.

Tables on disk are the ones that Spark wrote, registered in each catalog; those on S3 have the same
rows by PyIceberg. Cubes and constraints are made through each catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.services.verification.compare import differ
from bench.ssb.cubes import CUBES, constraints
from bench.ssb.generate import TABLES, generate
from bench.ssb.load import load
from bench.ssb.queries import NAMESPACE, QUERIES
from rewrite.facts import At
from tests.accelerator.store.s3_server import VENDED, make_bucket, options_of, serving
from tests.spark.conftest import SparkWarehouse
from tests.support import postgres
from tests.support.rest_catalog import CREDENTIAL, RestCatalogServer

pytestmark = pytest.mark.spark
LIVE = True
_SCALE = 0.01
_REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Plain:
    """Plain Spark's answers, the metadata files of its tables, and the same rows as Parquet."""

    answers: Mapping[str, pa.Table]
    locations: Mapping[str, str]
    parquet: Path

    def rows(self, table: str) -> pa.Table:
        return pq.read_table(self.parquet / table)


@pytest.fixture(scope="module")
def plain(spark_warehouse: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory) -> Plain:
    parquet = tmp_path_factory.mktemp("parquet")
    generate(parquet, _SCALE)
    load(spark_warehouse.spark, parquet)
    pins = spark_warehouse.lake.pin()
    locations = {}
    for table in TABLES:
        pinned = pins.pinned(("lake", NAMESPACE, table), At())
        assert pinned is not None
        locations[table] = pinned.metadata_location
    answers = {one.name: spark_warehouse.spark.sql(one.sql()).toArrow() for one in QUERIES}
    return Plain(answers, locations, parquet)


@contextmanager
def _sqlite(plain: Plain, folder: Path) -> Iterator[Accelerator]:
    uri = f"sqlite:///{folder / 'other words.meta'}"
    yield _over_registered(plain, folder, uri)


@contextmanager
def _postgres(plain: Plain, folder: Path) -> Iterator[Accelerator]:
    programs = postgres.binaries()
    if programs is None:
        pytest.skip("PostgreSQL's server isn't installed")
    with postgres.running(programs) as server:
        yield _over_registered(plain, folder, server.uri)


def _over_registered(plain: Plain, folder: Path, uri: str) -> Accelerator:
    warehouse = {"warehouse": (folder / "files").as_uri()}
    catalog = SqlCatalog("shop", uri=uri, **warehouse)
    catalog.create_namespace(NAMESPACE)
    for table, location in plain.locations.items():
        catalog.register_table(f"{NAMESPACE}.{table}", location)
    catalog.engine.dispose()
    return accelerator.open(catalog_name="shop", catalog_uri=uri, catalog_properties=warehouse)


@contextmanager
def _s3(plain: Plain, folder: Path) -> Iterator[Accelerator]:
    with serving() as (_door, endpoint):
        catalog, properties = _on_s3(plain, folder, endpoint)
        yield accelerator.open(
            catalog_name="shop",
            catalog_uri=catalog.properties["uri"],
            catalog_properties=properties,
            store=str(folder / "store"),
        )
        catalog.engine.dispose()


@contextmanager
def _rest(plain: Plain, folder: Path) -> Iterator[Accelerator]:
    """Tables on S3, of which credentials are vended with each load; older ones have expired."""
    numbers = count()
    with serving() as (door, endpoint):

        def vend() -> dict[str, str]:
            token = f"token-{next(numbers)}"
            door.tokens.add(token)
            if len(door.tokens) > len(TABLES):  # a statement loads each table once
                door.tokens.remove(f"token-{int(token[6:]) - len(TABLES)}")
            return _keys(endpoint) | {"s3.access-key-id": VENDED, "s3.session-token": token}

        catalog, _ = _on_s3(plain, folder, endpoint)
        with RestCatalogServer(catalog, token_requests=20, vend=vend).running() as server:
            yield accelerator.open(
                catalog_name="shop",
                catalog_uri=server.uri,
                catalog_properties={"credential": CREDENTIAL},
                store=str(folder / "store"),
            )
            assert server.vended > len(QUERIES)
            assert len(server.tokens) > 1
            assert door.counts["GET"]
        catalog.engine.dispose()


def _on_s3(plain: Plain, folder: Path, endpoint: str) -> tuple[SqlCatalog, dict[str, str]]:
    make_bucket(endpoint, "lake")
    properties = {"warehouse": "s3://lake/files", **_keys(endpoint)}
    catalog = SqlCatalog("shop", uri=f"sqlite:///{folder / 'shop.db'}", **properties)
    catalog.create_namespace(NAMESPACE)
    for table in TABLES:
        rows = plain.rows(table)
        made = catalog.create_table(f"{NAMESPACE}.{table}", rows.schema)
        half = rows.num_rows // 2
        made.append(rows.slice(0, half))
        made.append(rows.slice(half))
    return catalog, properties


def _keys(endpoint: str) -> dict[str, str]:
    keys = options_of(endpoint)
    return {
        "s3.endpoint": endpoint,
        "s3.region": _REGION,
        "s3.access-key-id": keys["aws_access_key_id"],
        "s3.secret-access-key": keys["aws_secret_access_key"],
    }


Place = Callable[[Plain, Path], AbstractContextManager[Accelerator]]


@pytest.mark.long
@pytest.mark.parametrize("place", [_sqlite, _postgres, _s3, _rest])
def test_the_queries_answer_as_plain_spark_does(place: Place, plain: Plain, tmp_path: Path) -> None:
    with place(plain, tmp_path) as acc, acc:
        _compare(acc, plain, cubes=False)
        for _table, _name, statement in constraints():
            acc.query(statement)
        for cube in CUBES:
            acc.query(cube.create())
        _compare(acc, plain, cubes=True)
        assert not acc.spark_started


def _compare(acc: Accelerator, plain: Plain, *, cubes: bool) -> None:
    for query in QUERIES:
        found: Any = acc.query(query.sql())
        metrics = found.metrics
        assert (metrics.engine, metrics.fallback) == ("duckdb", None), query.name
        assert bool(metrics.cubes) == cubes, query.name
        table = found.arrow()
        assert table.schema.names == plain.answers[query.name].schema.names
        assert not differ(table, plain.answers[query.name]), query.name
