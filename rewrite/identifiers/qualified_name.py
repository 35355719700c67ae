"""Names of several parts as one text: `lake.d.orders`, and `lake.d.`my.table`` in backticks.

Promises: what `joined` makes, `parts_of` takes apart again, whatever stands in the parts.
"""

from __future__ import annotations

import re

from rewrite.errors import StatementError
from rewrite.identifiers.quoting import backticked

_NEEDS_QUOTES = re.compile(r"[.`]|^\s|\s$|^$")
_PART = re.compile(r"\s*(?:`((?:[^`]|``)*)`\s*|([^.`][^.]*))(\.|$)")


def joined(parts: tuple[str, ...]) -> str:
    """The parts with dots between them; those that a dot or backtick would garble are quoted.

    >>> joined(("lake", "d", "my.table"))
    'lake.d.`my.table`'
    """
    return ".".join(_quoted(part) for part in parts)


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a name as SQL writes it; StatementError where it isn't one.

    More is taken than SQL takes: a part without dots needs no backticks, whatever it holds.

    >>> parts_of("lake.d.`my.table`"), parts_of("lake.d.my-table")
    (('lake', 'd', 'my.table'), ('lake', 'd', 'my-table'))
    """
    parts, at, more = list[str](), 0, True
    while more:
        found = _PART.match(name, at)
        if found is None:
            raise StatementError(
                f"{name!r} isn't a table's name",
                hint="write catalog.namespace.table, a part with a dot in backticks: d.`my.table`",
            )
        quoted, plain, dot = found.groups()
        parts.append(plain.strip() if quoted is None else quoted.replace("``", "`"))
        at, more = found.end(), bool(dot)
    return tuple(parts)


def _quoted(part: str) -> str:
    return backticked(part) if _NEEDS_QUOTES.search(part) else part
