"""A session of Spark over a warehouse in HDFS, in a process of its own; reports it as JSON.

Hadoop's mini cluster (a name node and a data node) runs in Spark's JVM. Its classes must be on the
class path of that JVM from the start: `jars` brings them with Spark's packages, in a JVM before.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

import accelerator
from accelerator.engines.spark.session.settings import PACKAGES
from accelerator.services.verification.compare import differ

ASKED = (
    "SELECT count(*) AS n, max(ts) AS last FROM d.t",
    "SELECT id, s, ts FROM d.t WHERE id BETWEEN 7 AND 11",
    "SELECT s, count(*) AS n FROM d.t GROUP BY s",
    "SELECT id FROM d.t ORDER BY id DESC LIMIT 3",
)


def jars() -> None:
    """Prints the jars of the mini cluster, of the release of Spark's own Hadoop."""
    (api,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    release = api.stem.rpartition("-")[2]
    package = f"org.apache.hadoop:hadoop-client-minicluster:{release}"
    session = _builder(",".join((*PACKAGES, package))).getOrCreate()
    paths = session.sparkContext.getConf().get("spark.jars", "").split(",")
    print(json.dumps([one.removeprefix("file://") for one in paths if _is_of_cluster(one)]))


def _is_of_cluster(path: str) -> bool:
    return any(part in path for part in ("minicluster", "junit", "hamcrest"))


def _builder(packages: str) -> Any:
    plain = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    return plain.config("spark.jars.packages", packages)


def main(class_path: str, folder: Path) -> None:
    """Writes Parquet and ORC into HDFS, and asks both ways."""
    builder = _builder(",".join(PACKAGES)).config("spark.driver.extraClassPath", class_path)
    session = builder.getOrCreate()
    jvm = session._jvm
    settings = jvm.org.apache.hadoop.conf.Configuration()
    settings.set("hdfs.minidfs.basedir", str(folder / "dfs"))
    make = getattr(jvm.org.apache.hadoop.hdfs, "MiniDFSCluster$Builder")
    cluster = make(settings).numDataNodes(1).build()
    cluster.waitActive()
    try:
        seen = _asked(session, folder, f"hdfs://127.0.0.1:{cluster.getNameNodePort()}/lake")
    finally:
        cluster.shutdown()
    print(json.dumps(seen, default=str))


def _asked(session: Any, folder: Path, warehouse: str) -> dict[str, Any]:
    catalog = "spark.sql.catalog.lake"
    for name, value in {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": warehouse,
        "spark.sql.defaultCatalog": "lake",
    }.items():
        session.conf.set(name, value)
    session.sql("CREATE TABLE lake.d.t (id BIGINT, s STRING, ts TIMESTAMP) USING iceberg")
    for form in ("parquet", "orc"):
        session.sql(f"ALTER TABLE lake.d.t SET TBLPROPERTIES ('write.format.default'='{form}')")
        session.sql(
            "INSERT INTO lake.d.t SELECT id, concat('n', id % 5), timestamp_seconds(id)"
            f" FROM range({0 if form == 'orc' else 500}, {500 if form == 'orc' else 1000})"
        )
    seen: dict[str, Any] = {"differences": [], "reasons": []}
    with accelerator.attach(session, store=str(folder / "store")) as acc:
        for asked in ASKED:
            answer = acc.query(asked.replace("d.t", "lake.d.t"))
            plain = session.sql(asked.replace("d.t", "lake.d.t")).toArrow()
            seen["differences"] += differ(answer.arrow(), plain)
            seen["reasons"].append(answer.metrics.fallback)
        try:
            acc.query("CREATE CUBE c AS SELECT s, count(*) AS n FROM lake.d.t GROUP BY s")
        except accelerator.AcceleratorError as error:
            seen["cube"] = [type(error).__name__, error.hint]
        seen["cubes"] = acc.query("SHOW CUBES").arrow().num_rows
    return seen


if __name__ == "__main__":
    jars() if len(sys.argv) == 1 else main(sys.argv[1], Path(sys.argv[2]))
