"""Secrets out of texts that people are shown: messages, logs, representations.

Texts may be of anybody, and long: the work grows with their length, and no faster.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import quote

_WORDS = "password|passwd|pwd|secret|token|credential|key"
_SECRET = re.compile(rf"{_WORDS}|sas|signature|auth|bearer|connection.?string", re.IGNORECASE)
_LOGIN = re.compile(r"(?<=://)([^\s/@:]*):(\S+)@")
_USER = re.compile(r"(https?://)[^\s/@:]+@", re.IGNORECASE)
_PARAMETER = re.compile(rf"{_WORDS}|sig", re.IGNORECASE)
_RUN = re.compile(r"\S+")
_BETWEEN_OR_BEFORE = re.compile(r"[?&;]")
_BETWEEN = re.compile(r"([&;])")
_LENGTH_MIN = 4
_WORD = 7
"""Longer parts of a secret, as what stands behind `Bearer`, are secrets as well."""
_SHOWN = "***"


def is_secret(name: str) -> bool:
    """Whether a property of that name may hold a secret, by its name.

    >>> is_secret("jdbc.password"), is_secret("warehouse")
    (True, False)
    """
    return _SECRET.search(name) is not None


def redacted(text: str, properties: Mapping[str, str]) -> str:
    """The text without the values of those properties whose names say that they are secret.

    Passwords in addresses go as well, and so do those among their parameters.

    >>> redacted("no ab12cd at db://me:pw@h", {"s3.secret-access-key": "ab12cd", "uri": "at"})
    'no *** at db://me:***@h'
    """
    secrets = {
        value
        for key, value in properties.items()
        if _SECRET.search(key) and isinstance(value, str) and len(value) >= _LENGTH_MIN
    }
    secrets |= {part for one in secrets for part in one.split() if len(part) > _WORD}
    secrets |= {way for one in secrets for way in (quote(one, safe=""), json.dumps(one)[1:-1])}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _SHOWN)
    if ("@" in text and "://" in text) or ("=" in text and _BETWEEN_OR_BEFORE.search(text)):
        text = _RUN.sub(lambda run: _of_address(run[0]), text)
    return text


def _of_address(run: str) -> str:
    """Without the password before its last @, and the values of its secret parameters."""
    head, at, tail = run.rpartition("@")
    if at and "://" in head:
        head = _LOGIN.sub(rf"\1:{_SHOWN}@", head + at)
        run = _USER.sub(rf"\1{_SHOWN}@", head + tail)
    if "=" not in run:
        return run
    pieces = _BETWEEN.split(run)
    pieces[::2] = [_parameter(one, follows=at > 0) for at, one in enumerate(pieces[::2])]
    return "".join(pieces)


def _parameter(piece: str, *, follows: bool) -> str:
    """A part of an address between two & or ;, of which only the first one has no name at once."""
    begin = 0
    while (end := piece.find("=", begin)) >= 0:
        name = piece[begin:end]
        if begin or not follows:  # else the whole is one
            name = name.partition("?")[2]
        if end + 1 < len(piece) and _PARAMETER.search(name):
            return f"{piece[: end + 1]}{_SHOWN}"
        begin = end + 1
    return piece
