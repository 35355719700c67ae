"""Options that kinds over texts have in common: what is taken of those that are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indexes.domains import NotIndexableError
from indexes.kind import OptionError, Options

Range = tuple[int, int, str]
"""The least and the most of a whole number, and its unit."""


def taken(
    kind: str, type_: str, given: Options, defaults: Options, wholes: Mapping[str, Range]
) -> dict[str, Any]:
    """All options, defaults filled in; `wholes` are whole numbers, defaults say which are flags.

    NotIndexableError for a column that isn't of texts, OptionError for what isn't allowed. Numbers
    of bits are left to who knows them.
    """
    if type_ != "string":
        raise NotIndexableError(f"{kind} takes strings, no column of the type {type_}")
    if unknown := sorted(set(given) - set(defaults)):
        told = f"{kind} has no option {unknown[0]}; it has {', '.join(defaults)}"
        raise OptionError(told, unknown[0], tuple(defaults))
    found = {**defaults, **given}
    for name, default in defaults.items():
        if isinstance(default, bool) and not isinstance(found[name], bool):
            raise OptionError(f"{name} is true or false, not {found[name]}")
    for name, (least, most, unit) in wholes.items():
        value = found[name]
        if type(value) is not int or not least <= value <= most:
            raise OptionError(f"{name} is a number of {unit} from {least} to {most}, not {value}")
    return found
