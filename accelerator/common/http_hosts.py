"""Names and addresses of hosts, as `Host` headers, origins and settings have them.

One spelling for each host: lower case, no trailing dot, addresses as `ipaddress` writes them.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

_HOST = re.compile(
    r"(?:\[(?P<ipv6>[0-9a-f:.]{2,45})\]|(?P<name>[a-z0-9_][a-z0-9._-]{0,252}))"
    r"(?::(?P<port>[0-9]{1,5})?)?"
)
_TEXT_MAX = 320
"""No host with its port is longer."""


class Host(Struct, frozen=True):
    """A host by name or address; `port` is None if none is written."""

    name: str
    port: int | None = None

    def __str__(self) -> str:
        name = bracketed(self.name)
        return name if self.port is None else f"{name}:{self.port}"


def parsed_host(text: str) -> Host | None:
    """Parses `name`, `address` or `[address]`, with a port or without; None for other texts."""
    return _parsed(text) if len(text) <= _TEXT_MAX else None


@lru_cache(1024)
def _parsed(text: str) -> Host | None:
    found = _HOST.fullmatch(text.lower()) if text.isascii() else None
    if found is None:
        return None
    port = int(found["port"]) if found["port"] else None
    if found["ipv6"]:
        name = plain_address(found["ipv6"])
        return None if name is None else Host(name, port)
    name = found["name"].removesuffix(".")
    return Host(plain_address(name) or name, port) if name and name[-1] != "." else None


def configured_host(text: str) -> Host:
    """Parses a host of the settings, which has no port; ValueError for other texts."""
    text = text.strip()
    try:
        name = text if text.isascii() else text.encode("idna").decode()
    except UnicodeError:
        name = ""
    host = parsed_host(name) or parsed_host(bracketed(name))
    if host is None or host.port is not None:
        raise ValueError(f"{text!r} is no host name or address without a port")
    return host


def bracketed(name: str) -> str:
    """Returns an address of IPv6 in brackets, other names as they are."""
    return f"[{name}]" if ":" in name else name


@lru_cache(1024)
def plain_address(text: str) -> str | None:
    """Returns an address in its one spelling, without a zone; None if the text is no address."""
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


@lru_cache(1024)
def is_loopback(name: str) -> bool:
    """Whether the name or address, in its one spelling, is this machine's own."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class OwnNames:
    """The names of a server: its listening address, this machine's names, the setting `hosts`."""

    def __init__(self, listening: str, hosts: Iterable[str]) -> None:
        """`listening` is the address at which it listens, `hosts` the setting of that name."""
        self.given = frozenset(configured_host(one).name for one in hosts)
        self._names = self.given | _listening_names(listening)

    def has(self, name: str, local: str) -> bool:
        """Decides if the host is the server's; `local` is the address that the client called."""
        return name in self._names or name == local or is_loopback(name)


def _listening_names(listening: str) -> frozenset[str]:
    """Returns the names that clients may use for the address on which a server listens."""
    host = parsed_host(listening.lower()) or parsed_host(bracketed(listening.lower()))
    names = {"localhost"} if host is None else {"localhost", host.name}
    if names & {"0.0.0.0", "::"}:
        own = parsed_host(socket.gethostname())
        names |= {"0.0.0.0", "::"} | ({own.name} if own else set())
    return frozenset(names)
