"""Bodies of appends: into a file as they come, so that memory and the event loop stay free.

Promises: a body that breaks off, is too long or comes too slowly leaves nothing behind, and what a
gateway that was killed has left goes when the next one starts; what is handed on is a whole body,
with a digest of its bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from aiohttp import web
from msgspec import Struct

from accelerator.engines.duckdb.spill import Spill
from accelerator.gateway.http.api.slots import Slots
from accelerator.gateway.workers.api.errors import RequestTimeoutError, UploadStorageError
from accelerator.iceberg.writes.errors import IngestError, IngestTooLargeError

_PREFIX = "accelerator-upload-"
_AT_ONCE, _OF_ONE = 16, 8
_PIECE_BYTES = 1024**2
_WAIT_S = 30.0
"""A client may let so long go by without a byte."""
_PACE = 8 * 1024
"""Bytes a second that come at least, on average, after that time."""
_DIGEST_BYTES = 16


class Upload(Struct, frozen=True):
    """A whole body: the file that has it, and what stands for its bytes."""

    file: Path
    digest: str


class Uploads:
    """Of one gateway; belongs to its event loop."""

    def __init__(self, bytes_max: int, folder: str | None) -> None:
        self._max, self._folder = bytes_max, folder
        self._slots = Slots("uploads", _AT_ONCE, _OF_ONE)
        with suppress(OSError):  # who uploads is told
            Spill(folder, _PREFIX).close()

    @asynccontextmanager
    async def receive(self, asked: web.Request, user: str) -> AsyncIterator[Upload]:
        """The request's body, as long as it's inside.

        Raises:
            BusyError: as many are on their way as are taken at once, or of one user.
            IngestTooLargeError: it's longer than is taken.
            IngestError: it broke off.
            RequestTimeoutError: nothing came for too long, or too little.
            UploadStorageError: it can't be written here.
        """
        if asked.content_length is not None and asked.content_length > self._max:
            raise self._too_large()
        with self._slots.occupy(user):
            with self._storing():
                own = await asyncio.to_thread(Spill, self._folder, _PREFIX)
            try:
                file = Path(own.path) / "rows"
                yield Upload(file, await self._written(asked, file))
            finally:
                await asyncio.to_thread(own.close)

    async def _written(self, asked: web.Request, file: Path) -> str:
        """Writes the body; the digest of it."""
        digest, size = hashlib.blake2b(digest_size=_DIGEST_BYTES), 0
        held = bytearray()
        with self._storing(), file.open("xb", buffering=0) as out:

            def write(data: bytes) -> None:
                digest.update(data)
                view = memoryview(data)
                while view:
                    view = view[out.write(view) or 0 :]

            began = time.monotonic()
            while data := await self._next(asked):
                size += len(data)
                if size < _PACE * (time.monotonic() - began - _WAIT_S):
                    raise RequestTimeoutError(
                        f"the body comes at less than {_PACE:,} bytes a second",
                        hint="send it again, with the same key, in larger pieces",
                    )
                if size > self._max:
                    raise self._too_large()
                held += data
                if len(held) >= _PIECE_BYTES:
                    await asyncio.to_thread(write, bytes(held))
                    held.clear()
            await asyncio.to_thread(write, bytes(held))
        return digest.hexdigest()

    async def _next(self, asked: web.Request) -> bytes:
        """The next bytes; none at the end."""
        try:
            async with asyncio.timeout(_WAIT_S):
                return await asked.content.readany()
        except TimeoutError:
            raise RequestTimeoutError(
                f"nothing came for {_WAIT_S:.0f} seconds", hint="send it again, with the same key"
            ) from None
        except (web.RequestPayloadError, ConnectionError) as error:
            raise IngestError(
                f"the upload broke off: {error}", hint="send it again, with the same key"
            ) from error

    @contextmanager
    def _storing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise UploadStorageError(
                f"the gateway can't keep the rows while they come: {why}",
                hint="check the folder that the setting upload_folder names, and its space",
            ) from error

    def _too_large(self) -> IngestTooLargeError:
        return IngestTooLargeError(
            f"an append is of {self._max:,} bytes at most",
            hint="send the rows in several appends, each with a key of its own; or raise the"
            " setting upload_bytes_max",
        )
