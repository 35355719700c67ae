"""Where a session's Spark engine comes from: made when it's first needed, kept until the end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from accelerator.engines.spark.jvm.java import check_java, find_java
from accelerator.errors import SparkElsewhereError, SparkMissingError

if TYPE_CHECKING:
    from accelerator.engines.spark.engine import SparkEngine


INSTALL = "pip install 'lakehouse-accelerator[spark]'"


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
                    raise SparkMissingError(
                        f"PySpark isn't installed ({error})",
                        hint=INSTALL,
                    ) from error
            return self._engine

    def stop(self) -> None:
        """Stops a session of our own."""
        if self._engine is not None:
            self._engine.stop()


def is_spark_installed() -> bool:
    """Returns whether PySpark and a Java are there; nothing is imported or started."""
    try:
        packages = all(find_spec(name) is not None for name in ("pyspark", "py4j"))
    except (ImportError, ValueError):  # of one that was made without a file
        return False
    return packages and find_java() is not None


def require_spark(make: Callable[[], SparkEngine], why: str, instead: str) -> SparkEngine:
    """Returns the engine if Spark can be started here; its session isn't started.

    A statement calls it before its first change, and before it imports a module that names PySpark.
    `why` names what needs Spark and the reason, `instead` what works without. SparkMissingError has
    both; SparkElsewhereError in a process that may start no Spark.
    """
    try:
        engine = make()
        if not engine.started:
            check_java()
    except SparkMissingError as error:
        hint = f"{error.hint}; without Spark: {instead}"
        raise SparkMissingError(f"{why}: {error.message}", hint=hint) from error
    return engine


def elsewhere() -> SparkSource:
    """That of a process in which no Spark is to start: SparkElsewhereError where one is needed."""

    def make() -> SparkEngine:
        raise SparkElsewhereError("the statement needs Spark, which doesn't run in this process")

    return SparkSource(make)
