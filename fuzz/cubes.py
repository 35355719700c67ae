"""Random cubes over a star: which joins, dimensions, aggregates and predicate they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from fuzz import values
from fuzz.expressions import Dice, Expr, derived, leaf, predicate
from fuzz.schema import Edge, Star

_SPREADS = ("stddev", "stddev_pop", "variance", "var_pop")


@dataclass(frozen=True)
class Aggregate:
    """A function over an argument; `*` is that of count(*). `exact` ones are equal to the digit."""

    function: str
    argument: Expr
    filter: str = ""

    @property
    def text(self) -> str:
        """As a template."""
        call = self.function.replace("?", self.argument.text)
        return f"{call} FILTER (WHERE {self.filter})" if self.filter else call

    @property
    def exact(self) -> bool:
        """Whether both answers have the very same value."""
        summed = self.function.startswith(("sum", "avg", *_SPREADS))
        floating = self.argument.type in values.FLOATS
        averaged = self.function.startswith("avg") and not values.is_decimal(self.argument.type)
        spread = self.function.startswith(_SPREADS)
        return not (self.estimate or spread or averaged or (summed and floating))

    @property
    def estimate(self) -> bool:
        """Whether it's near the truth only."""
        return self.function.startswith("approx_count")


ROWS = Aggregate("count(*)", Expr("*", "BIGINT", (0, 1)))


@dataclass(frozen=True)
class Join:
    """An edge and the words it's joined by."""

    edge: Edge
    kind: str


@dataclass(frozen=True)
class Cube:
    """A cube's definition."""

    name: str
    joins: tuple[Join, ...]
    where: str
    dimensions: tuple[Expr, ...]
    aggregates: tuple[Aggregate, ...]

    def sql(self, star: Star, aliases: Mapping[str, str]) -> str:
        """Its SELECT."""
        listed = [*(d.text for d in self.dimensions), *(a.text for a in self.aggregates)]
        named = ", ".join(f"{text} AS c{n}" for n, text in enumerate(listed))
        where = f" WHERE {self.where}" if self.where else ""
        keys = ", ".join(d.text for d in self.dimensions)
        group = f" GROUP BY {keys}" if keys else ""
        text = f"SELECT {named} FROM {from_clause(star, self.joins, aliases)}{where}{group}"
        return star.sql(text, aliases)


def from_clause(star: Star, joins: Sequence[Join], aliases: Mapping[str, str], at: str = "") -> str:
    """The fact (in the state that `at` names) and its joins."""
    text = f"{star.tables['f'].name}{at} {aliases.get('f', '')}".strip()
    for join in joins:
        child = join.edge.child
        table = f"{star.tables[child].name} {aliases.get(child, '')}".strip()
        text += f" {join.kind} {table} ON {join.edge.on}"
    return text


def random_joins(r: Random, star: Star, share: float = 0.6) -> tuple[Join, ...]:
    """Some of the edges; an outer one only behind its inner one."""
    joins: list[Join] = []
    for edge in star.edges:
        inner = edge.parent == "f" or any(j.edge.child == edge.parent for j in joins)
        if inner and r.random() < share:
            joins.append(Join(edge, r.choice(("JOIN", "JOIN", "LEFT JOIN"))))
    return tuple(joins)


def columns_of(star: Star, joins: Sequence[Join]) -> list[Expr]:
    """Every column of the fact and the joined tables."""
    shorts = ["f", *(j.edge.child for j in joins)]
    return [Expr.of(c) for short in shorts for c in star.tables[short].columns]


def keys_of(star: Star, joins: Sequence[Join]) -> list[Expr]:
    """The columns by which other dimensions would be joined to the fact."""
    joined = {join.edge.child for join in joins}
    keys = {e.key for e in star.edges if e.parent == "f" and e.child not in joined}
    return [Expr.of(c) for c in star.tables["f"].columns if c.id in keys]


def random_cube(r: Random, star: Star, name: str) -> Cube:
    """Dimensions of few values, aggregates of any column."""
    dice = Dice(r, r)
    joins = random_joins(r, star)
    every = columns_of(star, joins)
    few = [e for e in every if len(e.pool) <= 15]
    chosen = r.sample(few, min(len(few), r.choice((1, 2, 3, 4, 5))))
    if r.random() < 0.35:
        chosen = [*keys_of(star, joins), *chosen]
    dimensions = [e if r.random() < 0.85 else derived(dice, e) for e in dict.fromkeys(chosen)]
    measures = [e for e in every if e.text.startswith("{f_")]
    aggregates = [ROWS] if r.random() < 0.8 else []
    for _ in range(r.choice((2, 4, 6, 8))):
        one = aggregate(dice, r.choice(measures))
        if r.random() < 0.08:
            one = replace(one, filter=leaf(dice, r.choice(few)))
        aggregates.append(one)
    where = predicate(dice, few, 1) if r.random() < 0.12 else ""
    return Cube(name, joins, where, tuple(dimensions), tuple(dict.fromkeys(aggregates)))


def aggregate(dice: Dice, argument: Expr) -> Aggregate:
    """One that its argument's type allows."""
    r, type_ = dice.shape, argument.type
    forms = ["count(?)", "min(?)", "max(?)"]
    if type_ not in values.FLOATS:
        forms += ["count(DISTINCT ?)"] * 2
    if values.is_number(type_):
        forms += ["sum(?)", "sum(?)", "avg(?)", "avg(?)"]
    if values.is_number(type_) and values.has_spread(type_):
        forms.append(r.choice(_SPREADS) + "(?)")
    if type_ in values.INTEGERS:
        forms += [f"approx_percentile(?, {r.choice((0.25, 0.5, 1.0))})"]
    if type_ in (*values.INTEGERS, "STRING"):
        forms.append("approx_count_distinct(?)")
    if type_ == "BOOLEAN":
        forms += ["bool_and(?)", "bool_or(?)", "count_if(?)"]
    return Aggregate(r.choice(forms), argument)


def related(dice: Dice, cube: Cube) -> Aggregate:
    """An aggregate that the cube may answer: one of its own, or what follows from one."""
    r = dice.shape
    of_dimension = cube.dimensions and r.random() < 0.2
    if of_dimension:
        argument = r.choice(cube.dimensions)
        forms = ["min(?)", "max(?)", "count(?)", "count(DISTINCT ?)"]
        if argument.type in values.INTEGERS or values.is_decimal(argument.type):
            forms += ["sum(?)", "avg(?)"]
        return Aggregate(r.choice(forms), argument)
    own = r.choice((ROWS, *cube.aggregates, *cube.aggregates))
    if values.is_decimal(own.argument.type) and not own.filter and r.random() < 0.04:
        return replace(own, function=r.choice(("sum(DISTINCT ?)", "avg(DISTINCT ?)")))
    if own.filter or own is ROWS:
        return own
    if own.function == "avg(?)" and r.random() < 0.5:
        return replace(own, function=r.choice(("sum(?)", "count(?)")))
    if own.function[:-3] in _SPREADS and r.random() < 0.5:
        return replace(own, function=r.choice((*_SPREADS, "avg")) + "(?)")
    if own.function.startswith("approx_percentile"):
        return replace(own, function=f"approx_percentile(?, {dice.constants.choice((0.1, 0.9))})")
    return own
