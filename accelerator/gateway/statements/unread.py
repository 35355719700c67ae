"""Bounds what waits for clients: rows that nobody has fetched yet, and long statements' texts.

Promises: one client holds half of what all may at most; a statement whose client has just asked for
a page isn't given up; the client of one that was gets an error, never fewer rows.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from accelerator.errors import AcceleratorError
from accelerator.gateway.statements.statement import Statement

_IDLE_S = 1.0
"""A client that asks for page after page isn't away for so long."""


class UnreadError(AcceleratorError):
    """The statement's rows waited too long, while too many waited."""

    code = "results_unread"

    def __init__(self) -> None:
        super().__init__(
            "The statement was given up: its client didn't fetch its rows, and too much waits.",
            hint="Fetch the rows of a statement, or cancel it, before asking more; the settings"
            " unread_bytes_max and unread_max allow more",
        )


class Unread:
    """Of one gateway: looks at its statements whenever `bound` is called."""

    def __init__(
        self,
        statements: Mapping[str, Statement],
        bytes_max: int,
        count_max: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._statements, self._clock = statements, clock
        self._bytes_max, self._count_max = bytes_max, count_max
        self.given_up = 0

    def bound(self) -> None:
        """Gives statements up, those first whose clients have been away longest."""
        of_users: defaultdict[str, list[Statement]] = defaultdict(list)
        for statement in self._statements.values():
            if statement.is_waiting:
                of_users[statement.principal or statement.user.name].append(statement)
        for own in of_users.values():
            own.sort(key=lambda one: one.asked)
            self._bound(own, self._bytes_max // 2, max(1, self._count_max // 2))
        # Who holds most gives up first.
        most = sorted(of_users.values(), key=lambda own: -sum(one.held_bytes for one in own))
        everybody = [one for own in most for one in own]
        self._bound(everybody, self._bytes_max, self._count_max)

    def _bound(self, statements: Sequence[Statement], bytes_max: int, count_max: int) -> None:
        held = [one for one in statements if not one.is_given_up]
        size, count = sum(one.held_bytes for one in held), len(held)
        if size <= bytes_max and count <= count_max:
            return
        now = self._clock()
        for one in held:
            if size <= bytes_max and count <= count_max:
                return
            if one.waiting or now - one.asked < _IDLE_S:
                continue
            size, count = size - one.held_bytes, count - 1
            one.give_up(UnreadError())
            self.given_up += 1
