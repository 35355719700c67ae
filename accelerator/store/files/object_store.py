"""A store in S3, GCS, Azure or memory: `StoreFiles` by obstore, whose errors become ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.store import from_url

from accelerator.common.redaction import redacted
from accelerator.errors import StoreError
from accelerator.store.files.entries import FileEntry
from accelerator.store.files.names import inside
from accelerator.store.files.s3_options import own_key

# Options about the connection, which obstore takes apart from those about the cloud.
_CLIENT_OPTIONS = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "http1_only",
        "http2_only",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "proxy_url",
        "proxy_ca_certificate",
        "proxy_excludes",
        "randomize_addresses",
        "read_timeout",
        "root_certificate",
        "timeout",
        "user_agent",
    }
)
_CHUNK = 8 * 1024 * 1024
_RETRIES: Any = {"max_retries": 10, "retry_timeout": timedelta(seconds=30)}
"""A statement has another way to its answer than to wait for minutes."""
_CLOUD_PREFIXES = {"s3": "aws_", "s3a": "aws_", "gs": "google_"}


class ObjectFiles:
    """An object store. `create` is its conditional put, which all of S3, GCS and Azure have."""

    def __init__(self, root: str, options: Mapping[str, str]) -> None:
        self._root, self.options = root.rstrip("/"), dict(options)
        cloud, client = _split_options(root, options)
        with _remote_errors(root, options):
            self._store: Any = from_url(
                root,
                config=cloud,
                client_options=client,
                retry_config=_RETRIES,
                credential_provider=own_key(root, options),
            )

    def create(self, path: str, data: bytes) -> bool:
        """See `StoreFiles.create`."""
        with _remote_errors(self._root, self.options):
            try:
                obstore.put(self._store, inside(path), data, mode="create")
            except AlreadyExistsError:
                return False
        return True

    def read(self, path: str) -> bytes:
        """See `StoreFiles.read`."""
        with _remote_errors(self._root, self.options):
            return bytes(obstore.get(self._store, inside(path)).bytes())

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """See `StoreFiles.read_range`; one request."""
        with _remote_errors(self._root, self.options):
            if length == 0:
                return b""
            return bytes(obstore.get_range(self._store, inside(path), start=offset, length=length))

    def download(self, path: str, out: BinaryIO, check: Callable[[], None]) -> None:
        """Writes all bytes of a file to `out`; `check` is called in between, and may raise."""
        with _remote_errors(self._root, self.options):
            for chunk in obstore.get(self._store, inside(path)).stream(min_chunk_size=_CHUNK):
                check()
                out.write(chunk)

    def upload(self, path: str, file: Path) -> None:
        """Writes a new file, whole once its name is there; a large one in several requests.

        The name must be the writer's alone: a file of that name is replaced.
        """
        with _remote_errors(self._root, self.options):
            obstore.put(self._store, inside(path), file, chunk_size=_CHUNK)

    def exists(self, path: str) -> bool:
        """See `StoreFiles.exists`; one head request."""
        with _remote_errors(self._root, self.options):
            try:
                obstore.head(self._store, inside(path))
            except FileNotFoundError:
                return False
        return True

    def size(self, path: str) -> int:
        """See `StoreFiles.size`."""
        with _remote_errors(self._root, self.options):
            return int(obstore.head(self._store, inside(path))["size"])

    def delete(self, paths: Iterable[str]) -> None:
        """See `StoreFiles.delete`; obstore batches the requests where the store can."""
        wanted = [inside(path) for path in paths]
        if not wanted:
            return
        with _remote_errors(self._root, self.options):
            try:
                obstore.delete(self._store, wanted)
            except FileNotFoundError:
                if len(wanted) > 1:
                    for path in wanted:
                        self.delete([path])

    def list(self, prefix: str) -> list[str]:
        """See `StoreFiles.list`."""
        with _remote_errors(self._root, self.options):
            batches = obstore.list(self._store, prefix=inside(prefix))
            return sorted(str(one["path"]) for batch in batches for one in batch)

    def folders(self, prefix: str) -> tuple[str, ...]:
        """See `StoreFiles.folders`."""
        with _remote_errors(self._root, self.options):
            found = obstore.list_with_delimiter(self._store, prefix=inside(prefix))
            paths = [str(one).rstrip("/") for one in found["common_prefixes"]]
            return tuple(sorted(path.rpartition("/")[2] for path in paths))

    def entries(self, prefix: str) -> Iterator[FileEntry]:
        """See `StoreFiles.entries`; a put is whole or not there, so nothing is half-written."""
        with _remote_errors(self._root, self.options):
            for batch in obstore.list(self._store, prefix=inside(prefix)):
                for one in batch:
                    modified = int(one["last_modified"].timestamp() * 1000)
                    yield FileEntry(str(one["path"]), int(one["size"]), modified)

    def uri(self, path: str) -> str:
        """See `StoreFiles.uri`."""
        return f"{self._root}/{path}"


# obstore's options are a TypedDict per cloud, ours the user's own mapping: hence Any.
def _split_options(root: str, options: Mapping[str, str]) -> tuple[Any, Any]:
    """Options of the cloud, and those of the connection, which may carry the cloud's prefix too.

    obstore panics at some of the latter among the former, instead of raising an error.
    """
    prefix = _CLOUD_PREFIXES.get(urlsplit(root).scheme.lower(), "azure_")
    cloud: dict[str, Any] = {}
    client: dict[str, Any] = {}
    for key, value in options.items():
        bare = key.lower().removeprefix(prefix)
        if bare in _CLIENT_OPTIONS:
            truth = {"true": True, "false": False}
            client[bare] = truth.get(value.lower(), value)
        else:
            cloud[key] = value
    return cloud or None, client or None


@contextmanager
def _remote_errors(root: str, options: Mapping[str, str]) -> Iterator[None]:
    try:
        yield
    except (PermissionDeniedError, UnauthenticatedError) as error:
        told = redacted(_first_line(error), options)
        raise StoreError(
            f"the store at {redacted(root, options)} refuses access: {told}",
            hint="check the credentials in the environment or in `store_options`",
        ) from error
    except (BaseError, OverflowError, ValueError) as error:
        told = redacted(_first_line(error), options)
        raise StoreError(
            f"the store at {redacted(root, options)} can't be used: {told}",
            hint="check the URI, the network and `store_options`",
        ) from error


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
