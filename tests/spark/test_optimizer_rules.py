"""Spark's optimizer rules that change an answer or hide an error, found by excluding each.

Strategy: plain Spark plans the fuzz's statements, and those of `optimizer_rules.slt`, without each
rule that can be excluded. Where the plan differs, both are run. Invariant: answers and errors stay,
except for the rules below, and some statement shows each of them. `docs/rewriting.md`, 9, has what
we do about each. Sessions may exclude the rules of `context.SPARED_RULES` alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import accelerator
from accelerator.engines.session_settings import SPARED_RULES
from accelerator.services.verification.compare import differ
from fuzz.expressions import Dice
from fuzz.run import QUICK
from fuzz.statements import Asker
from fuzz.world import World
from tests.spark.conftest import SparkWarehouse
from tests.support.statements import FOLDER
from tests.support.worlds import statements

pytestmark = pytest.mark.spark
LIVE = True

_EXCLUDED = "spark.sql.optimizer.excludedRules"
_RUNS = re.compile(r"^(\S+)\s+\d+ / \d+\s+(\d+) / \d+", re.MULTILINE)
"""A rule of Spark's own measure, with the number of its runs that changed a plan."""
_DOCS = Path(__file__).parents[2] / "docs" / "rewriting.md"
_ID = re.compile(r"#\d+L?|plan_id=\d+|@[0-9a-f]+|\[id=#\d+\]|scan-relation-\d+|groupedBy=\S*")
VALUES = frozenset({"DecimalAggregates", "NullPropagation"})
"""Rules that change values. Without the second Iceberg counts all rows for `count(NULL)`."""
ERRORS = frozenset(
    {
        *("BooleanSimplification", "CollapseProject", "ColumnPruning", "EliminateOuterJoin"),
        *("EliminateSorts", "NullPropagation", "PushDownPredicates", "RemoveRedundantAggregates"),
        *("ReorderAssociativeOperator", "SimplifyBinaryComparison", "SimplifyConditionals"),
        *("SimplifyExtractValueOps", "UnwrapCastInBinaryComparison"),
    }
)
"""Rules by which an error comes, or doesn't."""


@dataclass
class _Plain:
    """Plain Spark's answers, with and without a rule."""

    spark: SparkSession
    known: dict[tuple[str, str], pa.Table | str] = field(default_factory=dict)

    def rules(self) -> list[str]:
        """The classes of the rules that may be excluded."""
        optimizer: Any = self.spark._jsparkSession.sessionState().optimizer()
        fixed = _listed(optimizer.nonExcludableRules())
        names = {
            rule.ruleName()
            for batch in _listed(optimizer.defaultBatches())
            for rule in _listed(batch.rules())
        }
        return sorted(names - set(fixed))

    @contextmanager
    def without(self, rule: str) -> Iterator[None]:
        """Inside, the optimizer hasn't the rule."""
        self.spark.conf.set(_EXCLUDED, rule)
        try:
            yield
        finally:
            self.spark.conf.unset(_EXCLUDED)

    def effective(self, sql: str) -> set[str]:
        """The rules that change something of the statement's plan: excluding another one can't."""
        jvm: Any = self.spark._jvm
        rules: Any = jvm.org.apache.spark.sql.catalyst.rules.RuleExecutor
        rules.resetMetrics()
        self.plan(sql)
        return {found[1] for found in _RUNS.finditer(rules.dumpTimeSpent()) if int(found[2])}

    def plan(self, sql: str) -> str:
        """The optimized plan without what differs from one planning to the next; or the error."""
        try:
            frame: Any = self.spark.sql(sql)
            return _ID.sub("#", str(frame._jdf.queryExecution().optimizedPlan().toString()))
        except (PySparkException, Py4JError) as error:
            return type(error).__name__

    def answer(self, sql: str) -> pa.Table | str:
        """The rows, or the error's condition."""
        try:
            return self.spark.sql(sql).toArrow()
        except PySparkException as error:
            return str(error.getCondition() or type(error).__name__)
        except Py4JError as error:
            return type(error).__name__

    def difference(self, sql: str, rule: str, usual: str) -> str:
        """`value`, `error` or nothing: what excluding the rule changes of the statement."""
        with self.without(rule):
            if self.plan(sql) == usual:
                return ""
            other = self.answer(sql)
        if (sql, "") not in self.known:
            self.known[sql, ""] = self.answer(sql)
        mine = self.known[sql, ""]
        if isinstance(mine, str) or isinstance(other, str):
            return "" if isinstance(mine, str) and isinstance(other, str) else "error"
        return "value" if differ(mine, other) else ""


def _listed(found: Any) -> list[Any]:
    """The items of a Scala sequence."""
    return [found.apply(n) for n in range(found.size())]


def _statements(world: World, r: Random, count: int) -> list[str]:
    """Statements of the fuzz, without those whose rows may be others each time."""
    found = []
    while len(found) < count:
        made = Asker(world.star, world.cubes, Dice(r, r)).statement()
        if made.limit is None and "percentile" not in made.text:
            found.append(made.text)
    return found


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_rules_that_may_be_excluded(spark_warehouse: SparkWarehouse, tmp_path: Path) -> None:
    spark = spark_warehouse.spark.newSession()
    for setting, value in QUICK.items():
        spark.conf.set(setting, value)
    for text in statements(FOLDER.parent / "worlds" / "optimized.sql")["made"]:
        spark.sql(text)
    asked = re.findall(r"^SELECT .*|^WITH .*", (FOLDER / "optimizer_rules.slt").read_text(), re.M)
    asked.append(
        "SELECT avg(x) AS a FROM (SELECT CAST(if(id = 0, 0.07, 0) AS DECIMAL(9, 2)) AS x"
        " FROM range(160))"
    )
    with accelerator.attach(spark, store=str(tmp_path)) as acc:
        world = World(acc, Random(46), "lake.d.rules_")
        world.make()
        asked += _statements(world, Random(47), 60)
    plain = _Plain(spark)
    plans = {sql: plain.plan(sql) for sql in asked}
    effective = {sql: plain.effective(sql) for sql in asked}
    rules = plain.rules()
    assert {"DecimalAggregates", "ColumnPruning"} <= {
        rule.rpartition(".")[2] for rule in rules if any(rule in one for one in effective.values())
    }
    found: dict[str, set[str]] = {"value": set(), "error": set()}
    shown = []
    for rule in rules:
        for sql in (one for one in asked if rule in effective[one]):
            kind = plain.difference(sql, rule, plans[sql])
            if kind:
                found[kind].add(rule.rpartition(".")[2])
                shown.append(f"{rule}: {kind} of {sql}")
    assert found == {"value": VALUES, "error": ERRORS}, "\n".join(shown)


def test_no_rule_that_matters_is_spared() -> None:
    """And each of them is among those that the docs list."""
    assert not SPARED_RULES & (VALUES | ERRORS)
    cells = re.findall(r"^\| (`[^|]*) \|", _DOCS.read_text(), re.M)
    named = set(re.findall(r"`(\w+)`", " ".join(cells)))
    assert named >= VALUES | ERRORS
