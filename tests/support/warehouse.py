"""The warehouse of a test: statements, fresh tables, pinned tables and sessions of the layer.

Recorded, Spark runs a statement once for all runs; live, it runs each time. Both have one face.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import Row

import accelerator
from accelerator.common.config.config import Config
from accelerator.engines.session_settings import SessionContext
from accelerator.engines.spark.engine import SparkEngine
from accelerator.engines.spark.lazy_engine import SparkSource
from accelerator.iceberg import CatalogSettings, Lake, PinnedTable
from accelerator.session.opening import _manifest_cache, _store
from accelerator.session.session import Accelerator
from rewrite.facts import At
from tests.support.recording.engine import recording
from tests.support.recording.lake import RecordedLake
from tests.support.recording.live import LIVE

MERGE_ON_READ = (
    "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read',"
    " 'write.merge.mode'='merge-on-read'"
)


_LIVE_NUMBERS = itertools.count()
"""Modules with real Spark share its warehouse."""


class SparkWarehouse:
    """The engine, the lake over the same catalog, and fresh table names."""

    def __init__(self, root: Path, engine: SparkEngine, catalog: Path) -> None:
        self.root, self.engine = root, engine
        properties = {"uri": f"sqlite:///{catalog}", "warehouse": root.as_uri() + "/"}
        self.catalogs = [CatalogSettings("lake", "sql", properties)]
        self.lake = Lake(self.catalogs, "lake", lambda: ("d",))
        self.numbers: Iterator[int] = itertools.count()

    @property
    def spark(self) -> Any:
        """The session."""
        return self.engine.session

    def sql(self, text: str) -> list[Row]:
        """Runs a statement; its rows."""
        return list(self.spark.sql(text).collect())

    def table(
        self, columns: str, *, version: int = 2, clauses: str = "", properties: str = ""
    ) -> str:
        """Make an empty merge-on-read table; returns its name."""
        name = f"t{next(self.numbers)}"
        listed = ", ".join(
            part for part in (f"'format-version'='{version}'", MERGE_ON_READ, properties) if part
        )
        self.sql(
            f"CREATE TABLE lake.d.{name} ({columns}) USING iceberg {clauses}"
            f" TBLPROPERTIES ({listed})"
        )
        return name

    def pinned(self, name: str, at: At = At()) -> PinnedTable:  # noqa: B008 - immutable
        """The table's newest state, or the one that is named."""
        found = self.lake.pin().pinned(("lake", "d", name), at)
        assert found is not None
        return found

    def step(self, text: str, run: Callable[[SparkEngine], object]) -> None:
        """Changes the lake by what isn't SQL; the text says all that `run` depends on."""
        run(self.engine)

    def attach(self, **settings: Any) -> Accelerator:
        """A session of the layer over this warehouse; `store` names its folder."""
        return accelerator.attach(self.spark, **settings)

    def live_session(self) -> Any:
        """A session of real Spark over this warehouse, which is nobody else's."""
        return self.spark.newSession()

    def live(self, **settings: Any) -> Accelerator:
        """As `attach`, over real Spark in a session of its own."""
        return accelerator.attach(self.live_session(), **settings)


class RecordedWarehouse(SparkWarehouse):
    """A warehouse whose statements and questions are recorded."""

    def __init__(self, lake: RecordedLake, engine: SparkEngine) -> None:
        super().__init__(lake.warehouse, engine, lake.catalog)
        self.recorded = lake

    def step(self, text: str, run: Callable[[SparkEngine], object]) -> None:
        self.recorded.step(text, run)

    def live_session(self) -> Any:
        return LIVE.over(self.root, self.recorded.catalog).session

    def attach(self, **settings: Any) -> Accelerator:
        return attached(self.engine, self.catalogs, **settings)


def attached(
    source: SparkEngine, catalogs: Sequence[CatalogSettings], /, **settings: Any
) -> Accelerator:
    """A session of the layer over an engine that asks no JVM for the session's state.

    Its cubes are Spark's, recorded as answers are; those that are built in process have own tests.
    """
    conf = {"spark.sql.session.timeZone": "UTC"} | settings.pop("spark_conf", {})
    own = {"catalog_name": "lake", "spark_conf": conf, "build_in_process_bytes_max": 0}
    loaded = Config.load(**own | settings)
    context = SessionContext(loaded, lambda: None)
    lake = Lake(
        catalogs,
        context.catalog,
        context.namespace,
        metadata_max_age_s=loaded.metadata_max_age_s,
        manifest_cache=_manifest_cache(loaded),
    )
    return Accelerator(loaded, lake, _store(loaded), SparkSource(lambda: source), context)


@contextmanager
def recorded_warehouse(name: str, seed: str = "") -> Iterator[RecordedWarehouse]:
    """A warehouse of that name, empty but for the namespace `lake.d`.

    Ids that the layer draws come from the seed, by default the name.
    """
    with ExitStack() as ends:
        lake = RecordedLake(name)
        ends.callback(lake.close)
        engine = ends.enter_context(recording(lake, seed or name))
        yield RecordedWarehouse(lake, engine)


def live_warehouse() -> SparkWarehouse:
    """The warehouse of this process' real Spark."""
    found = SparkWarehouse(LIVE.root, LIVE.engine, LIVE.root / "catalog.db")
    found.numbers = _LIVE_NUMBERS
    return found
