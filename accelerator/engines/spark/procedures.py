"""Iceberg's own procedures on a table: which snapshots may go, and their files' removal.

What stays because of branches, tags and the table's properties is Iceberg's decision; nothing here
deletes a file by itself. Failures are `EngineError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from accelerator.engines.spark.jvm.errors import JvmError, java_errors
from accelerator.errors import CancelledError, EngineError
from cubes.job_error import JobError
from cubes.spark import job_errors
from rewrite.identifiers.qualified_name import parts_of
from rewrite.identifiers.quoting import backticked, text_constant

if TYPE_CHECKING:
    from accelerator.engines.spark.engine import SparkEngine

_TABLE = "org.apache.iceberg.Table"
_EXPIRY = "org.apache.iceberg.ExpireSnapshots"


class Procedures:
    """The procedures of one session, run under a tag by which they can be stopped.

    `check` raises CancelledError once they were: what runs outside of Spark's jobs, no tag reaches.
    """

    def __init__(self, engine: SparkEngine, tag: str, check: Callable[[], None]) -> None:
        self._engine, self._tag, self._check = engine, tag, check

    def expirable(self, parts: tuple[str, ...], older_than_ms: int) -> frozenset[int]:
        """Ids of the snapshots that an expiry would remove; changes nothing."""
        with self._errors(parts, "expiring its snapshots"), java_errors():
            jvm, table = self._engine.jvm, self._engine.load(parts)
            jvm.virtual(_TABLE, "refresh", table)
            update = jvm.virtual(_TABLE, "expireSnapshots", table)
            update = jvm.virtual(_EXPIRY, "expireOlderThan", update, older_than_ms)
            found = jvm.virtual("org.apache.iceberg.PendingUpdate", "apply", update)
            number = "org.apache.iceberg.Snapshot", "snapshotId"
            return frozenset(int(jvm.virtual(*number, found.get(i))) for i in range(found.size()))

    def expire(self, parts: tuple[str, ...], older_than_ms: int) -> dict[str, int]:
        """Expires snapshots and deletes what no other one holds; how many files, by kind."""
        with self._errors(parts, "expiring its snapshots"):
            sql = _call(parts, "expire_snapshots", older_than_ms, "stream_results => true")
            row = self._engine.built(sql).collect()[0].asDict()
        return {
            name.removeprefix("deleted_").removesuffix("_count"): int(count or 0)
            for name, count in row.items()
        }

    def remove_orphans(self, parts: tuple[str, ...], older_than_ms: int, *, dry_run: bool) -> int:
        """Deletes files under the table's location that no metadata of it names; how many."""
        with self._errors(parts, "looking for its orphan files"):
            more = f"dry_run => {str(dry_run).lower()}"
            sql = _call(parts, "remove_orphan_files", older_than_ms, more)
            return int(self._engine.built(sql).count())

    def tables(self, catalog: str) -> list[tuple[str, ...]]:
        """Namespace + name of what a catalog lists as tables, Iceberg's or not."""
        found: list[tuple[str, ...]] = []
        with self._errors((catalog,), "listing its tables"):
            waiting: list[tuple[str, ...]] = [()]
            while waiting:
                self._check()
                namespace = waiting.pop()
                inside = ".".join(map(backticked, (catalog, *namespace)))
                for row in self._engine.built(f"SHOW NAMESPACES IN {inside}").collect():
                    within = parts_of(row[0])
                    # Some catalogs list the one that was asked about again.
                    if len(within) > len(namespace):
                        waiting.append(within)
                if namespace:
                    rows = self._engine.built(f"SHOW TABLES IN {inside}").collect()
                    found += [(*namespace, row["tableName"]) for row in rows if not row[2]]
        return found

    @contextmanager
    def _errors(self, parts: tuple[str, ...], what: str) -> Iterator[None]:
        try:
            with self._engine.tagged(self._tag), job_errors():
                self._check()
                yield
            self._check()
        except (JobError, JvmError) as error:
            self._check()
            if isinstance(error, JobError) and error.cancelled:
                raise CancelledError(f"{what} was cancelled") from error
            raise EngineError(
                f"{'.'.join(parts)}: {what} failed in Spark: {error}",
                hint="nothing of the store was deleted; mend what Spark says, then VACUUM again",
            ) from error


def _call(parts: tuple[str, ...], procedure: str, older_than_ms: int, more: str) -> str:
    """A CALL; the time is written in UTC, whatever the session's zone is.

    The table has its catalog's name too: Iceberg takes a namespace called as a catalog for that.
    """
    quoted = [backticked(part) for part in parts]
    table = text_constant(".".join(quoted))
    time = datetime.fromtimestamp(older_than_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    return (
        f"CALL {quoted[0]}.system.{procedure}(table => {table},"
        f" older_than => TIMESTAMP '{time}Z', {more})"
    )
