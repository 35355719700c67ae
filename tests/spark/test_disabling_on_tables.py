"""What makes an answer wrong is found among all that it rests on, and switched off; nothing else.

Artifacts are spoiled on purpose: cells get other states, bundles tell of other files than theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from msgspec.structs import replace

import accelerator
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.spoiled import spoil_cube

pytestmark = pytest.mark.spark

NONE: tuple[str, ...] = ()


def spoil_index(session: Accelerator, index: str) -> None:
    """Lets a bundle's blobs tell of each other's files."""
    store, record = session.services.store, session.services.store.registry().index(index)
    for one in store.table(record.table_uuid).of(record.id):
        assert one.is_bundle
        store.remove_segments(record.table_uuid, [one.id])
        turned = replace(one, id=one.id + 1, files=one.files[::-1])
        store.add_segments(record.table_uuid, [turned])


@dataclass
class World:
    """A table whose files hold ten values of k each, of d and s alike, and a session over it."""

    acc: Accelerator
    table: str

    def disabled(self) -> set[str]:
        """What is switched off, by kind and name."""
        registry = self.acc.services.store.registry(fresh=True)
        found = {f"cube {name}" for name, one in registry.cubes.items() if one.disabled}
        return found | {f"index {name}" for name, one in registry.indexes.items() if one.disabled}

    def verify(self, sql: str) -> accelerator.services.verification.compare.Verification:
        """Compares the answers; what was switched off is."""
        found = self.acc.verify(sql.format(t=self.table))
        assert set(found.disabled) <= self.disabled()
        return found


@pytest.fixture
def world(spark_warehouse: SparkWarehouse, tmp_path: Path) -> Iterator[World]:
    table = f"lake.d.{spark_warehouse.table('k INT, d INT, s STRING, v INT')}"
    for first in (0, 10, 20, 30):
        spark_warehouse.sql(
            f"INSERT INTO {table} SELECT id, id * 7 % 41, concat('s', id % 13, 'x', id), id * 3"
            f" FROM range({first}, {first + 10}, 1, 1)"
        )
    with spark_warehouse.attach(store=str(tmp_path / "store")) as session:
        yield World(session, table)


def test_one_cube_of_several(world: World) -> None:
    acc, table = world.acc, world.table
    acc.query(f"CREATE CUBE sums AS SELECT k, sum(v), min(d) FROM {table} GROUP BY k")
    acc.query(f"CREATE CUBE sets AS SELECT k, count(DISTINCT v) FROM {table} GROUP BY k")
    acc.query(f"CREATE INDEX fine ON {table} USING BLOOM (k)")
    spoil_cube(acc, "sums", "s1 + 1 AS s1")
    inner = "SELECT k, count(DISTINCT v) AS n FROM {t} GROUP BY k"
    sums = "SELECT k, sum(v) AS n FROM {t} GROUP BY k"
    # what the wrong cube has no part in
    assert world.verify(inner).equal
    # a SELECT whose aggregates both have between them
    both = "SELECT k, sum(v) AS s, count(DISTINCT v) AS n FROM {t} GROUP BY k"
    found = world.verify(both)
    assert (found.equal, world.disabled()) == (False, {"cube sums"})
    assert found.disabled == ("cube sums",)
    for sql in (
        f"({inner}) UNION ALL ({sums})",
        "SELECT k, sum(v) AS n FROM {t} GROUP BY k ORDER BY n LIMIT 3",
        f"SELECT max(a.n + b.n) AS m FROM ({inner}) a JOIN ({sums}) b ON a.k = b.k",
        # Spark answers what stands above
        f"SELECT soundex(string(k)) AS x, n FROM ({inner}) UNION ALL"
        f" SELECT string(k), n FROM ({sums})",
        f"SELECT row_number() OVER (ORDER BY n % 2) AS r, n FROM ({sums})",
    ):
        enable(acc, "sums")
        found = world.verify(sql)
        assert found.equal is False, (sql, found)
        assert found.disabled == ("cube sums",), (sql, found)
        assert world.disabled() == {"cube sums"}, sql
    kept = acc.sampling.found[-1]
    assert kept.disabled == ("cube sums",) and "Physical Plan" in kept.plain
    assert acc.sampling.counts["disabled"] == acc.sampling.counts["different"] == 6


def enable(acc: Accelerator, cube: str) -> None:
    acc.services.store.change_cube(cube, disabled=None)


def test_an_index_that_leaves_out_too_much(world: World) -> None:
    acc, table = world.acc, world.table
    for name, kind, column in (("right", "BLOOM", "d"), ("wrong", "BLOOM", "s")):
        acc.query(f"CREATE INDEX {name} ON {table} USING {kind} ({column})")
    acc.query(f"CREATE CUBE cells AS SELECT k, sum(v) FROM {table} GROUP BY k")
    spoil_index(acc, "wrong")
    sql = f"SELECT k, v FROM {table} WHERE s = 's5x5' AND d = 35"
    assert acc.query(sql).arrow().num_rows == 0
    found = world.verify(sql)
    assert found.equal is False and found.rewritten
    assert (found.disabled, found.unattributed) == (("index wrong",), None)
    assert world.disabled() == {"index wrong"}
    answer = acc.query(sql)
    assert answer.arrow().to_pylist() == [{"k": 5, "v": 15}]
    assert "index wrong: the index was switched off" in acc.explain(sql)
    rows = {row["cube"]: row for row in acc.why_not(sql)}
    assert rows["index wrong"]["code"] == "index_disabled"
    assert "An answer differed" in rows["index wrong"]["reason"]
    shown = {row["index"]: row["status"] for row in acc.query("SHOW INDEXES").arrow().to_pylist()}
    assert shown["wrong"].startswith("disabled: An answer differed")
    assert shown["right"] == "complete"
    acc.query("BUILD INDEX wrong")
    assert world.disabled() == {"index wrong"}  # a build mends nothing that is there
    acc.query(f"CREATE OR REPLACE INDEX wrong ON {table} USING BLOOM (s)")
    assert world.disabled() == set()
    assert world.verify(sql).equal
    assert "wrong" in acc.query(f"SELECT k FROM {table} WHERE s = 's5x5'").metrics.indexes


def test_what_no_artifact_explains_switches_nothing_off(world: World, monkeypatch) -> None:
    acc, table = world.acc, world.table
    acc.query(f"CREATE CUBE cells AS SELECT k, sum(v), max(d) FROM {table} GROUP BY k")
    acc.query(f"CREATE INDEX blooms ON {table} USING BLOOM (d)")
    plain = acc.services.plain_table

    def other(sql: str) -> pa.Table:
        found = plain(sql)
        return found.slice(1) if sql.startswith("SELECT max") else found

    monkeypatch.setitem(vars(acc.services), "plain_table", other)
    found = world.verify("SELECT max(d) AS m FROM {t}")
    assert found.equal is False and found.disabled == NONE
    assert found.unattributed == "The answer without any cube or index is wrong as well."
    assert world.disabled() == set()


def test_sampling_switches_an_index_off(
    spark_warehouse: SparkWarehouse, world: World, tmp_path: Path
) -> None:
    world.acc.query(f"CREATE INDEX wrong ON {world.table} USING BLOOM (s)")
    spoil_index(world.acc, "wrong")
    sql = f"SELECT count(*) AS n FROM {world.table} WHERE s = 's5x5'"
    with spark_warehouse.attach(store=world.acc.config.store_root, verify_sample=1.0) as sampled:
        sampled.query(sql)
        sampled.sampling.wait()
        (found,) = sampled.sampling.found
        assert found.disabled == ("index wrong",)
        assert sampled.sampling.counts["disabled"] == 1
    assert world.disabled() == {"index wrong"}
    assert world.acc.query(sql).arrow().to_pylist() == [{"n": 1}]
