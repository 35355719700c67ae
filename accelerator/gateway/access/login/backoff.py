"""How long somebody waits after wrong passwords: longer each time, forgotten after a quiet while.

Three counters: of a user at an address, of an address, of a user. The first is strict. The others
allow more, since many share an address, and since a stranger mustn't lock a user out at once.
Promises: memory is bounded; who tries many names is still counted by address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from accelerator.common.lru_cache import Recent

_FREE = {"pair": 3, "address": 20, "user": 20}
_DELAY_MAX_S = 60.0
_FORGOTTEN_S = 900.0
_KEPT_MAX = 10_000
Key = tuple[str, ...]


class Backoff:
    """The wrong passwords of late; of one thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failed: Recent[tuple[int, float]] = Recent(_KEPT_MAX)

    def wait_s(self, name: str, address: str) -> float:
        """Seconds until the next try is looked at; 0 where it is at once."""
        now = self._clock()
        return max(0.0, *(self._until(key) - now for key in _keys(name, address)))

    def failed(self, name: str, address: str) -> None:
        """One more wrong password."""
        now = self._clock()
        for key in _keys(name, address):
            count, last = self._failed.get(key) or (0, now)
            count = 0 if now - last > _FORGOTTEN_S else count
            self._failed.put(key, (count + 1, now))

    def succeeded(self, name: str, address: str) -> None:
        """The right one: the user has a clean slate there.

        The address keeps its count, or its owner would clear it by a password of their own.
        """
        for key in _keys(name, address):
            if key[0] == "pair":
                self._failed.pop(key)

    def _until(self, key: Key) -> float:
        count, last = self._failed.get(key) or (0, 0.0)
        over = count - _FREE[key[0]]
        if over < 0 or self._clock() - last > _FORGOTTEN_S:
            return 0.0
        return last + min(_DELAY_MAX_S, 2.0 ** min(over, 10))


def _keys(name: str, address: str) -> tuple[Key, ...]:
    place = _network(address)
    return ("pair", name, place), ("address", place), ("user", name)


def _network(address: str) -> str:
    """The address; of version 6 the network of 64 bits, which one machine has to itself."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
    return str(found)
