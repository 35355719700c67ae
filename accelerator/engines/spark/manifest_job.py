"""A session's Spark as the workers that decode manifests (`iceberg/manifests/job.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from accelerator.errors import CancelledError, EngineError
from accelerator.iceberg.manifests.job import JobFailedError

if TYPE_CHECKING:
    from accelerator.engines.spark.engine import SparkEngine


class SparkProvider(Protocol):
    """Where the engine comes from."""

    @property
    def started(self) -> bool:
        """Whether a Spark session runs."""
        ...

    def engine(self) -> SparkEngine:
        """The engine; its session starts when that is asked for."""
        ...


class SparkJobs:
    """See `iceberg.manifest_jobs.Jobs`; `tracked` gives the tag under which a job is stopped."""

    def __init__(
        self, source: SparkProvider, tracked: Callable[[], AbstractContextManager[str]]
    ) -> None:
        self._source, self._tracked = source, tracked

    @property
    def running(self) -> bool:
        """See `Jobs.running`."""
        return self._source.started

    def workers(self) -> int:
        """See `Jobs.workers`."""
        from cubes.job_error import JobError

        try:
            engine = self._source.engine()
            from cubes.spark import job_errors

            with job_errors():
                return engine.parallelism
        except (EngineError, JobError) as error:
            raise JobFailedError(str(error)) from error

    def run(self, task: Callable[[Any], list[bytes]], items: Sequence[Any]) -> list[list[bytes]]:
        """See `Jobs.run`."""
        try:
            with self._tracked() as tag:
                return self._source.engine().run_tasks(task, items, tag)
        except CancelledError:
            raise
        except EngineError as error:
            raise JobFailedError(error.message) from error
