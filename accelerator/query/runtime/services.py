"""What a session's parts work with: the lake, the store, the engines, the settings.

A part is given this value, never the session: nothing here knows of statements or of plans being
answered.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from accelerator.common.config.config import ENV_FILE, FILE_NAME, Config
from accelerator.common.stage_timer import staged
from accelerator.engines.choice import EngineChoice, cache_folder
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.engines.session_settings import SessionContext
from accelerator.engines.spark.dataframe_leases import HeldFrames
from accelerator.engines.spark.lazy_engine import SparkSource
from accelerator.engines.spark.manifest_job import SparkJobs
from accelerator.iceberg import Lake
from accelerator.iceberg.manifests.job import JobRule, ManifestJobs
from accelerator.planning.context import PlannerServices
from accelerator.planning.planner import Planner
from accelerator.query.early_errors.refused_tables import typed
from accelerator.query.recording.session_log import SessionLog
from accelerator.query.results.batch_readers import OpenStreams
from accelerator.query.runtime.cancellation import Cancellation
from accelerator.query.runtime.failures import Failures
from accelerator.store import CubeRecord, IndexRecord, Store

if TYPE_CHECKING:
    import pyarrow as pa

    from accelerator.artifacts.relate.dimensions import Dimensions
    from accelerator.artifacts.sidecars.probe import IndexProbe
    from accelerator.builds.builder import ArtifactBuilder, BuildServices
    from accelerator.builds.segments.builder import SegmentBuilder
    from accelerator.builds.sidecars.builder import IndexBuilder
    from accelerator.engines.spark.engine import SparkEngine
    from accelerator.iceberg.tables.footprints import Footprints
    from accelerator.store.journals.query_log.hits import Uses
    from accelerator.store.journals.run import Every


class Services(Struct, frozen=True, dict=True):
    """Of one session; threads share it. What is costly is made when it's first asked for."""

    config: Config
    lake: Lake
    store: Store
    spark_source: SparkSource
    context: SessionContext
    duckdb: DuckDBEngine
    cancellation: Cancellation
    failures: Failures = field(default_factory=Failures)
    frames: HeldFrames = field(default_factory=HeldFrames)
    streams: OpenStreams = field(default_factory=OpenStreams)

    @classmethod
    def of(
        cls,
        config: Config,
        lake: Lake,
        store: Store,
        spark: SparkSource,
        context: SessionContext,
        private: Sequence[str] = (),
    ) -> Services:
        """Makes a DuckDB for the session; jobs decode manifests if the settings allow it.

        No table's location may contain the `private` files, the store or the configuration.
        """
        memory = config.memory()
        named = (os.environ.get(ENV_FILE), FILE_NAME)
        settings = (str(Path(one).absolute()) for one in named if one and Path(one).is_file())
        duckdb = DuckDBEngine(
            threads=config.duckdb_threads,
            memory=config.duckdb_memory or memory.duckdb,
            cache_bytes=memory.cache,
            rows_bytes=memory.rows,
            folders=(*store.folders, *lake.folders),
            private=(*store.folders, *settings, *private),
            spill_folder=config.duckdb_spill_folder,
            spill_bytes=config.duckdb_spill_bytes_max,
        )
        cancellation = Cancellation(duckdb, spark)
        rule = JobRule(config.manifest_jobs, config.manifest_jobs_bytes_min)
        lake.use_jobs(ManifestJobs(rule, SparkJobs(spark, cancellation.tracked)))
        return cls(config, lake, store, spark, context, duckdb, cancellation)

    @property
    def engine(self) -> SparkEngine:
        """The Spark engine; its session starts when that is asked for."""
        return self.spark_source.engine()

    @cached_property
    def log(self) -> SessionLog:
        """The query log, as far as the session writes it."""
        return SessionLog(self.config, self.store.files)

    @cached_property
    def uses(self) -> Uses:
        """Which cubes and indexes have answered, by the query log."""
        from accelerator.store.journals.query_log.hits import Uses  # imports Arrow's compute module

        return Uses(self.store.files, self.log.unwritten)

    @cached_property
    def footprints(self) -> Footprints:
        """Where the tables' files lie, as far as vacuums have read it."""
        from accelerator.iceberg.tables.footprints import Footprints

        return Footprints()

    @cached_property
    def refreshes(self) -> Every:
        """What was run of refreshes, and what runs, by all processes."""
        from accelerator.store.journals.claims import Claims
        from accelerator.store.journals.run import REFRESH, Every

        return Every(Claims(self.store.files), REFRESH)

    @cached_property
    def choice(self) -> EngineChoice:
        """Which engine reads rows."""
        return EngineChoice(self.config, self.spark_source, cache_folder(self.config))

    @cached_property
    def planner(self) -> Planner:
        """Statements to plans."""
        parts = PlannerServices(
            lambda: self.indexes, lambda: self.dimensions, lambda: self.duckdb, self.choice
        )
        return Planner(self.lake, self.store, self.config, self.context, parts)

    @cached_property
    def builder(self) -> SegmentBuilder:
        """Builds what cubes lack."""
        from accelerator.builds.segments.builder import SegmentBuilder

        return SegmentBuilder(self._building)

    @cached_property
    def indexes(self) -> IndexProbe:
        """What the tables' indexes prove."""
        from accelerator.artifacts.sidecars.probe import (
            IndexProbe,  # imports Arrow's compute module
        )

        return IndexProbe(self.store, lambda error: self.failures.count("index_unreadable", error))

    @cached_property
    def dimensions(self) -> Dimensions:
        """What the dimensions of relate columns say of keys."""
        from accelerator.artifacts.relate.dimensions import (
            Dimensions,  # imports Arrow's compute module
        )

        engine, rows_max = self.spark_source.engine, self.config.relate_lookup_rows_max
        return Dimensions(self.lake, engine, lambda: self.duckdb, rows_max)

    @cached_property
    def index_builder(self) -> IndexBuilder:
        """Defines and builds indexes."""
        from accelerator.builds.sidecars.builder import IndexBuilder

        return IndexBuilder(self._building)

    @property
    def _building(self) -> BuildServices:
        from accelerator.builds.builder import BuildServices

        return BuildServices(
            self.lake,
            self.store,
            self.config,
            self.spark_source.engine,
            lambda: self.spark_source.started,
            self.context.settings,
            self.duckdb,
            lambda: self.dimensions,
            self.cancellation.check,
        )

    def builder_of(self, record: CubeRecord | IndexRecord) -> ArtifactBuilder[Any, Any, Any, Any]:
        """Returns what builds the cube or index."""
        return self.builder if isinstance(record, CubeRecord) else self.index_builder

    @staged("spark")
    def plain_table(self, sql: str, *, built: bool = False) -> pa.Table:
        """A statement's rows by plain Spark; UnreadableTableError if Spark refuses a table.

        `built`: the text is no user's, so that Spark replaces no `${…}` in it.
        """
        with self.cancellation.tracked() as tag:
            engine = self.engine
            session = engine.session
            with engine.tagged(tag), typed(sql, self.lake, self.context):
                return (engine.built(sql) if built else session.sql(sql)).toArrow()

    def close(self) -> None:
        """Frees what these hold: leases, pins, DuckDB, and Spark if it was started here."""
        if self.streams.is_any_read:
            self.cancellation.cancel()  # what a reader waits for
        self.streams.close()
        self.frames.close()
        self.store.close()
        self.duckdb.close()
        self.spark_source.stop()
