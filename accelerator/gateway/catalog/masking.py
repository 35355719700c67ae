"""Masks what metadata contains and its reader isn't to be told: secrets, and names of other tables.

Every door to properties, summaries and locations goes through here: SQL, SHOW and the API.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from accelerator.artifacts.relate.declaration import PREFIX as RELATE
from accelerator.artifacts.relate.declaration import from_property
from accelerator.common.redaction import is_secret, redacted
from accelerator.errors import UNFIT
from accelerator.gateway.access.check import UNREADABLE, FullName
from accelerator.query.statements.constraint import PREFIX as CONSTRAINT

HIDDEN = "***"
Reads = Callable[[FullName], bool]
"""Whether the reader may read the table of that full name."""


def masked_properties(properties: Mapping[str, str], reads: Reads) -> dict[str, str]:
    """The table's properties for a reader.

    Values whose keys name a secret become `***`, and so do secrets inside other values. Like SHOW,
    it omits relate columns and foreign keys if the reader may not read a table behind them.
    """
    return {
        key: masked_value(key, value)
        for key, value in properties.items()
        if all(map(reads, _tables_behind(key, value)))
    }


def masked_value(key: str, value: str) -> str:
    """One value of properties or of a snapshot's summary.

    >>> masked_value("my.password", "ab"), masked_value("at", "https://me:ab@host")
    ('***', 'https://me:***@host')
    """
    return HIDDEN if is_secret(key) else redacted(value, {})


def masked_location(text: str) -> str:
    """An address of a file or a folder, without a password or a key in it."""
    return redacted(text, {})


def _tables_behind(key: str, value: str) -> list[FullName]:
    """The other tables that a property of ours names; a damaged one may name any."""
    if key.startswith(RELATE):
        column = from_property(key.removeprefix(RELATE), value)
        return [UNREADABLE] if column.problem else [one.table for one in column.path]
    if not key.startswith(CONSTRAINT):
        return []
    try:
        raw = json.loads(value)
        if "references" not in raw:
            return []
        return [tuple(map(str, raw["references"]["table"]))]
    except UNFIT:
        return [UNREADABLE]
