"""Extensions of Spark sessions: which of them surely neither filter nor mask rows.

Spark applies their rules to the statements that it plans. What is answered in process would go
round them, as it would round rules of authorization; so with any other a session is left to Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

KNOWN = (
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "io.delta.sql.DeltaSparkSessionExtension",
    "org.projectnessie.spark.extensions.NessieSparkSessionExtensions",
)
"""They add statements, and rules for tables of their own."""


def foreign(names: Iterable[str], trusted: Sequence[str]) -> str:
    """The first class that is neither known nor trusted, by its name or its package's.

    >>> foreign(["io.delta.sql.DeltaSparkSessionExtension$$Lambda$7", "a.b.C$1"], ["a.b"])
    ''
    >>> foreign(["a.bc.D"], ["a.b"])
    'a.bc.D'
    """
    good = (*KNOWN, *trusted)
    for name in names:
        host = name.split("$", 1)[0].rstrip(".") or name
        if not any(host == one or host.startswith(f"{one}.") for one in good):
            return host
    return ""


def listed(conf: str) -> list[str]:
    """The classes that a value of `spark.sql.extensions` names.

    >>> listed(" a.B,c.D ,")
    ['a.B', 'c.D']
    """
    return [name.strip() for name in conf.split(",") if name.strip()]
