"""What is certain enough for an error without Spark, and what isn't."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import accelerator
from accelerator.common.config.config import CATALOG_FILE, Config
from accelerator.errors import AcceleratorError, EngineError, UnknownTableError
from accelerator.query.early_errors import known_spark
from accelerator.query.early_errors.folder_tables import FolderTables
from accelerator.query.early_errors.known_spark import is_known
from accelerator.query.early_errors.lake_tables import LakeTables
from accelerator.session.early_check import check_early
from tests.support.typos import warehouse

_TYPO = "SELECT count(*) AS n FROM shop.salse"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warehouse(tmp_path_factory.mktemp("at-once") / "warehouse")


@pytest.fixture(autouse=True)
def _no_spark(no_java: None) -> None:
    """Whoever asks Spark fails with another error."""


@pytest.mark.parametrize(
    ("conf", "known"),
    [
        ({}, True),
        ({"spark.sql.shuffle.partitions": "3", "spark.ui.enabled": "true"}, True),
        ({"spark.sql.session.timeZone": "UTC"}, True),
        ({"spark.sql.extensions": "a.B"}, False),
        ({"spark.sql.catalog.other": "a.B"}, False),
        ({"spark.sql.caseSensitive": "true"}, False),
        ({"spark.sql.defaultCatalog": "other"}, False),
        ({"spark.sql.ansi.doubleQuotedIdentifiers": "true"}, False),
        ({"spark.jars.packages": "a:b:1"}, False),
        ({"spark.sql.catalogImplementation": "hive"}, False),
        ({"spark.remote": "sc://there"}, False),
    ],
)
def test_settings_may_bring_another_grammar(
    folder: Path, conf: dict[str, str], known: bool
) -> None:
    assert is_known(Config(warehouse=str(folder), spark_conf=conf), {}) == known
    raised = UnknownTableError if known else EngineError
    with accelerator.open(folder, spark_conf=conf) as session, pytest.raises(raised):
        session.query(_TYPO)


def test_the_environment_may_do_so_too(tmp_path: Path) -> None:
    config = Config()
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.sql.extensions a.B")
    assert is_known(config, {})
    for environment in (
        {"SPARK_HOME": str(tmp_path)},
        {"SPARK_CONF_DIR": str(tmp_path / "conf")},
        {"SPARK_REMOTE": "sc://there"},
        {"PYSPARK_SUBMIT_ARGS": "--packages a:b:1 pyspark-shell"},
    ):
        assert not is_known(config, environment), environment


def test_a_session_that_runs_in_the_process_may_have_views(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package = ModuleType("pyspark")
    package.SparkContext = SimpleNamespace(_active_spark_context=object())  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "pyspark", package)
    monkeypatch.setattr(known_spark, "_pyspark_home", lambda: None)
    assert not is_known(Config(), {})
    package.SparkContext = SimpleNamespace(_active_spark_context=None)  # type: ignore[attr-defined]
    assert is_known(Config(), {})


@pytest.mark.parametrize(
    ("text", "known"),
    [("4.1.9", True), ("3.5.5", True), ("4.2.0", False), ("5.0.0.dev1", False), ("odd", False)],
)
def test_of_a_newer_release_not_all_words_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, known: bool
) -> None:
    (tmp_path / "version.py").write_text(f"__version__: str = {text!r}\n")
    monkeypatch.setattr(known_spark, "_pyspark_home", lambda: tmp_path)
    assert is_known(Config(), {}) == known


def _both(folder: Path) -> Iterator[LakeTables | FolderTables]:
    yield FolderTables(folder / CATALOG_FILE, "lake")
    with accelerator.open(folder) as session:
        yield LakeTables(session.services.lake, "lake")


def test_the_folder_knows_what_the_lake_knows(folder: Path) -> None:
    absent = [
        ("shop", "salse"),
        ("salse",),
        ("lake", "shop", "x"),
        ("shpo", "sales"),
        ("a", "b", "c"),
    ]
    unsure = [
        *(("shop", "sales"), ("shop", "sales", "files"), ("lake", "shop", "sales", "branch_x")),
        *(("parquet", "/tmp/x"), ("parquet", "x"), ("spark_catalog", "default", "x")),
        *(("global_temp", "v"), ("file:/tmp/x",), ("shop", "a/b"), ("shop", "sales#x")),
    ]
    for tables in _both(folder):
        assert all(tables.is_absent(one) for one in absent), tables
        assert not any(tables.is_absent(one) for one in unsure), tables
        known = tables.find(("shop", "sales"))
        assert known is not None
        assert known.columns == ("store", "amount", "region")
        assert known.names == {"store", "amount", "region"}
        assert tables.find(("shop", "salse")) is None
        assert tables.near(("shop", "salse")) == ("shop.sales",)
        assert tables.near(("lake", "shop", "salse")) == ("lake.shop.sales",)
        assert tables.near(("stores",)) == ("shop.stores",)


def test_a_bare_name_may_be_in_the_catalogs_default_namespace(folder: Path) -> None:
    uri = f"sqlite:///{folder / CATALOG_FILE}"
    given = {"warehouse": folder.as_uri(), "default-namespace": "shop"}
    session = accelerator.open(catalog_uri=uri, catalog_properties=given)
    with session, pytest.raises(EngineError):
        session.query("SELECT count(*) AS n FROM salse")
    del given["default-namespace"]
    session = accelerator.open(catalog_uri=uri, catalog_properties=given)
    with session, pytest.raises(UnknownTableError):
        session.query("SELECT count(*) AS n FROM salse")


def test_a_view_is_somebodys_table(tmp_path: Path) -> None:
    folder = warehouse(tmp_path / "warehouse")
    with closing(sqlite3.connect(folder / CATALOG_FILE)) as connection, connection:
        connection.execute(
            "UPDATE iceberg_tables SET iceberg_type = 'VIEW' WHERE table_name = 'stores'"
        )
    for tables in _both(folder):
        assert not tables.is_absent(("shop", "stores")), tables
        assert tables.near(("shop", "store")) == (), tables


@pytest.mark.parametrize("damage", ["{}", "[1]", "no json", '{"schemas": [{"fields": 3}]}'])
def test_damaged_metadata_is_left_to_who_answers(tmp_path: Path, damage: str) -> None:
    folder = warehouse(tmp_path / "warehouse")
    with closing(sqlite3.connect(folder / CATALOG_FILE)) as connection, connection:
        (tmp_path / "x.metadata.json").write_text(damage)
        connection.execute(
            "UPDATE iceberg_tables SET metadata_location = ?",
            ((tmp_path / "x.metadata.json").as_uri(),),
        )
    assert FolderTables(folder / CATALOG_FILE, "lake").find(("shop", "sales")) is None
    check_early(Config(warehouse=str(folder)), "SELECT regoin FROM shop.sales")


def test_fields_inside_columns_are_names(tmp_path: Path) -> None:
    folder = warehouse(tmp_path / "warehouse")
    inner = {"type": "struct", "fields": [{"id": 3, "name": "Inner", "type": "int"}]}
    listed = {"type": "list", "element-id": 2, "element": inner}
    old = {"schema-id": 0, "fields": [{"id": 1, "name": "gone", "type": "int"}]}
    new = {"schema-id": 1, "fields": [{"id": 4, "name": "now", "type": listed}]}
    path = tmp_path / "x.metadata.json"
    path.write_text(json.dumps({"schemas": [old, new], "current-schema-id": 1}))
    with closing(sqlite3.connect(folder / CATALOG_FILE)) as connection, connection:
        connection.execute("UPDATE iceberg_tables SET metadata_location = ?", (path.as_uri(),))
    known = FolderTables(folder / CATALOG_FILE, "lake").find(("shop", "sales"))
    assert known is not None
    assert (known.columns, known.names) == (("now",), {"now", "inner", "gone"})


def test_a_guard_and_another_dialect_come_first(folder: Path) -> None:
    for given in ({"guard_sorts": True}, {"dialect": "trino"}, {"catalog_type": "rest"}):
        check_early(Config(warehouse=str(folder), **given), _TYPO)
    check_early(Config(warehouse=str(folder / "elsewhere")), _TYPO)
    with pytest.raises(AcceleratorError, match="there is no table"):
        check_early(Config(warehouse=str(folder)), _TYPO)


@pytest.mark.parametrize("scheme", ["", "file://", "file:", "file://localhost"])
def test_a_store_in_a_folder_of_an_odd_name(tmp_path: Path, scheme: str) -> None:
    folder = warehouse(tmp_path / "a b")
    config = Config(warehouse=f"{scheme}{folder}")
    check_early(config, "COMPACT CUBE sales_by_region")
    check_early(config, "BUILD INDEX store_bloom")
    with pytest.raises(AcceleratorError, match="no cube named"):
        check_early(config, "COMPACT CUBE sales_by_regoin")
    with pytest.raises(AcceleratorError, match="there is no table"):
        check_early(config, _TYPO)


def test_if_exists_and_what_is_to_be_made_are_no_errors(folder: Path) -> None:
    config = Config(warehouse=str(folder))
    for sql in (
        *("DROP CUBE IF EXISTS nobody", "DROP INDEX IF EXISTS nobody", "UNDROP CUBE nobody"),
        *("PUBLISH CUBE sales_by_region AS shop.cells", "DROP TABLE IF EXISTS shop.salse"),
        *("CREATE TABLE shop.salse (a INT)", "EXPLAIN ACCELERATE SELECT regoin FROM shop.sales"),
    ):
        check_early(config, sql)


@pytest.mark.parametrize(
    ("select", "code", "said"),
    [
        ("store, sume(amount) AS s FROM shop.sales", "function_unknown", "no function sume"),
        ("store, sum(amount AS s FROM shop.sales", "statement_invalid", "a parenthesis isn't"),
        ("store, nvl(amount) AS s FROM shop.sales", "statement_invalid", "nvl takes 2 arguments"),
        ("store, sum(amuont) AS s FROM shop.sales", "column_unknown", "no table here has"),
        ("store, sum(amount) AS s FROM shop.salse", "table_unknown", "shop.salse"),
    ],
)
def test_a_cube_of_a_mistaken_select_is_the_same_mistake(
    folder: Path, select: str, code: str, said: str
) -> None:
    with accelerator.open(folder) as session:
        with pytest.raises(AcceleratorError, match=said) as raised:
            session.query(f"CREATE CUBE wrong AS SELECT {select} GROUP BY store")
        assert raised.value.code == code
        assert "wrong" not in session.services.store.registry(fresh=True).cubes


@pytest.mark.parametrize(
    "sql",
    [
        *("ANALYZE shop.salse", "SHOW RELATE COLUMNS ON shop.salse", "BUILD ALL ON shop.salse"),
        *("SHOW CUBES ON shop.salse", "SHOW INDEXES ON shop.salse", "VACUUM shop.salse"),
        "CREATE INDEX i ON shop.salse USING BLOOM (store)",
    ],
)
def test_statements_of_ours_suggest_tables(folder: Path, sql: str) -> None:
    with accelerator.open(folder) as session, pytest.raises(UnknownTableError) as raised:
        session.query(sql)
    assert raised.value.suggestions[0].removeprefix("lake.") == "shop.sales"
    assert "did you mean" in raised.value.hint
