"""Spark's errors as a gateway's clients read them: the cause, without what belongs to Spark alone.

Spark reports places in the translated text, and advises to set what no client may set. Promise: a
message keeps Spark's condition and its SQL state.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]{2,80}(?:\.[A-Z0-9_]{1,80})?)\]")
_STATE = re.compile(r"\bSQLSTATE: ([0-9A-Z]{5})\b")
_STACK = re.compile(r"\s*at [\w$.<>/]+\(|\s*\.\.\. \d+ more|JVM stacktrace:")
_CAUSE = re.compile(r"^(?:Caused by: |: )([\w.$]+)(?:: (.*))?$")
_PLACE = re.compile(r"(?:; line \d+ pos \d+|\s*\(line \d+, pos \d+\))\s*$")
"""Where in the translated text it is, of which its author knows nothing."""
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_ADVICE = re.compile(
    r"\bspark\.[a-z]+\.|\bconfig\b|to bypass this error|[`']try_(?!cast[`'])\w+[`']"
    r"|^Verify the spelling .*SQL config"
)
"""What only somebody who uses Spark itself can follow; TRY_CAST is Trino's, too."""
_OF_CLASSES = {
    "java.util.regex.PatternSyntaxException": "INVALID_FUNCTION_ARGUMENT",
    "java.time.zone.ZoneRulesException": "INVALID_FUNCTION_ARGUMENT",
    "java.time.DateTimeException": "INVALID_FUNCTION_ARGUMENT",
}
_OF_TEXTS = (
    (
        re.compile(
            r"Cannot find (?:snapshot with ID|matching snapshot ID or reference name"
            r"|a snapshot older than)"
        ),
        "INVALID_ARGUMENTS",
    ),
)
"""What Iceberg's library says without a condition, of a mistake in the statement."""


class SparkError(NamedTuple):
    """An error of Spark: its message, condition, and Trino's name if neither tells that."""

    message: str
    condition: str = ""
    name: str = ""


def spark_error(text: str) -> SparkError | None:
    """Returns what a client reads of an exception; None if Spark reports no error of a statement.

    >>> spark_error('[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` for it. SQLSTATE: 22012')
    SparkError(message='Division by zero. SQLSTATE: 22012', condition='DIVIDE_BY_ZERO', name='')
    """
    for cause in _causes(text):
        condition = _CONDITION.match(cause)
        if condition is not None or _STATE.search(cause):
            message = cause[condition.end() :].strip() if condition else cause
            # Behind it Spark shows its plan, or the text of a view: columns nobody has asked for.
            for begins in (";\n", "\n== SQL"):
                message = message.partition(begins)[0]
            return SparkError(plain_message(message), condition[1] if condition else "")
    for cause in _causes(text):
        name = next((name for said, name in _OF_TEXTS if said.search(cause)), "")
        if name:
            return SparkError(plain_message(cause), name=name)
    name = next((n for line in text.splitlines() if (n := _of_class(line))), "")
    return SparkError(plain_message(_causes(text)[0]), name=name) if name else None


def plain_message(text: str) -> str:
    """The message without advice for users of Spark itself, and without places in its text."""
    text = _PLACE.sub("", text.strip())
    kept = [one for one in _SENTENCES.split(text) if not _ADVICE.search(one)]
    return _PLACE.sub("", " ".join(kept)) or text


def without_stack(text: str) -> str:
    """The lines before the first one of a stack."""
    lines = []
    for line in text.splitlines():
        if _STACK.match(line):
            break
        lines.append(line)
    return "\n".join(lines).strip()


def _causes(text: str) -> list[str]:
    """The message, and those of its causes, the innermost first; none has lines of a stack."""
    causes: list[str] = []
    lines: list[str] | None = []
    for line in text.splitlines():
        cause = _CAUSE.match(line)
        if cause is not None or _STACK.match(line):
            if lines:
                causes.append("\n".join(lines).strip())
            lines = None if cause is None or cause[2] is None else [cause[2]]
        elif lines is not None:
            lines.append(line)
    if lines:
        causes.append("\n".join(lines).strip())
    outermost = causes[0] if causes else text.strip()
    return [*reversed(causes[1:]), outermost]


def _of_class(line: str) -> str:
    cause = _CAUSE.match(line)
    return "" if cause is None else _OF_CLASSES.get(cause[1], "")
