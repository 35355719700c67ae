"""Who has put rules of their own into a Spark session: such rules may filter or mask rows.

Promises: rules are found however they came in, by `spark.sql.extensions`, by a service of the class
path, by the session's builder or by `spark.experimental`. `accelerator.extensions` judges them.
"""

from __future__ import annotations

from collections.abc import Iterator

from accelerator.engines.spark.jvm.errors import Java, JvmError, java_errors

_BUFFERS = "scala.collection.mutable."
_TUPLE = "scala.Tuple"
_UNTOLD = "an extension that can't be told"


def injected(session: Java) -> list[str]:
    """The classes of everything that extensions have put into the session.

    They hand functions over that make rules, and these are kept in the session's fields: functions
    for SQL aside, which are looked up by their names. Each session has its own, which stay.
    """
    try:
        with java_errors():
            return list(_injected(session.extensions()))
    except (JvmError, AttributeError, TypeError):
        return [_UNTOLD]


def _injected(extensions: Java) -> Iterator[str]:
    for field in extensions.getClass().getDeclaredFields():
        if not str(field.getType().getName()).startswith(_BUFFERS):
            continue
        field.setAccessible(True)
        held = field.get(extensions)
        for place in range(int(held.size())):
            name = str(held.apply(place).getClass().getName())
            if not name.startswith(_TUPLE):
                yield name


def experimental(session: Java) -> list[str]:
    """The classes of rules and strategies that the user has added to `spark.experimental`."""
    with java_errors():
        methods = session.experimental()
        both = (methods.extraOptimizations(), methods.extraStrategies())
        return [
            str(rules.apply(n).getClass().getName()) for rules in both for n in range(rules.size())
        ]
