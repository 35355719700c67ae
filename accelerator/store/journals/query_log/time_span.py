"""A span of time in the log."""

from __future__ import annotations

from msgspec import Struct

from accelerator.store.journals.query_log.record import TIME_MAX


class Span(Struct, frozen=True):
    """From `since_us` and before `until_us`: Unix time in microseconds."""

    since_us: int = 0
    until_us: int = TIME_MAX + 1

    def and_(self, other: Span) -> Span:
        """What is in both."""
        return Span(max(self.since_us, other.since_us), min(self.until_us, other.until_us))

    def or_(self, other: Span) -> Span:
        """The least that has both in it."""
        return Span(min(self.since_us, other.since_us), max(self.until_us, other.until_us))


ALL = Span()
