"""Passwords as argon2id hashes: how one is made, which are taken, how one is compared.

Promises: a hash that would take more memory or time than a bound is refused before it's computed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from accelerator.errors import ConfigError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

BYTES_MAX = 1024
"""Of a password; a longer one is no user's."""
_MEMORY_KIB_MAX, _ROUNDS_MAX, _LANES_MAX = 1 << 20, 64, 16
_HINT = "make one by `accelerator password`"


def hash_password(text: str) -> str:
    """The hash that a users file has for the password; ConfigError for none, or one too long."""
    raw = _encoded(text)
    if not raw:
        raise ConfigError(
            f"a password has 1 to {BYTES_MAX} bytes in UTF-8", hint="choose another one"
        )
    return _hasher().hash(raw)


def check_hash(text: str) -> None:
    """ConfigError where the text is no argon2id hash, or one that costs more than is allowed."""
    from argon2 import Type, extract_parameters
    from argon2.exceptions import InvalidHashError

    _hasher()
    try:
        found = extract_parameters(text)
    except (InvalidHashError, ValueError, LookupError) as error:
        raise ConfigError("it isn't an argon2 hash", hint=_HINT) from error
    if found.type is not Type.ID:
        raise ConfigError("it isn't a hash by argon2id", hint=_HINT)
    bounds = (
        (found.memory_cost, _MEMORY_KIB_MAX, "KiB of memory"),
        (found.time_cost, _ROUNDS_MAX, "rounds"),
        (found.parallelism, _LANES_MAX, "lanes"),
    )
    for value, most, what in bounds:
        if not 0 < value <= most:
            raise ConfigError(f"its {what} are {value}, and at most {most} are taken", hint=_HINT)


def matches(stored: str, password: str) -> bool:
    """Whether the password is the one of the hash; takes tens of milliseconds by design."""
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return _hasher().verify(stored, _encoded(password))
    except (InvalidHashError, VerificationError):
        return False


@cache
def nobodys() -> str:
    """A hash that is nobody's, for the names that nobody has."""
    import secrets

    return _hasher().hash(secrets.token_bytes(32))


def _encoded(text: str) -> bytes:
    """The bytes; none for what is no password: too long, or no text."""
    raw = text[: BYTES_MAX + 1].encode("utf-8", "surrogatepass")
    return raw if len(raw) <= BYTES_MAX else b""


@cache
def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ImportError as error:
        raise ConfigError(
            "passwords need the package argon2-cffi",
            hint="pip install 'lakehouse-accelerator[gateway]'",
        ) from error
    return PasswordHasher()
