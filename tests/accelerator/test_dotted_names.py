"""Tables and namespaces with dots in their names: cubes, vacuums by statement, call and daemon.

Tables are PyIceberg's, and no JVM takes part.
"""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

import accelerator
from accelerator.errors import StatementError, UnknownTableError
from accelerator.services.maintenance.daemon import Schedule
from accelerator.store import CoveredFile
from tests.accelerator.store.samples import segment
from tests.support.pristine import catalog_of

ROWS = pa.table({"a": pa.array([1, 2, 3], pa.int64())})
NAMES = [("d", "my.table"), ("n.s", "t"), ("d", "a`.b"), ("d", "my-table")]


def _fill(catalog, name):
    catalog.create_namespace(name[:1])
    catalog.create_namespace("e")
    catalog.create_table("e.u", ROWS.schema)
    catalog.create_table(name, ROWS.schema).append(ROWS)


@pytest.fixture(params=NAMES, ids="/".join)
def lake(pristine, request):
    """A table of that name with a cube, and a segment of a file that no snapshot holds."""
    root = pristine.lake(lambda catalog: _fill(catalog, request.param), request.param)
    catalog = catalog_of(root)
    table = catalog.load_table(request.param)
    quoted = ".".join("`" + part.replace("`", "``") + "`" for part in ("lake", *request.param))
    with accelerator.open(root, vacuum_versions_min=1, vacuum_retain_hours=0) as acc:
        acc.query(f"CREATE CUBE c DEFERRED AS SELECT a, count(*) n FROM {quoted} GROUP BY a")
        record, uuid = acc.services.store.registry().named("c"), str(table.metadata.table_uuid)
        assert record.table_uuid == uuid
        name = f"tables/{uuid}/cubes/{record.id}/j/1.parquet"
        acc.services.store._files.create(name, b"cells")
        files = (CoveredFile("file:///gone.parquet", 1, "", 3, 100),)
        made = segment(1, cube_id=record.id, path=acc.services.store._files.uri(name), files=files)
        acc.services.store.add_segments(uuid, [made])
        yield acc, catalog, request.param, quoted


def forgotten(report):
    return sum(line.files for line in report.lines if line.what == "segment")


def test_its_cube_knows_it(lake):
    acc, _, name, quoted = lake
    record = acc.services.store.registry().named("c")
    assert acc.services.builder.target(record).pinned[0].parts == ("lake", *name)
    (shown,) = acc.query(f"SHOW CUBES ON {quoted}").arrow().to_pylist()
    assert (shown["cube"], shown["status"], shown["files_total"]) == ("c", "partial", 1)
    assert shown["table"] == record.table
    if name[1] != "my-table":
        assert "`" in shown["table"]


@pytest.mark.parametrize("how", ["quoted", "shown", "statement"])
def test_it_is_vacuumed_by_its_name(lake, how):
    acc, _, _, quoted = lake
    if how == "statement":
        found = acc.query(f"VACUUM {quoted}").arrow().to_pylist()
        assert sum(row["files"] for row in found if row["what"] == "segment") == 1
        return
    shown = acc.services.store.registry().named("c").table
    assert forgotten(acc.vacuum(quoted if how == "quoted" else shown)) == 1


def test_the_daemon_reads_its_snapshots(lake):
    acc, catalog, name, _ = lake
    told = []
    acc.maintain(Schedule(0, 0, 1), told.append, stop=threading.Event(), rounds=1)
    (done,) = told
    assert (done.table, done.error) == (acc.services.store.registry().named("c").table, None)
    assert not acc.services.store.table(
        acc.services.store.registry().named("c").table_uuid
    ).segments
    catalog.drop_table(name)
    acc.maintain(Schedule(0, 0, 1), told.append, stop=threading.Event(), rounds=1)
    assert [one.cube.name for one in acc.services.store.registry().bin] == ["c"]


def test_other_names_are_refused_and_shown_quoted(lake):
    acc = lake[0]
    with pytest.raises(UnknownTableError, match=r"lake\.d\.`not\.there`"):
        acc.vacuum("lake.d.`not.there`")
    with pytest.raises(StatementError, match="isn't a table's name"):
        acc.vacuum("lake.d.`not.closed")


def test_a_cube_over_a_table_that_is_not_there_names_it_quoted(lake):
    with pytest.raises(UnknownTableError, match=r"lake\.d\.`not\.there`"):
        lake[0].query("CREATE CUBE x AS SELECT a, count(*) FROM lake.d.`not.there` GROUP BY a")
