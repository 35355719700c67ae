"""Cubes after a change of a dimension: segments hold of files that have no key whose row changed.

Strategy: a fact whose files lie in the order of its key; rows of the dimension change, come and go.
Invariant: equal answers; only files that may have a changed key are read raw, or built anew.
"""

from __future__ import annotations

import pytest

from accelerator.planning.plans import CoverPlan
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

_QUERIES = (
    "SELECT y, sum(v), count(*) FROM {f} f JOIN {d} d ON f.k = d.k GROUP BY y",
    "SELECT a, y, min(v) FROM {f} f JOIN {d} d ON f.k = d.k WHERE a <> 'a3' GROUP BY a, y",
    "SELECT count(*), sum(v) FROM {f} f JOIN {d} d ON f.k = d.k",
)


@pytest.mark.long
def test_only_files_with_a_changed_key_are_read(
    acc: Accelerator, spark_warehouse: SparkWarehouse
) -> None:
    wh = spark_warehouse
    fact, dimension = (f"lake.d.{wh.table(c)}" for c in ("k INT, v INT", "k INT, a STRING, y INT"))
    wh.sql(
        f"INSERT INTO {dimension} SELECT /*+ COALESCE(1) */ CAST(id AS INT),"
        " concat('a', id % 5), CAST(id % 3 AS INT) FROM range(40)"
    )
    for number in range(4):
        wh.sql(
            f"INSERT INTO {fact} SELECT /*+ COALESCE(1) */ CAST({number} * 10 + id % 11 AS INT),"
            f" CAST(id AS INT) FROM range({number * 50}, {number * 50 + 50})"
        )
    acc.query(
        f"CREATE CUBE changes AS SELECT a, y, sum(v) s, count(*) n, min(v) m FROM {fact} f"
        f" JOIN {dimension} d ON f.k = d.k GROUP BY a, y"
    )
    queries = [q.format(f=fact, d=dimension) for q in _QUERIES]

    def left() -> int:
        """Files that are read raw, of equal answers."""
        Differential(acc).check(queries)
        plan = acc.plan(queries[0])[0]
        assert isinstance(plan, CoverPlan) and plan.cube == "changes"
        return len(plan.uncovered)

    def built() -> int:
        found: int = acc.query("BUILD CUBE changes").arrow()["files"][0].as_py()
        return found

    assert left() == 0
    wh.sql(f"INSERT INTO {dimension} VALUES (1000, 'new', 9), (1001, 'new', 9)")
    assert (left(), built()) == (0, 0)
    wh.sql(f"UPDATE {dimension} SET a = 'moved' WHERE k = 15")
    assert (left(), built(), left()) == (1, 1, 0)
    wh.sql(f"INSERT INTO {dimension} VALUES (40, 'found', 7)")  # the last file had it dangling
    assert (left(), built(), left()) == (1, 1, 0)
    wh.sql(f"DELETE FROM {dimension} WHERE k IN (3, 4)")
    assert left() == 1
    wh.sql(f"UPDATE {dimension} SET y = y WHERE k = 25")  # another snapshot, the same rows
    assert left() == 1
    wh.sql(f"INSERT INTO {dimension} VALUES (25, 'twice', 1)")
    answers = Differential(acc)
    answers.check(queries, rewritten=None)
    assert acc.plan(queries[0])[0].unaided() is not None  # no key may stand twice
    wh.sql(f"DELETE FROM {dimension} WHERE a = 'twice'")
    assert (left(), built(), left()) == (1, 1, 0)
    acc.query("DROP CUBE changes FORCE")


def test_cells_of_two_states_are_not_merged(
    acc: Accelerator, spark_warehouse: SparkWarehouse
) -> None:
    """What is merged is recorded as of one state, which a statement may ask for."""
    wh = spark_warehouse
    fact, dimension = (f"lake.d.{wh.table(c)}" for c in ("k INT, v INT", "k INT, y INT"))
    wh.sql(f"INSERT INTO {dimension} SELECT CAST(id AS INT), CAST(id % 3 AS INT) FROM range(20)")
    for number in range(2):
        wh.sql(
            f"INSERT INTO {fact} SELECT /*+ COALESCE(1) */ CAST({number} * 10 + id % 10 AS INT),"
            f" CAST(id AS INT) FROM range({number * 50}, {number * 50 + 50})"
        )
    acc.query(
        f"CREATE CUBE states AS SELECT y, sum(v) s, count(*) n FROM {fact} f"
        f" JOIN {dimension} d ON f.k = d.k GROUP BY y"
    )
    ((first,),) = wh.sql(f"SELECT snapshot_id FROM {dimension}.snapshots")
    wh.sql(f"UPDATE {dimension} SET y = 77 WHERE k = 15")
    assert acc.query("BUILD CUBE states").arrow()["files"][0].as_py() == 1
    acc.query("COMPACT CUBE states")
    answers = Differential(acc)
    for of in (f"{dimension} VERSION AS OF {first}", dimension):
        answers.check(
            [f"SELECT y, sum(v), count(*) FROM {fact} f JOIN {of} d ON f.k = d.k GROUP BY y"],
            rewritten=None,
        )
    states = {
        s.dimensions for s in acc.services.store.table(_uuid(acc, "states")).of(_id(acc, "states"))
    }
    assert len(states) == 2
    acc.query("DROP CUBE states FORCE")


def _uuid(acc: Accelerator, cube: str) -> str:
    return acc.services.store.registry().cubes[cube].table_uuid


def _id(acc: Accelerator, cube: str) -> str:
    return acc.services.store.registry().cubes[cube].id
