"""Values for the markers of a statement, `?` or `:name`, as literals of their types.

Example: `query("… WHERE name = ? AND n > ?", ["O'Hara", 5])`. Promise: whatever a value is, it
stays one literal, under each of Spark's settings of how texts are written, and of variables in them
(`${…}`): only plain characters stand between quotes, any other text is hexadecimal. Markers are
tokens, so that none is seen in a text, a quoted name or a comment.

Types are those of `pyspark.sql.functions.lit`: int (32 or 64 bits), float, Decimal, bool, str,
bytes, date, datetime (with a zone a TIMESTAMP, without one a TIMESTAMP_NTZ), None. Scalars of
numpy, pandas and Arrow are taken for these, and so are subclasses, whatever they say of themselves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from typing import Any

from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

from accelerator.errors import ParameterError
from rewrite.parse.bounds import tokens_of
from rewrite.parse.parse import check_text

Parameters = Sequence[Any] | Mapping[str, Any]

_TEXTS = (str, bytes, bytearray, memoryview)

_HOW = "give a list for ?, a mapping of names for :name"
_PLAIN = re.compile(r"[^'\\$\x00-\x1f\x7f\ud800-\udfff]*")
_INT, _LONG, _DIGITS = 2**31, 2**63, 38
_SCALARS = frozenset("biufSUM")
"""numpy's kinds of values that are one of Python's."""
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
    if isinstance(parameters, _TEXTS) or not isinstance(parameters, Sequence | Mapping):
        raise ParameterError(
            f"parameters are a {type(parameters).__name__}",
            hint=_HOW,
        )
    try:
        markers = list(_markers(sql))
    except ParameterError:
        if parameters:
            raise
        return sql  # as without any; what's wrong with it is Spark's to say
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


def named_in(sql: str) -> tuple[str, ...]:
    """The names of its `:name` markers; none of a text that can't be read."""
    try:
        return tuple(dict.fromkeys(name for name, _, _ in _markers(sql) if name is not None))
    except ParameterError:
        return ()


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
        # Behind a parenthesis no word begins a command, of which the rest would be one token.
        tokens = tokens_of(f"({sql}", "spark", many=True)[1:]
    except SqlglotError as error:
        raise ParameterError(
            f"the statement can't be read: {str(error).splitlines()[0]}",
            hint="check its quotes and comments",
        ) from error
    before: Token | None = None
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        if token.token_type is TokenType.PLACEHOLDER:
            yield None, token.start - 1, token.end
        elif (
            token.token_type is TokenType.COLON
            and following is not None
            and following.start == token.end + 1
            and re.fullmatch(r"[A-Za-z_]\w*", following.text)
            and sql[following.start - 1] != "`"
            and (before is None or before.token_type not in _OPERANDS)
        ):
            yield following.text, token.start - 1, following.end
        before = token


def literal(value: Any, what: str) -> str:
    """The value as Spark SQL, of which no part is anything but a literal.

    Texts are made by the methods of Python's own classes, which a subclass may have others of.
    """
    value = _plain(value, what)
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return _whole(value, what)
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, Decimal):
        return _decimal(value, what)
    if isinstance(value, str):
        return _text(value, what)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"X'{memoryview(value).hex()}'"
    if isinstance(value, datetime):
        return _time(value, what)
    if isinstance(value, date):
        return f"DATE'{date.isoformat(value)}'"
    raise ParameterError(
        f"{what} is a {type(value).__name__}, which SQL has no literal for",
        hint="give int, float, Decimal, bool, str, bytes, date, datetime or None;"
        " of a list one for each of its values",
    )


def _plain(value: Any, what: str) -> Any:
    """Python's own value of a scalar of Arrow's, pandas' or numpy's."""
    home = type(value).__module__.partition(".")[0]
    if home == "pyarrow" and hasattr(value, "as_py"):
        value = value.as_py()
    if home in ("pandas", "pyarrow") and type(value).__name__ in ("NaTType", "NAType"):
        return None
    if getattr(value, "nanosecond", 0):  # of pandas
        raise _no_nanoseconds(what)
    if home != "numpy" or getattr(value, "ndim", None) != 0 or value.dtype.kind not in _SCALARS:
        return value
    if value.dtype.kind != "M":
        return value.item()
    found = value.item()
    if isinstance(found, int):  # nanoseconds, or a year that Python hasn't
        short = value.astype("datetime64[us]")
        if short != value:
            raise _no_nanoseconds(what)
        found = short.item()
    if isinstance(found, int):
        raise ParameterError(f"{what} is no time of Python's: {value}", hint="CAST a text")
    return found


def _no_nanoseconds(what: str) -> ParameterError:
    return ParameterError(
        f"{what} has nanoseconds, and SQL's times have microseconds", hint="round it before"
    )


def _whole(value: int, what: str) -> str:
    if not -_LONG <= value < _LONG:
        raise ParameterError(f"{what} has more than 64 bits", hint="give a Decimal")
    text = f"{int.__repr__(value)}{'' if -_INT <= value < _INT else 'L'}"
    return f"({text})" if value < 0 else text  # LIMIT takes no parentheses here


def _double(value: float) -> str:
    if not math.isfinite(value):
        word = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{word}' AS DOUBLE)"
    text = float.__repr__(value)
    # With an exponent the parser here knows it for a double, too.
    return f"({text}D)" if "e" in text else f"({text}e0D)"


def _decimal(value: Decimal, what: str) -> str:
    fits = Decimal.is_finite(value) and abs(Decimal.adjusted(value)) <= _DIGITS
    text = Decimal.__format__(value, "f") if fits else ""
    whole, _, behind = text.lstrip("-").partition(".")
    digits = f"{whole}{behind}".lstrip("0")
    if not text or max(len(digits), len(behind)) > _DIGITS:
        raise ParameterError(f"{what} is no decimal of up to 38 digits", hint="give a float")
    if behind:
        return f"({text})"
    # One without a fraction would be an integer.
    short = len(digits) <= 18
    return f"CAST({text} AS DECIMAL({max(1, len(digits))},0))" if short else f"({text}BD)"


def _text(value: str, what: str) -> str:
    text = str.__str__(value)
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    try:
        data = str.encode(text)
    except UnicodeEncodeError as error:
        raise ParameterError(f"{what} isn't Unicode: {error}", hint="give bytes") from error
    return f"CAST(X'{data.hex()}' AS STRING)"


def _time(value: datetime, what: str) -> str:
    zone: tzinfo | None = value.tzinfo
    if zone is None:
        return f"TIMESTAMP_NTZ'{datetime.isoformat(value, sep=' ', timespec='microseconds')}'"
    try:
        utc = datetime.astimezone(value, UTC).replace(tzinfo=None)
    except OverflowError as error:
        raise ParameterError(
            f"{what} is in UTC before the year 1 or after 9999", hint="give it without its zone"
        ) from error
    return f"TIMESTAMP'{datetime.isoformat(utc, sep=' ', timespec='microseconds')}Z'"
