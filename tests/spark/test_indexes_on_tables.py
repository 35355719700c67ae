"""Indexes on real tables: equal answers whatever the table goes through, and what is left out."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from accelerator.errors import (
    BuildError,
    IndexDefinitionError,
    IndexExistsError,
    IndexNotFoundError,
    UnknownColumnError,
    UnknownTableError,
)
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

COLUMNS = "id BIGINT, name STRING, x DOUBLE, n DECIMAL(12, 2), d DATE, ts TIMESTAMP, small INT"
_ROWS = (
    "SELECT id * 7919 % 100003, IF(id % 11 = 0, NULL, concat('né', id * 31 % 500)),"
    " IF(id % 13 = 0, DOUBLE('NaN'), IF(id % 7 = 0, -0.0D, id / 3)), id % 77 / 10,"
    " date_add(DATE '1960-01-01', CAST(id % 9000 AS INT)),"
    " TIMESTAMP '1969-12-31 00:00:00Z' + make_dt_interval(0, 0, id), CAST(id % 40 AS INT)"
    " FROM range({first}, {last}, 1, 1)"
)


def _filled(wh, files=4, rows=500, **how):
    name = f"lake.d.{wh.table(COLUMNS, **how)}"
    for number in range(files):
        _append(wh, name, number * rows, rows)
    return name


def _append(wh, name, first, rows):
    wh.sql(f"INSERT INTO {name} {_ROWS.format(first=first, last=first + rows)}")


def _queries(table):
    wheres = (
        "id = 7919",
        "id = 7920",
        "id IN (7919, 15838, 5)",
        "id <> 7919 AND name = 'né31'",
        "name = 'né31' OR id = 7919",
        "name IN ('né31', '', 'x')",
        "n = 1.5 AND id IN (7919, 15)",
        "d = DATE '1960-03-01'",
        "ts = TIMESTAMP '1969-12-31 00:05:00Z'",
        "small = 7 AND id = 7919",
        "name <=> 'né31'",
        "name LIKE 'né3%' AND id IN (7919, 1)",
    )
    found = []
    for where in wheres:
        found.append(f"SELECT * FROM {table} WHERE {where}")
        found.append(f"SELECT count(*), max(d), sum(small) FROM {table} WHERE {where}")
        found.append(
            f"SELECT name, avg(n), sum(small) + 1 FROM {table} WHERE {where} GROUP BY name"
        )
    found.append(f"SELECT id, ts FROM {table} WHERE id IN (7919, 39595) ORDER BY ts DESC LIMIT 3")
    return found


def _index_all(acc, table, prefix):
    for column in ("id", "name", "n", "d", "ts", "small"):
        acc.execute(f"CREATE INDEX {prefix}_{column} ON {table} USING BLOOM ({column})")


@pytest.mark.long
def test_answers_stay_through_changes_of_the_table(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = _filled(wh, version=2)
    _index_all(acc, table, "change")
    same = Differential(acc)
    queries = _queries(table)
    same.check(queries, spark=queries[:4], where="built")
    assert acc.query(f"SELECT * FROM {table} WHERE id = 7919").metrics.files_read == 1
    changes = (
        f"INSERT INTO {table} {_ROWS.format(first=0, last=60)}",
        f"DELETE FROM {table} WHERE id % 5 = 1",
        f"UPDATE {table} SET name = 'né31' WHERE small = 3",
        f"ALTER TABLE {table} RENAME COLUMN small TO little",
        f"ALTER TABLE {table} ALTER COLUMN little TYPE BIGINT",
        f"ALTER TABLE {table} ALTER COLUMN n TYPE DECIMAL(20, 2)",
        f"CALL lake.system.rewrite_data_files(table => '{table.removeprefix('lake.')}',"
        " options => map('rewrite-all', 'true'))",
        f"ALTER TABLE {table} ADD COLUMN more INT",
        f"INSERT INTO {table} SELECT *, 7 FROM ({_ROWS.format(first=9000, last=9050)})",
    )
    for number, change in enumerate(changes):
        wh.sql(change)
        same.changed()
        now = queries if "RENAME" not in change else [q.replace("small", "little") for q in queries]
        queries = now
        some = queries[number % 4 :: 4]  # each time others
        same.check(some, rewritten=None, spark=some[:1], where=change)
    acc.execute(f"BUILD ALL ON {table}")
    same.check(queries, rewritten=None, where="built again")
    shown = {row["index"]: row for row in acc.execute(f"SHOW INDEXES ON {table}").to_pylist()}
    assert shown["change_small"]["column"] == "little"
    assert all(row["status"] == "complete" for row in shown.values())
    acc.execute(f"CREATE INDEX change_more ON {table} USING BLOOM (more)")
    more = [f"SELECT * FROM {table} WHERE more = {value}" for value in (7, 8)]
    same.check(more, rewritten=None)


_TEXTS = (
    "SELECT id, CASE id % 7 WHEN 0 THEN concat('connection from 10.0.', id % 50, ' refused')"
    " WHEN 1 THEN concat('用户', id, '登录失败') WHEN 2 THEN 'İSTANBUL ΟΔΟΣ Straße' WHEN 3 THEN ''"
    " WHEN 4 THEN NULL WHEN 5 THEN concat('a%b_c ', chr(128512), id) ELSE concat('x', id) END AS t,"
    " IF(id % 10 = 0, NULL, id % 6) AS few, IF(id % 9 = 0, DOUBLE('NaN'), id % 4 - 1.0) AS x"
    " FROM range({first}, {last}, 1, 1)"
)


def _text_queries(table):
    wheres = (
        "t LIKE '%refused%'",
        "t LIKE '%10.0.7 %'",
        "t LIKE '用户%失败'",
        "t LIKE '%登录%'",
        "t LIKE '%录失败%' AND few = 3",
        "t NOT LIKE '%refused%'",
        "t ILIKE '%REFUSED%'",
        "t ILIKE '%straSSE%'",
        "t ILIKE '%οδοσ%'",
        "t ILIKE '%i̇stanbul%'",
        "contains(t, 'refused')",
        "contains(t, '')",
        "startswith(t, 'conn')",
        "startswith(t, '用户1')",
        "endswith(t, '失败')",
        "t = 'x6'",
        "t IN ('x6', '用户8登录失败', '')",
        "t LIKE '%😀%'",
        "t LIKE '____'",
        "t LIKE '%absent words%'",
        "few = 3",
        "few <> 3",
        "few IN (1, 2, 9)",
        "few NOT IN (1, 2)",
        "few > 4",
        "few BETWEEN 2 AND 3 AND id < 300",
        "few IS NULL",
        "few IS NOT NULL AND few < 1",
        "few <=> NULL",
        "NOT (few = 3 OR t LIKE '%refused%')",
        "few = 3 OR x > 1",
        "few = 99",
        "few > 99 OR t = 'nothing'",
    )
    found = []
    for where in wheres:
        found.append(f"SELECT id, t, few, x FROM {table} WHERE {where}")
        found.append(f"SELECT count(*), sum(id) FROM {table} WHERE {where}")
    found.append(f"SELECT id FROM {table} WHERE t LIKE '%refused%' ORDER BY id DESC LIMIT 5")
    found.append(f"SELECT id FROM {table} WHERE few = 3 AND t LIKE '%登录%' ORDER BY id LIMIT 2")
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    "kinds",
    [("NGRAM_BLOOM", "BITMAP"), pytest.param(("BITMAP", "BLOOM"), marks=pytest.mark.slow)],
)
def test_texts_and_few_values(spark_warehouse, acc, kinds) -> None:
    wh = spark_warehouse
    properties = "'write.parquet.row-group-limit'='50'" if kinds[0] == "BITMAP" else ""
    name = wh.table("id BIGINT, t STRING, few INT, x DOUBLE", version=2, properties=properties)
    table = f"lake.d.{name}"
    for first in (0, 400, 800):
        wh.sql(f"INSERT INTO {table} {_TEXTS.format(first=first, last=first + 400)}")
    text, few = kinds
    acc.execute(f"CREATE INDEX {name}_t ON {table} USING {text} (t)")
    acc.execute(f"CREATE INDEX {name}_few ON {table} USING {few} (few)")
    acc.execute(f"CREATE INDEX {name}_x ON {table} USING {few} (x)")
    same = Differential(acc)
    same.check(_text_queries(table), rewritten=None, where=str(kinds))
    if kinds[0] == "NGRAM_BLOOM":
        found = acc.query(f"SELECT id FROM {table} WHERE t LIKE '%absent words%'")
        assert found.metrics.files_read == 0 and found.metrics.indexes == (f"{name}_t",)
    wh.sql(f"DELETE FROM {table} WHERE id % 5 = 2")
    same.changed()
    if few == "BITMAP":
        for where in ("few = 3", "few IS NULL", "NOT (few IN (1, 2))", "few > 2 AND few < 5"):
            query = f"SELECT count(*) FROM {table} WHERE {where}"
            same.check([query])
            assert acc.query(query).metrics.files_read == 0, where
    same.check(_text_queries(table), rewritten=None, where=f"{kinds} after a delete")


def test_time_travel_and_branches_use_what_their_files_have(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = _filled(wh, files=2)
    first = wh.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at")[0][0]
    acc.execute(f"CREATE INDEX travel ON {table} USING BLOOM (id)")
    wh.sql(f"ALTER TABLE {table} CREATE BRANCH b")
    wh.sql(f"INSERT INTO {table}.branch_b {_ROWS.format(first=5000, last=5010)}")
    same = Differential(acc)
    for state in (f"VERSION AS OF {first}", "VERSION AS OF 'b'"):
        same.check([f"SELECT * FROM {table} {state} WHERE id = 7919"], where=state)
    old = acc.query(f"SELECT * FROM {table} VERSION AS OF {first} WHERE id = 7920")
    assert old.metrics.files_read == 0 and old.metrics.indexes == ("travel",)


@pytest.mark.long
def test_a_partitioned_table_and_deletion_vectors(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = _filled(wh, version=3, clauses="PARTITIONED BY (small)", rows=80)
    for column in ("id", "small"):
        acc.execute(f"CREATE INDEX parted_{column} ON {table} USING BLOOM ({column})")
    wh.sql(f"DELETE FROM {table} WHERE id % 3 = 0")
    same = Differential(acc)
    same.check([q for q in _queries(table) if "name IS NULL" not in q], rewritten=None)
    assert acc.query(f"SELECT * FROM {table} WHERE id = 7920").metrics.files_read == 0


@pytest.mark.parametrize("harm", ["gone", "cut", "flipped", "empty"])
def test_artifacts_that_cannot_be_read_leave_nothing_out(spark_warehouse, tmp_path, harm) -> None:
    wh = spark_warehouse
    table = _filled(wh, files=3, rows=200)
    with wh.attach(store=str(tmp_path)) as acc:
        acc.execute(f"CREATE INDEX harmed ON {table} USING BLOOM (id)")
    (bundle,) = Path(tmp_path).rglob("bundle.puffin")
    data = bundle.read_bytes()
    if harm == "gone":
        bundle.unlink()
    else:
        wrong = {"cut": data[: len(data) // 20], "flipped": bytes(len(data)), "empty": b""}
        bundle.write_bytes(wrong[harm])
    with wh.attach(store=str(tmp_path)) as acc:
        query = f"SELECT * FROM {table} WHERE id IN (7919, 7920)"
        assert acc.query(query).arrow().num_rows == 1
        assert acc.fallbacks == {"index_unreadable": 1}
        assert acc.query(query).metrics.files_read > 0


def test_a_failed_replacement_leaves_the_old_index_in_force(
    spark_warehouse, acc, monkeypatch
) -> None:
    wh = spark_warehouse
    table = _filled(wh, files=2, rows=100)
    acc.execute(f"CREATE INDEX kept ON {table} USING BLOOM (id)")
    monkeypatch.setattr(acc.services.store, "write_artifact", _no_space)
    with pytest.raises(OSError, match="no space"):
        acc.execute(f"CREATE OR REPLACE INDEX kept ON {table} USING BLOOM (name)")
    monkeypatch.undo()
    assert acc.services.store.registry(fresh=True).indexes["kept"].column == "id"
    assert not acc.services.store.jobs(acc.services.store.registry().indexes["kept"].table_uuid)
    assert acc.query(f"SELECT * FROM {table} WHERE id = 7920").metrics.files_read == 0
    acc.execute(f"CREATE OR REPLACE INDEX kept ON {table} USING BLOOM (name)")
    assert acc.services.store.registry(fresh=True).indexes["kept"].column == "name"
    assert [n for n in acc.services.store.registry().indexes if n.startswith("kept")] == ["kept"]


def _no_space(*_: object) -> str:
    raise OSError("no space")


def test_bad_statements_are_typed_errors(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table('id BIGINT, m MAP<STRING, INT>, s STRUCT<a: INT>')}"
    acc.execute(f"CREATE INDEX bad ON {table} USING BLOOM (id)")
    for text, error in (
        (f"CREATE INDEX bad ON {table} USING BLOOM (id)", IndexExistsError),
        (f"CREATE INDEX bad2 ON {table} USING BLOOM (nope)", UnknownColumnError),
        (f"CREATE INDEX bad2 ON {table} USING BLOOM (id.nope)", UnknownColumnError),
        (f"CREATE INDEX bad2 ON {table} USING BLOOM (s.nope)", UnknownColumnError),
        (f"CREATE INDEX bad2 ON {table} USING BLOOM (s.a)", IndexDefinitionError),
        (f"CREATE INDEX bad2 ON {table} USING BLOOM (m)", IndexDefinitionError),
        (f"CREATE INDEX bad2 ON {table} USING BLOOM (id) WITH (nope = 1)", IndexDefinitionError),
        (
            f"CREATE INDEX bad2 ON {table} USING BLOOM (id) WITH (bits_per_value = 0)",
            IndexDefinitionError,
        ),
        ("BUILD INDEX nope", IndexNotFoundError),
        ("DROP INDEX nope", IndexNotFoundError),
    ):
        with pytest.raises(error) as caught:
            acc.execute(text)
        assert caught.value.hint, text
    acc.execute(f"CREATE INDEX IF NOT EXISTS bad ON {table} USING BLOOM (nope)")
    wh.sql(f"ALTER TABLE {table} ADD COLUMN other INT")
    wh.sql(f"ALTER TABLE {table} DROP COLUMN id")
    with pytest.raises(IndexDefinitionError, match="dropped"):
        acc.execute("BUILD INDEX bad")
    wh.sql(f"DROP TABLE {table}")
    with pytest.raises(UnknownTableError):
        acc.execute("BUILD INDEX bad")
    shown = {row["index"]: row["status"] for row in acc.execute("SHOW INDEXES").to_pylist()}
    assert "gone" in shown["bad"]
    acc.execute("DROP INDEX bad")


def test_a_corrupt_data_file_fails_the_build_and_nothing_is_left(spark_warehouse, tmp_path) -> None:
    wh = spark_warehouse
    table = _filled(wh, files=2, rows=50)
    path = wh.sql(f"SELECT file_path FROM {table}.files")[0][0].removeprefix("file:")
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[:100])
    with wh.attach(store=str(tmp_path)) as acc:
        with pytest.raises(BuildError) as caught:
            acc.execute(f"CREATE INDEX torn ON {table} USING BLOOM (id)")
        assert caught.value.hint
        assert not list(Path(tmp_path).rglob("*.puffin"))
        Path(path).write_bytes(data)
        assert acc.execute("BUILD INDEX torn").to_pylist()[0]["files"] == 2


def test_two_builders_and_an_appender_at_once(spark_warehouse, tmp_path) -> None:
    wh = spark_warehouse
    table = _filled(wh, files=2, rows=50)
    with wh.attach(store=str(tmp_path)) as acc:
        acc.execute(f"CREATE INDEX busy ON {table} USING BLOOM (id) DEFERRED")
        errors: list[BaseException] = []

        def work(task) -> None:
            try:
                task()
            except BaseException as error:
                errors.append(error)

        tasks = [
            lambda: acc.execute("BUILD INDEX busy"),
            lambda: acc.execute("BUILD INDEX busy"),
            lambda: _append(wh, table, 1000, 50),
        ]
        threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        acc.execute("BUILD INDEX busy")
        (shown,) = acc.execute(f"SHOW INDEXES ON {table}").to_pylist()
        assert (shown["files_covered"], shown["files_total"]) == (3, 3)
        Differential(acc).check([f"SELECT * FROM {table} WHERE id = {7919 * i}" for i in range(9)])
        (uuid,) = acc.services.store.tables()
        assert not acc.services.store.jobs(uuid)
