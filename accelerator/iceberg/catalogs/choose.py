"""Which reader asks a catalog: the file itself of a SQLite catalog, PyIceberg, or the JVM."""

from __future__ import annotations

from collections.abc import Mapping

from accelerator.iceberg.catalogs.readers import (
    CatalogReader,
    CatalogSettings,
    JvmCatalog,
    JvmLocated,
    PyIcebergCatalog,
)
from accelerator.iceberg.catalogs.rest_reader import RestCatalog
from accelerator.iceberg.catalogs.sql_reader import DatabaseCatalog
from accelerator.iceberg.catalogs.sqlite import SqliteCatalog, sqlite_file


def reader_of(settings: CatalogSettings, jvm_located: JvmLocated | None = None) -> CatalogReader:
    """The cheapest reader for those settings; touches nothing yet."""
    if settings.type == "jvm":
        return JvmCatalog(settings, jvm_located)
    if settings.type == "rest":
        return RestCatalog(settings)
    file = sqlite_file(settings)
    if file is not None:
        return SqliteCatalog(settings, file)
    is_database = settings.type == "sql"
    return DatabaseCatalog(settings) if is_database else PyIcebergCatalog(settings)


def catalogs_of(reader: CatalogReader) -> list[str]:
    """The names of the catalogs that have tables in its database; none unless it's a SQL catalog.

    CatalogError if it can't be read.
    """
    return reader.catalogs_of_database() if isinstance(reader, PyIcebergCatalog) else []


def are_files(readers: Mapping[str, CatalogReader]) -> bool:
    """Whether all of them are files here, which answer at once."""
    return all(isinstance(one, SqliteCatalog) for one in readers.values())
