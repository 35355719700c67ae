"""Where a session's Spark engine comes from: made when it's first needed, kept until the end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from accelerator.errors import EngineError, SparkElsewhereError

if TYPE_CHECKING:
    from accelerator.engines.spark import SparkEngine


class SparkSource:
    """Gives the Spark engine when it's first needed, so that answers from cubes start no JVM."""

    def __init__(self, make: Callable[[], SparkEngine]) -> None:
        self._make = make
        self._engine: SparkEngine | None = None
        self._lock = threading.Lock()

    @property
    def started(self) -> bool:
        """Whether a Spark session runs."""
        return self._engine is not None and self._engine.started

    @property
    def activity(self) -> str:
        """What Spark does now; empty where it does nothing."""
        return "" if self._engine is None else self._engine.activity

    def engine(self) -> SparkEngine:
        """The engine; its session starts when that is asked for."""
        with self._lock:
            if self._engine is None:
                try:
                    self._engine = self._make()
                except ImportError as error:
                    raise EngineError(
                        f"PySpark can't be imported: {error}",
                        hint="pip install 'lakehouse-accelerator[spark]'",
                    ) from error
            return self._engine

    def stop(self) -> None:
        """Stops a session of our own."""
        if self._engine is not None:
            self._engine.stop()


def elsewhere() -> SparkSource:
    """That of a process in which no Spark is to start: SparkElsewhereError where one is needed."""

    def make() -> SparkEngine:
        raise SparkElsewhereError("the statement needs Spark, which doesn't run in this process")

    return SparkSource(make)
