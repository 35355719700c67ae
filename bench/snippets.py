"""Runs the docs' commands as printed: README.md and docs/install.md, page by page.

Each page gets an environment without packages and a folder of its own. `pip` finds the wheel of
this checkout beside the registry's packages. The environment isn't activated, but for its `bin` on
the PATH of shell commands.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench.environments import Environment
from tests.support.snippets import (
    PAGES,
    Snippet,
    SnippetError,
    failures,
    settings_file,
    snippets,
)

_LENT = ("PYTHONPATH", "PYSPARK_PYTHON", "SPARK_HOME", "VIRTUAL_ENV")
_S_MAX = 900.0
"""Seconds for a block; the longest installs PySpark."""


def measure(root: Path, wheel: Path, failed: list[str]) -> dict[str, int]:
    """Blocks that ran as printed, of how many; `docs_snippets` counts those for elsewhere, too.

    What failed is added to `failed`.
    """
    every = [one for page in PAGES for one in snippets(page)]
    done = sum(run_page(page, root / Path(page).stem, wheel, failed) for page in PAGES)
    elsewhere = sum(bool(one.elsewhere) for one in every)
    return {
        "docs_snippets_run": done,
        "docs_snippets_run_of": len(every) - elsewhere,
        "docs_snippets_elsewhere": elsewhere,
        "docs_snippets": len(every),
    }


def run_page(page: str, root: Path, wheel: Path, failed: list[str]) -> int:
    """Runs a page's blocks in an environment below that folder; how many did as printed."""
    root.mkdir(parents=True)
    environment = Environment(root / "environment")
    folder = root / "folder"
    folder.mkdir()
    own = {name: value for name, value in os.environ.items() if name not in _LENT}
    own["PATH"] = os.pathsep.join([str(Path(environment.python).parent), own.get("PATH", "")])
    own["PIP_FIND_LINKS"] = str(wheel.parent)
    own["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    bare = {**own, "PATH": os.environ.get("PATH", "")}

    def run(one: Snippet, at: Path) -> str:
        match one.language:
            case "sh":
                return _ran(["bash", "-euo", "pipefail", "-c", one.text], at, own)
            case "python":  # of an environment that nobody has activated
                return _ran([environment.python, "-c", one.text], at, bare)
        doctor = ["accelerator", "doctor", "--config", str(settings_file(one, at))]
        return _ran([str(Path(environment.python).with_name(doctor[0])), *doctor[1:]], at, bare)

    done, found = failures(page, folder, run)
    failed += found
    return done


def _ran(command: list[str], folder: Path, env: dict[str, str]) -> str:
    try:
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env=env,
            timeout=_S_MAX,
        )
    except subprocess.TimeoutExpired as error:
        raise SnippetError(str(error)) from error
    if ran.returncode:
        raise SnippetError(f"exit code {ran.returncode}\n{ran.stdout}{ran.stderr[-3000:]}")
    return ran.stdout
