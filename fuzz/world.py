"""A star in Iceberg tables, with cubes, indexes and relate columns: made, built, changed, dropped.

Every statement that made it what it is stands in `script`, so that it can be made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from accelerator.errors import AcceleratorError
from accelerator.session.session import Accelerator
from fuzz import values
from fuzz.cubes import Cube, random_cube
from fuzz.data import filling
from fuzz.expressions import Dice, Expr, leaf
from fuzz.schema import Column, Star, random_star
from fuzz.unreadable import Unreadable, make_unreadable

_REFUSED = frozenset(
    {
        *("cube_definition_unsupported", "index_invalid", "relate_invalid"),
        "relate_key_not_unique",
    }
)
"""Codes by which a statement of ours may be refused: what's random isn't always allowed."""
_NUMBERS = ("BITMAP", "BLOOM", "BOUNDS", "RANGE")
_TEXTS = ("BITMAP", "BLOOM", "BOUNDS", "NGRAM_BLOOM", "NGRAM_BITMAP", "TOKEN_BLOOM", "TOKEN_BITMAP")


class BrokenError(Exception):
    """A statement of ours failed that must not."""


_GONE = "uses a column that was dropped"
"""So says a build; another column may have the name by then, so that Spark raises nothing."""


@dataclass
class World:
    """One star; `prefix` is the namespace and what tells its tables from others'."""

    acc: Accelerator
    r: Random
    prefix: str
    star: Star = field(init=False)
    cubes: list[Cube] = field(default_factory=list)
    script: list[str] = field(default_factory=list)
    relates: int = 0
    differences: int = 0
    unreadable: Unreadable | None = None

    # --- making it

    def make(self) -> None:
        """Tables, rows, and part of what answers from them; some of it isn't built."""
        r = self.r
        self.star = random_star(r, self.prefix)
        for table in self.star.tables.values():
            self.spark(table.ddl())
        late = r.random() < 0.15  # cubes before rows
        if late:
            self._add_cubes()
        for short, insert in filling(r, self.star):
            self.spark(insert)
            self.note(short)
        if not late:
            self._add_cubes()
        if r.random() < 0.5:
            self.see()
        if r.random() < 0.4:
            self._relate()
        if r.random() < 0.4 or self.relates:
            self._index()
        if r.random() < (0.9 if late else 0.3):
            self.build()
        if r.random() < 0.4:
            self.unreadable = make_unreadable(self.acc, r, self.prefix)
            self.script += () if self.unreadable is None else self.unreadable.script

    def see(self) -> None:
        """A view over the fact, in place of the one before."""
        r, fact = self.r, self.star.tables["f"]
        columns = r.choice(("*", "f.*", ", ".join(c.name for c in fact.columns)))
        where = ""
        if r.random() < 0.3:
            column = Expr.of(r.choice(fact.columns))
            where = f" WHERE {self.star.sql(leaf(Dice(r, r), column), {})}"
        view = f"{self.prefix}view"
        self.spark(f"CREATE OR REPLACE VIEW {view} AS SELECT {columns} FROM {fact.name} f{where}")
        self.star.view = view

    def _add_cubes(self) -> None:
        for _ in range(self.r.choice((1, 2, 2, 3))):
            self.add_cube()

    def add_cube(self) -> None:
        """A cube more, built mostly, unless it's refused."""
        r, names = self.r, {s: s for s in self.star.tables}
        bare = self.prefix.rpartition(".")[2]
        cube = random_cube(r, self.star, f"{bare}cube{len(self.cubes)}")
        select = cube.sql(self.star, names)
        deferred = " DEFERRED" if r.random() < 0.1 else ""
        if self.ours(f"CREATE CUBE {cube.name}{deferred} AS {select}", like=select):
            self.cubes.append(cube)

    def _relate(self) -> None:
        r, full = self.r, {s: t.name for s, t in self.star.tables.items()}
        for edge in self.star.edges:
            ons = [edge.on]
            if edge.parent != "f":
                ons.insert(0, next(e.on for e in self.star.edges if e.child == edge.parent))
            own = [c for c in self.star.tables[edge.child].columns if c.id != edge.unique]
            for column in r.sample(own, 1):
                name = f"rel{self.relates}"
                source = self.star.sql(f"{{{column.id}}}", full)
                on = self.star.sql(" AND ".join(ons), full)
                if self.ours(
                    f"ALTER TABLE {full['f']} ADD RELATE COLUMN FROM {source} ON {on} AS {name}"
                ):
                    self.relates += 1
                    self._indexed(name, column.type)

    def _index(self) -> None:
        columns: Sequence[Column] = self.star.tables["f"].columns
        for column in self.r.sample(columns, min(len(columns), self.r.choice((1, 2, 3)))):
            self._indexed(column.name, column.type)
        self.build()

    def _indexed(self, column: str, type_: str) -> None:
        r, fact = self.r, self.star.tables["f"]
        kind = r.choice(_TEXTS if type_ == "STRING" else _NUMBERS)
        if type_ == "BOOLEAN" or type_ in values.FLOATS:
            kind = r.choice(("BITMAP", "BOUNDS"))
        rows = r.choice(("", " WITH (rows = true)")) if kind == "BITMAP" else ""
        name = f"{self.prefix.rpartition('.')[2]}{column}_{kind.lower()}"
        self.ours(f"CREATE INDEX {name} ON {fact.name} USING {kind} ({column}){rows} DEFERRED")

    def build(self) -> None:
        """Builds what cubes and indexes lack; at times merges a cube's segments."""
        r = self.r
        selects = [c.sql(self.star, {s: s for s in self.star.tables}) for c in self.cubes]
        if self.cubes and r.random() < 0.25:
            one = r.randrange(len(self.cubes))
            self.ours(f"BUILD CUBE {self.cubes[one].name}", like=selects[one])
        else:
            self.ours(f"BUILD ALL ON {self.star.tables['f'].name}", like=" \n".join(selects))
        if self.cubes and r.random() < 0.15:
            self.ours(f"COMPACT CUBE {r.choice(self.cubes).name}")

    def drop(self) -> None:
        """Leaves nothing but the store's garbage."""
        for cube in self.cubes:
            self.acc.query(f"DROP CUBE IF EXISTS {cube.name} FORCE")
        if self.unreadable is not None:
            self.unreadable.drop(self.acc)
        if self.star.view:
            self.acc.spark.sql(f"DROP VIEW IF EXISTS {self.star.view}")
        for table in self.star.tables.values():
            self.acc.spark.sql(f"DROP TABLE IF EXISTS {table.name} PURGE")

    # --- running statements

    def spark(self, sql: str) -> None:
        """A statement of Spark's."""
        self.script.append(sql)
        self.acc.spark.sql(sql).collect()

    def ours(self, sql: str, like: str = "") -> bool:
        """A statement of ours; False where it's refused. `like`: SELECTs that may raise as well.

        BrokenError where it fails otherwise.
        """
        try:
            self.acc.query(sql)
        except AcceleratorError as error:
            told = f"{type(error).__name__} {error.code}: {error}"
            self.script.append(f"{sql} -- {told}".replace("\n", " "))
            if error.code in _REFUSED or _GONE in str(error) or self._raises(like):
                return False
            raise BrokenError(f"{sql}\n{told}") from error
        self.script.append(sql)
        return True

    def _raises(self, selects: str) -> bool:
        """Whether plain Spark fails to run one of these; columns that are gone count, too."""
        try:
            for select in filter(None, selects.split(" \n")):
                self.acc.spark.sql(select).collect()
        except (PySparkException, Py4JError):
            return True
        return False

    def note(self, short: str) -> None:
        """Remembers the table's snapshot, for time travel and rollback."""
        table = self.star.tables[short]
        found = self.acc.spark.sql(
            f"SELECT snapshot_id FROM {table.name}.refs WHERE name = 'main'"
        ).collect()
        if found and found[0][0] not in table.snapshots:
            table.snapshots.append(found[0][0])
