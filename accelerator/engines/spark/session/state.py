"""A running session's catalog, namespace, views, functions and settings, watched by one call.

A call from Python to the JVM costs 0.2 to 1 ms, and planning a statement 2: so everything that a
statement's names and meaning depend on is put into one text by method handles, and compared in the
JVM with the text that is known, while Python works. Only where it has changed are the values asked
for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from accelerator.engines.spark.jvm.classes import Jvm
from accelerator.engines.spark.jvm.errors import Java, JvmError, java_errors
from accelerator.engines.spark.jvm.pipelined_calls import PipelinedCalls
from accelerator.engines.spark.session.rules import experimental, injected
from accelerator.engines.spark.session.trusted_extensions import foreign
from rewrite.bind.calls.known_words import FUNCTIONS, OURS
from rewrite.identifiers.quoting import REFERENCE
from rewrite.parse.current_time import WORDS

_SPARKS = (*FUNCTIONS, *WORDS)
_BUILT_IN = "built-in"
_BETWEEN = "\0"
_REFUSED = "ParseException"
OWN = {
    "has_token": "has_token(text, token) - Returns true if the token is one of the text's.",
    "match": "match(text, words) - Returns true if the text has all tokens of words.",
}
"""What our own functions say of themselves in Spark, by which they're told from others."""


class SessionState:
    """The state of one Spark session; its Java objects live as long as the session."""

    def __init__(self, jvm: Jvm, session: Java, raised: type[Exception]) -> None:
        """`raised` is what PySpark makes of exceptions that it knows."""
        self._raised, self._session = raised, session
        self._injected: list[str] | None = None
        state = session.sessionState()
        self._catalogs, self._views = state.catalogManager(), state.catalog()
        self.conf = state.conf()
        self._parser = state.sqlParser()
        self._entries = jvm.scala_object("org.apache.spark.sql.internal.SQLConf")
        views = jvm.bound("getTempViewNames", self._views)
        self._registry = state.functionRegistry()
        identifier = "org.apache.spark.sql.catalyst.FunctionIdentifier"
        self._identifiers = {name: jvm.new(identifier, name) for name in (*_SPARKS, *OURS)}
        self._functions = self._looked_up(jvm)
        self._known: tuple[str, str, str] | None = None
        parts = (
            self._functions,
            jvm.bound("currentCatalog", session.catalog()),
            jvm.shown_array(jvm.bound("currentNamespace", self._catalogs)),
            views,
            jvm.constant(self.conf.settings()),
            jvm.bound("extraOptimizations", session.experimental()),
            jvm.bound("extraStrategies", session.experimental()),
        )
        self._text = jvm.joined(parts)
        self._sessions = jvm.scala_object("org.apache.spark.sql.classic.SparkSession")
        self._activation = jvm.bound("setActiveSession", self._sessions, session)
        self._activate = jvm.runnable(self._activation)
        self._lines = threading.local()
        self._jvm = jvm

    def _looked_up(self, jvm: Jvm) -> Java:
        """A handle for what the functions' names stand for; each registration is a new object."""
        identifiers = jvm.listed_of(self._identifiers.values())
        items = jvm.static("org.apache.spark.api.python.PythonUtils", "toSeq", identifiers)
        sample = next(iter(self._identifiers.values()))
        return jvm.mapped(items, "lookupFunction", self._registry, sample)

    def replaced(self) -> str:
        """The first of the functions that isn't Spark's own in this session; empty if all are."""
        return self._looked_at()[1]

    def extended(self, trusted: Sequence[str]) -> str:
        """The first class whose rules in the session may filter or mask; empty if there's none.

        `trusted` are names of classes, or of packages.
        """
        if self._injected is None:
            self._injected = injected(self._session)
        return foreign((*self._injected, *experimental(self._session)), trusted)

    def hiding(self) -> str:
        """The words for functions of our own that mean others in this session, with blanks."""
        return self._looked_at()[2]

    def _looked_at(self) -> tuple[str, str, str]:
        text = str(self._jvm.called(self._functions).toString())
        if self._known is None or self._known[0] != text:
            replaced = next((n for n in _SPARKS if not self._is_built_in(n)), "")
            self._known = (text, replaced, " ".join(n for n in OURS if self._is_other(n)))
        return self._known

    def _is_built_in(self, name: str) -> bool:
        found = self._registry.lookupFunction(self._identifiers[name])
        return bool(found.isDefined()) and str(found.get().getSource()) == _BUILT_IN

    def _is_other(self, name: str) -> bool:
        found = self._registry.lookupFunction(self._identifiers[name])
        return not found.isDefined() or str(found.get().getUsage()) != OWN[name]

    def changed(self, asked: Callable[[str], bool]) -> list[str]:
        """Those of the settings that are set, and to other than Spark's default."""
        keys = self.conf.settings().keySet()
        names = str(self._jvm.static("java.lang.String", "join", _BETWEEN, keys)).split(_BETWEEN)
        return [name for name in names if asked(name) and self._set(name)]

    def _set(self, name: str) -> bool:
        entry = self._entries.getConfigEntry(name)
        if entry is None:
            return True
        return str(self.conf.getConfString(name)) != str(entry.defaultValueString())

    @contextmanager
    def active(self) -> Iterator[None]:
        """Makes the session the active one of this thread, whose default catalog counts.

        Anybody may have made another session active: at the end it is so again.
        """
        before = self._sessions.getActiveSession()
        self._jvm.called(self._activation)
        try:
            yield
        finally:
            if before.isDefined():
                self._sessions.setActiveSession(before.get())
            else:
                self._sessions.clearActiveSession()

    def watch(self) -> Callable[[], Callable[[], bool]]:
        """A function that asks whether all of the values still are what they were.

        What it gives waits for the answer; where none comes, that's no. To be called before the
        values are read, while the session is `active`: what changes in between counts as a change.
        """
        supplier = self._jvm.equals(self._text, str(self._jvm.called(self._text)))
        return lambda: self._pipelined(supplier)

    def _pipelined(self, supplier: Java) -> Callable[[], bool]:
        """Asks on this thread's line."""
        line: PipelinedCalls | None = getattr(self._lines, "line", None)
        if line is None:
            # Which catalog is current depends on the active session of the JVM's thread.
            line = self._lines.line = self._jvm.line(self._activate)
        try:
            with java_errors():
                answer = line.ask(supplier, "getAsBoolean")
        except JvmError:
            return _no
        return lambda: _is_true(answer)

    def parses(self, sql: str) -> bool | None:
        """Whether Spark's own parser takes the statement, which nothing runs; None if nobody knows.

        Whatever else goes wrong there is for the statement itself to say.
        """
        try:
            with java_errors(), self.active():
                self._parser.parsePlan(sql)
        except JvmError as error:
            return False if error.class_name.endswith(_REFUSED) else None
        except self._raised as error:
            return False if type(error).__name__ == _REFUSED else None
        return True

    def catalog(self) -> str:
        """The current catalog."""
        return str(self._catalogs.currentCatalog().name())

    def namespace(self) -> tuple[str, ...]:
        """The current namespace."""
        return tuple(str(part) for part in self._catalogs.currentNamespace())

    def columns(self, table: str) -> Mapping[str, str] | None:
        """The columns of a table or view with their types; None if there is none of that name.

        A name in which Spark would replace `${…}` is none.
        """
        if REFERENCE in table and self.conf.variableSubstituteEnabled():
            return None
        try:
            with java_errors():
                fields = self._session.table(table).schema().fields()
                return {one.name(): str(one.dataType().catalogString()) for one in fields}
        except (JvmError, self._raised):
            return None

    def views(self) -> Sequence[str]:
        """The temporary views, in lower case; they hide tables of one-part names."""
        found = self._views.getTempViewNames()
        return [str(found.apply(index)).lower() for index in range(found.size())]


def _is_true(answer: Callable[[], Java]) -> bool:
    try:
        with java_errors():
            return bool(answer())
    except JvmError:
        return False


def _no() -> bool:
    return False
