"""A copy of the repository, in which faults are planted: never in the repository itself.

A copy has the files as they are now, committed or not, with their times; what was compiled in it
before stays, but for files that change. Promises: whatever is planted in it is taken out again at
the end of the block; its packages are what its tests and their processes import.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parents[2]
BUILD = HERE / "build" / "mutants"
PRODUCT = ("accelerator", "cubes", "indexes", "rewrite")


def sources(root: Path = HERE) -> list[str]:
    """The files of the repository, by their paths in it."""
    told = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted({name for name in told.stdout.split("\0") if name and (root / name).is_file()})


class Tree:
    """One copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def refresh(self, names: list[str], origin: Path = HERE) -> None:
        """Makes it the repository as it is now."""
        wanted = set(names)
        if self.folder.exists():
            for path in sorted(self.folder.rglob("*")):
                name = str(path.relative_to(self.folder))
                if path.is_file() and name not in wanted and "__pycache__" not in path.parts:
                    path.unlink()
        for name in names:
            source, target = origin / name, self.folder / name
            if _same(source, target):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            _forget(target)
            _bring_kernels(source, target)

    @contextmanager
    def changed(self, name: str, text: str) -> Iterator[None]:
        """Inside, that file has that text."""
        path = self.folder / name
        data, times = path.read_bytes(), path.stat()
        try:
            path.write_text(text, encoding="utf-8")
            _forget(path)
            yield
        finally:
            path.write_bytes(data)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            _forget(path)

    def environment(self, scratch: Path, more: Mapping[str, str]) -> dict[str, str]:
        """Of processes that run its tests; `scratch` is a folder for what they leave behind.

        Records of Spark's answers are read where the repository has them, and none is written.
        """
        own = {k: v for k, v in os.environ.items() if not k.startswith("ACCELERATOR_")}
        return {
            **own,
            "PYTHONPATH": str(self.folder),
            "TESTS_RECORDS": str(HERE / "build" / "records"),
            "TESTS_RECORDS_MODE": "scratch",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis"),
            "TMPDIR": str(scratch),
            **more,
        }


def _same(one: Path, other: Path) -> bool:
    if not other.exists():
        return False
    a, b = one.stat(), other.stat()
    same = (a.st_size, a.st_mtime_ns) == (b.st_size, b.st_mtime_ns)
    return same and one.read_bytes() == other.read_bytes()


def _bring_kernels(source: Path, target: Path) -> None:
    """What numba has compiled of the file and kept beside it, which takes it minutes."""
    for kept in (source.parent / "__pycache__").glob(f"{source.stem}.*.nb[ic]"):
        made = target.parent / "__pycache__" / kept.name
        made.parent.mkdir(exist_ok=True)
        shutil.copy2(kept, made)


def _forget(path: Path) -> None:
    """What Python and numba have compiled of the file."""
    for kept in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        kept.unlink(missing_ok=True)
