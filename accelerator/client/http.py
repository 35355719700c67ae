"""Requests to the gateway: who asks, what is tried again, and errors as exceptions.

Promise: only what may be repeated is: what reads, appends, which have a key, and what the gateway
refused before it had begun it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from typing import IO, Any
from urllib.parse import quote

import requests

from accelerator.client.errors import ApiError, UnreachableError

BASE = "/api/v1"
Json = dict[str, Any]
_TRIES = 5
_WAIT_S, _WAIT_MAX_S = 0.1, 5.0
_AGAIN = (429, 502, 503, 504)
_AGAIN_CODES = ("append_conflict",)
_NOT_BEGUN = frozenset(
    ("gateway_busy", "queue_full", "queue_timeout", "rate_limited", "too_many_attempts")
)
"""Codes of a gateway that is busy and has done nothing yet: any request may be sent again."""
_TEXT_MAX = 300
_DIGITS = 6
_PIECE_BYTES = 1024**2
_BROKEN = (
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
    requests.exceptions.ContentDecodingError,
)


class Http:
    """The requests of one client. A session isn't for several threads at once."""

    def __init__(
        self,
        url: str,
        user: str,
        password: str,
        verify: bool | str,
        timeout_s: float,
        busy_wait_s: float,
    ) -> None:
        self.url = url.rstrip("/")
        self._session = requests.Session()
        self._session.verify = verify
        self._session.headers["X-Trino-User"] = user
        if password:
            self._session.auth = (user, password)
        self._timeout_s, self._busy_wait_s = timeout_s, busy_wait_s

    def close(self) -> None:
        """Closes its connections."""
        self._session.close()

    def get(self, path: str, **query: Any) -> Json:
        """Reads the JSON at the path; parameters that are None are skipped."""
        given = {key: value for key, value in query.items() if value is not None}
        return self._answer("GET", path, again=True, params=given)

    def items(self, path: str, **query: Any) -> Iterator[Json]:
        """All items of a list, part by part."""
        cursor = None
        while True:
            found = self.get(path, cursor=cursor, **query)
            yield from found["items"]
            cursor = found.get("next")
            if cursor is None:
                return

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Json:
        """Asks for something to be done; once, unless the gateway is too busy to begin it."""
        return self._answer("POST", path, again=False, json=body)

    def upload(self, path: str, file: IO[bytes], headers: Mapping[str, str]) -> Json:
        """Sends a file from its beginning, again where that may help: it has a key."""
        return self._answer("POST", path, again=True, data=file, headers=dict(headers))

    def stream(self, path: str, body: Mapping[str, Any], file: IO[bytes]) -> None:
        """Writes what is answered into the file; it's whole when this returns.

        ApiError with what the gateway says, UnreachableError where the answer broke off.
        """
        self._answer("POST", path, again=False, into=file, json=body)

    def _answer(
        self, method: str, path: str, *, again: bool, into: IO[bytes] | None = None, **given: Any
    ) -> Json:
        """The answer's body; with `into` that file gets it instead."""
        file = given.get("data")
        tries = _Tries(self._busy_wait_s, again=again)
        while True:
            if file is not None:
                file.seek(0)
            try:
                with self._session.request(
                    method,
                    f"{self.url}{BASE}{path}",
                    timeout=self._timeout_s,
                    allow_redirects=False,
                    stream=into is not None,
                    **given,
                ) as response:
                    if into is not None and response.status_code == 200:
                        for piece in response.iter_content(_PIECE_BYTES):
                            into.write(piece)
                        return {}
                    found = _read(response)
            except _BROKEN as error:
                hint = "check that it runs, its address, and verify where it has TLS"
                unreachable = UnreachableError(
                    f"the gateway at {self.url} doesn't answer, or broke off: {error}",
                    hint=hint if into is None else f"ask again, or {hint}",
                )
                unreachable.__cause__ = error
                tries.wait(unreachable)
            except requests.RequestException as error:
                raise UnreachableError(
                    f"the gateway at {self.url} can't be asked: {error}", hint="check its address"
                ) from error
            else:
                if not isinstance(found, ApiError):
                    return found
                tries.wait(found, response)


class _Tries:
    """The tries of one request; `again`: it may be repeated though the gateway has begun it.

    A busy gateway is waited for as long as `busy_wait_s`, other faults for a few tries.
    """

    def __init__(self, busy_wait_s: float, *, again: bool) -> None:
        self._again, self._made, self._failed = again, 0, 0
        self._until = time.monotonic() + busy_wait_s

    def wait(
        self, error: ApiError | UnreachableError, response: requests.Response | None = None
    ) -> None:
        """Waits until the request is sent again; raises the error if it isn't.

        The wait is never shorter than the gateway's `Retry-After`.
        """
        backoff = min(_WAIT_S * 2**self._made, _WAIT_MAX_S) * random.uniform(0.5, 1)
        told = "" if response is None else response.headers.get("Retry-After", "")
        wait = backoff + (float(told) if told.isdecimal() and len(told) < _DIGITS else 0.0)
        if isinstance(error, ApiError) and error.code in _NOT_BEGUN:
            is_over = time.monotonic() + wait > self._until
        else:
            self._failed += 1
            may = isinstance(error, UnreachableError) or _helps(error)
            is_over = not self._again or not may or self._failed >= _TRIES
            wait = min(wait, _WAIT_MAX_S)
        if is_over:
            raise error
        self._made += 1
        time.sleep(wait)


def _helps(error: ApiError) -> bool:
    """Decides whether a request that may be repeated may succeed then."""
    return error.status in _AGAIN or error.code in _AGAIN_CODES


def _read(response: requests.Response) -> Json | ApiError:
    """The body of an answer, or what it says is wrong."""
    try:
        found = response.json()
    except ValueError:
        found = None
    status = response.status_code
    if isinstance(found, dict) and 200 <= status < 300:
        return found
    if not isinstance(found, dict):
        text = response.text[:_TEXT_MAX]
        return ApiError(f"no answer of the gateway's: HTTP {status} {text}", status=status)
    return ApiError(
        str(found.get("detail") or response.reason),
        status=status,
        code=str(found.get("code") or "error"),
        hint=str(found.get("hint") or ""),
    )


def part(text: str) -> str:
    """A name as a part of a path, whatever stands in it.

    >>> part("a/b?c")
    'a%2Fb%3Fc'
    """
    return quote(text, safe="")
