"""What of an answer may differ from plain Spark's and still be right, of each kind of plan."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from accelerator.iceberg import PinnedTable
from accelerator.planning.candidates.derived_tables import is_inexact
from accelerator.planning.plans import (
    Cover,
    CoverPlan,
    Doubt,
    DuckDBRun,
    MergedPlan,
    NestedPlan,
    PartialPlan,
    PlainPlan,
)
from accelerator.planning.tolerance import averages_by_order, estimated, inexact
from cubes.match.match import match
from cubes.match_result import Match
from rewrite.ir.expr import Column
from rewrite.reason import Declined
from tests.cubes.star import block, cube

_CUBE = (
    "SELECT g, approx_count_distinct(i), sum(x), count(*), avg(c), avg(c * 10), stddev(i) FROM f"
    " GROUP BY g"
)
_EVERY = frozenset({0, 1, 2})


def _cover(sql: str) -> CoverPlan:
    """The plan of a statement that the cube answers."""
    asked, definition = block(sql), cube(_CUBE)
    found = match(asked, definition)
    assert isinstance(found, Match), found
    return CoverPlan(
        title="c",
        cube_id="1",
        block=asked,
        cover=Cover(definition, found, ()),
        pinned=(),
        duckdb=None,
        duckdb_declined=None,
        engine="duckdb",
        tried=(),
        names=tuple(o.name for o in asked.outputs),
    )


_ROUGH = "SELECT g, approx_count_distinct(i) AS a, count(*) AS cells FROM f GROUP BY g"
_SPREAD = "SELECT g, stddev(i) AS a, count(*) AS cells FROM f GROUP BY g"
_FLOATS = "SELECT g, sum(x) AS a, count(*) AS cells FROM f GROUP BY g"


@pytest.mark.parametrize(
    ("sql", "rough", "floating"),
    [
        (_ROUGH, Doubt(frozenset({1})), Doubt()),
        (f"{_ROUGH} HAVING a > 3", Doubt(_EVERY, True), Doubt()),
        (f"{_ROUGH} HAVING cells > 3", Doubt(frozenset({1})), Doubt()),
        (_FLOATS, Doubt(), Doubt(frozenset({1}))),
        (f"{_FLOATS} HAVING a > 3", Doubt(), Doubt(_EVERY, True)),
        ("SELECT g, count(*) AS cells FROM f GROUP BY g", Doubt(), Doubt()),
        (_SPREAD, Doubt(), Doubt(frozenset({1}))),
    ],
)
def test_of_a_cube(sql: str, rough: Doubt, floating: Doubt) -> None:
    plan = _cover(sql)
    assert (estimated(plan), inexact(plan)) == (rough, floating)


@pytest.mark.parametrize(
    ("rows", "doubted"),
    # c has ten digits: 900,719 rows of them stay below 2^53.
    [((900_719,), False), ((900_720,), True), ((1_000, 900), False), ((1_000, 901), True)],
)
def test_averages_of_short_decimals(rows: tuple[int, ...], doubted: bool) -> None:
    tables = tuple(cast(PinnedTable, SimpleNamespace(rows_told=n)) for n in rows)
    plan = replace(_cover("SELECT g, avg(c) AS a, sum(c) AS s FROM f GROUP BY g"), pinned=tables)
    assert inexact(plan) == (Doubt(frozenset({1})) if doubted else Doubt())
    assert is_inexact(plan) == doubted
    wide = replace(_cover("SELECT g, avg(c * 10) AS a FROM f GROUP BY g"), pinned=tables)
    assert inexact(wide) == Doubt() and not is_inexact(wide)


def test_tables_whose_snapshot_names_no_rows() -> None:
    """Manifests count them; without a manifest's count the average is in doubt."""
    (average,) = block("SELECT avg(c) AS a FROM f").aggregates
    for counts, doubted in (((), False), ((5, 900_714), False), ((900_720,), True), ((-1,), True)):
        statistics = SimpleNamespace(rows=np.array(counts, np.int64))
        table = SimpleNamespace(rows_told=0, statistics=lambda found=statistics: found)
        assert averages_by_order(average, [cast(PinnedTable, table)]) == doubted


def _nested(inner: str, outer: str, *, branches: bool = False) -> NestedPlan:
    """A plan over one answer, whose columns a block over `f` has in the places of the same ids."""
    above = block(outer)
    return NestedPlan(
        inputs=(_cover(inner),),
        block=above,
        duckdb=DuckDBRun(""),
        names=tuple(o.name or "" for o in above.outputs),
        branches=branches,
    )


def test_of_what_stands_above() -> None:
    # An answer's columns are told by their places; those of `f` by ids: its k is place 1 here.
    shown = block("SELECT k, count(*) AS c FROM f GROUP BY k")
    assert shown.outputs[0].expr == Column(0, 1, "k", "int")
    rough = estimated(_nested(_ROUGH, "SELECT max(k) AS m, count(*) AS c FROM f"))
    assert rough == Doubt(frozenset({0}))
    assert estimated(_nested(_ROUGH, "SELECT max(g) AS m FROM f")) == Doubt()
    for above in ("WHERE k > 2", "GROUP BY k"):
        told = estimated(_nested(_ROUGH, f"SELECT count(*) AS c FROM f {above}"))
        assert told == Doubt(frozenset({0}), True)
    of_rows = estimated(_nested(f"{_ROUGH} HAVING a > 3", "SELECT max(g) AS m FROM f"))
    assert of_rows == Doubt(frozenset({0}), True)


def test_of_set_operations_and_of_what_spark_finishes() -> None:
    outer = "SELECT g, h, i FROM f GROUP BY g, h, i"
    assert estimated(_nested(_ROUGH, outer, branches=True)) == Doubt(_EVERY, True)
    assert estimated(_nested(_FLOATS, outer, branches=True)) == Doubt()
    for sql, doubted in ((_ROUGH, True), (_FLOATS, False)):
        partial = PartialPlan(inputs=(_cover(sql),), pieces=("", ""), selects=(sql,))
        assert estimated(partial) == Doubt(rows=doubted)
        assert inexact(partial) == Doubt(rows=not doubted)
    assert estimated(PlainPlan(Declined("cubes_none"))) == Doubt()


def _merged(having: str) -> MergedPlan:
    whole = block(
        "SELECT g, approx_count_distinct(i) AS a, sum(x) AS s, count(*) + 1 AS n FROM f"
        f" GROUP BY g {having}"
    )
    rough, floats, rows = whole.aggregates
    return MergedPlan(
        inputs=(_cover(_ROUGH), _cover("SELECT g, sum(x) AS a FROM f GROUP BY g")),
        block=whole,
        groups=((rough, rows), (floats,)),
        duckdb=DuckDBRun(""),
        names=("g", "a", "s", "n"),
    )


def test_of_aggregates_in_groups() -> None:
    assert estimated(_merged("")) == Doubt(frozenset({1}))
    assert inexact(_merged("")) == Doubt(frozenset({2}))
    every = Doubt(frozenset(range(4)), True)
    assert estimated(_merged("HAVING a > 3")) == every == inexact(_merged("HAVING s > 3"))
    assert inexact(_merged("HAVING a > 3")) == Doubt(frozenset({2}))


def test_one_part_of_several() -> None:
    """Outputs of parts that share a SELECT's groups are told by the part that they come from."""
    plan = _merged("")
    first, second = plan.covers
    assert plan.input_of([1, 3]) is first and plan.input_of([2]) is second
    assert plan.input_of([0]) is plan.input_of([1, 2]) is plan.input_of([]) is None
    assert plan.leaves() == (first, second) and plan.used() == ("c", "c")
    assert first.input_of([0]) is None
