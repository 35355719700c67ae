"""The kinds of values that settings have, and how text or TOML becomes one.

A parser raises `ValueError` or `TypeError` with what is wrong; `accelerator.config` adds the
setting's name and source.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from accelerator.common.config import refresh_schedule
from accelerator.errors import StatementError

_GIB = 1024**3
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 1024, "mib": 1024**2, "gib": _GIB, "tib": 1024**4, "k": 1024, "m": 1024**2}
_UNITS |= {"g": _GIB, "t": 1024**4}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)
_YES = {"true", "1", "yes", "on"}
_NO = {"false", "0", "no", "off"}

_THREADS_MAX = 1024
_MEMORY_LEAST = 16 * 1024**2

# A parser gets the raw value, of any type that TOML has, and its setting's metadata.
Parser = Callable[[Any, Mapping[str, Any]], Any]

KINDS = {
    "text": "text",
    "text or none": "text, or nothing",
    "name": "a name of letters, digits and _",
    "switch": "true or false",
    "seconds": "seconds, 0 or more",
    "hours": "hours, 0 or more",
    "days": "days, 0 or more",
    "minutes": "minutes, 0 or more",
    "share": "a number from 0 to 1",
    "whole number": "a whole number, 0 or more",
    "count": "a whole number, 1 or more",
    "threads": "a whole number from 1 to 1024",
    "threads or none": "a whole number from 0 to 1024",
    "bytes": "bytes, or a size such as 512MB or 2GiB",
    "memory or none": "a size such as 512MB or 2GiB, 16 MiB or more, or nothing",
    "refresh": "`manual`, `on_commit`, or an interval such as `10 minutes`",
    "texts": "a list of texts (in the environment: separated by commas)",
    "mapping": "a table of texts (in the environment: a JSON object)",
    "mappings": "a table of tables of texts (in the environment: a JSON object)",
}


def _text(value: Any, metadata: Mapping[str, Any]) -> str:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str) or not text.strip():
        raise ValueError("it must be text that isn't empty")
    if metadata["choices"] and text not in metadata["choices"]:
        raise ValueError("that isn't one of them")
    return text


def _text_or_none(value: Any, metadata: Mapping[str, Any]) -> str | None:
    return None if value is None or value == "" else _text(value, metadata)


def _name(value: Any, metadata: Mapping[str, Any]) -> str:
    text = _text(value, metadata)
    if not re.fullmatch(r"[A-Za-z_]\w*", text):
        raise ValueError("it must be a plain name")
    return text


def _switch(value: Any, _: Mapping[str, Any]) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in _YES or text in _NO:
        return text in _YES
    raise ValueError("it must be true or false")


def is_off(value: str) -> bool:
    """Whether a text says no, as settings have it."""
    return value.strip().lower() in _NO


def _seconds(value: Any, _: Mapping[str, Any]) -> float:
    number = float(value)
    if isinstance(value, bool) or not 0 <= number < float("inf"):
        raise ValueError("it must be 0 or more")
    return number


def _share(value: Any, _: Mapping[str, Any]) -> float:
    number = float(value)
    if isinstance(value, bool) or not 0 <= number <= 1:
        raise ValueError("it must be from 0 to 1")
    return number


def _whole(value: Any, least: int) -> int:
    if isinstance(value, bool | float):
        raise ValueError("it must be a whole number")
    number = int(value)
    if number < least:
        raise ValueError(f"it must be {least} or more")
    return number


def _threads(value: Any, least: int) -> int:
    number = _whole(value, least)
    if number > _THREADS_MAX:
        raise ValueError(f"it must be {_THREADS_MAX} or less")
    return number


def _bytes(value: Any, _: Mapping[str, Any]) -> int:
    if not isinstance(value, str):
        return _whole(value, 0)
    match = _SIZE.fullmatch(value)
    if match is None or match[2].lower() not in _UNITS:
        raise ValueError("it isn't a size")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def _memory_or_none(value: Any, metadata: Mapping[str, Any]) -> int | None:
    if value is None or value == "":
        return None
    size = _bytes(value, metadata)
    if size < _MEMORY_LEAST:
        raise ValueError("it's too little to start with")
    return size


def _mapping(value: Any, _: Mapping[str, Any]) -> dict[str, str]:
    raw = json.loads(value) if isinstance(value, str) else value
    if not isinstance(raw, Mapping) or not all(isinstance(key, str) for key in raw):
        raise ValueError("it must map names to texts")
    return {key: _conf_text(one) for key, one in raw.items()}


def _mappings(value: Any, metadata: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    raw = json.loads(value) if isinstance(value, str) else value
    if not isinstance(raw, Mapping):
        raise ValueError("it must map names to tables")
    none: dict[str, Any] = {"choices": ()}
    return {_name(key, none): _mapping(one, metadata) for key, one in raw.items()}


def _texts(value: Any, _: Mapping[str, Any]) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    listed = tuple(value)
    if not all(isinstance(one, str) and one.strip() for one in listed):
        raise ValueError("its items must be texts that aren't empty")
    return listed


def _refresh(value: Any, metadata: Mapping[str, Any]) -> str:
    try:
        return refresh_schedule.parsed(_text(value, metadata)).text
    except StatementError as error:
        raise ValueError(error.message) from error


def _conf_text(value: Any) -> str:
    """Spark and obstore take text only, and write truth in small letters."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError("its values must be texts or numbers")


PARSERS: dict[str, Parser] = {
    "text": _text,
    "text or none": _text_or_none,
    "name": _name,
    "choice": _text,
    "switch": _switch,
    "seconds": _seconds,
    "hours": _seconds,
    "days": _seconds,
    "minutes": _seconds,
    "share": _share,
    "whole number": lambda value, _: _whole(value, 0),
    "count": lambda value, _: _whole(value, 1),
    "threads": lambda value, _: _threads(value, 1),
    "threads or none": lambda value, _: _threads(value, 0),
    "bytes": _bytes,
    "memory or none": _memory_or_none,
    "texts": _texts,
    "mapping": _mapping,
    "mappings": _mappings,
    "choice or none": _text_or_none,
    "refresh": _refresh,
}
