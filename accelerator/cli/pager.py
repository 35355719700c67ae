"""Long answers on a terminal, by the user's own pager."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys

from accelerator.cli.terminal import say, without_ctrl_c
from rewrite.text.printable import printable

_DEFAULT = "less -SR"


def page(text: str) -> None:
    """Prints a text; by $PAGER where it's longer than the screen."""
    height = shutil.get_terminal_size().lines
    if not sys.stdout.isatty() or text.count("\n") + 1 < height or not _paged(text):
        say(text)


def _paged(text: str) -> bool:
    """Whether there is a pager. Ctrl-C is for it alone while it runs."""
    try:
        words = shlex.split(os.environ.get("PAGER") or _DEFAULT)
    except ValueError:
        words = shlex.split(_DEFAULT)
    try:
        shown = printable(text).encode(errors="replace") + b"\n"
        with without_ctrl_c():
            subprocess.run(words, input=shown, check=False)
    except (OSError, IndexError):
        return False
    return True
