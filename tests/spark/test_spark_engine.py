"""What we read of Iceberg tables against what Spark and Iceberg's Java library read of them."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError

from accelerator.engines.spark.engine import SparkEngine
from accelerator.engines.spark.file_selection import SelectionUnsupportedError
from accelerator.engines.spark.jvm.errors import JvmError
from accelerator.errors import CancelledError, EngineError
from accelerator.iceberg import Lake, PinnedTable
from accelerator.iceberg.io import local_path
from accelerator.services.verification.compare import differ
from rewrite.facts import At
from tests.support.equality_deletes import write_equality_delete

pytestmark = pytest.mark.spark
LIVE = True

COLUMNS = "k INT, name STRING, amount DECIMAL(10,2), d DATE, p INT"
NAMES = ("k", "name", "amount", "d", "p")


def make(wh, *, version: int = 2, clauses: str = "PARTITIONED BY (p)", files: int = 4) -> str:
    name = wh.table(COLUMNS, version=version, clauses=clauses)
    for number in range(files):
        append(wh, name, number)
    return name


def append(wh, name: str, number: int) -> None:
    wh.sql(
        f"INSERT INTO lake.d.{name} SELECT /*+ COALESCE(1) */ id, IF(id % 5 = 0, NULL,"
        f" concat('n', id % 7)), CAST(id AS DECIMAL(10,2)) / 3, date_add(DATE'2020-01-01',"
        f" CAST(id AS INT)), {number % 2} FROM range({number * 100}, {number * 100 + 100})"
    )


def bag(rows) -> Counter:
    return Counter(tuple(row) for row in rows)


def arrow_bag(table: pa.Table) -> Counter:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def java_plan(wh, pinned: PinnedTable) -> dict[tuple[str, int], set[tuple[str, int]]]:
    """Deletes by data file, each with its sequence number, as Iceberg's Java library plans them."""
    table = wh.engine.load(pinned.parts)
    plan = {}
    with closing(table.newScan().useSnapshot(pinned.facts.snapshot_id).planFiles()) as tasks:
        for task in wh.engine.jvm.listed(tasks):
            file = task.file()
            key = (file.location(), file.dataSequenceNumber())
            plan[key] = {(d.location(), d.dataSequenceNumber()) for d in task.deletes()}
    return plan


def check(wh, name: str, at: At = At(), clause: str = "") -> PinnedTable:  # noqa: B008
    """Files, deletes and rows agree with Java and Spark, in process and by a staged selection."""
    pinned = wh.pinned(name, at)
    files = pinned.live_files()
    ours = {file.key: {(d.path, d.sequence_number) for d in file.deletes} for file in files}
    assert ours == java_plan(wh, pinned)
    expected = bag(wh.sql(f"SELECT {', '.join(NAMES)} FROM lake.d.{name} {clause}"))
    assert arrow_bag(pinned.arrow(NAMES)) == expected
    with wh.engine.stage(pinned, files) as staged:
        assert bag(wh.sql(f"SELECT {', '.join(NAMES)} FROM {staged.sql}")) == expected
    return pinned


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_append(spark_warehouse, version: int) -> None:
    name = make(spark_warehouse, version=version)
    pinned = check(spark_warehouse, name)
    listed = spark_warehouse.sql(f"SELECT file_path, record_count FROM lake.d.{name}.files")
    assert {(file.path, file.record_count) for file in pinned.live_files()} == bag(listed).keys()


@pytest.mark.long
@pytest.mark.parametrize("clauses", ["PARTITIONED BY (p)", "PARTITIONED BY (bucket(3, k))", ""])
@pytest.mark.parametrize("version", [2, 3])
def test_deletes_updates_and_what_follows(spark_warehouse, version: int, clauses: str) -> None:
    wh = spark_warehouse
    name = make(wh, version=version, clauses=clauses, files=3)
    keys = {check(wh, name).live_files()[-1].deletes_key}
    for statement in (
        f"DELETE FROM lake.d.{name} WHERE k % 10 = 3",
        f"DELETE FROM lake.d.{name} WHERE k % 10 = 4",
        f"UPDATE lake.d.{name} SET name = 'u' WHERE k BETWEEN 20 AND 130",
        f"INSERT INTO lake.d.{name} VALUES (7, 'seven', 7.00, DATE'2024-07-07', 1)",
        f"DELETE FROM lake.d.{name} WHERE p = 0 AND k < 50",
    ):
        wh.sql(statement)
        pinned = check(wh, name)
        keys |= {file.deletes_key for file in pinned.live_files()}
    contents = {ref.content for file in pinned.live_files() for ref in file.deletes}
    assert contents == ({"position"} if version == 2 else {"dv"})
    assert len(keys) > 4


@pytest.mark.parametrize("version", [2, 3])
def test_partition_scoped_deletes_and_upgrade(spark_warehouse, version: int) -> None:
    wh = spark_warehouse
    name = make(wh)
    wh.sql(f"ALTER TABLE lake.d.{name} SET TBLPROPERTIES ('write.delete.granularity'='partition')")
    wh.sql(f"DELETE FROM lake.d.{name} WHERE k % 10 < 4")
    check(wh, name)
    if version == 3:
        wh.sql(f"ALTER TABLE lake.d.{name} SET TBLPROPERTIES ('format-version'='3')")
        wh.sql(f"DELETE FROM lake.d.{name} WHERE k % 50 = 9")
    append(wh, name, 9)
    check(wh, name)


@pytest.mark.parametrize("version", [2, 3])
def test_overwrite_compaction_rollback_branch_and_tag(spark_warehouse, version: int) -> None:
    wh = spark_warehouse
    name = make(wh, version=version)
    wh.sql(f"DELETE FROM lake.d.{name} WHERE k % 10 = 3")
    first = check(wh, name).facts.snapshot_id
    wh.sql(f"ALTER TABLE lake.d.{name} CREATE TAG v1")
    wh.sql(f"ALTER TABLE lake.d.{name} CREATE BRANCH b")
    wh.sql(f"INSERT INTO lake.d.{name}.branch_b VALUES (1, 'b', 1.00, DATE'2024-01-01', 1)")
    wh.sql(
        f"CALL lake.system.rewrite_data_files(table => 'd.{name}',"
        " options => map('rewrite-all', 'true'))"
    )
    compacted = check(wh, name)
    assert all(not file.deletes for file in compacted.live_files())
    wh.sql(f"INSERT OVERWRITE lake.d.{name} VALUES (5, 'five', 5.00, DATE'2024-01-01', 1)")
    check(wh, name)
    check(wh, name, At(snapshot_id=first), f"VERSION AS OF {first}")
    check(wh, name, At(ref="v1"), "VERSION AS OF 'v1'")
    check(wh, name, At(ref="b"), "VERSION AS OF 'b'")
    wh.sql(f"CALL lake.system.rollback_to_snapshot('d.{name}', {first})")
    assert check(wh, name).facts.snapshot_id == first


def test_evolved_schema_and_old_snapshots(spark_warehouse) -> None:
    wh = spark_warehouse
    name = make(wh, files=2)
    old = wh.pinned(name)
    expected = bag(wh.sql(f"SELECT name, amount, k FROM lake.d.{name}"))
    wh.sql(f"ALTER TABLE lake.d.{name} RENAME COLUMN name TO title")
    wh.sql(f"ALTER TABLE lake.d.{name} DROP COLUMN amount")
    wh.sql(f"ALTER TABLE lake.d.{name} ADD COLUMN amount BIGINT")
    wh.sql(f"ALTER TABLE lake.d.{name} ALTER COLUMN k TYPE BIGINT")
    wh.sql(f"INSERT INTO lake.d.{name} VALUES (9, 't', DATE'2024-01-01', 0, 5)")
    travelled = wh.pinned(name, At(snapshot_id=old.facts.snapshot_id))
    for pinned in (old, travelled):
        assert arrow_bag(pinned.arrow(["name", "amount", "k"])) == expected
        with wh.engine.stage(pinned, pinned.live_files()) as staged:
            assert bag(wh.sql(f"SELECT name, amount, k FROM {staged.sql}")) == expected
    newest = wh.pinned(name)
    columns = "title, amount, k"
    expected = bag(wh.sql(f"SELECT {columns} FROM lake.d.{name}"))
    assert arrow_bag(newest.arrow(["title", "amount", "k"])) == expected
    with wh.engine.stage(newest, newest.live_files()) as staged:
        assert bag(wh.sql(f"SELECT {columns} FROM {staged.sql}")) == expected


@pytest.mark.parametrize("version", [2, 3])
def test_a_staged_selection_reads_its_files_alone(spark_warehouse, version: int) -> None:
    wh = spark_warehouse
    name = make(wh, version=version, clauses="PARTITIONED BY (p, name)")  # several in one task
    wh.sql(f"INSERT INTO lake.d.{name} VALUES (3, 'a b%ü', 1.00, NULL, 1)")
    wh.sql(f"DELETE FROM lake.d.{name} WHERE k % 10 = 3 AND k > 5")
    pinned = wh.pinned(name)
    half = pinned.live_files()[::2]
    paths = {file.path for file in half}
    rows = wh.sql(f"SELECT *, _file FROM lake.d.{name}")
    expected = bag(row for row in rows if row["_file"] in paths)
    wh.sql(f"DELETE FROM lake.d.{name} WHERE k % 10 = 5")  # after the pin: not seen
    cache = wh.engine.jvm.static("org.apache.iceberg.spark.SparkTableCache", "get")
    before = cache.size()  # lazy frames of other tests stay staged until their session is closed
    staged = wh.engine.stage(pinned, half)
    assert bag(wh.sql(f"SELECT * FROM {staged.sql}")) == expected
    by_file = "SELECT _file, count(*) FROM {} WHERE p < 9 GROUP BY _file"
    counted = Counter(row[-1] for row in expected.elements())
    assert {row[0]: row[1] for row in wh.sql(by_file.format(staged.sql))} == counted
    assert arrow_bag(pinned.arrow(["k"], half)) == Counter((row[0],) for row in expected)
    assert cache.size() == before + 1
    staged.close()
    staged.close()
    assert cache.size() == before


def test_no_files_are_an_empty_relation(spark_warehouse) -> None:
    wh = spark_warehouse
    name = make(wh, files=1)
    with wh.engine.stage(wh.pinned(name), []) as staged:
        assert wh.sql(f"SELECT k, _file FROM {staged.sql}") == []


def test_a_file_appended_twice_is_there_twice(spark_warehouse) -> None:
    wh = spark_warehouse
    name = make(wh, files=1)
    table = wh.engine.load(("lake", "d", name))
    with closing(table.newScan().planFiles()) as tasks:
        file = wh.engine.jvm.listed(tasks).get(0).file()
    table.newAppend().appendFile(file).commit()
    append(wh, name, 1)
    pinned = wh.pinned(name)
    assert len(pinned.live_files()) == 3
    assert bag(wh.sql(f"SELECT k FROM lake.d.{name}")) == arrow_bag(pinned.arrow(["k"]))
    twice = [each for each in pinned.live_files() if each.path == file.location()]
    with wh.engine.stage(pinned, twice) as staged:
        assert wh.sql(f"SELECT count(*) FROM {staged.sql}")[0][0] == 200
    with pytest.raises(SelectionUnsupportedError):
        wh.engine.stage(pinned, twice[:1])


def test_equality_deletes_are_matched_and_read(spark_warehouse) -> None:
    wh = spark_warehouse
    name = make(wh, clauses="", files=2)
    write_equality_delete(wh, name, [3, 4, 150])
    append(wh, name, 0)
    pinned = wh.pinned(name)
    files = pinned.live_files()
    ours = {file.key: {(d.path, d.sequence_number) for d in file.deletes} for file in files}
    assert ours == java_plan(wh, pinned)
    assert sorted(len(file.deletes) for file in files) == [0, 1, 1]
    assert pinned.arrow(["k"]).num_rows == 297
    old = [file for file in files if file.deletes]
    with wh.engine.stage(pinned, old) as staged:
        assert wh.sql(f"SELECT count(*) FROM {staged.sql}")[0][0] == 197


def test_values_of_every_type_agree(spark_warehouse) -> None:
    wh = spark_warehouse
    name = wh.table(
        "b BOOLEAN, i INT, l BIGINT, f FLOAT, x DOUBLE, m DECIMAL(38,6), s STRING, y BINARY,"
        " d DATE, z TIMESTAMP, n TIMESTAMP_NTZ, a ARRAY<INT>, q STRUCT<u: INT, v: STRING>"
    )
    wh.sql(
        f"INSERT INTO lake.d.{name} VALUES (true, 1, 2, 1.5, 2.5, 3.25, 'ü', X'00ff',"
        " DATE'1969-12-31', TIMESTAMP'2024-01-01 12:00:00', TIMESTAMP_NTZ'1900-01-01 00:00:00',"
        " array(1, NULL), named_struct('u', 1, 'v', NULL)),"
        " (NULL, NULL, NULL, float('NaN'), double('-Infinity'), NULL, '', NULL, NULL, NULL, NULL,"
        " NULL, NULL)"
    )
    pinned = wh.pinned(name)
    described = {row[0]: row[1] for row in wh.sql(f"DESCRIBE lake.d.{name}")}
    assert {column.name: column.type for column in pinned.facts.columns} == described
    plain = wh.spark.sql(f"SELECT * FROM lake.d.{name}").toArrow()
    ours = pinned.arrow([column.name for column in pinned.facts.columns])
    for column in plain.column_names:
        kind = plain.schema.field(column).type
        assert repr(ours[column].cast(kind).to_pylist()) == repr(plain[column].to_pylist())


@pytest.mark.parametrize("version", [2, 3])
def test_properties_set_by_us_leave_the_rest_of_the_metadata(spark_warehouse, version: int) -> None:
    wh = spark_warehouse
    name = make(wh, version=version)
    wh.sql(f"DELETE FROM lake.d.{name} WHERE k = 3")
    wh.sql(f"ALTER TABLE lake.d.{name} WRITE ORDERED BY k")
    wh.sql(f"ALTER TABLE lake.d.{name} CREATE BRANCH b RETAIN 7 DAYS")
    before = metadata_json(wh, name)
    wh.lake.set_properties(("d", name), {"accelerator.x": "1", "accelerator.y": "2"})
    wh.lake.set_properties(("d", name), {"accelerator.x": None})
    after = metadata_json(wh, name)
    assert after["properties"].pop("accelerator.y") == "2"
    for own in ("last-updated-ms", "metadata-log"):
        before.pop(own), after.pop(own)
    assert before == after
    append(wh, name, 5)
    check(wh, name)


def metadata_json(wh, name: str) -> dict:
    return json.loads(Path(str(local_path(wh.pinned(name).metadata_location))).read_text())


def attached_lake(wh, current: str) -> Lake:
    engine = SparkEngine.attached(wh.spark)
    return Lake(
        engine.catalog_settings(),
        current,
        lambda: ("d",),
        jvm_located=engine.newest_metadata,
        other_catalogs=engine.other_catalogs(),
    )


def test_attached_to_a_jdbc_catalog(spark_warehouse) -> None:
    wh = spark_warehouse
    name = make(wh)
    settings = {each.name: each for each in SparkEngine.attached(wh.spark).catalog_settings()}
    assert settings["lake"].type == "sql"
    pinned = attached_lake(wh, "lake").pin().pinned((name,), At())
    assert pinned is not None
    assert pinned.facts == wh.pinned(name).facts


def test_attached_to_a_hadoop_catalog(spark_warehouse) -> None:
    wh = spark_warehouse
    conf = wh.spark.conf
    conf.set("spark.sql.catalog.had", "org.apache.iceberg.spark.SparkCatalog")
    conf.set("spark.sql.catalog.had.type", "hadoop")
    conf.set("spark.sql.catalog.had.warehouse", f"file://{wh.root}/had")
    wh.sql("CREATE TABLE had.d.h (k INT) USING iceberg")
    wh.sql("INSERT INTO had.d.h VALUES (1), (2)")
    lake = attached_lake(wh, "had")
    pinned = lake.pin().pinned(("h",), At())
    assert pinned is not None
    assert pinned.arrow(["k"])["k"].to_pylist() == [1, 2]
    wh.sql("INSERT INTO had.d.h VALUES (3)")
    fresh = lake.pin().pinned(("had", "d", "h"), At())
    assert fresh is not None
    engine = SparkEngine.attached(wh.spark)
    with engine.stage(fresh, fresh.live_files()[:1]) as staged:
        assert bag(wh.sql(f"SELECT k FROM {staged.sql}")) == Counter([(3,)])
    wh.sql("ALTER TABLE had.d.h CREATE BRANCH b")
    for parts in (
        ("nope",),
        ("had", "d", "h", "files"),
        ("had", "d", "h", "branch_b"),
        ("no", "x"),
    ):
        assert lake.pin().table(parts, At()) is None


def test_a_hadoop_table_that_is_dropped_and_made_anew(spark_warehouse, tmp_path) -> None:
    """Its metadata file has the old one's name, and is another table's."""
    wh = spark_warehouse
    conf = wh.spark.conf
    conf.set("spark.sql.catalog.anew", "org.apache.iceberg.spark.SparkCatalog")
    conf.set("spark.sql.catalog.anew.type", "hadoop")
    conf.set("spark.sql.catalog.anew.warehouse", f"file://{wh.root}/anew")
    queries = [
        "SELECT k, count(*) AS n FROM anew.d.h GROUP BY k ORDER BY k",
        "SELECT max(k) AS m, count(*) AS n FROM anew.d.h",
        "SELECT k FROM anew.d.h WHERE k > 1 ORDER BY k LIMIT 3",
    ]
    with wh.attach(store=str(tmp_path)) as session:
        for rows in ("(1), (2)", "(3), (4)", "(4), (5)"):
            wh.sql("CREATE TABLE anew.d.h (k INT) USING iceberg")
            wh.sql(f"INSERT INTO anew.d.h VALUES {rows}")
            assert wh.sql("SELECT file FROM anew.d.h.metadata_log_entries")[-1][0].endswith(
                "/v2.metadata.json"
            )
            for query in (*queries, *queries):
                assert not list(
                    differ(session.query(query).arrow(), session.services.plain_table(query))
                )
            session.query("CREATE CUBE anew AS SELECT k, count(*) FROM anew.d.h GROUP BY k")
            assert session.query(queries[0]).metrics.rewritten
            assert not list(
                differ(session.query(queries[0]).arrow(), session.services.plain_table(queries[0]))
            )
            session.query("DROP CUBE anew")
            wh.sql("DROP TABLE anew.d.h")


def test_a_hadoop_table_without_a_uuid(spark_warehouse) -> None:
    """Format 1 may have none. Spark can't plan such a table, so it isn't answered here."""
    wh = spark_warehouse
    conf = wh.spark.conf
    conf.set("spark.sql.catalog.old", "org.apache.iceberg.spark.SparkCatalog")
    conf.set("spark.sql.catalog.old.type", "hadoop")
    conf.set("spark.sql.catalog.old.warehouse", f"file://{wh.root}/old")
    conf.set("spark.sql.catalog.old.cache-enabled", "false")
    wh.sql("CREATE TABLE old.d.h (k INT) USING iceberg TBLPROPERTIES ('format-version'='1')")
    wh.sql("INSERT INTO old.d.h VALUES (1), (2), (3)")
    folder = wh.root / "old" / "d" / "h" / "metadata"
    for file in folder.glob("*.metadata.json"):
        metadata = json.loads(file.read_text())
        assert metadata.pop("table-uuid")
        file.write_text(json.dumps(metadata))
        (folder / f".{file.name}.crc").unlink()
    assert SparkEngine.attached(wh.spark).newest_metadata(("old", "d", "h")) is None
    assert attached_lake(wh, "old").pin().table(("old", "d", "h"), At()) is None
    with pytest.raises(Py4JJavaError, match="failed with an internal error"):
        wh.sql("SELECT k FROM old.d.h")


def test_a_session_without_a_jvm_is_refused() -> None:
    with pytest.raises(EngineError, match="Connect"):
        SparkEngine.attached(object())  # type: ignore[arg-type]


def test_the_bridge_finds_classes_and_translates_errors(spark_warehouse) -> None:
    jvm = spark_warehouse.engine.jvm
    items = spark_warehouse.spark.sparkContext._jvm.java.util.ArrayList()
    for text in ("a", "b\nc", "d"):
        items.add(text)
    length = jvm.getter("java.lang.String", "trim", jvm.type("java.lang.String"))
    jvm.keep_where(items, [length], ["d", "b\nc"])
    assert list(items) == ["b\nc", "d"]
    with pytest.raises(JvmError, match="NoSuchMethod"):
        jvm.static("org.apache.iceberg.spark.SparkTableCache", "nope")
    with pytest.raises(JvmError, match="ClassNotFound"):
        jvm.type("org.apache.iceberg.Nope")
    with pytest.raises(JvmError, match="NumberFormat"):
        jvm.new("java.math.BigDecimal", "x")


def spark_sleep(wh, seconds: int):
    """A job of one task that sleeps."""

    def sleep(rows):
        time.sleep(seconds)
        yield sum(1 for _ in rows)

    return lambda: wh.spark.sparkContext.parallelize([1], 1).mapPartitions(sleep).collect()


def test_an_interrupt_stops_the_tagged_jobs_alone(spark_warehouse) -> None:
    wh = spark_warehouse
    outcomes: dict[str, object] = {}

    def run(tag: str, seconds: int) -> None:
        held = spark_sleep(wh, seconds)
        try:
            with wh.engine.tagged(tag):
                outcomes[tag] = held()
        except CancelledError as error:
            outcomes[tag] = error

    threads = [threading.Thread(target=run, args=(tag, s)) for tag, s in (("x", 30), ("y", 4))]
    for thread in threads:
        thread.start()
    time.sleep(2)
    started = time.monotonic()
    wh.engine.interrupt("x")
    for thread in threads:
        thread.join()
    assert time.monotonic() - started < 15
    assert isinstance(outcomes["x"], CancelledError)
    assert not isinstance(outcomes["y"], Exception)


@pytest.mark.long
def test_a_thousand_files_are_staged_without_a_call_each(spark_warehouse) -> None:
    wh = spark_warehouse
    name = wh.table(
        "k INT, p INT",
        clauses="PARTITIONED BY (p)",
        properties="'write.distribution-mode'='none', 'write.spark.fanout.enabled'='false'",
    )
    wh.sql(f"INSERT INTO lake.d.{name} SELECT id, id FROM range(0, 1000, 1, 1)")
    pinned = wh.pinned(name)
    files = pinned.live_files()
    wh.engine.stage(pinned, files[:500]).close()
    started = time.perf_counter()
    with wh.engine.stage(pinned, files[::2]) as staged:
        elapsed = time.perf_counter() - started
        assert wh.sql(f"SELECT count(*) FROM {staged.sql}")[0][0] == 500
    print(f"staged 500 of 1000 files in {elapsed * 1000:.0f} ms")
    assert elapsed < 2
