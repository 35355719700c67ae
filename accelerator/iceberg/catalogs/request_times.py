"""How long requests of a REST catalog may take, by Iceberg's own properties."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from accelerator.errors import ConfigError

_TIMES = ("rest.client.connection-timeout-ms", "rest.client.socket-timeout-ms")
"""Iceberg's own properties, which Spark's client takes as well."""
_DEFAULT_MS = 60_000


def request_times(name: str, properties: Mapping[str, Any]) -> tuple[float, ...]:
    """Seconds in which a REST catalog has to be connected to, and then to say something.

    ConfigError for a time that is none.
    """
    return tuple(_seconds(name, key, properties.get(key, _DEFAULT_MS)) for key in _TIMES)


def _seconds(name: str, key: str, value: Any) -> float:
    milliseconds = int(value) if re.fullmatch(r"\d{1,9}", str(value)) else 0
    if milliseconds <= 0:
        raise ConfigError(
            f"{key} of the catalog {name} is {value!r}",
            hint=f"it's in milliseconds, 1 or more; {_DEFAULT_MS} where it isn't set",
        )
    return milliseconds / 1000
