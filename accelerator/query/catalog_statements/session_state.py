"""USE and SET: the current catalog and namespace, and a list of settings.

Promise: Spark starts in the same state, before its first statement.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from zoneinfo import ZoneInfo, available_timezones

import pyarrow as pa
from msgspec import Struct

from accelerator.query.catalog_statements import nodes
from accelerator.query.catalog_statements.listings import texts
from accelerator.query.catalog_statements.names import SessionNames
from accelerator.query.catalog_statements.nodes import Name
from rewrite.reason import CATALOG_NEEDS_SPARK as NEEDS_SPARK
from rewrite.reason import DeclinedError

ZONE = "spark.sql.session.timeZone"
SHUFFLE = "spark.sql.shuffle.partitions"
_COUNT = re.compile(r"[1-9]\d{0,5}", re.ASCII)


class _Setting(Struct, frozen=True):
    """A test of values that may be set here, and the default."""

    takes: Callable[[str], bool]
    default: Callable[[], str]


_NOT_JAVAS = ("Factory", "ROC", "localtime", "posixrules")
_NEWER = ("America/Ciudad_Juarez", "America/Coyhaique", "Europe/Kyiv", "Pacific/Kanton")
"""Zones that Java doesn't know, and those that the first release of Java 17 doesn't."""


def _is_zone(value: str) -> bool:
    """Decides whether any Java knows the zone: with another one Spark wouldn't start."""
    if value in (*_NOT_JAVAS, *_NEWER):
        return False
    return value in available_timezones() and ZoneInfo(value).key == value


def _boolean(default: str, *taken: str) -> _Setting:
    return _Setting(lambda value: value in taken, lambda: default)


SETTINGS: Mapping[str, _Setting] = {
    ZONE: _Setting(_is_zone, lambda: ""),
    SHUFFLE: _Setting(
        lambda value: _COUNT.fullmatch(value) is not None,
        lambda: str(max(4, 2 * (os.cpu_count() or 1))),
    ),
    "spark.sql.adaptive.enabled": _boolean("true", "true", "false"),
    "spark.sql.ansi.enabled": _boolean("true", "true"),
    "spark.sql.caseSensitive": _boolean("false", "false"),
}
"""Another value of ANSI or of case makes other statements: Spark is started for it."""


def use(statement: nodes.UseNamespace, names: SessionNames) -> pa.Table:
    """USE: a catalog, or a namespace of one; nothing changes if it isn't there."""
    catalog, namespace = _meant(statement, names)
    if namespace:
        names.check(catalog, namespace)
    _change(names, catalog, namespace)
    return pa.table({})


def use_catalog(statement: nodes.UseCatalog, names: SessionNames) -> pa.Table:
    """SET CATALOG."""
    if statement.name not in names.lake.catalogs:
        raise DeclinedError(NEEDS_SPARK, "Only Spark may know a catalog of that name.")
    _change(names, statement.name, ())
    return pa.table({})


def _meant(statement: nodes.UseNamespace, names: SessionNames) -> tuple[str, Name]:
    return (names.catalog, statement.name) if statement.namespace else names.place(statement.name)


def _change(names: SessionNames, catalog: str, namespace: Name) -> None:
    """A catalog that is current already keeps its namespace."""
    names.reader(catalog)
    if not namespace and catalog == names.catalog:
        namespace = names.namespace
    if not names.context.use(catalog, namespace):
        raise DeclinedError(NEEDS_SPARK, "Spark was just started.")


def set_key(statement: nodes.SetKey, names: SessionNames) -> pa.Table:
    """SET: a setting's value, or a new one."""
    setting = SETTINGS.get(statement.key)
    if setting is None:
        raise DeclinedError(NEEDS_SPARK, f"The setting {statement.key} is Spark's.")
    value = statement.value
    if value is None:
        value = names.context.value(statement.key) or setting.default()
    elif not setting.takes(value) or not names.context.set(statement.key, value):
        raise DeclinedError(NEEDS_SPARK, f"That value of {statement.key} is for Spark to judge.")
    return texts(("key", "value"), [(statement.key, value)])
