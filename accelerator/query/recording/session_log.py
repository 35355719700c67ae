"""The query log of one session: opened with it, written to by it, closed with it."""

from __future__ import annotations

import logging
import time
import weakref
from typing import TYPE_CHECKING

from accelerator.errors import UNFIT, AcceleratorError
from accelerator.query.recording.statement_recorder import UNLOGGED, StatementRecorder, Unlogged
from accelerator.store.journals.query_log.writing.writer import Limits, QueryLog, tidy

if TYPE_CHECKING:
    from accelerator.common.config.config import Config
    from accelerator.query.parameters import Parameters
    from accelerator.store.files.files import StoreFiles
    from accelerator.store.journals.query_log.record import LogRecord

_log = logging.getLogger("accelerator")
_FLUSH_S = 2.0
_CLOSE_S = 2.0


class SessionLog:
    """Threads share it. Nothing is written where the settings, or a read-only store, say so.

    `source` is the application by which statements come, where that is known.
    """

    def __init__(self, config: Config, files: StoreFiles) -> None:
        self._config, self._files, self.source = config, files, config.source
        self._log: QueryLog | None = None
        if config.query_log and not config.store_read_only:
            self._log = QueryLog(files, Limits.of(config))
            # A session that nobody closes any more ends its thread.
            weakref.finalize(self, self._log.leave).atexit = False

    def asked(
        self,
        sql: object,
        user: str | None,
        dialect: str | None,
        params: Parameters | None = None,
    ) -> StatementRecorder | Unlogged:
        """A statement that begins now, with these values; one that isn't a text isn't logged."""
        log, config = self._log, self._config
        if log is None or not isinstance(sql, str):
            return UNLOGGED
        name = user or config.user
        return StatementRecorder(log.add, sql, dialect or config.dialect, name, self.source, params)

    def unwritten(self) -> list[LogRecord]:
        """What couldn't be written yet, once it was tried, within some seconds."""
        if self._log is None or self._log.flush(_FLUSH_S):
            return []
        return self._log.waiting()

    def tidy(self) -> None:
        """Keeps the whole log within its bounds and merges its small files; raises nothing.

        Whoever looks after the store does so, whether its own statements are logged or not.
        """
        try:
            tidy(self._files, Limits.of(self._config), now_us=time.time_ns() // 1000)
        except (AcceleratorError, OSError, MemoryError, *UNFIT) as error:
            _log.warning("the query log couldn't be tidied up: %s", error)

    def close(self) -> None:
        """Writes what waits; a store that doesn't answer holds that up for some seconds only."""
        if self._log is not None:
            self._log.close(_CLOSE_S)
