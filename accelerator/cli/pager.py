"""Long answers on a terminal, by the user's own pager."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys

from accelerator.cli.terminal import say
from rewrite.printable import printable

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
    # A handler of ours isn't the pager's, as being ignored would be.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        shown = printable(text).encode(errors="replace") + b"\n"
        subprocess.run(words, input=shown, check=False)
    except (OSError, IndexError):
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True
