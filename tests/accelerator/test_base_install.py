"""A statement without PySpark answers, or raises a typed error and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.base_install import Outcome, run
from tests.support.pristine import Pristine
from tests.support.reference_examples import BLOCKS, EXAMPLES, FINE, lake, with_objects

pytestmark = pytest.mark.served


def _sound(outcomes: list[Outcome]) -> None:
    assert not [one for one in outcomes if one.raised or one.left]
    for one in outcomes:
        if one.code:
            assert one.hint, one
        if one.code == "spark_missing":
            assert "PySpark isn't installed" in one.message
            assert "lakehouse-accelerator[spark]" in one.hint


def _refused(outcomes: list[Outcome]) -> list[str]:
    return [one.sql for one in outcomes if one.code == "spark_missing"]


def test_every_example_of_the_reference(tmp_path: Path) -> None:
    folder = Pristine(tmp_path).lake(lambda catalog: lake("double", catalog))
    outcomes = run(folder, [*with_objects(EXAMPLES)])
    assert len(BLOCKS) >= 41
    assert set(EXAMPLES) <= {one.sql for one in outcomes}
    _sound(outcomes)
    assert [one.split()[0] for one in _refused(outcomes)] == [
        *("PUBLISH", "OPTIMIZE", "ALTER", "VERIFY", "SELECT"),
    ]
    # The log has no query yet, and the table has a column `region`.
    others = {one.sql: one.code for one in outcomes if one.code not in ("", "spark_missing")}
    assert sorted(others.values()) == ["relate_invalid", "snapshot_unknown", "workload_empty"]


_SPARKS = "SELECT region ILIKE 'n%' AS r, count(*) AS n FROM shop.orders GROUP BY region ILIKE 'n%'"
_REFUSED = [
    f"CREATE CUBE products AS {_SPARKS}",
    f"CREATE OR REPLACE CUBE fine AS {_SPARKS}",
    f"EXPLAIN CREATE CUBE products AS {_SPARKS}",
    "CREATE CUBE texts AS SELECT region RLIKE 'n' AS r, count(*) AS n FROM shop.orders GROUP BY 1",
    "BUILD CUBE later",
    "PUBLISH CUBE fine",
    "OPTIMIZE shop.orders ZORDER BY (region, order_id) WITH (full = true)",
    "VACUUM shop.orders FULL SNAPSHOTS RETAIN 0 HOURS",
    "ALTER TABLE shop.orders ADD RELATE COLUMN town FROM shop.stores.town"
    " ON shop.orders.store_id = shop.stores.id",
]


def test_what_needs_spark_changes_nothing(tmp_path: Path) -> None:
    folder = Pristine(tmp_path).lake(lambda catalog: lake("double", catalog))
    prepared = [f"CREATE CUBE fine AS {FINE}", f"CREATE CUBE later DEFERRED AS {_SPARKS}"]
    outcomes = run(folder, [*prepared, *_REFUSED, FINE], relate_lookup_rows_max=1)
    _sound(outcomes)
    assert _refused(outcomes) == _REFUSED
    assert outcomes[-1].engine == "duckdb"


def test_what_is_too_large_changes_nothing(tmp_path: Path) -> None:
    folder = Pristine(tmp_path).lake(lambda catalog: lake("decimal", catalog))
    statements = [
        f"CREATE CUBE fine AS {FINE}",
        "CREATE INDEX i ON shop.orders USING BLOOM (region)",
        "CREATE OR REPLACE INDEX i ON shop.orders USING BLOOM (region)",
    ]
    later = [
        f"CREATE CUBE fine DEFERRED AS {FINE}",
        "CREATE INDEX i ON shop.orders USING BLOOM (region) DEFERRED",
    ]
    build = ["BUILD CUBE fine", "BUILD INDEX i", "BUILD ALL ON shop.orders"]
    outcomes = run(folder, [*statements, *later, *build], build_in_process_bytes_max=0)
    _sound(outcomes)
    assert _refused(outcomes) == [*statements, *build]
    assert all("build_in_process_bytes_max" in one.hint for one in outcomes if one.code)
