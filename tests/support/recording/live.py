"""The one real Spark of a test process: started when first needed, one session for each lake.

Its settings make small statements cheap, and change no answer: the quick compiler alone, one
garbage collector thread, plans interpreted rather than compiled, no re-planning between stages.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from accelerator.engines.spark.catalogs.java import OWN_SCHEMA, java_catalog
from accelerator.engines.spark.engine import SparkEngine, SparkSettings
from accelerator.iceberg import CatalogSettings

JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
CONF = {
    "spark.driver.extraJavaOptions": JVM,
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    # Compiling a plan takes longer than interpreting it over so few rows, and so does planning
    # again between stages.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


class Live:
    """The engine of a process, over a catalog of its own in a temporary folder."""

    def __init__(self) -> None:
        self._engine: SparkEngine | None = None
        self._root: Path | None = None

    @property
    def root(self) -> Path:
        """The folder of its own warehouse."""
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix="accelerator-spark-"))
        return self._root

    @property
    def engine(self) -> SparkEngine:
        """The engine; its session runs."""
        if self._engine is None:
            settings = SparkSettings(master="local[2]", driver_memory="2g", conf=CONF)
            engine = SparkEngine.embedded([_lake(self.root, self.root / "catalog.db")], settings)
            with _jars().open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # one of several processes fetches the jars
                engine.session.sql("CREATE NAMESPACE IF NOT EXISTS lake.d")
            self._engine = engine
            atexit.register(self._stop)
        return self._engine

    def _stop(self) -> None:
        if self._engine is not None:
            self._engine.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def started(self) -> bool:
        """Whether it runs."""
        return self._engine is not None

    def over(self, folder: Path, catalog: Path) -> SparkEngine:
        """An engine whose `lake` is another catalog."""
        session = self.engine.session.newSession()
        for key, value in CONF.items():
            if session.conf.isModifiable(key):
                session.conf.set(key, value)
        for key, value in java_catalog(_lake(folder, catalog)).properties.items():
            session.conf.set(f"spark.sql.catalog.lake{key and '.'}{key}", value)
        session.conf.set(
            "spark.sql.catalog.pruned", "org.apache.iceberg.spark.SparkRewriteTableCatalog"
        )
        session.conf.set("spark.sql.defaultCatalog", "lake")
        return SparkEngine(lambda: session, owned=False)


def _lake(folder: Path, catalog: Path) -> CatalogSettings:
    properties = {
        "uri": f"sqlite:///{catalog}",
        "warehouse": folder.as_uri() + "/",
        OWN_SCHEMA: "V1",
    }
    return CatalogSettings("lake", "sql", properties)


def _jars() -> Path:
    return Path(tempfile.gettempdir()) / f"accelerator-jars-{os.getuid()}.lock"


LIVE = Live()
