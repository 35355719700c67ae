"""The kinds of values that settings have, and how text or TOML becomes one.

Each is a type with its schema for pydantic, which is made once. Validators and constraints instead
would be taken apart for each setting: that takes twice the time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic_core import CoreSchema, core_schema, from_json

from accelerator.common.config import refresh_schedule
from accelerator.errors import StatementError
from rewrite.client import DIALECTS

_GIB = 1024**3
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 1024, "mib": 1024**2, "gib": _GIB, "tib": 1024**4, "k": 1024, "m": 1024**2}
_UNITS |= {"g": _GIB, "t": 1024**4}
_SIZE = re.compile(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([a-z]*)\s*", re.IGNORECASE)
_NO = {"false", "0", "no", "off"}


def is_off(value: str) -> bool:
    """Whether a text says no, as settings have it."""
    return value.strip().lower() in _NO


def bytes_of(value: Any) -> Any:
    """The number of a size such as 2GiB; what is no text as it is. ValueError for other texts."""
    if not isinstance(value, str):
        return value
    match = _SIZE.fullmatch(value)
    if match is None or match[2].lower() not in _UNITS:
        raise ValueError("it isn't a size")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def _text(value: Any) -> Any:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if isinstance(text, str) and not text.strip():
        raise ValueError("it must be text that isn't empty")
    return text


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _no_switch(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("it must be a number")
    return value


def _no_part(value: Any) -> Any:
    if isinstance(value, bool | float):
        raise ValueError("it must be a whole number")
    return value


def _table(value: Any) -> Any:
    try:
        return from_json(value) if isinstance(value, str) else value
    except TypeError as error:  # bytes of a variable that are no text
        raise ValueError("it isn't JSON in UTF-8") from error


def _conf_text(value: Any) -> Any:
    """Spark and obstore take text only, and write truth in small letters."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _parts(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _refresh(value: str) -> str:
    try:
        return refresh_schedule.parsed(value).text
    except StatementError as error:
        raise ValueError(error.message) from error


class Allowed:
    """A kind of values: `words` say what a setting of it takes."""

    def __init__(self, words: str, schema: CoreSchema) -> None:
        self.words, self.schema = words, schema

    def __get_pydantic_core_schema__(self, _type: object, _handler: object) -> CoreSchema:
        return self.schema


_before = core_schema.no_info_before_validator_function
_after = core_schema.no_info_after_validator_function


def _none_if_empty(value: Any) -> Any:
    return None if value == "" else value


def _number(le: float | None = None) -> CoreSchema:
    return _before(_no_switch, core_schema.float_schema(ge=0, le=le, allow_inf_nan=False))


def whole(ge: int, le: int | None = None) -> CoreSchema:
    """Whole numbers within these bounds."""
    return _before(_no_part, core_schema.int_schema(ge=ge, le=le))


def or_none(schema: CoreSchema) -> CoreSchema:
    """The same, or nothing: an empty text is none."""
    return _before(_none_if_empty, core_schema.nullable_schema(schema))


def texts(check: Callable[[str], object]) -> CoreSchema:
    """Lists of texts that `check` raises no ValueError for."""

    def checked(text: str) -> str:
        check(text)
        return text

    return _before(_parts, core_schema.tuple_variable_schema(_after(checked, _TEXT)))


_TEXT = _before(_text, core_schema.str_schema())
_NAME = _before(_text, core_schema.str_schema(pattern=r"^[A-Za-z_]\w*$"))
_TABLE = _before(
    _table,
    core_schema.dict_schema(
        core_schema.str_schema(), _before(_conf_text, core_schema.str_schema())
    ),
)

Text = Annotated[str, Allowed("text", _TEXT)]
TextOrNone = Annotated[str | None, Allowed("text, or nothing", or_none(_TEXT))]
Name = Annotated[str, Allowed("a name of letters, digits and _", _NAME)]
Switch = Annotated[bool, Allowed("true or false", _before(_stripped, core_schema.bool_schema()))]
Seconds = Annotated[float, Allowed("seconds, 0 or more", _number())]
Hours = Annotated[float, Allowed("hours, 0 or more", _number())]
Days = Annotated[float, Allowed("days, 0 or more", _number())]
Minutes = Annotated[float, Allowed("minutes, 0 or more", _number())]
Share = Annotated[float, Allowed("a number from 0 to 1", _number(le=1))]
Whole = Annotated[int, Allowed("a whole number, 0 or more", whole(0))]
Count = Annotated[int, Allowed("a whole number, 1 or more", whole(1))]
Threads = Annotated[int, Allowed("a whole number from 1 to 1024", whole(1, 1024))]
ThreadsOrNone = Annotated[int, Allowed("a whole number from 0 to 1024", whole(0, 1024))]
Bytes = Annotated[
    int, Allowed("bytes, or a size such as 512MB or 2GiB", _before(bytes_of, whole(0)))
]
MemoryOrNone = Annotated[
    int | None,
    Allowed(
        "a size such as 512MB or 2GiB, 16 MiB or more, or nothing",
        or_none(_before(bytes_of, whole(16 * 1024**2))),
    ),
]
Dialect = Annotated[
    str, Allowed(f"one of {', '.join(DIALECTS)}", core_schema.literal_schema(list(DIALECTS)))
]
Refresh = Annotated[
    str,
    Allowed(
        "`manual`, `on_commit`, or an interval such as `10 minutes`",
        _after(_refresh, _TEXT),
    ),
]
Texts = Annotated[
    tuple[str, ...],
    Allowed("a list of texts (in the environment: separated by commas)", texts(str)),
]
Table = Annotated[
    dict[str, str], Allowed("a table of texts (in the environment: a JSON object)", _TABLE)
]
Tables = Annotated[
    dict[str, dict[str, str]],
    Allowed(
        "a table of tables of texts (in the environment: a JSON object)",
        _before(_table, core_schema.dict_schema(_NAME, _TABLE)),
    ),
]
