"""A SQL catalog in a database server: each metadata file of a table is parsed once."""

from __future__ import annotations

from accelerator.common.lru_cache import Recent
from accelerator.iceberg.catalogs.readers import CatalogSettings, Pointer, PyIcebergCatalog

_TABLES_MAX = 1024


class DatabaseCatalog(PyIcebergCatalog):
    """A catalog in PostgreSQL, MySQL or another database that SQLAlchemy knows."""

    def __init__(self, settings: CatalogSettings) -> None:
        super().__init__(settings)
        self._pointers: Recent[Pointer] = Recent(_TABLES_MAX)
        """The last pointer of each table, so that its metadata isn't read and parsed again."""

    def pointer(self, identifier: tuple[str, ...], moment: object = None) -> Pointer | None:
        """Returns the newest metadata of namespace + name, or None if it isn't a table."""
        row = self._row(identifier, is_view=False) if len(identifier) > 1 else None
        if row is None:
            return None
        known = self._pointers.get(identifier)
        if known is None or known.location != row["metadata_location"]:
            known = super().pointer(identifier, moment)
            if known is not None:
                self._pointers.put(identifier, known)
        return known
