"""Random statements over a star, most of which a cube of it may answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fuzz import values
from fuzz.cubes import (
    ROWS,
    Aggregate,
    Cube,
    Join,
    aggregate,
    columns_of,
    from_clause,
    random_joins,
    related,
)
from fuzz.decimals import decimal_aggregate, decimal_having, decimal_window, decimals_of
from fuzz.expressions import Dice, Expr, derived, leaf, predicate
from fuzz.raising import GENERATOR as RAISING
from fuzz.raising import around, dropping_condition, folding_condition, raising_output
from fuzz.schema import Star
from fuzz.select import Output, Select, Sort

_DIRECTIONS = ("", "", " DESC", " ASC NULLS LAST", " DESC NULLS FIRST", " DESC NULLS LAST")
_WRAPS = (
    "WITH q AS ({}) SELECT * FROM q",
    "SELECT * FROM ({}) z",
    "SELECT count(*) AS n FROM ({}) z",
    "({}) UNION ALL ({})",
    "({}) UNION ({})",
    "({}) EXCEPT ({})",
    "({}) INTERSECT ({})",
)
_OVER = (
    "SELECT z.{0}, count(*) AS many FROM ({{}}) z GROUP BY z.{0}",
    "SELECT max(z.{0}) AS top, min({0}) AS low, count(DISTINCT z.{0}) AS n FROM ({{}}) z",
    "SELECT * FROM ({{}}) z WHERE z.{0} IS NOT NULL",
    "WITH q AS ({{}}) SELECT a.*, b.{0} AS other FROM q a JOIN q b ON a.{0} = b.{0}",
    "WITH q AS ({{}}) SELECT a.{0}, b.{0} AS other FROM q a LEFT JOIN q b ON a.{0} = b.{0}",
    "WITH q AS ({{}}), m AS (SELECT max({0}) AS top FROM q) SELECT q.* FROM q JOIN m ON {0} = top",
    "SELECT z.*, rank() OVER (ORDER BY {0}) AS place, count(*) OVER () AS n FROM ({{}}) z",
    "SELECT z.* FROM ({{}}) z WHERE {0} IN (SELECT max({0}) FROM ({{}}) y)",
    "SELECT z.*, (SELECT count({0}) FROM ({{}}) y) AS n, e FROM ({{}}) z"
    " LATERAL VIEW explode(array(1, 2)) l AS e",
)
"""Of which the place is an output's name."""
_BESIDE = (
    "SELECT z.*, x.{1} AS other FROM ({{}}) z LEFT JOIN {2} x ON z.{0} IS NOT NULL",
    "SELECT x.{1} AS other, count(*) AS many, max(z.{0}) FROM {2} x, ({{}}) z GROUP BY x.{1}",
)
_KEYED = (
    "SELECT z.*, x.{1} AS other FROM ({{}}) z JOIN {2} x ON z.{0} = x.{3}",
    "WITH q AS ({{}}) SELECT x.{1} AS other, q.{0} AS low FROM {2} x LEFT JOIN q ON q.{0} = x.{3}",
    "SELECT x.{1} AS other, count(*) AS many FROM ({{}}) z LEFT JOIN {2} x ON z.{0} <=> x.{3}"
    " GROUP BY x.{1}",
)
"""Of which the places are an output's name, a column of a dimension, its name, and its key."""


class Asker:
    """Makes statements; `cubes` are those that exist."""

    def __init__(self, star: Star, cubes: Sequence[Cube], dice: Dice) -> None:
        self.star, self.cubes, self.dice = star, cubes, dice
        self.r = dice.shape

    def statement(self) -> Select:
        """One of all kinds."""
        r = self.r
        self.aliases = self._aliases()
        kind = r.random()
        if kind < 0.08:
            made = replace(self._rows(), generator="rows")
        elif kind < 0.14:
            made = replace(self._of_manifests(), generator="manifests")
        elif kind < 0.19 or not self.cubes:
            made = replace(self._of_anything(), generator="anything")
        elif kind < 0.28:
            made = replace(self._of_decimals(), generator="decimals")
        elif kind < 0.35:
            return replace(self._raising(), generator=RAISING)
        else:
            made = replace(self._of_cube(r.choice(self.cubes)), generator="cubes")
            made = self._derived(made) if r.random() < 0.1 else made
        made = self._written(made)
        return self._wrapped(made) if r.random() < 0.12 else made

    def condition(self) -> tuple[str, str]:
        """FROM … and a predicate over it without floats, for what must hold between answers."""
        r = self.r
        self.aliases = self._aliases()
        if self.cubes and r.random() < 0.8:
            cube = r.choice(self.cubes)
            joins, exprs = cube.joins, list(cube.dimensions)
        else:
            joins = random_joins(r, self.star, 0.3)
            exprs = columns_of(self.star, joins)
        exact = [
            e for e in exprs if all(c.type not in values.FLOATS for c in self.star.columns(e.text))
        ]
        where = predicate(self.dice, exact) if exact else "TRUE"
        return self._sql(from_clause(self.star, joins, self.aliases)), self._sql(where)

    def _aliases(self) -> dict[str, str]:
        r = self.r
        if r.random() < 0.5:
            return {}
        return {s: r.choice((s, f"t_{s}", "`é " + s + "`")) for s in self.star.tables}

    def _sql(self, template: str) -> str:
        return self.star.sql(template, self.aliases)

    def _written(self, made: Select) -> Select:
        """With the columns' names; the source has them already."""

        def each(texts: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(map(self._sql, texts))

        return replace(
            made,
            outputs=tuple(replace(o, text=self._sql(o.text)) for o in made.outputs),
            where=each(made.where),
            groups=each(made.groups),
            having=each(made.having),
        )

    def _derived(self, made: Select) -> Select:
        """From a derived table of all columns, where nothing is written with its tables' names."""
        seen = self.star.view and self.star.view in made.source
        if seen or any("SELECT" in condition for condition in made.where):
            return made
        columns = [
            self._sql(f"{{{column.id}}}")
            for table in self.star.tables.values()
            if f"{table.name} " in f"{made.source.replace(',', ' ')} "
            for column in table.columns
        ]
        self.aliases = dict.fromkeys(self.star.tables, "z")
        return replace(made, source=f"(SELECT {', '.join(columns)} FROM {made.source}) z")

    # --- kinds

    def _of_cube(self, cube: Cube) -> Select:
        r, dice = self.r, self.dice
        source, where, joins = self._joined(cube)
        dims = [d for d in cube.dimensions if self._has(joins, d)]
        dims += self._beside(cube, joins)
        keys = r.sample(dims, r.randint(0, min(3, len(dims))))
        keys = [derived(dice, k) if r.random() < 0.2 else k for k in keys]
        aggregates = [related(dice, cube) for _ in range(r.choice((0, 1, 1, 2, 3)) if keys else 2)]
        if r.random() < 0.15:  # no cube may have both, but two of them
            aggregates.append(related(dice, r.choice(self.cubes)))
        aggregates = [self._over_dimensions(a, dims) for a in aggregates]
        aggregates = [a for a in aggregates if self._has(joins, a.argument)] or [ROWS]
        if cube.where and r.random() < 0.9:
            where.append(cube.where)
        if dims:
            where += [predicate(dice, dims) for _ in range(r.choice((0, 0, 1, 1, 2)))]
        if r.random() < 0.05:
            where.append(predicate(dice, columns_of(self.star, joins)))
        where += self._semi(joins)
        if keys and r.random() < 0.15:
            return self._ordered(
                Select(self._outputs(keys, []), source, tuple(where), (), distinct=True)
            )
        return self._grouped(keys, aggregates, source, tuple(where))

    def _beside(self, cube: Cube, joins: Sequence[Join]) -> list[Expr]:
        """Columns of joined tables that the cube lacks, or whose columns it doesn't show."""
        own = {join.edge.child for join in cube.joins}
        shorts = [j.edge.child for j in joins if j.edge.child not in own or self.r.random() < 0.2]
        columns = [Expr.of(c) for short in shorts for c in self.star.tables[short].columns]
        return self.r.sample(columns, min(len(columns), 3))

    def _of_manifests(self) -> Select:
        """Counts and bounds of the fact alone, which manifests and indexes may answer."""
        r, dice = self.r, self.dice
        columns = columns_of(self.star, ())
        asked = [r.choice(("count(?)", "min(?)", "max(?)")) for _ in range(r.choice((0, 1, 2)))]
        aggregates = [ROWS, *(Aggregate(form, r.choice(columns)) for form in asked)]
        where = [leaf(dice, r.choice(columns), columns) for _ in range(r.choice((0, 0, 1, 1, 2)))]
        keys = [r.choice(columns)] if r.random() < 0.3 else []
        return self._grouped(keys, aggregates, self._source(()), tuple(where))

    def _of_anything(self) -> Select:
        r, dice = self.r, self.dice
        joins = random_joins(r, self.star)
        columns = columns_of(self.star, joins)
        keys = [
            c if r.random() < 0.6 else derived(dice, c)
            for c in r.sample(columns, r.choice((0, 1, 1, 2)))
        ]
        aggregates = [aggregate(dice, r.choice(columns)) for _ in range(r.choice((1, 2)))]
        where = [predicate(dice, columns) for _ in range(r.choice((0, 1, 1)))] + self._semi(joins)
        return self._grouped(keys, aggregates, self._source(joins), tuple(where))

    def _rows(self) -> Select:
        """Rows of the fact, or of a join, in an order."""
        r, dice = self.r, self.dice
        joins = random_joins(r, self.star, 0.3) if r.random() < 0.4 else ()
        columns = columns_of(self.star, joins)
        outputs = self._outputs(r.sample(columns, min(len(columns), r.choice((1, 2, 4)))), [])
        where = [predicate(dice, columns) for _ in range(r.choice((0, 1, 1, 2)))]
        made = Select(outputs, self._source(joins), tuple(where) + tuple(self._semi(joins)))
        return self._ordered(made)

    def _of_decimals(self) -> Select:
        """Averages and sums of decimals, by the dimensions of a cube over them if there is one."""
        r, dice = self.r, self.dice
        fact = decimals_of(columns_of(self.star, ()))
        if not fact:
            return self._of_anything()
        own = [c for c in self.cubes if any(a.argument in fact for a in c.aggregates)]
        cube = r.choice(own or self.cubes)
        source, where, joins = self._joined(cube)
        dims = [d for d in cube.dimensions if self._has(joins, d)]
        known = [a.argument for a in cube.aggregates if a.argument in fact]
        keys = r.sample(dims, r.randint(0, min(2, len(dims))))
        arguments = [r.choice(known or fact) if r.random() < 0.8 else r.choice(fact)]
        arguments += [r.choice(fact)] * r.choice((0, 1))
        aggregates = [decimal_aggregate(dice, one, dims) for one in arguments]
        if cube.where and r.random() < 0.9:
            where.append(cube.where)
        if dims and r.random() < 0.3:
            where.append(predicate(dice, dims))
        if r.random() < 0.1:  # a window over rows
            keys = keys[:1]
            over = f"PARTITION BY {keys[0].text}" if keys else ""
            values_ = [Output(f"{a.text} OVER ({over})", f"w{n}") for n, a in enumerate(aggregates)]
            return Select((*self._outputs(keys, []), *values_), source, tuple(where))
        made = self._grouped(keys, aggregates, source, tuple(where))
        if r.random() < 0.25:
            condition = decimal_having(dice, r.choice(aggregates))
            made = replace(made, having=(*made.having, condition))
        if r.random() < 0.15 and made.grouped_as not in ("ROLLUP", "CUBE", "SETS"):
            window = decimal_window(dice, keys, r.choice(aggregates))
            made = replace(made, outputs=(*made.outputs, window))
        return made

    def _raising(self) -> Select:
        """Outputs or conditions that may raise, under what may drop their rows."""
        r, dice = self.r, self.dice
        cube = r.choice(self.cubes)
        source, where, joins = self._joined(cube)
        columns = columns_of(self.star, joins)
        dims = [d for d in cube.dimensions if self._has(joins, d)]
        grouped = r.random() < 0.75
        measured = [a.argument for a in cube.aggregates if a.argument.type != "BIGINT"]
        of = [e for e in measured if self._has(joins, e)] if r.random() < 0.7 else columns
        bad = raising_output(dice, of, grouped=grouped) or raising_output(
            dice, columns, grouped=grouped
        )
        if bad is None:
            return self._written(self._of_cube(cube))
        keys = r.sample(dims, r.randint(0, min(2, len(dims)))) if grouped else []
        outputs = [Output(k.text, f"k{n}") for n, k in enumerate(keys)]
        outputs.append(Output(ROWS.text, "n") if grouped else Output(r.choice(columns).text, "v"))
        having = (dropping_condition(dice, of or columns),) if grouped else ()
        having = having if r.random() < 0.7 else ()
        if r.random() < 0.3:
            where.append(predicate(dice, dims or columns))
        folding = folding_condition(dice, columns) if r.random() < 0.25 else None
        if folding is not None:
            where.append(folding)
            bad = bad if r.random() < 0.3 else Output("1", "bad")
        made = Select(
            (*outputs, bad),
            source,
            tuple(where),
            tuple(dict.fromkeys(k.text for k in keys)),
            "texts",
            having,
        )
        made = self._written(made)
        if r.random() < 0.15:
            made = replace(made, limit=r.choice((0, 1, 5)))
        if r.random() < 0.4:
            made = replace(made, wrap=around(dice, [o.alias or "" for o in made.outputs]))
        return made

    # --- parts

    def _has(self, joins: Sequence[Join], expr: Expr) -> bool:
        shorts = {"f", *(j.edge.child for j in joins)}
        return all(c.table in shorts for c in self.star.columns(expr.text))

    def _source(self, joins: Sequence[Join]) -> str:
        """At times in an earlier state of the fact."""
        r, known = self.r, self.star.tables["f"].snapshots
        at = f" VERSION AS OF {r.choice(known)}" if known and r.random() < 0.08 else ""
        text = self._sql(from_clause(self.star, joins, self.aliases, at))
        if self.star.view and not at and r.random() < 0.15:
            text = text.replace(self.star.tables["f"].name, self.star.view, 1)
        return text

    def _joined(self, cube: Cube) -> tuple[str, list[str], tuple[Join, ...]]:
        """FROM as the cube has it, or nearly; conditions that stand in WHERE; the joins."""
        r, joins = self.r, cube.joins
        keys = {column.id for d in cube.dimensions for column in self.star.columns(d.text)}
        for edge in self.star.edges:
            if edge.key in keys and r.random() < 0.4:
                joined = {"f", *(j.edge.child for j in joins)}
                if edge.parent in joined and edge.child not in joined:
                    joins = (*joins, Join(edge, r.choice(("JOIN", "JOIN", "LEFT JOIN"))))
        if joins and r.random() < 0.12:
            joins = joins[:-1]
        if r.random() < 0.12:
            joins = tuple(replace(j, kind=r.choice(("JOIN", "LEFT JOIN"))) for j in joins)
        if r.random() < 0.06 and not joins:
            joins = random_joins(r, self.star)
        inner = all(j.kind == "JOIN" for j in joins)
        if joins and inner and r.random() < 0.2:
            tables = ["f", *(j.edge.child for j in joins)]
            r.shuffle(tables)
            named = (
                f"{self.star.tables[t].name} {self.aliases.get(t, '')}".strip() for t in tables
            )
            return ", ".join(named), [j.edge.on for j in joins], joins
        if len(joins) == 1 and r.random() < 0.1:
            fact, child = (
                f"{self.star.tables[t].name} {self.aliases.get(t, '')}".strip()
                for t in ("f", joins[0].edge.child)
            )
            kind = "JOIN" if inner else "RIGHT JOIN"
            return f"{child} {kind} {fact} ON {self._sql(joins[0].edge.on)}", [], joins
        source = self._source(joins)
        if joins and r.random() < 0.06:
            last = Expr.of(r.choice(self.star.tables[joins[-1].edge.child].columns))
            source += f" AND {self._sql(leaf(self.dice, last))}"
        return source, [], joins

    def _semi(self, joins: Sequence[Join]) -> list[str]:
        """At times a semi join with a dimension that isn't joined."""
        r = self.r
        joined = {j.edge.child for j in joins}
        edges = [e for e in self.star.edges if e.parent == "f" and e.child not in joined]
        if not edges or r.random() > 0.08:
            return []
        edge = r.choice(edges)
        table = self.star.tables[edge.child]
        inside = leaf(self.dice, Expr.of(r.choice(table.columns)))
        word = "" if r.random() < 0.8 else "NOT "
        inner = {**self.aliases, edge.child: "q"}
        inside = self.star.sql(inside, inner)
        outer, unique = self._sql(f"{{{edge.key}}}"), self.star.sql(f"{{{edge.unique}}}", inner)
        if r.random() < 0.5:
            return [f"{outer} {word}IN (SELECT {unique} FROM {table.name} q WHERE {inside})"]
        return [
            f"{word}EXISTS (SELECT 1 FROM {table.name} q WHERE {unique} = {outer} AND {inside})"
        ]

    def _over_dimensions(self, own: Aggregate, dims: Sequence[Expr]) -> Aggregate:
        """At times under a condition over dimensions, by FILTER or CASE."""
        r = self.r
        chance = r.random()
        if not dims or chance > 0.2 or own.filter:
            return own
        condition = leaf(self.dice, r.choice(dims))
        if own is ROWS and chance < 0.1:
            return Aggregate("count_if(?)", Expr(condition, "BOOLEAN", (True, False)))
        if chance < 0.1 and own.function in ("sum(?)", "count(?)", "min(?)", "max(?)", "avg(?)"):
            number = values.is_number(own.argument.type)
            other = r.choice(("", " ELSE 0" if number else "", " ELSE NULL"))
            text = f"CASE WHEN {condition} THEN {own.argument.text}{other} END"
            return replace(own, argument=replace(own.argument, text=text))
        return replace(own, filter=condition)

    def _outputs(self, keys: Sequence[Expr], aggregates: Sequence[Aggregate]) -> tuple[Output, ...]:
        r = self.r
        named = r.random() < 0.7
        made = [Output(k.text, f"k{n}" if named else None) for n, k in enumerate(keys)]
        for n, one in enumerate(aggregates):
            alias = f"a{n}" if named or r.random() < 0.3 else None
            made.append(Output(one.text, alias, one.exact, one.estimate))
        if len(made) > 1 and r.random() < 0.2:
            r.shuffle(made)
        return tuple(made)

    def _grouped(
        self,
        keys: Sequence[Expr],
        aggregates: Sequence[Aggregate],
        source: str,
        where: tuple[str, ...],
    ) -> Select:
        r = self.r
        hidden = len(keys) > 1 and r.random() < 0.08
        outputs = self._outputs(keys[1:] if hidden else keys, aggregates)
        exact = [a for a in aggregates if a.exact]
        if exact and r.random() < 0.07:
            outputs = (*outputs, self._window(keys, r.choice(exact)))
        groups = tuple(dict.fromkeys(k.text for k in keys))
        how = r.choice(("texts", "texts", "positions", "aliases"))
        if groups and r.random() < 0.03:
            how = r.choice(("ROLLUP", "CUBE", "SETS"))
        having = []
        if r.random() < (0.15 if groups else 0.03):
            one = r.choice([ROWS, *(a for a in aggregates if a.exact)])
            having.append(self._having(one))
        made = Select(outputs, source, where, groups, how, tuple(having))
        return self._ordered(made)

    def _window(self, keys: Sequence[Expr], one: Aggregate) -> Output:
        """A window over the groups, whose value doesn't go by how they lie."""
        r = self.r
        over = f"PARTITION BY {r.choice(keys).text}" if keys and r.random() < 0.4 else ""
        ranked = r.choice(("rank()", "dense_rank()", "max({0})", "count({0})"))
        text = ranked.replace("{0}", one.text) + f" OVER ({over} ORDER BY {one.text})"
        return Output(text, r.choice(("place", None)))

    def _having(self, one: Aggregate) -> str:
        number = one.function.startswith("count") or one.function.startswith("sum")
        forms = [f"{one.text} IS NOT NULL", f"{one.text} IS NULL", "count(*) >= 2"]
        if number:
            forms += [f"{one.text} > {self.dice.constants.randrange(6)}"] * 3
        return self.r.choice(forms)

    def _ordered(self, made: Select) -> Select:
        """Perhaps ORDER BY outputs, and LIMIT where these are exact."""
        r = self.r
        if r.random() > 0.35:
            return made
        places = [n for n, o in enumerate(made.outputs) if o.exact]
        chosen = r.sample(places, r.randint(min(1, len(places)), len(places)))
        by_position = r.random() < 0.3
        order = tuple(Sort(n, by_position, r.choice(_DIRECTIONS)) for n in chosen)
        limit = r.choice((1, 2, 3, 5, 10, 100)) if chosen and r.random() < 0.6 else None
        offset = r.choice((1, 2)) if limit is not None and r.random() < 0.15 else 0
        return replace(made, order=order, limit=limit, offset=offset)

    def _wrapped(self, made: Select) -> Select:
        """Inside another query, without an order of its own; what it returns has to have names."""
        exact = [o for o in made.outputs if o.exact] or [Output(ROWS.text)]
        outputs = tuple(replace(o, alias=o.alias or f"o{n}") for n, o in enumerate(exact))
        over = [text.format(outputs[0].alias) for text in _OVER]
        over += self._over_tables(outputs)
        over.append(
            f"WITH q({', '.join(f'r{n}' for n in range(len(outputs)))}) AS ({{}}) SELECT * FROM q"
        )
        kept = made.grouped_as if made.grouped_as != "positions" else "texts"
        return replace(
            made,
            outputs=outputs,
            order=(),
            limit=None,
            offset=0,
            grouped_as=kept,
            wrap=self.r.choice((*_WRAPS, *over)),
        )

    def _over_tables(self, outputs: Sequence[Output]) -> list[str]:
        """Joins with a dimension, by its key where an output is the fact's key."""
        keys = {self._sql(f"{{{edge.key}}}"): edge for edge in self.star.edges}
        keyed = [(o.alias or "", keys[o.text]) for o in outputs if o.text in keys]
        if not keyed:
            table = self.r.choice([t for t in self.star.tables.values() if t.short != "f"])
            column = self.r.choice(table.columns).name
            return [form.format(outputs[0].alias, column, table.name) for form in _BESIDE]
        alias, edge = self.r.choice(keyed)
        table = self.star.tables[edge.child]
        places = self.r.choice(table.columns).name, table.name, self.star.column(edge.unique).name
        return [form.format(alias, *places) for form in _KEYED]
