"""The catalogs of an embedded session in the words of Iceberg's Java clients.

Pure, and the way back of `session_catalogs`: PyIceberg's properties in, Spark's settings and the
packages that they need out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from accelerator.errors import ConfigError
from accelerator.iceberg import CatalogSettings
from accelerator.iceberg.catalogs.sqlite import sqlite_file

OWN_SCHEMA = "jdbc.schema-version"
"""Which layout a SQL catalog's tables get where Spark makes them; the folder's own says so."""
_DRIVERS = {
    "postgresql": "org.postgresql:postgresql:42.7.7",
    "mysql": "com.mysql:mysql-connector-j:9.3.0",
}
_AWS = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
_S3_IO = "org.apache.iceberg.aws.s3.S3FileIO"
_S3_SCHEMES = ("s3://", "s3a://", "s3n://")


@dataclass(frozen=True, slots=True)
class JavaCatalog:
    """One catalog: Spark's settings below its name, and packages beside those of Iceberg."""

    name: str
    properties: Mapping[str, str] = field(repr=False)
    packages: tuple[str, ...] = ()


def java_catalog(settings: CatalogSettings) -> JavaCatalog:
    """The catalog for Spark. ConfigError for an address that Java's clients have no words for."""
    given = {key: value for key, value in settings.properties.items() if not _is_pythons(key)}
    uri = given.pop("uri", "")
    packages: list[str] = []
    own: dict[str, str] = {"type": settings.type}
    if settings.type == "sql":
        file = sqlite_file(settings)  # by its plain path, which no address decodes
        found = {"uri": f"jdbc:sqlite:{file}"} if file else _jdbc(settings.name, uri, packages)
        own = {"type": "jdbc", **found}
    elif uri:
        own["uri"] = uri
    if settings.type == "glue":
        packages.append(_AWS)
    elif _on_s3(given):
        packages.append(_AWS)
        own |= {"io-impl": _S3_IO}
    if "s3.region" in given:
        own["client.region"] = given["s3.region"]
    if "s3.endpoint" in given and given.get("s3.force-virtual-addressing", "") != "true":
        own["s3.path-style-access"] = "true"
    # Other processes commit too: every read is fresh.
    properties = {"": "org.apache.iceberg.spark.SparkCatalog", "cache-enabled": "false"}
    return JavaCatalog(settings.name, properties | own | given, tuple(dict.fromkeys(packages)))


def store_packages(root: str) -> tuple[str, ...]:
    """Returns the packages by which Spark reaches a store under that root."""
    return (_AWS,) if root.startswith(_S3_SCHEMES) else ()


def check_warehouse(settings: CatalogSettings) -> None:
    """ConfigError if Spark can't open the catalog, because it's a SQL one without a warehouse."""
    if settings.type == "sql" and not settings.properties.get("warehouse"):
        raise ConfigError(
            f"Spark can't open the catalog {settings.name}: it has no warehouse",
            hint="set warehouse, the URI of the folder of its tables, in catalog_properties or"
            f" catalogs.{settings.name}",
        )


def _is_pythons(key: str) -> bool:
    return key.startswith("py-") or key in ("type", "s3.force-virtual-addressing")


def _on_s3(properties: Mapping[str, str]) -> bool:
    told = properties.get("warehouse", "").startswith(_S3_SCHEMES)
    return told or any(key.startswith("s3.") for key in properties)


def _jdbc(name: str, uri: str, packages: list[str]) -> dict[str, str]:
    """JDBC's address of a server for SQLAlchemy's, with the credentials beside it."""
    from sqlalchemy import make_url  # slow to import, and only where Spark starts
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(uri)
        dialect = url.get_backend_name()
    except (ArgumentError, ValueError):  # whose words have the password
        raise ConfigError(
            f"the address of the catalog {name} can't be read",
            hint="it's SQLAlchemy's, e.g. postgresql+psycopg2://user:password@host:5432/database,"
            " with %2F and the like for what is special in it",
        ) from None
    if dialect not in _DRIVERS:
        raise ConfigError(
            f"Spark has no client for the catalog {name}: its address is of {dialect}",
            hint=f"use one of {', '.join(_DRIVERS)}, sqlite:/// and a path, or a REST catalog",
        )
    packages.append(_DRIVERS[dialect])
    host = url.host or "localhost"
    place = f"{f'[{host}]' if ':' in host else host}{f':{url.port}' if url.port else ''}"
    query = url.set(username=None, password=None).render_as_string().partition("?")[2]
    found = {"uri": f"jdbc:{dialect}://{place}/{url.database or ''}{query and '?'}{query}"}
    for key, value in (("jdbc.user", url.username), ("jdbc.password", url.password)):
        if value is not None:
            found[key] = str(value)
    return found
