"""A REST catalog, read one namespace at a time because a server may have many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

from accelerator.common.lru_cache import Recent
from accelerator.iceberg.catalogs.readers import CatalogSettings, Pointer, PyIcebergCatalog, asked

if TYPE_CHECKING:
    from accelerator.iceberg.catalogs.rest import TableBrief


class RestCatalog(PyIcebergCatalog):
    """A REST catalog."""

    def __init__(self, settings: CatalogSettings) -> None:
        super().__init__(settings)
        self._answers: Recent[tuple[TableBrief, Pointer]] = Recent(1024)
        """The last answer about each table, and its pointer."""

    def pointer(self, identifier: tuple[str, ...], moment: object = None) -> Pointer | None:
        """The newest metadata of namespace + name, or None if it isn't a table.

        One request. The metadata in its answer is parsed if the answer names another metadata file
        than before.
        """
        if len(identifier) < 2:
            return None
        from accelerator.iceberg.catalogs.rest import table_answer

        with asked(self._settings):
            try:
                answer = table_answer(self._open(), identifier)
            except NoSuchTableError:
                return None
        if answer is None:  # an error, or what PyIceberg refuses
            return super().pointer(identifier, moment)
        known = self._answers.get(identifier)
        if known is None or known[0] != answer.brief:
            same = known is not None and known[0].location == answer.brief.location
            table = answer.table(known[1].metadata if known is not None and same else None)
            if table is None:
                return super().pointer(identifier, moment)
            found = Pointer(table.metadata_location, table.io.properties, table.metadata)
            known = answer.brief, found
            self._answers.put(identifier, known)
        return known[1]

    def below(self, namespace: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Lists the namespaces right below one, or those at the top, in the catalog's order."""
        with asked(self._settings):
            found = self._open().list_namespaces(namespace)
        return [one for one in found if one[:-1] == namespace]

    def has_namespace(self, namespace: tuple[str, ...]) -> bool:
        """Decides whether there is the namespace, by one request."""
        with asked(self._settings):
            try:
                self._open().load_namespace_properties(namespace)
            except NoSuchNamespaceError:
                return False
        return True
