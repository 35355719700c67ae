"""BUILD STATISTICS on tables of PyIceberg's: what is read, written, gone on with, left alone."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from datasketches import compact_theta_sketch
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitStateUnknownException
from pyiceberg.table.statistics import StatisticsFile
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

import accelerator
from accelerator.common.progress import SilentProgress
from accelerator.errors import (
    CancelledError,
    StatementError,
    StatisticsError,
    UnknownColumnError,
    UnknownTableError,
)
from accelerator.iceberg import CatalogError
from accelerator.iceberg.catalogs.readers import CatalogSettings, JvmCatalog, PyIcebergCatalog
from accelerator.iceberg.catalogs.sqlite import SqliteCatalog
from accelerator.iceberg.errors import CatalogReadOnlyError, CommitUnknownError, read_errors
from accelerator.iceberg.writes.statistics_files import StatisticsChange
from accelerator.services.statistics import build, scan
from accelerator.services.statistics.sketches.column import ColumnSketches
from indexes.puffin import PuffinBlob, footer_of, written
from tests.support.pristine import Pristine, catalog_of, properties_of
from tests.support.rest_catalog import CREDENTIAL, RestCatalogServer

KLL = "lakehouse-accelerator-kll-v1"
THETA = "apache-datasketches-theta-v1"


def columns(start: int, end: int) -> pa.Table:
    return pa.table(
        {
            "a": pa.array(range(start, end), pa.int64()),
            "s": pa.array([f"v{n % 9}" if n % 4 else None for n in range(start, end)], pa.string()),
            "d": pa.array([n / 4 for n in range(start, end)]),
            "l": pa.array([[n] for n in range(start, end)], pa.list_(pa.int64())),
        }
    )


def fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", columns(0, 1).schema)
    table.append(columns(0, 600))
    table.append(columns(600, 1000))


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    return Pristine(tmp_path_factory.mktemp("statistics"))


@pytest.fixture
def root(pristine) -> Path:
    return pristine.lake(fill)


@pytest.fixture
def acc(root):
    with accelerator.open(root) as session:
        yield session
        assert not session.spark_started


@pytest.fixture
def table(root):
    catalog = catalog_of(root)
    yield catalog.load_table("d.t")
    catalog.engine.dispose()


def shown(acc):
    return {r["column"]: r for r in acc.query("SHOW STATISTICS ON d.t").arrow().to_pylist()}


def files(root: Path) -> list[Path]:
    return sorted((root / "d" / "t" / "metadata").glob("*.stats"))


def blobs(root: Path, table) -> dict[tuple[str, int], bytes]:
    """Those of the current snapshot's file, by type and field."""
    snapshot = table.refresh().current_snapshot().snapshot_id
    (named,) = [one for one in table.metadata.statistics if one.snapshot_id == snapshot]
    data = Path(named.statistics_path.removeprefix("file://")).read_bytes()
    assert len(data) == named.file_size_in_bytes

    def read(offset: int, length: int) -> bytes:
        return data[offset : offset + length]

    return {(b.type, b.fields[0]): read(b.offset, b.length) for b in footer_of(read, len(data))}


def test_a_table_is_sketched(acc, root, table):
    (row,) = acc.query("BUILD STATISTICS ON d.t").arrow().to_pylist()
    assert (row["mode"], row["columns"], row["files_read"]) == ("whole", ["a", "s", "d"], 2)
    assert row["rows_read"] == 1000 and row["bytes"] == files(root)[0].stat().st_size
    assert row["notes"] == ["l: list<long> isn't sketched"]
    found = shown(acc)
    assert [found[c]["distinct_values"] for c in "asdl"] == [1000, 9, 1000, None]
    assert found["a"]["distinct_current"] and found["a"]["sketch_current"]
    assert found["a"]["quantiles"][0] == "0" and found["a"]["quantiles"][-1] == "999"
    assert abs(int(found["a"]["quantiles"][2]) - 500) < 30
    true = {f"v{k}": sum(n % 4 > 0 and n % 9 == k for n in range(1000)) for k in range(9)}
    told = zip(found["s"]["heavy_hitters"], found["s"]["heavy_hitter_counts"], strict=True)
    assert dict(told) == true and found["s"]["heavy_hitters_error"] == 0
    assert found["s"]["quantiles"] is None and found["d"]["heavy_hitters"] is None
    assert found["l"]["sketch_notes"] is None
    sketch = compact_theta_sketch.deserialize(blobs(root, table)[THETA, 1])
    assert sketch.get_estimate() == 1000
    # PyIceberg refuses a table whose metadata names types of blobs that it doesn't know.
    assert {b.type for b in table.metadata.statistics[0].blob_metadata} == {THETA}
    assert acc.build_statistics("d.t").mode == "current" and len(files(root)) == 1


def test_after_an_append_only_the_new_files_are_read(acc, root, table):
    acc.build_statistics("d.t", columns=["s", "a"])
    table.append(columns(1000, 1300))
    done = acc.build_statistics("d.t", columns=["A", "s"])
    assert (done.mode, done.files, done.files_read, done.rows_read) == ("incremental", 3, 1, 300)
    grown = blobs(root, table)
    found = shown(acc)
    assert found["a"]["distinct_values"] == 1300 and found["s"]["distinct_values"] == 9
    assert sum(found["s"]["heavy_hitter_counts"]) == sum(n % 4 > 0 for n in range(1300))
    assert found["a"]["quantiles"][-1] == "1299"
    # A column that had none is read whole, the others' blobs of this snapshot stay.
    done = acc.build_statistics("d.t")
    assert (done.mode, done.files_read, done.columns) == ("whole", 3, ["a", "s", "d"])
    assert {key: blobs(root, table)[key] for key in grown} == grown
    acc.query("DROP STATISTICS ON d.t")
    acc.build_statistics("d.t")
    assert blobs(root, table)[THETA, 1] == grown[THETA, 1]  # the same as of all rows at once


def test_after_a_delete_or_rewrite_all_is_read(acc, root, table):
    acc.build_statistics("d.t")
    table.delete("a >= 600 and a < 990")
    done = acc.build_statistics("d.t", columns=["a"])
    assert (done.mode, done.rows_read) == ("whole", 610)
    assert "have changed since" in done.notes[0]
    assert shown(acc)["a"]["distinct_values"] == 610
    assert shown(acc)["d"]["sketch_current"] is False  # an ancestor's is still told


def test_a_widened_column_is_not_gone_on_with(acc, root, table):
    with table.update_schema() as update:
        update.add_column("i", accelerator_int())
    table.append(columns(0, 5).append_column("i", pa.array([1, 2, 3, 4, 5], pa.int32())))
    acc.build_statistics("d.t", columns=["i"])
    assert shown(acc)["i"]["distinct_values"] == 5
    with table.update_schema() as update:
        update.update_column("i", field_type=accelerator_long())
    table.append(columns(0, 2).append_column("i", pa.array([5, 6], pa.int64())))
    done = acc.build_statistics("d.t", columns=["i"])  # hashes of longs are others
    assert done.mode == "whole" and shown(acc)["i"]["distinct_values"] == 6
    assert shown(acc)["i"]["nulls"] == 1000


def accelerator_int():
    from pyiceberg.types import IntegerType

    return IntegerType()


def accelerator_long():
    from pyiceberg.types import LongType

    return LongType()


def foreign(root: Path, table, *more: tuple[PuffinBlob, bytes]) -> Path:
    """A file of another writer's for the current snapshot, of column `d` and what is given."""
    snapshot = table.current_snapshot()
    theirs = PuffinBlob(THETA, (3,), snapshot.snapshot_id, 1, {"ndv": "77"}, "zstd")
    all_of_it = [(theirs, b"whatever"), *more]
    data, size = written(all_of_it, {"created-by": "somebody"})
    path = root / "d" / "t" / "metadata" / "theirs.stats"
    path.write_bytes(data)
    file = StatisticsFile.model_validate(
        {
            "snapshot-id": snapshot.snapshot_id,
            "statistics-path": f"file://{path}",
            "file-size-in-bytes": len(data),
            "file-footer-size-in-bytes": size,
            "blob-metadata": [b.metadata() for b, _ in all_of_it if b.type == THETA],
        }
    )
    with table.update_statistics() as update:
        update.set_statistics(file)
    return path


def test_what_others_have_said_of_other_columns_stays(acc, root, table):
    extra = PuffinBlob("of-somebody", (1,), 1, 1, {"x": "y"})
    foreign(root, table, (extra, b"their own"))
    acc.build_statistics("d.t", columns=["a"])
    found = blobs(root, table)
    assert found[THETA, 3] == b"whatever" and found["of-somebody", 1] == b"their own"
    assert shown(acc)["d"]["distinct_values"] == 77 and shown(acc)["a"]["distinct_values"] == 1000
    acc.build_statistics("d.t")
    assert shown(acc)["d"]["distinct_values"] == 1000


def test_what_others_have_said_is_not_lost_where_it_cannot_be_read_now(
    acc, root, table, monkeypatch
):
    path = foreign(root, table)
    open_, shut = build.opened, []

    def opened(pinned, file):
        shut.append(file.path)
        with read_errors("it", "try again"):
            raise OSError("503 Slow Down")
        return open_(pinned, file)

    monkeypatch.setattr(build, "opened", opened)
    with pytest.raises(StatisticsError, match="503 Slow Down"):
        acc.build_statistics("d.t", columns=["a"])
    assert shut and files(root) == [path]
    monkeypatch.undo()
    acc.build_statistics("d.t", columns=["a"])
    assert shown(acc)["d"]["distinct_values"] == 77


def test_what_others_say_at_too_great_length_is_not_copied_and_told(acc, root, table):
    """A footer of theirs and ours together would be more than a reader takes."""
    extra = [
        (PuffinBlob("of-somebody", (1,), 1, 1, {"x": "y" * 300_000}), b"theirs") for _ in range(15)
    ]
    foreign(root, table, *extra)
    done = acc.build_statistics("d.t", columns="a")
    assert any("replaced without" in note and "footer" in note for note in done.notes)
    assert blobs(root, table).keys() == {(type_, 1) for type_, _ in blobs(root, table)}
    assert shown(acc)["a"]["sketch_current"]


def test_columns_whose_names_differ_in_case_alone_are_refused(acc, root):
    catalog = catalog_of(root)
    rows = pa.table({"a": [1, 2, 3], "A": ["x", "y", "y"]})
    made = catalog.create_table("d.cases", rows.schema)
    made.append(rows)
    catalog.engine.dispose()
    with pytest.raises(CatalogError, match="a and A") as raised:
        acc.query("BUILD STATISTICS ON d.cases")
    assert raised.value.code == "table_unreadable" and raised.value.hint


def test_what_cannot_be_read_is_passed_over_and_told(acc, root, table):
    path = foreign(root, table)
    path.write_bytes(path.read_bytes()[:-9])
    done = acc.build_statistics("d.t", columns=["a"])
    assert any("replaced without" in note for note in done.notes)
    (ours,) = [one for one in files(root) if one != path]
    whole = ours.read_bytes()
    place = whole.index(b"PFA1", 4)
    for broken in (b"", whole[:-1], whole[:place] + bytes(4) + whole[place + 4 :]):
        ours.write_bytes(broken)
        row = shown(acc)["a"]
        assert row["sketch_snapshot_id"] is None and "can't be read" in row["sketch_notes"][0]
        assert row["distinct_values"] == 1000  # the metadata has that
    ours.write_bytes(whole[:5] + b"\xff" + whole[6:])  # within the first sketch
    assert shown(acc)["a"]["sketch_notes"][0].startswith("a: a theta sketch")
    ours.unlink()
    done = acc.build_statistics("d.t", columns=["a"])
    assert done.mode == "whole" and shown(acc)["a"]["sketch_current"]


def test_a_conflict_is_tried_again_and_the_other_one_s_commit_stays(acc, root, table, monkeypatch):
    swap, tries = SqliteCatalog._swap, []

    def late(self, identifier, old, new):
        if not tries:
            tries.append(old)
            table.append(columns(5000, 5010))
        return swap(self, identifier, old, new)

    monkeypatch.setattr(SqliteCatalog, "_swap", late)
    snapshot = table.current_snapshot().snapshot_id
    done = acc.build_statistics("d.t")
    assert tries and done.snapshot_id == snapshot and done.rows_read == 1000
    newest = table.refresh().current_snapshot().snapshot_id
    assert newest != snapshot
    assert [one.snapshot_id for one in table.metadata.statistics] == [snapshot]
    assert shown(acc)["a"]["sketch_current"] is False
    assert acc.build_statistics("d.t").mode == "incremental"


def test_another_one_s_statistics_of_the_snapshot_stay(acc, root, table, monkeypatch):
    """Two builds at once: the later one keeps what the other has named meanwhile."""
    write, others = build._write, []

    def late(path, data, pinned):
        write(path, data, pinned)
        if not others:
            others.append("on its way")
            with accelerator.open(root) as other:
                others.append(other.build_statistics("d.t", columns=["s"]).path)

    monkeypatch.setattr(build, "_write", late)
    done = acc.build_statistics("d.t", columns=["a"])
    named = [one.statistics_path for one in table.refresh().metadata.statistics]
    assert named == [done.path] and {field for _, field in blobs(root, table)} == {1, 2}
    assert len(files(root)) == 2  # the first one of ours, which nobody named, is gone
    always = lambda path, data, pinned: (write(path, data, pinned), others_again())  # noqa: E731

    def others_again():
        monkeypatch.setattr(build, "_write", write)
        with accelerator.open(root) as other:
            other.query("DROP STATISTICS ON d.t")
            other.build_statistics("d.t", columns=["s"])
        monkeypatch.setattr(build, "_write", always)

    monkeypatch.setattr(build, "_write", always)
    with pytest.raises(StatisticsError, match="others kept naming"):
        acc.build_statistics("d.t", columns=["d"])
    assert shown(acc)["s"]["sketch_current"] and not shown(acc)["d"]["sketch_current"]


def test_nothing_is_left_of_a_snapshot_that_expired_or_a_table_made_anew(
    acc, root, table, monkeypatch
):
    write, before = build._write, table.current_snapshot().snapshot_id

    def expire(path, data, pinned):
        write(path, data, pinned)
        table.append(columns(0, 3))
        table.maintenance.expire_snapshots().by_id(before).commit()

    monkeypatch.setattr(build, "_write", expire)
    with pytest.raises(StatisticsError, match="has expired"):
        acc.build_statistics("d.t")
    assert files(root) == [] and table.refresh().metadata.statistics == []

    def again(path, data, pinned):
        write(path, data, pinned)
        catalog = catalog_of(root)
        catalog.drop_table("d.t")
        catalog.create_table("d.t", columns(0, 1).schema)
        catalog.engine.dispose()

    monkeypatch.setattr(build, "_write", again)
    with pytest.raises(StatisticsError, match="made anew"):
        acc.build_statistics("d.t")
    assert files(root) == []


def test_a_build_that_is_killed_leaves_an_orphan_and_the_table_as_it_was(
    acc, root, table, monkeypatch
):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "change", killed)
    with pytest.raises(KeyboardInterrupt):
        acc.build_statistics("d.t")
    assert len(files(root)) == 1 and table.refresh().metadata.statistics == []
    monkeypatch.undo()
    assert acc.build_statistics("d.t").mode == "whole" and len(files(root)) == 2


def test_what_files_hold_by_a_new_mapping_of_names_is_not_gone_on_with(acc, table):
    acc.build_statistics("d.t", columns=["a"])
    mapping = [{"field-id": 1, "names": ["a", "old_a"]}, {"field-id": 2, "names": ["s"]}]
    with table.transaction() as change:
        change.set_properties({"schema.name-mapping.default": json.dumps(mapping)})
    assert acc.build_statistics("d.t", columns=["a"]).mode == "whole"


@pytest.mark.parametrize("error", [KeyboardInterrupt, CommitStateUnknownException])
def test_what_the_pointer_names_by_now_stays_whatever_is_raised(
    acc, root, table, monkeypatch, error
):
    """Ctrl-C while SQLite waits for a lock: the pointer is moved, and then it's raised."""
    swap = SqliteCatalog._swap

    def moved(self, identifier, old, new):
        swap(self, identifier, old, new)
        raise error

    monkeypatch.setattr(SqliteCatalog, "_swap", moved)
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else CommitUnknownError):
        acc.build_statistics("d.t")
    monkeypatch.undo()
    assert table.refresh().scan().to_arrow().num_rows == 1000
    assert shown(acc)["a"]["sketch_current"] and len(files(root)) == 1


def test_an_answer_of_a_server_that_was_lost_loses_no_table(root, table, monkeypatch):
    """As `_swap` of PostgreSQL: the commit is made, and its answer doesn't come."""
    commit = Connection.commit

    def lost(self):
        commit(self)
        raise OperationalError(None, None, Exception("server closed the connection"))

    reader = PyIcebergCatalog(CatalogSettings("lake", "sql", properties_of(root)))
    reader.pointer(("d", "t"))
    monkeypatch.setattr(Connection, "commit", lost)
    with pytest.raises(CommitUnknownError):
        reader.change_statistics(("d", "t"), StatisticsChange(str(table.metadata.table_uuid)))
    monkeypatch.undo()
    assert table.refresh().scan().to_arrow().num_rows == 1000
    reader._open().engine.dispose()


def test_a_build_that_is_stopped_leaves_nothing(acc, root, monkeypatch):
    began = threading.Event()

    class Stopping(SilentProgress):
        def start(self, total: int, what: str) -> None:
            began.set()
            acc.cancel()

    with pytest.raises(CancelledError):
        acc.build_statistics("d.t", progress=Stopping())
    assert began.is_set() and files(root) == []


def test_a_stop_is_heard_between_columns(acc, root, monkeypatch):
    """Of a row group of hundreds of columns each one takes its time."""
    update, taken = ColumnSketches.update, []

    def stopped(self, column):
        taken.append(self.type)
        acc.cancel()
        update(self, column)

    monkeypatch.setattr(ColumnSketches, "update", stopped)
    with pytest.raises(CancelledError):
        acc.build_statistics("d.t")
    assert len(taken) <= 2 and files(root) == []  # of two files at once the first column


def test_a_column_that_only_spark_reads_is_named(acc, root):
    catalog = catalog_of(root)
    no_text = pa.array([b"a", b"b\xff", b"c"]).view(pa.string())
    rows = pa.table({"n": [1, 2, 3], "t": pa.array(["a", "b", "c"]), "s": no_text})
    catalog.create_table("d.bytes", rows.schema).append(rows)
    catalog.engine.dispose()
    with pytest.raises(StatisticsError, match=r"in process: s: a text"):
        acc.query("BUILD STATISTICS ON d.bytes")
    assert acc.build_statistics("d.bytes", columns=["n", "t"]).mode == "whole"


def test_pieces_of_columns_give_the_same(acc, root, table, monkeypatch):
    acc.build_statistics("d.t")
    whole = blobs(root, table)
    acc.query("DROP STATISTICS ON d.t")
    monkeypatch.setattr(scan, "_BYTES_AT_ONCE", 1)
    done = acc.build_statistics("d.t")
    again = blobs(root, table)
    assert done.rows_read == 1000 and again.keys() == whole.keys()
    for key in whole.keys() - {(KLL, 1), (KLL, 3)}:  # of which each one is another
        assert again[key] == whole[key]


def test_errors(acc, root):
    with pytest.raises(UnknownTableError):
        acc.query("BUILD STATISTICS ON d.no")
    with pytest.raises(UnknownTableError):
        acc.query("DROP STATISTICS ON d.no")
    with pytest.raises(UnknownColumnError) as unknown:
        acc.query("BUILD STATISTICS ON d.t (aa)")
    assert unknown.value.suggestions == ("a",) or "a" in unknown.value.hint
    with pytest.raises(StatisticsError, match="isn't sketched"):
        acc.query("BUILD STATISTICS ON d.t (l)")
    with pytest.raises(StatementError):
        acc.query("BUILD STATISTICS d.t")
    catalog = catalog_of(root)
    catalog.create_table("d.empty", columns(0, 1).schema)
    catalog.engine.dispose()
    with pytest.raises(StatisticsError, match="no snapshot"):
        acc.build_statistics("d.empty")
    assert acc.query("DROP STATISTICS ON d.t").arrow().num_rows == 0


def test_values_of_an_encrypted_table_are_not_written_in_the_clear(acc, root, table):
    with table.transaction() as change:
        change.set_properties({"encryption.key-id": "k"})
    with pytest.raises(StatisticsError, match="is encrypted"):
        acc.build_statistics("d.t")
    assert files(root) == []


def test_a_table_without_rows(acc, root, table):
    table.delete("a >= 0")
    assert acc.build_statistics("d.t").mode == "whole"
    found = shown(acc)["a"]
    assert (found["distinct_values"], found["quantiles"], found["heavy_hitters"]) == (0, None, [])
    table.append(columns(0, 5))
    assert acc.build_statistics("d.t").mode == "incremental"
    assert shown(acc)["a"]["quantiles"] == ["0", "1", "2", "3", "4"]


def test_files_that_are_gone_are_an_error(acc, root):
    shutil.rmtree(root / "d" / "t" / "data")
    with pytest.raises(StatisticsError, match="can't be read"):
        acc.build_statistics("d.t")
    assert files(root) == []


def test_where_nothing_can_be_named_nothing_is_read(acc, root, table, monkeypatch):
    """A catalog that only the JVM knows: said at once, not after reading all rows."""
    settings = CatalogSettings("lake", "jvm", properties_of(root))
    metadata = table.metadata_location, str(table.metadata.table_uuid)
    monkeypatch.setitem(
        acc.services.lake.catalogs, "lake", JvmCatalog(settings, lambda _: metadata)
    )
    monkeypatch.delattr(build, "sketch")
    for text in ("BUILD STATISTICS ON d.t", "BUILD STATISTICS ON d.t (a)"):
        with pytest.raises(CatalogReadOnlyError, match="can't be changed from here"):
            acc.query(text)
    assert files(root) == []


def test_a_rest_catalog_makes_the_change(root, tmp_path, monkeypatch):
    catalog = catalog_of(root)
    with RestCatalogServer(catalog).running() as server:
        options = {"catalog_type": "rest", "catalog_uri": server.uri, "catalog_name": "lake"}
        properties = {"credential": CREDENTIAL}
        store = str(tmp_path / "store")
        with accelerator.open(
            root, **options, catalog_properties=properties, store=store
        ) as session:
            done = session.build_statistics("d.t", columns=["a"])
            assert done.mode == "whole" and shown(session)["a"]["sketch_current"]
            table = catalog.load_table("d.t")
            assert [one.statistics_path for one in table.metadata.statistics] == [done.path]
            server.refuse_commits = True
            with pytest.raises(CatalogError):
                session.build_statistics("d.t", columns=["d"])
            assert len(files(root)) == 1
            server.refuse_commits = False
            for said in ((503, {}), (500, {}), (200, {"metadata": "of another form"}), (200, [])):
                server.lost = said
                with pytest.raises(CommitUnknownError):
                    session.build_statistics("d.t", columns=["s"])
                (named,) = catalog.load_table("d.t").metadata.statistics
                assert Path(named.statistics_path.removeprefix("file://")).exists()
                server.lost = None
                session.query("DROP STATISTICS ON d.t")
            session.build_statistics("d.t", columns=["s"])
            assert len(session.query("DROP STATISTICS ON d.t").arrow()) == 1
            assert catalog.load_table("d.t").metadata.statistics == []
    catalog.engine.dispose()
