"""A worker's messages come whole, however its socket cuts them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.gateway.workers import messages
from accelerator.gateway.workers.pool import socket_link
from accelerator.gateway.workers.pool.socket_link import SocketLink

_HEADERS = st.fixed_dictionaries({"id": st.integers(0, 9), "text": st.text(max_size=30)})
_SIZES = st.sampled_from([0, 1, 7, 100, 65_000, 65_536, 70_000, 200_000])


class _Transport:
    """What a link closes."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


def _linked() -> tuple[SocketLink, list[tuple[Any, bytes]], _Transport]:
    found: list[tuple[Any, bytes]] = []
    made = SocketLink(lambda header, body: found.append((header, bytes(body))), lambda: None)
    transport = _Transport()
    made.connection_made(transport)  # type: ignore[arg-type]
    return made, found, transport


def _feed(made: SocketLink, data: bytes, sizes: list[int]) -> None:
    """As an event loop does: so many bytes at most into the buffer that it's given."""
    at = number = 0
    while at < len(data):
        room = made.get_buffer(-1)
        assert len(room)
        count = min(len(room), len(data) - at, sizes[number % len(sizes)])
        room[:count] = data[at : at + count]
        made.buffer_updated(count)
        at, number = at + count, number + 1


@settings(max_examples=150, deadline=None)
@given(
    given_=st.lists(st.tuples(_HEADERS, _SIZES), max_size=5),
    sizes=st.lists(st.sampled_from([1, 3, 12, 13, 1000, 65_536, 10**6]), min_size=1, max_size=6),
)
def test_messages_come_whole_and_in_order(given_: Any, sizes: list[int]) -> None:
    sizes = [max(one, 64) for one in sizes] if any(size > 1000 for _, size in given_) else sizes
    sent = [(head, bytes([n + 1]) * size) for n, (head, size) in enumerate(given_)]
    made, found, transport = _linked()
    data = b"".join(b"".join(map(bytes, messages.packed(*one))) for one in sent)
    _feed(made, data, sizes)
    assert found == sent and not transport.closed


def test_a_header_longer_than_what_is_read_at_once() -> None:
    made, found, _ = _linked()
    long = {"id": 1, "text": "x" * (3 * socket_link._STAGE_BYTES)}
    data = b"".join(map(bytes, messages.packed(long, b"ab"))) * 2
    _feed(made, data, [10_000])
    assert found == [(long, b"ab")] * 2
    assert len(made._stage) == socket_link._STAGE_BYTES


@pytest.mark.parametrize(
    "data",
    [
        messages._LENGTHS.pack(messages.HEADER_MAX + 1, 0),
        messages._LENGTHS.pack(2, messages.BODY_MAX + 1),
        messages._LENGTHS.pack(2, 0) + b"[]",
        messages._LENGTHS.pack(3, 0) + b"{x}",
    ],
)
def test_what_is_no_message_closes_the_socket(data: bytes) -> None:
    made, found, transport = _linked()
    _feed(made, data, [1000])
    assert transport.closed and not found
