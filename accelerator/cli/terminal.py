"""Text for people on a terminal.

Names, values and messages come from warehouses and stores. Promise: none of them moves the cursor,
names the window or turns the text round.
"""

from __future__ import annotations

import click

from accelerator.shown import printable


def say(text: str, *, err: bool = False) -> None:
    """Prints a line, or some, to standard output or standard error; controls are escaped."""
    told = printable(text)
    try:
        click.echo(told, err=err)
    except UnicodeEncodeError:  # a terminal of few letters
        click.echo(told.encode("ascii", "backslashreplace").decode(), err=err)
