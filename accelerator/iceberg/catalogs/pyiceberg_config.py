"""Catalogs as a user's settings name them, and as PyIceberg's own configuration does.

That is `.pyiceberg.yaml` and the variables `PYICEBERG_CATALOG__…`, which PyIceberg finds and reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from typing import Literal

from pyiceberg.catalog import infer_catalog_type
from pyiceberg.utils.config import Config
from strictyaml import YAMLError

from accelerator.errors import ConfigError
from accelerator.iceberg.catalogs.readers import CatalogSettings
from accelerator.iceberg.catalogs.request_times import request_times
from accelerator.iceberg.catalogs.sqlite import sqlite_file

_CLIENTS = {
    "glue": ("boto3", "'pyiceberg[glue]'"),
    "hive": ("thrift", "'pyiceberg[hive]'"),
    "postgresql+psycopg2": ("psycopg2", "psycopg2-binary"),
    "postgresql+psycopg": ("psycopg", "'psycopg[binary]'"),
    "postgresql+pg8000": ("pg8000", "pg8000"),
    "mysql": ("MySQLdb", "mysqlclient"),
    "mysql+mysqldb": ("MySQLdb", "mysqlclient"),
    "mysql+pymysql": ("pymysql", "pymysql"),
}
"""The module that a sort of catalog, or of SQLAlchemy's addresses, needs, and what has it."""
_TYPES: tuple[Literal["sql", "rest", "hive", "glue"], ...] = ("sql", "rest", "hive", "glue")


def named_catalog(name: str, properties: Mapping[str, str]) -> CatalogSettings:
    """The catalog of those properties, beside what PyIceberg's configuration says of that name.

    ConfigError for a sort that isn't known, or can't be told.
    """
    merged = {**_configured(name), **properties}
    kind = merged.pop("type", None) or _inferred(name, merged)
    for known in _TYPES:
        if kind == known:
            found = CatalogSettings(name, known, merged)
            _check_sqlite(found)
            _check_client(found)
            request_times(name, merged)
            return found
    raise ConfigError(
        f"the catalog {name} is of type {kind!r}, which isn't known",
        hint=f"its type may be {', '.join(_TYPES)}",
    )


def _check_sqlite(settings: CatalogSettings) -> None:
    """ConfigError for a file that isn't there, or an address that others read otherwise."""
    if not re.match(r"sqlite[+:]", settings.properties.get("uri", "")):
        return
    file = sqlite_file(settings)
    if file is None or any(one in str(file) for one in "%?#") or str(file).startswith("file:"):
        raise ConfigError(
            f"the address of the catalog {settings.name} isn't sqlite:/// and the plain path of a"
            " file",
            hint="write for example sqlite:////data/catalog.db, without parameters",
        )
    if not file.is_file():
        raise ConfigError(
            f"the catalog {settings.name} isn't there: {file} is no file",
            hint="check catalog_uri; nothing is made there",
        )


def _check_client(settings: CatalogSettings) -> None:
    """ConfigError where the package that talks to the catalog isn't installed; nothing is asked."""
    kind: str = settings.type
    if kind == "sql":
        scheme = settings.properties.get("uri", "").partition(":")[0]
        kind = f"postgresql+{_postgres_driver()}" if scheme == "postgresql" else scheme
    asked = _CLIENTS.get(kind)
    if asked is None or "py-catalog-impl" in settings.properties:
        return
    module, package = asked
    if find_spec(module) is None:
        raise ConfigError(
            f"the catalog {settings.name} needs {module}, which isn't installed",
            hint=f"pip install {package}",
        )


def _postgres_driver() -> str:
    """The one that SQLAlchemy takes where an address names none."""
    release = tuple(map(int, re.findall(r"\d+", version("sqlalchemy"))[:2]))
    return "psycopg" if release >= (2, 1) else "psycopg2"


def is_configured(name: str) -> bool:
    """Whether PyIceberg's configuration has a catalog of that name."""
    return bool(_configured(name))


def _configured(name: str) -> dict[str, str]:
    try:
        found = Config().get_catalog_config(name) or {}
    except (OSError, ValueError, YAMLError) as error:
        raise ConfigError(
            f"PyIceberg's configuration can't be read: {error}", hint="mend .pyiceberg.yaml"
        ) from error
    return {str(key): str(value) for key, value in found.items()}


def _inferred(name: str, properties: Mapping[str, str]) -> str:
    try:
        found = infer_catalog_type(name, dict(properties))
    except ValueError:
        found = None
    if found is None:
        raise ConfigError(
            f"of which type the catalog {name} is can't be told",
            hint=f"set catalog_type to one of {', '.join(_TYPES)}"
            + ("" if properties.get("uri") else ", or catalog_uri"),
        )
    return str(found.value)
