"""The policy's rulings about one statement, for the audit log.

The worker collects them by `noting` while it answers; the checks in that thread report them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct, convert, field

from accelerator.gateway.access.grants import Object

_RULINGS_MAX = 1_000

Pair = tuple[str, str]
"""An action and its object, as the audit log writes them."""


class Rulings(Struct):
    """The needs that were allowed, each once and in order, and the one that was refused."""

    allowed: dict[Pair, None] = field(default_factory=dict)
    refused: Pair | None = None
    more: int = 0
    """Needs that were allowed beyond those that are listed."""

    def to_dict(self) -> dict[str, object]:
        """JSON values, for the gateway."""
        refused = None if self.refused is None else list(self.refused)
        return {"allowed": [list(one) for one in self.allowed], "refused": refused} | (
            {"more": self.more} if self.more else {}
        )

    @classmethod
    def from_dict(cls, given: object) -> Rulings:
        """The inverse of `to_dict`; nothing was ruled if it's something else."""
        try:
            read = convert(given, _RulingsMessage)
        except ValueError:
            return cls()
        return cls(dict.fromkeys(read.allowed), read.refused, read.more)


class _RulingsMessage(Struct, frozen=True):
    allowed: tuple[Pair, ...]
    refused: Pair | None
    more: int = 0


_open: ContextVar[Rulings | None] = ContextVar("rulings", default=None)


@contextmanager
def noting(rulings: Rulings) -> Iterator[None]:
    """Collects what is ruled inside, in this thread."""
    token = _open.set(rulings)
    try:
        yield
    finally:
        _open.reset(token)


def note_allowed(action: str, object: Object) -> None:
    """Notes a need that the policy allows."""
    rulings = _open.get()
    if rulings is None:
        return
    pair = action, str(object)
    if pair in rulings.allowed:
        return
    if len(rulings.allowed) >= _RULINGS_MAX:
        rulings.more += 1
    else:
        rulings.allowed[pair] = None


def note_refused(action: str, object: Object) -> None:
    """Notes the need for which a statement is refused, under the name in its text."""
    rulings = _open.get()
    if rulings is not None:
        rulings.refused = action, str(object)
