"""What a session's statements are read under: catalog, namespace, time zone and SQL settings.

Asked of Spark where it runs, since `SET` and `USE` change them there; from the configuration where
it doesn't.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from accelerator.config import Config

_ZONES = "zoneinfo/"


class EmbeddedContext:
    """The context of an embedded session; `conf` gives Spark's SQLConf once Spark runs, else None."""

    def __init__(
        self,
        config: Config,
        conf: Callable[[], Any],
        current: Callable[[], tuple[str, tuple[str, ...]]],
    ) -> None:
        self._config, self._conf, self._current = config, conf, current

    def settings(self) -> Mapping[str, str]:
        """`ansi`, `case_sensitive`, `time_zone` and `branch` (to read first), as Spark's texts."""
        conf = self._conf()
        if conf is None:
            given = self._config.spark_conf
            return {
                "ansi": given.get("spark.sql.ansi.enabled", "true").lower(),
                "case_sensitive": given.get("spark.sql.caseSensitive", "false").lower(),
                "time_zone": time_zone(self._config),
                "branch": given.get("spark.wap.branch", ""),
            }
        return {
            "ansi": str(conf.ansiEnabled()).lower(),
            "case_sensitive": str(conf.caseSensitiveAnalysis()).lower(),
            "time_zone": str(conf.sessionLocalTimeZone()),
            "branch": str(conf.getConfString("spark.wap.branch", "")),
        }

    def catalog(self) -> str:
        """The current catalog."""
        return self._config.catalog_name if self._conf() is None else self._current()[0]

    def namespace(self) -> tuple[str, ...]:
        """The current namespace."""
        return ("default",) if self._conf() is None else self._current()[1]


def time_zone(config: Config) -> str:
    """The session's time zone: configured, or the machine's as the JVM would find it."""
    given = config.session_time_zone or config.spark_conf.get("spark.sql.session.timeZone")
    return given or machine_time_zone()


def machine_time_zone() -> str:
    """$TZ, what /etc/localtime links to, or UTC."""
    named = os.environ.get("TZ", "").lstrip(":")
    if named:
        return named
    target = os.path.realpath("/etc/localtime") if Path("/etc/localtime").exists() else ""
    return target.split(_ZONES, 1)[1] if _ZONES in target else "UTC"
