"""Segment files in Spark: local ones by Spark's Parquet source, others by Iceberg's FileIO.

Spark's own source needs Hadoop's client of an object store, which few sessions have; Iceberg's
FileIO is there with the catalog. A cube's segment files make an Iceberg table that is in no
catalog: tasks write to it and read from it as from any other one, and nothing is committed. The
fields of its schema are numbered by their place, as in each file that Iceberg wrote. Files that
DuckDB wrote have no field ids, and are read by names.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from accelerator.engines.spark.jvm.errors import Java, JvmError, java_errors
from accelerator.errors import EngineError
from accelerator.store import Store
from accelerator.store.files.s3_options import file_io_properties, store_options_of
from rewrite.identifiers.quoting import backticked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from accelerator.engines.spark.jvm.classes import Jvm
    from accelerator.iceberg import CatalogSettings

_CORE = "org.apache.iceberg"
_TABLES = f"{_CORE}.spark.SparkTableCache"
_TASKS = f"{_CORE}.spark.ScanTaskSetManager"
_WRITTEN = f"{_CORE}.spark.FileRewriteCoordinator"
_S3_IO = f"{_CORE}.aws.s3.S3FileIO"
_ROW_GROUP_BYTES = 16 * 1024 * 1024
_HINT = (
    "Spark reads and writes segments by the FileIO of the table's catalog: check that it may reach"
    " the store, or set store_options with the store's keys"
)


class StagingEngine(Protocol):
    """The part of Spark's engine that stages files as tables."""

    @property
    def session(self) -> SparkSession: ...

    @property
    def jvm(self) -> Jvm: ...

    def catalog_settings(self) -> list[CatalogSettings]: ...

    def selection_catalog(self) -> str: ...

    def load(self, parts: tuple[str, ...]) -> Java: ...


def segments_writer(
    engine: StagingEngine, table: tuple[str, ...], store: Store
) -> Callable[[DataFrame, str], None] | None:
    """Returns a function that writes cells as Parquet files under a URI; None for a local store.

    `table` is the full name of the fact table, whose FileIO is used. The function raises
    EngineError, and Spark's errors.
    """
    if store.is_local:
        return None

    def write(cells: DataFrame, uri: str) -> None:
        name = uuid.uuid4().hex
        with ExitStack() as staged:
            try:
                target = _standing(engine, table, store, cells.schema, uri)
                _stage(engine, name, target, staged)
            except JvmError as error:
                raise _unusable(uri, error) from error
            writer = cells.writeTo(_relation(engine, name))
            writer.option("rewritten-file-scan-task-set-id", name).append()

    return write


def segments_frame(
    engine: StagingEngine,
    table: tuple[str, ...],
    store: Store,
    schema: str,
    files: Mapping[str, int],
    leases: ExitStack,
) -> DataFrame:
    """Returns the rows of segment files (URI → bytes) under that schema.

    What Spark reads stays staged until `leases` is closed. StoreError if a file isn't under the
    store, EngineError if the FileIO can't be had.
    """
    store.check_inside(files)
    if store.is_local:
        return engine.session.read.schema(schema).parquet(*sorted(files))
    wanted = DataType.fromDDL(schema)
    assert isinstance(wanted, StructType)
    name = uuid.uuid4().hex
    try:
        staged = _standing(engine, table, store, wanted, store.uri)
        _stage(engine, name, staged, leases)
        with java_errors():
            tasks = _tasks(engine, staged, files)
            engine.jvm.singleton(_TASKS).stageTasks(staged, name, tasks)
            leases.callback(_removed, engine, staged, name)
    except JvmError as error:
        raise _unusable(store.uri, error) from error
    frame = engine.session.table(_relation(engine, name))
    # Iceberg has no SMALLINT, for one.
    return frame.select([F.col(one.name).cast(one.dataType) for one in wanted.fields])


def _unusable(uri: str, error: JvmError) -> EngineError:
    return EngineError(f"Spark can't use the segments under {uri}: {error}", hint=_HINT)


def _relation(engine: StagingEngine, name: str) -> str:
    return f"{engine.selection_catalog()}.{backticked(name)}"


def _stage(engine: StagingEngine, name: str, table: Java, leases: ExitStack) -> None:
    with java_errors():
        engine.jvm.singleton(_TABLES).add(name, table)
    leases.callback(_unstage, engine, name, table)


def _unstage(engine: StagingEngine, name: str, table: Java) -> None:
    with java_errors():
        engine.jvm.singleton(_WRITTEN).clearRewrite(table, name)
        engine.jvm.singleton(_TABLES).remove(name)


def _removed(engine: StagingEngine, table: Java, name: str) -> None:
    with java_errors():
        engine.jvm.singleton(_TASKS).removeTasks(table, name)


def _standing(
    engine: StagingEngine, table: tuple[str, ...], store: Store, schema: StructType, uri: str
) -> Java:
    """Makes the Iceberg table of segment files, which is in no catalog."""
    jvm = engine.jvm
    with java_errors():
        java_schema = engine.session._jsparkSession.parseDataType(schema.json())
        converted = jvm.static(f"{_CORE}.spark.SparkSchemaUtil", "convert", java_schema)
        spec = jvm.static(f"{_CORE}.PartitionSpec", "unpartitioned")
        properties = _java_map(
            engine,
            {
                "write.parquet.compression-codec": "snappy",
                "write.parquet.row-group-size-bytes": str(_ROW_GROUP_BYTES),
                "write.distribution-mode": "none",
                "write.data.path": uri,
            },
        )
        made = f"{_CORE}.TableMetadata"
        numbered = jvm.static(made, "newTableMetadata", converted, spec, uri, properties)
        fields = json.loads(str(jvm.static(f"{_CORE}.SchemaParser", "toJson", numbered.schema())))
        properties.put("schema.name-mapping.default", json.dumps(_names(fields["fields"])))
        metadata = jvm.static(made, "newTableMetadata", converted, spec, uri, properties)
        located = jvm.static(
            f"{_CORE}.LocationProviders", "locationsFor", uri, metadata.properties()
        )
        io = _file_io(engine, table, store)
        operations = jvm.new(f"{_CORE}.StaticTableOperations", metadata, io, located)
        return jvm.new(f"{_CORE}.BaseTable", operations, "segments")


def _names(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Iceberg's mapping of names to field ids, as JSON values; lists are of plain values."""
    found = []
    for field in fields:
        one: dict[str, Any] = {"field-id": field["id"], "names": [field["name"]]}
        if isinstance(field["type"], dict):
            one["fields"] = [{"field-id": field["type"]["element-id"], "names": ["element"]}]
        found.append(one)
    return found


def _file_io(engine: StagingEngine, table: tuple[str, ...], store: Store) -> Java:
    """The FileIO of the table's catalog; another one if the store has keys of its own."""
    own = {one.name: one.properties for one in engine.catalog_settings()}.get(table[0], {})
    properties = file_io_properties(store.uri, store.options)
    if not properties or dict(store.options) == store_options_of(store.uri, own):
        return engine.load(table).io()
    conf = engine.session.sparkContext._jsc.hadoopConfiguration()
    given = _java_map(engine, properties)
    return engine.jvm.static(f"{_CORE}.CatalogUtil", "loadFileIO", _S3_IO, given, conf)


def _tasks(engine: StagingEngine, table: Java, files: Mapping[str, int]) -> Java:
    """One whole-file task for each file, as a Java list."""
    jvm = engine.jvm
    spec = jvm.static(f"{_CORE}.PartitionSpec", "unpartitioned")
    texts = (
        str(jvm.static(f"{_CORE}.SchemaParser", "toJson", table.schema())),
        str(jvm.static(f"{_CORE}.PartitionSpecParser", "toJson", spec)),
    )
    every = jvm.static(f"{_CORE}.expressions.Expressions", "alwaysTrue")
    residual = jvm.static(f"{_CORE}.expressions.ResidualEvaluator", "unpartitioned", every)
    deletes = jvm.static(
        "java.lang.reflect.Array", "newInstance", jvm.type(f"{_CORE}.DeleteFile"), 0
    )
    made = []
    for uri, size in sorted(files.items()):
        builder = jvm.static(f"{_CORE}.DataFiles", "builder", spec).withPath(uri)
        file = builder.withFormat("parquet").withFileSizeInBytes(size).withRecordCount(1).build()
        made.append(jvm.new(f"{_CORE}.BaseFileScanTask", file, deletes, *texts, residual))
    return jvm.listed_of(made)


def _java_map(engine: StagingEngine, values: Mapping[str, str]) -> Java:
    made = engine.jvm.new("java.util.HashMap")
    for name, value in values.items():
        made.put(name, value)
    return made
