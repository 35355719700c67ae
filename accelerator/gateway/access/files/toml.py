"""Tables of access in TOML files, taken apart key by key.

Promises: what isn't known is an error that names the key, the file and the nearest key there is;
nothing of another type than expected gets through.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from accelerator.errors import ConfigError
from accelerator.gateway.access.name_patterns import LENGTH_MAX
from rewrite.text.printable import one_line
from rewrite.text.suggestions import closest, did_you_mean

ENTRIES_MAX = 10_000


class Section:
    """One table of such a file, at `place` as errors name it."""

    def __init__(self, value: object, place: str, page: str, known: Collection[str] = ()) -> None:
        """ConfigError where it's no table, or has a key that isn't among the known ones, if any."""
        self.place, self._page = place, page
        if not isinstance(value, dict):
            raise self.error("it must be a table", "")
        self.values: Mapping[str, Any] = value
        for key in value if known else ():
            if key not in known:
                self.check_word(key, known)

    def check_word(self, key: str, known: Collection[str]) -> None:
        """ConfigError where the key isn't known."""
        if key not in known:
            near = closest(key, known)
            raise ConfigError(
                f"{self.place}: unknown key {one_line(key)[:80]!r}",
                hint=did_you_mean(near) or f"{self._page} lists the keys",
                suggestions=near,
            )

    def error(self, what: str, key: str) -> ConfigError:
        """The error about one key; its hint is the page."""
        at = f"{self.place}: {key}: " if key else f"{self.place}: "
        return ConfigError(f"{at}{what}", hint=f"{self._page} says how it is written")

    def text(self, key: str) -> str:
        """A text that must be there and isn't empty."""
        return self._text(self.values.get(key), key)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, none of them empty; nothing where the key isn't there."""
        value = self.values.get(key, [])
        if not isinstance(value, list):
            raise self.error("it must be a list of texts", key)
        if key in self.values and not value:
            raise self.error("the list is empty; leave the key out, or write what is meant", key)
        if len(value) > ENTRIES_MAX:
            raise self.error(f"it has more than {ENTRIES_MAX} entries", key)
        return tuple(self._text(one, key) for one in value)

    def whole(self, key: str, least: int, most: int) -> int | None:
        """A whole number within bounds; None where the key isn't there."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.error(f"it must be a whole number from {least} to {most}", key)
        return value

    def _text(self, value: object, key: str) -> str:
        if not isinstance(value, str) or not value:
            raise self.error("it must be a text, and not empty", key)
        if len(value) > LENGTH_MAX or not value.isprintable():
            raise self.error(f"it has controls, or more than {LENGTH_MAX} characters", key)
        return value
