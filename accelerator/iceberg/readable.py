"""Which data files are read in process."""

from __future__ import annotations

from collections.abc import Sequence

from accelerator.iceberg.errors import EqualityDeletesError, NeedsSparkError
from accelerator.iceberg.files import LiveFile

_FORMATS = ("parquet", "orc")


def check_readable(files: Sequence[LiveFile]) -> None:
    """Raises NeedsSparkError for files that only Spark reads."""
    for file in files:
        if any(ref.content == "equality" for ref in file.deletes):
            raise EqualityDeletesError(
                f"equality deletes apply to {file.path}",
                hint="Spark applies them; compacting the table removes them",
            )
        if file.file_format not in _FORMATS:
            raise NeedsSparkError(
                f"{file.path} is an {file.file_format} file",
                hint="Spark reads it; the statement takes that way by itself",
            )
