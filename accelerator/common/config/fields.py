"""Settings as fields of a dataclass: each has its documentation, its kind, what it may be.

A value that a setting can't have, or a name that is none, is a `ConfigError` that names the key,
its source and what is allowed. `value_kinds.py` has the kinds.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from accelerator.common.config.value_kinds import KINDS, PARSERS
from accelerator.errors import ConfigError


# Returns Any, as dataclasses.field does for a type checker: the annotation has the type.
def setting(
    default: Any,
    doc: str,
    *,
    kind: str,
    choices: tuple[str, ...] = (),
    reaches_out: bool = False,
    secret: bool = False,
) -> Any:
    """A field with its documentation, its kind (a key of `PARSERS`) and what it may be.

    `reaches_out`: it may run code, hand over credentials or write elsewhere, so that a file in the
    warehouse can't set it: whoever writes tables could. `secret`: it may hold credentials, as every
    table of texts may.
    """
    secret = secret or isinstance(default, dict)
    metadata = {
        "doc": doc,
        "kind": kind,
        "choices": choices,
        "reaches_out": reaches_out,
        "secret": secret,
    }
    if isinstance(default, dict):
        return field(default_factory=dict, repr=False, metadata=metadata)
    return field(default=default, repr=not secret, metadata=metadata)


def check_all(settings: Any) -> None:
    """Parses every field of a new, frozen value, so that none with a wrong one exists."""
    for one in fields(settings):
        value = parse(one, getattr(settings, one.name), "the arguments")
        object.__setattr__(settings, one.name, value)


def parsed(
    of: type[Any], values: Mapping[str, Any], source: str, page: str
) -> Iterator[tuple[str, Any]]:
    """The settings among the fields `of` that dataclass; `page` of the reference lists them."""
    known = {one.name: one for one in fields(of)}
    for key, value in values.items():
        if key not in known:
            near = tuple(get_close_matches(key, known, n=2, cutoff=0.7))
            raise ConfigError(
                f"unknown setting {key!r} in {source}", hint=_meant(near, page), suggestions=near
            )
        yield key, parse(known[key], value, source)


def _meant(near: Iterable[str], page: str) -> str:
    meant = f"is {' or '.join(near)} meant? " if near else ""
    return f"{meant}docs/reference/{page} lists all settings"


def parse(one: Field[Any], value: Any, source: str) -> Any:
    """The value in its setting's type; every source may give text."""
    kind = one.metadata["kind"]
    try:
        return PARSERS[kind](value, one.metadata)
    except (OverflowError, RecursionError, TypeError, ValueError) as error:
        shown = "that" if one.metadata["secret"] else repr(value)
        raise ConfigError(
            f"setting {one.name!r} in {source} can't be {shown}: {error}",
            hint=f"{one.name} takes {describe(one)}",
        ) from error


def describe(one: Field[Any]) -> str:
    """What a setting takes, in words, for messages and for the reference page."""
    kind = one.metadata["kind"]
    if kind.startswith("choice"):
        named = "one of " + ", ".join(one.metadata["choices"])
        return named if kind == "choice" else f"{named}, or nothing"
    return KINDS[kind]


def from_file(path: Path) -> dict[str, Any]:
    """A TOML file as it stands there."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, RecursionError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} can't be read as TOML: {error}", hint="mend the file") from error
