"""A REST catalog that doesn't wait for ever for a host that accepts, and never answers.

Promise: each of its requests is given up after a minute without a byte, or after what Iceberg's own
properties say, which Spark's client takes as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field
from pyiceberg.catalog.rest import (
    SNAPSHOT_LOADING_MODE,
    Endpoints,
    IdentifierKind,
    RestCatalog,
    TableResponse,
)
from pyiceberg.catalog.rest.scan_planning import StorageCredential
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io import PY_IO_IMPL
from pyiceberg.utils.config import Config, merge_config
from requests.adapters import DEFAULT_POOLSIZE, BaseAdapter, HTTPAdapter

from accelerator.iceberg.catalogs.request_times import request_times
from accelerator.iceberg.tables.footprints import MetadataLocation
from accelerator.iceberg.tables.unreadable import REFUSALS

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from requests import PreparedRequest, Response, Session

_GONE = 404
_CONNECTIONS = 128
"""Open connections to one server; further ones are closed after a request, with a warning."""


def rest_catalog(name: str, properties: Mapping[str, str]) -> RestCatalog:
    """The catalog of those properties, beside what PyIceberg's configuration says of that name."""
    configured = Config().get_catalog_config(name) or {}
    merged: Mapping[str, Any] = merge_config(configured, {**properties})
    return _TimedRestCatalog(name, **merged)


class TableBrief(Struct, frozen=True):
    """A catalog's answer about a table without the metadata itself."""

    location: str | None = field(name="metadata-location", default=None)
    config: dict[str, str] = {}
    credentials: list[Any] = field(name="storage-credentials", default_factory=list)

    def __repr__(self) -> str:
        return f"TableBrief({self.location!r})"  # without the secrets in the others


class TableAnswer(Struct, frozen=True):
    """A catalog's answer about a table, parsed as far as `brief` goes."""

    brief: TableBrief
    content: bytes
    catalog: RestCatalog
    identifier: tuple[str, ...]

    def __repr__(self) -> str:
        return f"TableAnswer({self.brief!r})"

    def table(self, known: TableMetadata | None) -> Table | None:
        """Returns PyIceberg's table, with metadata that is `known` already; None if it's refused.

        It has the answer's own properties and credentials.
        """
        try:
            if known is None:
                parsed = TableResponse.model_validate_json(self.content)
            else:
                brief = self.brief
                parsed = TableResponse.model_construct(
                    metadata_location=brief.location,
                    metadata=known,
                    config=brief.config,
                    storage_credentials=list(
                        map(StorageCredential.model_validate, brief.credentials)
                    ),
                )
        except REFUSALS:
            return None
        return self.catalog._response_to_table(self.identifier, parsed)


def table_answer(catalog: Catalog, identifier: tuple[str, ...]) -> TableAnswer | None:
    """Asks for a table once; None if the answer isn't a table's with a metadata file.

    NoSuchTableError if the catalog has none of that name.
    """
    if not isinstance(catalog, RestCatalog) or SNAPSHOT_LOADING_MODE in catalog.properties:
        return None
    parts = catalog._split_identifier_for_path(identifier, IdentifierKind.TABLE)
    answer = catalog._session.get(catalog.url(Endpoints.load_table, prefixed=True, **parts))
    if answer.status_code == _GONE:
        raise NoSuchTableError(".".join(identifier))
    if not answer.ok:
        return None
    try:
        brief = msgspec.json.decode(answer.content, type=TableBrief)
    except msgspec.MsgspecError:
        return None
    return TableAnswer(brief, answer.content, catalog, identifier) if brief.location else None


def raw_table(
    catalog: Catalog, identifier: tuple[str, ...], properties: Mapping[str, str]
) -> tuple[MetadataLocation, bytes] | None:
    """A table's metadata as the catalog's own JSON has it; None if the catalog doesn't give it.

    For a table whose metadata PyIceberg refuses, so that its client has no table to give.
    """
    found = _loaded(catalog, identifier, IdentifierKind.TABLE)
    metadata = None if found is None else found.get("metadata")
    if found is None or not isinstance(metadata, dict):
        return None
    table = MetadataLocation(_location(found), {**properties, **_config(found)})
    return table, json.dumps(metadata).encode()


def located_view(catalog: Catalog, identifier: tuple[str, ...]) -> MetadataLocation | None:
    """The newest metadata file of a view, whatever PyIceberg makes of it; None if it's gone."""
    found = _loaded(catalog, identifier, IdentifierKind.VIEW)
    if found is None:
        return None
    return MetadataLocation(_location(found), {**catalog.properties, **_config(found)})


def _loaded(
    catalog: Catalog, identifier: tuple[str, ...], kind: IdentifierKind
) -> Mapping[str, Any] | None:
    """The catalog's JSON of a table or view; None if it has no such JSON."""
    if not isinstance(catalog, RestCatalog):
        return None
    path = Endpoints.load_view if kind is IdentifierKind.VIEW else Endpoints.load_table
    parts = catalog._split_identifier_for_path(identifier, kind)
    answer = catalog._session.get(catalog.url(path, prefixed=True, **parts))
    if answer.status_code == _GONE:
        return None
    answer.raise_for_status()
    found = answer.json()
    return found if isinstance(found, dict) else None


def _location(answer: Mapping[str, Any]) -> str:
    return str(answer.get("metadata-location", ""))


def _config(answer: Mapping[str, Any]) -> dict[str, str]:
    """The answer's properties, but none that names a Python class."""
    given = answer.get("config")
    config = given if isinstance(given, dict) else {}
    texts = {key: value for key, value in config.items() if isinstance(value, str)}
    texts.pop(PY_IO_IMPL, None)
    return texts


class _TimedRestCatalog(RestCatalog):
    """PyIceberg's, with sessions that give up, and enough connections for several statements."""

    def _create_session(self) -> Session:
        session = super()._create_session()
        times = request_times(self.name, self.properties)
        for prefix, adapter in list(session.adapters.items()):
            if isinstance(adapter, HTTPAdapter):
                adapter.init_poolmanager(DEFAULT_POOLSIZE, _CONNECTIONS)
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
