"""A REST catalog, read one namespace at a time because a server may have many."""

from __future__ import annotations

from pyiceberg.exceptions import NoSuchNamespaceError

from accelerator.iceberg.catalogs.readers import PyIcebergCatalog, asked


class RestCatalog(PyIcebergCatalog):
    """A REST catalog."""

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
