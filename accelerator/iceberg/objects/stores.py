"""Opens buckets by obstore from the properties that PyIceberg reads its files by."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, field
from obstore.exceptions import BaseError

from accelerator.common.lru_cache import Recent

_BUCKET = re.compile(r"[A-Za-z0-9][\w.-]{0,254}", re.ASCII)
SCHEMES = frozenset({"s3", "s3a", "s3n"})
_UNTRANSLATED = (
    *("py-io-impl", "s3.proxy-uri", "s3.retry-strategy-impl", "s3.signer"),
    *("s3.profile-name", "client.profile-name", "s3.role-arn", "client.role-arn"),
)
"""Properties by which PyIceberg reaches a bucket in ways that aren't tried with obstore."""
_RETRIES_MAX, _RETRY_S = 4, 30.0
_REGION = "us-east-1"
_CONNECT_S, _SILENT_S, _REQUEST_S = 5.0, 20.0, 120.0
"""Seconds to connect, between two pieces of an answer, and of a whole answer."""
_FOLDERS = 1 << 16
_PROFILES = (
    ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
    ("AWS_CONFIG_FILE", "~/.aws/config"),
)


class Bucket(Struct, frozen=True):
    """A bucket that is open; `place` differs between servers that have buckets of one name.

    `read` are the folders in which the store has let these very credentials read an object.
    """

    store: Any
    place: str
    properties: Mapping[str, str]
    read: Recent[bool] = field(default_factory=lambda: Recent(_FOLDERS))

    def __repr__(self) -> str:
        return f"Bucket({self.place!r})"  # without the properties' secrets


_OPEN: Recent[Bucket] = Recent(64)
"""By their names and the properties that they were opened with: each keeps its connections."""


def bucket_and_key(location: str) -> tuple[str, str] | None:
    """The bucket and the key of an S3 location; None of others, and of keys that obstore lacks.

    obstore can't name keys with an empty segment, or one of dots. A bucket's name becomes a part of
    a host's, so `s3://host:80#/x` would send signed requests to that host.

    >>> bucket_and_key("s3a://b/t/a%20b.parquet")
    ('b', 't/a%20b.parquet')
    >>> bucket_and_key("s3://b//t") is bucket_and_key("file:/b/t") is None
    True
    """
    scheme, mark, rest = location.partition("://")
    bucket, _, key = rest.partition("/")
    if not mark or scheme not in SCHEMES or not _BUCKET.fullmatch(bucket):
        return None
    return None if {"", ".", ".."} & set(key.split("/")) else (bucket, key)


def why_unread(location: str, properties: Mapping[str, str]) -> str | None:
    """Returns why PyIceberg has to read the object at that location; None if obstore does."""
    scheme = location.partition("://")[0]
    if scheme not in SCHEMES:
        return f"{scheme} isn't tried with obstore"
    if bucket_and_key(location) is None:
        return f"obstore can't name the key of {location}"
    return _unreached(properties)


def open_bucket(name: str, properties: Mapping[str, str]) -> Bucket | str:
    """The bucket, or why PyIceberg has to reach it."""
    why = _unreached(properties)
    if why is not None:
        return why
    used = {key: text for key, text in properties.items() if key.startswith(("s3.", "client."))}
    try:
        return _OPEN.get_or((name, *sorted(used.items())), lambda: _opened(name, used))
    except BaseError as error:
        return f"obstore can't open it: {str(error).partition(chr(10))[0]}"


def _unreached(properties: Mapping[str, str]) -> str | None:
    named = next((key for key in _UNTRANSLATED if properties.get(key)), None)
    if named is not None:
        return f"the catalog sets {named}"
    if _is_set(properties, "s3.force-virtual-addressing") and properties.get("s3.endpoint"):
        return "the catalog sets s3.force-virtual-addressing for a server of its own"
    if _is_set(properties, "s3.anonymous"):
        return None
    if _first(properties, "access-key-id"):
        has_secret = _first(properties, "secret-access-key")
        return None if has_secret else "the catalog sets a key without its secret"
    if os.environ.get("AWS_ACCESS_KEY_ID"):
        return None
    found = (os.environ.get(variable) or file for variable, file in _PROFILES)
    if os.environ.get("AWS_PROFILE") or any(Path(one).expanduser().is_file() for one in found):
        return "the credentials are those of a profile"
    return None


def _opened(name: str, properties: Mapping[str, str]) -> Bucket:
    from obstore.store import S3Store

    endpoint = properties.get("s3.endpoint", "")
    if endpoint and "://" not in endpoint:
        endpoint = f"https://{endpoint}"
    region = _region(name, endpoint, properties)
    is_own_host = not endpoint and "." not in name
    address = endpoint or _amazon(name if is_own_host else "", region)
    # Whatever isn't set here, obstore takes from the environment's variables, PyIceberg doesn't.
    config: dict[str, Any] = {
        "region": region,
        "endpoint": address,
        "aws_endpoint_url_s3": address,
        "skip_signature": _is_set(properties, "s3.anonymous"),
        "virtual_hosted_style_request": is_own_host,
    }
    client: dict[str, Any] = {
        "allow_http": urlsplit(address).scheme == "http",
        "connect_timeout": _seconds(properties.get("s3.connect-timeout"), _CONNECT_S),
        "read_timeout": timedelta(seconds=_SILENT_S),
        "timeout": _seconds(properties.get("s3.request-timeout"), _REQUEST_S),
    }
    store = S3Store(
        name,
        config=config,  # type: ignore[arg-type]
        client_options=client,  # type: ignore[arg-type]
        retry_config={
            "max_retries": _RETRIES_MAX,
            "retry_timeout": timedelta(seconds=_RETRY_S),
            "backoff": {
                "init_backoff": timedelta(milliseconds=50),
                "max_backoff": timedelta(seconds=2),
                "base": 2,
            },
        },
        credential_provider=_credentials(properties),  # type: ignore[arg-type]
    )
    return Bucket(store, f"{endpoint}/{name}", dict(properties))


def _first(properties: Mapping[str, str], name: str) -> str | None:
    return properties.get(f"s3.{name}") or properties.get(f"client.{name}")


def _is_set(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").lower() in ("1", "t", "true", "y", "yes", "on")


def _credentials(properties: Mapping[str, str]) -> Callable[[], dict[str, str | None]] | None:
    """Gives the catalog's key with its token; None if it has none: then the environment's."""
    found = {
        "access_key_id": _first(properties, "access-key-id"),
        "secret_access_key": _first(properties, "secret-access-key"),
        "token": _first(properties, "session-token"),
        "expires_at": None,
    }
    return (lambda: found) if found["access_key_id"] else None


def _region(bucket: str, endpoint: str, properties: Mapping[str, str]) -> str:
    """The region that is set, else the bucket's by Amazon; other servers accept any."""
    named = _first(properties, "region")
    if named and not _is_set(properties, "s3.resolve-region"):
        return named
    if endpoint and not _is_amazon(endpoint):
        return named or _REGION
    from pyarrow.fs import resolve_s3_region

    try:
        return str(resolve_s3_region(bucket))
    except OSError:
        return named or os.environ.get("AWS_REGION") or _REGION


def _is_amazon(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    return host.endswith((".amazonaws.com", ".amazonaws.com.cn"))


def _amazon(bucket: str, region: str) -> str:
    """The address of a bucket's own host, or of the region's without one.

    >>> _amazon("b", "eu-west-1"), _amazon("", "cn-north-1")
    ('https://b.s3.eu-west-1.amazonaws.com', 'https://s3.cn-north-1.amazonaws.com.cn')
    """
    host = f"s3.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"
    return f"https://{bucket}.{host}" if bucket else f"https://{host}"


def _seconds(text: str | None, otherwise: float) -> timedelta:
    return timedelta(seconds=float(text) if text else otherwise)
