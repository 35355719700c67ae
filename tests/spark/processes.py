"""Scripts run in a process of their own: sessions that must be alone, or are interrupted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def agreed(script: str, folder: Path) -> None:
    """Runs the script with the folder as its argument; it says `agreed` when all was well."""
    ran = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=300,
        check=False,
    )
    assert ran.stdout.strip().endswith("agreed"), ran.stderr[-3000:]
