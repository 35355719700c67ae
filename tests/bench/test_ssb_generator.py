"""The SSB data against the paper: cardinalities, words, filter factors, determinism."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.ssb import words
from bench.ssb.generate import MARKER, TABLES, generate
from bench.ssb.lineorder import CHUNK_ROWS, chunks, file_bounds
from bench.ssb.queries import QUERIES, Query
from bench.ssb.sizes import sizes_of

FACT_ROWS = 600_000
SIGMAS = 5
PAPER_CARDINALITIES = {
    "c_city": 250,
    "c_nation": 25,
    "c_region": 5,
    "c_mktsegment": 5,
    "s_city": 250,
    "s_nation": 25,
    "s_region": 5,
    "p_mfgr": 5,
    "p_category": 25,
    "p_brand1": 1000,
    "p_color": 94,
    "p_type": 150,
    "p_size": 50,
    "p_container": 40,
    "d_datekey": 2556,
    "d_dayofweek": 7,
    "d_month": 12,
    "d_year": 7,
    "d_yearmonthnum": 84,
    "d_yearmonth": 84,
    "d_weeknuminyear": 53,
    "d_sellingseason": 5,
    "lo_linenumber": 7,
    "lo_orderpriority": 5,
    "lo_quantity": 50,
    "lo_discount": 11,
    "lo_tax": 9,
    "lo_shipmode": 7,
}
PREFIXES = {"c": "customer", "s": "supplier", "p": "part", "d": "dates", "lo": "lineorder"}


@pytest.fixture(scope="module")
def ssb(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """Scale-1 dimensions with a tenth of the fact rows: factors of dimensions need whole ones."""
    from bench.ssb import generate as module

    root = tmp_path_factory.mktemp("ssb")
    patch = pytest.MonkeyPatch()
    patch.setattr(module, "sizes_of", lambda scale: replace(sizes_of(scale), lineorder=FACT_ROWS))
    generate(root, 1)
    patch.undo()
    return _connect(root)


@pytest.mark.parametrize(("scale", "part"), [(0.1, 20_000), (1, 200_000), (10, 800_000)])
def test_tables_have_the_papers_rows(scale: float, part: int) -> None:
    sizes = sizes_of(scale)
    assert sizes.lineorder == 6_000_000 * scale
    assert sizes.customer == 30_000 * scale
    assert sizes.supplier == 2_000 * scale
    assert sizes.part == part
    assert sizes.dates == 2556


def test_files_cover_every_row_once() -> None:
    bounds = file_bounds(sizes_of(1))
    assert len(bounds) == 8
    assert bounds[0][0] == 0
    assert bounds[-1][1] == 6_000_000
    assert [end for _, end in bounds[:-1]] == [start for start, _ in bounds[1:]]


@pytest.mark.parametrize("column", PAPER_CARDINALITIES)
def test_column_has_the_papers_cardinality(ssb: duckdb.DuckDBPyConnection, column: str) -> None:
    table = PREFIXES[column.partition("_")[0]]
    assert (
        _one(ssb, f"select count(distinct {column}) from ssb.{table}")
        == (PAPER_CARDINALITIES[column])
    )


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_filter_factor_is_the_papers(ssb: duckdb.DuckDBPyConnection, query: Query) -> None:
    condition = query.sql().split("from ")[1].split("group by")[0]
    count = _one(ssb, f"select count(*) from {condition}")
    expected = query.filter_factor * FACT_ROWS
    # The rows vary binomially. The dimensions are themselves drawn: the share of customers in a
    # city varies as well, and the calendar's months and years aren't of one length (3 % at most).
    of_rows = (1 - query.filter_factor) / expected
    variance = of_rows + _dimension_variance(query.name) + 0.03**2 / SIGMAS**2
    assert abs(count - expected) <= SIGMAS * math.sqrt(variance) * expected + 1


def _dimension_variance(name: str) -> float:
    """Relative variance of the dimension shares that a query's factor rests on."""
    shares = {
        "Q2.1": [(1 / 25, 200_000), (1 / 5, 2_000)],
        "Q2.2": [(8 / 1000, 200_000), (1 / 5, 2_000)],
        "Q2.3": [(1 / 1000, 200_000), (1 / 5, 2_000)],
        "Q3.1": [(1 / 5, 30_000), (1 / 5, 2_000)],
        "Q3.2": [(1 / 25, 30_000), (1 / 25, 2_000)],
        "Q3.3": [(1 / 125, 30_000), (1 / 125, 2_000)],
        "Q3.4": [(1 / 125, 30_000), (1 / 125, 2_000)],
        "Q4.1": [(1 / 5, 30_000), (1 / 5, 2_000), (2 / 5, 200_000)],
        "Q4.2": [(1 / 5, 30_000), (1 / 5, 2_000), (2 / 5, 200_000)],
        "Q4.3": [(1 / 5, 30_000), (1 / 25, 2_000), (1 / 25, 200_000)],
    }
    return sum((1 - share) / (share * rows) for share, rows in shares.get(name, ()))


def test_every_foreign_key_finds_its_row(ssb: duckdb.DuckDBPyConnection) -> None:
    joined = _one(
        ssb,
        "select count(*) from ssb.lineorder join ssb.customer on lo_custkey = c_custkey"
        " join ssb.supplier on lo_suppkey = s_suppkey join ssb.part on lo_partkey = p_partkey"
        " join ssb.dates o on lo_orderdate = o.d_datekey"
        " join ssb.dates c on lo_commitdate = c.d_datekey",
    )
    assert joined == FACT_ROWS


def test_money_adds_up(ssb: duckdb.DuckDBPyConnection) -> None:
    wrong = _one(
        ssb,
        "select count(*) from ssb.lineorder"
        " where lo_revenue != lo_extendedprice * (100 - lo_discount) // 100"
        " or lo_extendedprice < 90000 * lo_quantity or lo_extendedprice > 50 * 209900",
    )
    assert wrong == 0
    unlike = "group by lo_orderkey having count(distinct lo_ordtotalprice) > 1"
    assert _one(ssb, f"select count(*) from (select 1 from ssb.lineorder {unlike})") == 0


def test_order_and_line_number_are_a_key(ssb: duckdb.DuckDBPyConnection) -> None:
    keys = "count(distinct (lo_orderkey, lo_linenumber))"
    assert _one(ssb, f"select {keys} from ssb.lineorder") == FACT_ROWS
    orders = _one(ssb, "select count(distinct lo_orderkey) from ssb.lineorder")
    assert orders == pytest.approx(FACT_ROWS / 4, rel=0.01)


def test_words_are_shaped_as_in_the_paper() -> None:
    assert words.cities("UNITED KINGDOM")[1] == "UNITED KI1"
    assert words.cities("CHINA")[0] == "CHINA    0"
    assert "MFGR#2239" in words.BRANDS
    assert {len(city) for city in words.CITIES} == {10}


def test_order_dates_are_not_sorted_for_us(ssb: duckdb.DuckDBPyConnection) -> None:
    first = ssb.execute("select lo_orderdate from ssb.lineorder limit 5000").fetchall()
    assert len(set(first)) > 900


def test_a_seed_gives_the_same_bytes_again(tmp_path: Path) -> None:
    generate(tmp_path / "one", 0.01)
    generate(tmp_path / "two", 0.01)
    generate(tmp_path / "other", 0.01, seed=7)
    for table in TABLES:
        for path in (tmp_path / "one" / table).iterdir():
            again = tmp_path / "two" / table / path.name
            assert path.read_bytes() == again.read_bytes()
    one = pq.read_table(tmp_path / "one/lineorder")
    assert not one.equals(pq.read_table(tmp_path / "other/lineorder"))


def test_a_chunk_does_not_depend_on_the_others() -> None:
    sizes = sizes_of(0.2)
    both = list(chunks(sizes, 1, 0, CHUNK_ROWS + 10))
    alone = next(chunks(sizes, 1, CHUNK_ROWS, CHUNK_ROWS + 10))
    assert pa.Table.equals(both[1], alone)


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    generate(tmp_path, 0.01)
    whole = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    victim = tmp_path / "lineorder/lineorder-002.parquet"
    victim.rename(victim.with_suffix(".part"))
    (tmp_path / MARKER).unlink()
    generate(tmp_path, 0.01)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")} == whole
    assert not list(tmp_path.rglob("*.part"))


def test_another_scale_starts_afresh(tmp_path: Path) -> None:
    generate(tmp_path, 0.02)
    generate(tmp_path, 0.01)
    assert _one(_connect(tmp_path), "select count(*) from ssb.lineorder") == 60_000


def _connect(root: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("create schema ssb")
    for table in TABLES:
        connection.execute(f"create view ssb.{table} as from '{root}/{table}/*.parquet'")
    return connection


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    [[value]] = connection.execute(sql).fetchall()
    return int(value)
