"""What a session's statements are read under: catalog, namespace, time zone and SQL settings.

Asked of Spark where it runs, since `SET` and `USE` change them there; from the configuration where
it doesn't.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accelerator.config import Config

_ZONES = "zoneinfo/"
_USUAL = {
    "spark.sql.ansi.relationPrecedence": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.groupByAliases": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
}
"""Settings under which a statement's text means something else than what is parsed here."""


class SessionContext:
    """The context of a session.

    `conf` gives Spark's SQLConf once Spark runs, else None; `manager` gives its CatalogManager.
    """

    def __init__(
        self,
        config: Config,
        conf: Callable[[], Any],
        manager: Callable[[], Any],
    ) -> None:
        self._config, self._conf, self._manager = config, conf, manager
        given = config.spark_conf
        self._configured = {
            "ansi": given.get("spark.sql.ansi.enabled", "true").lower(),
            "case_sensitive": given.get("spark.sql.caseSensitive", "false").lower(),
            "time_zone": time_zone(config),
            "branch": given.get("spark.wap.branch", ""),
            "unusual": _unusual(given.get),
        }
        self._known: tuple[str, Mapping[str, str]] = ("", {})
        self._map: tuple[Any, Any] | None = None
        self._statement = threading.local()

    def settings(self) -> Mapping[str, str]:
        """`ansi`, `case_sensitive`, `time_zone` and `branch` (to read first), as Spark's texts.

        `unusual` names a setting under which a statement's text is read otherwise, if there is one.
        """
        conf = self._conf()
        if conf is None:
            return self._configured
        # One call to the JVM tells whether anything was SET since; only then are the values asked.
        text = str(self._settings_of(conf).toString())
        if text != self._known[0]:
            self._known = (text, self._asked(conf))
        return self._known[1]

    def _settings_of(self, conf: Any) -> Any:
        """The map of what was SET; one Java object for a session's whole life."""
        if self._map is None or self._map[0] is not conf:
            self._map = (conf, conf.settings())
        return self._map[1]

    @staticmethod
    def _asked(conf: Any) -> Mapping[str, str]:
        return {
            "ansi": str(conf.ansiEnabled()).lower(),
            "case_sensitive": str(conf.caseSensitiveAnalysis()).lower(),
            "time_zone": str(conf.sessionLocalTimeZone()),
            "branch": str(conf.getConfString("spark.wap.branch", "")),
            "unusual": _unusual(lambda name, usual: str(conf.getConfString(name, usual))),
        }

    @contextmanager
    def statement(self) -> Iterator[None]:
        """While this thread plans one statement, Spark is asked for its catalog only once."""
        self._statement.catalog = None
        self._statement.within = True
        try:
            yield
        finally:
            self._statement.within = False

    def catalog(self) -> str:
        """The current catalog."""
        if self._conf() is None:
            return self._config.catalog_name
        within = getattr(self._statement, "within", False)
        known: str | None = self._statement.catalog if within else None
        if known is None:
            known = str(self._manager().currentCatalog().name())
            self._statement.catalog = known
        return known

    def is_temporary(self, parts: tuple[str, ...]) -> bool:
        """Whether Spark would take the name for a temporary view, which hides a table."""
        manager = self._manager() if len(parts) == 1 and self._conf() is not None else None
        return manager is not None and bool(
            manager.v1SessionCatalog().getTempView(parts[0]).isDefined()
        )

    def namespace(self) -> tuple[str, ...]:
        """The current namespace."""
        if self._conf() is None:
            return ("default",)
        return tuple(str(part) for part in self._manager().currentNamespace())


def _unusual(read: Callable[[str, str], str]) -> str:
    """The first setting that isn't as `_USUAL` has it."""
    return next((n for n, usual in _USUAL.items() if read(n, usual).lower() != usual), "")


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
