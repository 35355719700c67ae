"""Which rows of a table's data files are deleted, by deletes of every kind.

What was found once is kept: neither a data file nor the deletes that apply to it get new content.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from accelerator.common.lru_cache import Recent
from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.io import inputs_for
from accelerator.iceberg.rows.position_deletes import PositionDeletes, Positions
from accelerator.iceberg.rows.readable import check_readable
from accelerator.iceberg.tables.data_file import LiveFile

if TYPE_CHECKING:
    from accelerator.iceberg.rows.arrow_scan import ScanTable
    from accelerator.iceberg.rows.equality_deletes import EqualityDeletes

_THREADS_MAX = 8
_KEPT: Recent[Positions] = Recent(
    1 << 16, weigh=lambda _, positions: positions.nbytes, weight_max=64 * 1024 * 1024
)
_NAMES = "schema.name-mapping.default"


class DeletedRows:
    """Of one pinned table; threads may share it."""

    def __init__(self, pinned: ScanTable) -> None:
        self._pinned = pinned

    def of(self, file: LiveFile) -> Positions:
        """Positions of the file's deleted rows, in no order, some maybe twice.

        NeedsSparkError for deletes that only Spark applies; ValueError, OSError for what can't be
        read, or isn't what the manifests say.
        """
        check_readable(self._pinned, [file])
        return _KEPT.get_or(self._name(file), lambda: self._read(file))

    def of_each(self, files: Sequence[LiveFile], check: Callable[[], None]) -> list[Positions]:
        """The same of several, read side by side; `check` may raise before each."""

        def of(file: LiveFile) -> Positions:
            check()
            return self.of(file)

        if len(files) < 2:
            return list(map(of, files))
        with ThreadPoolExecutor(_THREADS_MAX) as pool:
            return list(pool.map(of, files))

    def _read(self, file: LiveFile) -> Positions:
        found = self._positions.of(file)
        if not file.deleted_by_value:
            return found
        try:
            return np.concatenate([found, self._equality.of(file)])
        except ValueError as error:
            raise NeedsSparkError(
                f"equality deletes of {file.path} can't be applied here: {error}",
                hint="Spark applies them; the statement takes that way by itself",
            ) from error

    def _name(self, file: LiveFile) -> Hashable:
        """Values are read under the table's mapping of names, where files have no field ids."""
        names = self._pinned.metadata.properties.get(_NAMES) if file.deleted_by_value else None
        return file.path, file.deletes, names

    @cached_property
    def _positions(self) -> PositionDeletes:
        pinned = self._pinned
        return PositionDeletes(inputs_for(pinned.metadata_location, pinned.io_properties))

    @cached_property
    def _equality(self) -> EqualityDeletes:
        from accelerator.iceberg.rows import equality_deletes  # imports PyArrow's dataset half

        return equality_deletes.EqualityDeletes(self._pinned)
