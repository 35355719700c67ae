"""Where manifests that aren't kept are decoded: here, or by a Spark job; and that job's answer.

The rule (`JobRule.weigh`) compares what both would take, by bytes, entries and the columns that
come back. What a job gives is of one predicate, so it's never kept, and the next statement may need
another. So jobs are like rent: once those over a table have taken what decoding here takes, it's
decoded here and kept, and at worst both together cost about twice what the better one had.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from accelerator.iceberg.manifests.manifest_file import ManifestFile
from accelerator.iceberg.manifests.request import Question

if TYPE_CHECKING:
    from accelerator.iceberg.manifests.cache_file import Identity

_TASK_BYTES = 8 << 20
"""Manifests of so many bytes make a task, or fewer where that leaves workers idle."""

# Seconds, as measured; docs/decisions/0011 has the figures.
_LOCAL_S_PER_BYTE = 1 / 27e6
_JOB_S = 4.0
_BACK_S_PER_ENTRY = 1e-6
_BACK_S_PER_STATISTIC = 0.5e-6
_WORTH = 2
"""So many times quicker must a job be: what it gives isn't kept."""
_LEFT = 0.1
"""The share of files that a predicate leaves, for lack of anything better."""


class JobFailedError(Exception):
    """The job failed; never leaves the package."""


class Jobs(Protocol):
    """Where Spark's workers are."""

    @property
    def running(self) -> bool:
        """Whether a Spark session runs."""
        ...

    def workers(self) -> int:
        """How many tasks run at once; starts a session where none runs. JobFailedError."""
        ...

    def run(self, task: Callable[[Any], list[bytes]], items: Sequence[Any]) -> list[list[bytes]]:
        """The task's answers, one for each item, in their order.

        JobFailedError for whatever goes wrong, but CancelledError where somebody stopped it.
        """
        ...


class Decoding(Struct, frozen=True):
    """Where the manifests of a statement's table were decoded, and why there.

    `by` is `cache` where all were kept, `here` or `spark`. `manifests`, `bytes` (of their files)
    and `entries` are of those that weren't kept; `left` the entries that came back of the job's
    `tasks`. `failed` is why a job failed, which was then made up for here.
    """

    by: Literal["cache", "here", "spark"]
    why: str
    manifests: int = 0
    bytes: int = 0
    entries: int = 0
    tasks: int = 0
    left: int = 0
    failed: str | None = None


KEPT = Decoding("cache", "all manifests are kept in memory or in the folder")


class JobRule(Struct, frozen=True):
    """The settings: `auto`, `always` or `never`, and how many bytes may be worth a job."""

    way: str = "never"
    bytes_min: int = 128 << 20

    def weigh(
        self, found: Decoding, question: Question, workers: int, rented_s: float
    ) -> tuple[bool, str]:
        """Whether a job decodes them, and why; `rented_s`: what jobs over the table have taken."""
        if self.way == "always":
            return True, "manifest_jobs is `always`"
        here = found.bytes * _LOCAL_S_PER_BYTE
        left = found.entries * (_LEFT if question.conjuncts else 1)
        per_entry = _BACK_S_PER_ENTRY + _BACK_S_PER_STATISTIC * len(question.columns)
        there = _JOB_S + here / workers + left * per_entry
        told = f"a job by {workers} workers takes about {there:.1f} s, decoding here {here:.1f} s"
        if there * _WORTH > here:
            return False, told
        if rented_s >= here:
            return False, f"jobs have taken {rented_s:.1f} s, decoding here {here:.1f} s is kept"
        return True, told


class ManifestJobs(Struct):
    """The rule, the workers, and what was spent. `jobs` is None where there is no Spark at all."""

    rule: JobRule = field(default_factory=JobRule)
    jobs: Jobs | None = None
    _spent_s: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def choose(self, uuid: str, missing: Sequence[ManifestFile], question: Question) -> Decoding:
        """Where these manifests of the table with that uuid are to be decoded.

        `by` is `spark` where `run` may be called.
        """
        if not missing:
            return KEPT
        found = Decoding(
            by="here",
            why="manifest_jobs is `never`",
            manifests=len(missing),
            bytes=sum(one.manifest_length for one in missing),
            entries=sum(
                (one.added_files_count or 0) + (one.existing_files_count or 0) for one in missing
            ),
        )
        rule, jobs = self.rule, self.jobs
        if rule.way == "never" or jobs is None:
            return found
        if rule.way == "auto" and found.bytes < rule.bytes_min:
            return replace(found, why="they are fewer bytes than manifest_jobs_bytes_min")
        if rule.way == "auto" and not jobs.running:
            return replace(found, why="no Spark session runs")
        with self._lock:
            spent = self._spent_s.get(uuid, 0.0)
        try:
            workers = jobs.workers()
        except JobFailedError as error:
            return replace(found, why=f"manifest_jobs is `{rule.way}`", failed=str(error))
        wanted, why = rule.weigh(found, question, workers, spent)
        if not wanted:
            with self._lock:
                self._spent_s.pop(uuid, None)
        return replace(found, by="spark" if wanted else "here", why=why)

    def run(
        self,
        uuid: str,
        task: Callable[[Sequence[ManifestFile]], list[bytes]],
        missing: Sequence[ManifestFile],
    ) -> tuple[Mapping[Identity, bytes], int]:
        """What the task gives of each manifest, and how many tasks there were.

        Raises:
            JobFailedError: for whatever goes wrong.
            CancelledError: somebody stopped the job.
        """
        from accelerator.iceberg.manifests import cache_file as manifest_file  # imports compute

        if self.jobs is None:
            raise JobFailedError("there is no Spark")
        began = time.monotonic()
        try:
            parts = split(missing, self.jobs.workers())
            given = self.jobs.run(task, parts)
        finally:
            with self._lock:
                self._spent_s[uuid] = self._spent_s.get(uuid, 0.0) + time.monotonic() - began
        if [len(one) for one in given] != [len(part) for part in parts]:
            raise JobFailedError("the job's answer lacks manifests")
        pairs = zip(parts, given, strict=True)
        found = {
            manifest_file.Identity.of(m): data
            for part, datas in pairs
            for m, data in zip(part, datas, strict=True)
        }
        return found, len(parts)


def split(manifests: Sequence[ManifestFile], workers: int) -> list[list[ManifestFile]]:
    """The manifests in their order, cut to tasks of alike many bytes."""
    total = sum(one.manifest_length for one in manifests)
    most = min(_TASK_BYTES, -(-total // max(workers, 1)))
    parts: list[list[ManifestFile]] = []
    size = most
    for manifest in manifests:
        if size >= most:
            parts.append([])
            size = 0
        parts[-1].append(manifest)
        size += manifest.manifest_length
    return parts
