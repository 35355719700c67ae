"""Failures of the layer itself, which never reach the user: each is counted, logged and shown."""

from __future__ import annotations

import logging

from rewrite.reason import Declined

_log = logging.getLogger("accelerator")


def declined_for(code: str, error: Exception) -> Declined:
    """The error as a reason, in a line."""
    return Declined(code, f"{type(error).__name__}: {error}".splitlines()[0])


class Failures:
    """Of one session; `counts` are by code."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def count(self, code: str, error: Exception) -> Declined:
        """One more; as a reason, to be shown beside the plain answer."""
        declined = declined_for(code, error)
        self.count_declined(declined)
        return declined

    def count_declined(self, declined: Declined) -> None:
        """Counts and logs a reason for which the plain statement answers."""
        self.counts[declined.code] = self.counts.get(declined.code, 0) + 1
        _log.warning("fallback %s: %s", declined.code, declined.sentence)
