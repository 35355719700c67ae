"""Statements between the queries beside real Spark: every form on both sides, and a world."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from accelerator.common.config.config import Config
from accelerator.engines.session_settings import SessionContext
from accelerator.engines.spark.catalogs.java import OWN_SCHEMA
from accelerator.engines.spark.lazy_engine import elsewhere
from accelerator.errors import AcceleratorError
from accelerator.iceberg import Lake
from accelerator.query.catalog_statements.answer import answer
from accelerator.session.opening import _manifest_cache, _store
from accelerator.session.session import Accelerator
from rewrite.reason import Declined
from tests.spark.conftest import SparkWarehouse
from tests.support import shows

pytestmark = pytest.mark.spark

WORLD = (Path(__file__).parent / "shown" / "world.sql").read_text().splitlines()
ASKED = (Path(__file__).parent / "shown" / "asked.sql").read_text().splitlines()
ANSWERED_MIN = 100
"""How many of the statements are answered here: none of them may become fewer unseen."""


@pytest.fixture(scope="module")
def shown(spark_warehouse: SparkWarehouse) -> SparkWarehouse:
    for text in WORLD:
        spark_warehouse.sql(text)
    return spark_warehouse


@pytest.fixture(scope="module")
def here(shown: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accelerator]:
    """A session over the same catalog that can start no Spark."""
    loaded = Config.load(store=str(tmp_path_factory.mktemp("store")))
    context = SessionContext(loaded, lambda: None)
    lake = Lake(
        [replace(one, properties={**one.properties, OWN_SCHEMA: "V1"}) for one in shown.catalogs],
        context.catalog,
        context.namespace,
        manifest_cache=_manifest_cache(loaded),
    )
    with Accelerator(loaded, lake, _store(loaded), elsewhere(), context) as session:
        yield session


def test_what_is_answered_here_is_what_spark_answers(
    shown: SparkWarehouse, here: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whether this process has started a Spark for other tests isn't the question.
    monkeypatch.setattr("accelerator.query.early_errors.known_spark._runs", lambda: False)
    answered = 0
    for sql in ASKED:
        try:
            found = answer(sql, here.queries)
        except AcceleratorError as error:
            assert _error(shown, sql) in (error.error_class, ""), sql
            answered += 1
            continue
        if found is None or isinstance(found, Declined):
            continue
        answered += 1
        expected = shown.spark.sql(sql).toArrow()
        assert found.schema == expected.schema, sql
        assert found.to_pylist() == expected.to_pylist(), sql
    assert answered >= ANSWERED_MIN


def _error(shown: SparkWarehouse, sql: str) -> str:
    """The class of Spark's error; the statement must have one."""
    try:
        rows: pa.Table = shown.spark.sql(sql).toArrow()
    except (PySparkException, Py4JError) as error:
        return getattr(error, "getCondition", lambda: "")() or ""
    raise AssertionError(f"Spark answers {sql}: {rows.to_pylist()}")


@pytest.mark.long
def test_every_form_on_both_sides(tmp_path: Path) -> None:
    folder = shows.warehouse(tmp_path / "lake")
    ours = shows.without_spark(folder)
    sparks = shows.by_spark(folder)
    assert shows.differences(ours, sparks) == {}
    assert sparks == shows.recorded()


@pytest.mark.long
def test_what_use_and_set_changed_holds_in_spark(tmp_path: Path) -> None:
    folder = shows.warehouse(tmp_path / "lake")
    code = (
        "import sys, accelerator\n"
        "with accelerator.open(sys.argv[1]) as acc:\n"
        "    acc.query('USE shop')\n"
        "    acc.query('SET spark.sql.shuffle.partitions=7')\n"
        "    acc.query('SET spark.sql.session.timeZone = Asia/Tokyo')\n"
        "    assert not acc.spark_started\n"
        "    acc.query('CREATE TABLE more (a INT) USING iceberg')\n"
        "    assert acc.spark_started\n"
        "    acc.query('CREATE TEMPORARY VIEW brief AS SELECT 1 AS a')\n"
        "    names = [row[1] for row in acc.query('SHOW TABLES').fetchall()]\n"
        "    assert names == ['more', 'sales', 'stores'], names\n"
        "    assert acc.query('DESCRIBE brief').fetchall() == [('a', 'int', None)]\n"
        "    assert acc.query('SET spark.sql.shuffle.partitions').fetchall()[0][1] == '7'\n"
        "    assert acc.query('SELECT current_timezone()').fetchall() == [('Asia/Tokyo',)]\n"
        "    assert acc.services.context.settings()['time_zone'] == 'Asia/Tokyo'\n"
        "    assert acc.services.context.namespace() == ('shop',)\n"
        "    acc.query('USE empty')\n"
        "    assert acc.services.context.namespace() == ('empty',)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_with_spark_no_namespace_is_a_typed_error(tmp_path: Path) -> None:
    folder = shows.warehouse(tmp_path / "lake")
    code = (
        "import sys, accelerator\n"
        "from accelerator.errors import UnknownSchemaError\n"
        "from py4j.protocol import Py4JJavaError\n"
        "with accelerator.open(sys.argv[1]) as acc:\n"
        "    acc.spark\n"
        "    for ask in (acc.query, acc.sql):\n"
        "        for sql in ('SHOW TABLES', 'SHOW VIEWS'):\n"
        "            try:\n"
        "                ask(sql)\n"
        "            except UnknownSchemaError as error:\n"
        "                assert error.error_class == 'SCHEMA_NOT_FOUND' and 'shop' in error.hint\n"
        "            else:\n"
        "                raise AssertionError(sql)\n"
        "    try:\n"
        "        acc.spark.sql('SHOW TABLES')\n"
        "    except Py4JJavaError as error:\n"
        "        assert 'NoSuchNamespaceException' in str(error)\n"
        "    else:\n"
        "        raise AssertionError('plain Spark answers')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
