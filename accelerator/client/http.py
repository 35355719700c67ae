"""Requests to the gateway: who asks, what is tried again, and errors as exceptions.

Promise: only what may be repeated is: what reads, and appends, which have a key.
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
_TEXT_MAX = 300
_PIECE_BYTES = 1024**2


class Http:
    """The requests of one client. A session isn't for several threads at once."""

    def __init__(
        self, url: str, user: str, password: str, verify: bool | str, timeout_s: float
    ) -> None:
        self.url = url.rstrip("/")
        self._session = requests.Session()
        self._session.verify = verify
        self._session.headers["X-Trino-User"] = user
        if password:
            self._session.auth = (user, password)
        self._timeout_s = timeout_s

    def close(self) -> None:
        """Closes its connections."""
        self._session.close()

    def get(self, path: str, **query: Any) -> Json:
        """What is at the path; parameters that are None are left out."""
        given = {key: value for key, value in query.items() if value is not None}
        return self._asked("GET", path, again=True, params=given)

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
        """Asks for something to be done; once."""
        return self._asked("POST", path, again=False, json=body)

    def upload(self, path: str, file: IO[bytes], headers: Mapping[str, str]) -> Json:
        """Sends a file from its beginning, again where that may help: it has a key."""
        return self._asked("POST", path, again=True, data=file, headers=dict(headers))

    def stream(self, path: str, body: Mapping[str, Any], file: IO[bytes]) -> None:
        """Writes what is answered into the file; it's whole when this returns.

        ApiError with what the gateway says, UnreachableError where the answer broke off.
        """
        try:
            with self._session.post(
                f"{self.url}{BASE}{path}",
                json=body,
                timeout=self._timeout_s,
                allow_redirects=False,
                stream=True,
            ) as response:
                if response.status_code != 200:
                    found = _read(response)
                    if isinstance(found, ApiError):
                        raise found
                for piece in response.iter_content(_PIECE_BYTES):
                    file.write(piece)
        except requests.RequestException as error:
            raise UnreachableError(
                f"the gateway at {self.url} doesn't answer, or broke off: {error}", hint="ask again"
            ) from error

    def _asked(self, method: str, path: str, *, again: bool, **given: Any) -> Json:
        file = given.get("data")
        for number in range(_TRIES):
            last = not again or number == _TRIES - 1
            if file is not None:
                file.seek(0)
            wait = _WAIT_S * 2**number
            try:
                response = self._session.request(
                    method,
                    f"{self.url}{BASE}{path}",
                    timeout=self._timeout_s,
                    allow_redirects=False,
                    **given,
                )
            except (requests.ConnectionError, requests.Timeout) as error:
                if last:
                    raise UnreachableError(
                        f"the gateway at {self.url} doesn't answer: {error}",
                        hint="check that it runs, its address, and verify where it has TLS",
                    ) from error
            except requests.RequestException as error:
                raise UnreachableError(
                    f"the gateway at {self.url} can't be asked: {error}", hint="check its address"
                ) from error
            else:
                found = _read(response)
                if not isinstance(found, ApiError):
                    return found
                if last or not (found.status in _AGAIN or found.code in _AGAIN_CODES):
                    raise found
                told = response.headers.get("Retry-After", "")
                wait = max(wait, float(told) if told.isdigit() else 0.0)
            time.sleep(min(wait, _WAIT_MAX_S) * random.uniform(0.5, 1))
        raise AssertionError


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
