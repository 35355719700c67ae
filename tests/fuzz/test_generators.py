"""The fuzz's generators and its oracle, without Spark: what they make, and what counts as equal."""

from __future__ import annotations

import json
import queue
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, cast

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import ArithmeticException

from accelerator.common.statement_metrics import Metrics
from accelerator.errors import AcceleratorError
from accelerator.planning.plans import PlainPlan
from fuzz import endless, unreadable, values
from fuzz.cubes import random_cube
from fuzz.data import filling
from fuzz.door import Door, Pair, _on, random_pair
from fuzz.expressions import Dice
from fuzz.oracle import Answer, Asked, Oracle
from fuzz.run import Outcome
from fuzz.schema import random_star
from fuzz.select import Output, Select
from fuzz.statements import Asker
from fuzz.unreadable import Unreadable
from rewrite.reason import Declined

_WORLDS = 25


def _statements_of(seed: int) -> tuple[list[str], list[Select]]:
    """The tables and statements of one seed."""
    r = Random(seed)
    star = random_star(r, "lake.f.w_")
    rows = [text for _, text in filling(r, star)]
    cubes = [random_cube(r, star, f"c{n}") for n in range(2)]
    found = []
    for _ in range(40):
        shape = Random(r.randrange(2**32))
        found.append(Asker(star, cubes, Dice(shape, Random(1))).statement())
    return [*(t.ddl() for t in star.tables.values()), *rows], found


def test_a_seed_makes_the_same_world_and_statements() -> None:
    for seed in (1, 77):
        tables, statements = _statements_of(seed)
        again, others = _statements_of(seed)
        assert tables == again
        assert [one.text for one in statements] == [one.text for one in others]


def test_every_generator_makes_statements_of_its_own() -> None:
    every = [one for seed in range(_WORLDS) for one in _statements_of(seed)[1]]
    counts = Counter(one.generator for one in every)
    names = {"anything", "cubes", "decimals", "manifests", "raising", "rows"}
    assert set(counts) == names
    assert counts["cubes"] > len(every) / 2
    texts = {name: [o.text for o in every if o.generator == name] for name in names}
    for form in ("avg(DISTINCT", "sum(DISTINCT", "FILTER", " OVER (", "HAVING", "avg(", "sum("):
        assert any(form in text for text in texts["decimals"]), form
    for form in (" / sum(", "CAST(", "HAVING", "LIMIT", "2147483648", "EXISTS", " JOIN "):
        assert any(form in text for text in texts["raising"]), form


def test_decimals_of_every_precision_and_their_values() -> None:
    r, seen = Random(5), set[int]()
    for _ in range(600):
        type_ = values.random_decimal(r)
        precision, scale = values.digits_of(type_)
        assert 0 <= scale <= precision <= values.PRECISION_MAX
        seen.add(precision)
        pool = values.pool(r, type_, 30)
        for value in pool:
            sign, digits, exponent = value.as_tuple()
            assert exponent == -scale and len(digits) <= precision
            assert Decimal(values.literal(value)).as_tuple() == (sign, digits, exponent)
        if any(abs(v) >= Decimal(10) ** (27 - scale) for v in pool):
            assert all(v >= 0 for v in pool)
    assert seen == set(range(1, values.PRECISION_MAX + 1))
    assert values.wider("DECIMAL(37,2)") == "DECIMAL(38,2)" == values.wider("DECIMAL(38,2)")


# --- the oracle


@dataclass
class _Plain:
    """Plain Spark's side: an answer or an error."""

    answer: Any

    def plain_table(self, _sql: str) -> pa.Table:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class _Session:
    """A session that raises while planning or running, or answers."""

    mine: Any
    services: _Plain
    planning: Exception | None = None
    asked: list[str] = field(default_factory=list)

    def plan(self, _sql: str) -> tuple[Any, bool]:
        if self.planning is not None:
            raise self.planning
        return PlainPlan(Declined("may_raise")), False

    def query(self, sql: str) -> Any:
        self.asked.append(sql)
        if isinstance(self.mine, Exception):
            raise self.mine
        table = self.mine

        class Answered:
            metrics = Metrics()

            def arrow(self) -> pa.Table:
                return table

        return Answered()


def _error(condition: str) -> ArithmeticException:
    error = ArithmeticException(message="it raises")
    error._errorClass = condition
    return error


_ROWS = pa.table({"n": [1]})
_MADE = Select((Output("count(*)", "n"),), "t")


def _outcome(mine: Any, plain: Any, planning: Exception | None = None) -> Asked:
    session: Any = _Session(mine, _Plain(plain), planning)
    return Oracle(session).ask(_MADE, always=True)


@pytest.mark.parametrize(
    ("mine", "plain", "equal"),
    [
        (_ROWS, _ROWS, True),
        (_ROWS, pa.table({"n": [2]}), False),
        (_ROWS, _error("DIVIDE_BY_ZERO"), False),
        (_error("DIVIDE_BY_ZERO"), _ROWS, False),
        (_error("DIVIDE_BY_ZERO"), _error("DIVIDE_BY_ZERO"), True),
        (_error("DIVIDE_BY_ZERO"), _error("ARITHMETIC_OVERFLOW"), False),
        (AcceleratorError("typed"), _error("DIVIDE_BY_ZERO"), True),
        (AcceleratorError("typed"), _ROWS, False),
        (Py4JError("INTERNAL_ERROR"), Py4JError("INTERNAL_ERROR"), True),
        (TypeError("a mistake of ours"), _error("DIVIDE_BY_ZERO"), False),
        (TypeError("a mistake of ours"), Py4JError("INTERNAL_ERROR"), False),
    ],
)
def test_errors_are_compared(mine: Any, plain: Any, equal: bool) -> None:
    found = _outcome(mine, plain)
    assert (found.found == "") is equal, found.found


def test_what_raises_while_planning_is_compared_too() -> None:
    assert _outcome(None, _ROWS, AttributeError("a mistake")).found.startswith("ours raised")
    assert "no type" in _outcome(None, _error("X"), AttributeError("a mistake")).found
    assert _outcome(None, _error("X"), AcceleratorError("refused")).found == ""


@pytest.mark.parametrize(
    ("mine", "refused", "fault"),
    [
        (_ROWS, False, ""),
        (_ROWS, True, "it isn't refused"),
        (AcceleratorError("no"), True, ""),
        (AcceleratorError("no"), False, "a listing raised AcceleratorError: no"),
        (KeyError("c"), True, "no type"),
    ],
)
def test_statements_of_ours(mine: Any, refused: bool, fault: str) -> None:
    session: Any = _Session(mine, _Plain(_ROWS))
    found = Oracle(session).command("SHOW CONSTRAINTS", refused=refused)
    assert found == fault or (fault and fault in found)


# --- tables that a reader refuses


def test_the_copy_of_a_table_has_the_refused_column(tmp_path: Path) -> None:
    path = tmp_path / "1.metadata.json"
    fields = [{"id": 1, "name": "v", "type": "long"}, {"id": 2, "name": "c", "type": "long"}]
    uuid = "12345678-1234-1234-1234-123456789012"
    path.write_text(json.dumps({"table-uuid": uuid, "schemas": [{"fields": fields}]}))
    catalog = tmp_path / "catalog.db"
    with sqlite3.connect(catalog) as db:
        db.execute(
            "CREATE TABLE iceberg_tables (catalog_name, table_namespace, table_name,"
            " metadata_location, previous_metadata_location)"
        )
        row = ("lake", "f", "w_readable", path.as_uri(), "before")
        db.execute("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, ?)", row)
    changes = {"type": "timestamp_ns"}
    unreadable._copied(str(catalog), "lake.f.w_readable", "lake.f.w_unreadable", changes)
    with sqlite3.connect(catalog) as db:
        rows = db.execute("SELECT table_name, metadata_location FROM iceberg_tables").fetchall()
    places = {name: Path(location.removeprefix("file://")) for name, location in rows}
    assert set(places) == {"w_readable", "w_unreadable"}
    copied, kept = (json.loads(places[n].read_text()) for n in ("w_unreadable", "w_readable"))
    assert copied["schemas"][0]["fields"][1]["type"] == "timestamp_ns"
    assert kept["schemas"][0]["fields"][1]["type"] == "long"
    assert copied["table-uuid"] != kept["table-uuid"]


def test_statements_over_such_a_table() -> None:
    r = Random(1)
    table = Unreadable("case", "lake.f.u", "lake.f.r", (), "catalog.db")
    texts = {table.statement(r, "lake.f.w_f").text for _ in range(300)}
    assert len(texts) == len(unreadable._TEXTS)
    assert not [text for text in texts if "{" in text]
    assert {refused for _, refused in (table.ours(r) for _ in range(50))} == {True, False}


def test_the_figures_of_each_generator() -> None:
    outcome = Outcome(3)
    outcome.count("cubes", rewritten=True, differs=False)
    outcome.count("cubes", rewritten=False, differs=False)
    outcome.count("raising", rewritten=False, differs=True)
    outcome.count(unreadable.GENERATOR, rewritten=False, differs=False)
    assert json.loads(outcome.line()) == {
        "queries": 2, "rewritten_share": 0.5, "differences": 0, "seed": 3,
    }  # fmt: skip
    told = outcome.by_generator()
    assert told["cubes"] == {
        "queries": 2, "rewritten": 1, "differences": 0, "rewritten_share": 0.5,
    }  # fmt: skip
    assert told[unreadable.GENERATOR]["queries"] == told["raising"]["differences"] == 1


# --- Trino's statements


@pytest.mark.parametrize(
    ("named", "renamed", "fault"),
    [
        (Answer(_ROWS), Answer(_ROWS), ""),
        (Answer(_ROWS), Answer(pa.table({"n": [2]})), "SELECT c"),
        (Answer(None, "no", "", refused=True), Answer(None, "no", "", refused=True), ""),
        (Answer(None, "no", "", refused=True), Answer(_ROWS), "by name: no, renamed: rows"),
        (Answer(_ROWS), Answer(None, "no", "", refused=True), ""),
        (Answer(_ROWS), Answer(None, "overflow", "X"), "by name: rows, renamed: overflow"),
        (Answer(None, "overflow", "X"), Answer(None, "overflow", "X"), ""),
        (Answer(_ROWS), Answer(None, "KeyError", None), "which has no type"),
    ],
)
def test_pairs_of_trinos_statements(
    named: Answer, renamed: Answer, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = Door(cast(Any, None))
    monkeypatch.setattr(door, "_answer", {"SELECT x": named, "SELECT c": renamed}.__getitem__)
    found = door.check(Pair("SELECT x", "SELECT c"))
    assert (fault in found) if fault else (found == "")
    assert door.renamed_refused == (renamed.refused and named.rows is not None)


def test_a_pair_asks_the_same_of_both_names() -> None:
    r, star = Random(4), random_star(Random(4), "lake.f.w_")
    table = star.tables["f"]
    pairs = [random_pair(r, table) for _ in range(300)]
    forms = {p.renamed.split(" AS v ")[1].split(" ")[1][:3] for p in pairs if " AS v " in p.renamed}
    assert len(forms) > 1 and len({p.named for p in pairs}) > 60
    assert not [p for p in pairs if "{" in p.renamed]
    assert {_on("extract(DAY FROM x) || 'x'", "c")} == {"extract(DAY FROM c) || 'x'"}


def test_a_statement_without_an_end_ends_the_run(monkeypatch):
    monkeypatch.setattr(endless, "_LOOKS_EVERY_S", 0.01)
    passed = queue.SimpleQueue()
    short, long = endless.Deadline(1000, passed.put), endless.Deadline(0.01, passed.put)
    with short.of("SELECT 1"), long.of("SELECT 2"):
        assert passed.get(timeout=60) == "SELECT 2"
    assert passed.empty()
