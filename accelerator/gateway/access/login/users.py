"""Users with their passwords, roles and groups, out of a TOML file.

Promises: a name that nobody has costs the same work as one that somebody has; a right password
costs it once in some minutes; wrong ones neither stop the event loop nor take more memory than two
checks at once. No password is kept: what is remembered is a hash under a key of this process.
"""

from __future__ import annotations

import asyncio
import secrets
import stat
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from accelerator.common.config.settings import from_file
from accelerator.common.lru_cache import Recent
from accelerator.errors import ConfigError
from accelerator.gateway.access.errors import TooManyAttemptsError
from accelerator.gateway.access.files.toml import ENTRIES_MAX, Section
from accelerator.gateway.access.files.watched import Reloaded, Watched
from accelerator.gateway.access.login import passwords
from accelerator.gateway.access.login.backoff import Backoff

_PAGE = "docs/reference/access.md"
_KEYS = ("password", "roles", "groups")
_NAME_MAX = 256
_KNOWN_S = 300.0
_KNOWN_MAX = 4096
_CHECKED_AT_ONCE = 2
_WAITING_MAX = 64
_WAITING_OF_ADDRESS_MAX = 16


class User(Struct, frozen=True):
    """Who asks; `name` has its case."""

    name: str
    roles: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _UserEntry:
    user: User
    stored: str = field(repr=False)


class Users:
    """The users of a file. `check` and `reloaded` are for one event loop's thread."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """ConfigError where the file can't be read, or holds what it can't."""
        self._path, self._clock = path, clock
        passwords.nobodys()  # made before anybody can measure it
        self._file = Watched([path], partial(_entries, path))
        self._key = secrets.token_bytes(32)
        self._known: Recent[float] = Recent(_KNOWN_MAX)
        self._backoff = Backoff(clock)
        self._running: dict[bytes, asyncio.Future[bool]] = {}
        self._waiting: Counter[str] = Counter()
        self._threads = ThreadPoolExecutor(_CHECKED_AT_ONCE, thread_name_prefix="passwords")

    @classmethod
    def load(cls, path: str | Path) -> Users:
        """The users of the file; ConfigError names the key that is wrong."""
        return cls(Path(path))

    @property
    def warning(self) -> str:
        """Why the file isn't safe as it lies there; empty where nothing is known."""
        try:
            mode = self._path.stat().st_mode
        except OSError:
            return ""
        if not mode & (stat.S_IRGRP | stat.S_IROTH | stat.S_IWGRP | stat.S_IWOTH):
            return ""
        return f"{self._path} can be read by others than its owner: chmod 600 {self._path}"

    @property
    def error(self) -> ConfigError | None:
        """Why the file as it is now isn't used; None where it is."""
        return self._file.error

    def __len__(self) -> int:
        return len(self._file.value)

    def named(self, name: str) -> User | None:
        """The user of that name, whose password nobody asks for here."""
        entry = self._file.value.get(name)
        return None if entry is None else entry.user

    def reloaded(self) -> Reloaded:
        """Looks at the file again. A broken one is told, and the users stay as they were.

        Whoever is gone, or has another password, is known no longer at once.
        """
        return self._file.reloaded()

    def verify(self, name: str, password: str) -> User | None:
        """The user whose password that is; takes tens of milliseconds unless it's known of late."""
        entry = self._file.value.get(name)
        if entry is not None and self._is_cached(self._digest(entry, password)):
            return entry.user
        right = passwords.matches(passwords.nobodys() if entry is None else entry.stored, password)
        if entry is None or not right:
            return None
        self._remember(self._digest(entry, password))
        return entry.user

    async def check(self, name: str, password: str, address: str = "") -> User | None:
        """The same without stopping the event loop; None for a wrong name or password.

        TooManyAttemptsError where there were too many wrong ones from the address or of the user,
        or too many are being checked. Who was right of late is never held up.
        """
        entry = self._file.value.get(name)
        asked = entry or _UserEntry(User(name[:_NAME_MAX]), passwords.nobodys())
        digest = self._digest(asked, password)
        if entry is not None and self._is_cached(digest):
            return entry.user
        wait = self._backoff.wait_s(asked.user.name, address)
        if wait > 0:
            raise TooManyAttemptsError(wait)
        right = await self._checked(asked.stored, password, digest, address)
        if entry is None or not right:
            self._backoff.failed(asked.user.name, address)
            return None
        if self._file.value.get(name) != entry:  # changed meanwhile
            return None
        self._backoff.succeeded(name, address)
        self._remember(digest)
        return entry.user

    def close(self) -> None:
        """Ends its threads once the checks that run are done."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _checked(self, stored: str, password: str, digest: bytes, address: str) -> bool:
        """Whether they match, by a thread; who asks the same meanwhile waits for that answer."""
        running = self._running.get(digest)
        if running is None:
            waiting = self._waiting[address]
            if len(self._running) >= _WAITING_MAX or waiting >= _WAITING_OF_ADDRESS_MAX:
                raise TooManyAttemptsError(1.0)
            loop = asyncio.get_running_loop()
            running = loop.run_in_executor(self._threads, passwords.matches, stored, password)
            self._running[digest] = running
            self._waiting[address] += 1
            running.add_done_callback(lambda _done: self._done(digest, address))
        return await asyncio.shield(running)

    def _done(self, digest: bytes, address: str) -> None:
        self._running.pop(digest, None)
        self._waiting[address] -= 1
        if not self._waiting[address]:
            del self._waiting[address]

    def _digest(self, entry: _UserEntry, password: str) -> bytes:
        """What stands for the three, of which none can be found out by it."""
        made = blake2b(key=self._key, digest_size=32)
        for part in (entry.user.name, entry.stored, password):
            raw = part.encode("utf-8", "surrogatepass")
            made.update(len(raw).to_bytes(8, "big") + raw)
        return made.digest()

    def _is_cached(self, digest: bytes) -> bool:
        until = self._known.get(digest)
        return until is not None and self._clock() < until

    def _remember(self, digest: bytes) -> None:
        self._known.put(digest, self._clock() + _KNOWN_S)


def _entries(path: Path) -> Mapping[str, _UserEntry]:
    file = Section(from_file(path), str(path), _PAGE, ("users",))
    users = Section(file.values.get("users", {}), f"{path}: users", _PAGE)
    if len(users.values) > ENTRIES_MAX:
        raise users.error(f"there are more than {ENTRIES_MAX}", "")
    return {name: _entry(name, value, str(path)) for name, value in users.values.items()}


def _entry(name: str, value: object, path: str) -> _UserEntry:
    if not name or len(name) > _NAME_MAX or not name.isprintable() or ":" in name or "*" in name:
        raise ConfigError(
            f"{path}: {ascii(name)[:80]} can't be a user's name",
            hint=f"1 to {_NAME_MAX} letters without controls, colons and stars",
        )
    section = Section(value, f"{path}: users.{name}", _PAGE, _KEYS)
    stored = section.text("password")
    try:
        passwords.check_hash(stored)
    except ConfigError as error:
        raise ConfigError(f"{section.place}: password: {error.message}", hint=error.hint) from error
    roles, groups = frozenset(section.texts("roles")), frozenset(section.texts("groups"))
    return _UserEntry(User(name, roles, groups), stored)
