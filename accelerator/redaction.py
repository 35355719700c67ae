"""Secrets out of texts that people are shown: messages, logs, representations."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET = re.compile(
    r"password|passwd|secret|token|credential|key|sas|signature|auth", re.IGNORECASE
)
_LOGIN = re.compile(r"(?<=://)([^\s/@:]*):([^\s/@]+)@")
_LENGTH_MIN = 4
_SHOWN = "***"


def redacted(text: str, properties: Mapping[str, str]) -> str:
    """The text without the values of those properties whose names say that they are secret.

    Passwords in addresses go as well.

    >>> redacted("no ab12cd at db://me:pw@h", {"s3.secret-access-key": "ab12cd", "uri": "at"})
    'no *** at db://me:***@h'
    """
    secrets = {
        value
        for key, value in properties.items()
        if _SECRET.search(key) and isinstance(value, str) and len(value) >= _LENGTH_MIN
    }
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _SHOWN)
    return _LOGIN.sub(rf"\1:{_SHOWN}@", text)
