"""Opening catalogs of the kinds that run here, without a JVM: what is read, where the store is."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy.exc import OperationalError

import accelerator
from accelerator.engines.spark.catalogs.java import java_catalog
from accelerator.errors import AcceleratorError, ConfigError, EngineError, UnknownTableError
from accelerator.iceberg import CatalogError, CatalogSettings
from accelerator.iceberg.catalogs import pyiceberg_config
from accelerator.iceberg.catalogs.rest import rest_catalog, table_answer
from accelerator.iceberg.errors import why_unreachable
from tests.support.rest_catalog import CREDENTIAL, RestCatalogServer

_SALES = pa.table({"store": pa.array([1, 2, 2], pa.int32()), "amount": pa.array([5, 7, 9])})
_STORES = pa.table({"id": pa.array([1, 2], pa.int32()), "region": ["north", "south"]})
_TOTALS = "SELECT store, sum(amount) AS total FROM shop.sales GROUP BY store ORDER BY store"
_EXPECTED = [{"store": 1, "total": 5}, {"store": 2, "total": 16}]
_SHOP_SALES = ("shop", "sales")
Made = Callable[..., SqlCatalog]
_READ_TIME = "rest.client.socket-timeout-ms"


@pytest.fixture
def make(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_java: None,
) -> Iterator[Made]:
    """Makes a SQL catalog of any name and file, with its warehouse in a folder of its own."""
    made: list[SqlCatalog] = []
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path / "work"))

    def one(name: str, tables: dict[str, pa.Table], file: str = "meta.sqlite") -> SqlCatalog:
        folder = tmp_path / name
        (folder / "files").mkdir(parents=True)
        found = SqlCatalog(
            name, uri=f"sqlite:///{folder / file}", warehouse=(folder / "files").as_uri()
        )
        found.create_namespace("shop")
        for table, rows in tables.items():
            found.create_table(f"shop.{table}", rows.schema).append(rows)
        made.append(found)
        return found

    yield one
    for catalog in made:
        catalog.engine.dispose()
    assert list((tmp_path / "work").iterdir()) == []  # nothing is made where nobody asked for it


def _properties(catalog: SqlCatalog) -> dict[str, str]:
    return {"warehouse": catalog.properties["warehouse"]}


def test_a_sqlite_file_of_any_name(make: Made, tmp_path: Path) -> None:
    catalog = make("prod", {"sales": _SALES})
    with accelerator.open(
        catalog_name="prod",
        catalog_uri=catalog.properties["uri"],
        catalog_properties=_properties(catalog),
    ) as acc:
        answer = acc.query(_TOTALS)
        assert (answer.arrow().to_pylist(), answer.metrics.engine) == (_EXPECTED, "duckdb")
        acc.query(f"CREATE CUBE totals AS {_TOTALS.partition(' ORDER')[0]}")
        assert acc.query(_TOTALS).metrics.cubes == ("totals",)
        assert acc.query("SELECT count(*) AS n FROM prod.shop.sales").arrow().to_pylist() == [
            {"n": 3}
        ]
        assert not acc.spark_started
    assert (tmp_path / "prod" / "files" / ".accelerator").is_dir()


def test_where_the_store_is_does_not_hang_on_what_spark_is_told(make: Made, tmp_path: Path) -> None:
    """Spark may be told of the layout of somebody's catalog, as of that of a folder's own."""
    catalog = make("prod", {"sales": _SALES})
    with accelerator.open(
        catalog_name="prod",
        catalog_uri=catalog.properties["uri"],
        catalog_properties={**_properties(catalog), "jdbc.schema-version": "V1"},
    ) as acc:
        assert acc.config.store_root == f"{(tmp_path / 'prod' / 'files').as_uri()}/.accelerator"


@pytest.mark.parametrize("how", ["file", "environment", "toml"])
def test_named_elsewhere(
    make: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """By PyIceberg's own file, its variables, and our settings."""
    catalog = make("prod", {"sales": _SALES})
    uri, warehouse = catalog.properties["uri"], catalog.properties["warehouse"]
    settings: dict[str, Any] = {"catalog_name": "prod"}
    if how == "file":
        text = f"catalog:\n  prod:\n    uri: {uri}\n    warehouse: {warehouse}\n"
        (tmp_path / ".pyiceberg.yaml").write_text(text)
        monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    elif how == "environment":
        monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", uri)
        monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", warehouse)
    else:
        file = tmp_path / "named.toml"
        file.write_text(
            f'catalog_name = "prod"\ncatalog_type = "sql"\ncatalog_uri = "{uri}"\n'
            f'[catalog_properties]\nwarehouse = "{warehouse}"\n'
        )
        settings = {"config": file}
    with accelerator.open(**settings) as acc:
        assert acc.query(_TOTALS).arrow().to_pylist() == _EXPECTED


def test_a_rest_catalog(make: Made, tmp_path: Path) -> None:
    """Its token ends again and again, and storage credentials are those of the newest load."""
    catalog = make("behind", {"sales": _SALES})
    with (
        RestCatalogServer(catalog, token_requests=3).running() as server,
        accelerator.open(
            catalog_name="prod",
            catalog_uri=server.uri,
            catalog_properties={"credential": CREDENTIAL, "warehouse": "shops"},
            store=str(tmp_path / "store"),
        ) as acc,
    ):
        for _ in range(5):
            answer = acc.query(_TOTALS)
            assert (answer.arrow().to_pylist(), answer.metrics.engine) == (_EXPECTED, "duckdb")
        assert server.vended >= 5
        assert len(server.tokens) > 1
        acc.query("CREATE INDEX i ON shop.sales USING BLOOM (amount)")
        acc.query(f"CREATE CUBE totals AS {_TOTALS.partition(' ORDER')[0]}")
        assert acc.query(_TOTALS).metrics.cubes == ("totals",)
        assert not acc.spark_started
        assert "secret-of-the-reader" not in repr(acc.config)


class _Meeting(RestCatalogServer):
    """Answers about a table once another request has come, while there is a `meeting`."""

    meeting: threading.Barrier | None = None

    def answer(self, method: str, parts: list[str], body: Any) -> tuple[int, Any]:
        if self.meeting is not None and parts[-2:-1] == ["tables"]:
            self.meeting.wait()
        return super().answer(method, parts, body)


@pytest.mark.parametrize("token_requests", [5, 1_000_000])
def test_a_known_statements_tables_are_asked_for_at_once(
    make: Made, tmp_path: Path, token_requests: int
) -> None:
    """Of a REST catalog, whose requests wait for a network; its tokens may end meanwhile."""
    catalog = make("behind", {"sales": _SALES, "stores": _STORES})
    with (
        _Meeting(catalog, token_requests=token_requests).running() as server,
        accelerator.open(
            catalog_name="prod",
            catalog_uri=server.uri,
            catalog_properties={"credential": CREDENTIAL},
            store=str(tmp_path / "store"),
        ) as acc,
    ):
        assert isinstance(server, _Meeting)
        for amount in range(5):
            answer = acc.query(
                "SELECT region, sum(amount) AS total FROM shop.sales JOIN shop.stores"
                f" ON store = id WHERE amount > {amount} GROUP BY region ORDER BY region"
            )
            assert answer.metrics.engine == "duckdb"
            assert answer.arrow()["total"].to_pylist()[-1] == 16
            if amount == 2:  # the shape has a plan now
                server.meeting = threading.Barrier(2, timeout=60)


def test_connections_of_many_statements_are_used_again(
    make: Made, caplog: pytest.LogCaptureFixture
) -> None:
    """Three statements over eight tables each; urllib3 warns of each connection that it drops."""
    catalog = make("behind", {"sales": _SALES})
    with _Meeting(catalog).running() as server:
        assert isinstance(server, _Meeting)
        client = rest_catalog("prod", {"uri": server.uri, "credential": CREDENTIAL})
        server.meeting = threading.Barrier(24, timeout=60)
        with ThreadPoolExecutor(24) as threads:
            found = list(threads.map(lambda _: table_answer(client, _SHOP_SALES), range(24)))
        assert None not in found
    assert [one.getMessage() for one in caplog.records] == []


def test_two_catalogs_in_one_statement(make: Made) -> None:
    first, second = make("prod", {"sales": _SALES}), make("more", {"stores": _STORES})
    with accelerator.open(
        catalog_name="prod",
        catalog_uri=first.properties["uri"],
        catalog_properties=_properties(first),
        catalogs={"more": {"uri": second.properties["uri"], **_properties(second)}},
    ) as acc:
        answer = acc.query(
            "SELECT region, sum(amount) AS total FROM shop.sales JOIN more.shop.stores"
            " ON store = id GROUP BY region ORDER BY region"
        )
        assert answer.metrics.engine == "duckdb"
        assert [tuple(one.values()) for one in answer.arrow().to_pylist()] == [
            ("north", 5),
            ("south", 16),
        ]


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        ({"catalog_type": "rest"}, "where the catalog lake has its warehouse", "store"),
        ({"catalog_uri": "ftp://x"}, "can't be told", "catalog_type"),
        ({"catalog_properties": {"a": "b"}}, "can't be told", "catalog_uri"),
        ({"catalogs": {"x": {"type": "odd"}}}, "'odd', which isn't known", "sql, rest"),
        ({"catalogs": {"lake": {"type": "rest"}}}, "two catalogs are named lake", "catalog_name"),
        ({"catalogs": {"a b": {}}}, "can't be that", "a table of tables"),
        ({"catalogs": "[1]"}, "can't be that", "a table of tables"),
        ({"catalog_type": "jdbc"}, "can't be 'jdbc'", "one of sql, rest, hive, glue"),
        ({"catalog_uri": "sqlite:////no/typo.db"}, "/no/typo.db is no file", "check catalog_uri"),
        ({"catalog_uri": "sqlite:////no/a%20b.db"}, "the plain path of a file", "without"),
        ({"catalog_uri": "sqlite:////no/a.db?timeout=5"}, "the plain path of a file", "without"),
        ({"catalog_uri": "sqlite://a/m.db"}, "the plain path of a file", "without"),
        ({"catalog_uri": "https://c", "catalog_name": "pruned"}, "named pruned", "another"),
        ({"catalog_uri": ["postgresql://me:secret@x"]}, "can't be that", "text"),
        ({"catalog_uri": "postgresql://me:secret@x/d"}, "needs psycopg, which isn't", "psycopg["),
        ({"catalog_uri": "postgresql+psycopg2://x/d"}, "needs psycopg2, which", "psycopg2-binary"),
        (
            {"catalog_type": "sql", "catalog_uri": "mysql+pymysql://me:secret@x/d"},
            "needs pymysql, which isn't",
            "pip install pymysql",
        ),
        ({"catalogs": {"h": {"uri": "thrift://h"}}}, "catalog h needs thrift", "iceberg[hive]"),
        ({"catalog_type": "glue"}, "the catalog lake needs boto3", "pip install 'pyiceberg[glue]'"),
        (
            {"catalog_uri": "https://c", "catalog_properties": {_READ_TIME: "soon"}},
            f"{_READ_TIME} of the catalog lake is 'soon'",
            "milliseconds",
        ),
    ],
)
def test_what_cannot_be_opened(
    make: Made,
    settings: dict[str, Any],
    message: str,
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert make
    monkeypatch.setattr(pyiceberg_config, "find_spec", lambda _: None)
    monkeypatch.setattr(pyiceberg_config, "version", lambda _: "2.1.9")
    with pytest.raises(ConfigError, match=message) as told:
        accelerator.open(**settings)
    assert hint in (told.value.hint or "")
    assert "secret" not in str(told.value)


def test_a_catalog_whose_client_is_there_is_opened_and_not_asked(
    make: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert make
    monkeypatch.setattr(pyiceberg_config, "find_spec", lambda name: name)
    for uri in ("postgresql://127.0.0.1:9/d", "thrift://127.0.0.1:9"):
        accelerator.open(catalog_uri=uri, store=str(tmp_path / "store")).close()


def test_a_host_that_accepts_and_never_answers(make: Made, tmp_path: Path) -> None:
    assert make
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
        store = str(tmp_path / "store")
        times = {_READ_TIME: "100"}
        with (
            accelerator.open(catalog_uri=uri, catalog_properties=times, store=store) as acc,
            pytest.raises(CatalogError, match=r"can't be reached: .*timed out") as told,
        ):
            acc.query(_TOTALS)
        assert "catalog_uri" in (told.value.hint or "")


def test_a_catalog_that_does_not_answer_or_refuses(make: Made, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    with accelerator.open(catalog_uri="http://127.0.0.1:9/", store=store) as acc:
        with pytest.raises(AcceleratorError) as told:
            acc.query("SHOW INDEXES ON shop.sales")
        assert isinstance(told.value, CatalogError)
        assert "lake" in told.value.message
        for ask in (acc.query, acc.stream, acc.explain):
            with pytest.raises(CatalogError, match=r"lake at http://127.0.0.1:9/ can't be reached"):
                ask(_TOTALS)
        with pytest.raises(AcceleratorError, match="Spark needs Java") as told:
            acc.query("SELECT count(*) AS n FROM range(5) TABLESAMPLE (50 PERCENT)")
        assert "Spark was asked since: " in (told.value.hint or "")
    catalog = make("behind", {"sales": _SALES})
    wrong = {"credential": "reader:wrong-password"}
    with (
        RestCatalogServer(catalog).running() as server,
        accelerator.open(catalog_uri=server.uri, catalog_properties=wrong, store=store) as acc,
        pytest.raises(CatalogError) as told,
    ):
        acc.query("SHOW INDEXES ON shop.sales")
    assert "wrong-password" not in f"{told.value.message} {told.value.hint}"


def test_a_rest_catalog_says_that_there_is_no_such_table(make: Made, tmp_path: Path) -> None:
    """Where it has views it's asked for one, too; where nobody knows Spark is asked."""
    given = {"credential": CREDENTIAL, "warehouse": "shops"}
    for views, raised in (("true", UnknownTableError), ("false", EngineError)):
        properties = given | {"view-endpoints-supported": views}
        store = str(tmp_path / "store")
        with (
            RestCatalogServer(make(f"rest-{views}", {"sales": _SALES})).running() as server,
            accelerator.open(
                catalog_uri=server.uri, catalog_properties=properties, store=store
            ) as acc,
            pytest.raises(raised) as told,
        ):
            acc.query("SELECT count(*) AS n FROM shop.salse")
        assert told.value.suggestions == (("shop.sales",) if views == "true" else ())


def test_a_catalog_that_answers_is_not_held_for_unreachable() -> None:
    """One of Java's own layout in MySQL, whose columns PyIceberg doesn't find: Spark reads it."""
    began = Exception("[Errno 111] Connection refused")
    connecting = OperationalError(None, None, began)
    lost = OperationalError("SELECT 1", {}, Exception("gone"), connection_invalidated=True)
    asked = OperationalError("SELECT iceberg_type", {}, Exception("1054: Unknown column"))
    assert why_unreachable(connecting)
    assert why_unreachable(lost)
    assert why_unreachable(asked) is None
    assert why_unreachable(None) is None


@pytest.mark.parametrize(
    ("kind", "given", "found", "packages"),
    [
        ("sql", {"uri": "sqlite:////a/b.db", "warehouse": "file:///w"},
         {"type": "jdbc", "uri": "jdbc:sqlite:/a/b.db", "warehouse": "file:///w"}, 0),
        ("sql", {"uri": "sqlite:////a%20b/c?d#e/catalog.db"},
         {"type": "jdbc", "uri": "jdbc:sqlite:/a%20b/c?d#e/catalog.db"}, 0),
        ("sql", {"uri": "postgresql+psycopg2://me:p%40ss@h:5433/db?sslmode=require"},
         {"type": "jdbc", "uri": "jdbc:postgresql://h:5433/db?sslmode=require",
          "jdbc.user": "me", "jdbc.password": "p@ss"}, 1),
        ("sql", {"uri": "postgresql://[::1]/db"},
         {"type": "jdbc", "uri": "jdbc:postgresql://[::1]/db"}, 1),
        ("sql", {"uri": "postgresql://me:hunter2#x@h/db"},
         {"type": "jdbc", "uri": "jdbc:postgresql://h/db",
          "jdbc.user": "me", "jdbc.password": "hunter2#x"}, 1),
        ("rest", {"uri": "https://c", "credential": "a:b", "py-io-impl": "x.Y", "type": "rest"},
         {"type": "rest", "uri": "https://c", "credential": "a:b"}, 0),
        ("rest", {"uri": "https://c", "s3.endpoint": "http://s", "s3.region": "r"},
         {"type": "rest", "uri": "https://c", "s3.endpoint": "http://s", "s3.region": "r",
          "client.region": "r", "s3.path-style-access": "true",
          "io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}, 1),
        ("hive", {"uri": "thrift://h:9083"}, {"type": "hive", "uri": "thrift://h:9083"}, 0),
        ("glue", {"warehouse": "s3://b/w"}, {"type": "glue", "warehouse": "s3://b/w"}, 1),
    ],
)  # fmt: skip
def test_in_the_words_of_java(
    kind: Any, given: dict[str, str], found: dict[str, str], packages: int
) -> None:
    made = java_catalog(CatalogSettings("c", kind, given))
    own = {"": "org.apache.iceberg.spark.SparkCatalog", "cache-enabled": "false"}
    assert dict(made.properties) == own | found
    assert len(made.packages) == packages


@pytest.mark.parametrize(
    "uri", ["oracle://me:secret@h/db", "me:secret@h/db", "postgresql://me:secret@h:port/db"]
)
def test_a_catalog_that_java_has_no_words_for(uri: str) -> None:
    with pytest.raises(ConfigError, match="the catalog c") as told:
        java_catalog(CatalogSettings("c", "sql", {"uri": uri}))
    assert "secret" not in f"{told.value.message} {told.value.hint}"


def test_a_configuration_of_pyicebergs_that_is_no_yaml(
    make: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert make
    (tmp_path / ".pyiceberg.yaml").write_text("catalog:\n  prod: [1,2\n")
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="PyIceberg's configuration can't be read"):
        accelerator.open(catalog_name="prod")


def test_credentials_are_not_on_the_command_line_of_spark(
    make: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the builder is given stands there; the rest is set once Spark runs."""
    from accelerator.engines.spark.session.settings import SparkSettings, embedded_conf
    from accelerator.engines.spark.start import start

    assert make
    launched: dict[str, str] = {}
    built: dict[str, str] = {}
    later: dict[str, str] = {}

    class Builder:
        def config(self, key: str, value: str) -> Builder:
            built[key] = value
            return self

        def getOrCreate(self) -> Any:
            return SimpleNamespace(conf=SimpleNamespace(set=later.__setitem__))

    session = SimpleNamespace(
        builder=Builder(), getActiveSession=lambda: None, _instantiatedSession=None
    )
    monkeypatch.setattr(start, "SparkSession", session)
    monkeypatch.setattr(start, "check_java", lambda: None)
    monkeypatch.setattr(start, "_launch", lambda given, shown: launched.update(given))
    monkeypatch.setattr(start, "_places", dict)
    catalogs = [
        CatalogSettings("far", "rest", {"uri": "https://c", "credential": "reader:hunter2"}),
        CatalogSettings("near", "sql", {"uri": "postgresql://me:hunter2@h/db"}),
        CatalogSettings("s3", "glue", {"s3.secret-access-key": "hunter2", "warehouse": "s3://b"}),
    ]
    start.start("local", embedded_conf(catalogs, SparkSettings()), shown=False)
    assert "hunter2" not in repr(launched) + repr(built)
    assert launched.keys() == built.keys() and launched["spark.master"] == "local"
    assert built["spark.sql.catalog.far.uri"] == "https://c"
    assert sorted(later) == [
        "spark.sql.catalog.far.credential",
        "spark.sql.catalog.near.jdbc.password",
        "spark.sql.catalog.s3.s3.secret-access-key",
    ]


def test_spark_needs_a_warehouse_of_the_default_sql_catalog_alone() -> None:
    from accelerator.engines.spark.session.settings import SparkSettings, embedded_conf

    def conf(*catalogs: tuple[str, str, dict[str, str]]) -> dict[str, str]:
        return embedded_conf([CatalogSettings(*one) for one in catalogs], SparkSettings())  # type: ignore[arg-type]

    bare = ("prod", "sql", {"uri": "sqlite:////a/b.db"})
    placed = ("lake", "sql", {"uri": "sqlite:////a/c.db", "warehouse": "file:///w"})
    with pytest.raises(ConfigError, match="can't open the catalog prod: it has no warehouse"):
        conf(bare, placed)
    # Spark opens another one when it's first named, and fails then.
    assert conf(placed, bare)["spark.sql.defaultCatalog"] == "lake"
    assert conf(("prod", "hive", {"uri": "thrift://h:9083"}))["spark.sql.defaultCatalog"] == "prod"
