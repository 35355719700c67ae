"""TPC-H's and TPC-DS's queries beside cubes: all equal plain Spark, and the docs say what becomes
of each.

A fifth of each suite is asked always, all of it in the slow run. Tables and queries are generated
once, under `build/bench/`, in an environment of its own with packages that pip installs.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.planning.plans import PlainPlan
from accelerator.session.session import Accelerator
from bench.tpc.data import Suite
from bench.tpc.outcome import Outcome
from bench.tpc.run import PAGE, SCALE, answered_in
from tests.spark.conftest import SparkWarehouse

LIVE = True
pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]
_EVERY = 5


@dataclass(frozen=True)
class _World:
    suite: Suite
    acc: Accelerator

    def check(self, numbers: Iterable[int], *, plain: bool) -> None:
        """Every answer is plain Spark's, and the page says how it came about.

        Without `plain` what goes to plain Spark isn't run: there is nothing to compare.
        """
        queries = self.suite.queries()
        told = answered_in(PAGE.read_text(encoding="utf-8"), self.suite)
        failures = []
        for number in numbers:
            plan = None if plain else self.acc.plan(queries[number])[0]
            if isinstance(plan, PlainPlan):
                answered = f"plain: `{plan.declined.code}`"
            else:
                found = Outcome.of(self.acc, number, queries[number])
                failures += [f"query {number}: {one}" for one in found.wrong]
                answered = found.answered
            if answered != told.get(number):
                failures.append(
                    f"query {number}: docs/tpc.md says {told.get(number)}, it is {answered};"
                    f" python -m bench tpc --suite {self.suite.short} --docs"
                )
        assert not failures, "\n".join(failures)


@pytest.fixture(scope="module", params=["h", "ds"])
def world(
    request: pytest.FixtureRequest,
    spark_warehouse: SparkWarehouse,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[_World]:
    suite = Suite.of(request.param, SCALE)
    try:
        suite.generate()
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or str(error).encode()
        pytest.skip(f"{suite.title} can't be generated: {said.decode().strip()[-300:]}")
    root = spark_warehouse.root
    uri = f"sqlite:///{root / 'catalog.db'}"
    suite.load(SqlCatalog("lake", uri=uri, warehouse=f"file://{root}"), lambda _: None)
    spark = spark_warehouse.spark.newSession()
    spark.sql(f"USE lake.{suite.name}")
    # These rows are so many that plans are worth compiling.
    spark.conf.set("spark.sql.codegen.wholeStage", "true")
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
    store = str(tmp_path_factory.mktemp(f"{suite.name}_store"))
    with accelerator.attach(spark, store=store) as acc:
        for cube in suite.cubes.values():
            acc.query(cube)
        yield _World(suite, acc)


@pytest.mark.long
def test_a_fifth_of_the_queries_is_answered_as_by_spark(world):
    world.check(list(world.suite.queries())[::_EVERY], plain=False)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_queries_are_answered_as_by_spark(world):
    numbers = list(world.suite.queries())
    assert len(numbers) == {"h": 22, "ds": 99}[world.suite.short]
    world.check(numbers, plain=True)
