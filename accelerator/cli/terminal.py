"""Text for people on a terminal.

Names, values and messages come from warehouses and stores. Promise: none of them moves the cursor,
names the window or turns the text round.
"""

from __future__ import annotations

import re

import click

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def say(text: str, *, err: bool = False) -> None:
    """Prints a line, or some, to standard output or standard error; controls are escaped."""
    click.echo(printable(text), err=err)


def printable(text: str) -> str:
    r"""The text with controls as in JSON, e.g. `\u001b`; line ends and tabs stay."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
