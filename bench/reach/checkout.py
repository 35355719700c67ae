"""The files of a commit in a folder of their own, without a trace in the repository."""

from __future__ import annotations

import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[2]


class CheckoutError(RuntimeError):
    """Git failed; the message has git's reason."""


def commit_id(revision: str, root: Path = ROOT) -> str:
    """Returns the full id of a commit; CheckoutError if the repository has no such commit."""
    return _git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()


@contextmanager
def files_of(commit: str, root: Path = ROOT) -> Iterator[Path]:
    """Extracts the commit's files into a temporary folder, and removes the folder at the end."""
    archive = _git(root, "archive", "--format=tar", commit)
    with tempfile.TemporaryDirectory(prefix="reach-", ignore_cleanup_errors=True) as folder:
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder).resolve()


def _git(root: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, check=False)
    except OSError as error:
        raise CheckoutError(f"git can't be run: {error}. Install git.") from error
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip() or "there is no such commit"
        raise CheckoutError(f"git {' '.join(words)} failed in {root}: {why}")
    return done.stdout
