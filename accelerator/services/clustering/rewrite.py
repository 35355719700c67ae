"""Data files on their way to others that hold the same rows: staged for Spark, then swapped.

Promises: what is staged is the pinned snapshot, deletes applied; the files that are written become
the table's by one commit, which Iceberg refuses where a row of the old ones was changed meanwhile.
New files keep the sequence number of the pinned snapshot, so that what deletes later spares or hits
the same rows. Until the commit nothing names the new files; what fails deletes them.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from accelerator.engines.spark.file_selection import file_tasks, pinned_metadata
from accelerator.engines.spark.jvm.classes import Jvm
from accelerator.engines.spark.jvm.errors import Java, JvmError, java_errors
from accelerator.errors import ClusteringError
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.iceberg.tables.locations import DATA_PATHS

if TYPE_CHECKING:
    from accelerator.engines.spark.engine import SparkEngine

_log = logging.getLogger("accelerator")
_CORE = "org.apache.iceberg"
_TABLE = f"{_CORE}.Table"
_REWRITE = f"{_CORE}.RewriteFiles"
_WORK = f"{_CORE}.Transaction"
_TABLES = f"{_CORE}.spark.SparkTableCache"
_TASKS = f"{_CORE}.spark.ScanTaskSetManager"
_WRITTEN = f"{_CORE}.spark.FileRewriteCoordinator"
_PREFIXES = f"{_CORE}.io.SupportsPrefixOperations"
_KEY = "encryption.key-id"
_CHANGED = ("ValidationException", "CommitFailedException")


class NewFiles(Struct, frozen=True):
    """What was written: data files, their bytes and rows."""

    files: int
    bytes: int
    rows: int


def data_location(pinned: PinnedTable) -> str:
    """The folder of the table's data files."""
    known = (pinned.properties.get(name) for name in DATA_PATHS)
    found = next((one for one in known if one), f"{pinned.location.rstrip('/')}/data")
    return found.rstrip("/")


class Rewriting:
    """The rewrite of some live files of a pinned table; `close` it, whatever came of it."""

    def __init__(
        self,
        engine: SparkEngine,
        pinned: PinnedTable,
        files: Sequence[LiveFile],
        folder: str,
        properties: Mapping[str, str],
    ) -> None:
        """Stages the files. The new ones go under the folder, which is theirs alone.

        They are written as if the table had these properties besides its own. ClusteringError where
        the table is encrypted, or isn't the pinned one any more.
        """
        self._engine, self._jvm, self._pinned, self._folder = engine, engine.jvm, pinned, folder
        self._id = uuid.uuid4().hex
        if _KEY in pinned.properties:
            raise ClusteringError(
                f"{pinned.facts.name} is encrypted, and its files can't be rewritten here",
                hint="Iceberg's own procedure rewrite_data_files sorts it by its columns",
            )
        self._current = self._table()
        with java_errors():
            self._staged = _writable(
                self._jvm, self._current, pinned, {**properties, DATA_PATHS[0]: folder}
            )
            self._tasks = file_tasks(self._jvm, self._staged, pinned, files)
            self._jvm.singleton(_TABLES).add(self._id, self._staged)
            self._jvm.singleton(_TASKS).stageTasks(self._staged, self._id, self._tasks)

    @property
    def name(self) -> str:
        """The table's."""
        return self._pinned.facts.name

    @property
    def relation(self) -> str:
        """What Spark reads the rows from, and writes them to.

        Of a table that keeps ids of rows (format 3), it has these as columns, to be written too.
        """
        return f"{self._engine.selection_catalog()}.`{self._id}`"

    def written(self) -> NewFiles:
        """What Spark has written to the relation."""
        with java_errors():
            return _counted(self._jvm, self._new_files())

    def commit(self, summary: Mapping[str, str], properties: Mapping[str, str]) -> int:
        """Puts the new files in the old ones' place, and sets properties; the new snapshot's id.

        ClusteringError where the table has changed in a way that forbids it, which leaves it as it
        is then.
        """
        try:
            with java_errors():
                transaction = self._prepared(summary, properties)
        except (JvmError, ClusteringError) as error:
            self.discard()
            raise self._refused(error) from error
        try:
            with java_errors():
                self._jvm.virtual(_WORK, "commitTransaction", transaction)
        except JvmError as error:
            if not _is_certain(error):
                raise ClusteringError(
                    f"{self.name}: whether the rewrite was committed isn't known: {error}",
                    hint="look at its newest snapshot; files of no snapshot are orphans, which"
                    " VACUUM … FULL SNAPSHOTS removes",
                ) from error
            self.discard()
            raise self._refused(error) from error
        with java_errors():
            done = self._jvm.virtual(_WORK, "table", transaction)
            newest = self._jvm.virtual(_TABLE, "currentSnapshot", done)
            return int(self._jvm.virtual(f"{_CORE}.Snapshot", "snapshotId", newest))

    def _refused(self, error: JvmError | ClusteringError) -> ClusteringError:
        if isinstance(error, ClusteringError):
            return error
        if _is_certain(error):
            return ClusteringError(
                f"{self.name} was changed while its files were rewritten, and stays as it is:"
                f" {error}",
                hint="OPTIMIZE again: it begins with what the table holds by then",
            )
        return ClusteringError(
            f"{self.name}: the rewrite can't be committed: {error}",
            hint="the table is as it was; mend what is said, then OPTIMIZE again",
        )

    def discard(self) -> None:
        """Deletes what was written. What can't be deleted stays as orphans, which is logged."""
        try:
            with java_errors():
                io = self._current.io()
                if self._jvm.type(_PREFIXES).isInstance(io):
                    self._jvm.virtual(_PREFIXES, "deletePrefix", io, self._folder)
                    return
                for path in self._new_paths():
                    self._jvm.virtual(f"{_CORE}.io.FileIO", "deleteFile", io, path)
        except JvmError as error:
            _log.warning("files of a rewrite stay under %s: %s", self._folder, error)

    def close(self) -> None:
        """Forgets what is staged in the JVM."""
        with java_errors():
            self._jvm.singleton(_TASKS).removeTasks(self._staged, self._id)
            self._jvm.singleton(_TABLES).remove(self._id)
            self._jvm.singleton(_WRITTEN).clearRewrite(self._staged, self._id)

    def _table(self) -> Java:
        with java_errors():
            table = self._engine.load(self._pinned.parts)
            self._jvm.virtual(_TABLE, "refresh", table)
            uuid_now = str(self._jvm.virtual(_TABLE, "uuid", table).toString())
        if uuid_now != self._pinned.facts.uuid:
            raise ClusteringError(
                f"{self.name} was made anew meanwhile",
                hint="OPTIMIZE again: it begins with what the table holds by then",
            )
        return table

    def _new_files(self) -> Java:
        """A set of Iceberg's data files."""
        return self._jvm.singleton(_WRITTEN).fetchNewFiles(self._staged, self._id)

    def _new_paths(self) -> list[str]:
        listed = self._jvm.listed(self._new_files())
        return [str(listed.get(i).location()) for i in range(listed.size())]

    def _prepared(self, summary: Mapping[str, str], properties: Mapping[str, str]) -> Java:
        """Iceberg's transaction with all of it."""
        jvm, snapshot = self._jvm, self._pinned.snapshot
        assert snapshot is not None  # else there were no files
        transaction = jvm.virtual(_TABLE, "newTransaction", self._table())
        rewrite = jvm.virtual(_WORK, "newRewrite", transaction)
        jvm.virtual(_REWRITE, "validateFromSnapshot", rewrite, snapshot.snapshot_id)
        number = snapshot.sequence_number or 0
        jvm.virtual(_REWRITE, "dataSequenceNumber", rewrite, number)
        data = f"{_CORE}.DataFile"
        file = jvm.getter(f"{_CORE}.ContentScanTask", "file", jvm.type(f"{_CORE}.ContentFile"))
        jvm.each(self._tasks, jvm.taker(_REWRITE, "deleteFile", data), rewrite, file)
        jvm.each(self._new_files(), jvm.taker(_REWRITE, "addFile", data), rewrite)
        for name, value in summary.items():
            jvm.virtual(f"{_CORE}.SnapshotUpdate", "set", rewrite, name, value)
        jvm.virtual(f"{_CORE}.PendingUpdate", "commit", rewrite)
        changed = {k: v for k, v in properties.items() if self._pinned.properties.get(k) != v}
        if changed:
            update = jvm.virtual(_WORK, "updateProperties", transaction)
            for name, value in changed.items():
                jvm.virtual(f"{_CORE}.UpdateProperties", "set", update, name, value)
            jvm.virtual(f"{_CORE}.PendingUpdate", "commit", update)
        return transaction


def _is_certain(error: JvmError) -> bool:
    """Whether Iceberg says that nothing was committed, because others were first."""
    return any(word in error.class_name for word in _CHANGED)


def _writable(jvm: Jvm, current: Java, pinned: PinnedTable, properties: Mapping[str, str]) -> Java:
    """The pinned table with these properties, and with its location for what Spark writes."""
    metadata = pinned_metadata(jvm, current, pinned)
    builder = jvm.static(f"{_CORE}.TableMetadata", "buildFrom", metadata)
    builder = builder.setProperties(dict_of(jvm, properties)).discardChanges()
    metadata = builder.withMetadataLocation(pinned.metadata_location).build()
    located = jvm.static(
        f"{_CORE}.LocationProviders", "locationsFor", metadata.location(), metadata.properties()
    )
    operations = jvm.new(f"{_CORE}.StaticTableOperations", metadata, current.io(), located)
    return jvm.new(f"{_CORE}.BaseTable", operations, pinned.facts.name)


def dict_of(jvm: Jvm, values: Mapping[str, str]) -> Java:
    """A new `java.util.HashMap` of these."""
    made = jvm.new("java.util.HashMap")
    for name, value in values.items():
        made.put(name, value)
    return made


def _counted(jvm: Jvm, files: Java) -> NewFiles:
    listed = jvm.listed(files)
    each: list[Java] = [listed.get(i) for i in range(listed.size())]
    content = f"{_CORE}.ContentFile"

    def total(what: str) -> int:
        return sum(int(jvm.virtual(content, what, one)) for one in each)

    return NewFiles(len(each), total("fileSizeInBytes"), total("recordCount"))
