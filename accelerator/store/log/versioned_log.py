"""A versioned log: immutable, numbered files, each with one whole state; the highest is the truth.

Promises: a commit is create-if-absent of the next number, so nothing is lost and no number has two
winners; a reader sees every commit that ended before it asked (with `max_age_s` 0); a file that is
torn, changed or of a newer format is never taken for a state. It knows nothing of cubes; what a
state is, and which further files it rests on, is its codec's.
"""

from __future__ import annotations

import hashlib
import random
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from accelerator.errors import UNFIT, AcceleratorError, StoreConflictError, StoreError
from accelerator.store.files.files import StoreFiles
from accelerator.store.log.chunks import Damaged, read_json

TRIES_MAX = 50
# A process that asked nobody for so long lists the versions instead of probing for the next one:
# the vacuum may have removed the old ones in between, and a hole must not look like the end.
PROBE_GAP_MAX_S = 300.0
# So often it asks whether a vacuum has gone past the version that it knows: that shows whatever the
# clocks do, of a machine that slept or of a vacuum that is ahead.
FLOOR_GAP_MAX_S = 60.0

# Its own, since commits run in threads of a program that may have seeded the one of the module.
_CHANCE = random.Random()
# No writer ever comes to larger numbers: a file of such a name is nobody's.
_NAME = re.compile(r"v(00\d{18})\.json")
# The envelope comes first and in this order, so that the checksum is of the state's very bytes.
_ENVELOPE = re.compile(
    rb'\{"format":(\d{1,9}),"kind":"([a-z]+)","number":(\d{1,20}),"commit":"([0-9a-f]{32})",'
    rb'"sha256":"([0-9a-f]{64})","state":(.*)\}\n',
    re.DOTALL,
)
_FLOOR = re.compile(r"/floors/(00\d{18})\.json$")
_FORMAT = re.compile(rb'\{"format":(\d{1,9})\b')


class LoggedState(Protocol):
    """A state that a log can keep."""

    @property
    def number(self) -> int:
        """The version that it was read from or committed as."""
        ...

    def to_text(self) -> str:
        """The state as JSON, without NaN or infinity."""
        ...


S = TypeVar("S", bound=LoggedState)


class Codec(Protocol[S]):
    """How states of one kind are read and made ready to be written."""

    @property
    def kind(self) -> str:
        """The word for them in a version file."""
        ...

    @property
    def format(self) -> int:
        """The newest format that is read."""
        ...

    def format_of(self, state: S, /) -> int:
        """The format that a state is written in: the oldest that loses nothing of it."""
        ...

    def decode(self, number: int, format: int, raw: dict[str, Any], /) -> S:
        """The state in a sound version file."""
        ...

    def prepare(self, before: S, after: S, number: int, /) -> S:
        """The state as version `number` will hold it; files that it names are written first."""
        ...


class _Tip(Struct, Generic[S], frozen=True):
    """The newest number there is, and the state to serve: an older one if the newest is damaged."""

    number: int
    state: S
    next_path: str
    damage: str | None = None


class VersionedLog(Generic[S]):
    """One log in one folder of `files`. Threads may share it; only writers wait for each other."""

    def __init__(
        self,
        files: StoreFiles,
        folder: str,
        codec: Codec[S],
        empty: S,
        *,
        max_age_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._files, self._folder = files, folder
        # Beside a table's versions; a log at the root has them in its own folder.
        self._floors_folder = f"{folder.rpartition('/')[0] or folder}/floors"
        self._codec, self._empty = codec, empty
        self._max_age_s, self._clock, self._sleep = max_age_s, clock, sleep
        self._tip: _Tip[S] | None = None
        self._checked = self._floor_asked = -float("inf")
        self._swap = threading.Lock()
        self._writer = threading.Lock()

    def current(self) -> S:
        """The newest state; with nothing new, this is one existence check."""
        tip, now = self._tip, self._clock()
        if tip is not None:
            age = now - self._checked
            if age < self._max_age_s:
                return tip.state
            probe = age < PROBE_GAP_MAX_S and not self._must_ask_floor(now)
            if probe and not self._files.exists(tip.next_path):
                self._checked = now
                return tip.state
        return self._refresh(now).state

    def listed(self) -> S:
        """The newest state, found by listing: no file that is gone is taken for the end."""
        return self._refresh(self._clock(), anew=True).state

    @property
    def damage(self) -> str | None:
        """What is wrong with the newest version file, if an older one serves in its place."""
        return self._tip.damage if self._tip else None

    def older(self, number: int) -> Iterator[S]:
        """The sound states of versions before `number`, newest first."""
        for one in sorted((n for n in self.numbers() if n < number), reverse=True):
            try:
                yield self.read(one)
            except Damaged:
                continue

    def commit(self, change: Callable[[S], S]) -> S:
        """Applies a change to the newest state and makes the result the next version.

        `change` is run again whenever another writer was first, and may raise to give up; if it
        returns the very state it was given, nothing is written.
        """
        token = uuid.uuid4().hex
        with self._writer:
            for tries in range(TRIES_MAX):
                tip = self._sound_tip()
                number = tip.number + 1
                try:
                    after = change(tip.state)
                    if after is tip.state:
                        if not self._is_below_floor(number):
                            return after
                        self._refresh(self._clock(), anew=True)  # a hole was taken for the end
                        continue
                    committed = self._codec.prepare(tip.state, after, number)
                except (Damaged, AcceleratorError) as error:
                    # A vacuum may have run, and we be behind: a hole was taken for the end.
                    if self._refresh(self._clock(), anew=True).number > tip.number:
                        continue
                    if isinstance(error, Damaged):
                        raise _refused(error) from error
                    raise
                if self._create(number, token, committed):
                    if not self._is_below_floor(number):
                        self._keep(self._as_tip(number, committed), self._clock())
                        return committed
                    self._files.delete([self.path(number)])
                    self._refresh(self._clock(), anew=True)
                # Full jitter: the wait grows with the crowd, up to a quarter of a second.
                self._sleep(_CHANCE.uniform(0, min(0.25, 0.002 * 2 ** min(tries, 10))))
        raise StoreConflictError(
            f"{self._folder}: other writers were first {TRIES_MAX} times",
            hint="try again; if it persists, look for a process that commits without pause",
        )

    def _create(self, number: int, token: str, state: S) -> bool:
        """Whether version `number` is ours now.

        A put that failed or met an existing file may still be our own, repeated after a lost
        reply; so the token in the file decides.
        """
        path = self.path(number)
        try:
            if self._files.create(path, self._encode(number, token, state)):
                return True
        except StoreError:
            if not self._files.exists(path):
                raise
        try:
            return _token(self._files.read(path)) == token
        except FileNotFoundError:
            return False

    def _is_below_floor(self, number: int) -> bool:
        """Whether a vacuum has deleted versions up to that one, or is about to.

        Before it does, it says up to which in the name of a floor file. So a writer that was far
        behind, and has filled a number that was free again, sees that here.
        """
        return self.floor() > number

    def _must_ask_floor(self, now: float) -> bool:
        return now - self._floor_asked >= FLOOR_GAP_MAX_S

    def raise_floor(self, floor: int) -> None:
        """Says that the version files below that number may be gone, before any of them goes.

        The new floor file is there before a lower one goes, so there's no moment without.
        """
        self._files.create(f"{self._floors_folder}/{floor:020d}.json", b'{"format":1}\n')
        lower = [path for path, other in self._floors().items() if other < floor]
        self._files.delete(lower)

    def floor(self) -> int:
        """Version files below that number are gone, or about to go; 0 where none is.

        What is read below it may be a stray: of a writer that has filled a free number. So it's
        asked for once the file was read.
        """
        return max(self._floors().values(), default=0)

    def _floors(self) -> dict[str, int]:
        matches = {path: _FLOOR.search(path) for path in self._files.list(self._floors_folder)}
        return {path: int(match[1]) for path, match in matches.items() if match}

    def _sound_tip(self) -> _Tip[S]:
        """The newest tip, to write on; never upon damage, since what it held is unknown."""
        now = self._clock()
        tip = self._tip
        stale = tip is None or tip.damage or now - self._checked >= PROBE_GAP_MAX_S
        stale_floor = self._must_ask_floor(now)
        if tip is None or stale or stale_floor or self._files.exists(tip.next_path):
            tip = self._refresh(now, anew=bool(stale))
        if tip.damage:
            raise _refused(tip.damage)
        return tip

    def _refresh(self, now: float, *, anew: bool = False) -> _Tip[S]:
        tip = self._tip
        probe = tip is not None and not anew and now - self._checked < PROBE_GAP_MAX_S
        known = tip.number if tip and probe else 0
        number = self._probe_from(known) if known else self._list_newest()
        if known and self._must_ask_floor(now) and self._is_below_floor(number):
            number = self._list_newest()
        while number and not self._files.exists(self.path(number)):
            number = self._list_newest()  # a vacuum deleted it between our two questions
        if tip is not None and number == tip.number and not tip.damage:
            return self._keep(tip, now)
        return self._keep(self._load(number), now)

    def _probe_from(self, number: int) -> int:
        while self._files.exists(self.path(number + 1)):
            number += 1
        return number

    def _list_newest(self) -> int:
        return max(self.numbers(), default=0)

    def numbers(self) -> list[int]:
        """Of all version files that there are; one listing."""
        found = map(number_of, self._files.list(self._folder))
        return [number for number in found if number is not None]

    def _load(self, number: int) -> _Tip[S]:
        """The state of version `number`, or of the newest sound one before it."""
        if number == 0:
            return self._as_tip(0, self._empty)
        try:
            return self._as_tip(number, self.read(number))
        except Damaged as error:
            if not self._files.exists(self.path(number)):
                return self._load(self._list_newest())  # deleted since it was asked for
            damage = f"{self._files.uri(self.path(number))}: {error}"
        for state in self.older(number):
            return self._as_tip(number, state, damage)
        raise StoreError(
            f"no sound version file is left; the newest is damaged: {damage}",
            hint="restore the folder from a backup, or delete it to start with an empty store",
        )

    def read(self, number: int) -> S:
        """The state of one version; `Damaged` where its file is missing or can't be trusted."""
        try:
            data = self._files.read(self.path(number))
        except FileNotFoundError:
            raise Damaged("missing") from None
        format, state = _open_envelope(data, self._codec.kind, number, self._codec.format)
        try:
            return self._codec.decode(number, format, state)
        except UNFIT as error:
            raise Damaged(f"its state doesn't fit: {error!r}") from error

    def _encode(self, number: int, token: str, state: S) -> bytes:
        body = state.to_text().encode()
        digest = hashlib.sha256(body).hexdigest()
        head = (
            f'{{"format":{self._codec.format_of(state)},"kind":"{self._codec.kind}","number":{number},'
            f'"commit":"{token}","sha256":"{digest}","state":'
        )
        return head.encode() + body + b"}\n"

    def _keep(self, tip: _Tip[S], now: float) -> _Tip[S]:
        """Swaps the cached tip, forward only: a slow thread must not bring back an older one."""
        with self._swap:
            old = self._tip
            if old is None or old.damage or tip.number >= old.number:
                self._tip, self._checked, self._floor_asked = tip, now, now
                return tip
            # Either that, or somebody deleted the newest file: no reason to list at each query.
            self._checked = max(self._checked, now)
            self._floor_asked = max(self._floor_asked, now)
            return old

    def _as_tip(self, number: int, state: S, damage: str | None = None) -> _Tip[S]:
        return _Tip(number, state, self.path(number + 1), damage)

    def path(self, number: int) -> str:
        """Where a version's file is, under the store's root."""
        return f"{self._folder}/v{number:020d}.json"


def number_of(path: str) -> int | None:
    """The number of a version file; None of any other file."""
    match = _NAME.fullmatch(path.rpartition("/")[2])
    return int(match[1]) if match else None


def _refused(damage: object) -> StoreError:
    return StoreError(
        f"a file of the newest version is damaged, so nothing is committed after it: {damage}",
        hint="restore that file from a backup; or delete the newest version file, to go back to "
        "the one before, or drop the cube that it's about",
    )


def _open_envelope(
    data: bytes, kind: str, number: int, format_max: int
) -> tuple[int, dict[str, Any]]:
    """The format and the state's JSON, after everything about it has been checked."""
    known = _FORMAT.match(data)
    if known and int(known[1]) > format_max:
        raise StoreError(
            f"the store is of format {int(known[1])}; this release reads format {format_max}",
            hint="upgrade lakehouse-accelerator; until then queries run without cubes",
        )
    match = _ENVELOPE.fullmatch(data)
    if match is None or not int(match[1]):
        raise Damaged("torn, or not a version file")
    if hashlib.sha256(match[6]).hexdigest().encode() != match[5]:
        raise Damaged("its checksum doesn't match")
    if match[2].decode() != kind or int(match[3]) != number:
        raise Damaged(f"it says {match[2].decode()} {int(match[3])} of itself")
    try:
        state = read_json(match[6].decode())
    except UNFIT as error:
        raise Damaged(f"its state isn't JSON: {error}") from error
    if not isinstance(state, dict):
        raise Damaged("its state isn't an object")
    return int(match[1]), state


def _token(data: bytes) -> str | None:
    match = _ENVELOPE.fullmatch(data)
    return match[4].decode() if match else None
