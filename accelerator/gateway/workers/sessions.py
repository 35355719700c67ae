"""The sessions of one worker: one for each time zone in which clients ask, of which few are kept.

A session's time zone is fixed when it's opened, since its plans rest on it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from accelerator.config import Config
from accelerator.context import time_zone
from accelerator.engines.source import elsewhere
from accelerator.memory import LEAST
from accelerator.opening import open_loaded
from accelerator.session import Accelerator

_ZONE = "spark.sql.session.timeZone"


@dataclass(slots=True)
class _Kept:
    session: Accelerator
    users: int = 0
    is_left: bool = False


class Sessions:
    """Threads share them."""

    def __init__(self, config: Config, *, spark: bool, zones_max: int) -> None:
        """Without `spark` none of them starts one."""
        # What they are asked is for the gateway to log: it knows who has asked, and for how long.
        self._config = replace(config, query_log=False)
        self._spark, self._max = spark, max(1, zones_max)
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self.zone = time_zone(config)

    @contextmanager
    def using(self, zone: str | None = None) -> Iterator[Accelerator]:
        """The session of that time zone, by default the configured one, as long as it's inside."""
        kept = self._taken(zone or self.zone)
        try:
            yield kept.session
        finally:
            with self._lock:
                kept.users -= 1
                closing = kept.is_left and not kept.users
            if closing:
                kept.session.close()

    def _taken(self, zone: str) -> _Kept:
        left: list[_Kept] = []
        with self._lock:
            kept = self._kept.get(zone)
            if kept is None:
                kept = self._kept[zone] = _Kept(self._opened(zone))
            self._kept.move_to_end(zone)
            kept.users += 1
            while len(self._kept) > self._max:
                _, oldest = self._kept.popitem(last=False)
                oldest.is_left = True
                if not oldest.users:
                    left.append(oldest)
        for one in left:
            one.session.close()
        return kept

    def _opened(self, zone: str) -> Accelerator:
        config = self._config
        if zone != self.zone:
            conf = {key: value for key, value in config.spark_conf.items() if key != _ZONE}
            memory = max(LEAST, config.memory_bytes_max // 4)  # beside the first one's
            config = replace(
                config, session_time_zone=zone, spark_conf=conf, memory_bytes_max=memory
            )
        return open_loaded(config, source=None if self._spark else elsewhere())

    @property
    def spark_started(self) -> bool:
        """Whether one of them has a Spark that runs."""
        with self._lock:
            return any(one.session.spark_started for one in self._kept.values())

    def close(self) -> None:
        """Closes all."""
        with self._lock:
            kept = list(self._kept.values())
            self._kept.clear()
        for one in kept:
            one.session.close()
