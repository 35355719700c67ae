"""How an embedded Spark session is configured; pure, so that it can be read without Spark.

The time zone is left at the machine's, as plain Spark would have it; `SparkSettings.conf` may set
it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from accelerator.common.config.value_kinds import is_off
from accelerator.engines.spark.catalogs.java import check_warehouse, java_catalog
from accelerator.iceberg import CatalogSettings
from rewrite.identifiers.quoting import SUBSTITUTION

PACKAGES = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.xerial:sqlite-jdbc:3.50.3.0",
)
REWRITE_CATALOG = "org.apache.iceberg.spark.SparkRewriteTableCatalog"
EXECUTOR_CACHE = "spark.sql.iceberg.executor-cache.enabled"
CACHED_DELETES = "spark.sql.iceberg.executor-cache.delete-files.enabled"
"""Settings of Iceberg that are on unless a session turns them off. Iceberg 1.12 caches equality
deletes under the type that their column had: once it's widened, deleted rows come back."""
_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


class SparkSettings(Struct, frozen=True):
    """How an embedded session is started; `conf` has the last word.

    What its JVM writes to standard error is kept in a file, or `shown` as it comes.
    """

    master: str = "local[*]"
    driver_memory: str = "4g"
    packages: tuple[str, ...] = PACKAGES
    conf: Mapping[str, str] = field(default_factory=dict)
    shown: bool = False


def caches_deletes(conf: Mapping[str, str]) -> bool:
    """Returns whether a session of these settings may show rows that equality deletes delete."""
    return not any(is_off(conf.get(one, "true")) for one in (EXECUTOR_CACHE, CACHED_DELETES))


def embedded_conf(catalogs: Sequence[CatalogSettings], settings: SparkSettings) -> dict[str, str]:
    """What an embedded session is configured with; the first catalog is the default one.

    ConfigError for a catalog that Spark has no client for, and if the default one has no warehouse.
    """
    check_warehouse(catalogs[0])
    found = [java_catalog(one) for one in catalogs]
    packages = dict.fromkeys((*settings.packages, *(p for one in found for p in one.packages)))
    named = {
        f"spark.sql.catalog.{one.name}{key and '.'}{key}": value
        for one in found
        for key, value in one.properties.items()
    }
    return {
        "spark.jars.packages": ",".join(packages),
        "spark.driver.memory": settings.driver_memory,
        "spark.sql.extensions": _EXTENSIONS,
        EXECUTOR_CACHE: "false",
        SUBSTITUTION: "false",
        **named,
        "spark.sql.catalog.pruned": REWRITE_CATALOG,
        "spark.sql.defaultCatalog": catalogs[0].name,
        "spark.sql.shuffle.partitions": str(max(4, 2 * (os.cpu_count() or 1))),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        **settings.conf,
    }
