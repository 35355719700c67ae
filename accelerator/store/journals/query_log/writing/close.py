"""Whoever ends tidies the log, where many small files lie in it.

A process that asks one statement and ends writes a small file, and lives too short to merge any.
So some of those that end look at the log's listing, once their own file is written, and merge a few
files where many are there. Promises: nobody's answer waits for it; one process does it at a time,
and few files are read; one that is killed meanwhile leaves what any round can go on with.
"""

from __future__ import annotations

import logging
from typing import Protocol

from accelerator.errors import UNFIT, AcceleratorError
from accelerator.store.files.files import StoreFiles
from accelerator.store.journals.claims import Claims

KEY = "query-log"
"""Of the claims of whoever tidies the log by himself."""
CROWD = 64
"""So many files are worth a round."""
_READ_MAX = 80
"""By one process: a fifth of a second, about."""
_AGE_US = 60_000_000
"""Files are left alone for so long: their process may write another one."""
_LOOKS = 8
"""One of so many processes looks, so that a log in a bucket isn't listed by each."""
_log = logging.getLogger("accelerator")


def looks(process: str) -> bool:
    """Whether the process of that id, which is random, is one that looks."""
    return int(process[:8], 16) % _LOOKS == 0


class Tidy(Protocol):
    """Trims the log and merges at most so many of its small files; StoreError."""

    def __call__(self, *, files_max: int, age_us: int) -> None: ...


def tidy_crowd(files: StoreFiles, tidy: Tidy, *, now_us: int) -> bool:
    """Tidies where it pays and nobody else does so now; whether it did. Raises nothing.

    `now_us` is Unix time in microseconds.
    """
    from accelerator.store.journals.query_log.writing.merging import crowd  # imports parts of Arrow

    try:
        if crowd(files, now_us=now_us, age_us=_AGE_US) < CROWD:
            return False
        claim = Claims(files).claim(KEY)
        if claim is None:
            return False
        try:
            tidy(files_max=_READ_MAX, age_us=_AGE_US)
        finally:
            claim.end(claim.last)  # a service goes by its own last run
        return True
    except (AcceleratorError, OSError, MemoryError, *UNFIT) as error:
        _log.info("small files of the query log are left: %s", error)
        return False
