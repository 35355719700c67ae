"""Relate columns whose dimensions are too large for memory: Spark joins, counts and compares.

Strategy: the limit of rows is 0, so that every dimension is large. What is built is compared byte
by byte with what lookups in memory build; changes are those of `test_relate_fresh`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from accelerator.artifacts.relate import dimensions
from accelerator.errors import BuildError, CancelledError, EngineError, RelateKeyError
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential
from tests.spark.relate_shop import FILES, Shop
from tests.spark.relate_world import SMALL_GROUPS

pytestmark = pytest.mark.spark
LIVE = True


@pytest.fixture
def acc(spark_warehouse: SparkWarehouse, tmp_path: Path) -> Iterator[Accelerator]:
    store = str(tmp_path / "store")
    with spark_warehouse.attach(store=store, engine="duckdb", relate_lookup_rows_max=0) as acc:
        yield acc


@pytest.fixture
def shop(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Shop:
    return Shop(spark_warehouse, acc)


def _artifacts(store: Path) -> Counter[bytes]:
    return Counter(p.read_bytes() for p in store.rglob("*.puffin"))


_ATTRIBUTES = {
    "s": ("STRING", "concat('n', id % 50)"),
    "x": ("DOUBLE", "CASE id % 9 WHEN 0 THEN CAST('NaN' AS DOUBLE) WHEN 1 THEN -0.0D ELSE id END"),
    "m": ("DECIMAL(12,3)", "id / 8"),
    "t": ("TIMESTAMP", "timestamp_seconds(id * 3600)"),
    "w": ("TIMESTAMP_NTZ", "CAST(timestamp_seconds(id * 7200) AS TIMESTAMP_NTZ)"),
    "y": ("BINARY", "CAST(CAST(id AS STRING) AS BINARY)"),
    "b": ("BOOLEAN", "id % 3 = 0"),
}
_KEYS = {
    "i": ("INT", "CAST(id AS INT)"),
    "l": ("BIGINT", "id * 10000000000"),
    "c": ("STRING", "concat('key ', id)"),
    "d": ("DATE", "date_add(DATE'2000-01-01', CAST(id AS INT))"),
    "e": ("DECIMAL(20,2)", "id / 4"),
    "z": ("TIMESTAMP", "timestamp_seconds(id)"),
    "v": ("TIMESTAMP_NTZ", "CAST(timestamp_seconds(id) AS TIMESTAMP_NTZ)"),
}


@pytest.mark.long
def test_what_is_built_is_what_a_lookup_builds(
    spark_warehouse: SparkWarehouse, tmp_path: Path
) -> None:
    """Files of several pieces, keys of every type, NULL, dangling and often; rows deleted."""
    wh = spark_warehouse
    keys = ", ".join(f"{name} {type_}" for name, (type_, _) in _KEYS.items())
    attributes = ", ".join(f"{name} {type_}" for name, (type_, _) in _ATTRIBUTES.items())
    f = f"lake.d.{wh.table(f'{keys}, p INT', clauses='PARTITIONED BY (p)')}"
    d = f"lake.d.{wh.table(f'{keys}, {attributes}, o INT')}"
    o = f"lake.d.{wh.table('o INT, land STRING')}"
    made = [f"{text} AS {name}" for name, (_, text) in (_KEYS | _ATTRIBUTES).items()]
    own = ", ".join(f"CAST({text} AS {type_})" for type_, text in _KEYS.values())
    often = "CASE WHEN r % 3 = 0 THEN 7 WHEN r % 50 = 0 THEN NULL ELSE r * 7919 % 1100 END AS id"
    wh.sql(f"INSERT INTO {o} SELECT CAST(id AS INT), concat('l', id) FROM range(5)")
    wh.sql(f"INSERT INTO {d} SELECT {', '.join(made)}, CAST(id % 7 AS INT) FROM range(1000)")
    wh.sql(
        f"INSERT INTO {f} SELECT /*+ COALESCE(1) */ {own}, CAST(r % 2 AS INT) FROM"
        f" (SELECT id AS r, {often.replace('r ', 'id ')} FROM range(150000)) ORDER BY r % 2"
    )
    wh.sql(f"DELETE FROM {f} WHERE i = 11")
    relates = [(f"{a}_by_{k}", d, a, [k]) for a, k in zip(_ATTRIBUTES, _KEYS, strict=True)]
    relates.append(("s_by_both", d, "s", ["i", "c"]))
    built = []
    for rows_max in (0, None):
        settings = {"store": str(tmp_path / f"{rows_max}"), "relate_lookup_rows_max": rows_max}
        with wh.attach(**settings) as acc:
            if rows_max == 0:
                for name, table, attribute, on in relates:
                    same = " AND ".join(f"{f}.{k} = {d}.{k}" for k in on)
                    acc.execute(
                        f"ALTER TABLE {f} ADD RELATE COLUMN {attribute} FROM {table}.{attribute}"
                        f" ON {same} AS {name}"
                    )
                acc.execute(
                    f"ALTER TABLE {f} ADD RELATE COLUMN land FROM {o}.land"
                    f" ON {f}.i = {d}.i AND {d}.o = {o}.o"
                )
                acc.execute(
                    f"ALTER TABLE {f} ADD RELATE COLUMN FROM"
                    f" concat({d}.s, '/', coalesce({o}.land, 'none'))"
                    f" ON {f}.i = {d}.i AND {d}.o = {o}.o AS place"
                )
                wh.sql(f"ALTER TABLE {o} RENAME COLUMN land TO country")
            for name in (*(one[0] for one in relates), "land", "place"):
                acc.execute(f"CREATE INDEX of_{name} ON {f} USING BITMAP ({name}) DEFERRED")
            acc.execute(f"CREATE INDEX more ON {f} USING BOUNDS (land) DEFERRED")
            told = acc.execute(f"BUILD ALL ON {f}").to_pylist()
            assert [row["files"] for row in told] == [2] * 11
            assert not any(row.get("files_skipped") for row in told)
            if rows_max == 0:
                queries = [
                    f"SELECT count(*) AS n, sum(p) AS s FROM {f} f JOIN {d} d ON f.i = d.i"
                    f" LEFT JOIN {o} o ON d.o = o.o WHERE {where}"
                    for where in ("o.country = 'l3'", "o.country IS NULL", "d.o > 9")
                ]
                Differential(acc).check(queries, rewritten=None)
        built.append(_artifacts(tmp_path / f"{rows_max}"))
    assert built[0] == built[1]
    assert built[0].total() >= 9 * 2


def test_keys_that_stand_twice_are_counted_by_spark(shop: Shop) -> None:
    shop.sql("INSERT INTO {d} SELECT k, 'n9', n FROM {d} WHERE k < 7")
    shop.sql("INSERT INTO {d} VALUES (NULL, 'n', 1), (NULL, 'n', 1)")
    with pytest.raises(RelateKeyError, match=r"\(k\).* × 2, .* × 2 and 2 more") as caught:
        shop.acc.execute(
            f"ALTER TABLE {shop.f} ADD RELATE COLUMN n FROM {shop.d}.n ON {shop.f}.k = {shop.d}.k"
            " AS again"
        )
    assert caught.value.hint
    with pytest.raises(RelateKeyError, match="isn't unique"):
        shop.build()
    assert shop.read("d.name = 'n5'") == 2  # its own, and the file with the keys below 7
    shop.sql("DELETE FROM {d} WHERE name = 'n9' AND k < 7")
    assert shop.build() == 0
    assert shop.read("d.name = 'n5'") == 1


@pytest.mark.long
def test_only_files_with_a_changed_key_are_built_again(shop: Shop) -> None:
    assert shop.read("d.name = 'n3'") == 1
    shop.sql("UPDATE {d} SET name = 'other' WHERE k IN (35, 71)")
    assert shop.read("d.name = 'other'") == 2
    assert shop.build() == 2
    shop.sql("INSERT INTO {d} VALUES (5000, 'n5', 1), (NULL, 'n6', 2)")
    assert shop.read("d.name = 'n5'") == 1
    assert shop.build() == 0
    shop.sql("UPDATE {d} SET n = -n")
    assert shop.build() == 0
    shop.sql("DELETE FROM {d} WHERE k BETWEEN 20 AND 29")
    assert (shop.build(), shop.read("d.name = 'n2'")) == (1, 0)
    shop.append(2)
    assert shop.build() == 1


def test_files_are_looked_into_where_bounds_do_not_tell(shop: Shop) -> None:
    """Ten files more that have the first and the last key, and 35 in one of them."""
    values = ["(0, 1), (99, 1)"] * 5 + ["(0, 1), (35, 2), (99, 1)"]
    for one in values:
        shop.sql(f"INSERT INTO {{f}} SELECT /*+ COALESCE(1) */ * FROM VALUES {one}")
    assert shop.build() == len(values)
    shop.sql("UPDATE {d} SET name = 'other' WHERE k = 35")
    assert shop.build() == 2
    assert shop.read("d.name = 'other'") == 2


def test_few_changed_rows_are_compared_without_a_job(shop: Shop, monkeypatch) -> None:
    held = shop.acc.services.dimensions
    monkeypatch.setattr(held, "_rows_max", 5)

    def never(*_args: object) -> None:
        raise AssertionError("a job compares them")

    monkeypatch.setattr(held, "_by_spark", never)
    shop.sql("INSERT INTO {d} VALUES (5000, 'n5', 1), (NULL, 'n6', 2)")
    assert shop.read("d.name = 'n5'") == 1
    assert shop.build() == 0


def test_too_many_changes_leave_everything_open(shop: Shop, monkeypatch) -> None:
    monkeypatch.setattr(dimensions, "_CHANGED_KEYS_MAX", 1)
    shop.sql("UPDATE {d} SET name = 'other' WHERE k IN (35, 71)")
    assert shop.read("d.name = 'other'") == FILES
    assert "10 data files may have changed keys" in str(shop.acc.explain(shop.query("name = 'n5'")))
    assert shop.build() == FILES
    assert shop.read("d.name = 'other'") == 2


@pytest.mark.long
def test_a_chain_of_large_dimensions(spark_warehouse: SparkWarehouse, acc: Accelerator) -> None:
    wh = spark_warehouse
    f = f"lake.d.{wh.table('k INT, v INT', properties=SMALL_GROUPS)}"
    d = f"lake.d.{wh.table('k INT, o INT')}"
    o = f"lake.d.{wh.table('o INT, land STRING')}"
    wh.sql(f"INSERT INTO {o} SELECT CAST(id AS INT), concat('l', id) FROM range(5)")
    wh.sql(f"INSERT INTO {d} SELECT CAST(id AS INT), CAST(id DIV 10 AS INT) FROM range(60)")
    for i in range(6):
        wh.sql(
            f"INSERT INTO {f} SELECT /*+ COALESCE(1) */ CAST({i * 10} + id % 10 AS INT),"
            " CAST(id AS INT) FROM range(300)"
        )
    acc.execute(
        f"ALTER TABLE {f} ADD RELATE COLUMN land FROM {o}.land ON {f}.k = {d}.k AND {d}.o = {o}.o"
    )
    acc.execute(f"CREATE INDEX chained ON {f} USING BITMAP (land)")

    def read(where: str) -> int:
        query = (
            f"SELECT count(*) AS n, sum(v) AS s FROM {f} f JOIN {d} d ON f.k = d.k"
            f" JOIN {o} o ON d.o = o.o WHERE {where}"
        )
        Differential(acc).check([query], rewritten=None)
        return acc.query(query).metrics.files_read

    def build() -> int:
        return int(acc.execute("BUILD INDEX chained").to_pylist()[0]["files"])

    assert read("o.land = 'l3'") == 1
    wh.sql(f"UPDATE {o} SET land = 'x' WHERE o = 2")
    assert (read("o.land = 'x'"), build()) == (1, 1)
    wh.sql(f"UPDATE {d} SET o = 3 WHERE k = 7")
    assert (read("o.land = 'l3'"), build()) == (2, 1)
    wh.sql(f"INSERT INTO {o} VALUES (5, 'l1')")  # for the last ten keys, until now without one
    assert (read("o.land = 'l1'"), build()) == (2, 1)
    assert read("o.land = 'l1'") == 2


def test_sorted_by_what_a_large_dimension_says(shop: Shop) -> None:
    for _ in range(2):
        shop.sql(
            "INSERT INTO {f} SELECT /*+ COALESCE(1) */ CAST(nullif(id % 120, 7) AS INT), 1"
            " FROM range(2000)"
        )
    assert shop.build() == 2
    assert shop.read("d.name = 'n5'") == 3
    for order in ("SORT BY (n)", "HILBERT BY (name, v)"):
        (row,) = shop.acc.execute(
            f"OPTIMIZE {shop.f} {order} WITH (target_file_size_mb = 0.003)"
        ).to_pylist()
        assert row["files_after"] > 4
        assert shop.build() == row["files_after"]
        assert shop.read("d.name = 'n5'") < row["files_after"] / 2
        shop.ask("d.name IS NULL")


def test_spark_computes_values_only_in_a_session_that_reads_them_alike(shop: Shop) -> None:
    """Under this setting Spark reads two backslashes in a text, not one, and an index had two."""
    conf, setting = shop.acc.spark.conf, "spark.sql.parser.escapedStringLiterals"
    shop.acc.execute(
        f"ALTER TABLE {shop.f} ADD RELATE COLUMN FROM concat({shop.d}.name, '\\\\')"
        f" ON {shop.f}.k = {shop.d}.k AS ended"
    )
    for name, column in (("by_value", "ended"), ("by_key", "k")):
        shop.acc.execute(f"CREATE INDEX {name} ON {shop.f} USING BITMAP ({column}) DEFERRED")
    conf.set(setting, "true")
    try:
        assert shop.build("by_key") == FILES  # no SQL has a part in what files have
        with suppress(BuildError):
            shop.build("by_value")
            refused = False
        refused = True
    finally:
        conf.unset(setting)
    assert shop.ask("concat(d.name, '\\\\') = 'n5\\\\'").rewritten
    assert refused
    assert shop.build("by_value") == FILES
    assert shop.read("concat(d.name, '\\\\') = 'n5\\\\'") == 1


def test_a_build_that_fails_or_is_stopped_goes_on(shop: Shop, monkeypatch) -> None:
    monkeypatch.setattr("accelerator.builds.sidecars.builder._FILES_MAX", 4)
    for number in range(FILES):
        shop.append(number)
    commit, done, stop = shop.acc.services.store.add_segments, list[int](), threading.Event()

    def once(*args, **how):
        stop.set()
        done.append(1)
        return commit(*args, **how)

    monkeypatch.setattr(shop.acc.services.store, "add_segments", once)
    record = shop.acc.services.store.registry(fresh=True).index("BITMAP")
    with pytest.raises(CancelledError, match="cancelled"):
        shop.acc.services.index_builder.build([record], cancelled=stop)
    assert len(done) == 1
    monkeypatch.undo()

    def broken(*_args: object, **_how: object) -> None:
        raise EngineError("no disk", hint="add one")

    monkeypatch.setattr("accelerator.builds.sidecars.spark.index_joined", broken)
    with pytest.raises(BuildError, match="no disk"):
        shop.build()
    monkeypatch.undo()
    assert shop.build() == FILES - 4
    assert shop.read("d.name = 'n5'") == 2


def test_a_running_join_is_stopped(shop: Shop, monkeypatch) -> None:
    """Its tasks wait for ever, until somebody cancels what the session does."""
    acc, done = shop.acc, threading.Event()
    shop.append(0)
    jobs, given = acc.spark.sparkContext.statusTracker(), acc.services.engine.rows_of

    def rows_of(task, items, schema):
        waiting = "reflect('java.lang.Thread', 'sleep', CAST(3600000 AS BIGINT)) IS NULL"
        return given(task, items, schema).where(waiting)

    def cancel() -> None:
        while not done.wait(0.05):
            if jobs.getActiveJobsIds():
                acc.cancel()

    monkeypatch.setattr(acc.services.engine, "rows_of", rows_of)
    stopping = threading.Thread(target=cancel)
    stopping.start()
    try:
        with pytest.raises(CancelledError, match="BUILD INDEX BITMAP goes on"):
            shop.build()
    finally:
        done.set()
        stopping.join()
    monkeypatch.undo()
    assert shop.build() == 1


def test_segments_hold_by_the_files_that_differ(shop: Shop) -> None:
    """Of a cube over a large dimension as well."""
    f, d, acc = shop.f, shop.d, shop.acc
    acc.execute(
        f"CREATE CUBE large_names AS SELECT d.name, count(*) AS n, sum(v) AS s FROM {f} f"
        f" JOIN {d} d ON f.k = d.k GROUP BY d.name"
    )
    shop.sql("UPDATE {d} SET name = 'other' WHERE k = 35")
    query = f"SELECT d.name, count(*) AS n FROM {f} f JOIN {d} d ON f.k = d.k GROUP BY d.name"
    Differential(acc).check([query], rewritten=None)
    told = acc.execute("BUILD CUBE large_names").to_pylist()
    assert [row["files"] for row in told] == [1]
    acc.execute("DROP CUBE large_names FORCE")
