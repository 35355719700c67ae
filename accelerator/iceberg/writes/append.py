"""Appends to an Iceberg table by PyIceberg: data files as rows come, one commit at the end.

Promises: rows become visible all at once or not at all; an append is made once for its key, whoever
else commits meanwhile; data files that surely no commit names are deleted again, and of a process
that dies meanwhile nothing stays but files that no snapshot holds.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import random
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from pyiceberg import exceptions
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.table import Table, TableProperties, WriteTask

from accelerator.common.redaction import redacted
from accelerator.errors import AcceleratorError, UnknownTableError
from accelerator.iceberg.errors import CatalogError, CatalogReadOnlyError, failures
from accelerator.iceberg.io import inputs_for
from accelerator.iceberg.writes.errors import (
    AppendConflictError,
    AppendKeyError,
    AppendUnknownError,
    AppendUnsupportedError,
    IngestError,
    IngestSchemaError,
)
from rewrite.identifiers.qualified_name import joined
from rewrite.text.printable import one_line, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.partitioning import PartitionKey

    from accelerator.iceberg.lake import Lake

KEY, DIGEST = "accelerator.append-key", "accelerator.append-digest"
OWNER = "accelerator.append-owner"
"""Properties of the snapshot that an append makes; version 1 has no owner."""
_OWNER_BYTES = 16
PARTITIONS_MAX = 1_000
"""Partitions that the rows of one portion may be of."""
_TRIES = 8
_WAIT_S, _WAIT_MAX_S = 0.05, 2.0
_FORMAT_MAX = 2
_SAID_MAX = 500
_PUBLISHED = "accelerator.published.cube"
_REFUSALS = (
    *(exceptions.BadRequestError, exceptions.ForbiddenError, exceptions.UnauthorizedError),
    *(exceptions.NoSuchTableError, exceptions.ValidationException, exceptions.OAuthError),
)
"""After these a commit surely wasn't made."""
_NUMBERS = (
    TableProperties.PARQUET_PAGE_ROW_LIMIT,  # of others than counts PyArrow ends the process
    TableProperties.PARQUET_PAGE_SIZE_BYTES,
    TableProperties.PARQUET_DICT_SIZE_BYTES,
    TableProperties.PARQUET_ROW_GROUP_LIMIT,
)
_log = logging.getLogger("accelerator")


class AppendOutcome(Struct, frozen=True):
    """What an append came to; `snapshot_id` None: there were no rows, so nothing was committed.

    `repeated`: an append of the same key was there already, and this one changed nothing.
    """

    snapshot_id: int | None
    rows: int
    files: int
    bytes: int
    repeated: bool = False


class Appending:
    """One append. `load` reads the table anew; `key` is of the user, `digest` of the rows."""

    def __init__(
        self, load: Callable[[], Table], name: str, key: str, digest: str, user: str
    ) -> None:
        """AppendUnsupportedError where the table is of a kind that isn't written here."""
        self._load, self._name = load, name
        self._key, self._digest, self._owner = key, digest, owner_of(user, key)
        self._table = load()
        self._check_kind(self._table)
        self._files: list[DataFile] = []
        self._paths: list[str] = []
        self._unique, self._counter = uuid.uuid4(), itertools.count()

    def schema(self) -> pa.Schema:
        """The table's columns as Arrow's types, without field ids."""
        from pyiceberg.io.pyarrow import schema_to_pyarrow  # imports PyArrow's dataset half

        return schema_to_pyarrow(self._table.schema(), include_field_ids=False)

    def done(self) -> AppendOutcome | None:
        """What the append of the same key came to, if there was one."""
        return self._done(self._table)

    def write(self, rows: pa.Table) -> None:
        """Writes rows, of the very `schema`, as data files; they're held in memory meanwhile."""
        from pyiceberg.io.pyarrow import write_file

        metadata = self._table.metadata
        with self._writing():
            io = _Recording(self._table.io, self._paths)
            for file in write_file(io, metadata, self._tasks(rows)):
                self._files.append(file)

    def _tasks(self, rows: pa.Table) -> Iterator[WriteTask]:
        """A file for each partition of the rows, or one for all."""
        from accelerator.iceberg.writes.partition import (
            NoPartitionError,
            TooManyPartitionsError,
            partitioned,
        )

        metadata = self._table.metadata
        parts: Iterable[tuple[PartitionKey | None, pa.Table]] = ((None, rows),)
        if not metadata.spec().is_unpartitioned():
            try:
                parts = list(partitioned(metadata.spec(), metadata.schema(), rows, PARTITIONS_MAX))
            except TooManyPartitionsError as error:
                raise IngestError(
                    f"the rows are of more than {PARTITIONS_MAX:,} partitions",
                    hint="append them in several goes, sorted by partition",
                ) from error
            except NoPartitionError as error:
                raise IngestSchemaError(
                    f"a value of the column {error} is of no partition: truncated, it's less than"
                    " the column's type holds",
                    hint="leave the row out",
                ) from error
        for key, part in parts:
            yield WriteTask(
                self._unique,
                next(self._counter),
                metadata.schema(),
                part.to_batches(),
                partition_key=key,
            )

    def commit(self) -> AppendOutcome:
        """Makes all that was written visible, in one snapshot.

        Raises:
            AppendConflictError: others kept committing first, or the table was changed.
            AppendKeyError: the key was used meanwhile, for other rows.
            AppendUnknownError: the catalog's answer was lost, and it can't be asked.
            CatalogError: the catalog refuses, or can't be asked.
        """
        if not self._files:
            return AppendOutcome(None, 0, 0, 0)
        began = self._table.metadata
        for number in range(_TRIES):
            if number:
                wait = min(_WAIT_MAX_S, _WAIT_S * 2**number)
                time.sleep(wait * random.uniform(0.5, 1))
                self._table = self._load()
                self._check_kind(self._table)
            known = self._done(self._table)
            if known is not None:
                self.discard()
                return known
            self._check_same(began)
            found = self._try_commit()
            if found is not None:
                return found
        raise AppendConflictError(
            f"others kept committing to {self._name} first", hint="send it again, with the same key"
        )

    def discard(self) -> None:
        """Deletes what was written, and wasn't committed."""
        paths, self._paths, self._files = self._paths, [], []
        for path in paths:
            try:
                self._table.io.delete(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                _log.warning("a file of an append stays until a full vacuum: %s", error)

    def _try_commit(self) -> AppendOutcome | None:
        """The append, once it's committed; None where somebody else was first."""
        table = self._table
        # It retries by itself, without looking for the key: not here.
        table.metadata.properties[TableProperties.COMMIT_NUM_RETRIES] = "0"
        self._check_list(table)
        properties = {KEY: self._key, DIGEST: self._digest, OWNER: self._owner}
        transaction = table.transaction()
        with self._writing(), transaction.update_snapshot(properties).fast_append() as snapshot:
            for file in self._files:
                snapshot.append_data_file(file)
            snapshot_id = snapshot.snapshot_id
        # From here on a snapshot may hold the files, whatever is raised, Ctrl-C too.
        files, paths = self._files, self._paths
        self._files, self._paths = [], []
        try:
            transaction.commit_transaction()
        except CommitFailedException:
            self._files, self._paths = files, paths
            return None
        except _REFUSALS as error:
            self._files, self._paths = files, paths
            raise self._refused(error) from error
        except failures() as error:
            return self._looked_up(error)
        return _appended(snapshot_id, files)

    def _check_list(self, table: Table) -> None:
        """Reads the current list of manifests here first; ManifestError if it's damaged.

        PyIceberg reads it once more, by a decoder that lying lengths crash.
        """
        from accelerator.iceberg.manifests.reader import read_list

        snapshot = table.current_snapshot()
        if snapshot is not None:
            read_list(
                inputs_for(table.metadata_location, table.io.properties), snapshot.manifest_list
            )

    def _looked_up(self, error: BaseException) -> AppendOutcome:
        """What it came to though the catalog's answer was lost. The files stay: they may be named.

        AppendUnknownError where the catalog doesn't have it by now, since it may still come.
        """
        known = None
        with suppress(CatalogError):
            known = self._done(self._load())
        if known is None:
            raise AppendUnknownError(
                f"whether the rows are in {self._name} now isn't known: {_message(error)}",
                hint="send it again, with the same key: it's appended once",
            ) from error
        return AppendOutcome(known.snapshot_id, known.rows, known.files, known.bytes)

    def _done(self, table: Table) -> AppendOutcome | None:
        """Looks for the key among the snapshots that led to the current one."""
        metadata = table.metadata
        by_id = {one.snapshot_id: one for one in metadata.snapshots}
        current, seen = metadata.current_snapshot_id, set[int]()
        while current is not None and current in by_id and current not in seen:
            seen.add(current)
            one = by_id[current]
            told = {} if one.summary is None else one.summary.additional_properties
            # Keys of version 1 belong to nobody, so they're everybody's.
            if told.get(KEY) == self._key and told.get(OWNER, self._owner) == self._owner:
                if told.get(DIGEST) != self._digest:
                    raise AppendKeyError(
                        f"other rows were appended to {self._name} under that key",
                        hint="give each append a key of its own, and repeat one as it was",
                    )
                return AppendOutcome(
                    current,
                    _number(told, "added-records"),
                    _number(told, "added-data-files"),
                    _number(told, "added-files-size"),
                    repeated=True,
                )
            current = one.parent_snapshot_id
        return None

    def _check_kind(self, table: Table) -> None:
        metadata = table.metadata
        format = metadata.properties.get(TableProperties.WRITE_FILE_FORMAT, "parquet")
        why = ""
        if metadata.format_version > _FORMAT_MAX:
            why = f"it's of format version {metadata.format_version}"
        elif format.lower() != "parquet":
            why = f"its data files are written as {format[:40]}"
        elif _PUBLISHED in metadata.properties:
            why = "it's a cube's, which PUBLISH CUBE writes"
        elif TableProperties.WRITE_PY_LOCATION_PROVIDER_IMPL in metadata.properties:
            why = "its properties name a class of Python's that says where its files are"
        else:
            wrong = next((one for one in _NUMBERS if not _is_count(metadata.properties, one)), None)
            why = f"its property {wrong} is no number above 0" if wrong else ""
        if why:
            raise AppendUnsupportedError(
                f"nothing can be appended to {self._name} from here: {why}",
                hint="append by Spark: INSERT INTO",
            )

    def _check_same(self, began: Any) -> None:
        """Nothing but snapshots may have changed since the files were written."""
        now = self._table.metadata
        then = (began.table_uuid, began.current_schema_id, began.default_spec_id)
        if then != (now.table_uuid, now.current_schema_id, now.default_spec_id):
            raise AppendConflictError(
                f"the columns or partitions of {self._name} were changed meanwhile",
                hint="send it again",
            )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """AppendUnsupportedError for what PyIceberg doesn't write; other faults are refusals."""
        try:
            yield
        except (NotImplementedError, ImportError, exceptions.NotInstalledError) as error:
            raise AppendUnsupportedError(
                f"nothing can be appended to {self._name} from here: {error}",
                hint="append by Spark: INSERT INTO",
            ) from error
        except AcceleratorError:
            raise
        except failures() as error:
            raise self._refused(error) from error

    def _refused(self, error: BaseException) -> CatalogReadOnlyError:
        return CatalogReadOnlyError(
            f"nothing can be appended to {self._name}: {_message(error)}",
            hint="check the table's properties, and that this process may write to the catalog and"
            " to the warehouse",
        )


class _Recording(FileIO):
    """A table's files, and the names of those that are begun: some are never finished."""

    def __init__(self, io: FileIO, begun: list[str]) -> None:
        super().__init__(io.properties)
        self._io, self._begun = io, begun

    def new_input(self, location: str) -> InputFile:
        """See `FileIO`."""
        return self._io.new_input(location)

    def new_output(self, location: str) -> OutputFile:
        """See `FileIO`."""
        self._begun.append(location)
        return self._io.new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """See `FileIO`."""
        self._io.delete(location)


def owner_of(user: str, key: str) -> str:
    """Returns what stands for a user beside a key, without their name: snapshots are shown."""
    text = json.dumps([user, key]).encode()
    return hashlib.blake2b(text, digest_size=_OWNER_BYTES).hexdigest()


def appending(
    lake: Lake, parts: tuple[str, ...], key: str, digest: str, user: str = ""
) -> Appending:
    """An append to the table of that full name, which nothing has been written of yet.

    Raises:
        UnknownTableError: there is no such table.
        AppendUnsupportedError: it's of a kind that isn't written here.
        UnreadableTableError: Spark or PyIceberg refuses it.
        CatalogError: its catalog can't be asked.
    """
    name, reader = joined(parts), lake.catalogs.get(parts[0])

    def load() -> Table:
        lake.pin(fresh=True).pinned(parts)  # UnreadableTableError
        table = None if reader is None else reader.loaded(parts[1:])
        if table is None:
            raise UnknownTableError(f"there is no Iceberg table {name}", hint="check the name")
        return table

    return Appending(load, name, key, digest, user)


def _is_count(properties: Mapping[str, str], name: str) -> bool:
    """Whether a property is a number above 0, or isn't there."""
    text = properties.get(name, "1")
    return text.isascii() and text.isdigit() and int(text[:19]) > 0 and len(text) < 19


def _message(error: BaseException) -> str:
    """Returns the error's text for a client: in one line, cut, without passwords."""
    text = one_line(redacted(str(error), {})) or type(error).__name__
    return shortened(text, _SAID_MAX)


def _appended(snapshot_id: int, files: Sequence[DataFile]) -> AppendOutcome:
    return AppendOutcome(
        snapshot_id,
        sum(one.record_count for one in files),
        len(files),
        sum(one.file_size_in_bytes for one in files),
    )


def _number(told: Mapping[str, str], name: str) -> int:
    text = told.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def portions(batches: Iterable[pa.RecordBatch], bytes_max: int) -> Iterator[pa.Table]:
    """The batches in tables of about so many bytes, in order; larger batches are cut."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        step = max(1, batch.num_rows * bytes_max // max(1, batch.nbytes))
        for begin in range(0, batch.num_rows, step):
            piece = batch.slice(begin, step)
            held.append(piece)
            size += piece.nbytes
            if size >= bytes_max:
                yield pa.Table.from_batches(held)
                held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)
