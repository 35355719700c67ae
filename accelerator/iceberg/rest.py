"""A REST catalog that doesn't wait for ever for a host that accepts, and never answers.

Promise: each of its requests is given up after a minute without a byte, or after what Iceberg's own
properties say, which Spark's client takes as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.utils.config import Config, merge_config
from requests.adapters import BaseAdapter

from accelerator.iceberg.request_times import request_times

if TYPE_CHECKING:
    from requests import PreparedRequest, Response, Session


def rest_catalog(name: str, properties: Mapping[str, str]) -> RestCatalog:
    """The catalog of those properties, beside what PyIceberg's configuration says of that name."""
    configured = Config().get_catalog_config(name) or {}
    merged: Mapping[str, Any] = merge_config(configured, {**properties})
    return _Bounded(name, **merged)


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
