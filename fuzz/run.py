"""Runs the fuzz: world after world until the time or the statements are up, Ctrl-C included.

World n of a run has the seed of the run plus n and nothing else that's random, so any world can be
made again alone. Ends with one line of JSON; the exit code is 1 where answers differed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import accelerator
from accelerator.session.session import Accelerator
from bench.steps import noise_into
from fuzz import door, raising, unreadable
from fuzz.changes import change
from fuzz.door import Door, random_pair
from fuzz.endless import Deadline
from fuzz.expressions import Dice
from fuzz.oracle import FAILURES, Asked, Oracle, variant
from fuzz.select import Select
from fuzz.statements import Asker
from fuzz.unreadable import Unreadable
from fuzz.world import BrokenError, World

_ROUNDS = 4
_STATEMENTS = 30
_SHOWN = 3  # differences of a world that are shown whole
_TOLD_EVERY_S = 10.0
_LOG = Path("build/fuzz.log")
_DEADLINE_S = 300.0

QUICK = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
"""Of a Spark session for hundreds of statements over few rows; no answer depends on these."""

_SET = 0.04
_SETTINGS = (
    ("spark.sql.crossJoin.enabled", "false"),
    ("spark.sql.decimalOperations.allowPrecisionLoss", "false"),
    ("spark.sql.groupByAliases", "false"),
    ("spark.sql.groupByOrdinal", "false"),
    ("spark.sql.legacy.exponentLiteralAsDecimal.enabled", "true"),
    ("spark.sql.legacy.literal.pickMinimumPrecision", "false"),
    ("spark.sql.legacy.parser.havingWithoutGroupByAsWhere", "true"),
    ("spark.sql.legacy.setopsPrecedence.enabled", "true"),
    ("spark.sql.orderByOrdinal", "false"),
    ("spark.sql.optimizer.dynamicPartitionPruning.enabled", "false"),
    ("spark.sql.parquet.filterPushdown", "false"),
    ("spark.sql.stableDerivedColumnAlias.enabled", "true"),
)
"""Of Spark: some change what a statement means, some only how it runs."""

_APART = frozenset((door.GENERATOR, raising.GENERATOR, unreadable.GENERATOR))
"""Generators without a part in `queries` and `rewritten_share`, which so stay comparable with runs
from before them: most of their statements have to be left to Spark or refused."""

Tell = Callable[[str], None]


@dataclass
class Outcome:
    """What a run comes to."""

    seed: int
    queries: int = 0
    rewritten: int = 0
    differences: int = 0
    declined: Counter[str] = field(default_factory=Counter)
    """By the reason's code, statements that were left to plain Spark."""
    renamed_refused: int = 0
    """Pairs of Trino's statements of which the door refuses the one over the renamed column."""
    generators: dict[str, Counter[str]] = field(default_factory=dict)
    """By the generator that made them: statements, those rewritten, and differences."""
    endless: str = ""
    """The statement that Spark didn't end within the deadline, which ended the run."""

    def count(self, generator: str, *, rewritten: bool, differs: bool) -> None:
        """Counts one statement; those of `_APART` have no part in the share."""
        own = self.generators.setdefault(generator, Counter(queries=0, rewritten=0, differences=0))
        own.update(queries=1, rewritten=rewritten, differences=differs)
        if generator not in _APART:
            self.queries += 1
            self.rewritten += rewritten

    def line(self) -> str:
        """As one line of JSON."""
        share = round(self.rewritten / self.queries, 3) if self.queries else 0.0
        return json.dumps(
            {
                "queries": self.queries,
                "rewritten_share": share,
                "differences": self.differences,
                "seed": self.seed,
            }
        )

    def by_generator(self) -> dict[str, dict[str, float]]:
        """The counts of each generator, with its own share of rewritten statements."""
        return {
            name: dict(counts)
            | {"rewritten_share": round(counts["rewritten"] / counts["queries"], 3)}
            for name, counts in sorted(self.generators.items())
        }


@dataclass
class Run:
    """One run over a session. `namespace` is where the tables are made, with its catalog."""

    acc: Accelerator
    namespace: str
    seed: int
    tell: Tell
    queries: int | None = None
    seconds: float | None = None
    outcome: Outcome = field(init=False)
    started: float = field(default_factory=time.monotonic)
    told: float = 0.0
    deadline: Deadline | None = None

    def __post_init__(self) -> None:
        self.outcome, self.oracle = Outcome(self.seed), Oracle(self.acc)
        self.world_seed = self.seed
        self.door = Door(self.acc)

    def run(self) -> Outcome:
        """Worlds until the end; an interrupt is one too."""
        number = 0
        with suppress(KeyboardInterrupt):
            while not self._over():
                self._world(self.seed + number)
                number += 1
        self.outcome.renamed_refused = self.door.renamed_refused
        self.door.close()
        return self.outcome

    def _over(self) -> bool:
        if self.queries is not None and self.outcome.queries >= self.queries:
            return True
        return self.seconds is not None and time.monotonic() - self.started >= self.seconds

    def _world(self, seed: int) -> None:
        self.world_seed = seed
        r = Random(seed)
        world = World(self.acc, r, f"{self.namespace}.w{seed}_")
        try:
            world.make()
            asked: deque[Select] = deque(maxlen=30)
            for number in range(_ROUNDS):
                if number:
                    self._change(world, seed, asked)
                with self._setting(world):
                    self._round(world, seed, asked)
                if self._over():
                    return
        except BrokenError as broken:
            self._differs(world, seed, str(broken))
        finally:
            world.drop()

    @contextmanager
    def _setting(self, world: World) -> Iterator[None]:
        """At times a setting of Spark's that isn't its default; the answers are still plain's."""
        name, value = world.r.choice(_SETTINGS)
        if world.r.random() >= _SET:
            yield
            return
        conf = self.acc.spark.conf
        usual = conf.get(name)
        conf.set(name, value)
        world.script.append(f"SET {name} = {value}")
        try:
            yield
        finally:
            conf.set(name, usual)
            world.script.append(f"SET {name} = {usual}")

    def _change(self, world: World, seed: int, asked: deque[Select]) -> None:
        """One or two changes, earlier statements over what is covered yet, a build mostly."""
        r = world.r
        for _ in range(r.choice((1, 1, 2))):
            done = change(world)
            world.script.append(f"-- {done}")
        for made in r.sample(list(asked), min(5, len(asked))):
            self._ask(world, seed, made)
        if r.random() < 0.7:
            world.build()

    def _round(self, world: World, seed: int, asked: deque[Select]) -> None:
        """New statements, some of them again with other constants, and two of earlier rounds."""
        r = world.r
        for made in r.sample(list(asked), min(2, len(asked))):
            self._ask(world, seed, made)
        for _ in range(_STATEMENTS):
            shape = r.getstate()
            made = self._statement(world, r)
            self._ask(world, seed, made)
            asked.append(made)
            if r.random() < 0.25:
                same = Random()
                same.setstate(shape)
                self._ask(world, seed, self._statement(world, same, variant(r)))
            if r.random() < 0.1:
                self._partition(world, seed)
            if r.random() < 0.08:
                self._pair(world, seed)
            if world.unreadable is not None and r.random() < 0.2:
                self._unreadable(world, world.unreadable, seed)
            if self._over():
                return

    def _statement(self, world: World, shape: Random, constants: Random | None = None) -> Select:
        own = variant(shape)
        return Asker(world.star, world.cubes, Dice(shape, constants or own)).statement()

    def _ask(self, world: World, seed: int, made: Select, *, always: bool = False) -> None:
        r, outcome = world.r, self.outcome
        by_spark, always = r.random() < 0.06, r.random() < 0.1 or always
        with nullcontext() if self.deadline is None else self.deadline.of(made.text):
            found = self.oracle.ask(made, by_spark=by_spark, always=always)
        outcome.count(made.generator, rewritten=found.rewritten, differs=bool(found.found))
        if found.declined and made.generator not in _APART:
            outcome.declined[found.declined] += 1
        if found.found:
            self._differs(world, seed, found.found, (made, found), by_spark=by_spark)
        self._progress(seed)

    def _partition(self, world: World, seed: int) -> None:
        source, where = Asker(world.star, world.cubes, Dice(world.r, world.r)).condition()
        found = self.oracle.partition(source, where)
        if found:
            self._differs(world, seed, f"{found}\nFROM {source}\nWHERE {where}")

    def _pair(self, world: World, seed: int) -> None:
        """A statement of Trino's over a column, and over the column renamed."""
        table = world.star.tables[world.r.choice(list(world.star.tables))]
        found = self.door.check(random_pair(world.r, table))
        self.outcome.count(door.GENERATOR, rewritten=False, differs=bool(found))
        if found:
            self._differs(world, seed, f"by Trino's door, zone {door.ZONE}: {found}")

    def _unreadable(self, world: World, table: Unreadable, seed: int) -> None:
        """A query over the table, or a statement of ours that it may not stop."""
        r = world.r
        if r.random() < 0.7:
            self._ask(world, seed, table.statement(r, world.star.tables["f"].name), always=True)
            return
        sql, refused = table.ours(r)
        found = self.oracle.command(sql, refused=refused)
        self.outcome.count(unreadable.GENERATOR, rewritten=False, differs=bool(found))
        if found:
            self._differs(world, seed, f"{found}\n{sql}")

    def _progress(self, seed: int) -> None:
        now = time.monotonic()
        if now - self.told >= _TOLD_EVERY_S:
            self.told = now
            self.tell(f"{now - self.started:.0f} s, world {seed}: {self.outcome.line()}")

    def _differs(
        self,
        world: World,
        seed: int,
        found: str,
        told: tuple[Select, Asked] | None = None,
        *,
        by_spark: bool = False,
    ) -> None:
        """Prints what's needed to see it again: the state's script, statement, answers, plan."""
        self.outcome.differences += 1
        world.differences += 1
        lines = [f"DIFFERENCE {self.outcome.differences}, seed {seed}: {found}"]
        whole = world.differences <= _SHOWN
        if whole:
            lines += ["-- the state", *(f"{line};" for line in world.script)]
        if told is not None:
            lines += ["-- the statement" + (", by Spark" if by_spark else ""), f"{told[0].text};"]
            if whole:
                least = self.oracle.minimal(*told, by_spark=by_spark)
                asked = self.oracle.ask(least, by_spark=by_spark, always=True)
                lines += ["-- made smaller", f"{least.text};"]
                lines += self._answers(asked, least.text)
        self.tell("\n".join(lines))

    def _answers(self, asked: Asked, sql: str) -> list[str]:
        with suppress(*FAILURES):  # what explains the difference mustn't hide it
            return [
                f"-- ours: {asked.found}\n{asked.mine}",
                f"-- plain Spark's\n{asked.plain}",
                f"-- the plan\n{self.acc.explain(sql)}",
                *(
                    f"-- not {one['cube']}: {one['code']} {one['reason']}"
                    for one in self.acc.why_not(sql)
                ),
            ]
        return []


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m fuzz`; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="at most so long (default 5)")
    parser.add_argument("--queries", type=int, help="at most so many statements")
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--seed", type=int, help="of the first world; a random one by default")
    options = parser.parse_args(arguments)
    seed = random.randrange(10**6) if options.seed is None else options.seed
    tell: Tell = partial(print, flush=True)
    tell(f"seed {seed}")
    outcome = Outcome(seed)
    settings: dict[str, Any] = {
        "spark_master": "local[2]",
        "session_time_zone": "UTC",
        "spark_conf": {**QUICK, "spark.ui.enabled": "false"},
    }
    with ExitStack() as ends:
        ends.enter_context(suppress(KeyboardInterrupt))
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="fuzz"))
        ends.enter_context(noise_into(_LOG))
        acc = ends.enter_context(accelerator.open(folder, create=True, **settings))
        acc.spark.sql("CREATE NAMESPACE lake.fuzz")
        run = Run(acc, "lake.fuzz", seed, tell, options.queries, options.minutes * 60)
        outcome = run.outcome

        def give_up(text: str) -> None:
            """Ends the process, since Spark's optimizer can't be stopped; its JVM ends with it."""
            outcome.endless = text
            tell(
                f"Spark hasn't ended this statement after {_DEADLINE_S:.0f} s, so the run ends:"
                f"\n{text}\nGo on with the worlds behind it: --seed {run.world_seed + 1}"
            )
            status = _report(outcome, options.json)
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(status)

        run.deadline = Deadline(_DEADLINE_S, give_up)
        run.run()
    return _report(outcome, options.json)


def _report(outcome: Outcome, file: Path | None) -> int:
    """Prints the figures, writes them into `file`, and returns the exit code."""
    print(outcome.line(), flush=True)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        report = {
            "figures": json.loads(outcome.line()),
            "declined": dict(outcome.declined.most_common()),
            "generators": outcome.by_generator(),
            "renamed_refused": outcome.renamed_refused,
            "endless": outcome.endless,
            "complete": outcome.queries > 0,
        }
        file.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if outcome.differences else 0
