"""Errors that only reading Iceberg tables raises; all stand under `AcceleratorError`."""

from __future__ import annotations

from accelerator.errors import AcceleratorError, EngineError


class CatalogError(AcceleratorError):
    """A catalog, or the metadata that it points to, can't be read."""

    code = "catalog_unavailable"


class CatalogReadOnlyError(CatalogError):
    """A table's properties can't be changed through its catalog."""

    code = "catalog_read_only"


class NeedsSparkError(EngineError):
    """These rows can't be read in process; Spark reads them."""

    code = "rows_need_spark"


class EqualityDeletesError(NeedsSparkError):
    """Equality deletes apply to the files, which PyIceberg doesn't read."""

    code = "equality_deletes_need_spark"


class ManifestError(CatalogError):
    """A manifest is damaged, or written in a way that isn't known."""

    code = "manifest_unreadable"
