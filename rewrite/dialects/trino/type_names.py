"""Spark's type texts in Trino's words.

Promise: a text that can't be read is returned unchanged, never as another type.
"""

from __future__ import annotations

import re

_PLAIN = {
    "boolean": "boolean",
    "tinyint": "tinyint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double",
    "string": "varchar",
    "binary": "varbinary",
    "date": "date",
    "timestamp": "timestamp(6) with time zone",
    "timestamp_ntz": "timestamp(6)",
    "time": "time(6)",
    "void": "unknown",
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_WORD = re.compile(r"[a-z_]+(?:\(\d+,\s*\d+\))?")
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_DEPTH_MAX = 64


def trino_type(spark: str) -> str:
    """Trino's text of the type; names of fields in quotes where they need them.

    >>> trino_type("struct<a:bigint,B c:array<timestamp_ntz>>")
    'row(a bigint, "B c" array(timestamp(6)))'
    """
    return known_type(spark) or spark


def known_type(spark: str) -> str | None:
    """The same; None if the text can't be read."""
    try:
        found, end = _read(spark, 0, 0)
    except ValueError:
        return None
    return found if end == len(spark) else None


def _read(text: str, at: int, depth: int) -> tuple[str, int]:
    """The type that begins there, and its end; ValueError where none does."""
    if depth > _DEPTH_MAX:
        raise ValueError(text)
    if text.startswith("array<", at):
        inner, at = _read(text, at + len("array<"), depth + 1)
        return f"array({inner})", _past(text, at, ">")
    if text.startswith("map<", at):
        key, at = _read(text, at + len("map<"), depth + 1)
        value, at = _read(text, _past(text, at, ","), depth + 1)
        return f"map({key}, {value})", _past(text, at, ">")
    if text.startswith("struct<", at):
        return _row(text, at + len("struct<"), depth)
    word = _WORD.match(text, at)
    if word is None:
        raise ValueError(text)
    decimal = _DECIMAL.fullmatch(word[0])
    if decimal is not None:
        return f"decimal({decimal[1]},{decimal[2]})", word.end()
    if word[0] not in _PLAIN:
        raise ValueError(text)
    return _PLAIN[word[0]], word.end()


def _row(text: str, at: int, depth: int) -> tuple[str, int]:
    fields: list[str] = []
    while True:
        colon = text.index(":", at)
        inner, end = _read(text, colon + 1, depth + 1)
        fields.append(f"{quoted(text[at:colon])} {inner}")
        if text[end : end + 1] != ",":
            return f"row({', '.join(fields)})", _past(text, end, ">")
        at = end + 1


def _past(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise ValueError(text)
    return at + 1


def quoted(name: str) -> str:
    """A name as SQL of Trino's has it, in quotes where it needs them."""
    return name if _NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'
