"""Queries of the table of files, in process as by Spark over views of the same manifests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator.errors import EngineError
from accelerator.iceberg import PinnedTable
from accelerator.query.virtual_tables import answer
from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from tests.spark.every_type import COLUMNS, ROW

pytestmark = pytest.mark.spark

IN_PROCESS = (
    "SELECT count(*) FROM {}",
    "SELECT count(*), sum(record_count) FROM {}",
    "SELECT count(*) n, sum(file_size_in_bytes) / sum(record_count) AS per_row FROM {} m"
    " WHERE m.content = 0",
    "SELECT content, spec_id, count(*) AS n, min(record_count), max(record_count) AS most,"
    " avg(record_count) AS a FROM {} GROUP BY content, spec_id HAVING count(*) > 0",
    "SELECT count(DISTINCT file_path) AS f, count(DISTINCT spec_id) AS s, count(sort_id) FROM {}",
    "SELECT DISTINCT file_format, spec_id FROM {}",
    "SELECT file_path, record_count, content FROM {}",
    "SELECT file_path AS p, data_sequence_number, file_sequence_number, sort_id, key_metadata"
    " FROM {} WHERE content <> 0 OR record_count >= 2",
    "SELECT min(column_stats.a.lower_bound), max(m.column_stats.a.upper_bound) FROM {} m",
    "SELECT max(Column_Stats.B.UPPER_bound) FROM {}",
    "SELECT sum(column_stats.c.null_value_count) AS n, sum(column_stats.f.nan_value_count) AS x,"
    " min(column_stats.c.lower_bound) AS c, max(column_stats.z.upper_bound) AS z,"
    " min(column_stats.z.lower_bound) AS y FROM {}",
    "SELECT column_stats.a.Lower_bound, column_stats.b.lower_bound, column_stats.f.upper_bound,"
    " column_stats.o.upper_bound, column_stats.e.lower_bound, column_stats.t.upper_bound AS t,"
    " column_stats.n.upper_bound AS n, column_stats.s.lower_bound AS s, column_stats.g.upper_bound"
    " AS g, column_stats.d.lower_bound AS d, column_stats.`r.y z`.upper_bound AS y FROM {}",
    "SELECT partition_data.d, partition_data.c, partition_data.s_trunc AS s,"
    " partition_data.e_bucket AS e, partition_data.t_day, partition_data.z,"
    " partition_data.a FROM {}",
    "SELECT partition_data.d AS day, count(*) AS n FROM {} WHERE partition_data.c IS NOT NULL"
    " GROUP BY partition_data.d ORDER BY partition_data.d LIMIT 2",
    "SELECT count(*) FROM {} WHERE column_stats.t.upper_bound >= TIMESTAMP '1970-01-01 02:00:00'"
    " AND column_stats.d.lower_bound <= DATE '2024-02-28' AND column_stats.s.lower_bound LIKE 'x%'",
    "SELECT count(*) FROM {} WHERE column_stats.z.upper_bound > 0.5 OR partition_data.z IN (1, 2)",
    "SELECT count(*) FROM {} WHERE column_stats.f.upper_bound > column_stats.f.lower_bound",
    "SELECT count(*) FILTER (WHERE content = 0) AS n, count_if(content = 1) AS d FROM {}",
)
SORTED = (
    ("SELECT file_path, record_count FROM {} ORDER BY file_path LIMIT 3", 1),
    ("SELECT content, column_stats.f.upper_bound AS f, file_path FROM {} ORDER BY f DESC", 0),
    ("SELECT column_stats.s.upper_bound AS u, file_path FROM {} ORDER BY u, file_path LIMIT 4", 2),
)
BY_SPARK = {
    "SELECT * FROM {}": "block_unsupported",
    "SELECT split_offsets FROM {}": "expression_not_proven",
    "SELECT count(column_stats) FROM {}": "expression_unsupported",
    "SELECT column_stats.a FROM {}": "expression_unsupported",
    "SELECT file_size_in_bytes / record_count AS x FROM {}": "may_raise",
    "SELECT count(*) FROM {} WHERE file_size_in_bytes / record_count > 1": "may_raise",
    "SELECT a.content FROM {} a JOIN {} b ON a.file_path = b.file_path": "metadata_one_table",
    "WITH f AS (SELECT * FROM {}) SELECT count(*) FROM f": "block_unsupported",
    "SELECT initcap(file_path) AS u FROM {}": "expression_unsupported",
    "SELECT column_stats.a.lower_bound + 1 FROM {} ORDER BY content": "may_raise",
    "SELECT approx_count_distinct(file_path) AS n FROM {}": "expression_not_proven",
    "SELECT max(column_stats.`r.y z`.upper_bound) FROM {}": "expression_not_proven",
    "SELECT record_count FROM {} column_stats": "name_ambiguous",
}


@pytest.fixture
def acc(spark_warehouse, tmp_path: Path) -> Iterator[Accelerator]:
    acc = spark_warehouse.attach(store=str(tmp_path / "store"))
    yield acc
    acc.close()


@pytest.fixture(scope="module")
def files(spark_warehouse) -> str:
    """Every type, several specs, deletes of all kinds, NULLs, a promoted and an added column."""
    wh = spark_warehouse
    clauses = "PARTITIONED BY (d, truncate(1, s), days(t), c, bucket(4, e))"
    name = wh.table(f"{COLUMNS}, g FLOAT, z DECIMAL(30,4), k INT", clauses=clauses)
    more = ", CAST(id AS FLOAT) - 3, CAST(id * -100000000000000000 AS DECIMAL(30,4)), 1 FROM range"
    for first in (0, 4):
        row = ROW.format(first, first + 4).replace(" FROM range", more)
        wh.sql(f"INSERT INTO lake.d.{name} {row}")
    wh.sql(f"DELETE FROM lake.d.{name} WHERE a + 0 = 1")
    wh.sql(f"ALTER TABLE lake.d.{name} DROP PARTITION FIELD c")
    wh.sql(f"ALTER TABLE lake.d.{name} ADD PARTITION FIELD z")
    wh.sql(f"ALTER TABLE lake.d.{name} ADD PARTITION FIELD f")
    wh.sql(f"ALTER TABLE lake.d.{name} ADD PARTITION FIELD a")
    row = ROW.format(10, 12).replace(" FROM range", more)
    wh.sql(f"INSERT INTO lake.d.{name} {row}")
    wh.sql(
        f"INSERT INTO lake.d.{name} (k) SELECT /*+ COALESCE(1) */ k FROM VALUES (7), (8) AS v(k)"
    )
    wh.sql(f"DELETE FROM lake.d.{name} WHERE k = 8")
    wh.sql(f"ALTER TABLE lake.d.{name} ALTER COLUMN a TYPE BIGINT")
    found = wh.sql(f"SELECT content, record_count FROM lake.d.{name}.all_files")
    assert {row.content for row in found} == {0, 1}
    return f"lake.d.`{name}$logical_iceberg_metadata`"


@pytest.mark.parametrize("sql", IN_PROCESS)
def test_in_process_as_by_spark(acc: Accelerator, files: str, sql: str) -> None:
    mine = acc.query(sql.format(files))
    assert (mine.metrics.engine, mine.metrics.fallback) == ("duckdb", None)
    plain = acc.query(sql.format(files).replace("SELECT", "SELECT /*+ PLAIN */", 1))
    assert plain.metrics.engine == "spark"
    assert differ(mine.arrow(), plain.arrow()) == []
    assert plain.arrow().num_rows
    assert "DuckDB in process" in acc.explain(sql.format(files))


@pytest.mark.parametrize(("sql", "keys"), SORTED)
def test_sorted_as_by_spark(acc: Accelerator, files: str, sql: str, keys: int) -> None:
    mine = acc.query(sql.format(files))
    assert mine.metrics.engine == "duckdb"
    plain = acc.query(sql.format(files).replace("SELECT", "SELECT /*+ PLAIN */", 1)).arrow()
    assert differ(mine.arrow(), plain) == []
    if keys:
        assert mine.arrow().to_pylist() == plain.to_pylist()


@pytest.mark.parametrize(("sql", "code"), BY_SPARK.items())
def test_spark_answers_the_rest(acc: Accelerator, files: str, sql: str, code: str) -> None:
    found = acc.query(sql.replace("{}", files))
    assert found.metrics.engine == "spark"
    assert (found.metrics.fallback or "").split(":")[0] == code
    assert code in found.explain()


def test_a_failure_is_answered_by_spark(
    acc: Accelerator, files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise EngineError("no", hint="none")

    monkeypatch.setattr(answer, "run_virtual", fails)
    found = acc.query(f"SELECT count(*) > 5 AS many FROM {files}")
    assert found.arrow().to_pylist() == [{"many": True}]
    assert (found.metrics.fallback or "").startswith("engine_failed")


def test_only_what_a_query_names_is_made(
    acc: Accelerator, files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, ...]] = []
    whole = PinnedTable.file_metadata

    def recorded(self, table, wanted):
        made.extend(wanted)
        return whole(self, table, wanted)

    monkeypatch.setattr(PinnedTable, "file_metadata", recorded)
    acc.query(
        f"SELECT /*+ PLAIN */ sum(record_count), max(column_stats.z.upper_bound) FROM {files}"
    )
    assert {path[0] for path in made} == {"content", "record_count", "column_stats"}
    stats = {path[1] for path in made if path[0] == "column_stats"}
    assert stats == {"d", "z"}  # the namespace is called as a column
    made.clear()
    acc.query(f"SELECT sum(record_count), max(column_stats.z.upper_bound) FROM {files}")
    assert sorted(made) == [("column_stats", "z", "upper_bound"), ("record_count",)]


def test_columns_that_a_query_uses_without_a_name(live_acc: Accelerator, files: str) -> None:
    acc, spark = live_acc, live_acc.spark
    paths = acc.query(f"SELECT file_path, record_count FROM {files}").arrow()
    number, rows = paths.num_rows, sum(paths.column(1).to_pylist())
    letters = ", ".join("abcdefghijklmn")
    expected = {
        f"SELECT count(*) FROM {files} NATURAL JOIN acc_test_names": number,
        f"SELECT sum(f) FROM {files} AS o({letters})": rows,
        f"SELECT count(*) FROM (SELECT `0` FROM {files}"
        " PIVOT (count(1) FOR content IN (0)))": number,
        f"SELECT sum(IDENTIFIER('record' || '_count')) FROM {files}": rows,
        f"SELECT count(DISTINCT `file_pa.*`) FROM {files}": number,
    }
    spark.createDataFrame(paths.select(["file_path"])).createOrReplaceTempView("acc_test_names")
    spark.conf.set("spark.sql.parser.quotedRegexColumnNames", "true")
    for sql, value in expected.items():
        assert acc.query(sql).arrow().column(0).to_pylist() == [value], sql
