"""The catalogs of a Spark session's settings, in PyIceberg's words.

Pure: settings in, `CatalogSettings` out. A catalog that PyIceberg doesn't know, or whose driver
isn't installed, becomes type `jvm`: its pointers are then asked of Spark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

from accelerator.iceberg import CatalogSettings

_CATALOG_KEY = re.compile(r"spark\.sql\.catalog\.([^.]+)")
_ICEBERG_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
_SESSION_CATALOG = "org.apache.iceberg.spark.SparkSessionCatalog"
_TYPES_BY_CLASS = {
    "org.apache.iceberg.jdbc.JdbcCatalog": "jdbc",
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
}
# JDBC's scheme → SQLAlchemy's and the module that it imports, the first that is installed.
_DRIVERS = {
    "postgresql": (("postgresql+psycopg2", "psycopg2"), ("postgresql+psycopg", "psycopg")),
    "mysql": (("mysql+pymysql", "pymysql"), ("mysql+mysqldb", "MySQLdb")),
}


def catalog_settings(conf: Mapping[str, str]) -> list[CatalogSettings]:
    """Each Iceberg catalog of those Spark settings."""
    found = []
    for name, class_name in _catalogs(conf).items():
        properties = _properties(conf, name)
        if class_name == _ICEBERG_CATALOG:
            found.append(_translated(name, properties))
        elif class_name == _SESSION_CATALOG:
            found.append(CatalogSettings(name, "jvm", properties))
    return found


def other_catalogs(conf: Mapping[str, str]) -> frozenset[str]:
    """Names that Spark takes for catalogs, and that hold no Iceberg tables."""
    iceberg = (_ICEBERG_CATALOG, _SESSION_CATALOG)
    named = _catalogs(conf)
    others = {name for name, class_name in named.items() if class_name not in iceberg}
    return frozenset(others | ({"spark_catalog"} - named.keys()))


def _catalogs(conf: Mapping[str, str]) -> dict[str, str]:
    matched = ((_CATALOG_KEY.fullmatch(key), value) for key, value in conf.items())
    return {match[1]: value for match, value in matched if match is not None}


def _properties(conf: Mapping[str, str], name: str) -> dict[str, str]:
    prefix = f"spark.sql.catalog.{name}."
    return {key.removeprefix(prefix): conf[key] for key in conf if key.startswith(prefix)}


def _translated(name: str, properties: dict[str, str]) -> CatalogSettings:
    implementation = properties.get("catalog-impl", "")
    kind = _TYPES_BY_CLASS.get(implementation) if implementation else properties.get("type", "hive")
    uri = properties.get("uri", "")
    if kind == "jdbc":
        address = _sql_address(uri, properties)
        if address is not None:
            return CatalogSettings(name, "sql", {**_passed_on(properties), "uri": address})
    elif kind == "rest":
        return CatalogSettings(name, "rest", _passed_on(properties))
    elif kind == "hive" and uri and find_spec("thrift") is not None:
        return CatalogSettings(name, "hive", _passed_on(properties))
    elif kind == "glue" and find_spec("boto3") is not None:
        return CatalogSettings(name, "glue", _passed_on(properties))
    return CatalogSettings(name, "jvm", _passed_on(properties))


def _passed_on(properties: Mapping[str, str]) -> dict[str, str]:
    """PyIceberg and Java share the names of the rest, but not those of their classes."""
    dropped = ("type", "catalog-impl", "io-impl")
    return {key: value for key, value in properties.items() if key not in dropped}


def _sql_address(uri: str, properties: Mapping[str, str]) -> str | None:
    """SQLAlchemy's address for a JDBC one, or None where there is no driver for it."""
    scheme, _, rest = uri.removeprefix("jdbc:").partition(":")
    if scheme == "sqlite":
        path = rest.removeprefix("file:").partition("?")[0]
        return f"sqlite:///{Path(path).absolute()}" if path and path != ":memory:" else None
    for dialect, module in _DRIVERS.get(scheme, ()):
        if find_spec(module) is not None:
            return _server_address(dialect, rest, properties)
    return None


def _server_address(dialect: str, rest: str, properties: Mapping[str, str]) -> str:
    """JDBC keeps the credentials in properties or in the query, SQLAlchemy before the host."""
    split = urlsplit(rest)
    query = dict(parse_qsl(split.query))
    user = properties.get("jdbc.user") or query.get("user", "")
    password = properties.get("jdbc.password") or query.get("password", "")
    login = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    return f"{dialect}://{login}{split.netloc}{split.path}"
