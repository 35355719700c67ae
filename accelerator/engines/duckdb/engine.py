"""DuckDB in process: answers what is small after rewriting, merges and inspects segments.

One in-memory database per session, one cursor per thread. It's locked before the first statement:
it reads and writes the folders that it was made for, checked folders of tables and its spill
folder, nothing else, loads no extension, and runs one statement a call.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from accelerator.common.lru_cache import Recent
from accelerator.engines.duckdb.object_scans import (
    OBJECTS_FOLDER,
    PROTOCOL,
    ObjectScans,
    TagObjects,
)
from accelerator.engines.duckdb.result_limit import HeldRows
from accelerator.engines.duckdb.segment_cache import HotSegments
from accelerator.engines.duckdb.spill import Spill
from accelerator.engines.duckdb.table_cache import KeptRows
from accelerator.engines.duckdb.table_folders import TableFiles, TableFolders
from accelerator.engines.sketch_functions import FUNCTIONS, Function
from accelerator.errors import CancelledError, EngineError, MemoryExceededError, RowRaisedError
from accelerator.iceberg.errors import NeedsSparkError
from cubes.states import SUM_LEAVES
from rewrite.bind.calls.known_words import OURS
from rewrite.render.expressions import RAISED

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

# It advises against what costs least for small answers.
warnings.filterwarnings("ignore", message="Arrow output on a DB-API result", category=UserWarning)


_OPTIMIZERS_OFF = (
    # With it DuckDB 2.0 answers a UNION ALL of two aggregates over one join wrongly: a cover's
    # very shape.
    "common_subplan",
    # A key of ORDER BY that follows from others isn't computed with it, though Spark's may raise.
    "redundant_order_keys",
    # Narrower values in memory are for large intermediate results; small answers wait 0.1 ms for
    # the plan of it.
    "compressed_materialization",
)


_HOLE_BYTES = 8 * 1024
"""Column chunks with so few bytes between them are read at once. Left alone, DuckDB reads larger
holes too, up to half of the bytes again."""
_NOT_UTF8, _INTERRUPTED = "Invalid string encoding found in Parquet file", "INTERRUPT"
_NO_MEMORY = "Out of Memory"
_OF_A_VALUE = (
    *("Conversion Error: ", "Out of Range Error: ", "Invalid Input Error: Division by zero"),
    *(f"Invalid Input Error: {text}" for text in (*RAISED, SUM_LEAVES)),
)
"""How errors of an expression over some row begin; those of files, for one, are others."""
_BATCH_ROWS = 1 << 17
NO_MAX = sys.maxsize
FEW_ROWS = 100_000
"""Answers of as many are taken at once, which is 0.3 ms faster than as they come."""
_WHOLE_ROWS, _ROW_BYTES = 2_000_000, 256
"""Of fewer rows read the groups are as few, and mostly far fewer; a row has fewer bytes."""
SPILL_BYTES = 16 * 1024**3
_CLOSE_S, _AGAIN_S = 10.0, 0.02  # a close waits so long for statements, and asks so often


class DuckDBEngine:
    """An in-process database that holds nothing but what a statement registers.

    Args:
        threads: 0 for one per core.
        memory: its limit, bytes; None for DuckDB's own.
        cache_bytes: of memory for what is read again and again.
        rows_bytes: what statements may hold as Arrow rows together, those that it reads beside its
            own scans and large answers.
        folders: local ones, below which it may read and write.
        private: files and folders that no table's location may contain or lie in.
        spill_folder: where intermediate results go that memory doesn't hold, in a folder of its
            own that `spill` promises of; None for the system's folder for such files.
        spill_bytes: at most so many of them; a statement that needs more fails.
    """

    def __init__(
        self,
        *,
        threads: int = 0,
        memory: int | None = None,
        cache_bytes: int = 0,
        rows_bytes: int = NO_MAX,
        folders: Sequence[str] = (),
        private: Sequence[str] = (),
        spill_folder: str | None = None,
        spill_bytes: int = SPILL_BYTES,
    ) -> None:
        self._settings = {"threads": threads, "memory": memory}
        self._folders, self._spill_bytes = TableFolders(folders, private), spill_bytes
        self._spill_folder = spill_folder
        self._spill: Spill | None = None
        self._root: duckdb.DuckDBPyConnection | None = None
        self._local = threading.local()
        self._running: dict[str, set[duckdb.DuckDBPyConnection]] = {}
        self._begun: dict[str, bool] = {}
        self._lock = threading.Lock()
        self._has_functions = self._ending = False
        self._objects = ObjectScans(self.check, self._serve_objects)
        self._object_files: AbstractFileSystem | None = None
        self._opened = self._closed = 0
        self.hot = HotSegments(self._open, cache_bytes)
        self.kept = KeptRows(cache_bytes)
        self.tested = Recent[str]()
        """The error that computing something of all rows of a table's state raised, or none."""
        self.held = HeldRows(rows_bytes)
        self._at_exit = partial(_close, weakref.ref(self), os.getpid())
        atexit.register(self._at_exit)

    def run(
        self,
        sql: str,
        tables: Mapping[str, pa.Table] | None = None,
        *,
        tag: str = "",
        bytes_max: int | None = None,
        whole: bool = False,
        hold: Callable[[int], None] | None = None,
    ) -> pa.Table:
        """The answer as one Arrow table. `tables` are registered by name for this call.

        Where it may be large, `bytes_max` (or `NO_MAX`) is given: rows are taken as they come, and
        MemoryExceededError is raised once they have more, or more than the work may hold; `hold` is
        told of each batch in its place. If `whole`, DuckDB makes all of them before the first is
        fetched, and plans the statement only once. No limit counts them then: see `may_make_whole`.
        """
        if "acc_" in sql:
            self._define_functions()
        cursor = self._cursor()
        with self._tracked(cursor, tag), self._failing(tag), _registered(cursor, tables):
            # `execute` plans once; `sql` binds the statement twice, 0.3 to 2 ms of a few.
            if bytes_max is None:
                return cursor.execute(_single(cursor, sql)).to_arrow_table()
            made = (cursor.execute if whole else cursor.sql)(_single(cursor, sql))
            return _bounded(
                made.to_arrow_reader(_BATCH_ROWS), bytes_max, hold or partial(self.held.hold, tag)
            )

    def may_make_whole(self, rows: int) -> bool:
        """Tests whether an answer of at most so many rows is small enough to be made at once."""
        return rows <= min(_WHOLE_ROWS, self.held.bytes_max // _ROW_BYTES)

    def stream(
        self,
        sql: str,
        tables: Mapping[str, pa.Table] | None = None,
        *,
        tag: str = "",
    ) -> Iterator[pa.RecordBatch]:
        """The answer batch by batch; `tables` as of `run`, until its last one.

        Only what has to be whole before the first row, as groups and sorted rows, is in memory or
        spilled. It has a cursor of its own, so that the thread runs other statements meanwhile.
        EngineError where the engine was closed since the first batch.
        """
        if "acc_" in sql:
            self._define_functions()
        self._check_ending()
        closed = self._closed
        cursor, reader = self._open().cursor(), None
        try:
            for name, table in (tables or {}).items():
                cursor.register(name, table)  # until the cursor is closed
            while True:
                if self._closed != closed:
                    raise EngineError("the session was closed", hint="open another one")
                with self._tracked(cursor, tag), self._failing(tag):
                    if reader is None:
                        relation = cursor.sql(_single(cursor, sql))
                        reader = relation.to_arrow_reader(_BATCH_ROWS)
                    batch = next(reader, None)
                if batch is None:
                    return
                yield batch
        finally:
            if reader is not None:
                reader.close()
            cursor.close()

    def files_of(self, locations: Sequence[str]) -> TableFiles:
        """Returns which local files it may read of a table with these locations.

        Nothing can be allowed in a database that is open. So a new location opens another one for
        what runs from now on; the old one goes with the last statement that runs in it.
        """
        with self._lock:
            files, is_more = self._folders.of(locations)
            is_more = is_more and self._root is not None
            if is_more:
                # Other threads' cursors that are idle go with it.
                self._root, self._local = None, threading.local()
        if is_more:
            self.hot.forget()
        return files

    def objects(self, tag: str) -> TagObjects:
        """Returns the paths and the byte count for objects that the work of that tag reads."""
        return TagObjects(self._objects, tag)

    def objects_read(self, tag: str) -> int | None:
        """Returns the bytes of objects that the work of that tag read; None if it reads none."""
        return self._objects.bytes_read(tag)

    def execute(
        self, sql: str, tables: Mapping[str, pa.Table] | None = None, *, tag: str = ""
    ) -> None:
        """Runs a statement without an answer (COPY). `tables` as of `run`."""
        if "acc_" in sql:
            self._define_functions()
        cursor = self._cursor()
        with self._tracked(cursor, tag), self._failing(tag), _registered(cursor, tables):
            cursor.execute(_single(cursor, sql))

    @contextmanager
    def stoppable(self, tag: str) -> Iterator[None]:
        """Inside, an interrupt of the tag isn't lost on what happens between two statements."""
        with self._lock:
            self._begun[tag] = False
        try:
            with self.held.holding(tag):
                yield
        finally:
            with self._lock:
                del self._begun[tag]
            self._objects.release(tag)

    def check(self, tag: str) -> None:
        """CancelledError where work that is `stoppable` under the tag was interrupted."""
        if self._begun.get(tag):
            raise CancelledError("the statement was cancelled")

    def interrupt(self, tag: str) -> None:
        """Stops what runs under the tag, from any thread."""
        with self._lock:
            if tag in self._begun:
                self._begun[tag] = True
            # Under the lock: a thread's cursor is the next statement's once this one has ended.
            for cursor in self._running.get(tag, ()):
                cursor.interrupt()

    def close(self) -> None:
        """Stops what runs in any thread, and forgets everything.

        Called at the interpreter's end too: a thread that is inside DuckDB then ends the process
        by SIGABRT.
        """
        atexit.unregister(self._at_exit)
        self.hot.close()
        until = time.monotonic() + _CLOSE_S
        while self._running and time.monotonic() < until:
            for tag in list(self._running):
                self.interrupt(tag)  # lost on a statement that is only about to begin
            time.sleep(_AGAIN_S)
        with self._lock:
            root, self._root = self._root, None
            self._closed += 1
            self._has_functions = False
            spill, self._spill = self._spill, None
        if root is not None:
            root.close()
        if spill is not None:
            spill.close()

    def end(self) -> None:
        """Closes for good, at the interpreter's end: a statement that begins afterwards fails."""
        with self._lock:
            self._ending = True
        self.close()

    def interrupted_with(
        self, tag: str, cursor: duckdb.DuckDBPyConnection
    ) -> AbstractContextManager[None]:
        """Inside, a connection that isn't this engine's is interrupted as its own are."""
        return self._tracked(cursor, tag)

    @contextmanager
    def _tracked(self, cursor: duckdb.DuckDBPyConnection, tag: str) -> Iterator[None]:
        with self._lock:
            self._check_ending()
            self.check(tag)
            self._running.setdefault(tag, set()).add(cursor)
        try:
            yield
        finally:
            with self._lock:
                left = self._running[tag]
                left.discard(cursor)
                if not left:
                    del self._running[tag]

    @contextmanager
    def _failing(self, tag: str) -> Iterator[None]:
        """DuckDB's errors as ours; of an object that can't be read, why it can't."""
        try:
            with _errors():
                yield
        except EngineError as error:
            why = self._objects.error(tag)
            if why is None:
                raise
            raise why from error

    def _serve_objects(self, scans: ObjectScans) -> None:
        """Lets DuckDB open the objects that are named there, in later databases too."""
        # Who reads no objects doesn't wait for fsspec.
        from accelerator.engines.duckdb.object_file_system import ObjectFileSystem

        opened = self._open()
        with self._lock:
            self._object_files = self._object_files or ObjectFileSystem(scans)
            root = self._root or opened  # another one, if a table's folder was added meanwhile
            if PROTOCOL not in root.list_filesystems():
                root.register_filesystem(self._object_files)

    def _check_ending(self) -> None:
        if self._ending:
            raise CancelledError("the process is ending")

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        self._check_ending()
        opened = getattr(self._local, "opened", None)
        if opened is None or opened[0] is not self._root:  # the engine was closed since
            root = self._open()
            opened = self._local.opened = (root, root.cursor())
        cursor: duckdb.DuckDBPyConnection = opened[1]
        return cursor

    def _open(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._root is None:
                root = duckdb.connect(f":memory:{uuid.uuid4().hex}")
                root.execute(f"SET disabled_optimizers = '{','.join(_OPTIMIZERS_OFF)}'")
                root.execute("SET GLOBAL parquet_metadata_cache = true")  # of its cursors, too
                root.execute(f"SET GLOBAL parquet_prefetch_column_gap = {_HOLE_BYTES}")
                root.execute("SET GLOBAL TimeZone = 'UTC'")
                if self._settings["threads"]:
                    root.execute(f"SET threads = {self._settings['threads']}")
                if self._settings["memory"]:
                    root.execute("SET memory_limit = ?", [f"{self._settings['memory']}B"])
                self._lock_down(root)
                if self._object_files is not None:
                    root.register_filesystem(self._object_files)
                if self._has_functions:
                    _define_functions(root)
                self._root = root
            return self._root

    def _lock_down(self, root: duckdb.DuckDBPyConnection) -> None:
        """Nothing can be set afterwards: of the folders and limits none could be while locked."""
        try:
            self._spill = self._spill or Spill(self._spill_folder)
        except OSError as error:
            root.close()
            raise EngineError(
                f"DuckDB's folder for intermediate results can't be made: {error}",
                hint="set duckdb_spill_folder to a folder that you may write to",
            ) from error
        # Patterns are compared as they're written, and `path_list` writes them.
        folders = {*self._folders.own, *self._folders.tables}
        patterns = set(map(_literally, folders))
        allowed = ", ".join(
            map(text_literal, {*folders, *patterns, self._spill.path, OBJECTS_FOLDER})
        )
        self._opened += 1  # two databases can't share a folder for what they spill
        spill = f"{self._spill.path}/{self._opened}"
        for setting in (
            f"allowed_directories = [{allowed}]",
            f"temp_directory = {text_literal(spill)}",
            f"max_temp_directory_size = '{self._spill_bytes}B'",
            "autoinstall_known_extensions = false",
            "autoload_known_extensions = false",
            "allow_community_extensions = false",
            "python_enable_replacements = false",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            root.execute(f"SET {setting}")

    def _define_functions(self) -> None:
        root = self._open()
        with self._lock:
            if not self._has_functions:
                _define_functions(self._root or root)
                self._has_functions = True


@cache
def _functions() -> Sequence[tuple[str, Callable[..., Any], Sequence[str], str]]:
    """Name, function, its parameters' types and its result's. DuckDB doesn't keep them alive."""
    ours = [(f"acc_{name}", partial(_test, name), ["VARCHAR"] * 2, "BOOLEAN") for name in OURS]
    return [
        *((n, _counted(f), [f.argument, *f.more], f.result) for n, f in FUNCTIONS.items()),
        *ours,
    ]


def _define_functions(root: duckdb.DuckDBPyConnection) -> None:
    for name, function, parameters, result in _functions():
        root.create_function(
            name,
            function,
            list(map(duckdb.type, parameters)),
            duckdb.type(result),
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )


@contextmanager
def _registered(
    cursor: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table] | None
) -> Iterator[None]:
    try:
        for name, table in (tables or {}).items():
            cursor.register(name, table)
        yield
    finally:
        for name in tables or {}:
            cursor.unregister(name)


def _bounded(reader: pa.RecordBatchReader, bytes_max: int, hold: Callable[[int], None]) -> pa.Table:
    """Reads the rows; MemoryExceededError once they have too many bytes."""
    batches, size = [], 0
    try:
        for batch in reader:
            size += batch.nbytes
            hold(batch.nbytes)
            if size > bytes_max:
                raise MemoryExceededError(
                    f"the answer has more than {bytes_max:,} bytes",
                    hint="Spark gives it; duckdb_bytes_max says how much DuckDB may give",
                )
            batches.append(batch)
    finally:
        reader.close()
    return pa.Table.from_batches(batches, schema=reader.schema)


@contextmanager
def _errors() -> Iterator[None]:
    """DuckDB's errors as ours; a reader has them as OSError, with DuckDB's words."""
    try:
        yield
    except duckdb.InterruptException as error:
        raise CancelledError("the statement was cancelled") from error
    except duckdb.CatalogException as error:
        raise NoSuchTableError(f"DuckDB: {error}") from error
    # UnicodeDecodeError: of a message in odd bytes.
    except (duckdb.Error, OSError, pa.ArrowException, UnicodeDecodeError) as error:
        text = str(error)
        if text.startswith(_INTERRUPTED):
            raise CancelledError("the statement was cancelled") from error
        if isinstance(error, duckdb.OutOfMemoryException) or text.startswith(_NO_MEMORY):
            raise MemoryExceededError(
                f"DuckDB: {error}",
                hint="Spark answers it; memory_bytes_max and duckdb_spill_bytes_max allow more",
            ) from error
        if _NOT_UTF8 in text:
            raise NeedsSparkError(
                f"DuckDB: {error}",
                hint="Spark reads them; the statement takes that way by itself",
            ) from error
        failed = RowRaisedError if text.startswith(_OF_A_VALUE) else EngineError
        raise failed(f"DuckDB: {error}") from error


class NoSuchTableError(EngineError):
    """A table in DuckDB's memory isn't there, or not any more."""


def _single(cursor: duckdb.DuckDBPyConnection, sql: str) -> str | duckdb.Statement:
    """The statement; EngineError where the text has several, of which DuckDB would run all."""
    if ";" not in sql:
        return sql
    found = cursor.extract_statements(sql)
    if len(found) != 1:
        raise EngineError(f"DuckDB: {len(found)} statements where one is meant")
    return found[0]


def _close(engine: weakref.ref[DuckDBEngine], process: int) -> None:
    """At the interpreter's end; a forked child has none of the threads that could be waited for."""
    found = engine()
    if found is not None and process == os.getpid():
        found.end()


def _counted(function: Function) -> Callable[..., pa.Array]:
    """The function with one parameter for each of its types, since DuckDB counts them."""

    def call(*columns: pa.ChunkedArray) -> pa.Array:
        return function.arrow(*columns)

    parameters = [
        Parameter(f"c{i}", Parameter.POSITIONAL_ONLY) for i in range(1 + len(function.more))
    ]
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call


def _test(name: str, texts: pa.ChunkedArray, needles: pa.ChunkedArray, /) -> pa.Array:
    """A test of tokens."""
    from indexes.text.token_search import TESTS  # imports Arrow's compute module

    return TESTS[name](_whole(texts), _whole(needles))


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def text_literal(value: str) -> str:
    """A string constant."""
    return "'" + value.replace("'", "''") + "'"


_WILD = re.compile(r"[*?\[]")


def _literally(path: str) -> str:
    """The pattern that matches that very path."""
    return _WILD.sub(r"[\g<0>]", path)


def path_list(paths: list[str]) -> str:
    """A list of those very paths, as functions over files take it: to them `*` is any name."""
    listed = [text_literal(_literally(path)) for path in paths]
    return f"[{', '.join(listed)}]"


def parquet_scan(paths: list[str], *, named: bool = False) -> str:
    """Text for FROM that reads those Parquet files; `k=1` in their paths means nothing.

    `named` adds the column `filename`.
    """
    more = ", filename = true" if named else ""
    return f"read_parquet({path_list(paths)}, hive_partitioning = false{more})"
