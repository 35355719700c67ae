"""Staging chosen data files for Spark's reader: plan once, filter in the JVM, cache under an id.

Promises: the staged table is the pinned metadata itself (not the table as it is by now), its
current schema is the pinned one, and each chosen file's task carries the deletes of the pinned
snapshot. What can't be staged exactly raises, so that the caller runs the plain statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from accelerator.engines.spark.jvm.classes import Jvm
from accelerator.engines.spark.jvm.errors import Java
from accelerator.errors import EngineError
from accelerator.iceberg import LiveFile, PinnedTable
from rewrite.identifiers.quoting import backticked

ROW_LINEAGE_VERSION = 3
FILE_NAME = "input_file_name()"
_CORE = "org.apache.iceberg"
_TABLES = f"{_CORE}.spark.SparkTableCache"
_TASKS = f"{_CORE}.spark.ScanTaskSetManager"


class SelectionUnsupportedError(EngineError):
    """These files can't be read as a selection; the plain statement must run."""

    code = "selection_unsupported"


class SelectionSchemaError(SelectionUnsupportedError):
    """The table can't be read under the pinned schema."""

    code = "selection_schema_unsupported"


def stage_selection(
    jvm: Jvm, current: Java, named: tuple[str, PinnedTable], files: Sequence[LiveFile]
) -> Java:
    """Stage the files under the name; returns the Java table that `unstage_selection` takes."""
    name, pinned = named
    table = _pinned_table(jvm, current, pinned)
    tasks = file_tasks(jvm, table, pinned, files)
    jvm.singleton(_TABLES).add(name, table)
    jvm.singleton(_TASKS).stageTasks(table, name, tasks)
    return table


def selection_sql(relation: str, pinned: PinnedTable) -> str:
    """The staged relation with the pinned columns and `_file`, the path of each row's data file.

    Spark shows no metadata columns of a staged v3 table (its row lineage columns stand in their
    place), but knows the file that a row was read from.
    """
    file = "`_file`" if pinned.metadata.format_version < ROW_LINEAGE_VERSION else FILE_NAME
    columns = ", ".join(backticked(column.name) for column in pinned.facts.columns)
    return f"(SELECT {columns}, {file} AS `_file` FROM {relation})"


def unstage_selection(jvm: Jvm, table: Java, name: str) -> None:
    """Forget the tasks and the table of that name."""
    jvm.singleton(_TASKS).removeTasks(table, name)
    jvm.singleton(_TABLES).remove(name)


def empty_relation(pinned: PinnedTable) -> str:
    """No rows, under the same columns as a staged selection."""
    columns = [(column.name, column.type) for column in pinned.facts.columns]
    columns.append(("_file", "string"))
    listed = ", ".join(f"CAST(NULL AS {kind}) AS {backticked(name)}" for name, kind in columns)
    return f"(SELECT {listed} WHERE false)"


def _pinned_table(jvm: Jvm, current: Java, pinned: PinnedTable) -> Java:
    """A Java table over the pinned metadata file, whatever was committed since."""
    metadata = pinned_metadata(jvm, current, pinned)
    operations = jvm.new(f"{_CORE}.StaticTableOperations", metadata, current.io())
    return jvm.new(f"{_CORE}.BaseTable", operations, pinned.facts.name)


def pinned_metadata(jvm: Jvm, current: Java, pinned: PinnedTable) -> Java:
    """The Java metadata that the table was pinned at, with its schema as the current one."""
    metadata = _metadata(jvm, current, pinned)
    if metadata.currentSchemaId() != pinned.facts.schema_id:
        builder = jvm.static(f"{_CORE}.TableMetadata", "buildFrom", metadata)
        metadata = builder.setCurrentSchema(pinned.facts.schema_id).discardChanges().build()
    if metadata.currentSchemaId() != pinned.facts.schema_id:
        raise SelectionSchemaError(
            f"{pinned.facts.name} can't be read under schema {pinned.facts.schema_id}",
            hint="the statement runs as plain Spark SQL instead",
        )
    return metadata


def _metadata(jvm: Jvm, current: Java, pinned: PinnedTable) -> Java:
    known = current.operations().current()
    if (known.metadataFileLocation(), known.uuid()) == pinned.version:
        return known
    parser = f"{_CORE}.TableMetadataParser"
    read = jvm.static(parser, "read", current.io(), pinned.metadata_location)
    if read.uuid() != pinned.facts.uuid:
        raise EngineError(
            f"{pinned.facts.name} was made anew since it was pinned",
            hint="the statement runs as plain Spark SQL instead",
        )
    return read


def file_tasks(jvm: Jvm, table: Java, pinned: PinnedTable, files: Sequence[LiveFile]) -> Java:
    """One whole-file task for each chosen file, as a Java list."""
    _check_whole_paths(pinned, files)
    scan = table.newScan().useSnapshot(pinned.facts.snapshot_id)
    planned = scan.planFiles()
    try:
        tasks = jvm.listed(planned)
    finally:
        planned.close()
    if len(files) < len(pinned.live_files()):
        jvm.keep_where(tasks, _path_of_task(jvm), {file.path for file in files})
    if tasks.size() != len(files):
        raise SelectionUnsupportedError(
            f"Spark plans {tasks.size()} of the {len(files)} chosen files of {pinned.facts.name}",
            hint="the statement runs as plain Spark SQL instead",
        )
    return tasks


def _check_whole_paths(pinned: PinnedTable, files: Sequence[LiveFile]) -> None:
    """A path that the snapshot lists twice is chosen as often, since tasks are told by path."""
    chosen = Counter(file.path for file in files)
    listed = Counter(file.path for file in pinned.live_files())
    if any(listed[path] != count for path, count in chosen.items()):
        raise SelectionUnsupportedError(
            f"the files chosen of {pinned.facts.name} aren't whole paths of its snapshot",
            hint="the statement runs as plain Spark SQL instead",
        )


def _path_of_task(jvm: Jvm) -> tuple[Java, Java]:
    content = f"{_CORE}.ContentFile"
    return (
        jvm.getter(f"{_CORE}.ContentScanTask", "file", jvm.type(content)),
        jvm.getter(content, "location", jvm.type("java.lang.String")),
    )
