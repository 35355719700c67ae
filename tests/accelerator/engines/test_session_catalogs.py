"""Spark's catalog settings in PyIceberg's words; no Spark needed."""

from __future__ import annotations

import pytest

from accelerator.engines.spark.catalogs import session as catalogs_session
from accelerator.engines.spark.catalogs.session import catalog_settings, other_catalogs

ICEBERG = "org.apache.iceberg.spark.SparkCatalog"


def conf(**properties: str) -> dict[str, str]:
    named = {f"spark.sql.catalog.c.{key.replace('_', '-')}": properties[key] for key in properties}
    return {"spark.sql.catalog.c": ICEBERG, **named}


@pytest.fixture(autouse=True)
def every_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogs_session, "find_spec", lambda name: name)


@pytest.mark.parametrize(
    ("given", "kind", "uri"),
    [
        ({"type": "jdbc", "uri": "jdbc:sqlite:/w/c.db"}, "sql", "sqlite:////w/c.db"),
        ({"type": "jdbc", "uri": "jdbc:sqlite:file:/w/c.db?x=1"}, "sql", "sqlite:////w/c.db"),
        (
            {
                "type": "jdbc",
                "uri": "jdbc:postgresql://h:1/b",
                "jdbc.user": "u@",
                "jdbc.password": "p/",
            },
            "sql",
            "postgresql+psycopg2://u%40:p%2F@h:1/b",
        ),
        (
            {"type": "jdbc", "uri": "jdbc:mysql://h/b?user=u&password=p"},
            "sql",
            "mysql+pymysql://u:p@h/b",
        ),
        ({"type": "jdbc", "uri": "jdbc:oracle:thin:@h"}, "jvm", "jdbc:oracle:thin:@h"),
        ({"type": "rest", "uri": "http://h"}, "rest", "http://h"),
        ({"catalog-impl": "org.apache.iceberg.rest.RESTCatalog", "uri": "u"}, "rest", "u"),
        ({"type": "hive", "uri": "thrift://h"}, "hive", "thrift://h"),
        ({"type": "hive"}, "jvm", None),
        ({"type": "glue"}, "glue", None),
        ({"type": "hadoop", "warehouse": "/w"}, "jvm", None),
        ({"catalog-impl": "com.example.Own", "type": "rest"}, "jvm", None),
    ],
)
def test_a_catalog_is_translated(given: dict[str, str], kind: str, uri: str | None) -> None:
    (found,) = catalog_settings(
        {"spark.sql.catalog.c": ICEBERG}
        | {f"spark.sql.catalog.c.{key}": value for key, value in given.items()}
    )
    assert (found.name, found.type, found.properties.get("uri")) == ("c", kind, uri)


def test_a_missing_driver_leaves_the_catalog_to_the_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogs_session, "find_spec", lambda _: None)
    for given in (
        conf(type="jdbc", uri="jdbc:postgresql://h/b"),
        conf(type="hive", uri="thrift://h"),
        conf(type="glue"),
    ):
        assert [each.type for each in catalog_settings(given)] == ["jvm"]


def test_catalogs_of_others_are_named() -> None:
    given = conf(type="rest") | {
        "spark.sql.catalog.x": "com.example.X",
        "spark.sql.catalog.x.uri": "u",
    }
    assert other_catalogs(given) == {"spark_catalog", "x"}
    session = {"spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog"}
    assert other_catalogs(session) == frozenset()
    assert [each.type for each in catalog_settings(session)] == ["jvm"]
