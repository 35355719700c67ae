"""Merging states is associative and commutative: any split, any tree, any order gives one answer.

Strategy: the star's fact is split at random into parts; their cells are merged by `merge_select` in
a random tree; every measure is then finished over what came out. The model is one part.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from itertools import count

import duckdb
import pytest
from datasketches import kll_doubles_sketch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.engines.sketch_functions import (
    bitmap_count,
    bitmap_of,
    bitmap_union,
    hll_count,
    hll_union,
    kll_of,
    kll_quantile,
    kll_union,
)
from cubes.definition import CubeDefinition
from cubes.kll import SIZE_MAX, SIZE_MIN, accuracy_of, rank_error, size_for
from cubes.match.match import match
from cubes.match_result import Match
from cubes.measures import Merge, measure_of, of_cells, of_one_cell
from cubes.sql.answer import SegmentSource, answer_sql
from cubes.sql.build import merge_select
from rewrite.ir.expr import Aggregate, Column
from tests.cubes.cases import fetch
from tests.cubes.star import block, cells, connection_of, cube, load
from tests.support.extent import sized

_NUMBERS = st.integers(-(2**63), 2**63 - 1)
_AGGREGATES = (
    "count(*) a, sum(v) b, min(w) c, max(c) d, avg(c) e, count(DISTINCT w) f, count(DISTINCT h) i,"
    " stddev(v) j, var_pop(n) l, bool_and(b) m, bool_or(b) o, sum(v) FILTER (WHERE b) p, avg(v) q,"
    " count(DISTINCT dt) r, count(DISTINCT c) s, approx_percentile(v, 0.3) t,"
    " approx_percentile(w, 1.0, 100) u, approx_percentile(x, 0.5, 1000) FILTER (WHERE b) y"
)
_CUBE = cube(f"SELECT g, k, {_AGGREGATES} FROM f GROUP BY g, k")
_QUERIES = [f"SELECT g, {_AGGREGATES} FROM f GROUP BY g", f"SELECT {_AGGREGATES} FROM f"]


@given(st.lists(st.lists(_NUMBERS), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_bitmaps_are_sets(parts: list[list[int]], r: random.Random) -> None:
    whole = set().union(*parts)
    bitmaps = [bitmap_of(part) for part in parts]
    while len(bitmaps) > 1:
        r.shuffle(bitmaps)
        bitmaps = [bitmap_union(bitmaps[:2]), *bitmaps[2:]]
    assert bitmap_count(bitmaps) == len(whole)
    assert bitmap_union([bitmap_of([]), *bitmaps]) == bitmap_union([bitmap_of(sorted(whole))])


@settings(max_examples=30)
@given(
    st.lists(st.lists(_NUMBERS, max_size=30), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
)
def test_sketches_merge_in_any_order(parts: list[list[int]], r: random.Random) -> None:
    sketches = [_sketch(part) for part in parts]
    wanted = hll_count(sketches)
    while len(sketches) > 1:
        r.shuffle(sketches)
        sketches = [hll_union(sketches[:2]), *sketches[2:]]
    assert hll_count(sketches) == wanted
    assert abs(wanted - len(set().union(*parts))) <= 1


def _sketch(values: list[int]) -> bytes:
    from datasketches import hll_sketch, tgt_hll_type

    sketch = hll_sketch(14, tgt_hll_type.HLL_8)
    for value in values:
        sketch.update(value)
    return bytes(sketch.serialize_updatable())


_FLOATS = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from((0.0, -0.0))


@settings(max_examples=sized(40, full=100))
@given(
    st.lists(st.lists(_FLOATS, max_size=30), min_size=1, max_size=6),
    st.sampled_from((0.0, 0.1, 1 / 3, 0.5, 0.7, 0.999, 1.0)),
    st.randoms(use_true_random=False),
)
def test_percentiles_of_few_rows_are_exact_in_any_order(
    parts: list[list[float]], share: float, r: random.Random
) -> None:
    values = sorted((v for part in parts for v in part), key=lambda v: (v != v, v))
    sketches = [kll_of(part, size_for(10000)) for part in parts]
    while len(sketches) > 1:
        r.shuffle(sketches)
        some = r.randint(2, len(sketches))
        sketches = [kll_union(sketches[:some]), *sketches[some:]]
    found = kll_quantile(sketches, share, 10000, len(values))
    wanted = values[max(1, math.ceil(share * len(values))) - 1] if values else None
    assert found == wanted or (math.isnan(found) and math.isnan(wanted))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 5000), min_size=2, max_size=6), st.integers(0, 2**32))
def test_large_sketches_keep_size_number_and_ends(counts: list[int], seed: int) -> None:
    r = random.Random(seed)
    parts = [[r.gauss(0, 1) for _ in range(n)] for n in counts]
    values = sorted(v for part in parts for v in part)
    sketches = [kll_of(part, 269) for part in parts]
    while len(sketches) > 1:
        r.shuffle(sketches)
        sketches = [kll_union(sketches[:2]), *sketches[2:]]
    merged = kll_doubles_sketch.deserialize(sketches[0])
    assert (merged.k, merged.n) == (269, len(values))
    assert merged.normalized_rank_error(False) == kll_doubles_sketch(269).normalized_rank_error(
        False
    )
    for share in (0.0, 0.25, 0.5, 0.75, 1.0) if values else ():
        found = kll_quantile(sketches, share, 100, len(values))
        low, high = (side(values, found) / len(values) for side in (bisect_left, bisect_right))
        # Twice the bound, which one sketch in a hundred misses.
        assert low - 0.02 <= share <= high + 0.02
    if values:
        assert kll_quantile(sketches, 0.0, 100, len(values)) == values[0]
        assert kll_quantile(sketches, 1.0, 100, len(values)) == values[-1]


def test_the_rank_error_is_datasketches_own() -> None:
    for size in (*range(SIZE_MIN, 2000), 30565, SIZE_MAX):
        assert rank_error(size) == kll_doubles_sketch.get_normalized_rank_error(size, False)
    for accuracy in (1, 3, 10, 100, 1000, 10000, 20993):
        size = size_for(accuracy)
        assert rank_error(size) <= 1 / accuracy
        assert size == SIZE_MIN or rank_error(size - 1) > 1 / accuracy
        assert accuracy_of(size) >= accuracy
    assert size_for(20994) is None


def test_a_percentile_of_nothing_is_null() -> None:
    engine = DuckDBEngine(threads=1)
    share = "CAST(0.5 AS DOUBLE), CAST(100 AS BIGINT)"
    sql = (
        f"SELECT acc_kll_quantile(NULL, {share}, NULL) a, acc_kll_quantile([], {share}, 0) b,"
        f" acc_kll_quantile([acc_kll([NULL], 8)], {share}, 0) c,"
        f" acc_kll_quantile([NULL, acc_kll_union([acc_kll([7, NULL], 8), NULL])], {share}, 1) d,"
        " acc_kll_union([NULL]::BLOB[]) e"
    )
    assert engine.run(sql).to_pylist() == [{"a": None, "b": None, "c": None, "d": 7.0, "e": None}]


def test_integers_keep_their_digits_beside_a_null() -> None:
    engine = DuckDBEngine(threads=1)
    sql = (
        "SELECT acc_bitmap_count([acc_bitmap([4611686018427387905, NULL, 4611686018427387904])]) n"
    )
    assert engine.run(sql).to_pylist() == [{"n": 2}]


@pytest.mark.parametrize("merge", [of_cells, of_one_cell])
@pytest.mark.parametrize(
    ("numbers", "variance"),
    [
        ([1e150, 1e150], 0.0),
        ([1e200, 1e200], math.nan),
        ([1e200], math.nan),
        ([2.5, 1e308], math.nan),
        ([-math.inf], math.nan),
        ([math.inf, 1.0], math.nan),
        ([math.nan], math.nan),
        ([], None),
    ],
)
def test_a_variance_about_a_large_mean_is_nan_as_spark_says(
    numbers: list[float], variance: float | None, merge: Merge
) -> None:
    aggregate = Aggregate("var_pop", (Column(0, 1, "x", "double"),), False, None, "double")
    measure = measure_of(aggregate)
    assert measure is not None
    text = measure.finish(["n", "mean", "m2"], aggregate, "duckdb", merge)
    cell = "SELECT count(x) AS n, avg(x) AS mean, var_pop(x) * count(x) AS m2 FROM rows"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows (x DOUBLE)")
        for number in numbers:
            connection.execute("INSERT INTO rows VALUES (?)", [number])
        ((found,),) = connection.execute(f"SELECT {text} FROM ({cell})").fetchall()
    assert repr(found) == repr(variance)


def test_nothing_is_an_empty_set() -> None:
    engine = DuckDBEngine(threads=1)
    sql = (
        "SELECT acc_bitmap_count(NULL) a, acc_bitmap_count([]) b, acc_bitmap_count([NULL])"
        " c, acc_hll_count(NULL) d"
    )
    assert engine.run(sql).to_pylist() == [{"a": 0, "b": 0, "c": 0, "d": 0}]


@settings(
    max_examples=sized(5, full=15), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(seed=st.integers(0, 2**32), parts=st.integers(1, 6))
def test_cells_merge_in_any_tree(seed: int, parts: int) -> None:
    r, names = random.Random(seed), count()
    engine = DuckDBEngine(threads=1)
    connection = connection_of(engine)
    load(connection, r, missing=True)
    connection.execute(
        f"CREATE TABLE split AS SELECT *, hash(rowid, {seed}) % {parts} AS part FROM f"
    )
    tables = []
    for part in range(parts):
        name = f"s{next(names)}"
        connection.execute(
            f"CREATE VIEW p{part} AS SELECT * EXCLUDE (part) FROM split WHERE part = {part}"
        )
        connection.execute(f"CREATE TABLE {name} AS {cells(_CUBE, f'p{part}')}")
        tables.append(name)
    while len(tables) > 1:
        r.shuffle(tables)
        some = r.randint(2, len(tables))
        source = " UNION ALL ".join(f"SELECT * FROM {t}" for t in tables[:some])
        name = f"s{next(names)}"
        connection.execute(f"CREATE TABLE {name} AS {merge_select(_CUBE, f'({source})', 7)}")
        tables = [name, *tables[some:]]
    connection.execute(f"CREATE TABLE whole AS {cells(_CUBE)}")
    for query in _QUERIES:
        assert _answer(connection, query, tables[0]) == _answer(connection, query, "whole")
    engine.close()


def test_moments_of_one_expression_in_two_orders_merge() -> None:
    """They share states, of which each is kept as the measure that named it first wrote it."""
    spreads = (
        "avg(v + n) a, stddev(n + v) b, count(v * n) FILTER (WHERE f.k > 1 AND b) d,"
        " var_pop(n * v) FILTER (WHERE b AND 1 < f.k) e, avg(f.k) x, stddev(d.k) y"
    )
    joined = cube(f"SELECT g, {spreads} FROM f JOIN d ON f.k = d.k GROUP BY g")
    engine = DuckDBEngine(threads=1)
    connection = connection_of(engine)
    load(connection, random.Random(5), missing=False)
    connection.execute("CREATE TABLE split AS SELECT *, rowid % 3 AS part FROM f")
    parts = [f"(SELECT * EXCLUDE (part) FROM split WHERE part = {part})" for part in range(3)]
    apart = " UNION ALL ".join(f"({cells(joined, part)})" for part in parts)
    connection.execute(f"CREATE TABLE apart AS {apart}")
    connection.execute(f"CREATE TABLE merged AS {merge_select(joined, 'apart', 7)}")
    query = f"SELECT g, {spreads} FROM f JOIN d ON f.k = d.k GROUP BY g"
    assert _answer(connection, query, "merged", joined) == _answer(
        connection, query, "apart", joined
    )
    engine.close()


def _answer(
    connection: duckdb.DuckDBPyConnection, query: str, table: str, of: CubeDefinition = _CUBE
) -> list[tuple[object, ...]]:
    bound = block(query)
    found = match(bound, of)
    assert isinstance(found, Match)
    return fetch(connection, answer_sql(bound, found, "duckdb", [SegmentSource(table, "")], None))


def test_a_key_computed_of_cells_has_no_negative_zero() -> None:
    definition = cube("SELECT k, count(*) n FROM f GROUP BY k")
    bound = block("SELECT - CAST(k AS DOUBLE) z, count(*) n FROM f GROUP BY 1")
    found = match(bound, definition)
    assert isinstance(found, Match)
    source = SegmentSource("(SELECT 0 AS d0, 3 AS s0) c", "")
    (row,) = duckdb.connect().execute(answer_sql(bound, found, "duckdb", [source], None)).fetchall()
    assert (str(row[0]), row[1]) == ("0.0", 3)
