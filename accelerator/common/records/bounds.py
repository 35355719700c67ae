"""Bounded types for the fields of records that `msgspec.convert` reads from files and messages."""

from __future__ import annotations

import sys
from typing import Annotated

from msgspec import Meta

TEXT_MAX = 16 * 1024
MANY_MAX = 1_000

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Number = Annotated[float, Meta(ge=0, le=sys.float_info.max)]
"""From 0 up; neither NaN nor infinite."""
UnixMs = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]
"""Up to the end of the year 9999."""
ShortText = Annotated[str, Meta(max_length=128)]
LongText = Annotated[str, Meta(max_length=1024)]
