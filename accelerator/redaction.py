"""Secrets out of texts that people are shown: messages, logs, representations."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import quote

_WORDS = "password|passwd|pwd|secret|token|credential|key"
_SECRET = re.compile(rf"{_WORDS}|sas|signature|auth|bearer|connection.?string", re.IGNORECASE)
_LOGIN = re.compile(r"(?<=://)([^\s/@:]*):(\S+)@")
_USER = re.compile(r"(https?://)[^\s/@:]+@", re.IGNORECASE)
_PARAMETER = re.compile(rf"([?&;][^=&;\s]*(?:{_WORDS}|sig)[^=&;\s]*=)[^&;\s]+", re.IGNORECASE)
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
    text = _LOGIN.sub(rf"\1:{_SHOWN}@", text)
    return _PARAMETER.sub(rf"\1{_SHOWN}", _USER.sub(rf"\1{_SHOWN}@", text))
