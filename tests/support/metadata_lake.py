"""Two catalogs with tables, views and schemas of odd names, and how clients ask about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)
from sqlalchemy import text

from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.catalog import GatewayFacts, Metadata
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.nodes import ClientSession
from accelerator.iceberg import CatalogSettings, Lake

_WIDE = Schema(
    NestedField(1, "id", LongType(), required=True, doc="the key"),
    NestedField(2, "at", TimestamptzType()),
    NestedField(3, "price", DecimalType(10, 2)),
    NestedField(
        4,
        "who",
        StructType(NestedField(5, "First name", StringType()), NestedField(6, "age", LongType())),
    ),
    NestedField(7, "tags", ListType(8, StringType())),
    NestedField(9, "more", MapType(10, StringType(), 11, BinaryType())),
)
ANN = ClientSession(user="ann", catalog="lake", schema="shop")
_VIEW = {
    "view-uuid": "00000000-0000-0000-0000-000000000001",
    "format-version": 1,
    "location": "file:///v",
    "current-version-id": 1,
    "schemas": [
        {
            "type": "struct",
            "schema-id": 0,
            "fields": [{"id": 1, "name": "n", "required": False, "type": "long"}],
        }
    ],
    "versions": [
        {
            "version-id": 1,
            "timestamp-ms": 1,
            "schema-id": 0,
            "summary": {"engine-name": "spark"},
            "default-namespace": ["shop"],
            "representations": [
                {"type": "sql", "sql": "SELECT count(*) AS n FROM orders", "dialect": "spark"}
            ],
        }
    ],
    "version-log": [{"timestamp-ms": 1, "version-id": 1}],
}


class OpenedLake:
    """A lake of two catalogs, `lake` and `bank`, and how it's asked; `hidden` isn't seen."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.settings = [_filled(root, "lake"), _filled(root, "bank")]
        self.metadata = Metadata(Lake(self.settings, "lake", tuple), version="480")
        self.hidden: set[tuple[str, ...]] = set()

    def may_see(self, catalog: str, schema: str | None, table: str | None) -> bool:
        """Whether it isn't hidden."""
        parts = (catalog, *(one for one in (schema, table) if one is not None))
        return parts not in self.hidden

    def ask(
        self,
        request: nodes.Request | str,
        client: ClientSession = ANN,
        given: GatewayFacts = GatewayFacts(),  # noqa: B008 - immutable
    ) -> pa.Table | None:
        """The answer to a request, or to a query."""
        asked = nodes.RunStatement(request) if isinstance(request, str) else request
        return self.metadata.answer(asked, client, self.may_see, given, self.check_read)

    def check_read(self, full: tuple[str, str, str]) -> None:
        """AccessDeniedError for what is hidden."""
        if full in self.hidden:
            raise AccessDeniedError("there is no such table that you may read")

    def rows(self, request: nodes.Request | str, **told: Any) -> list[tuple[Any, ...]]:
        """Its rows."""
        found = self.ask(request, **told)
        assert found is not None
        return list(zip(*(one.to_pylist() for one in found.columns), strict=True))


def _filled(root: Path, name: str) -> CatalogSettings:
    folder = root / name
    folder.mkdir()
    properties = {"uri": f"sqlite:///{folder / 'catalog.db'}", "warehouse": folder.as_uri()}
    catalog = SqlCatalog(name, **properties)
    for one in ("shop", "empty", "my.own"):
        catalog.create_namespace(one)
    rows = pa.table({"k": pa.array([1, 2, None], pa.int64()), "s": ["x", None, "z"]})
    catalog.create_table("shop.orders", rows.schema).append(rows)
    catalog.create_table("shop.days", rows.schema, properties={"comment": "it's the days"})
    catalog.create_table("my.own.orders", rows.schema)
    catalog.create_table(
        "shop.Wide",
        _WIDE,
        partition_spec=PartitionSpec(
            PartitionField(2, 1000, DayTransform(), "at_day"),
            PartitionField(1, 1001, BucketTransform(8), "id_bucket"),
            PartitionField(3, 1002, IdentityTransform(), "price"),
        ),
        sort_order=SortOrder(
            SortField(1, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST)
        ),
    )
    file = folder / "v.metadata.json"
    file.write_text(json.dumps(_VIEW))
    with catalog.engine.begin() as connection:  # as Spark's own catalog has views
        connection.execute(
            text(
                "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
                " metadata_location, iceberg_type) VALUES (:c, 'shop', 'counted', :m, 'VIEW')"
            ),
            {"c": name, "m": str(file)},
        )
    catalog.engine.dispose()
    return CatalogSettings(name, "sql", properties)
