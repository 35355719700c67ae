"""The indexes' bench at a tiny scale, without Spark: its tables are what it believes they are."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap
from rich.console import Console

import accelerator
from accelerator.planning.plans import RowsPlan
from bench import index_filters, log_searches
from bench.log_lines import job, person
from bench.made_table import column_bytes, group_bytes
from bench.needles import Needles
from bench.report import Report
from bench.rivals import OURS, TABLE, Turns
from bench.steps import Steps
from indexes.kinds import KINDS
from indexes.question import Among


def quiet() -> Steps:
    return Steps(Console(quiet=True))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Needles]:
    folder = tmp_path_factory.mktemp("needles")
    needles = Needles(files=4, rows=2_000, group_rows=500)
    needles.make(folder, lambda _: None)
    return folder, needles


@pytest.mark.parametrize("column", ["id", "trace"])
def test_a_needle_is_where_the_generator_says(made: tuple[Path, Needles], column: str) -> None:
    _, needles = made
    by_group = {
        (file, group): pq.ParquetFile(path).read_row_group(group, columns=[column])
        for file, path in enumerate(needles.paths)
        for group in range(4)
    }
    for number in range(40):
        literal = needles.literal(column, number).strip("'")
        found = [
            place
            for place, rows in by_group.items()
            if literal in map(str, rows.column(column).to_pylist())
        ]
        assert found == needles.where[column].get(number, []), (column, number)


def test_bounds_leave_no_file_of_the_needles_out(made: tuple[Path, Needles]) -> None:
    folder, needles = made
    with accelerator.open(folder, create=True) as acc:
        for number in range(5):
            plan, _ = acc.plan(
                f"SELECT * FROM bench.needle WHERE id = {needles.literal('id', number)}"
            )
            assert isinstance(plan, RowsPlan) and len(plan.reading) == 4


def test_turns_give_each_system_its_table_and_count_what_it_read(
    made: tuple[Path, Needles],
) -> None:
    folder, needles = made
    number = next(iter(needles.where["trace"]))
    with accelerator.open(folder, create=True) as acc:
        turns = Turns(acc, folder, "needle", spark=False)
        try:
            text = f"SELECT * FROM {TABLE} WHERE trace = {needles.literal('trace', number)}"
            runs = turns.run(text, cold=True)
        finally:
            turns.close()
    assert {one.system for one in runs} == {OURS, "duckdb"}
    assert {one.rows for one in runs} >= {runs[0].rows} and runs[0].rows > 0
    assert all(one.bytes > 0 for one in runs)
    ours = next(one for one in runs if one.system == OURS)
    assert ours.told["bytes_read"] >= sum(
        group_bytes(needles.paths[file], [group], ["trace"])
        for file, group in needles.where["trace"][number]
    )


def test_answers_that_differ_end_the_bench(
    made: tuple[Path, Needles], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, needles = made
    with accelerator.open(folder, create=True) as acc:
        turns = Turns(acc, folder, "needle", spark=False)
        monkeypatch.setattr(turns, "_source", f"read_parquet('{needles.paths[0]}')")
        try:
            with pytest.raises(SystemExit, match="answers otherwise"):
                turns.run(f"SELECT id FROM {TABLE} WHERE id <> 0", cold=False)
        finally:
            turns.close()


def test_bytes_of_columns_and_of_row_groups_are_the_same_sum(made: tuple[Path, Needles]) -> None:
    _, needles = made
    whole = sum(group_bytes(path, range(4)) for path in needles.paths)
    names = pq.read_schema(needles.paths[0]).names
    assert whole == sum(column_bytes(needles.paths, name) for name in names)


def test_the_log_is_in_time_and_holds_what_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_searches, "LINES", 5_000)
    log = log_searches.Log(2)
    log.make(tmp_path, lambda _: None)
    files = [pq.read_table(path) for path in log.paths]
    times = [time for file in files for time in file.column("ts").to_pylist()]
    assert times == sorted(times)
    traces = {trace for file in files for trace in file.column("trace").to_pylist()}
    assert sum(log.trace(number) in traces for number in range(100)) > 80
    texts = " ".join(text for file in files for text in file.column("message").to_pylist())
    assert job(0).count("-") == 3 and any(job(number) in texts for number in range(2_000))
    assert len(person(7)) == 3 and any(person(number) in texts for number in range(2_000))
    first, second = (log_searches.statements(log, number) for number in (1, 2))
    assert first.keys() == second.keys()
    assert not {one.sql for one in first.values()} & {one.sql for one in second.values()}


def test_filters_are_measured_against_theory_and_lose_nothing(tmp_path: Path) -> None:
    report = Report("indexes", tmp_path / "out.json", {})
    index_filters.measure(0.02, quiet(), report)
    assert report.figures["false_negatives"] == 0
    assert 0.8 < report.figures["bloom_fpr_over_theory"] < 1.5  # few probes
    (told, *_) = report.details["false_negatives"]
    assert told["probes"] >= 200_000


@pytest.mark.parametrize("name", ["BITMAP", "BLOOM"])
def test_a_row_that_is_left_out_is_counted(name: str) -> None:
    built = index_filters.built_of(KINDS[name], "bigint", pa.array([1, 2, 3, 2]))
    assert built.lost(Among((2,)), BitMap([1, 3])) == 0
    assert built.lost(Among((9,)), BitMap([0, 1])) == 2
