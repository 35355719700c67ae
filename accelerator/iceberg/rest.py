"""A REST catalog that doesn't wait for ever for a host that accepts, and never answers.

Promise: each of its requests is given up after a minute without a byte, or after what Iceberg's own
properties say, which Spark's client takes as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import Endpoints, IdentifierKind, RestCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.utils.config import Config, merge_config
from requests.adapters import BaseAdapter

from accelerator.iceberg.footprints import Located
from accelerator.iceberg.request_times import request_times

if TYPE_CHECKING:
    from requests import PreparedRequest, Response, Session

_GONE = 404


def rest_catalog(name: str, properties: Mapping[str, str]) -> RestCatalog:
    """The catalog of those properties, beside what PyIceberg's configuration says of that name."""
    configured = Config().get_catalog_config(name) or {}
    merged: Mapping[str, Any] = merge_config(configured, {**properties})
    return _Bounded(name, **merged)


def located(catalog: Catalog, identifier: tuple[str, ...], *, is_view: bool) -> Located | None:
    """The newest metadata file of a table or view; None if it's gone.

    For tables that PyIceberg refuses it's read from the answer's JSON.
    """
    assert isinstance(catalog, RestCatalog)
    try:
        if not is_view:
            table = catalog.load_table(identifier)
            return Located(table.metadata_location, table.io.properties)
    except (NoSuchTableError, NoSuchNamespaceError):
        return None
    except ValidationError:
        pass
    kind = IdentifierKind.VIEW if is_view else IdentifierKind.TABLE
    path = Endpoints.load_view if is_view else Endpoints.load_table
    name = catalog._split_identifier_for_path(identifier, kind)
    response = catalog._session.get(catalog.url(path, prefixed=True, **name))
    if response.status_code == _GONE:
        return None
    response.raise_for_status()
    answer = response.json()
    properties = {**catalog.properties, **(answer.get("config") or {})}
    return Located(str(answer["metadata-location"]), properties)


class _Bounded(RestCatalog):
    """PyIceberg's, with sessions that give up."""

    def _create_session(self) -> Session:
        session = super()._create_session()
        times = request_times(self.name, self.properties)
        for prefix, adapter in list(session.adapters.items()):
            session.mount(prefix, _Impatient(adapter, times))
        return session


class _Impatient(BaseAdapter):
    """Another adapter, asked with times to connect and to wait for an answer."""

    def __init__(self, adapter: BaseAdapter, times: tuple[float, ...]) -> None:
        super().__init__()
        self._adapter, self._times = adapter, times

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        """The answer; Timeout where it doesn't come."""
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self._times
        return self._adapter.send(request, *args, **kwargs)

    def close(self) -> None:
        self._adapter.close()
