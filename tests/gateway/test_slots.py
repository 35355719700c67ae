"""What lasts has slots: some for all, a share for each user, and a least pace."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from accelerator.gateway.http.api import uploads
from accelerator.gateway.http.api.slots import Slots
from accelerator.gateway.http.api.uploads import Uploads
from accelerator.gateway.workers.api.errors import BusyError, RequestTimeoutError


def test_one_user_leaves_slots_for_others():
    slots = Slots("uploads", 3, 2)
    with ExitStack() as ann:
        ann.enter_context(slots.occupy("ann"))
        ann.enter_context(slots.occupy("ann"))
        with pytest.raises(BusyError, match="2 uploads of the user go on"), slots.occupy("ann"):
            pass
        ann.enter_context(slots.occupy("bob"))
        with pytest.raises(BusyError, match="3 uploads go on"), slots.occupy("eve"):
            pass
    with slots.occupy("ann"), slots.occupy("ann"), slots.occupy("eve"):
        pass


class _Body:
    """Gives one byte whenever it's asked, and lets time go by."""

    def __init__(self, clock, piece, seconds):
        self._clock, self._piece, self._seconds, self.read = clock, piece, seconds, 0

    async def readany(self):
        self._clock[0] += self._seconds
        self.read += 1
        return self._piece if self.read < 100 else b""


@pytest.mark.parametrize(("piece", "is_slow"), [(b"x", True), (b"x" * 200_000, False)])
def test_a_body_that_trickles_is_given_up(tmp_path, monkeypatch, piece, is_slow):
    clock = [1000.0]
    monkeypatch.setattr(uploads, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    body = _Body(clock, piece, 10.0)

    async def send():
        asked = SimpleNamespace(content_length=None, content=body)
        async with Uploads(10**9, str(tmp_path)).receive(asked, "ann") as upload:
            return upload.file.stat().st_size

    if is_slow:
        with pytest.raises(RequestTimeoutError, match="less than 8,192 bytes a second"):
            asyncio.run(send())
        assert body.read == 4, "half a minute is given"
    else:
        assert asyncio.run(send()) == 99 * len(piece)
    assert not list(tmp_path.iterdir())
