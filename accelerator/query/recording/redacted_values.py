"""What was said of a statement, without the values that it was given for its markers.

The log has a statement's markers and not the values; errors and reasons quote these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from accelerator.errors import UNFIT

if TYPE_CHECKING:
    from accelerator.query.parameters import Parameters

_HIDDEN = "***"
_MESSAGE_MAX = 8192
_VALUE_MAX = 100_000
_LEAST = 4
"""Shorter values stand in other words as well."""
_HEAD = 16
"""Where so much of a value stands, so does what follows of it: messages cut long ones."""


def without_values(message: str | None, params: Parameters | None) -> str | None:
    """The message's beginning, with `***` for each value that it quotes, and for one's beginning.

    >>> without_values("'20 ms' is no interval", ["20 ms"])
    "'***' is no interval"
    """
    if not message or not isinstance(params, Mapping | Sequence) or isinstance(params, str | bytes):
        return message
    values: Iterable[Any] = params.values() if isinstance(params, Mapping) else params
    message = message[:_MESSAGE_MAX]
    written = {form for value in values for form in _forms(value)}
    for form in sorted(written, key=len, reverse=True):
        message = _without(message, form)
    return message


def _forms(value: Any) -> Iterator[str]:
    """How a value is written in statements and messages."""
    if isinstance(value, str):
        value = value[:_VALUE_MAX]
        forms = [value, repr(value)[1:-1], value.encode("utf-8", "replace").hex().upper()]
    elif isinstance(value, bytes | bytearray):
        forms = [value[:_VALUE_MAX].hex().upper()]
    elif value is None or isinstance(value, bool):
        return
    else:
        try:
            forms = [str(value)[:_VALUE_MAX]]
        except (RuntimeError, *UNFIT):  # nothing quotes it then
            return
    yield from (form for form in forms if len(form) >= _LEAST)


def _without(message: str, form: str) -> str:
    head, pieces, end = form[:_HEAD], list[str](), 0
    while (start := message.find(head, end)) >= 0:
        pieces += [message[end:start], _HIDDEN]
        length = min(len(form), len(message) - start)
        end = start + len(head)
        while end - start < length and message[end] == form[end - start]:
            end += 1
    return "".join(pieces) + message[end:]
