"""Options of a store on S3, in the names of obstore, of catalogs and of Iceberg's S3FileIO.

A store in the bucket of its catalog's warehouse uses the catalog's options. A store elsewhere gets
none: keys are sent to no bucket but the one that they were given for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

_SCHEMES = ("s3", "s3a", "s3n")
_NAMES = {
    "endpoint": "aws_endpoint",
    "region": "aws_region",
    "access-key-id": "aws_access_key_id",
    "secret-access-key": "aws_secret_access_key",
    "session-token": "aws_session_token",
}
_PREFIXES = ("client.", "s3.")
"""The later one wins, as for PyIceberg."""


def store_options_of(root: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Returns obstore's options for an S3 root in the bucket of the catalog's warehouse; else none.

    >>> catalog = {"warehouse": "s3://lake/files", "s3.endpoint": "http://h:1", "s3.region": "r"}
    >>> store_options_of("s3://lake/files/.accelerator", catalog)
    {'aws_endpoint': 'http://h:1', 'aws_region': 'r', 'allow_http': 'true'}
    >>> store_options_of("s3://elsewhere/store", catalog)
    {}
    """
    if _bucket(root) is None or _bucket(root) != _bucket(properties.get("warehouse", "")):
        return {}
    found = {
        ours: properties[prefix + theirs]
        for prefix in _PREFIXES
        for theirs, ours in _NAMES.items()
        if properties.get(prefix + theirs)
    }
    if found.get("aws_endpoint", "").startswith("http://"):
        found["allow_http"] = "true"
    if properties.get("s3.force-virtual-addressing") == "true":
        found["aws_virtual_hosted_style_request"] = "true"
    return found


def file_io_properties(root: str, options: Mapping[str, str]) -> dict[str, str]:
    """Returns properties of Iceberg's S3FileIO for a store on S3 whose options name a key.

    None for any other store: the catalog's own FileIO has to do.

    >>> file_io_properties("s3://b/s", {"AWS_ACCESS_KEY_ID": "k", "endpoint": "http://h"})
    {'s3.endpoint': 'http://h', 's3.path-style-access': 'true', 's3.access-key-id': 'k'}
    >>> file_io_properties("s3://b/s", {"aws_region": "r"})
    {}
    """
    given = {key.lower().removeprefix("aws_"): value for key, value in options.items()}
    if _bucket(root) is None or not given.get("access_key_id"):
        return {}
    found = {}
    for theirs, ours in _NAMES.items():
        value = given.get(ours.removeprefix("aws_"))
        if value is not None:
            found["client.region" if theirs == "region" else f"s3.{theirs}"] = value
        if theirs == "endpoint" and value is not None:
            virtual = given.get("virtual_hosted_style_request", "") == "true"
            found["s3.path-style-access"] = "false" if virtual else "true"
    return found


def own_key(root: str, options: Mapping[str, str]) -> Callable[[], Any] | None:
    """Gives the key of an S3 store's options, whose token no option states; None without a key.

    obstore would take a token from the environment, which belongs to another key.
    """
    given = {key.lower().removeprefix("aws_"): value for key, value in options.items()}
    key, secret = given.get("access_key_id"), given.get("secret_access_key")
    if _bucket(root) is None or not (key and secret) or given.keys() & {"session_token", "token"}:
        return None
    found = {"access_key_id": key, "secret_access_key": secret, "token": None, "expires_at": None}
    return lambda: found


def _bucket(uri: str) -> str | None:
    """The bucket of an S3 URI, None of any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return parts.netloc if parts.scheme.lower() in _SCHEMES and parts.netloc else None
