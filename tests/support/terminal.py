"""A command in a pseudo-terminal, as a person has it: what is typed, what is seen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

HOUSE = Path(__file__).parents[2]
_CODES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9]|[=>78])")
_WAIT_S = 60.0


class Terminal:
    """80 columns and 24 lines by default; leaving its `with` ends the command."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        cwd: Path,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        columns: int = 80,
        lines: int = 24,
        stdout: int | None = None,
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        environ = {
            key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")
        }
        environ.pop("PYTHONPATH", None)
        if command is None:
            command = [sys.executable, "-m", "accelerator"]
            environ["PYTHONPATH"] = str(HOUSE)
        environ |= {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        environ |= {"XDG_STATE_HOME": str(cwd / "state"), "PAGER": "cat", **(environment or {})}
        self.process = subprocess.Popen(
            [*command, *words],
            stdin=theirs,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            cwd=cwd,
            env=environ,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.raw, self._seen = b"", 0

    def type(self, text: str) -> None:
        """As if these keys were pressed."""
        os.write(self._ours, text.encode())

    @property
    def text(self) -> str:
        """All that was shown so far, without the codes that move the cursor."""
        return _CODES.sub("", self.raw.decode(errors="replace")).replace("\r", "")

    def expect(self, wanted: str, *, timeout: float = _WAIT_S) -> str:
        """Waits until that is shown, behind what was expected before; what was shown up to it."""
        until = time.monotonic() + timeout
        while (at := self.text.find(wanted, self._seen)) < 0:
            if not self._read(until - time.monotonic()):
                raise AssertionError(f"{wanted!r} isn't shown:\n{self.text[self._seen :]}")
        before = self.text[self._seen : at]
        self._seen = at + len(wanted)
        return before

    def end(self, *, timeout: float = _WAIT_S) -> int:
        """Waits for the end of the command; its exit code."""
        until = time.monotonic() + timeout
        while self._read(until - time.monotonic()):
            pass
        return self.process.wait(max(1.0, until - time.monotonic()))

    def _read(self, seconds: float) -> bool:
        """Whether something came in that time."""
        ready, _, _ = select.select([self._ours], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            came = os.read(self._ours, 1 << 16)
        except OSError:  # the other end is closed
            return False
        self.raw += came
        return bool(came)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_exc: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self._ours)
