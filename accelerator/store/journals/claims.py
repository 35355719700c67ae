"""Claims in the store: who does a task, told to all processes that might do it too.

A claim is a file `services/v1/<key>/<epoch>.json`, made by a conditional put, so that one process
wins. It holds for two minutes; its owner prolongs it by a file beside it, and ends it by another
(`docs/formats/services.md`).

Promises: as long as wall clocks differ by less than `MARGIN_MS`, at no moment two claims of a key
`held`, wherever processes pause, crash or lose replies; a claim whose process is gone can be
followed by another; a key has few files. Whatever the clocks do, an owner whose claim was followed
hears of it when it prolongs. A claim saves work and proves nothing: what two owners commit is
decided where it's committed.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeVar

from msgspec import Struct, convert

from accelerator.common.records.bounds import Int64
from accelerator.errors import UNFIT, StoreError
from accelerator.store.files.entries import is_draft
from accelerator.store.files.files import StoreFiles
from accelerator.store.files.names import is_name, name_of
from accelerator.store.journals.process_identity import identity, is_gone
from accelerator.store.log.chunks import read_json

Json = dict[str, Any]
FOLDER = "services/v1"
HOLD_MS = 120_000
MARGIN_MS = 120_000
"""What the wall clocks of two machines may differ by."""
_FUTURE_MS = 86_400_000
"""No clock is wrong by so much: what ends later is no claim."""
_DRAFT_MS = 86_400_000
_BYTES_MAX, _LAST_MAX = 65_536, 32_768
_TRIES = 5
_READS_AT_ONCE = 16
"""Of keys that are asked for together: each read waits for a bucket, and does nothing else."""
_log = logging.getLogger("accelerator")
_BY_MAX = 256
_EPOCH_MAX = 10**12 - 1
_NAME = re.compile(r"(0{8}\d{12})(?:-(\d{1,9}|end|stop))?\.json", re.ASCII)
"""Of later epochs nothing is believed: a claim behind them couldn't be followed."""


class TaskProgress(Struct, frozen=True):
    """The progress of a task in data files or other units; a `total` of 0 is unknown."""

    done: Int64 = 0
    total: Int64 = 0


class Seen(Struct, frozen=True):
    """The newest claim of a key. `last` is what its end said, or the end before it.

    `deaths` counts the claims before it, in a row, that nobody ended. `mark` changes whenever its
    owner has done something. `by` is who asked for the task; empty where it works by itself. Of a
    claim that can't be read only `epoch` and `mark` are known.
    """

    epoch: int
    mark: str
    ended: bool
    readable: bool = True
    process: str = ""
    began_ms: int = 0
    expires_ms: int = 0
    progress: TaskProgress = TaskProgress()
    last: Json | None = None
    deaths: int = 0
    by: str = ""


class _StoredFile(Struct, frozen=True):
    """One of a key's files; `token` is its writer's."""

    format: Literal[1]
    token: str


class _ClaimFile(_StoredFile, frozen=True, kw_only=True):
    process: str
    began_ms: Int64
    expires_ms: Int64
    last: Json | None
    deaths: Int64
    by: str = ""


class _Prolongation(_StoredFile, frozen=True):
    expires_ms: Int64
    done: Int64
    total: Int64


class _EndFile(_StoredFile, frozen=True):
    last: Json | None


class _StopFile(_StoredFile, frozen=True):
    by: str


_F = TypeVar("_F", bound=_StoredFile)


class _Listed(Struct, frozen=True):
    """The files of one key by epoch: which has a claim, the newest prolongation, an end."""

    claims: frozenset[int]
    newest: dict[int, int]
    ends: frozenset[int]
    paths: dict[str, int]


class Claims:
    """The claims of one process in one store; threads share it. Any request may be a StoreError.

    `now_ms` is Unix time in milliseconds, `clock` monotonic in seconds; `gone` says whether the
    process of an identity surely has ended.
    """

    def __init__(
        self,
        files: StoreFiles,
        *,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock: Callable[[], float] = time.monotonic,
        process: str | None = None,
        gone: Callable[[str], bool] = is_gone,
    ) -> None:
        self._files, self._now_ms, self._clock = files, now_ms, clock
        self.process = identity() if process is None else process
        self._gone = gone
        self._observed: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    @property
    def files(self) -> StoreFiles:
        """The store's, in which they are."""
        return self._files

    def claim(self, key: str, by: str = "") -> Claim | None:
        """A new claim of the key; None where another one may be held, or somebody was first.

        `by` is who has asked for the task.
        """
        now_ms, now = self._now_ms(), self._clock()  # before what is judged by them is read
        seen = self.seen(key)
        if seen is not None and not self._is_over(key, seen, now_ms, now):
            return None
        epoch = 1 if seen is None else seen.epoch + 1
        if epoch > _EPOCH_MAX:  # nobody has counted so far: the next one begins anew
            found = self.listed(key).paths.items()
            self.deleted([path for path, one in found if one >= _EPOCH_MAX])
            return None
        last = None if seen is None else seen.last
        deaths = 0 if seen is None or seen.ended else seen.deaths + 1
        claim = Claim(self, key, epoch, last, deaths, by)
        if not claim.begin():
            return None
        with self._lock:
            self._observed.pop(key, None)
        return claim

    def seen(self, key: str) -> Seen | None:
        """The newest claim of the key; None if there was never one."""
        return self._newest_claim(key, None)

    def seen_of(self, prefix: str, before: Mapping[str, Seen]) -> dict[str, Seen]:
        """The newest claims of all keys that begin so, by one listing.

        Of one that has ended its end is read alone, so that `began_ms` and `by` are unknown; of one
        that goes on two files; none of those that had ended `before`.
        """
        found: dict[str, Seen] = {}
        unread: dict[str, _Listed] = {}
        for key, listed in self._listed_of(prefix).items():
            old = before.get(key)
            if old is not None and old.ended and old.epoch == max(listed.claims, default=0):
                found[key] = old
            else:
                unread[key] = listed
        with ThreadPoolExecutor(max(1, min(_READS_AT_ONCE, len(unread)))) as threads:
            for key, seen in zip(
                unread, threads.map(self._seen_or_none, unread, unread.values()), strict=True
            ):
                if seen is not None:
                    found[key] = seen
        return found

    def _seen_or_none(self, key: str, listed: _Listed) -> Seen | None:
        try:
            return self._newest_claim(key, listed)
        except StoreError as error:  # the others may be told
            _log.info("what was run of %s can't be told: %s", key, error.message)
            return None

    def _listed_of(self, prefix: str) -> dict[str, _Listed]:
        paths: dict[str, list[str]] = {}
        for path in self._files.list(FOLDER):
            folder, _, _ = path.removeprefix(f"{FOLDER}/").rpartition("/")
            if is_name(folder) and folder.startswith(prefix):
                paths.setdefault(folder, []).append(path)
        return {key: self.listed(key, some) for key, some in paths.items()}

    def _newest_claim(self, key: str, listed: _Listed | None) -> Seen | None:
        whole = listed is None
        for _ in range(_TRIES):
            listed = self.listed(key) if listed is None else listed
            if not listed.claims:
                return None
            try:
                return self._read(key, max(listed.claims), listed, whole=whole)
            except FileNotFoundError:
                listed = None
                continue  # its owner, or the next one, was at work between our two requests
        raise StoreError(
            f"the claims of {key} change faster than they can be read",
            hint="look for a process that begins and ends that task without pause",
        )

    def may_begin(self, key: str, seen: Seen | None) -> bool:
        """Whether a `claim` of the key could succeed, by what was just seen of it."""
        return seen is None or self._is_over(key, seen, self._now_ms(), self._clock())

    def ask_to_stop(self, key: str, epoch: int, by: str) -> bool:
        """Asks the owner of that claim to stop its task; whether it may go on until it hears that.

        False where the claim isn't the newest, or is over. The owner looks every few seconds.
        """
        seen = self.seen(key)
        if seen is None or seen.epoch != epoch or self.may_begin(key, seen):
            return False
        value: Json = {"by": by[:_BY_MAX], "at_ms": self._now_ms()}
        self.create(path_of(key, epoch, "stop"), value, uuid.uuid4().hex)
        return True

    def asked_to_stop(self, key: str, epoch: int) -> str | None:
        """Who has asked the owner of that claim to stop; None: nobody."""
        path = path_of(key, epoch, "stop")
        if not self._files.exists(path):
            return None
        try:
            return self._file(path, _StopFile).by
        except (FileNotFoundError, *UNFIT):
            return ""

    def known_keys(self) -> tuple[str, ...]:
        """All keys that there are claims of; folders of other names are nobody's."""
        return tuple(one for one in self._files.folders(FOLDER) if is_name(one))

    def forget(self, keys: Iterable[str]) -> int:
        """Deletes all files of keys whose task there will never be again; how many."""
        paths = [path for key in keys for path in self._files.list(_folder(key))]
        self._files.delete(paths)
        return len(paths)

    def drop_drafts(self) -> int:
        """Deletes what writers that were killed left half-written, a day ago or more; how many."""
        old_ms = self._now_ms() - _DRAFT_MS
        found = [
            one.path
            for one in self._files.entries(FOLDER)
            if is_draft(one.path.rpartition("/")[2]) and one.modified_ms < old_ms
        ]
        self._files.delete(found)
        return len(found)

    # For `Claim`

    def listed(self, key: str, known: Iterable[str] | None = None) -> _Listed:
        """The files of a key; one listing, or those `known` by one."""
        claims, ends, newest = set[int](), set[int](), dict[int, int]()
        paths: dict[str, int] = {}
        for path in self._files.list(_folder(key)) if known is None else known:
            match = _NAME.fullmatch(path.rpartition("/")[2])
            if match is None:
                continue
            epoch = paths[path] = int(match[1])
            if match[2] is None:
                claims.add(epoch)
            elif match[2] == "end":
                ends.add(epoch)
            elif match[2] != "stop":
                newest[epoch] = max(int(match[2]), newest.get(epoch, 0))
        return _Listed(frozenset(claims), newest, frozenset(ends), paths)

    def create(self, path: str, value: Json, token: str) -> bool:
        """Reports if that file is ours now; a put that failed may have been done all the same."""
        data = json.dumps({"format": 1, "token": token, **value}, sort_keys=True).encode()
        try:
            if self._files.create(path, data + b"\n"):
                return True
        except StoreError:
            if not self._files.exists(path):
                raise
        try:
            return self._file(path, _StoredFile).token == token
        except (FileNotFoundError, *UNFIT):
            return False

    def deleted(self, paths: Iterable[str]) -> None:
        """Deletes what claims have left; where that fails, the next claim's owner does."""
        try:
            self._files.delete(list(paths))
        except StoreError as error:
            _log.info("what an old claim has left stays for now: %s", error)

    def times(self) -> tuple[int, float]:
        """Now, by both clocks."""
        return self._now_ms(), self._clock()

    def _read(self, key: str, epoch: int, listed: _Listed, *, whole: bool) -> Seen:
        """FileNotFoundError where a file has gone since it was listed."""
        ended, number = epoch in listed.ends, listed.newest.get(epoch, 0)
        mark = f"{epoch} {number} {ended}"
        try:
            if ended:
                last = _last(self._file(path_of(key, epoch, "end"), _EndFile).last)
                began_ms, by = self._begun(key, epoch) if whole else (0, "")
                return Seen(epoch, mark, ended, began_ms=began_ms, last=last, by=by)
            claim = self._file(path_of(key, epoch), _ClaimFile)
            mark = f"{mark} {claim.token}"
            expires, progress = claim.expires_ms, TaskProgress()
            if number:
                prolonged = self._file(path_of(key, epoch, str(number)), _Prolongation)
                expires = max(expires, prolonged.expires_ms)
                progress = TaskProgress(prolonged.done, prolonged.total)
            return Seen(
                epoch,
                mark,
                ended,
                process=claim.process,
                began_ms=claim.began_ms,
                expires_ms=expires,
                progress=progress,
                last=_last(claim.last),
                deaths=claim.deaths,
                by=claim.by[:_BY_MAX],
            )
        except FileNotFoundError:
            raise
        except UNFIT:
            return Seen(epoch, mark, ended, readable=False)

    def _begun(self, key: str, epoch: int) -> tuple[int, str]:
        """When a claim that has ended was made, and who asked; nothing of one that's damaged."""
        try:
            claim = self._file(path_of(key, epoch), _ClaimFile)
            return claim.began_ms, claim.by[:_BY_MAX]
        except FileNotFoundError:
            raise
        except UNFIT:
            return 0, ""

    def _file(self, path: str, kind: type[_F]) -> _F:
        data = self._files.read_range(path, 0, _BYTES_MAX + 1)
        if len(data) > _BYTES_MAX:
            raise ValueError("too long")
        return convert(read_json(data.decode()), kind)

    def _is_over(self, key: str, seen: Seen, now_ms: int, now: float) -> bool:
        """Whether its owner can't believe any more that it's held; times are of before it was seen.

        By the owner's word, or since its process is gone, or by its wall clock; or since nothing
        has moved for as long as a claim holds, by our own monotonic clock alone. What can't be
        read was written by nobody who holds it.
        """
        if seen.ended or not seen.readable or self._gone(seen.process):
            return True
        if not now_ms - MARGIN_MS <= seen.expires_ms <= now_ms + _FUTURE_MS:
            return True
        with self._lock:
            known = self._observed.get(key)
            if known is None or known[0] != seen.mark:
                self._observed[key] = (seen.mark, self._clock())
                return False
        return now - known[1] > HOLD_MS / 1000


class Claim:
    """A task that is this process's to do for now; made by `Claims.claim`. Threads share it.

    `last` is what the end before it said, `deaths` how many claims in a row nobody ended.
    """

    def __init__(
        self, claims: Claims, key: str, epoch: int, last: Json | None, deaths: int, by: str
    ) -> None:
        self.key, self.epoch, self.last, self.deaths = key, epoch, last, deaths
        self.by = by[:_BY_MAX]
        self._claims, self._token = claims, uuid.uuid4().hex
        self._number = 0
        self._until_ms, self._until = 0, -float("inf")
        self._lost = False
        self._lock = threading.Lock()

    @property
    def held(self) -> bool:
        """Whether no other process may have followed, by this one's clocks."""
        now_ms, now = self._claims.times()
        return not self._lost and now_ms < self._until_ms and now < self._until

    def begin(self) -> bool:
        """Makes it; whether that worked. Deletes what epochs before the last two have left.

        A process that paused since it looked may make an epoch that was deleted: then there is a
        later one, which it sees now.
        """
        now_ms, now = self._claims.times()
        value: Json = {
            "process": self._claims.process,
            "began_ms": now_ms,
            "expires_ms": now_ms + HOLD_MS,
            "last": self.last,
            "deaths": self.deaths,
        }
        if self.by:
            value["by"] = self.by
        path = path_of(self.key, self.epoch)
        if not self._claims.create(path, value, self._token):
            return False
        listed = self._claims.listed(self.key)
        if max(listed.claims, default=0) != self.epoch:
            self._claims.deleted([path])
            return False
        self._until_ms, self._until = now_ms + HOLD_MS, now + HOLD_MS / 1000
        old = [one for one, epoch in listed.paths.items() if epoch < self.epoch - 1]
        self._claims.deleted(old)
        return True

    def asked_to_stop(self) -> str | None:
        """Who has asked for its task to stop; None: nobody."""
        return self._claims.asked_to_stop(self.key, self.epoch)

    def prolong(self, progress: TaskProgress) -> bool:
        """Makes it hold for two minutes from now; False once it's lost, for good.

        It counts only where it was done before the time was over until then: whoever judges the
        claim later sees it.
        """
        with self._lock:
            if not self.held:
                self._lost = True
                return False
            now_ms, now = self._claims.times()
            self._number += 1
            value: Json = {
                "expires_ms": now_ms + HOLD_MS,
                "done": progress.done,
                "total": progress.total,
            }
            path = path_of(self.key, self.epoch, str(self._number))
            made = self._claims.create(path, value, self._token)
            listed = self._claims.listed(self.key)
            if not made or max(listed.claims, default=0) != self.epoch or not self.held:
                self._lost = True
                return False
            self._until_ms, self._until = now_ms + HOLD_MS, now + HOLD_MS / 1000
            self._claims.deleted(self._others(listed, f"-{self._number}.json"))
            return True

    def end(self, last: Json | None) -> None:
        """Says how it went; `last` is kept for whoever follows. The key is free from then on."""
        with self._lock:
            self._lost = True
            self._claims.create(path_of(self.key, self.epoch, "end"), {"last": last}, self._token)
            self._claims.deleted(self._others(self._claims.listed(self.key), "-end.json"))

    def _others(self, listed: _Listed, newest: str) -> list[str]:
        """Its own files, but for the claim, that one and, until the end, what asks it to stop."""
        own = [path for path, epoch in listed.paths.items() if epoch == self.epoch]
        asks = () if newest == "-end.json" else ("-stop.json",)
        kept = (path_of(self.key, self.epoch), newest, *asks)
        return [path for path in own if not path.endswith(kept)]


def path_of(key: str, epoch: int, part: str = "") -> str:
    """The path of a claim, of its prolongation of that number, or of its `end`."""
    return f"{_folder(key)}/{epoch:020d}{'-' if part else ''}{part}.json"


def _folder(key: str) -> str:
    return f"{FOLDER}/{name_of(key)}"


def _last(said: Json | None) -> Json | None:
    """The text of an end; None if it's longer than any end, since the next claim copies it."""
    return None if len(json.dumps(said)) > _LAST_MAX else said
