"""A statement from its POST to its last page: what runs it, what its client has read, when it ends.

Promises: the client's pages come in order, each may be asked again until the next one is; a client
that reads slowly makes the worker wait; one that goes away makes the statement end.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from accelerator.errors import AcceleratorError, CancelledError
from accelerator.gateway.access.login.users import User
from accelerator.gateway.access.rulings import Rulings
from accelerator.gateway.trino.errors import TrinoError, trino_error
from accelerator.gateway.trino.requests.nodes import ClientSession
from accelerator.gateway.trino.response import State

_AHEAD = 2
"""Pages that are made before the client asks for them."""
_WHY_MAX = 1000
_SHORT_BYTES = 64 * 1024
"""Texts of fewer bytes are bounded by the number of statements that may wait for their turn."""


class Page(Struct, frozen=True):
    """Some rows as JSON, or as a stream of Arrow's; `data` None where a statement has none.

    The last one has `is_last`.
    """

    data: bytes | None = None
    rows: int = 0
    is_last: bool = False

    @property
    def size(self) -> int:
        """Bytes of its rows."""
        return len(self.data or b"")


class Figures(Struct):
    """What is known of it so far; times in seconds since the epoch."""

    state: State = "QUEUED"
    created: float = field(default_factory=time.time)
    began: float | None = None
    ended: float | None = None
    rows: int = 0
    bytes: int = 0
    cached: bool = False
    activity: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    worker: int = 0
    """The process that runs it, or has; 0: none has yet."""
    number: int = 0
    """Its number there."""
    tables: list[tuple[str, ...]] = field(default_factory=list)
    rulings: Rulings = field(default_factory=Rulings)
    """What the policy ruled about it, as far as a worker has reported it."""

    @property
    def queued_ms(self) -> int:
        """How long it has waited for its turn."""
        return int(((self.began or self.ended or time.time()) - self.created) * 1000)

    @property
    def elapsed_ms(self) -> int:
        """How long ago it came, or how long it took."""
        return int(self.took_ms)

    @property
    def took_ms(self) -> float:
        """The same, to a microsecond."""
        return round(max(0.0, (self.ended or time.time()) - self.created) * 1000, 3)


Pages = AsyncGenerator[Page, None]


class Statement:
    """One statement of a client; belongs to the event loop.

    `make` gives its pages; it may set `columns`, `headers`, `update_type` before the first one.
    """

    def __init__(
        self,
        sql: str,
        client: ClientSession,
        user: User,
        principal: str,
        number: int,
        address: str = "",
        *,
        arrow: bool = False,
    ) -> None:
        self.arrow = arrow
        """Whether its pages are Arrow's, not JSON."""
        self.names: list[str] | None = None
        """What its columns are called, where Arrow's schema has other names."""
        self.id = statement_id(number)
        self.slug = secrets.token_urlsafe(24)
        self.sql, self.client, self.address = sql, client, address
        self.runs = sql
        """What runs for it: of EXECUTE the prepared statement with its values."""
        self.is_long = False
        """Whether its text is so long that a process reads it alone."""
        self.user, self.principal = user, principal
        self.enabled: frozenset[str] | None = None
        """The user's roles that count for it; None: all."""
        self.figures = Figures()
        self.columns: list[dict[str, Any]] | None = None
        self.headers: list[tuple[str, str]] = []
        self.update_type: str | None = None
        self.error: TrinoError | None = None
        self.asked = time.monotonic()
        self.waiting = 0
        self._token, self._given = 0, Page()
        self._pages: asyncio.Queue[Page] = asyncio.Queue(_AHEAD)
        self._reading = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._finished: list[Callable[[Statement], None]] = []
        self._killed: AcceleratorError | None = None
        self._held = 0
        self.ahead_bytes = 0
        """Rows that were fetched from a worker before a page was made of them."""
        self.is_given_up = False

    def begin(self, pages: Pages, finished: Callable[[Statement], None]) -> None:
        """Starts making its pages; `finished` is told once, when it's over in whatever way."""
        self._finished.append(finished)
        self._task = asyncio.create_task(self._make(pages))
        self._task.add_done_callback(self._finish_pages)

    def end(self, page: Page, finished: Callable[[Statement], None]) -> None:
        """It has this one page, which is the last."""
        self._finished.append(finished)
        self.figures.rows, self.figures.bytes = page.rows, page.size
        self._held += page.size
        self._pages.put_nowait(page)
        self._end("FINISHED")
        self._drop_texts()

    async def _make(self, pages: Pages) -> None:
        async with aclosing(pages):
            async for page in pages:
                self.figures.rows += page.rows
                self.figures.bytes += page.size
                self._held += page.size
                if page.is_last:
                    self._end("FINISHED")
                await self._pages.put(page)
                if page.is_last:
                    return
        self._end("FINISHED")
        await self._pages.put(Page(is_last=True))

    def _finish_pages(self, made: asyncio.Task[None]) -> None:
        """Whatever failed, the client is told, and the gateway goes on."""
        if made.cancelled():
            self._failed(self._killed or CancelledError("the statement was cancelled"))
        else:
            error = made.exception()
            if error is not None:
                self._failed(error)
        self._task = None  # an error's frames hold the text, too
        self._drop_texts()

    def _failed(self, error: BaseException) -> None:
        self.error = error.told if isinstance(error, WorkerError) else trino_error(error)
        self._end("FAILED")
        while not self._pages.empty():
            self._pages.get_nowait()
        self._held = self._given.size
        self._pages.put_nowait(Page(is_last=True))

    def _drop_texts(self) -> None:
        """Frees its texts; the records of the statement have been made."""
        self.sql = self.runs = ""
        self.client = replace(self.client, prepared={}, properties={})

    def _end(self, state: State) -> None:
        if self.figures.ended is None:
            self.figures.ended = time.time()
            self.figures.state = state
            for finished in self._finished:
                finished(self)

    def belongs_to(self, slug: str, principal: str | None) -> bool:
        """Whether it's the slug that its client was given, and the one who began it asks."""
        known = hmac.compare_digest(slug.encode("utf-8", "replace"), self.slug.encode())
        return known and principal in (None, self.principal)

    def assign(self, worker: int, number: int) -> None:
        """The process of that id runs it now, under that number."""
        if self.figures.ended is None:
            self.figures.worker, self.figures.number = worker, number
            self.figures.state = "RUNNING"

    @property
    def is_read(self) -> bool:
        """Whether its last page was given away."""
        return self._given.is_last

    @property
    def is_over(self) -> bool:
        """Whether it has ended; its last pages may not have been read yet."""
        return self.figures.ended is not None

    def cancel(self) -> None:
        """Ends it, if it hasn't."""
        if self._task is not None and not self._task.done():
            self._task.cancel()

    def kill(self, message: str = "") -> bool:
        """Ends it so that its client is told why; whether it hadn't ended."""
        if self.is_over or self._task is None or self._task.done():
            return False
        self._killed = KilledError(message)
        self._task.cancel()
        return True

    @property
    def held_bytes(self) -> int:
        """Bytes in memory that wait for its client: its rows, its headers and its texts.

        The client may ask for the last page again.
        """
        return self._held + self.ahead_bytes + self._text_bytes

    @property
    def _text_bytes(self) -> int:
        """The size in memory, where one emoji has each character take four bytes."""
        client = self.client
        texts = [self.sql, *client.prepared.values(), *client.properties.values()]
        if self.runs is not self.sql:
            texts.append(self.runs)
        texts += [value for _, value in self.headers]
        return sum(sys.getsizeof(text) for text in texts if text)

    @property
    def is_waiting(self) -> bool:
        """Returns whether rows, or a long text, wait for its client."""
        has_rows = self._held + self.ahead_bytes > 0
        return self.is_over or has_rows or self._text_bytes > _SHORT_BYTES

    def give_up(self, error: AcceleratorError) -> None:
        """Ends it, whether or not all of its pages are made: its client gets the error."""
        self.is_given_up = True
        self._given = Page(is_last=self._given.is_last)  # whoever asks again hears of it
        if self._task is not None and not self._task.done():
            self._killed = error
            self._task.cancel()
        else:
            self._failed(error)

    async def page(self, token: int, wait_s: float) -> tuple[Page | None, int]:
        """The page of that number, and the next one's; None where there is none after that wait.

        NoSuchPageError for a page that isn't the last given one nor the one behind it.
        """
        self.waiting += 1
        try:
            async with self._reading:  # a client may ask twice at once
                if token == self._token and token > 0:
                    return self._given, token
                if token != self._token + 1:
                    raise NoSuchPageError(
                        f"page {token} isn't there any more", hint="read pages in their order"
                    )
                page = await self._next(wait_s)
                if page is not None:
                    self._held -= self._given.size
                    self._token, self._given = token, page
                return page, self._token
        finally:
            self.waiting -= 1
            self.asked = time.monotonic()

    async def _next(self, wait_s: float) -> Page | None:
        if not self._pages.empty():
            return self._pages.get_nowait()
        try:
            return await asyncio.wait_for(self._pages.get(), wait_s)
        except TimeoutError:
            return None

    @property
    def next_token(self) -> int:
        """The number of the page that hasn't been given yet."""
        return self._token + 1


class NoSuchPageError(AcceleratorError):
    """A page was asked for that was given before, or would come later."""

    code = "page_not_there"


class KilledError(AcceleratorError):
    """Somebody has ended the statement by its id, for a reason that they may have given."""

    code = "killed"

    def __init__(self, message: str = "") -> None:
        why = f"Message: {message[:_WHY_MAX]}" if message else "No message provided."
        super().__init__(f"Query killed. {why}")


class WorkerError(AcceleratorError):
    """What a worker has told of a statement."""

    code = "engine_failed"

    def __init__(self, error: TrinoError) -> None:
        super().__init__(error.message, hint=error.hint)
        self.told = error


def statement_id(number: int) -> str:
    """As Trino writes them: when, and which one since the gateway's start.

    >>> len(statement_id(7).split("_"))
    4
    """
    now = datetime.now(UTC)
    return f"{now:%Y%m%d_%H%M%S}_{number % 100_000:05d}_{_RUN}"


_RUN = "".join(secrets.choice("abcdefghijkmnpqrstuvwxyz23456789") for _ in range(5))
