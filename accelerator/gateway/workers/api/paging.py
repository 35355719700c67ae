"""Parts of lists, and the cursors by which clients ask for the next one.

A cursor is this release's own: which list it's of, and what the last item was. It's read as any
input: one that somebody made up is refused, or leads to items that they may see anyway.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import convert

from accelerator.gateway.workers.api.errors import CursorError, RequestError
from accelerator.gateway.workers.api.models import Paging

_T = TypeVar("_T")
_OFFSET_MAX = 10**12


def by_name(
    items: Sequence[_T], paging: Paging, of: str, name: Callable[[_T], str]
) -> tuple[list[_T], str | None]:
    """The next items by name, whatever was added or is gone since, and the cursor behind them."""
    after = None if paging.cursor is None else _read(paging.cursor, of, str)
    ordered = sorted(items, key=name)
    rest = ordered if after is None else [one for one in ordered if name(one) > after]
    found = rest[: paging.limit]
    return found, _written(of, name(found[-1])) if len(rest) > len(found) else None


def by_place(count: int, paging: Paging, of: str) -> tuple[int, int, str | None]:
    """Where the next items of a list that never changes begin and end, and the cursor behind them.

    `of` names the list; CursorError where the cursor is of another one.
    """
    begin = 0 if paging.cursor is None else _read(paging.cursor, of, int)
    if not 0 <= begin <= _OFFSET_MAX:
        raise _unreadable()
    end = min(count, begin + paging.limit)
    return min(begin, count), end, _written(of, end) if end < count else None


def written(of: str, place: str) -> str:
    """A cursor of a list behind that place."""
    return _written(of, place)


def read(paging: Paging, of: str) -> str | None:
    """The place of a cursor of that list; None at the list's beginning."""
    return None if paging.cursor is None else _read(paging.cursor, of, str)


def list_of(paging: Paging) -> str | None:
    """The name of the list that the cursor is of; None at a list's beginning."""
    return None if paging.cursor is None else _parts(paging.cursor)[0]


def _written(of: str, place: str | int) -> str:
    text = json.dumps([of, place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(cursor: str, of: str, kind: type[_T]) -> _T:
    found, place = _parts(cursor)
    if found != of:
        raise CursorError(
            "the list has changed, or the cursor is of another one", hint="begin anew without it"
        )
    if not isinstance(place, kind):
        raise _unreadable()
    return place


def _parts(cursor: str) -> tuple[str, str | int]:
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        return convert(json.loads(data.decode()), tuple[str, str | int])
    except (ValueError, RecursionError) as error:  # base64's own error is a ValueError
        raise _unreadable() from error


def _unreadable() -> RequestError:
    return RequestError("the cursor can't be read", hint="give it as `next` had it")
