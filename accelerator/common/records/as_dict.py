"""A record's fields as a dict, those of the records within it as well."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

_AS_THEY_ARE = (bytes, date, datetime, time, timedelta, Decimal, UUID)


def as_dict(record: object) -> dict[str, Any]:
    """Returns the fields by name, in their order; sets become lists, other values stay.

    TypeError for values of other kinds than JSON's, times, decimals and bytes (paths, numpy's).
    """
    found: dict[str, Any] = msgspec.to_builtins(record, builtin_types=_AS_THEY_ARE)
    return found
