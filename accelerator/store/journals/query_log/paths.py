"""Names of the log's files: each tells when its statements began, and who wrote it.

`log/v1/2026-11-27/<newest>-<oldest>-<process>-<number>.parquet`, times in UTC to the microsecond.
Every statement in a file began between the two, so that readers leave files out by their names, and
names in their order are times in theirs.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from accelerator.store.journals.query_log.record import TIME_MAX

FOLDER = "log/v1"
MERGED = 0
"""The number of files that were merged; a process counts its own from 1."""
_FORMAT = "%Y%m%dT%H%M%S%f"
_TIME = r"(\d{8}T\d{12})"
_PATH = re.compile(
    rf"{FOLDER}/(\d{{4}}-\d\d-\d\d)/{_TIME}-{_TIME}-([0-9a-f]{{32}})-(\d{{6,12}})\.parquet",
    re.ASCII,
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class LogFile(Struct, frozen=True):
    """A file of the log by its name; times are Unix time in microseconds.

    `id` is its process and number: no other file has it.
    """

    path: str
    newest_us: int
    oldest_us: int
    bytes: int = 0

    @property
    def id(self) -> str:
        """Behind the times in its name."""
        return self.path.rpartition("/")[2].split("-", 2)[2].removesuffix(".parquet")

    @property
    def is_merged(self) -> bool:
        """Whether its name says that it was merged."""
        return int(self.id.partition("-")[2]) == MERGED


def path_of(newest_us: int, oldest_us: int, process: str, number: int) -> str:
    """The name of a process's file of that number."""
    newest, oldest = _time(newest_us), _time(oldest_us)
    times = f"{newest.strftime(_FORMAT)}-{oldest.strftime(_FORMAT)}"
    return f"{FOLDER}/{newest.strftime('%Y-%m-%d')}/{times}-{process}-{number:06d}.parquet"


def log_file(path: str, bytes: int = 0) -> LogFile | None:
    """The file of that name; None where it's no name of the log's."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    try:
        newest, oldest = _micros(found[2]), _micros(found[3])
    except ValueError:
        return None
    if oldest > newest or day_of(newest) != found[1]:
        return None
    return LogFile(path, newest, oldest, bytes)


def day_of(time_us: int) -> str:
    """The folder of a time."""
    return _time(time_us).strftime("%Y-%m-%d")


def is_day(folder: str) -> bool:
    """Whether a folder has a day's name."""
    return _DAY.fullmatch(folder) is not None


def micros_of(time: datetime) -> int:
    """Unix time in microseconds of a time that has a zone."""
    return (time - _EPOCH) // _MICROSECOND


def _time(time_us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=max(0, min(time_us, TIME_MAX)))


def _micros(text: str) -> int:
    return micros_of(datetime.strptime(text, _FORMAT).replace(tzinfo=UTC))
