"""Reads the log: the newest statements first, as rows.

Nothing in the log's folder is trusted. A file that is damaged, isn't the log's, or is a later
release's is passed over, counted, and told in the log `accelerator`; one that is deleted meanwhile
is gone. Files are chosen by their names, so that only those are opened that may have rows to give.
"""

from __future__ import annotations

import heapq
import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from accelerator.errors import QueryLogError, StoreError
from accelerator.store.files.entries import is_draft
from accelerator.store.files.files import StoreFiles
from accelerator.store.journals.query_log.encoding.arrays import array
from accelerator.store.journals.query_log.encoding.decode import (
    FILE_BYTES_MAX,
    DamagedError,
    NewerError,
    decoded,
)
from accelerator.store.journals.query_log.paths import (
    FOLDER,
    LogFile,
    day_of,
    is_day,
    log_file,
    micros_of,
)
from accelerator.store.journals.query_log.record import COLUMN_OF, TIME_MAX, arrow_schema
from accelerator.store.journals.query_log.time_span import Span
from accelerator.store.journals.query_log.visibility import COLUMNS as OWN
from accelerator.store.journals.query_log.visibility import own, whose
from accelerator.store.journals.query_log.writing.merged_parts import begins

LIMIT_MAX = 100_000
_LOOKS = 3
"""So often it's begun anew where a file that was listed is gone: its rows may stand in another."""
BYTES_MAX = 1024**3
"""So much of rows is held at most; older ones are left out."""
_SORTED = ("started", "id")
_log = logging.getLogger("accelerator")


class LogRows(Struct, frozen=True):
    """Rows, the newest first, and what there was to say of the files.

    `files` were opened; `skipped` has why others gave nothing: `damaged`, `foreign`, `newer`,
    `unreadable`. `lost` records were never written, by these files' writers. `is_cut`: older rows
    were left out, since they were too large, or of `look_at` too many. `bytes` are those of the
    files that were opened.
    """

    rows: pa.Table
    files: int
    skipped: Mapping[str, int]
    lost: int
    is_cut: bool
    bytes: int = 0


def read(
    files: StoreFiles,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 1000,
) -> pa.Table:
    """The statements that began at `since` or later and before `until`, the newest first.

    At most so many. Columns are those of `record.COLUMNS`. QueryLogError for times without a zone
    and limits out of bounds; StoreError where the store can't be listed.
    """
    return look(files, since, until, limit).rows


def look(
    files: StoreFiles,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 1000,
) -> LogRows:
    """As `read`, with what was passed over; of the statements that may be seen here (`whose`)."""
    if not 0 <= limit <= LIMIT_MAX:
        raise QueryLogError(
            f"{limit} rows of the query log can't be read", hint=f"give 0 to {LIMIT_MAX:,}"
        )
    return _looked(
        files,
        Span(_micros(since, 0), _micros(until, TIME_MAX + 1)),
        limit,
        _LogQuestion(user=whose()),
    )


def look_at(
    files: StoreFiles, span: Span, limit: int, columns: Sequence[str], user: str | None = None
) -> LogRows:
    """As `look`, of these columns, in the order of the log's; of that `user`'s statements alone.

    `is_cut` too where there are more than `limit`.
    """
    names = {*columns, *_SORTED, *(OWN if user is not None else ())}
    found = _looked(files, span, limit + 1, _LogQuestion(names, user))
    more = found.rows.num_rows > limit
    rows = found.rows.slice(0, limit).select([one for one in COLUMN_OF if one in columns])
    return replace(found, rows=rows, is_cut=found.is_cut or more)


class _LogQuestion(Struct, frozen=True):
    """Columns, by default all, and whose statements, by default everybody's."""

    names: Collection[str] | None = None
    user: str | None = None


def _looked(files: StoreFiles, span: Span, limit: int, asked: _LogQuestion) -> LogRows:
    for _ in range(_LOOKS):
        looking = _Looking(files, span, limit, asked)
        found = looking.found()
        if not looking.is_gone:
            break
    if found.skipped:
        told = ", ".join(f"{count} {why}" for why, count in sorted(found.skipped.items()))
        _log.warning("files of the query log were passed over: %s", told)
    return found


def _micros(time: datetime | None, otherwise: int) -> int:
    if time is None:
        return otherwise
    if time.tzinfo is None:
        raise QueryLogError(
            "the query log is asked by a time without a zone",
            hint="for example datetime.now(UTC) - timedelta(hours=1)",
        )
    return micros_of(time)


class _Looking:
    """One reading. `_starts` are the beginnings of the newest rows so far, the oldest on top.

    `_taken` are the parts whose rows were looked at: a merged file may stand beside those that it
    was made of, or beside another of the same.
    """

    def __init__(self, files: StoreFiles, span: Span, limit: int, asked: _LogQuestion) -> None:
        self._files, self._since_us, self._until_us = files, span.since_us, span.until_us
        self._limit, self._asked = limit, asked
        self._skipped: Counter[str] = Counter()
        self._starts: list[int] = []
        self._parts: list[pa.Table] = []
        self._bytes = self._opened = self._lost = self._bytes_read = 0
        self._taken: set[str] = set()
        self._is_cut = self.is_gone = False

    def found(self) -> LogRows:
        """The rows, of as few files as may have them."""
        if self._limit and self._since_us < self._until_us:
            for file in self._newest_first():
                if self._is_full(file.newest_us):
                    break
                self._read(file)
        rows = self._sorted()
        told = self._opened, dict(self._skipped), self._lost, self._is_cut, self._bytes_read
        return LogRows(rows, *told)

    def _is_full(self, newest_us: int) -> bool:
        """Whether no file that ends by then has a row that is wanted."""
        if self._bytes > BYTES_MAX:
            self._is_cut = True
            return True
        return len(self._starts) >= self._limit and self._starts[0] > newest_us

    def _newest_first(self) -> Iterator[LogFile]:
        days = [one for one in self._files.folders(FOLDER) if is_day(one)]
        oldest = day_of(self._since_us)
        for day in sorted(days, reverse=True):
            if day < oldest:
                return
            # A merged file comes before those that it was made of, which then aren't opened.
            key = lambda one: (one.newest_us, one.is_merged)  # noqa: E731
            yield from sorted(self._of_day(day), key=key, reverse=True)

    def _of_day(self, day: str) -> Iterator[LogFile]:
        for entry in self._files.entries(f"{FOLDER}/{day}"):
            one = log_file(entry.path, entry.bytes)
            if one is None:
                if not is_draft(entry.path.rpartition("/")[2]):
                    self._skipped["foreign"] += 1
            elif one.newest_us >= self._since_us and one.oldest_us < self._until_us:
                yield one

    def _read(self, file: LogFile) -> None:
        if file.id in self._taken:
            return
        self._opened += 1
        if file.bytes > FILE_BYTES_MAX:
            self._skip("damaged", file, f"it has {file.bytes} bytes")
            return
        try:
            data = self._files.read_range(file.path, 0, file.bytes)
            self._bytes_read += file.bytes
            part = decoded(data, self._asked.names)
        except FileNotFoundError:  # a writer has deleted it meanwhile, or merged it
            self.is_gone = True
        except StoreError as error:
            self._skip("unreadable", file, error.message)
        except NewerError as error:
            self._skip("newer", file, str(error))
        except DamagedError as error:
            self._skip("damaged", file, str(error))
        else:
            own = begins(part.parts_of(file.id))
            new = [(one, row) for one, row in own if one.id not in self._taken]
            self._taken.update(one.id for one, _ in new)
            self._lost += sum(one.lost for one, _ in new)
            if len(new) == len(own):
                self._take(part.rows)
                return
            for one, row in new:
                self._take(part.rows.slice(row, one.rows))

    def _skip(self, why: str, file: LogFile, told: str) -> None:
        self._skipped[why] += 1
        _log.info("%s of the query log is passed over: %s", file.path, told)

    def _take(self, rows: pa.Table) -> None:
        """Keeps what is wanted; what newer ones have pushed out goes once there's much of it."""
        starts = rows["started"].cast(pa.int64())
        least = self._since_us
        if len(self._starts) >= self._limit:
            least = max(least, self._starts[0])
        first, end = array("count", [least, self._until_us])  # Arrow's own way imports pandas
        inside = pc.and_(pc.greater_equal(starts, first), pc.less(starts, end))
        rows = rows.filter(inside)
        if self._asked.user is not None:
            rows = own(rows, self._asked.user)
        if not rows.num_rows:
            return
        for start in rows["started"].cast(pa.int64()).to_pylist():
            if len(self._starts) < self._limit:
                heapq.heappush(self._starts, start)
            else:
                heapq.heappushpop(self._starts, start)
        self._parts.append(rows)
        self._bytes += rows.nbytes
        if sum(part.num_rows for part in self._parts) > 2 * self._limit + 1000:
            kept = self._sorted()
            self._parts, self._bytes = [kept], kept.nbytes

    def _sorted(self) -> pa.Table:
        if not self._parts:
            return _empty(self._asked.names)
        rows = pa.concat_tables(self._parts)
        order = pc.sort_indices(rows, sort_keys=[("started", "descending"), ("id", "descending")])
        return rows.take(order[: self._limit]).combine_chunks()


def _empty(names: Collection[str] | None) -> pa.Table:
    schema = arrow_schema()
    chosen = [one for one in schema if names is None or one.name in names]
    return pa.schema(chosen).empty_table()
