"""Wrong answers that other systems have shipped, each by its number: ours are plain Spark's.

T1 to T63 are the collection of such answers that `docs/rewriting.md` speaks of. Every statement
runs accelerated and plain where cubes cover all files, and again after an append and deletes.
Traps that need a table of their own, a build or a second session have a test of their own in other
modules, which `ELSEWHERE` names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

F, W, CX, CN, J, D, B, E = (
    f"lake.d.trap_{name}" for name in ("f", "w", "cx", "cn", "j", "d", "b", "e")
)
_ROWS = (
    "SELECT nullif(substr('abcde', CAST(id % 6 AS INT), 1), '') AS k, CAST(id AS INT) AS i,"
    " nullif(CAST(id * 7 % 13 AS INT), 3) AS n, nullif(CAST(id * 5 % 23 AS INT), 4) AS c,"
    " date_add(DATE '2023-10-28', CAST(id * 3 % 70 AS INT)) AS d,"
    " timestamp_seconds(1700000000 + id * 150) AS ts, CAST(id % 37 AS DECIMAL(9, 2)) / 4 AS p,"
    " CASE WHEN id % 17 = 5 THEN DOUBLE('NaN') WHEN id % 11 = 3 THEN NULL ELSE id / 8 END AS x,"
    " CAST(NULL AS STRING) AS void,"
    " CAST(date_add(DATE '2023-10-28', CAST(id % 9 AS INT)) AS STRING) AS day,"
    " concat('q', id % 4, '\\\\', id % 3, '%', id % 2, '_') AS text"
    " FROM range({first}, {last}, 1, 1)"
)
_CUBES = {
    "f": f"SELECT k, d, n, day, text, void, count(*), sum(c), count(c), min(c), max(c), sum(p),"
    f" max(x), min(x), count(DISTINCT c), approx_count_distinct(i) FROM {F}"
    " GROUP BY k, d, n, day, text, void",
    "w": f"SELECT k, n, c, count(*), sum(p) FROM {W} WHERE n > 5 AND c > 10 GROUP BY k, n, c",
    "cx": f"SELECT k, count(c) FROM {CX} GROUP BY k",
    "cn": f"SELECT k, count(*) FROM {CN} GROUP BY k",
    "j": f"SELECT k, g, m, count(*), sum(c), count(c) FROM {J} LEFT JOIN {D} ON k = dk"
    " GROUP BY k, g, m",
    "b": f"SELECT year(d), month(d), k, count(*), sum(c) FROM {B} GROUP BY year(d), month(d), k",
    "e": f"SELECT k, count(*), sum(c), min(c) FROM {E} GROUP BY k",
}
TRAPS = {
    "T1": [
        f"SELECT count(*), sum(p) FROM {W} WHERE n > 5",
        f"SELECT k, count(*) FROM {W} WHERE n > 5 AND c > 10 GROUP BY k",
        f"SELECT count(*) FROM {W} WHERE n > 5 AND (c > 10 OR c IS NULL)",
    ],
    "T2": [
        f"SELECT k, count(*) FROM {F} WHERE k IS NOT NULL GROUP BY k",
        f"SELECT count(*) FROM {F} WHERE k IS NULL",
        f"SELECT k, sum(c) FROM {F} WHERE k = 'a' OR k IS NULL GROUP BY k",
        f"SELECT count(*) FROM {F} WHERE (k > 'b') IS NOT TRUE",
    ],
    "T3": [
        f"SELECT count(*), count(c), sum(c), min(c), max(c) FROM {F} WHERE k = 'none'",
        f"SELECT k, count(*) FROM {F} WHERE k = 'none' GROUP BY k",
        f"SELECT count(*), sum(c), min(c) FROM {E}",
        f"SELECT k, count(*) FROM {E} GROUP BY k",
        f"SELECT count(*) + 1, coalesce(sum(c), 0) FROM {E} HAVING count(*) = 0",
    ],
    "T4": [f"SELECT count(*) FROM {CX}", f"SELECT k, count(*) FROM {CX} GROUP BY k"],
    "T5": [f"SELECT count(c) FROM {CN}", f"SELECT k, count(c) FROM {CN} GROUP BY k"],
    "T6": [
        f"SELECT count(*), sum(c) FROM {J} JOIN {D} ON k = dk",
        f"SELECT g, count(*) FROM {J} JOIN {D} ON k = dk GROUP BY g",
        f"SELECT g, count(*) FROM {J} LEFT JOIN {D} ON k = dk GROUP BY g",
    ],
    "T7": [
        f"SELECT count(*) FROM {F} WHERE nvl(void, 'x') = 'x'",
        f"SELECT count(*) FROM {F} WHERE coalesce(void, k) = 'a'",
        f"SELECT count(*) FROM {F} WHERE void <=> NULL",
    ],
    "T8": [
        f"SELECT count(*) FROM {F} WHERE k <> 'a'",
        f"SELECT count(*) FROM {F} WHERE NOT (k = 'a' OR n = 2)",
        f"SELECT count(*) FROM {F} WHERE k NOT IN ('a', 'b')",
        f"SELECT count(*) FROM {F} WHERE k NOT IN ('a', NULL)",
    ],
    "T9": [f"SELECT avg(c), avg(p) FROM {F}", f"SELECT k, avg(c) FROM {F} GROUP BY k"],
    "T10": [
        f"SELECT count(DISTINCT c), count(c), count(*) FROM {F}",
        f"SELECT k, count(c), count(DISTINCT c) FROM {F} GROUP BY k",
    ],
    "T11": [f"SELECT avg(DISTINCT c), sum(DISTINCT c) FROM {F}"],
    "T12": [
        f"SELECT n, count(DISTINCT c) FROM {F} GROUP BY n",
        f"SELECT count(DISTINCT k), count(DISTINCT n) FROM {F}",
    ],
    "T13": [
        f"SELECT count(k), count(n), sum(n), avg(n), min(n), max(k) FROM {F}",
        f"SELECT k, count(k), sum(n), avg(n), max(n) FROM {F} GROUP BY k",
    ],
    "T14": [
        f"SELECT k, n FROM {F} WHERE d = DATE '2023-11-01'",
        f"SELECT abs(n) FROM {F} WHERE n = 2",
    ],
    "T15": [
        f"SELECT a.k, count(*) FROM {F} a JOIN {D} ON a.k = dk GROUP BY a.k",
        f"SELECT count(*) FROM {D} JOIN {F} ON dk = k WHERE n = 2",
    ],
    "T17": [
        f"SELECT sum(p) / count(*), sum(c) / count(c) FROM {F}",
        f"SELECT k, sum(p) / nullif(sum(c), 0) FROM {F} GROUP BY k",
    ],
    "T18": [
        f"SELECT k, n, count(*) FROM {F} GROUP BY GROUPING SETS ((k), (n), (k), ())",
        f"SELECT k, n, count(*), grouping(k) FROM {F} GROUP BY ROLLUP (k, n)",
    ],
    "T19": [
        f"SELECT count(*) FROM {E} GROUP BY GROUPING SETS (())",
        f"SELECT k, count(*) FROM {E} GROUP BY CUBE (k)",
    ],
    "T20": [
        f"SELECT 'a' AS x, count(*) FROM {F} GROUP BY x",
        f"SELECT 'a' AS x, count(*) FROM {E} GROUP BY x",
        f"SELECT k, 1 AS one, count(*) FROM {F} GROUP BY k, one",
    ],
    "T21": [f"SELECT count(k) FROM {F}", f"SELECT max(k) FROM {CN}", f"SELECT count(k) FROM {CN}"],
    "T22": [f"SELECT count(*) FROM {CN}", f"SELECT count(c) FROM {CX}"],
    "T23": [
        f"SELECT k, sum(c) FROM {F} WHERE k = 'a' GROUP BY k",
        f"SELECT sum(c) FROM {F} WHERE k = 'a' AND n = 2 GROUP BY k, n",
    ],
    "T24": [
        f"SELECT dk, k, count(*) FROM {J} JOIN {D} ON k = dk GROUP BY dk, k",
        f"SELECT sum(c) AS a, sum(c) AS b, count(*) AS c, k AS x, k AS y FROM {F} GROUP BY k",
        f"SELECT k, k, n FROM {F} GROUP BY k, n, k",
    ],
    "T25": [
        f"SELECT count(*) FROM {B} WHERE ts {op} TIMESTAMP '2023-11-15 0{hour}'"
        for op in ("=", "<", "<=", ">", ">=", "<>")
        for hour in ("0:00:00", "0:30:00")
    ],
    "T26": [
        f"SELECT sum(c) FROM {B} WHERE d BETWEEN DATE '2023-11-01' AND DATE '2023-12-01'",
        f"SELECT sum(c) FROM {B} WHERE d >= DATE '2023-11-01' AND d < DATE '2023-12-01'",
        f"SELECT count(*) FROM {B} WHERE trunc(d, 'MM') = DATE '2023-11-01'",
    ],
    "T27": [
        f"SELECT trunc(d, 'MM'), count(*) FROM {B} GROUP BY trunc(d, 'MM')",
        f"SELECT date_trunc('MONTH', date_trunc('WEEK', d)), count(*) FROM {B} GROUP BY 1",
        f"SELECT date_trunc('WEEK', d), count(*) FROM {B} GROUP BY 1",
        f"SELECT year(d), quarter(d), count(*) FROM {B} GROUP BY year(d), quarter(d)",
        f"SELECT weekofyear(d), count(*) FROM {F} GROUP BY weekofyear(d)",
    ],
    "T28": [
        f"SELECT trunc(d, 'YEAR') AS y, g, sum(c) FROM {B} JOIN {D} ON k = dk GROUP BY y, g",
        f"SELECT sum(c), trunc(d, 'YEAR') AS y FROM {B} GROUP BY y",
    ],
    "T29": [
        f"SELECT hour(ts), count(*) FROM {B} GROUP BY hour(ts)",
        f"SELECT CAST(ts AS DATE), count(*) FROM {B} GROUP BY 1",
        f"SELECT date_trunc('DAY', ts), sum(c) FROM {B} GROUP BY 1",
    ],
    "T30": [
        f"SELECT count(*) FROM {F} WHERE day = DATE '2023-10-30'",
        f"SELECT count(*) FROM {F} WHERE CAST(day AS TIMESTAMP) >= TIMESTAMP '2023-11-01 00:00:00'",
        f"SELECT count(*) FROM {F} WHERE n > '5'",
    ],
    "T31": [
        f"SELECT count(*), count(g) FROM {J} LEFT JOIN {D} ON k = dk AND m > 1",
        f"SELECT count(*) FROM {J} LEFT JOIN {D} ON k = dk AND n > 5",
        f"SELECT count(*) FROM {J} LEFT ANTI JOIN {D} ON k = dk",
        f"SELECT count(*) FROM {J} LEFT JOIN {D} ON k = dk WHERE m IS NULL",
    ],
    "T32": [f"SELECT count(*), count(k), count(dk) FROM {J} FULL JOIN {D} ON k = dk"],
    "T33": [
        f"SELECT dk, count(c) FROM {D} LEFT JOIN {J} ON k = dk GROUP BY dk",
        f"SELECT cnt, count(*) FROM (SELECT dk, count(k) AS cnt FROM {D} LEFT JOIN {J} ON k = dk"
        " GROUP BY dk) GROUP BY cnt",
    ],
    "T34": [
        f"SELECT count(*) FROM {D}",
        f"SELECT g, count(*) FROM {D} GROUP BY g",
        f"SELECT sum(m) FROM {J} LEFT JOIN {D} ON k = dk",
        f"SELECT k, count(*) FROM {J} GROUP BY k",
    ],
    "T35": [
        f"SELECT count(*) FROM {J} LEFT JOIN {D} ON k = dk WHERE NOT (g = 'x')",
        f"SELECT count(*) FROM {J} LEFT JOIN {D} ON k = dk WHERE g <> 'x' OR g IS NULL",
    ],
    "T36": [f"SELECT count(*), sum(c), avg(c), max(c) FROM {F} WHERE d > DATE '2023-11-05'"],
    "T37": [
        f"SELECT sum(c) FROM {F} WHERE i < 40",
        f"SELECT d, sum(c) FROM {F} WHERE n = 1 GROUP BY d",
    ],
    "T40": [
        f"SELECT a, b FROM (SELECT count(*) AS a FROM {F} WHERE k = 'a') CROSS JOIN"
        f" (SELECT count(*) AS b FROM {F} WHERE k = 'b')",
        f"WITH a AS (SELECT count(*) AS n FROM {F} WHERE n > 3),"
        f" b AS (SELECT count(*) AS n FROM {F}) SELECT a.n, b.n FROM a CROSS JOIN b",
    ],
    "T43": [
        f"SELECT count(*) FROM {F} WHERE d < current_date()",
        f"SELECT count(*) FROM {B} WHERE ts < current_timestamp() AND now() > ts",
    ],
    "T44": [f"SELECT count(*), min(i), max(i) FROM {F}", f"SELECT k, max(c) FROM {F} GROUP BY k"],
    "T45": [
        f"SELECT k, n, d, day, text, sum(c), count(DISTINCT c) FROM {F} GROUP BY 1, 2, 3, 4, 5"
    ],
    "T47": [
        f"SELECT count(*) FROM {F} TABLESAMPLE (100 PERCENT)",
        f"SELECT k, count(*) FROM {F} TABLESAMPLE (0 ROWS) GROUP BY k",
    ],
    "T48": [
        f"SELECT count(*) FROM (SELECT k FROM {F} LIMIT 7)",
        f"SELECT sum(n) FROM (SELECT k, count(*) AS n FROM {F} GROUP BY k ORDER BY k LIMIT 3)",
    ],
    "T50": [
        f"SELECT max(x), min(x) FROM {F}",
        f"SELECT k, max(x) FROM {F} GROUP BY k",
        f"SELECT max(x) FROM {J}",
        f"SELECT count(*) FROM {J} WHERE x > 1e300",
    ],
    "T51": [f"SELECT min(text), max(text), min(day), max(i) FROM {J}"],
    "T52": [
        f"SELECT min(i), max(i), min(ts), max(d) FROM {J}",
        f"SELECT max(p) FROM {J} WHERE i > 0",
    ],
    "T53": [f"SELECT i, k FROM {J} WHERE i IN (1, 39, 40, 79, 200)"],
    "T54": [
        f"SELECT count(*) FROM {J} WHERE k = 'b' AND text LIKE 'q1%'",
        f"SELECT i FROM {J} WHERE k = 'c' AND p > 3 AND void IS NULL",
    ],
    "T55": [f"SELECT i FROM {J} WHERE k = 'd'", f"SELECT i FROM {J} WHERE text = 'q1\\\\1%1_'"],
    "T56": [
        f"SELECT count(*) FROM {J} WHERE text LIKE '{pattern}'"
        for pattern in (r"q1\\\\1%", r"%\\\\2\\%0\\_", r"%\\%1\\_", "q_\\\\\\\\%", r"%\\\\%\\%%")
    ],
    "T57": [
        f"SELECT count(*) FROM {J} WHERE k = 'a '",
        f"SELECT count(*) FROM {J} WHERE k LIKE 'a%' AND text <> 'q'",
        f"SELECT count(*) FROM {J} WHERE k = 'a\\0'",
    ],
    "T59": [
        f"SELECT i, d FROM {J} ORDER BY i LIMIT 3",
        f"SELECT i FROM {J} ORDER BY i DESC LIMIT 3",
        f"SELECT i FROM {F} WHERE n = 1 ORDER BY ts DESC, i LIMIT 2",
    ],
    "T62": [
        f"SELECT kk, count(*) FROM (SELECT upper(k) AS kk FROM {J}) WHERE kk = 'A' GROUP BY kk"
    ],
    "T63": [
        f"SELECT sum(x), avg(x) FROM {F} WHERE NOT isnan(x)",
        f"SELECT k, avg(x) FROM {J} GROUP BY k",
    ],
}
ELSEWHERE = {
    "T16": "test_measures.py",
    "T38": "test_table_changes.py",
    "T39": "test_build_crash.py",
    "T41": "test_planning.py",
    "T42": "test_build_crash.py",
    "T46": "test_table_changes.py",
    "T49": "test_build_crash.py",
    "T58": "test_tokens.py",
    "T60": "test_hashes.py",
    "T61": "test_raw_pruning.py",
}
_REWRITTEN = frozenset(
    f"T{number}"
    for number in (1, 2, 3, 6, 8, 9, 10, 12, 13, 20, 21, 22, 23, 34, 36, 40, 44, 48, 50)
)
"""Of which one statement at least is answered without plain Spark: these show that cubes match."""
_NOT_REWRITTEN = {("changed", "T6")}
"""Its cube says nothing any more once a key of the dimension is gone."""


@pytest.fixture(scope="module")
def traps(request, spark_warehouse, tmp_path_factory):
    sql = spark_warehouse.sql
    for name in (F, W, CX, CN, J, B):
        sql(
            f"CREATE TABLE {name} USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read')"
            f" AS {_ROWS.format(first=0, last=40)}"
        )
        sql(f"INSERT INTO {name} {_ROWS.format(first=40, last=80)}")
    sql(f"CREATE TABLE {E} USING iceberg AS {_ROWS.format(first=0, last=0)}")
    sql(
        f"CREATE TABLE {D} USING iceberg AS SELECT * FROM VALUES ('a', 'x', 1), ('b', 'x', 2),"
        " ('c', 'y', NULL), ('d', NULL, 4), ('z', 'y', 5) AS t(dk, g, m)"
    )
    store = str(tmp_path_factory.mktemp("traps"))
    with spark_warehouse.attach(store=store) as session:
        for name, select in _CUBES.items():
            session.execute(f"CREATE CUBE trap_{name} AS {select}")
        for column in ("k", "text", "i"):
            session.execute(f"CREATE INDEX trap_{column} ON {J} USING BITMAP ({column})")
        session.execute(f"CREATE INDEX trap_grams ON {J} USING NGRAM_BLOOM (text)")
        if request.param == "changed":
            for name in (F, W, CX, CN, J, B):
                sql(f"INSERT INTO {name} {_ROWS.format(first=80, last=95)}")
                sql(f"DELETE FROM {name} WHERE i IN (0, 1, 33)")
            sql(f"DELETE FROM {D} WHERE dk = 'a'")
        yield session
    for name in (F, W, CX, CN, J, B, D, E):
        sql(f"DROP TABLE {name}")


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("traps", ["covered", "changed"], indirect=True, scope="module")
def test_trap(traps, trap, request) -> None:
    queries = TRAPS[trap]
    Differential(traps).check(queries, rewritten=None, where=trap)
    state = request.node.callspec.params["traps"]
    if trap in _REWRITTEN and (state, trap) not in _NOT_REWRITTEN:
        assert any(traps.query(query).metrics.rewritten for query in queries), trap


@pytest.mark.parametrize("traps", ["changed"], indirect=True, scope="module")
def test_t30_a_cast_that_fails_where_plain_spark_reads_nothing(traps) -> None:
    """Spark's bounds leave all files out, so that it casts nothing; a cube's cells are cast."""
    sql = f"SELECT count(*) FROM {F} WHERE text < 5 AND k = 'none'"
    answer = traps.query(sql)
    assert answer.arrow().to_pylist() == [{"count(1)": 0}]
    assert answer.metrics.rewritten or answer.metrics.fallback.startswith("engine_failed")


def test_every_trap_has_a_test() -> None:
    assert {*TRAPS, *ELSEWHERE} == {f"T{number}" for number in range(1, 64)}
    here = Path(__file__).parent
    assert all((here / name).exists() for name in ELSEWHERE.values())
