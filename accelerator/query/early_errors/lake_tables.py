"""The tables of a session's catalogs, as far as errors need them: columns, absence, what is near.

What a catalog can't say at the moment is left to Spark.
"""

from __future__ import annotations

import re
from contextlib import suppress

from accelerator.errors import AcceleratorError
from accelerator.iceberg import Lake
from accelerator.iceberg.tables.schema import names_of
from accelerator.query.early_errors.absence import is_absent, nearest
from accelerator.query.virtual_tables import log_table
from rewrite.analysis.unknown_names import LakeNames


class LakeTables:
    """Those of a session's catalogs."""

    def __init__(self, lake: Lake, default: str) -> None:
        """`default` is the catalog that names without one are in."""
        self._lake, self._default = lake, default
        self._pin = lake.pin(fresh=True)

    def find(self, parts: tuple[str, ...]) -> LakeNames | None:
        """The table or view of that name; None where there is none, or it can't be read."""
        if log_table.is_log(parts, self._lake.catalogs):
            return LakeNames(tuple(log_table.TYPES), frozenset(log_table.TYPES))
        with suppress(AcceleratorError):
            pinned = self._pin.pinned(parts)
            if pinned is not None:
                columns = tuple(one.name for one in pinned.facts.columns)
                types = {one.name.lower(): one.type for one in pinned.facts.columns}
                return LakeNames(columns, names_of(pinned.metadata), types)
            view = self._pin.view(parts)
            if view is not None:
                words = (word for pair in view.columns for word in re.findall(r"\w+", str(pair)))
                return LakeNames(
                    tuple(c for c, _ in view.columns), frozenset(map(str.lower, words))
                )
        return None

    def is_absent(self, parts: tuple[str, ...]) -> bool:
        """Whether surely neither table nor view is found under that name, by any rule."""
        if log_table.is_log(parts, self._lake.catalogs):
            return False
        full = self._lake.resolve(parts)
        with suppress(AcceleratorError):
            return is_absent(parts, full, self._is_absent)
        return False

    def near(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The names of tables that are closest to it, as statements may write them."""
        full = self._lake.resolve(parts)
        reader = self._lake.catalogs.get(full[0])
        with suppress(AcceleratorError):
            if reader is not None:
                found = ((full[0], *name) for name in reader.beside(full[1:]))
                return nearest(parts, found, self._default)
        return ()

    def _is_absent(self, full: tuple[str, ...]) -> bool:
        reader = self._lake.catalogs.get(full[0])
        return reader is not None and reader.is_absent(full[1:])
