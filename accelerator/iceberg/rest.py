"""A REST catalog that doesn't wait for ever for a host that accepts, and never answers.

Promise: each of its requests is given up after a minute without a byte, or after what Iceberg's own
properties say, which Spark's client takes as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog.rest import Endpoints, RestCatalog
from pyiceberg.io import PY_IO_IMPL
from pyiceberg.utils.config import Config, merge_config
from requests.adapters import BaseAdapter

from accelerator.iceberg.catalogs import Pointer
from accelerator.iceberg.request_times import request_times

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from requests import PreparedRequest, Response, Session


def rest_catalog(name: str, properties: Mapping[str, str]) -> RestCatalog:
    """The catalog of those properties, beside what PyIceberg's configuration says of that name."""
    configured = Config().get_catalog_config(name) or {}
    merged: Mapping[str, Any] = merge_config(configured, {**properties})
    return _Bounded(name, **merged)


def raw_table(
    catalog: Catalog, identifier: tuple[str, ...], properties: Mapping[str, str]
) -> Pointer | None:
    """A table as the catalog's own JSON has it; None if the catalog doesn't give it.

    For a table whose metadata PyIceberg refuses, so that its client has no table to give.
    """
    if not isinstance(catalog, RestCatalog):
        return None
    parts = catalog._split_identifier_for_path(identifier)
    answer = catalog._session.get(catalog.url(Endpoints.load_table, prefixed=True, **parts))
    answer.raise_for_status()
    found = answer.json()
    metadata = found.get("metadata") if isinstance(found, dict) else None
    if not isinstance(metadata, dict):
        return None
    given = found.get("config")
    config = given if isinstance(given, dict) else {}
    texts = {key: value for key, value in config.items() if isinstance(value, str)}
    texts.pop(PY_IO_IMPL, None)
    location = str(found.get("metadata-location", ""))
    return Pointer(location, {**properties, **texts}, content=json.dumps(metadata).encode())


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
