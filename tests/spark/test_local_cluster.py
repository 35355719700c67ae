"""Executors in processes of their own: selections, builds, manifests, indexes, our functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.processes import agreed

pytestmark = pytest.mark.spark

SCRIPT = """
import sys
from accelerator.engines.spark.engine import SparkEngine, SparkSettings
from accelerator.iceberg import CatalogSettings, Lake
from rewrite.facts import At

root = sys.argv[1]
settings = SparkSettings(master="local-cluster[2,1,1024]", driver_memory="1g")
properties = {"uri": f"sqlite:///{root}/catalog.db", "warehouse": f"file://{root}/"}
engine = SparkEngine.embedded([CatalogSettings("lake", "sql", properties)], settings)
run = lambda text: engine.session.sql(text).collect()
run("CREATE NAMESPACE lake.d")
for version in (2, 3):
    name = f"lake.d.t{version}"
    run(f"CREATE TABLE {name} (k INT) USING iceberg TBLPROPERTIES ("
        f"'format-version'='{version}', 'write.delete.mode'='merge-on-read')")
    for start in (0, 100):
        run(f"INSERT INTO {name} SELECT id FROM range({start}, {start + 100}, 1, 1)")
    run(f"DELETE FROM {name} WHERE k % 10 = 3")
    properties = {"uri": f"sqlite:///{root}/catalog.db"}
    lake = Lake([CatalogSettings("lake", "sql", properties)], "lake", lambda: ("d",))
    pinned = lake.pin().pinned((f"t{version}",), At())
    chosen = [file for file in pinned.live_files() if file.sequence_number == 1]
    with engine.stage(pinned, chosen) as staged:
        found = run(f"SELECT count(*), max(k), count(DISTINCT _file) FROM {staged.sql}")
    assert tuple(found[0]) == (90, 99, 1), found
assert engine.session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() == 3
engine.stop()
print("agreed")
"""

BUILD = """
import sys
import accelerator

conf = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
acc = accelerator.open(sys.argv[1], create=True, spark_master="local-cluster[2,1,1024]",
                       spark_driver_memory="1g", spark_conf=conf, build_files_per_job=2)
run = lambda text: acc.spark.sql(text).collect()
run("CREATE NAMESPACE d")
run("CREATE TABLE d.dim (k INT, region STRING) USING iceberg")
run("INSERT INTO d.dim SELECT id, concat('r', id % 3) FROM range(20)")
run("CREATE TABLE d.t (k INT, g STRING, v INT) USING iceberg TBLPROPERTIES ("
    "'format-version'='3', 'write.delete.mode'='merge-on-read')")
for start in (0, 100, 200):
    run("INSERT INTO d.t SELECT id % 20, concat('g', id % 5), IF(id % 11 = 0, NULL, id % 60)"
        f" FROM range({start}, {start + 100}, 1, 1)")
run("DELETE FROM d.t WHERE v = 7")
query = ("SELECT region, count(*) AS n, sum(v) AS s, count(DISTINCT v) AS d,"
         " count(DISTINCT g) AS e, approx_percentile(v, 0.3, 1000) AS p,"
         " approx_count_distinct(v) AS h FROM d.t"
         " JOIN d.dim ON t.k = dim.k GROUP BY region")
acc.query(f"CREATE CUBE c AS {query}")
exact = query.replace(" approx_count_distinct(v) AS h", "").replace("AS p,", "AS p")
verified = acc.verify(exact)
assert verified.rewritten and verified.equal, verified
from accelerator.services.verification.compare import differ
assert differ(acc.sql(exact).toArrow(), acc.services.plain_table(exact)) == []
run("INSERT INTO d.t VALUES (1, 'g9', 99)")
verified = acc.verify(exact)
assert verified.rewritten and verified.equal, verified
assert differ(acc.sql(exact).toArrow(), acc.services.plain_table(exact)) == []
verified = acc.verify(query)
assert verified.rewritten and verified.equal and verified.estimates == ("p", "h"), verified
assert acc.fallbacks == {}, acc.fallbacks
acc.close()
print("agreed")
"""

DECODE = """
import sys
import accelerator
from accelerator.services.verification.compare import differ

conf = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
acc = accelerator.open(sys.argv[1], create=True, spark_master="local-cluster[2,1,1024]",
                       spark_driver_memory="1g", spark_conf=conf, manifest_jobs="always")
run = lambda text: acc.spark.sql(text).collect()
run("CREATE NAMESPACE d")
run("CREATE TABLE d.t (k INT, g STRING, v DOUBLE) USING iceberg"
    " PARTITIONED BY (truncate(2, g)) TBLPROPERTIES ("
    "'format-version'='3', 'write.delete.mode'='merge-on-read')")
for start in (0, 100, 200):
    run("INSERT INTO d.t SELECT id, concat('g', id % 3), IF(id % 9 = 0, NULL, id / 4)"
        f" FROM range({start}, {start + 100}, 1, 1)")
run("DELETE FROM d.t WHERE k = 17")
answered = 0
for where in ("k >= 150", "g = 'g1' AND k < 120", "k IN (5, 250)", "v > 70D"):
    for what in ("count(*) AS n, max(k) AS hi", "k, g"):
        end = " ORDER BY k LIMIT 5" if what == "k, g" else ""
        sql = f"SELECT {what} FROM d.t WHERE {where}{end}"
        found = acc.query(sql)
        assert differ(found.arrow(), acc.services.plain_table(sql)) == [], sql
        if found.metrics.rewritten:
            answered += 1
            assert found.metrics.manifests_by_spark == 3, found.metrics
            assert found.metrics.files_total == 9, found.metrics
assert acc.fallbacks == {}, acc.fallbacks
assert answered >= 5, answered
acc.close()
print("agreed")
"""


INDEX = """
import sys
import accelerator
from accelerator.query.execution.row_readers import spark_workers as away
from accelerator.services.verification.compare import differ

conf = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
acc = accelerator.open(sys.argv[1], create=True, spark_master="local-cluster[2,1,1024]",
                       engine="spark", spark_driver_memory="1g", spark_conf=conf,
                       sidecar_jobs="always")
run = lambda text: acc.spark.sql(text).collect()
run("CREATE NAMESPACE d")
run("CREATE TABLE d.t (k INT, m STRING) USING iceberg TBLPROPERTIES ("
    "'format-version'='3', 'write.delete.mode'='merge-on-read')")
for start in (0, 100, 200):
    run("INSERT INTO d.t SELECT id, concat('order ', id % 9, ' 支付失败 w', id % 40)"
        f" FROM range({start}, {start + 100}, 1, 1)")
for kind, column in (("BITMAP", "k"), ("RANGE", "k"), ("TOKEN_BITMAP", "m"), ("NGRAM_BLOOM", "m")):
    (built,) = acc.execute(f"CREATE INDEX i_{kind} ON d.t USING {kind} ({column})").to_pylist()
    assert built["files"] == 3, built
run("DELETE FROM d.t WHERE k % 10 = 3")
given, parts_of = [], away.parts_of

def watched(*args):
    given.append(parts_of(*args))
    return given[-1]

away.parts_of = watched
for where in ("k BETWEEN 120 AND 126", "match(m, '失败 W7')", "has_token(m, 'w14') AND k > 50"):
    sql = f"SELECT * FROM d.t WHERE {where}"
    found = acc.query(sql)
    assert differ(found.arrow(), acc.services.plain_table(sql)) == [], sql
    assert found.arrow().num_rows and found.metrics.rewritten, (sql, found.metrics)
assert len(given) == 3 and all(given), given
assert acc.fallbacks == {}, acc.fallbacks
acc.close()
print("agreed")
"""


@pytest.mark.slow
def test_executors_build_and_ask_indexes(tmp_path: Path) -> None:
    agreed(INDEX, tmp_path)


@pytest.mark.slow
def test_executors_decode_manifests(tmp_path: Path) -> None:
    agreed(DECODE, tmp_path)


@pytest.mark.long
def test_executors_build_cubes(tmp_path: Path) -> None:
    agreed(BUILD, tmp_path)


@pytest.mark.slow
def test_executors_read_a_staged_selection(tmp_path: Path) -> None:
    agreed(SCRIPT, tmp_path)
