"""One run of a service's task: how far it is, how it went, and asking it to stop."""

from __future__ import annotations

import time
from collections.abc import Callable

from accelerator.client.errors import UnreachableError
from accelerator.client.http import Http, Json, part

_POLL_S, _POLL_MAX_S = 0.1, 2.0


class Run:
    """A run; `info` is what the API told of it last, an object of its document."""

    def __init__(self, http: Http, info: Json) -> None:
        self._http, self.info = http, info

    def __repr__(self) -> str:
        return f"Run({self.id}: {self.info['action']} of {self.info['of']}, {self.state})"

    @property
    def id(self) -> str:
        """Its id, by which it's found again."""
        return str(self.info["id"])

    @property
    def state(self) -> str:
        """`running`, `done`, `partial`, `failed`, `cancelled`, `lost` or `not_due`."""
        return str(self.info["state"])

    @property
    def error(self) -> str | None:
        """Why it failed."""
        found: str | None = self.info["error"]
        return found

    def refresh(self) -> Run:
        """Asks how it is now."""
        self.info = self._http.get(f"/runs/{part(self.id)}")
        return self

    def wait(
        self, progress: Callable[[int, int], None] | None = None, *, timeout_s: float | None = None
    ) -> Run:
        """Waits until it has ended, however it went; UnreachableError where that takes longer.

        `progress` is told how many units of how many are done; of 0 isn't known yet.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        pause, told = _POLL_S, None
        while self.state == "running":
            now = self.info["done"], self.info["total"]
            if progress is not None and now != told:
                progress(*now)
                told = now
            if until is not None and time.monotonic() >= until:
                raise UnreachableError(
                    f"the run {self.id} goes on after {timeout_s} s", hint="wait again"
                )
            time.sleep(pause)
            pause = min(1.5 * pause, _POLL_MAX_S)
            self.refresh()
        return self

    def cancel(self) -> Run:
        """Asks it to stop, in whatever process it is; it may go on for some seconds."""
        self.info = self._http.post(f"/runs/{part(self.id)}/cancel")
        return self
