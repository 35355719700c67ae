"""How an embedded Spark session is configured; pure, so that it can be read without Spark.

The time zone is left at the machine's, as plain Spark would have it; `SparkSettings.conf` may set
it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

PACKAGES = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.xerial:sqlite-jdbc:3.50.3.0",
)
REWRITE_CATALOG = "org.apache.iceberg.spark.SparkRewriteTableCatalog"
_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """How an embedded session is started; `conf` has the last word."""

    master: str = "local[*]"
    driver_memory: str = "4g"
    packages: tuple[str, ...] = PACKAGES
    conf: Mapping[str, str] = field(default_factory=dict)


def embedded_conf(
    warehouse: str, catalog_name: str, catalog_db: str, settings: SparkSettings
) -> dict[str, str]:
    """What an embedded session is configured with: one SQLite catalog, the default one."""
    catalog = f"spark.sql.catalog.{catalog_name}"
    return {
        "spark.jars.packages": ",".join(settings.packages),
        "spark.driver.memory": settings.driver_memory,
        "spark.sql.extensions": _EXTENSIONS,
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "jdbc",
        f"{catalog}.uri": f"jdbc:sqlite:{catalog_db}",
        f"{catalog}.jdbc.schema-version": "V1",
        f"{catalog}.warehouse": warehouse,
        f"{catalog}.cache-enabled": "false",  # other processes commit too; every read is fresh
        "spark.sql.catalog.pruned": REWRITE_CATALOG,
        "spark.sql.defaultCatalog": catalog_name,
        "spark.sql.shuffle.partitions": str(max(4, 2 * (os.cpu_count() or 1))),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        **settings.conf,
    }
