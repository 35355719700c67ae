"""The cubes, indexes and orders that this installation can build: without Spark not all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from accelerator.engines.spark.lazy_engine import INSTALL, is_spark_installed
from accelerator.errors import AcceleratorError, SparkElsewhereError, SparkMissingError
from accelerator.query.statements.definitions import cube_record
from accelerator.query.statements.nodes import CreateCube

if TYPE_CHECKING:
    from accelerator.iceberg import PinnedTable
    from accelerator.query.runtime.services import Services
    from cubes.definition import CubeDefinition

Saves = Mapping[int, float]
"""Milliseconds a day by question."""
_NOTHING: Saves = MappingProxyType({})
_LEAST_MS = 100.0


def check_cube(services: Services, statement: CreateCube, cube: CubeDefinition) -> None:
    """Raises SparkMissingError if the cube's build needs Spark, which isn't installed."""
    services.builder.check_spark(cube_record(statement, services, cube))


class Buildable:
    """Filters advice by what this installation builds; costs nothing if Spark is installed."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.everything = services.spark_source.started or is_spark_installed()
        self.left_out = 0
        self._saves: dict[int, float] = {}

    def cube(
        self, name: str, select_sql: str, cube: CubeDefinition, saves: Saves = _NOTHING
    ) -> bool:
        """Returns whether the cube can be built here; counts it, and what it saves, if not."""
        if self.everything:
            return True
        try:
            check_cube(self._services, CreateCube(name, select_sql), cube)
        except (SparkMissingError, SparkElsewhereError):
            return self._count(saves)
        except (AcceleratorError, ValueError):  # a build will report it
            return True
        return True

    def index(self, fact: PinnedTable, saves: Saves = _NOTHING) -> bool:
        """Returns whether an index of the table can be built here; counts it if not."""
        if self.everything:
            return True
        try:
            self._services.index_builder.check_bytes("", fact.live_files())
        except (SparkMissingError, SparkElsewhereError):
            return self._count(saves)
        return True

    def order(self, saves: Saves = _NOTHING) -> bool:
        """Returns whether a table can be rewritten in an order here; counts it if not."""
        return self.everything or self._count(saves)

    def advised(self, needs_spark: Callable[[], bool], ms: float) -> bool:
        """Returns whether what was advised can be done here; counts it, and its gain, if not."""
        if self.everything or not needs_spark():
            return True
        return self._count({-1 - self.left_out: ms})

    @property
    def note(self) -> str:
        """The sentence on what Spark would add; empty if no advice was filtered."""
        if not self.left_out:
            return ""
        return (
            f"{self.left_out} possible cubes, indexes or orders aren't advised, since only Spark"
            f" builds them: {INSTALL} and a Java add them{self._gain}"
        )

    @property
    def _gain(self) -> str:
        """The time that they would save: of each question's options the best one."""
        ms = sum(self._saves.values())
        return f", which would save up to {ms / 1000:,.1f} s a day" if ms >= _LEAST_MS else ""

    def _count(self, saves: Saves) -> bool:
        self.left_out += 1
        for question, ms in saves.items():
            self._saves[question] = max(ms, self._saves.get(question, 0.0))
        return False
