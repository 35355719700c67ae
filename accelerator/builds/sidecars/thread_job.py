"""Small index builds without a Spark session: the tasks of a build by threads of this process.

Promises what Spark's workers would give, since it's the same function over the same files.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from accelerator.builds.sidecars.task import (
    FileWork,
    IndexRequest,
    TaskInput,
    TaskResult,
    index_files,
)
from accelerator.errors import CancelledError, EngineError

_THREADS_MAX = 8
"""Each has what the kinds keep of one file in memory."""


def index_here(
    source: TaskInput,
    wanted: Sequence[IndexRequest],
    files: Sequence[FileWork],
    check: Callable[[], None],
) -> list[TaskResult]:
    """What the files hold. `check` is asked again and again, and raises what ends the work.

    No thread works on once this has raised, so that what was written can be deleted.

    Raises:
        EngineError: a file can't be read, or what was made of it can't be written.
        CancelledError: by `check`.
    """
    ended = threading.Event()

    def ask() -> None:
        if ended.is_set():
            raise CancelledError("another file of the job has failed")
        check()

    def index(file: FileWork) -> TaskResult:
        ask()
        (answer,) = index_files(source, wanted, [file], ask)
        return answer

    largest_first = sorted(files, key=lambda one: one.size_bytes, reverse=True)
    workers = min(os.cpu_count() or 1, len(files), _THREADS_MAX)
    with ThreadPoolExecutor(workers, "index") as pool:
        try:
            return list(pool.map(index, largest_first))
        except (OSError, ValueError, pa.ArrowException) as error:
            raise EngineError(
                f"a data file can't be indexed: {error}",
                hint="the message says what can't be read or written",
            ) from error
        finally:
            ended.set()
