"""Values for the markers of a statement, `?` or `:name`, as literals of their types.

Example: `query("… WHERE name = ? AND n > ?", ["O'Hara", 5])`. Promise: whatever a value is, it
stays one literal, under each of Spark's settings of how texts are written, and of variables in them
(`${…}`): only plain characters stand between quotes, any other text is hexadecimal. Markers are
tokens, so that none is seen in a text, a quoted name or a comment.

Types are those of `pyspark.sql.functions.lit`: int (32 or 64 bits), float, Decimal, bool, str,
bytes, date, datetime (with a zone a TIMESTAMP, without one a TIMESTAMP_NTZ), None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

from accelerator.errors import ParameterError
from rewrite.parse import check_text, dialect_of

Parameters = Sequence[Any] | Mapping[str, Any]

_HOW = "give a list for ?, a mapping of names for :name"
_PLAIN = re.compile(r"[^'\\$\x00-\x1f\x7f\ud800-\udfff]*")
_INT, _LONG, _DIGITS = 2**31, 2**63, 38
_OPERANDS = frozenset(
    {
        *(TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER),
        *(TokenType.R_PAREN, TokenType.R_BRACKET),
    }
)
"""Behind these a colon goes into a value (`v:field`), and begins no marker."""


def with_parameters(sql: str, parameters: Parameters | None) -> str:
    """The statement with literals in the places of its markers.

    ParameterError where markers and values don't fit each other, or a value has no type in SQL.
    """
    if parameters is None:
        return sql
    if isinstance(parameters, str | bytes) or not isinstance(parameters, Sequence | Mapping):
        raise ParameterError(
            f"parameters are a {type(parameters).__name__}",
            hint=_HOW,
        )
    markers = list(_markers(sql))
    named = isinstance(parameters, Mapping)
    if any((name is None) == named for name, _, _ in markers):
        raise ParameterError(
            "? and a mapping, or :name and a list, don't go together",
            hint=_HOW,
        )
    if isinstance(parameters, Mapping):
        texts = _by_name(parameters, [str(name) for name, _, _ in markers])
    else:
        texts = _in_order(parameters, len(markers))
    pieces, end = [], 0
    for (_, start, after), text in zip(markers, texts, strict=True):
        # Apart from a word before or behind, of which it would become a part: `LIMIT?`.
        left = " " if _touches(sql[start - 1 : start]) else ""
        right = " " if _touches(sql[after : after + 1]) else ""
        pieces += [sql[end:start], left, text, right]
        end = after
    return "".join([*pieces, sql[end:]])


def _touches(beside: str) -> bool:
    return beside.isalnum() or beside in ("_", ".", "'", '"')


def _in_order(values: Sequence[Any], markers: int) -> list[str]:
    if len(values) != markers:
        raise ParameterError(
            f"there are {markers} markers and {len(values)} values",
            hint="give a value for each ?, in their order",
        )
    return [literal(value, f"parameter {n}") for n, value in enumerate(values, start=1)]


def _by_name(values: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    missing, unused = set(names) - set(values), set(values) - set(names)
    if missing or unused:
        told = [f"no value for :{name}" for name in sorted(missing)]
        told += [f"no :{name} in the statement" for name in sorted(map(str, unused))]
        raise ParameterError("; ".join(told), hint="names are compared letter by letter")
    texts = {name: literal(values[name], f":{name}") for name in set(names)}
    return [texts[name] for name in names]


def _markers(sql: str) -> Iterator[tuple[str | None, int, int]]:
    """Of each its name, if it has one, where it begins and what comes behind it."""
    try:
        check_text(sql)
        tokens = dialect_of("spark").tokenize(sql)
    except SqlglotError as error:
        raise ParameterError(
            f"the statement can't be read: {str(error).splitlines()[0]}",
            hint="check its quotes and comments",
        ) from error
    before: Token | None = None
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type is TokenType.PLACEHOLDER:
            yield None, token.start, token.end + 1
        elif (
            token.token_type is TokenType.COLON
            and following is not None
            and following.start == token.end + 1
            and re.fullmatch(r"[A-Za-z_]\w*", following.text)
            and sql[following.start] != "`"
            and (before is None or before.token_type not in _OPERANDS)
        ):
            yield following.text, token.start, following.end + 1
        before = token


def literal(value: Any, what: str) -> str:
    """The value as Spark SQL, of which no part is anything but a literal."""
    if hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()  # numpy's
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return _whole(value, what)
    if isinstance(value, float):
        special = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"({value!r}D)" if math.isfinite(value) else f"CAST('{special}' AS DOUBLE)"
    if isinstance(value, Decimal):
        return _decimal(value, what)
    if isinstance(value, str):
        return _text(value, what)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, datetime):
        return _time(value)
    if isinstance(value, date):
        return f"DATE'{value.isoformat()}'"
    raise ParameterError(
        f"{what} is a {type(value).__name__}, which SQL has no literal for",
        hint="give int, float, Decimal, bool, str, bytes, date, datetime or None",
    )


def _whole(value: int, what: str) -> str:
    if not -_LONG <= value < _LONG:
        raise ParameterError(f"{what} has more than 64 bits", hint="give a Decimal")
    text = f"{value}{'' if -_INT <= value < _INT else 'L'}"
    return f"({text})" if value < 0 else text  # LIMIT takes no parentheses here


def _decimal(value: Decimal, what: str) -> str:
    text = format(value, "f") if value.is_finite() else ""
    digits = text.lstrip("-").replace(".", "").lstrip("0")
    scale = len(text.partition(".")[2])
    if not text or max(len(digits), scale) > _DIGITS:
        raise ParameterError(f"{what} is no decimal of up to 38 digits", hint="give a float")
    return f"({text}BD)"


def _text(value: str, what: str) -> str:
    if _PLAIN.fullmatch(value):
        return f"'{value}'"
    try:
        data = value.encode()
    except UnicodeEncodeError as error:
        raise ParameterError(f"{what} isn't Unicode: {error}", hint="give bytes") from error
    return f"CAST(X'{data.hex()}' AS STRING)"


def _time(value: datetime) -> str:
    if value.tzinfo is None:
        return f"TIMESTAMP_NTZ'{value.isoformat(sep=' ', timespec='microseconds')}'"
    utc = value.astimezone(UTC).replace(tzinfo=None)
    return f"TIMESTAMP'{utc.isoformat(sep=' ', timespec='microseconds')}Z'"
