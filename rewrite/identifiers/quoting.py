"""Names and texts as Spark SQL has them, and built texts that Spark's variables can't change.

Spark replaces `${env:X}`, `${system:x}`, `${spark.x}` and the like by values before it parses a
text, inside quotes too, unless `spark.sql.variable.substitute` is off. A user's own statement means
just that. A text that is built here never does: a constant writes the `$` as an escape, which
Spark reads after the replacement; a name in backticks has no escapes, so it's refused
(`docs/decisions/0054-built-texts-are-not-expanded.md`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewrite.errors import StatementError

SUBSTITUTION = "spark.sql.variable.substitute"
"""Spark's setting that switches the replacement; on by default."""
REFERENCE = "${"
HINT = "use a name without ${ in it"
_ESCAPED = r"\u0024{"
_NUL, _NUL_ESCAPED = "\0", r"\u0000"
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*+'|`[^`]*+`", re.DOTALL)
_PLAIN = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_STEP = re.compile(r"\\.|\$\{", re.DOTALL)


def backticked(name: str) -> str:
    """Quotes a name, or a part of one, in backticks; any character may be in it.

    >>> backticked("my`table")
    '`my``table`'
    """
    return "`" + name.replace("`", "``") + "`"


def quoted_if_needed(part: str) -> str:
    """A part of a name as Spark shows it: in backticks if its grammar needs them.

    >>> quoted_if_needed("shop"), quoted_if_needed("a-b"), quoted_if_needed("2024")
    ('shop', '`a-b`', '`2024`')
    """
    return part if _PLAIN.fullmatch(part) else backticked(part)


def quoted(parts: Iterable[str]) -> str:
    """The parts of a name with dots between them, as Spark shows it."""
    return ".".join(map(quoted_if_needed, parts))


def text_constant(value: str) -> str:
    r"""Quotes a text as a constant, in which Spark replaces nothing.

    >>> print(text_constant("it's ${env:HOME}"))
    'it\'s \u0024{env:HOME}'
    """
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace(_NUL, _NUL_ESCAPED)
    return f"'{escaped.replace(REFERENCE, _ESCAPED)}'"


def unexpanded(sql: str) -> str:
    r"""Returns a built text in which Spark replaces nothing; StatementError if a name prevents it.

    >>> print(unexpanded("SELECT `a` FROM t WHERE b = '${env:HOME}'"))
    SELECT `a` FROM t WHERE b = '\u0024{env:HOME}'
    """
    if REFERENCE not in sql:
        return sql
    found = _QUOTED.sub(_constant, sql)
    if REFERENCE in found:
        raise StatementError(
            "a name has ${ in it, which Spark would replace by a variable's value", hint=HINT
        )
    return found


def _constant(quoted: re.Match[str]) -> str:
    text = quoted[0]
    return _STEP.sub(_step, text) if text[0] == "'" and REFERENCE in text else text


def _step(found: re.Match[str]) -> str:
    return _ESCAPED if found[0] == REFERENCE else found[0]
