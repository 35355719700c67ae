"""Asks Spark again what a record answers: a random part in `make test`, all in `make test-full`.

Promises: a record that Spark would no longer give fails the test that reads it, with the question
and what differs. What Spark itself answers in two ways within one run is nobody's fault: it passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from accelerator.services.verification.compare import differ
from tests.support.recording.records import Record, digest

SHARE = 20
"""One of so many is asked again."""
_OF_A_JOB = "segments"
_TELLS_FILES = re.compile(
    r"\.(snapshots|refs|entries|files|history|manifests|partitions|metadata_log_entries|\w+_files)\b"
    r"|\b_(file|pos)\b|input_file_name",
    re.IGNORECASE,
)
_LIMITED = re.compile(r"\bLIMIT\b", re.IGNORECASE)


class RecordDiffersError(AssertionError):
    """Spark answers a recorded question otherwise than it's recorded."""


class Again:
    """Which records are asked again; nothing without a seed."""

    def __init__(self) -> None:
        self.seed = ""
        self.asked = 0

    def chosen(self, key: str) -> bool:
        """Whether this one is, under this run's seed."""
        return bool(self.seed) and int(digest(self.seed, key)[:8], 16) % SHARE == 0

    def compare(self, kind: str, kept: Record, now: Record, ask: Callable[[], Record]) -> None:
        """Raises where Spark answers otherwise now, and so once more, by `ask`."""
        self.asked += 1
        found = differences(kind, kept, now)
        if found and not differences(kind, now, ask()):
            told = "\n    ".join([kept.about, *found])
            where = f" (--again={self.seed})" if self.seed else ""
            raise RecordDiffersError(f"Spark answers otherwise than recorded{where}: {told}")

    def compare_elsewhere(
        self, kind: str, kept: Record, now: Record, ask: Callable[[], Record]
    ) -> None:
        """The same of a lake that was made anew, whose ids, times and paths are others.

        What tells these isn't compared. Of rows that tie, LIMIT takes those of the file whose name
        comes first, so of such an answer only its length and columns are.
        """
        if _TELLS_FILES.search(kept.about):
            return
        if _LIMITED.search(kept.about) and kept.table is not None and now.table is not None:
            kept, now = (Record(_shape(one.table), None, one.about) for one in (kept, now))
            self.compare(kind, kept, now, lambda: now)
            return
        self.compare(kind, kept, now, ask)


def _shape(table: pa.Table | None) -> pa.Table:
    assert table is not None
    names = [f"{field.name}: {field.type}" for field in table.schema]
    return pa.table({"columns": [names], "rows": [table.num_rows]})


def differences(kind: str, kept: Record, now: Record) -> list[str]:
    """What differs: errors by class and condition, answers as VERIFY compares them.

    Of what changes the lake, `step`, errors alone: procedures tell ids and times.
    """
    if kept.error is not None or now.error is not None:
        told = [_error(record) for record in (kept, now)]
        return [] if told[0] == told[1] else [f"recorded {told[0]}, now {told[1]}"]
    if kind == "step":
        return []
    assert kept.table is not None and now.table is not None
    if kind == _OF_A_JOB:
        return differ(_cells(now.table), _cells(kept.table))
    if not kept.table.num_columns and not now.table.num_columns:
        return []
    return differ(now.table, kept.table)


def _error(record: Record) -> str:
    if record.error is None:
        return "an answer"
    return f"{record.error.get('class')} {record.error.get('condition') or ''}".strip()


def _cells(files: pa.Table) -> pa.Table:
    """The cells of a job's files in one table, without the segments' ids, which are drawn."""
    read = [pq.read_table(BytesIO(data)) for data in files["bytes"].to_pylist()]
    found = pa.concat_tables(read) if read else pa.table({})
    kept = [name for name in found.column_names if name != "segment"]
    return found.select(kept)


AGAIN = Again()
