"""Environments of their own, for packages that ours doesn't have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


class Environment:
    """One in that folder, of that Python; made where it isn't there."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder.absolute()
        self.python = str(self.folder / "bin" / "python")
        if not Path(self.python).exists():
            _run(python, "-m", "venv", str(folder))

    def install(self, *what: str) -> None:
        """Packages, as pip takes them."""
        self.run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)

    def run(self, *words: str) -> str:
        """What Python says, which runs in the folder; CalledProcessError, behind its last words.

        Neither our own modules nor a Java of ours are lent to it.
        """
        lent = ("PYTHONPATH", "JAVA_HOME")
        env = {name: value for name, value in os.environ.items() if name not in lent}
        return _run(self.python, *words, cwd=self.folder, env=env)


def _run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=env)
    if done.returncode:
        sys.stderr.write(done.stderr[-2000:])
        done.check_returncode()
    return done.stdout
