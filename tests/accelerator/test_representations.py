"""What objects say of themselves: what they are, and no secret."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Metrics, dbapi
from accelerator.services.ddl.cubes.build_handle import Build
from accelerator.store import Report
from tests.support.pristine import Pristine


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = pa.table({"k": pa.array([1, 2], pa.int32())})
    catalog.create_table("d.t", rows.schema).append(rows)


@pytest.fixture
def root(pristine: Pristine, no_java: None) -> Path:
    return pristine.lake(_fill)


def test_a_session_and_what_it_gives(root: Path) -> None:
    other = {"type": "rest", "uri": "https://c", "credential": "id:hunter2"}
    with accelerator.open(root, catalog_name="lake", catalogs={"far": other}) as acc:
        told = f"<Accelerator over lake, far; store {root}/.accelerator; Spark isn't started>"
        assert repr(acc) == told
        plan, _ = acc.plan("SELECT k FROM d.t")
        assert repr(plan) == "<RowsPlan by duckdb over lake.d.t>"
        assert repr(acc.plan("SHOW CUBES")[0]) == "<PlainPlan by spark>"
        reader = acc.stream("SELECT k FROM d.t")
        assert repr(reader) == "<BatchReader of (k), open>"
        reader.read_all()
        assert repr(reader) == "<BatchReader of (k), read or closed>"
        assert repr(acc.query("SHOW CUBES")).startswith("<Result 0 rows of (cube, table, ")
        acc.query("CREATE CUBE c AS SELECT k, count(*) AS n FROM d.t GROUP BY k")
        assert repr(acc.build("c")) == "<Build of c: 0 of 0 data files, done>"
        assert repr(acc.vacuum("d.t")) == "<Report deleted 0 files, kept 1>"
    assert repr(acc) == "<Accelerator, closed>"


def test_secrets_are_not_told(root: Path) -> None:
    options = {"aws_access_key_id": "me", "aws_secret_access_key": "xyzzy123"}
    store = "s3://key:hunter2@lake/store"
    with accelerator.open(root, store=store, store_options=options) as acc:
        assert "hunter2" not in repr(acc)
        assert "xyzzy123" not in repr(dbapi.connect(session=acc))


def test_connections_and_cursors(root: Path) -> None:
    with dbapi.connect(root) as connection:
        assert repr(connection).startswith("<Connection of <Accelerator over lake; store ")
        cursor = connection.cursor()
        assert repr(cursor) == "<Cursor without an answer>"
        cursor.execute("SELECT k FROM d.t WHERE k > 9")
        assert repr(cursor) == "<Cursor on <Result 0 rows of (k) by duckdb>>"
        cursor.close()
        assert repr(cursor) == "<Cursor, closed>"
    assert repr(connection) == "<Connection, closed>"


def test_values_tell_what_differs() -> None:
    assert repr(Metrics()) == "Metrics(engine='spark')"
    told = repr(Metrics(engine="duckdb", cubes=("c",), files_read=2))
    assert told == "Metrics(cubes=('c',), engine='duckdb', files_read=2)"
    assert repr(Build("sales")) == "<Build of sales: 0 of 0 data files, runs>"
    report = Report("uuid", dry_run=True)
    report.deleted("segments", "no longer needed", 3)
    assert repr(report) == "<Report would delete 3 files, kept 0>"
