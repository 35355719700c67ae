"""A match written as SQL: cells from segments and from raw rows, merged once.

Theory: `docs/rewriting.md`, 1.

Every source gives the same columns, `k0…` keys and `a0…` slots; the final aggregation stands over
their UNION ALL, so partial coverage is no case of its own. One writer for both engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from cubes.match_result import WHOLE_SLOT, Final, Match, StateSlot
from cubes.may_raise import may_overflow, may_raise
from cubes.measures import Merge, of_cells, of_one_cell
from cubes.states import (
    STATES,
    argument_text,
    as_spark_groups,
    may_leave,
    size_of,
    sum_that_fits,
)
from rewrite.ir.block import Block
from rewrite.ir.expr import (
    CUBE,
    Aggregate,
    Call,
    Column,
    Expr,
    Literal,
    conjuncts,
    exact_digits,
    has_aggregate,
    transform,
)
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Dialect, Renderer, column_sql, duckdb_type
from rewrite.render.row_aggregates import rows_renderer
from rewrite.render.row_block import order_sql
from rewrite.types import FLOATING, decimal_parts


class SegmentSource(Struct, frozen=True):
    """Where the cube's rows stand: text for FROM and the condition that picks valid segments.

    `match` is that of another cube than the statement's, whose cells these are. Its slots stand in
    `places` of the statement's, the others are empty there; without `places` they are all of them.
    `beside` are the tables of its delta, by occurrences, where the raw rows don't name them.
    """

    table: str
    condition: str
    match: Match | None = None
    places: tuple[int, ...] | None = None
    beside: tuple[str, ...] = ()


class RawSource(Struct, frozen=True):
    """Where each table occurrence's rows stand, in the order of the block's occurrences.

    Without `fact` there are none of the fact, nor of any table but the match's delta. Where these
    are rows of some aggregates alone, `part` is the block that has these and its match, whose slots
    stand in `places` of the statement's. Numbers that `fit` stay in their sum's type in whatever
    order they're added. Where it `raises`, each condition is tested of each row, and rows are
    computed before a limit leaves any out.
    """

    tables: tuple[str, ...]
    fact: bool = True
    fit: frozenset[Expr] = frozenset()
    raises: bool = False
    part: tuple[Block, Match] | None = None
    places: tuple[int, ...] | None = None


_WIDE = 37  # digits of a decimal whose sum or product with another one has 38, Spark's most
_BEYOND_64_BITS = 19  # digits of a decimal, at least
_BOUNDS = (">=", "<=")
_CUBE = "acc_cells"
"""The alias of the segments' cells, where rows of tables are joined to them."""


class _CellRenderer(Renderer):
    """Adds the exact operators that derivations use over a cube's columns."""

    def text(self, expr: Expr) -> str:
        if isinstance(expr, Call) and expr.op == "as_state":
            return _cast(self.text(expr.args[0]), expr.type, self.dialect)
        if isinstance(expr, Call) and expr.op in ("weighted", "widened"):
            return self._product(expr) if expr.op == "weighted" else self._sum(expr)
        if isinstance(expr, Call) and expr.op in ("scaled", "shifted"):
            return self._scaled(expr) if expr.op == "scaled" else self._shifted(expr)
        return super().text(expr)

    def _scaled(self, expr: Call) -> str:
        """A sum times what is the same for all of its rows, in 37 digits."""
        precision, scale = _exact(expr.args[1])
        value = self._wide(expr.args[0], _WIDE - precision)
        factor = f"CAST({self.text(expr.args[1])} AS DECIMAL({precision},{scale}))"
        return f"CAST(({value} * {factor}) AS {expr.type})"

    def _shifted(self, expr: Call) -> str:
        """A sum and, for each of its rows, what is the same for all of them."""
        value, fixed, rows, first, sign = expr.args
        precision, scale = _exact(fixed)
        each = f"CAST({self.text(fixed)} AS DECIMAL({precision},{scale}))"
        added = f"({each} * CAST({self.text(rows)} AS DECIMAL({_WIDE - precision},0)))"
        signs = [one.value for one in (first, sign) if isinstance(one, Literal)]
        total = self._wide(value, _WIDE)
        if signs[0] == "-":  # Spark's unary minus keeps no more than 34 digits
            total = f"(0 - {total})" if self.dialect == "spark" else f"(- {total})"
        added = f"CAST({added} AS DECIMAL({_WIDE},{_exact(expr)[1]}))"
        return f"CAST(({total} {signs[1]} {added}) AS {expr.type})"

    def _wide(self, value: Expr, precision: int) -> str:
        return f"CAST({self.text(value)} AS DECIMAL({precision},{_exact(value)[1]}))"

    def _product(self, expr: Call) -> str:
        """A value times its rows, in a type that holds it: `cubes.derive` limits the digits."""
        value, rows = (self.text(a) for a in expr.args)
        parts = decimal_parts(expr.args[0].type)
        if self.dialect == "duckdb" and parts is None:
            return f"CAST(CAST({value} AS HUGEINT) * CAST({rows} AS HUGEINT) AS DECIMAL(38,0))"
        precision, scale = parts or (20, 0)
        # DuckDB multiplies two decimals of up to 18 digits in 64 bits, and raises beyond.
        wide = f"DECIMAL({max(precision, _BEYOND_64_BITS)},{scale})"
        return f"(CAST({value} AS {wide}) * CAST({rows} AS DECIMAL(18,0)))"

    def _sum(self, expr: Call) -> str:
        wide = "HUGEINT" if self.dialect == "duckdb" else "DECIMAL(30,0)"
        left, right = (f"CAST({self.text(a)} AS {wide})" for a in expr.args[:2])
        operator = expr.args[2].value if isinstance(expr.args[2], Literal) else "+"
        text = f"({left} {operator} {right})"
        return f"CAST({text} AS DECIMAL(38,0))" if self.dialect == "duckdb" else text


def answer_sql(
    block: Block,
    match: Match,
    dialect: Dialect,
    segments: Sequence[SegmentSource],
    raw: RawSource | None,
    *more: RawSource,
) -> str:
    """The whole statement over segments and, where given, raw rows; output columns are `c0…`.

    DeclinedError where the dialect can't express it with Spark's meaning.
    """
    if block.rows and raw is not None:
        return _rows(block, dialect, raw)
    delta = () if raw is None else raw.tables
    facts = [one for one in (raw, *more) if one is not None and one.fact]
    mixed = any(one.match is not None for one in segments)
    alone = len(segments) == 1 and not facts and not mixed
    if alone and dialect == "duckdb" and not block.sets:
        return _final(block, match, dialect, _only_segments(match, dialect, segments[0], delta))
    sized = _sized(match, facts, dialect)
    single = not segments and len(facts) == 1 and dialect == "duckdb" and not block.sets
    one_cell = single and all(slot.kind != "key" for slot in match.slots)
    whole = one_cell and facts[0].part is None and facts[0].places is None
    averages = _averages(match) if whole else {}
    cells = [
        segment_cells(
            one.match or match,
            dialect,
            one,
            one.beside or delta,
            cast=bool(facts) or mixed,
            layout=match,
            sized=sized,
        )
        for one in segments
    ]
    for one in facts:
        of_block, of_match = one.part or (block, match)
        cells.append(_raw_cells(of_block, of_match, dialect, one, match, sized, averages))
    groups = tuple(f"k{i}" for i in range(len(match.keys)))
    keys = groups if dialect == "spark" else tuple(map(_as_spark_groups, groups, match.keys))
    slots = tuple(f"a{i}" for i in range(len(match.slots)))
    from_ = f"({' UNION ALL '.join(cells)}) cells"
    sizes = {
        one.aggregate: f"b{sized.index(one.slots[0])}"
        for one in match.finals
        if _may_leave(one, match) and one.slots[0] in sized
    }
    merge = of_one_cell if one_cell else of_cells
    text = _AggregatedText(from_, keys, groups, slots, sizes, merge, averages)
    return _final(block, match, dialect, text)


def _averages(match: Match) -> dict[int, str]:
    """Replaces floating sums and counts that only averages need by DuckDB's AVG, by places.

    It takes less time than both, unless the statement has the count as well.
    """
    users: dict[int, set[Aggregate]] = {}
    for final in match.finals:
        for place in final.slots:
            users.setdefault(place, set()).add(final.aggregate)
    found: dict[int, str] = {}
    for final in match.finals:
        call = final.aggregate
        if call.function == "avg" and call.args[0].type in FLOATING and len(final.slots) == 2:
            total, rows = final.slots
            if match.slots[total].kind == "sum" and users[total] == {call}:
                found[total] = "AVG(CAST({} AS DOUBLE))"
                if users[rows] == {call}:
                    found[rows] = "NULL"
    return found


def _as_spark_groups(text: str, key: Expr) -> str:
    """DuckDB groups numbers as Spark does, but shows of 0.0 and -0.0 the one that it met first."""
    if key.type is None:
        raise DeclinedError("expression_not_proven", "The type of a group key isn't known.")
    return as_spark_groups(text, key.type, "duckdb")


def _sized(match: Match, facts: Sequence[RawSource], dialect: Dialect) -> tuple[int, ...]:
    """The places of sums of which it's asked whether Spark's may have left its type on the way."""
    if dialect == "spark" or not facts:
        return ()
    fit = frozenset.intersection(*(one.fit for one in facts))
    return tuple(
        dict.fromkeys(
            final.slots[0]
            for final in match.finals
            if _may_leave(final, match) and match.slots[final.slots[0]].argument not in fit
        )
    )


def _may_leave(final: Final, match: Match) -> bool:
    """Whether Spark's sum may leave its type before it's whole. Of bigints it averages doubles."""
    argument = match.slots[final.slots[0]].argument if final.slots else None
    if argument is None or not may_leave(argument.type):
        return False
    function = final.aggregate.function
    return function == "sum" or (function == "avg" and argument.type != "bigint")


class _AggregatedText(Struct, frozen=True):
    """Cells that are aggregated: text behind FROM, and texts of keys, GROUP BY and slots over it.

    `sizes` are the columns that tell how much the numbers of some sums may add up to. `merge` is
    `of_one_cell` if each group has one cell. In the places of `averages` are averages.
    """

    from_: str
    keys: tuple[str, ...]
    groups: tuple[str, ...]
    slots: tuple[str, ...]
    sizes: Mapping[Aggregate, str] = field(default_factory=dict)
    merge: Merge = of_cells
    averages: Mapping[int, str] = field(default_factory=dict)


def _only_segments(
    match: Match, dialect: Dialect, source: SegmentSource, delta: Sequence[str]
) -> _AggregatedText:
    """Without raw rows the segments' own columns are aggregated: DuckDB plans that sooner."""
    render = _cell_renderer(match, dialect)
    keys = tuple(_key(k, render, dialect) for k in match.keys)
    groups = tuple(_group(k, text, dialect) for k, text in zip(match.keys, keys, strict=True))
    slots = tuple(_slot(slot, render, dialect) for slot in match.slots)
    return _AggregatedText(_cells_from(match, render, source, delta), keys, groups, slots)


def _cell_renderer(match: Match, dialect: Dialect) -> Renderer:
    """Columns of cells by their names, which are qualified where rows of others are joined."""

    def column(found: Column) -> str:
        name = column_sql(found, dialect)
        if found.occurrence != CUBE:
            return f"t{found.occurrence}.{name}"
        return f"{_CUBE}.{name}" if match.delta else name

    return _CellRenderer(dialect, column)


def _cells_from(match: Match, render: Renderer, source: SegmentSource, delta: Sequence[str]) -> str:
    """What stands behind FROM: the segments' cells, with the rows of the delta that they meet.

    `delta` are texts of tables, by occurrences of the statement.
    """
    conditions = [render.text(c) for c in match.where]
    if not match.delta:
        conditions = ([source.condition] if source.condition else []) + conditions
        return source.table + (f" WHERE {' AND '.join(conditions)}" if conditions else "")
    own = f" WHERE {source.condition}" if source.condition else ""
    text = f"(SELECT * FROM {source.table}{own}) AS {_CUBE}"
    for one in match.delta:
        named = f"{delta[one.occurrence]} AS t{one.occurrence}"
        if one.on is None:
            text += f" CROSS JOIN {named}"
        else:
            text += f" LEFT JOIN {named} ON {' AND '.join(map(render.text, one.on)) or 'TRUE'}"
    return text + (f" WHERE {' AND '.join(conditions)}" if conditions else "")


def _slot(slot: StateSlot, render: Renderer, dialect: Dialect) -> str:
    """Returns the slot over cells; a distinct count's values are those that Spark groups by."""
    return _key(slot.cube, render, dialect) if slot.kind == "key" else render.text(slot.cube)


def _exact(expr: Expr) -> tuple[int, int]:
    parts = exact_digits(expr)
    if parts is None:
        raise DeclinedError("expression_not_proven", f"A number of the type {expr.type}.")
    return parts


def _cast(text: str, type_: str | None, dialect: Dialect) -> str:
    if type_ is None:
        raise DeclinedError("expression_not_proven", "A result type isn't known.")
    shown = _storage_type(type_, dialect)
    return f"CAST({text} AS {shown})"


def _answered(text: str, expr: Expr) -> str:
    """An output of DuckDB's. An array isn't one, though a state may be, and a sorted set."""
    if expr.type is None:
        raise DeclinedError("expression_not_proven", "A result type isn't known.")
    if isinstance(expr, Aggregate):
        return _cast(text, expr.type, "duckdb")
    return f"CAST({text} AS {duckdb_type(expr.type)})"


def _storage_type(type_: str, dialect: Dialect) -> str:
    if dialect == "spark":
        return type_
    if type_.startswith("array<"):
        return duckdb_type(type_[6:-1]) + "[]"
    return duckdb_type(type_)


def segment_cells(
    match: Match,
    dialect: Dialect,
    source: SegmentSource,
    delta: Sequence[str],
    *,
    cast: bool,
    kept: Sequence[str] = (),
    layout: Match | None = None,
    sized: Sequence[int] = (),
) -> str:
    """The cells of segments as `k0…` and `a0…`, behind the columns of theirs that are `kept`.

    With `cast` slots are of the types that raw rows give; they stand where the `layout` has them.
    Behind them stand the sizes of those in the `sized` places, `b0…`: of the cells themselves.
    DeclinedError as of `answer_sql`.
    """
    render = _cell_renderer(match, dialect)
    items = [*kept, *(f"{_key(k, render, dialect)} AS k{i}" for i, k in enumerate(match.keys))]
    texts = [_slot(slot, render, dialect) for slot in match.slots]
    if cast:
        pairs = zip(match.slots, texts, strict=True)
        texts = [_cast(text, slot.type, dialect) for slot, text in pairs]
    items += _placed(texts, source.places, layout or match, dialect)
    given = _texts_by_place(texts, source.places)
    for n, place in enumerate(sized):
        items.append(f"ABS(CAST({given.get(place, 'NULL')} AS DOUBLE)) AS b{n}")
    from_ = _cells_from(match, render, source, delta)
    return f"SELECT {', '.join(items) or '1'} FROM {from_}"


def _texts_by_place(texts: Sequence[str], places: Sequence[int] | None) -> dict[int, str]:
    """What a source gives, by its place."""
    return dict(enumerate(texts) if places is None else zip(places, texts, strict=True))


def _placed(
    texts: Sequence[str], places: Sequence[int] | None, layout: Match, dialect: Dialect
) -> Iterator[str]:
    """Slots as `a0…` where the layout has them; NULL, which every merge passes over, elsewhere."""
    given = _texts_by_place(texts, places)
    for index, slot in enumerate(layout.slots):
        text = given.get(index)
        yield f"{_cast('NULL', slot.type, dialect) if text is None else text} AS a{index}"


def _raw_cells(
    block: Block,
    match: Match,
    dialect: Dialect,
    raw: RawSource,
    layout: Match,
    sized: Sequence[int],
    averages: Mapping[int, str],
) -> str:
    aliases = [f"t{o.index}" for o in block.occurrences]
    render = rows_renderer(dialect, lambda c: f"{aliases[c.occurrence]}.{column_sql(c, dialect)}")
    keys = [render.text(k) for k in block.keys]
    items = [f"{k} AS k{i}" for i, k in enumerate(keys)]
    if dialect == "duckdb":  # a key that is written once is bound once
        groups = [str(position) for position in range(1, len(keys) + 1)]
    else:
        groups = [_group(k, text, dialect) for k, text in zip(block.keys, keys, strict=True)]
    texts = []
    for place, slot in enumerate(match.slots):
        if place in averages:
            text = averages[place].format(_argument(slot, render))
        elif slot.kind == "key" and slot.argument is not None:
            text = _key(slot.argument, render, dialect)
            groups.append(_group(slot.argument, text, dialect))
        else:
            text = _state_text(slot, render, dialect)
        texts.append(_cast(text, slot.type, dialect))
    items += _placed(texts, raw.places, layout, dialect)
    arguments = [_argument(slot, render) for slot in match.slots] if sized else []
    given = _texts_by_place(arguments, raw.places) if sized else {}
    items += [f"{size_of(given.get(place, 'NULL'))} AS b{n}" for n, place in enumerate(sized)]
    text = f"SELECT {', '.join(items) or '1'} FROM {_raw_from(block, raw, aliases, render)}"
    if block.conjuncts:
        if raw.raises:
            where = _all_tested(_ranges(block.conjuncts, render))
        else:
            where = " AND ".join(map(render.text, block.conjuncts))
        text += f" WHERE {where}"
    return text + (f" GROUP BY {', '.join(groups)}" if groups else "")


def _ranges(conjuncts: Sequence[Expr], render: Renderer) -> list[str]:
    """The texts of conditions; the two bounds of a value are one, so that it's computed once."""
    bounds: dict[Expr, list[tuple[int, str, Expr]]] = {}
    for place, one in enumerate(conjuncts):
        if isinstance(one, Call) and one.op in _BOUNDS and isinstance(one.args[1], Literal):
            bounds.setdefault(one.args[0], []).append((place, one.op, one.args[1]))
    texts = {place: render.text(one) for place, one in enumerate(conjuncts)}
    for value, found in bounds.items():
        by_op = {op: (place, bound) for place, op, bound in found}
        if len(found) == len(by_op) == len(_BOUNDS):
            (place, low), (other, high) = by_op[">="], by_op["<="]
            between = f"BETWEEN {render.text(low)} AND {render.text(high)}"
            texts[min(place, other)] = f"({render.text(value)} {between})"
            del texts[max(place, other)]
    return [texts[place] for place in sorted(texts)]


def _all_tested(conditions: Sequence[str]) -> str:
    """That all of them hold, of which an engine tests each, whatever the others are.

    Of AND it tests what leaves out most first, and some while it reads the files. If one raises for
    a row that another leaves out, Spark may raise or not, and the error makes it decide.
    """
    held = " + ".join(f"(CASE WHEN {one} THEN 1 ELSE 0 END)" for one in conditions)
    return f"{held} = {len(conditions)}"


def _group(key: Expr, text: str, dialect: Dialect) -> str:
    """The key as GROUP BY takes it: a bare number would be a position in the SELECT list."""
    return _cast(text, key.type, dialect) if isinstance(key, Literal) else text


def _key(key: Expr, render: Renderer, dialect: Dialect) -> str:
    """A key as Spark groups by it; a cube's own dimensions are so already."""
    text = render.text(key)
    if dialect == "spark" or (isinstance(key, Column) and key.occurrence == CUBE):
        return text
    return _as_spark_groups(text, key)


def _raw_from(block: Block, raw: RawSource, aliases: list[str], render: Renderer) -> str:
    left = {e.occurrence: e.on for e in block.left_edges}
    text = ""
    for occurrence, table in zip(block.occurrences, raw.tables, strict=True):
        named = f"{table} AS {aliases[occurrence.index]}"
        if not text:
            text = named
        elif occurrence.index in left:
            on = " AND ".join(render.text(c) for c in left[occurrence.index]) or "TRUE"
            text += f" LEFT JOIN {named} ON {on}"
        else:
            text += f" CROSS JOIN {named}"
    return text


def _argument(slot: StateSlot, render: Renderer) -> str:
    """Returns the state's argument, NULL in rows that a filter leaves out."""
    argument = argument_text(slot.kind, slot.argument, render)
    if slot.where is None:
        return argument
    return f"CASE WHEN {render.text(slot.where)} THEN {argument} END"


def _state_text(slot: StateSlot, render: Renderer, dialect: Dialect) -> str:
    argument = _argument(slot, render)
    if slot.kind == WHOLE_SLOT:
        return argument
    type_ = "int" if slot.argument is None else slot.argument.type
    kind = STATES[slot.kind]
    if slot.where is not None and slot.kind == "rows":
        kind = STATES["count"]
    if type_ is None:
        raise DeclinedError("expression_not_proven", "An argument's type isn't known.")
    if slot.kind == "hll" and dialect == "duckdb":
        # Spark's own estimate is of another sketch; only what a cube has stands for it.
        raise DeclinedError("expression_not_proven", "A sketch of rows without cells.")
    return kind.build(argument, type_, dialect, slot.size)


def summed(match: Match) -> frozenset[Expr]:
    """The arguments of sums that Spark's may leave the type of before they're whole."""
    found = (match.slots[one.slots[0]].argument for one in match.finals if _may_leave(one, match))
    return frozenset(one for one in found if one is not None)


def _final(block: Block, match: Match, dialect: Dialect, cells: _AggregatedText) -> str:
    finals = {f.aggregate: f for f in match.finals}

    def aggregate(call: Aggregate) -> str:
        slots = finals[call].slots
        if slots and slots[0] in cells.averages:
            return cells.slots[slots[0]]
        text = finish_text(finals[call], cells.slots, dialect, cells.merge)
        size = cells.sizes.get(call)
        if size is None:
            return text
        return sum_that_fits(call.args[0].type or "", cells.merge("SUM", size), text)

    render = Renderer(dialect, lambda c: cells.keys[c.field_id], aggregate)

    def over_keys(expr: Expr) -> Expr:
        def change(node: Expr) -> Expr | None:
            if isinstance(node, Aggregate):
                return node
            if node in block.keys:
                index = block.keys.index(node)
                return Column(CUBE, index, cells.keys[index], node.type)
            return None

        return transform(expr, change)

    items = []
    for index, output in enumerate(block.outputs):
        text = render.text(over_keys(output.expr))
        if dialect == "duckdb":
            text = _answered(text, output.expr)
        items.append(f"{text} AS c{index}")
    named = [o.expr for o in block.outputs]
    hidden = [k.expr for k in block.order if k.expr not in named]
    items += [f"{render.text(over_keys(e))} AS o{i}" for i, e in enumerate(hidden)]

    def condition(expr: Expr) -> str:
        return render.text(over_keys(expr))

    if dialect == "duckdb":
        computed = _computed((*named, *hidden), items)
    else:  # its outputs are computed as the statement's are, but for sums, which are cast at last
        computed = [condition(call) for call in block.aggregates if may_overflow(call)]
    having = _passes(block, condition, computed, dialect)
    text = _grouped(block, dialect, cells, items, having)
    if block.order:
        text = _ordered(block, text, hidden, dialect)
    return text + (f" LIMIT {block.limit}" if block.limit is not None else "")


def _passes(
    block: Block, condition: Callable[[Expr], str], computed: Sequence[str], dialect: Dialect
) -> str:
    """HAVING's text, under which no error of a group that it or LIMIT drops is missing.

    Spark may compute the outputs of a group before it tests or limits the groups, so DuckDB has to:
    `computed` are the texts that may raise. An error makes the plain statement run. Conditions on
    keys come first, because Spark tests them before it groups the rows.
    """
    terms = conjuncts(block.having)
    drops = block.having is not None or (block.grouped and bool(block.limit))
    tested = dialect == "duckdb" and may_raise(terms)
    if not drops or not (computed or tested):
        return "" if block.having is None else condition(block.having)
    of_keys = [condition(term) for term in terms if not has_aggregate(term)]
    of_groups = [condition(term) for term in terms if has_aggregate(term)]
    if dialect == "duckdb":
        passing = _in_turn(of_groups)
    else:
        passing = f"(CASE WHEN {' AND '.join(of_groups) or 'TRUE'} THEN 1 ELSE 0 END)"
    if computed:
        passing = f"({_forced(computed)} + {passing}) % 2"
    if not of_keys:
        return f"{passing} = 1"
    if dialect == "spark":
        return " AND ".join([*of_keys, f"{passing} = 1"])
    return f"CASE WHEN {_in_turn(of_keys)} = 1 THEN {passing} = 1 ELSE FALSE END"


def _computed(exprs: Iterable[Expr], items: Sequence[str]) -> list[str]:
    """The texts of the items whose expressions may raise."""
    shown = zip(exprs, items, strict=True)
    return [item.rpartition(" AS ")[0] for expr, item in shown if may_raise([expr])]


def _forced(computed: Sequence[str]) -> str:
    """A number that is even; no engine knows before that it doesn't depend on the hash."""
    return f"(CASE WHEN hash({', '.join(computed)}) = 7 THEN 2 ELSE 0 END)"


def _in_turn(conditions: Sequence[str]) -> str:
    """1 if all conditions are TRUE, else 0; an earlier one that is FALSE skips those behind it.

    Spark tests them so. DuckDB may test the operands of AND in another order.
    """
    text = "1"
    for one in reversed(conditions):
        known = f"CASE WHEN {one} THEN 1 WHEN {one} IS NULL THEN 2 ELSE 0 END"
        text = f"(CASE WHEN ({known}) = 0 THEN 0 ELSE (({known}) % 2) * {text} END)"
    return text


def _grouped(
    block: Block, dialect: Dialect, cells: _AggregatedText, items: list[str], having: str
) -> str:
    """The items of each group; of grouping sets, the groups of each."""
    if cells.merge is of_one_cell:
        text = f"SELECT {', '.join(items)} FROM {cells.from_}"
        return text + (f" WHERE {having}" if having else "")
    if not block.sets:
        text = f"SELECT {', '.join(items)} FROM {cells.from_}"
        text += f" GROUP BY {', '.join(cells.groups)}" if block.grouped else ""
        return text + (f" HAVING {having}" if having else "")
    listed = (", ".join(cells.groups[place] for place in one) for one in block.sets)
    groups = f" GROUP BY GROUPING SETS ({', '.join(f'({one})' for one in listed)})"
    if dialect == "duckdb":  # it has a group by no key of no rows, Spark none
        passes = f"({having}) AND COUNT(*) > 0" if having else "COUNT(*) > 0"
        return f"SELECT {', '.join(items)} FROM {cells.from_}{groups} HAVING {passes}"
    if not having:
        return f"SELECT {', '.join(items)} FROM {cells.from_}{groups}"
    # In HAVING Spark finds no keys of sets that have other names in SELECT.
    shown = ", ".join(item.rpartition(" AS ")[2] for item in items)
    inner = f"SELECT {', '.join(items)}, {having} AS passes FROM {cells.from_}{groups}"
    return f"SELECT {shown} FROM ({inner}) answer WHERE passes"


def _rows(block: Block, dialect: Dialect, raw: RawSource) -> str:
    """A block of rows over raw rows."""
    aliases = [f"t{o.index}" for o in block.occurrences]
    render = Renderer(dialect, lambda c: f"{aliases[c.occurrence]}.{column_sql(c, dialect)}")
    items = []
    for index, output in enumerate(block.outputs):
        text = render.text(output.expr)
        if dialect == "duckdb":  # Spark's own types are had without their texts, which may be cut
            text = _answered(text, output.expr)
        items.append(f"{text} AS c{index}")
    items += [f"{render.text(key.expr)} AS o{i}" for i, key in enumerate(block.order)]
    computed = _computed(block.results, items) if raw.raises and block.limit else []
    items += [f"{_forced(computed)} % 2 AS forced"] if computed else []
    text = f"SELECT {', '.join(items)} FROM {_raw_from(block, raw, aliases, render)}"
    where = [render.text(c) for c in block.conjuncts]
    text += f" WHERE {' AND '.join(where)}" if where else ""
    if block.order or computed:
        columns = ", ".join(f"c{i}" for i in range(len(block.outputs)))
        order = order_sql(block.order, [f"o{i}" for i in range(len(block.order))])
        if computed:  # sorted by nothing else, so that no row can go before it's computed
            order = f" ORDER BY forced{order.replace(' ORDER BY', ',')}"
        text = f"SELECT {columns} FROM ({text}) answer{order}"
    return text + (f" LIMIT {block.limit}" if block.limit is not None else "")


def _ordered(block: Block, text: str, hidden: list[Expr], dialect: Dialect) -> str:
    """Sorts from outside where need be: Spark can't always find an aggregated column to sort by."""
    named = [o.expr for o in block.outputs]
    found = [
        f"c{named.index(k.expr)}" if k.expr in named else f"o{hidden.index(k.expr)}"
        for k in block.order
    ]
    order = order_sql(block.order, found)
    if dialect == "duckdb" and not hidden:
        return text + order
    columns = ", ".join(f"c{i}" for i in range(len(named)))
    return f"SELECT {columns} FROM ({text}) answer{order}"


def finish_text(
    final: Final, slots: Sequence[str], dialect: Dialect, merge: Merge = of_cells
) -> str:
    """The expression over a group's cells that gives the statement's aggregate its value.

    `slots` are the texts of all of the match's slots.
    """
    columns = [slots[i] for i in final.slots]
    if final.measure is None:
        return f"CAST(COUNT(DISTINCT {columns[0]}) AS BIGINT)"
    return final.measure.finish(columns, final.aggregate, dialect, merge)
