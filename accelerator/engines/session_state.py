"""A running session's catalog, namespace, views, functions and settings, watched by one call.

A call from Python to the JVM costs 0.1 to 0.3 ms, and planning a statement 2: so everything that a
statement's names and meaning depend on is put into one text by method handles, and compared in the
JVM with the text that is known. Only where it has changed are the values asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from accelerator.engines.jvm import Java, Jvm

_BUILT_IN = "built-in"
_FUNCTIONS = (
    *("any", "approx_count_distinct", "approx_percentile", "avg", "bool_and", "bool_or", "count"),
    *("coalesce", "concat", "count_if", "date_trunc", "day", "dayofmonth", "dayofyear", "every"),
    *("if", "ifnull", "lcase", "lower", "max", "mean", "min", "mod", "month", "nvl", "quarter"),
    *("percentile_approx", "some", "std", "stddev", "stddev_pop", "stddev_samp", "substr"),
    *("substring", "sum", "trunc", "ucase", "upper", "var_pop", "var_samp", "variance"),
    *("weekofyear", "year"),
)
"""The functions that the rewriter gives a meaning to; a session may register others so called."""


class SessionState:
    """The state of one Spark session; its Java objects live as long as the session."""

    def __init__(self, jvm: Jvm, session: Java) -> None:
        state = session.sessionState()
        self._catalogs, self._views = state.catalogManager(), state.catalog()
        self.conf = state.conf()
        views = jvm.bound("getTempViewNames", self._views)
        self._registry = state.functionRegistry()
        identifier = "org.apache.spark.sql.catalyst.FunctionIdentifier"
        self._identifiers = {name: jvm.new(identifier, name) for name in _FUNCTIONS}
        self._functions = self._looked_up(jvm)
        self._known: tuple[str, str] | None = None
        parts = (
            self._functions,
            jvm.bound("currentCatalog", session.catalog()),
            jvm.shown_array(jvm.bound("currentNamespace", self._catalogs)),
            views,
            jvm.constant(self.conf.settings()),
        )
        self._text = jvm.joined(parts)
        self._jvm = jvm

    def _looked_up(self, jvm: Jvm) -> Java:
        """A handle for what the functions' names stand for; each registration is a new object."""
        identifiers = jvm.listed_of(self._identifiers.values())
        items = jvm.static("org.apache.spark.api.python.PythonUtils", "toSeq", identifiers)
        sample = next(iter(self._identifiers.values()))
        return jvm.mapped(items, "lookupFunction", self._registry, sample)

    def replaced(self) -> str:
        """The first of the functions that isn't Spark's own in this session; empty if all are."""
        text = str(self._jvm.called(self._functions).toString())
        if self._known is None or self._known[0] != text:
            self._known = (text, next((n for n in _FUNCTIONS if not self._is_built_in(n)), ""))
        return self._known[1]

    def _is_built_in(self, name: str) -> bool:
        found = self._registry.lookupFunction(self._identifiers[name])
        return bool(found.isDefined()) and str(found.get().getSource()) == _BUILT_IN

    def watch(self) -> Callable[[], bool]:
        """A function that tells, with one call, whether all of the values still are what they were.

        To be asked for before the values: what changes in between then counts as a change.
        """
        supplier = self._jvm.equals(self._text, str(self._jvm.called(self._text)))
        return lambda: bool(supplier.getAsBoolean())

    def catalog(self) -> str:
        """The current catalog."""
        return str(self._catalogs.currentCatalog().name())

    def namespace(self) -> tuple[str, ...]:
        """The current namespace."""
        return tuple(str(part) for part in self._catalogs.currentNamespace())

    def views(self) -> Sequence[str]:
        """The temporary views, in lower case; they hide tables of one-part names."""
        found = self._views.getTempViewNames()
        return [str(found.apply(index)).lower() for index in range(found.size())]
