"""Errors that only reading Iceberg tables raises; all stand under `AcceleratorError`."""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from pyiceberg import exceptions

from accelerator.common.redaction import redacted
from accelerator.errors import AcceleratorError, EngineError


class CatalogError(AcceleratorError):
    """A catalog, or the metadata that it points to, can't be read."""

    code = "catalog_unavailable"


class CatalogUnreachableError(CatalogError):
    """A catalog doesn't answer, or not to those credentials, so that no engine gets further."""

    unreachable = True


class CommitUnknownError(CatalogError):
    """A catalog hasn't said whether a change was made."""


class CatalogReadOnlyError(CatalogError):
    """A table's properties can't be changed through its catalog."""

    code = "catalog_read_only"


class NeedsSparkError(EngineError):
    """These rows can't be read in process; Spark reads them."""

    code = "rows_need_spark"


class EqualityDeletesError(NeedsSparkError):
    """Equality deletes apply to the files, which PyIceberg doesn't read."""

    code = "equality_deletes_need_spark"


class ObjectStoreError(EngineError, OSError):
    """An object store doesn't answer, refuses, or sends too few bytes."""

    code = "object_store_unavailable"


class ManifestError(CatalogError):
    """A manifest is damaged, or written in a way that isn't known."""

    code = "manifest_unreadable"


_OF_BYTES = (
    *(OSError, ValueError, EOFError, LookupError, TypeError, ArithmeticError, AttributeError),
    *(
        AssertionError,
        RuntimeError,
        SystemError,
        MemoryError,
        ImportError,
        struct.error,
        zlib.error,
    ),
)
"""What damaged bytes come to in readers of Avro and JSON, and files and what reads them missing."""
_OF_CLIENTS = (
    ("azure.core.exceptions", "AzureError"),
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("google.auth.exceptions", "GoogleAuthError"),
    ("pyarrow.lib", "ArrowException"),
    ("sqlalchemy.exc", "SQLAlchemyError"),
    ("thrift.Thrift", "TException"),
)


_UNREACHABLE = (
    ("requests.exceptions", "ConnectionError"),
    ("requests.exceptions", "InvalidSchema"),
    ("requests.exceptions", "InvalidURL"),
    ("requests.exceptions", "MissingSchema"),
    ("requests.exceptions", "Timeout"),
    ("sqlalchemy.exc", "OperationalError"),
    ("thrift.transport.TTransport", "TTransportException"),
)
_REFUSED = (
    exceptions.AuthorizationExpiredError,
    exceptions.ForbiddenError,
    exceptions.OAuthError,
    exceptions.ServiceUnavailableError,
    exceptions.UnauthorizedError,
)


def why_unreachable(error: BaseException | None) -> str | None:
    """What a client of a catalog says where nobody answers, or doesn't know who asks; else None."""
    if isinstance(error, _REFUSED):
        return str(error)
    if not isinstance(error, _loaded(_UNREACHABLE)):
        return None
    asked = getattr(error, "statement", None) is not None  # of SQL, so that somebody answered
    if asked and not getattr(error, "connection_invalidated", False):
        return None
    below: BaseException | None = error
    while below is not None:  # what began it says most: `[Errno 111] Connection refused`
        error, below = below, below.__cause__ or below.__context__
    return str(error) or type(error).__name__


def failures() -> tuple[type[BaseException], ...]:
    """What catalogs, files and their clients raise, which have no root in common."""
    own = (one for one in vars(exceptions).values() if isinstance(one, type))
    return (*_OF_BYTES, *_loaded(_OF_CLIENTS), *own)


def _loaded(named: Sequence[tuple[str, str]]) -> tuple[type[BaseException], ...]:
    """Errors by module and name; a module that isn't loaded raises none."""
    return tuple(getattr(sys.modules[home], name) for home, name in named if home in sys.modules)


@contextmanager
def read_errors(
    what: str, hint: str, properties: Mapping[str, str] = MappingProxyType({})
) -> Iterator[None]:
    """CatalogError for whatever reading a catalog or its files raises.

    Its message has no secret that stands among the `properties`.
    """
    try:
        yield
    except failures() as error:
        said = redacted(str(error), properties) or type(error).__name__
        raise CatalogError(f"{what} can't be read: {said}", hint=hint) from error
