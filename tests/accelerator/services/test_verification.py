"""Answers that are compared by VERIFY."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField

import accelerator
from accelerator.planning.plans import NestedPlan
from accelerator.services.verification.compare import Verification, differ
from accelerator.session.session import Accelerator


@pytest.mark.parametrize(
    ("kind", "far"),
    [
        (pa.date32(), 3_663_000),
        (pa.date32(), -800_000),
        (pa.timestamp("us", tz="UTC"), 2**62),
        (pa.timestamp("us"), -(2**62)),
    ],
)
def test_times_past_pythons_years(kind: pa.DataType, far: int) -> None:
    def answer(*values: int) -> pa.Table:
        return pa.table({"x": pa.array(values, kind)})

    assert differ(answer(far, 1), answer(1, far)) == []
    assert differ(answer(far), answer(far + 1)) == [f"row ({far},) for ({far + 1},)"]
    assert len(differ(answer(far), answer(1))) == 1


@dataclass
class Asked:
    """A session whose plain answers are DuckDB's over the same rows, but for those given."""

    acc: Accelerator
    plain: dict[str, pa.Table]

    def verify(self, sql: str, **plain: list[int]) -> Verification:
        """`plain` are the columns of plain Spark's answer to the query."""
        self.plain.clear()
        if plain:
            answer = self.acc.query(sql).arrow()
            columns = [pa.array(plain[f.name], f.type) for f in answer.schema]
            self.plain[sql] = pa.table(columns, names=answer.column_names)
        return self.acc.verify(sql)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """`s.t`: p has ten rows each of 0 to 3, k all numbers; one file for each p."""
    root = tmp_path_factory.mktemp("verified")
    properties = {"uri": f"sqlite:///{root / 'catalog.db'}", "warehouse": f"file://{root}/"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("s")
    schema = Schema(*(NestedField(i, n, LongType()) for i, n in enumerate("pk", start=1)))
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "p"))
    table = catalog.create_table("s.t", schema, partition_spec=spec)
    for p in range(4):
        rows = range(p * 10, p * 10 + 10)
        table.append(pa.table({"p": [p] * 10, "k": list(rows)}))
    kept: dict[str, pa.Table] = {}

    def plain(sql: str) -> pa.Table:
        if sql.startswith("EXPLAIN"):
            return pa.table({"plan": ["== Physical Plan =="]})
        if sql in kept:
            return kept[sql]
        with duckdb.connect() as connection:
            connection.register("s_t", table.scan().to_arrow())
            return connection.execute(sql.replace("s.t", "s_t")).to_arrow_table()

    with accelerator.open(root, session_time_zone="UTC") as acc:
        vars(acc.services)["plain_table"] = plain
        yield Asked(acc, kept)
        assert not acc.spark_started


_TIES = "SELECT p, count(*) AS n FROM s.t GROUP BY p ORDER BY n LIMIT 2"


def test_ties_under_a_limit_are_no_difference(asked: Asked) -> None:
    for p in ([0, 1], [3, 1], [2, 0]):
        found = asked.verify(_TIES, p=p, n=[10, 10])
        assert (found.equal, found.rewritten, found.differences) == (True, True, ()), p
    for p in ([0, 1], [3, 2]):
        assert asked.verify("SELECT DISTINCT p FROM s.t LIMIT 2", p=p).equal
        assert asked.verify("SELECT DISTINCT p FROM s.t LIMIT 2 OFFSET 1", p=p).equal
    assert asked.verify("SELECT k, p FROM s.t ORDER BY p LIMIT 3", k=[9, 3, 5], p=[0, 0, 0]).equal


def test_any_rows_under_a_limit_are_no_difference(asked: Asked) -> None:
    for rest in ("", " OFFSET 2", " OFFSET 37"):
        sql = f"SELECT k, p FROM s.t LIMIT 3{rest}"
        for k, p in (([0, 1, 2], [0, 0, 0]), ([38, 17, 25], [3, 1, 2])):
            found = asked.verify(sql, k=k, p=p)
            assert (found.equal, found.rewritten, found.differences) == (True, True, ()), sql
    assert asked.verify("SELECT k FROM s.t WHERE k > 11 LIMIT 2", k=[30, 12]).equal
    assert asked.verify("SELECT * FROM (SELECT * FROM s.t) LIMIT 1", p=[2], k=[20]).equal
    assert asked.verify("SELECT k FROM s.t LIMIT 0", k=[]).equal


def test_rows_that_are_missing_under_a_limit_are_a_difference(asked: Asked) -> None:
    found = asked.verify("SELECT k FROM s.t LIMIT 3", k=[0, 1])
    assert (found.equal, found.disabled) == (False, ())
    assert found.differences == ("3 rows for 2",)


def test_a_limit_in_a_view_is_no_verdict(asked: Asked, monkeypatch) -> None:
    monkeypatch.setattr(NestedPlan, "has_inner_limit", lambda plan: plan.block.limit is None)
    sql = "SELECT * FROM (SELECT p, count(*) AS n FROM s.t GROUP BY p) WHERE n > 0 LIMIT 2"
    found = asked.verify(sql, p=[9, 8], n=[10, 10])
    assert (found.equal, found.undecided) == (None, "A LIMIT inside chooses among rows.")


def test_what_no_tie_explains_is_a_difference(asked: Asked) -> None:
    (sorted_,) = asked.verify(_TIES, p=[0, 1], n=[9, 10]).differences
    assert sorted_ == "row 0 has the sort keys (10,) for (9,)"
    asked.plain.clear()
    whole = "SELECT p, COUNT(*) AS n FROM s.t GROUP BY p"
    right = asked.acc.query(whole).arrow()
    asked.plain[whole] = right.set_column(1, "n", pa.array([10, 10, 10, 11], pa.int64()))
    asked.plain[_TIES] = pa.table({"p": pa.array([2, 1], pa.int64()), "n": [10, 10]})
    found = asked.acc.verify(_TIES)
    assert found.equal is False
    assert len(found.differences) == 1 and "11)" in found.differences[0]
    assert asked.verify("SELECT DISTINCT p FROM s.t LIMIT 3", p=[0, 1]).equal is False
    found = asked.verify("SELECT max(k) AS m FROM s.t", m=[40])
    assert found.equal is False
    assert (found.disabled, found.unattributed) == ((), "No cube or index has a part in it.")
    assert asked.acc.sampling.counts["different"] == len(asked.acc.sampling.found)
    kept = asked.acc.sampling.found[-1]
    assert kept.accelerated["rewritten"] and kept.plain == "== Physical Plan =="
    assert kept.unattributed == found.unattributed


def test_too_many_rows_without_the_limit_are_no_verdict(asked: Asked, monkeypatch) -> None:
    monkeypatch.setattr("accelerator.services.verification.compare._UNCUT_MAX", 3)
    found = asked.verify(_TIES, p=[3, 3], n=[10, 10])
    assert found.equal is None
    assert found.undecided == "Without its LIMIT it has more than 3 rows."
    assert found.differences  # what differs is told all the same


def test_a_limit_inside_is_no_verdict(asked: Asked) -> None:
    sql = "SELECT sum(k) AS s FROM (SELECT k FROM s.t ORDER BY p LIMIT 3)"
    assert asked.verify(sql).rewritten
    found = asked.verify(sql, s=[24])
    assert (found.equal, found.undecided) == (None, "A LIMIT inside chooses among rows.")
    (row,) = found.arrow().to_pylist()
    assert row["equal"] is None and row["undecided"] == found.undecided


def test_a_commit_in_between_is_no_verdict(asked: Asked, monkeypatch) -> None:
    numbers = count()
    monkeypatch.setattr(
        "accelerator.services.verification.compare._pins", lambda _plan: next(numbers)
    )
    found = asked.verify("SELECT max(k) AS m FROM s.t", m=[40])
    assert (found.equal, found.undecided) == (None, "The tables have changed meanwhile.")
