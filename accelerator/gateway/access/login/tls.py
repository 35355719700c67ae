"""The gateway's certificate: an SSL context whose certificate changes while connections go on.

Promises: TLS 1.2 or newer; a certificate and key that clients couldn't use are refused before
anybody connects, at start by an error, later by keeping those that worked.
"""

from __future__ import annotations

import ssl
import time
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from accelerator.errors import ConfigError
from accelerator.gateway.access.files.watched import Reloaded, Watched
from rewrite.text.printable import one_line

_EXPIRED, _NOT_YET = 10, 9
_STEPS_MAX = 20
_DAY_S = 86_400.0
_HINT = "docs/reference/access.md says what the files hold"


class _Pair(Struct, frozen=True):
    """A context with its certificate, and when that ends, in seconds since 1970."""

    context: ssl.SSLContext
    ends_at: float


class Tls:
    """The certificate of two files in PEM: the chain, its own first, and the key."""

    def __init__(self, certificate: str | Path, key: str | Path) -> None:
        """ConfigError where they can't be used: unreadable, not a pair, expired, not valid yet."""
        self._paths = Path(certificate), Path(key)
        self._pair = Watched(self._paths, self._load)
        # Each handshake asks which context is the newest; that is so without a server's name too.
        self.context = _context(*self._paths)
        self.context.sni_callback = self._choose

    @property
    def days_left(self) -> float:
        """Days until the certificate ends; less than 0 once it has."""
        return (self._pair.value.ends_at - time.time()) / _DAY_S

    @property
    def error(self) -> ConfigError | None:
        """Why the files as they are now aren't used; None where they are."""
        return self._pair.error

    def reloaded(self) -> Reloaded:
        """Looks at the files again. New connections have the new certificate, if it's of use."""
        return self._pair.reloaded()

    def _choose(
        self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _own: ssl.SSLContext
    ) -> None:
        connection.context = self._pair.value.context

    def _load(self) -> _Pair:
        context = _context(*self._paths)
        return _Pair(context, _ends_at(context, self._paths[0]))


def _context(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ConfigError(
                f"the key {key} isn't the one of the certificate {certificate}", hint=_HINT
            ) from error
        told = one_line(error.reason or type(error).__name__)
        raise ConfigError(
            f"{certificate} and {key} are no certificate and key: {told}", hint=_HINT
        ) from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ConfigError(
            f"{certificate} or {key} can't be read: {why}", hint="check paths and rights"
        ) from error
    return context


def _no_password() -> NoReturn:
    raise ConfigError("the key is encrypted", hint="give a key without a password, mode 0600")


def _ends_at(server: ssl.SSLContext, certificate: Path) -> float:
    """When the certificate ends, told by a client that trusts just this one; nothing is sent.

    ConfigError where the client takes it for invalid.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        client.load_verify_locations(certificate)
        told = _handshake(server, client)
    except ssl.SSLCertVerificationError as error:
        why = {_EXPIRED: "it has expired", _NOT_YET: "it isn't valid yet"}.get(error.verify_code)
        raise ConfigError(
            f"clients won't take the certificate {certificate}:"
            f" {why or one_line(error.verify_message)}",
            hint="get a new one" if why else _HINT,
        ) from error
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError(
            f"no connection can be made with the certificate {certificate}"
            f" ({one_line(str(error))[:200]})",
            hint=_HINT,
        ) from error
    ends = None if told is None else told.get("notAfter")
    if not isinstance(ends, str):
        raise ConfigError(f"the certificate {certificate} doesn't say when it ends", hint=_HINT)
    return float(ssl.cert_time_to_seconds(ends))


def _handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> dict[str, object] | None:
    """The server's certificate as the client has checked it, between two buffers."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = client.wrap_bio(to_client, to_server)
    there = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [here, there]
    for _ in range(_STEPS_MAX):
        for side in tuple(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(side)
        if not waiting:
            found = here.getpeercert()
            return None if found is None else dict(found)
    raise ValueError("the handshake doesn't end")
