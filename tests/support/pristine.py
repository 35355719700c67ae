"""Lakes of PyIceberg's tables that are made once, and are as they were then for each test.

Tables know their files by absolute paths, so a lake stays in its folder: what a test has changed
there is replaced by a copy that was kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Hashable
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog


def properties_of(root: Path) -> dict[str, str]:
    """Those of a SQLite catalog in a folder, with its warehouse beside it."""
    return {"uri": f"sqlite:///{root / 'catalog.db'}", "warehouse": f"file://{root}/"}


def catalog_of(root: Path) -> SqlCatalog:
    """The catalog that an embedded session over the folder finds."""
    return SqlCatalog("lake", **properties_of(root))


class Pristine:
    """Lakes by key, each filled once by `fill(catalog)`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: dict[Hashable, tuple[Path, Path]] = {}

    def lake(self, fill: Callable[[SqlCatalog], object], key: Hashable = None) -> Path:
        """Its folder, as `fill` has left it."""
        if key not in self._kept:
            root = self.folder / f"lake{len(self._kept)}"
            root.mkdir()
            catalog = catalog_of(root)
            fill(catalog)
            catalog.engine.dispose()
            self._kept[key] = root, Path(shutil.copytree(root, f"{root}-kept"))
            return root
        root, kept = self._kept[key]
        shutil.rmtree(root)
        shutil.copytree(kept, root)
        return root
