"""Cells made of a finer cube's cells are those that the rows give, in each of the segments.

Strategy: the star's fact is cut in two, the finer cube's cells of each half are a
segment, and what is derived of both is compared with the coarser cube's cells of each half.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec.structs import replace

from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.engines.sketch_functions import bitmap_count, bitmap_union, kll_quantile
from cubes.definition import CubeDefinition
from cubes.match.roll_up import Derivation, derive
from cubes.sql.build import renamed
from rewrite.reason import Declined
from rewrite.render.expressions import duckdb_type
from tests.cubes.cases import ONE_ROW, SEEDS, filled
from tests.cubes.star import Star, cells, connection_of, cube

_FINE = (
    "SELECT g, k, dt, h, n, b, sum(v) s, avg(v) a, min(w) lo, max(w) hi, count(DISTINCT w) dw,"
    " count(DISTINCT h) dh, stddev(i) sd, sum(c) sc, sum(x) sx, approx_percentile(x, 0.5) p,"
    " sum(v) FILTER (WHERE b) sb, count_if(v > 0) cp, sum(n) sn, sum(i) si, count(c) nc"
    " FROM f GROUP BY g, k, dt, h, n, b"
)
_JOINED = (
    "SELECT d.name, d.region, f.k, d.ok, f.g, sum(v) s, count(DISTINCT w) dw, count(c) nc"
    " FROM f JOIN d ON f.k = d.k GROUP BY d.name, d.region, f.k, d.ok, f.g"
)
_LEFT = "SELECT f.g, d.name, sum(v) s FROM f LEFT JOIN d ON f.k = d.k GROUP BY f.g, d.name"
_MADE = [
    (_FINE, "SELECT g, sum(v) s FROM f GROUP BY g"),
    (_FINE, "SELECT count(*) n, sum(v) s, avg(v) a, min(w) m, stddev(i) d FROM f"),
    (_FINE, "SELECT k, g, count(DISTINCT w) a, count(DISTINCT h) e FROM f GROUP BY k, g"),
    (_FINE, "SELECT k, count(DISTINCT g) a, count(DISTINCT dt) e FROM f GROUP BY k"),
    (_FINE, "SELECT g, count(DISTINCT k) a, sum(k) e, min(dt) lo, max(k) m FROM f GROUP BY g"),
    (_FINE, "SELECT g, count(k) a, count(h) e FROM f GROUP BY g"),
    (_FINE, "SELECT year(dt) y, month(dt) m, sum(z.c) t FROM f AS z GROUP BY 1, 2"),
    (_FINE, "SELECT g, sum(v) s FROM f WHERE k > 2 AND h = 'p' GROUP BY g"),
    (_FINE, "SELECT g, sum(v) FILTER (WHERE k > 4) s, count_if(h = 'p') n FROM f GROUP BY g"),
    (_FINE, "SELECT g, avg(v) FILTER (WHERE k > 4) s FROM f GROUP BY g"),
    (_FINE, "SELECT g, count(DISTINCT w) FILTER (WHERE b) n FROM f GROUP BY g"),
    (_FINE, "SELECT g, sum(v) FILTER (WHERE b) s, count_if(v > 0) n FROM f GROUP BY g"),
    (_FINE, "SELECT g, stddev(i) FILTER (WHERE k > 4) d FROM f GROUP BY g"),
    (_FINE, "SELECT g, max(w) FILTER (WHERE b) m FROM f GROUP BY g"),
    (_FINE, "SELECT g, sum(CASE WHEN b THEN v ELSE 0 END) s FROM f GROUP BY g"),
    (_FINE, "SELECT CASE WHEN k > 3 THEN 'a' ELSE g END z, sum(c * 2.5) s FROM f GROUP BY 1"),
    (_FINE, "SELECT g, sum(x) s, avg(x) a, approx_percentile(x, 0.25) p FROM f GROUP BY g"),
    (_FINE, "SELECT concat(g, h) z, count(*) n, bool_or(b) o FROM f GROUP BY concat(g, h)"),
    (_FINE, "SELECT 1 AS one, g, sum(n) s FROM f GROUP BY 1, g"),
    (_JOINED, "SELECT d.region, sum(v) s FROM f JOIN d ON f.k = d.k GROUP BY d.region"),
    (_JOINED, "SELECT d.k, count(DISTINCT w) s FROM f JOIN d ON d.k = f.k GROUP BY d.k"),
    (_JOINED, "SELECT g, sum(v) s, count(c) n FROM f GROUP BY g"),
    (_JOINED, "SELECT k, sum(v) s FROM f WHERE k > 3 GROUP BY k"),
    (_LEFT, "SELECT d.name, sum(v) s FROM f LEFT JOIN d ON f.k = d.k GROUP BY d.name"),
    (_LEFT, "SELECT g, sum(v) s FROM f GROUP BY g"),
    (_LEFT, "SELECT g, d.name, sum(v) s FROM f JOIN d ON f.k = d.k GROUP BY g, d.name"),
]  # fmt: skip
_NOT = [
    (_FINE, "SELECT i, sum(v) s FROM f GROUP BY i", "column_not_in_cube"),
    (_FINE, "SELECT g, max(v) s FROM f GROUP BY g", "aggregate_not_in_cube"),
    (_FINE, "SELECT g, approx_percentile(x, 0.5, 10) p FROM f GROUP BY g", "aggregate_not_in_cube"),
    (_FINE, "SELECT name, sum(v) s FROM f JOIN d ON f.k = d.k GROUP BY name", "table_not_in_cube"),
    (_FINE, "SELECT f.g, sum(f.v) s FROM f JOIN f AS e ON f.k = e.k GROUP BY f.g",
     "block_unsupported"),
    (_JOINED, "SELECT g, sum(v) s FROM f JOIN d ON f.k = d.ok GROUP BY g", "table_not_in_cube"),
    ("SELECT g, k, sum(v) s FROM f WHERE k > 2 GROUP BY g, k",
     "SELECT g, sum(v) s FROM f GROUP BY g", "predicate_not_implied"),
    ("SELECT tag, g, sum(v) s FROM f JOIN t ON f.k = t.k GROUP BY tag, g",
     "SELECT k, name, sum(ok) s FROM d GROUP BY k, name", "fact_not_in_query"),
]  # fmt: skip


def _derived(coarser: str, finer: str, zone: str = "UTC") -> Derivation | Declined:
    made = cube(coarser)
    tables = [Star.tables[t.name.split(".")[-1]] for t in made.tables]
    return derive(made, cube(finer), tables, zone)


@pytest.mark.parametrize(("finer", "coarser"), _MADE)
def test_derived_cells_are_the_rows_own(finer: str, coarser: str) -> None:
    found = _derived(coarser, finer)
    assert isinstance(found, Derivation), found
    needs = found.match.needs
    for seed in (*SEEDS, ONE_ROW):
        connection = connection_of(filled(seed, not needs.complete and seed % 2 == 0))
        of_segments = [
            f"SELECT * REPLACE ({half + 7} AS segment) FROM ({cells(found.finer, f'f{half + 1}')})"
            for half in range(2)
        ]
        scan = f"({' UNION ALL '.join(of_segments)})"
        table = connection.execute(found.select(scan, {7: 70, 8: 80})).to_arrow_table()
        for half in range(2):
            got = [row for row in table.to_pylist() if row.pop("segment") == 70 + 10 * half]
            wanted = connection.execute(_stored(found.coarser, f"f{half + 1}")).to_arrow_table()
            assert _same(found.coarser, got) == _same(found.coarser, wanted.to_pylist())


def _stored(definition: CubeDefinition, fact: str) -> str:
    """The cells that the rows give, in the types that a segment has."""
    items = [f"d{i}" for i in range(len(definition.dimensions))]
    for index, state in enumerate(definition.states):
        plain = state.type != "binary" and not state.type.startswith("array")
        text = f"CAST(s{index} AS {duckdb_type(state.type)})" if plain else f"s{index}"
        items.append(f"{text} AS s{index}")
    return f"SELECT {', '.join(items)} FROM ({cells(definition, fact)})"


def _same(definition: CubeDefinition, rows: list[dict[str, Any]]) -> list[Any]:
    """Rows in one order, with what states mean rather than how they are written."""

    def shown(name: str, value: Any) -> Any:
        state = definition.states[int(name[1:])] if name.startswith("s") else None
        if state is None or value is None:
            return value
        if state.kind == "bitmap":
            return bitmap_union([bytes(value)]), bitmap_count([bytes(value)])
        if state.kind == "set":
            return sorted(value, key=str)
        if state.kind == "kll":
            return [kll_quantile([bytes(value)], q / 8, 10000, 10) for q in range(9)]
        return value

    made = [{name: shown(name, value) for name, value in row.items()} for row in rows]
    keys = sorted(k for k in (made[0] if made else {}) if k.startswith("d"))
    made.sort(key=lambda row: [(row[k] is not None, str(row[k])) for k in keys])
    return [[_Near(row[k]) for k in sorted(row)] for row in made]


class _Near:
    """A value that equals another but for a double's last digits; no set is an empty one."""

    def __init__(self, value: Any) -> None:
        self.value = None if value == [] else value

    def __repr__(self) -> str:
        return repr(self.value)

    def __eq__(self, other: object) -> bool:
        one, two = self.value, other.value if isinstance(other, _Near) else other
        if isinstance(one, float) and isinstance(two, float) and not math.isnan(one):
            return math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-9)
        return repr(one) == repr(two)


@pytest.mark.parametrize(("finer", "coarser", "code"), _NOT)
def test_what_cells_dont_give_is_declined(finer: str, coarser: str, code: str) -> None:
    found = _derived(coarser, finer)
    assert isinstance(found, Declined)
    assert found.code == code


def test_joins_left_out_must_be_counted() -> None:
    found = _derived("SELECT g, sum(v) s FROM f GROUP BY g", _JOINED)
    assert isinstance(found, Derivation)
    assert (found.match.needs.complete, found.match.needs.unique) == ({1}, {1})
    assert found.edges == ()


def test_joins_that_both_have_are_paired() -> None:
    twice = (
        "SELECT g, name, land, sum(v) s FROM f JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok"
        " GROUP BY g, name, land"
    )
    found = _derived("SELECT name, sum(v) s FROM f JOIN d ON f.k = d.k GROUP BY name", twice)
    assert isinstance(found, Derivation)
    assert found.edges == ((1, 1),)
    assert found.match.needs.complete == {2}


@pytest.mark.parametrize("key", ["- CAST(k AS DOUBLE)", "CAST(k AS DOUBLE) * CAST(v AS DOUBLE)"])
def test_a_computed_key_has_no_negative_zero(key: str) -> None:
    fine = "SELECT k, v, count(*) n FROM f GROUP BY k, v"
    found = _derived(f"SELECT {key} z, count(*) n FROM f GROUP BY 1", fine)
    assert isinstance(found, Derivation)
    engine = DuckDBEngine()
    connection = connection_of(engine)
    rows = "(SELECT 7 AS segment, unnest([0, 0, 2]) AS d0, unnest([-5, 5, 1]) AS d1, 1 AS s0)"
    made = connection.execute(f"SELECT d0, s0 FROM ({found.select(rows, {7: 8})})").fetchall()
    assert ("0.0", 2) in {(str(value), n) for value, n in made}
    engine.close()


def test_times_are_truncated_in_utc_alone() -> None:
    fine = "SELECT ts, g, sum(v) s FROM f GROUP BY ts, g"
    coarse = "SELECT date_trunc('month', ts) m, sum(v) s FROM f GROUP BY 1"
    assert isinstance(_derived(coarse, fine), Derivation)
    found = _derived(coarse, fine, "Europe/Berlin")
    assert isinstance(found, Declined)
    assert found.code == "settings_unsupported"


def test_columns_are_known_by_their_fields() -> None:
    coarse = "SELECT g, k, sum(v) s FROM f WHERE k > 2 GROUP BY g, k"
    plain = _derived(coarse, _FINE)
    swapped = {(0, 1): "g", (0, 2): "k", (0, 6): "new"}
    facts = Star.tables["f"]
    now = tuple(replace(c, name=swapped.get((0, c.field_id), c.name)) for c in facts.columns)
    found = derive(
        renamed(cube(coarse), swapped),
        cube(_FINE),
        [replace(facts, columns=now)],
        "UTC",
    )
    assert isinstance(plain, Derivation)
    assert isinstance(found, Derivation)
    assert found.select("cells", {1: 2}) == plain.select("cells", {1: 2})


def test_a_column_of_another_type_is_declined() -> None:
    coarse, fine = cube("SELECT g, sum(v) s FROM f GROUP BY g"), cube(_FINE)
    facts = Star.tables["f"]
    wider = replace(
        facts,
        columns=tuple(replace(c, type="bigint") if c.name == "v" else c for c in facts.columns),
    )
    found = derive(coarse, fine, [wider], "UTC")
    assert isinstance(found, Declined)
    assert found.code == "schema_changed"


def test_another_branch_is_another_fact() -> None:
    coarse, fine = cube("SELECT g, sum(v) s FROM f GROUP BY g"), cube(_FINE)
    on_branch = replace(fine, tables=(replace(fine.tables[0], ref="audit"),))
    found = derive(coarse, on_branch, [Star.tables["f"]], "UTC")
    assert isinstance(found, Declined)
    assert found.code == "fact_not_in_query"
