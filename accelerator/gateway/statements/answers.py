"""What answers a statement: an answer that is kept and still true, or being made; or a worker.

An answer is kept where the worker says which tables are under it and that none of them has moved
while it ran. It's given again only to who may read each of these tables, as long as none has moved.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from accelerator.common.config.config import Config
from accelerator.common.lru_cache import Recent, text_weight
from accelerator.common.records.as_dict import as_dict
from accelerator.errors import AcceleratorError
from accelerator.gateway.access.grants import Object, UserAccess
from accelerator.gateway.access.rulings import Rulings
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.statements.answer_cache import AnswerCache, AnswerKey, CacheEntry
from accelerator.gateway.statements.statement import Statement, WorkerError
from accelerator.gateway.table_versions import Name, Readers, versions
from accelerator.gateway.trino.errors import TrinoError
from accelerator.gateway.trino.lasting_text import lasting_text
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.nodes import Request
from accelerator.gateway.trino.session_properties import Wishes
from accelerator.gateway.workers.messages import Header
from accelerator.gateway.workers.pool.pool import Frame, Pool
from accelerator.iceberg.catalogs.choose import are_files
from accelerator.session.opening import readers_of
from rewrite.client import TRINO
from rewrite.text.first_look import first_word

_log = logging.getLogger("accelerator.gateway")
_AHEAD = 2
"""Frames of an answer too large to be kept that are fetched before they're asked for."""
_ASKING = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN", "DESCRIBE", "DESC"})
_TEXTS_MAX = 1 << 22
LONG = 8 * 1024
"""Longer statements are read in a process of their own: a megabyte takes a second of one, in which
the interpreter runs nothing else.
"""

Frames = AsyncGenerator[Frame, None]


class Answering:
    """Of one gateway; belongs to its event loop."""

    def __init__(self, config: Config, settings: GatewaySettings, pool: Pool) -> None:
        self._config, self._pool = config, pool
        self.cache = AnswerCache(
            settings.cache_bytes,
            settings.cache_disk_bytes,
            settings.cache_folder,
            settings.cache_answer_bytes_max,
        )
        self._words: Recent[str] = Recent(2048, text_weight, _TEXTS_MAX)
        self._flights: dict[AnswerKey, asyncio.Future[bool]] = {}
        self._readers: Readers | None = None

    def close(self) -> None:
        """Forgets what is kept."""
        self.cache.close()

    async def frames(
        self,
        statement: Statement,
        asked: Request,
        key: AnswerKey | None,
        job: Callable[[], Header],
    ) -> Frames:
        """The frames of its answer; WorkerError with what a worker says is wrong.

        `key` is what `key` gives for it, `job` makes what a worker is told.
        """
        if key is None:
            async with aclosing(self._worker_frames(statement, asked, job())) as frames:
                async for frame in frames:
                    yield frame
            return
        while True:
            entry = await self.cached(key, statement)
            if entry is not None:
                statement.figures.cached, statement.figures.metrics = True, entry.metrics
                for frame in _frames_of(entry):
                    yield frame
                return
            flight = self._flights.get(key)
            # One that has landed is no reason to look again: what it kept has gone since.
            if flight is None or flight.done() or not await asyncio.shield(flight):
                break
        self.cache.misses += 1
        async with aclosing(self._fetched(key, statement, asked, job())) as frames:
            async for frame in frames:
                yield frame

    async def key(
        self, statement: Statement, asked: Request, wishes: Wishes, access: UserAccess
    ) -> AnswerKey | None:
        """What names its answer; None where it isn't to be kept."""
        is_cached = wishes.cache and self.cache.is_on and wishes.dialect == TRINO
        if not isinstance(asked, nodes.RunStatement) or not is_cached:
            return None
        words = self._words.get(asked.sql)
        if words is None:
            if len(asked.sql) > LONG:
                return None  # `read` has found its words, and there was no room for them
            words = lasting_text(asked.sql)
            self._words.put(asked.sql, words)
        if not words:
            return None
        client = statement.client
        settings = f"{words} accelerate={wishes.accelerate}"
        place = client.catalog, client.schema, client.time_zone
        return AnswerKey(settings, *place, access.fingerprint, access)

    async def cached(self, key: AnswerKey, statement: Statement) -> CacheEntry | None:
        """The answer that is kept, if it's still true and its tables may be read."""
        entry = self.cache.get(key)
        if entry is None:
            return None
        access = key.access
        if not all(access.may("read", Object.table(name)) for name in entry.versions):
            return None
        try:
            now = await self._versions(list(entry.versions))
        except AcceleratorError as error:
            _log.warning("whether the answer to %s is true isn't known: %s", statement.id, error)
            return None
        if now != entry.versions:
            self.cache.stale += 1
            self.cache.drop(key)
            return None
        self.cache.hits += 1
        return entry

    async def read(self, statement: Statement, login: str) -> Request:
        """Reads a long text in a process of its own; WorkerError if it's wrong.

        `login` is the user whose turn it takes.
        """
        client = as_dict(statement.client)
        job: Header = {"text": statement.sql, "client": client, "login": login}
        async with aclosing(self._pool.run(job, again=True, is_long=True)) as frames:
            async for frame in frames:
                if frame.kind != "rows":
                    raise WorkerError(TrinoError.from_dict(frame.header.get("error")))
                asked = nodes.from_dict(frame.header["read"])
                if isinstance(asked, nodes.RunStatement):
                    self._words.put(asked.sql, str(frame.header["words"]))
                return asked
        raise AssertionError("a worker ended without an answer")

    async def _versions(self, names: list[Name]) -> Mapping[Name, str] | None:
        if self._readers is None:
            self._readers = await asyncio.to_thread(readers_of, self._config)
        if are_files(self._readers):
            return versions(self._readers, names)
        return await asyncio.to_thread(versions, self._readers, names)

    async def _worker_frames(self, statement: Statement, asked: Request, job: Header) -> Frames:
        """Yields the frames of a worker's answer."""
        again = not isinstance(asked, nodes.RunStatement) or not _changes(asked.sql)
        running = self._pool.run(
            job, again=again, taken=statement.assign, is_long=statement.is_long
        )
        async with aclosing(running) as frames:
            async for frame in frames:
                if "rulings" in frame.header:
                    statement.figures.rulings = Rulings.from_dict(frame.header["rulings"])
                if frame.kind != "rows":
                    raise WorkerError(TrinoError.from_dict(frame.header.get("error")))
                yield frame

    async def _fetched(
        self, key: AnswerKey, statement: Statement, asked: Request, job: Header
    ) -> Frames:
        """The same, kept; others who ask the same meanwhile wait until it's known whether it is."""
        flight: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        ahead = self._flights.get(key)
        if ahead is None or ahead.done():
            self._flights[key] = flight
        fetching = _Fetching(self, key, flight, statement)
        fetching.begin(self._worker_frames(statement, asked, job))
        try:
            async for frame in fetching.frames():
                yield frame
        finally:
            fetching.end()
            if not flight.done():
                flight.set_result(False)
            if self._flights.get(key) is flight:
                del self._flights[key]


class _Fetching:
    """An answer that is fetched without a wait for its client, as long as it may be kept."""

    def __init__(
        self,
        answering: Answering,
        key: AnswerKey,
        flight: asyncio.Future[bool],
        statement: Statement,
    ) -> None:
        self._answering, self._key, self._flight = answering, key, flight
        self._statement = statement
        self._given: asyncio.Queue[tuple[Frame, bool] | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(_AHEAD)
        self._task: asyncio.Task[None] | None = None

    def begin(self, source: Frames) -> None:
        """Starts fetching."""
        self._task = asyncio.create_task(self._run(source))
        self._task.add_done_callback(lambda _done: self._given.put_nowait(None))

    def end(self) -> None:
        """Fetches no more."""
        self._statement.ahead_bytes = 0
        if self._task is not None:
            self._task.cancel()

    async def _run(self, source: Frames) -> None:
        gathered: list[Frame] = []
        size, bounded = 0, False
        async with aclosing(source) as frames:
            async for frame in frames:
                size += len(frame.body)
                bounded = bounded or size > self._answering.cache.answer_max
                if bounded:  # it isn't kept: no more is fetched than its client reads
                    self._landed(kept=False)
                    gathered.clear()
                    await self._room.acquire()
                else:
                    gathered.append(frame)
                self._statement.ahead_bytes += len(frame.body)
                self._given.put_nowait((frame, bounded))
                if frame.is_last:
                    self._landed(kept=bool(gathered) and self._keep(gathered))

    async def frames(self) -> Frames:
        """What was fetched, in order; raises what ended the fetching."""
        while True:
            found = await self._given.get()
            if found is None:
                if self._task is not None:
                    await self._task
                return
            frame, bounded = found
            yield frame
            self._statement.ahead_bytes -= len(frame.body)
            if bounded:
                self._room.release()

    def _landed(self, *, kept: bool) -> None:
        if not self._flight.done():
            self._flight.set_result(kept)

    def _keep(self, frames: list[Frame]) -> bool:
        last = frames[-1].header
        told = last.get("versions")
        if not told:
            return False
        found = {tuple(name): str(version) for name, version in told}
        about = {k: v for k, v in frames[0].header.items() if k in ("names", "update_type")}
        bodies = tuple(frame.body for frame in frames)
        metrics = last["metrics"] | {"made_by": self._statement.id}
        entry = CacheEntry(
            bodies, found, about, metrics, sum(f.header.get("rows", 0) for f in frames)
        )
        self._answering.cache.put(self._key, entry)
        return True


def _frames_of(entry: CacheEntry) -> list[Frame]:
    found = []
    for number, body in enumerate(entry.bodies):
        header: dict[str, Any] = {}
        if number == 0:
            header |= entry.about
        if number == len(entry.bodies) - 1:
            header["metrics"] = entry.metrics
            header["tables"] = list(entry.versions)
        found.append(Frame("rows", header, body))
    return found


def _changes(sql: str) -> bool:
    """Whether it may change something: whatever doesn't begin as a query does."""
    return first_word(sql).text not in _ASKING
