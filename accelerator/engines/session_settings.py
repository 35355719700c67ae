"""What a session's statements are read under: catalog, namespace, time zone and SQL settings.

Asked of Spark where it runs, since `SET` and `USE` change them there; from the configuration where
it doesn't.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from accelerator.common.config.config import Config
from accelerator.engines.spark.session.trusted_extensions import foreign, listed
from rewrite.identifiers.qualified_name import joined
from rewrite.identifiers.quoting import SUBSTITUTION
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.engines.spark.session.state import SessionState

_ZONES = "zoneinfo/"
_ZONE_KEY = "spark.sql.session.timeZone"
_USUAL = {
    "spark.sql.ansi.relationPrecedence": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.groupByAliases": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.legacy.integerGroupingId": "false",
    "spark.sql.legacy.statisticalAggregate": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.timestampType": "timestamp_ltz",
}
"""Settings under which a statement's text means something else than what is parsed here, or its
answer has other types or values."""
JUDGED_APART = frozenset(
    {
        *_USUAL,
        "spark.sql.ansi.enabled",
        "spark.sql.caseSensitive",
        "spark.sql.defaultCatalog",
        "spark.sql.globalTempDatabase",
        "spark.sql.session.timeZone",
        SUBSTITUTION,
    }
)
"""Settings that planning asks for by name, or whose effect on a text the parser refuses."""
_EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"
_RULES = "org.apache.spark.sql.catalyst.optimizer."
SPARED_RULES = frozenset(
    {
        "CollapseRepartition",
        "CollapseWindow",
        "CombineConcats",
        "EliminateLimits",
        "InferFiltersFromConstraints",
        "LikeSimplification",
        "LimitPushDown",
        "OptimizeCsvJsonExprs",
        "OptimizeIn",
        "OptimizeWindowFunctions",
    }
)
"""Spark's optimizer rules without which each answer and each error stays the same.

`tests/spark/test_optimizer_rules.py` excludes each of them; `docs/rewriting.md` lists all rules.
"""
HARMLESS = (
    "spark.sql.adaptive.",
    "spark.sql.artifact.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.broadcastTimeout",
    "spark.sql.cache.",
    "spark.sql.catalog.",
    "spark.sql.catalogImplementation",
    "spark.sql.cbo.",
    "spark.sql.codegen.",
    "spark.sql.debug.",
    "spark.sql.defaultSizeInBytes",
    "spark.sql.event.",
    "spark.sql.exchange.",
    "spark.sql.execution.",
    "spark.sql.extensions",
    "spark.sql.files.",
    "spark.sql.hive.",
    "spark.sql.iceberg.",
    "spark.sql.inMemoryColumnarStorage.",
    "spark.sql.inMemoryTableScanStatistics.",
    "spark.sql.join.",
    "spark.sql.leafNodeDefaultParallelism",
    "spark.sql.limit.",
    "spark.sql.maxPlanStringLength",
    "spark.sql.metadataCacheTTLSeconds",
    "spark.sql.objectHashAggregate.",
    "spark.sql.optimizer.",
    "spark.sql.orc.",
    "spark.sql.parquet.",
    "spark.sql.planChangeLog.",
    "spark.sql.planner.",
    "spark.sql.pyspark.",
    "spark.sql.queryExecutionListeners",
    "spark.sql.redaction.",
    "spark.sql.repl.",
    "spark.sql.requireAllClusterKeysFor",
    "spark.sql.shuffle.",
    "spark.sql.shuffledHashJoinFactor",
    "spark.sql.sources.",
    "spark.sql.statistics.",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.streaming.",
    "spark.sql.subexpressionElimination.",
    "spark.sql.thriftServer.",
    "spark.sql.thriftserver.",
    "spark.sql.ui.",
    "spark.sql.warehouse.dir",
    "spark.sql.windowExec.",
)
"""Settings, and beginnings of their names, that say how a query is run, not what it means.

Any other of `spark.sql.` that isn't at Spark's default leaves it to Spark. Catalogs and extensions
are judged elsewhere.
"""
_SHARED_VIEWS = ("spark.sql.globalTempDatabase", "global_temp")


class _SessionAnswer(Struct, frozen=True):
    """What a session said; `ask` asks whether it would say the same, and what it gives waits."""

    ask: Callable[[], Callable[[], bool]]
    settings: Mapping[str, str]
    catalog: str
    namespace: tuple[str, ...]
    views: frozenset[str] = frozenset()
    shared: str = _SHARED_VIEWS[1]


class _Once:
    """An answer that is waited for at the first call."""

    def __init__(self, wait: Callable[[], bool]) -> None:
        self._wait = wait
        self._answer: bool | None = None

    def __call__(self) -> bool:
        if self._answer is None:
            self._answer = False  # where Ctrl-C ends the wait, nobody is to wait once more
            self._answer = self._wait()
        return self._answer


def _yes() -> bool:
    return True


class SessionContext:
    """The context of a session; `state` gives that of Spark once it runs, else None."""

    def __init__(self, config: Config, state: Callable[[], SessionState | None]) -> None:
        self._state = state
        given, self._trusted = config.spark_conf, config.trusted_extensions
        settings = {
            "ansi": given.get("spark.sql.ansi.enabled", "true").lower(),
            "case_sensitive": given.get("spark.sql.caseSensitive", "false").lower(),
            "time_zone": time_zone(config),
            "branch": given.get("spark.wap.branch", ""),
            "unusual": _unusual(given.get) or _unknown(given),
            "extended": foreign(listed(given.get("spark.sql.extensions", "")), self._trusted),
            "hiding": "",
        }
        shared = given.get(*_SHARED_VIEWS).lower()
        self._configured = _SessionAnswer(
            lambda: _yes, settings, config.catalog_name, (), shared=shared
        )
        self._known: _SessionAnswer | None = None
        self._statement = threading.local()
        self._given, self._set = dict(given), dict[str, str]()
        self._changing, self._handed = threading.Lock(), False
        self._first = config.catalog_name

    def settings(self) -> Mapping[str, str]:
        """`ansi`, `case_sensitive`, `time_zone` and `branch` (to read first), as Spark's texts.

        `unusual` names a setting or function by which a statement's text is read otherwise, if any,
        `extended` a class whose rules may filter or mask rows, `hiding` the words for functions of
        our own that mean others.
        """
        return self._now().settings

    @contextmanager
    def statement(self) -> Iterator[None]:
        """While this thread plans one statement, Spark is asked only once."""
        if getattr(self._statement, "read", None) is not None:
            yield
            return
        self._statement.read = self._answer_now()
        try:
            yield
        finally:
            self._statement.read = None

    @contextmanager
    def assumed(self) -> Iterator[Callable[[], bool]]:
        """While this thread plans and runs one statement, the session counts as unchanged.

        Spark is asked at the beginning whether it is, and answers while the statement runs: the
        function that is given waits for that. Where it says no, the answer is to be thrown away.
        """
        known = self._known
        if known is None or self._state() is None:
            yield _yes
            return
        holds = _Once(known.ask())
        self._statement.read = known
        try:
            yield holds
        finally:
            self._statement.read = None
            if not holds() and self._known is known:
                self._known = None

    def parses(self, sql: str) -> bool | None:
        """Whether Spark takes the statement's grammar; None where it doesn't run, or can't tell."""
        state = self._state()
        return None if state is None else state.parses(sql)

    def catalog(self) -> str:
        """The current catalog."""
        return self._now().catalog

    def is_temporary(self, parts: tuple[str, ...]) -> bool:
        """Whether Spark would take the name for a temporary view, which hides a table.

        All sessions' global ones have a namespace for themselves: Spark looks for no table there.
        """
        now, first = self._now(), parts[0].lower()
        return first in now.views if len(parts) == 1 else len(parts) == 2 and first == now.shared

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """The columns of any table or view that Spark knows, with their types.

        None if it knows none of that name, or if Spark doesn't run.
        """
        state = self._state()
        if state is None:
            return None
        with state.active():
            return state.columns(joined(parts))

    def namespace(self) -> tuple[str, ...]:
        """The current namespace."""
        return self._now().namespace

    def use(self, catalog: str, namespace: tuple[str, ...]) -> bool:
        """Makes these the current ones, before Spark starts; False if it has started."""
        with self._changing:
            if not self._handed:
                self._configured = replace(self._configured, catalog=catalog, namespace=namespace)
            return not self._handed

    def set(self, key: str, value: str) -> bool:
        """Sets one of Spark's settings before it starts; False if it has started."""
        with self._changing:
            if not self._handed:
                self._set[key] = value
                if key == _ZONE_KEY:
                    settings = {**self._configured.settings, "time_zone": value}
                    self._configured = replace(self._configured, settings=settings)
            return not self._handed

    def value(self, key: str) -> str | None:
        """Returns a setting's value before Spark starts; None if it has its default."""
        if key == _ZONE_KEY:
            return self._configured.settings["time_zone"]
        return self._set.get(key, self._given.get(key))

    @contextmanager
    def handed(self) -> Iterator[tuple[tuple[str, ...], Mapping[str, str]]]:
        """Gives Spark the changes that USE and SET made before it started.

        These are the current catalog and namespace (no parts if they never changed), and settings.
        After an error in the `with` Spark counts as not started.
        """
        with self._changing:
            place = self._configured.catalog, *self._configured.namespace
            yield () if place == (self._first,) else place, dict(self._set)
            self._handed = True

    def _now(self) -> _SessionAnswer:
        read: _SessionAnswer | None = getattr(self._statement, "read", None)
        return read or self._answer_now()

    def _answer_now(self) -> _SessionAnswer:
        state = self._state()
        if state is None:
            self._known = None
            return self._configured
        known = self._known
        if known is None or not known.ask()():
            with state.active():
                known = self._known = _read(state, self._trusted)
        return known


def _read(state: SessionState, trusted: Sequence[str]) -> _SessionAnswer:
    ask = state.watch()
    return _SessionAnswer(
        ask=ask,
        settings=_settings(state, trusted),
        catalog=state.catalog(),
        namespace=state.namespace(),
        views=frozenset(state.views()),
        shared=str(state.conf.getConfString(*_SHARED_VIEWS)).lower(),
    )


def _settings(state: SessionState, trusted: Sequence[str]) -> Mapping[str, str]:
    conf = state.conf
    unusual = _unusual(lambda name, usual: str(conf.getConfString(name, usual)))
    unusual = unusual or _unknown(state.changed(is_judged))
    replaced = state.replaced()
    return {
        "ansi": str(conf.ansiEnabled()).lower(),
        "case_sensitive": str(conf.caseSensitiveAnalysis()).lower(),
        "time_zone": str(conf.sessionLocalTimeZone()),
        "branch": str(conf.getConfString("spark.wap.branch", "")),
        "unusual": unusual or (f"The function {replaced}" if replaced else ""),
        "extended": state.extended(trusted),
        "hiding": state.hiding(),
    }


def _unusual(read: Callable[[str, str], str]) -> str:
    """The first setting that isn't as `_USUAL` has it, or that excludes a rule that matters."""
    found = next((n for n, usual in _USUAL.items() if read(n, usual).lower() != usual), "")
    return found or ("" if _keeps_rules(read(_EXCLUDED_RULES, "")) else _EXCLUDED_RULES)


def _keeps_rules(excluded: str) -> bool:
    """Decides whether the session has every optimizer rule that answers and errors rest on.

    >>> _keeps_rules(""), _keeps_rules(f"{_RULES}LimitPushDown, {_RULES}OptimizeIn")
    (True, True)
    >>> _keeps_rules(f"{_RULES}LimitPushDown,{_RULES}DecimalAggregates")
    False
    """
    names = (name.strip() for name in excluded.split(","))
    return all(
        name.startswith(_RULES) and name.removeprefix(_RULES) in SPARED_RULES
        for name in names
        if name
    )


def is_judged(name: str) -> bool:
    """Whether a setting may change what a statement means, and isn't asked for by its name."""
    return (
        name.startswith("spark.sql.") and name not in JUDGED_APART and not name.startswith(HARMLESS)
    )


def _unknown(given: Iterable[str]) -> str:
    """The first of the settings that may change what a statement means."""
    return min(filter(is_judged, given), default="")


def refusal(settings: Mapping[str, str], sql: str = "") -> Declined | None:
    """Settings under which expressions mean something else than what is proven here.

    So are rules that may filter or mask rows, which only Spark applies.
    """
    if settings.get("extended"):
        return Declined("session_extended", f"Here: {settings['extended']}.")
    for name in settings.get("hiding", "").split():
        if re.search(rf"\b{name}\b", sql, re.IGNORECASE):
            return Declined("settings_unsupported", f"{name} isn't ours in this session.")
    if settings.get("ansi", "true") != "true":
        return Declined("settings_unsupported", "spark.sql.ansi.enabled is off.")
    if settings.get("case_sensitive", "false") != "false":
        return Declined("settings_unsupported", "spark.sql.caseSensitive is on.")
    if settings.get("branch"):
        return Declined("settings_unsupported", "spark.wap.branch is set.")
    if settings.get("unusual"):
        return Declined("settings_unsupported", f"{settings['unusual']} isn't Spark's default.")
    return None


def time_zone(config: Config) -> str:
    """The session's time zone: Spark's own setting, ours, or the machine's as the JVM finds it."""
    given = config.spark_conf.get("spark.sql.session.timeZone") or config.session_time_zone
    return given or machine_time_zone()


def machine_time_zone() -> str:
    """$TZ, what /etc/localtime links to, or UTC."""
    named = os.environ.get("TZ", "").lstrip(":")
    if named:
        return named
    target = os.path.realpath("/etc/localtime") if Path("/etc/localtime").exists() else ""
    return target.split(_ZONES, 1)[1] if _ZONES in target else "UTC"
