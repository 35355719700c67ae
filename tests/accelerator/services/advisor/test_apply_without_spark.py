"""APPLY, ANALYZE and WHY NOT if no Spark can be started: all or nothing, and no vain advice."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from msgspec.structs import replace
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.errors import SparkMissingError
from accelerator.query.explain.buildable import Buildable
from accelerator.query.statements.definitions import bind_definition
from accelerator.services.advisor.marginal_gain import id_of
from accelerator.services.advisor.workload.digests import digest_of
from accelerator.store.journals.advice import Advice, Recommendation, write
from tests.support.pristine import Pristine

_GOOD = "SELECT g, count(*) AS n, avg(x) AS a FROM d.f GROUP BY g"
_SPARKS = "SELECT g, sum(x * 3) AS n FROM d.f GROUP BY g"


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = pa.table({"g": ["a", "b", "a"], "x": [0.5, 1.5, None]})
    catalog.create_table("d.f", rows.schema).append(rows)


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(_fill)) as session:
        yield session
        assert not session.spark_started


def _cube(acc: Accelerator, name: str, select: str) -> Recommendation:
    digest = digest_of(cube := bind_definition(acc.services, select))
    ddl = f"CREATE CUBE {name} AS {select}"
    one = id_of("CREATE CUBE", ddl, digest)
    fact = cube.fact
    return Recommendation(
        one, "CREATE CUBE", fact.name, fact.uuid, name, ddl, "it pays", digest=digest
    )


def _advised(acc: Accelerator, *recommendations: Recommendation) -> None:
    uuid = recommendations[0].table_uuid
    advice = Advice(time.time_ns() // 1_000_000, uuid, "d.f", 1 << 30, 3600.0)
    write(acc.services.store.files, replace(advice, recommendations=recommendations))


def _statuses(acc: Accelerator) -> list[str]:
    rows = acc.query("SHOW RECOMMENDATIONS ON d.f").arrow().to_pylist()
    return [row["status"] for row in rows if row["action"] != "NOTE"]


def test_analyze_sees_what_was_just_asked(acc: Accelerator) -> None:
    """SHOW QUERIES did, and ANALYZE said that the log has no query."""
    for _ in range(2):
        acc.query(_GOOD)
    assert acc.query("ANALYZE d.f").arrow().num_rows >= 0
    assert acc.query("SHOW QUERIES").arrow().num_rows == 3


def test_all_actions_are_checked_before_the_first(acc: Accelerator) -> None:
    good, other = _cube(acc, "good", _GOOD), _cube(acc, "other", _SPARKS)
    _advised(acc, good, other)
    with pytest.raises(SparkMissingError, match=f"nothing was applied: recommendation {other.id}"):
        acc.query("APPLY RECOMMENDATIONS FOR d.f")
    registry = acc.services.store.registry(fresh=True)
    assert not registry.cubes
    assert not registry.bin
    assert _statuses(acc) == ["open"]
    acc.query(f"APPLY RECOMMENDATION {good.id}")
    assert [*acc.services.store.registry(fresh=True).cubes] == ["good"]
    assert _statuses(acc) == ["applied"]
    assert acc.query(_GOOD).metrics.cubes == ("good",)


def test_the_list_leaves_out_what_only_spark_builds(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, other = _cube(acc, "good", _GOOD), replace(_cube(acc, "other", _SPARKS), gain_ms=2_500.0)
    _advised(acc, good, other)
    first, note = acc.query("SHOW RECOMMENDATIONS").arrow().to_pylist()
    assert (first["id"], first["status"]) == (good.id, "open")
    assert (note["action"], note["id"], note["table"]) == ("NOTE", None, None)
    assert note["reason"].startswith("1 possible cubes, indexes or orders aren't advised")
    assert note["reason"].endswith("which would save up to 2.5 s a day")
    assert note["made"] == first["made"]
    monkeypatch.setattr("accelerator.query.explain.buildable.is_spark_installed", lambda: True)
    rows = acc.query("SHOW RECOMMENDATIONS ON d.f").arrow().to_pylist()
    assert [row["id"] for row in rows] == [good.id, other.id]


def test_advice_leaves_out_what_only_spark_builds(acc: Accelerator) -> None:
    buildable = Buildable(acc.services)
    for select in (_GOOD, _SPARKS):
        assert buildable.cube("c", select, bind_definition(acc.services, select)) == (
            select == _GOOD
        )
    assert not buildable.order()
    assert buildable.note.startswith("2 possible cubes, indexes or orders aren't advised")
    assert buildable.note.endswith("a Java add them")
    assert "lakehouse-accelerator[spark]" in buildable.note
    buildable.order({1: 4_000.0, 2: 300.0})
    buildable.order({1: 5_000.0})
    assert buildable.note.endswith(", which would save up to 5.3 s a day")


def test_with_spark_nothing_is_left_out(acc: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelerator.query.explain.buildable.is_spark_installed", lambda: True)
    buildable = Buildable(acc.services)
    assert buildable.cube("c", _SPARKS, bind_definition(acc.services, _SPARKS))
    assert buildable.order()
    assert buildable.note == ""


def test_why_not_suggests_no_cube_that_only_spark_builds(acc: Accelerator) -> None:
    acc.query("CREATE CUBE other AS SELECT x, count(*) AS n FROM d.f GROUP BY x")
    rows = [row for row in acc.why_not(_SPARKS) if row["nearest"]]
    assert all(row["ddl"] is None for row in rows)
    assert any("lakehouse-accelerator[spark]" in (row["cost"] or "") for row in rows)
