"""The sessions of one worker: one for each time zone in which clients ask, of which few are kept.

A session's time zone is fixed when it's opened, since its plans rest on it. Promise: who asks in a
zone that has a session doesn't wait while sessions of other zones are opened, one after the other.
Closing one zone's session leaves Spark running for the others.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress

from msgspec import Struct, field

from accelerator.common.config.config import Config
from accelerator.common.config.memory_budget import LEAST
from accelerator.engines.session_settings import time_zone
from accelerator.engines.spark.context import SHARED
from accelerator.engines.spark.lazy_engine import elsewhere
from accelerator.session.opening import open_loaded
from accelerator.session.session import Accelerator

_ZONE = "spark.sql.session.timeZone"


class _IdleSession(Struct):
    opened: Future[Accelerator] = field(default_factory=Future)
    users: int = 0
    is_left: bool = False

    def close(self) -> None:
        """Closes the session, if it could be opened."""
        with suppress(Exception):  # told to who opened it
            self.opened.result().close()


class Sessions:
    """Threads share them."""

    def __init__(
        self, config: Config, *, spark: bool, zones_max: int, private: Sequence[str] = ()
    ) -> None:
        """If `spark` is false, no session starts Spark. `private` are the gateway's own files."""
        self._private = tuple(private)
        # What they are asked is for the gateway to log: it knows who has asked, and for how long.
        self._config = config.model_copy(update={"query_log": False})
        self._spark, self._max = spark, max(1, zones_max)
        self._kept: OrderedDict[str, _IdleSession] = OrderedDict()
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self.zone = time_zone(config)
        SHARED.hold()  # the session that started Spark may be closed before the others

    @contextmanager
    def using(self, zone: str | None = None) -> Iterator[Accelerator]:
        """The session of that time zone, by default the configured one, as long as it's inside."""
        zone = zone or self.zone
        kept, is_new, left = self._check_out(zone)
        try:
            if is_new:
                self._open(zone, kept)
            for one in left:
                one.close()
            yield kept.opened.result()
        finally:
            with self._lock:
                kept.users -= 1
                closing = kept.is_left and not kept.users
            if closing:
                kept.close()

    def _check_out(self, zone: str) -> tuple[_IdleSession, bool, list[_IdleSession]]:
        """Returns the zone's session, whether it must be opened, and sessions to close."""
        left: list[_IdleSession] = []
        with self._lock:
            kept = self._kept.get(zone)
            is_new = kept is None
            if kept is None:
                kept = self._kept[zone] = _IdleSession()
            self._kept.move_to_end(zone)
            kept.users += 1
            # The configured zone's stays, whatever zones a client makes up.
            others = [one for one in self._kept if one not in (zone, self.zone)]
            for name in others[: max(0, len(self._kept) - self._max)]:
                oldest = self._kept.pop(name)
                oldest.is_left = True
                if not oldest.users:
                    left.append(oldest)
        return kept, is_new, left

    def _open(self, zone: str, kept: _IdleSession) -> None:
        """Opens the session, for all who wait for it; the next one of the zone tries it again."""
        try:
            with self._opening:
                kept.opened.set_result(self._opened(zone))
        except BaseException as error:
            kept.opened.set_exception(error)
            with self._lock:
                if self._kept.get(zone) is kept:
                    del self._kept[zone]

    def _opened(self, zone: str) -> Accelerator:
        config = self._config
        if zone != self.zone:
            conf = {key: value for key, value in config.spark_conf.items() if key != _ZONE}
            memory = max(LEAST, config.memory_bytes_max // 4)  # beside the first one's
            config = config.model_copy(
                update={"session_time_zone": zone, "spark_conf": conf, "memory_bytes_max": memory}
            )
        source = None if self._spark else elsewhere()
        return open_loaded(config, source=source, private=self._private)

    @property
    def spark_started(self) -> bool:
        """Whether one of them has a Spark that runs."""
        return any(session.spark_started for session in self._opened_now())

    def has_stuck_tasks(self, seconds: float) -> bool:
        """Returns whether Spark still runs tasks so many seconds after they were stopped.

        Tasks of closed sessions count, too.
        """
        return SHARED.has_stuck_tasks(seconds)

    def java_status(self, wait_s: float = 0.0) -> int | None:
        """Returns how the Java process of theirs has ended, None if it runs or there is none."""
        return SHARED.java_status(wait_s)

    def _opened_now(self) -> list[Accelerator]:
        with self._lock:
            opened = [one.opened for one in self._kept.values() if one.opened.done()]
        return [one.result() for one in opened if not one.exception()]

    def close(self) -> None:
        """Closes all."""
        with self._lock:
            kept = list(self._kept.values())
            self._kept.clear()
        try:
            for one in kept:
                one.close()
        finally:
            SHARED.release()
