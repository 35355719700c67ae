"""Formats whose readers do what no reader may, for the tests of who watches them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fuzz.bytes.kinds import Format, Input, WrongError

_SOUND = bytes(range(64))


def _format(name: str, use: Callable[[bytes], Any], **more: Any) -> Format:
    return Format(
        name,
        lambda: [Input(_SOUND)],
        lambda given: [lambda: use(given.data)],
        (ValueError,),
        **more,
    )


def _crashing(data: bytes) -> Any:
    if len(data) < 40:
        os.abort()
    return len(data)


def _hanging(data: bytes) -> Any:
    while len(data) < 40:
        pass
    return len(data)


def _hungry(data: bytes) -> Any:
    return bool(len(data) < 40 and np.ones(1 << 33, dtype=np.uint8)[0]) or len(data)


def _lying(data: bytes) -> Any:
    if len(data) < 40:
        raise WrongError("fewer than none")
    return len(data)


def _untyped(data: bytes) -> Any:
    return data[63]


def _refusing(data: bytes) -> Any:
    if data != _SOUND:
        raise ValueError("altered")
    return data


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        _format("crashing", _crashing),
        _format("hanging", _hanging),
        _format("hungry", _hungry),
        _format("lying", _lying),
        _format("untyped", _untyped),
        _format("sealed", lambda data: data, sealed=True),
        _format("refusing", _refusing, sealed=True),
    )
}
