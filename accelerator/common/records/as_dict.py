"""A record's fields as a dict, those of the records within it as well."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

_AS_THEY_ARE = (bytes, date, datetime, time, timedelta, Decimal, UUID)


def as_dict(record: object) -> dict[str, Any]:
    """The fields by name, in their order; sets become lists, other values stay what they are."""
    found: dict[str, Any] = msgspec.to_builtins(record, builtin_types=_AS_THEY_ARE)
    return found
