"""Scripts run in a process of their own: sessions that must be alone, or are interrupted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.recording.live import JVM


def environment() -> dict[str, str]:
    """That of such a process: its JVMs start sooner, as the tests' own does."""
    return {**os.environ, "JAVA_TOOL_OPTIONS": JVM}


def agreed(script: str, folder: Path) -> None:
    """Runs the script with the folder as its argument; it says `agreed` when all was well."""
    ran = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env=environment(),
        timeout=300,
        check=False,
    )
    assert ran.stdout.strip().endswith("agreed"), ran.stderr[-3000:]
