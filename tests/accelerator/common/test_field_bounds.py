"""Bounded types of records: what each accepts and refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec import convert

from accelerator.common.records.bounds import Count, Int64, LongText, Number, ShortText, UnixMs
from accelerator.store.files.names import FileName


@pytest.mark.parametrize(
    ("kind", "sound", "wrong"),
    [
        (Int64, [-(2**63), 0, 2**63 - 1], [-(2**63) - 1, 2**63, 2**200, True, 1.0, "1", None]),
        (Count, [0, 2**63 - 1], [-1, 2**63, True, 1.0, "1", None]),
        (UnixMs, [0, 253_402_300_799_999], [-1, 253_402_300_800_000, True, "1"]),
        (Number, [0, 1.5, 2**70], [-0.1, math.nan, math.inf, -math.inf, True, "1", None, 10**400]),
        (ShortText, ["", "é" * 128], ["x" * 129, b"x", 1, None, ["x"]]),
        (LongText, ["x" * 1024], ["x" * 1025, 1, None]),
        (FileName, ["a", "_9.x-"], ["", ".a", "a/b", "a\n", "é", "x" * 129, 1, None]),
    ],
)
def test_what_is_accepted_and_refused(kind: Any, sound: list[Any], wrong: list[Any]) -> None:
    for value in sound:
        assert convert(value, kind) == value
    for value in wrong:
        with pytest.raises(ValueError):
            convert(value, kind)
