"""SQL text of builds: a cube's segments from raw rows, its counters, its merges (DuckDB).

The build groups by data file as well, so that one job writes the segments of many files. Raw rows
are read by Spark, or by DuckDB where its text is proven to mean the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from cubes.definition import CubeDefinition, Edge, StoredState, state_key
from cubes.states import STATES, argument_text, as_rows_have_it, as_spark_groups
from rewrite.ir.expr import Column, Expr, Literal, columns, transform
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Dialect, Renderer, duckdb_type, quote, spark_type
from rewrite.types import FLOATING

ColumnTypes = Mapping[tuple[int, int], str]
"""The types that columns have now, by occurrence and field id; others have the definition's."""
SEGMENT = "segment"
"""Name of the column that tells a file's segments apart."""
# The digits keep these two apart from any column that a fact has.
OWN_SEGMENT = "_acc_segment_6d1f0c93"
"""Name of the column beside a fact's own that numbers the segment which a row belongs to."""
PART = "_acc_part_6d1f0c93"
"""Name of the column that tells which task of a build writes a row's segment."""


def alias(occurrence: int) -> str:
    """The alias of a table occurrence in build SQL."""
    return f"t{occurrence}"


def _renderer(dialect: Dialect) -> Renderer:
    return Renderer(dialect, lambda c: f"{alias(c.occurrence)}.{quote(c.name, dialect)}")


def renamed(cube: CubeDefinition, names: Mapping[tuple[int, int], str]) -> CubeDefinition:
    """The definition with every column under the name that its field has now.

    One that isn't among `names` keeps its own.
    """

    def column(node: Expr) -> Expr | None:
        if not isinstance(node, Column):
            return None
        return replace(node, name=names.get((node.occurrence, node.field_id), node.name))

    def renamed(expr: Expr) -> Expr:
        return transform(expr, column)

    def optional(expr: Expr | None) -> Expr | None:
        return None if expr is None else renamed(expr)

    return replace(
        cube,
        left_edges=tuple(replace(e, on=tuple(renamed(c) for c in e.on)) for e in cube.left_edges),
        conjuncts=tuple(renamed(c) for c in cube.conjuncts),
        dimensions=tuple(replace(d, expr=renamed(d.expr)) for d in cube.dimensions),
        states=tuple(
            replace(s, argument=optional(s.argument), where=optional(s.where)) for s in cube.states
        ),
    )


def joined_from(
    cube: CubeDefinition,
    sources: Sequence[str],
    *,
    all_left: bool = False,
    dialect: Dialect = "spark",
) -> str:
    """FROM and joins of the definition; with `all_left` every counted edge is a left join."""
    render = _renderer(dialect)
    left = {e.occurrence: e.on for e in cube.left_edges}
    text = f"{sources[0]} AS {alias(0)}"
    for occurrence in range(1, len(cube.tables)):
        on = left.get(occurrence) or (cube.join_conjuncts(occurrence) if all_left else ())
        kind = "LEFT JOIN" if occurrence in left or all_left else "CROSS JOIN"
        text += f" {kind} {sources[occurrence]} AS {alias(occurrence)}"
        if kind == "LEFT JOIN":
            text += f" ON {' AND '.join(render.text(c) for c in on) or 'TRUE'}"
    return text


def segments_select(
    cube: CubeDefinition,
    sources: Sequence[str],
    *,
    placed: bool = False,
    dialect: Dialect = "spark",
) -> str:
    """One row per segment and cell: `segment`, `d0…`, `s0…`.

    The fact's source has a column `OWN_SEGMENT` beside its own: grouping by a number rather than by
    a file's path keeps the shuffle small. With `placed`, its rows are already where their
    `PART` belongs, and stay there: every other table goes to each of these places. DeclinedError
    where the dialect can't express it with Spark's meaning.
    """
    render = _renderer(dialect)
    keys = [_key(d.expr, render) for d in cube.dimensions]
    items = [f"{alias(0)}.{OWN_SEGMENT} AS {SEGMENT}"]
    for index, (dimension, key) in enumerate(zip(cube.dimensions, keys, strict=True)):
        # A part of a date is a BIGINT to DuckDB. A column may be wider than when it was defined.
        cast = dialect == "duckdb" and not isinstance(dimension.expr, Column)
        shown = f"CAST({key} AS {_type(dimension.expr.type, dialect)})" if cast else key
        items.append(f"{shown} AS d{index}")
    items += [f"{state_sql(s, render)} AS s{i}" for i, s in enumerate(cube.states)]
    others = ", ".join(alias(o) for o in range(1, len(cube.tables)))
    hint = f"/*+ BROADCAST({others}) */ " if placed and others else ""
    text = f"SELECT {hint}{', '.join(items)} FROM {joined_from(cube, sources, dialect=dialect)}"
    if cube.conjuncts:
        text += f" WHERE {' AND '.join(render.text(c) for c in cube.conjuncts)}"
    # A bare number in GROUP BY would be a position in the SELECT list.
    groups = [
        f"CAST({key} AS {_type(d.expr.type, dialect)})" if isinstance(d.expr, Literal) else key
        for d, key in zip(cube.dimensions, keys, strict=True)
    ]
    where = [f"{alias(0)}.{PART}"] if placed else []
    return f"{text} GROUP BY {', '.join([*where, f'{alias(0)}.{OWN_SEGMENT}', *groups])}"


def _key(key: Expr, render: Renderer) -> str:
    """Returns a dimension's text; DuckDB keeps -0.0 apart from 0.0 in groups, and Spark doesn't."""
    text = render.text(key)
    return text if render.dialect == "spark" else as_spark_groups(text, key.type, "duckdb")


def _is_floating(expr: Expr | None) -> bool:
    return expr is not None and (
        expr.type in FLOATING or any(c.type in FLOATING for c in columns(expr))
    )


def _check_floats(cube: CubeDefinition) -> None:
    """Lets floating columns be dimensions and what states are of; DeclinedError for other uses."""
    for dimension in cube.dimensions:
        if _is_floating(dimension.expr) and not isinstance(dimension.expr, Column):
            raise DeclinedError(
                "expression_not_proven", f"The dimension {dimension.name} computes with floats."
            )
    for state in cube.states:
        if _is_floating(state.argument) and not isinstance(state.argument, Column):
            raise DeclinedError("expression_not_proven", "A measure computes with floats.")
        if _is_floating(state.where):
            raise DeclinedError("expression_not_proven", "A measure's filter compares floats.")
    conditions = (*cube.conjuncts, *(c for edge in cube.left_edges for c in edge.on))
    if any(map(_is_floating, conditions)):
        raise DeclinedError("expression_not_proven", "A condition compares floats.")


def sorted_cells(cube: CubeDefinition, sources: Sequence[str]) -> str:
    """DuckDB: the same of raw rows, sorted by segment and dimensions.

    DeclinedError for what DuckDB may compute otherwise than Spark: floats that are compared or
    computed with. States of floats may differ in the last digits, as between two builds by Spark;
    so do sketches of many values, which depend on the order of rows.
    """
    _check_floats(cube)
    order = ", ".join(f"{d} NULLS FIRST" for d in (SEGMENT, *_dimensions(cube)))
    return f"SELECT * FROM ({segments_select(cube, sources, dialect='duckdb')}) ORDER BY {order}"


def _type(type_: str | None, dialect: Dialect) -> str:
    return spark_type(type_) if dialect == "spark" else duckdb_type(type_ or "")


def state_sql(state: StoredState, render: Renderer) -> str:
    """The aggregate that computes the state from rows, cast to the type it is stored in."""
    argument = argument_text(state.kind, state.argument, render)
    kind = STATES[state.kind]
    if kind.merge in ("MIN", "MAX"):
        argument = as_rows_have_it(argument, state.argument_type, render.dialect)
    if state.where is not None:
        argument = f"CASE WHEN {render.text(state.where)} THEN {argument} END"
        kind = STATES["count"] if state.kind == "rows" else kind
    text = kind.build(argument, state.argument_type or "int", render.dialect, state.size)
    if state.type == "binary":
        return text
    if render.dialect == "spark":
        return f"CAST({text} AS {state.type})"
    is_set = kind.name == "set"
    return f"COALESCE({text}, [])" if is_set else f"CAST({text} AS {duckdb_type(state.type)})"


def missing_select(
    cube: CubeDefinition,
    edges: Sequence[Edge],
    sources: Sequence[str],
    dialect: Dialect = "spark",
) -> str:
    """Per data file for each edge the rows without a partner (`m<occurrence>`).

    Right only where every edge's key is unique; the caller has counted that first. DuckDB tells a
    file by its segment's number.
    """
    file = f"{alias(0)}.{'_file' if dialect == 'spark' else OWN_SEGMENT}"
    items = [f"{file} AS file"]
    for edge in edges:
        own = edge.keys[0][0]
        items.append(
            f"COUNT_IF({alias(edge.occurrence)}.{quote(own.name, dialect)} IS NULL)"
            f" AS m{edge.occurrence}"
        )
    joins = joined_from(cube, sources, all_left=True, dialect=dialect)
    return f"SELECT {', '.join(items)} FROM {joins} GROUP BY {file}"


def unique_select(edge: Edge, source: str, dialect: Dialect = "spark") -> str:
    """A dimension's rows `n` and distinct keys `k`, NULLs aside: equal where the key is unique."""
    if dialect == "duckdb" and any(own.type in FLOATING for own, _ in edge.keys):
        raise DeclinedError("expression_not_proven", "A floating key in a build.")
    columns = [f"{alias(edge.occurrence)}.{quote(o.name, dialect)}" for o, _other in edge.keys]
    present = " AND ".join(f"{c} IS NOT NULL" for c in columns)
    tuple_ = ", ".join(columns)
    if dialect == "duckdb" and len(columns) > 1:
        tuple_ = f"({tuple_})"
    return (
        f"SELECT COUNT(*) AS n, COUNT(DISTINCT {tuple_}) AS k"
        f" FROM {source} AS {alias(edge.occurrence)} WHERE {present}"
    )


def countable(edge: Edge) -> bool:
    """Whether the edge compares like with like, so that a key's own distinctness is the join's."""
    return all(own.type == other.type and own.type is not None for own, other in edge.keys)


def merge_select(cube: CubeDefinition, source: str, segment: int) -> str:
    """DuckDB: cells of several segments merged to one, sorted by the dimensions."""
    items = [f"CAST({segment} AS BIGINT) AS {SEGMENT}"]
    return _cells_select(cube, items, _dimensions(cube), range(len(cube.states)), source)


def derived_select(cube: CubeDefinition, of_values: Collection[int], source: str) -> str:
    """DuckDB: cells of several segments, merged in each, sorted by segment and dimensions.

    Of the states `of_values` the source has not parts, but the values that they are of.
    """
    dimensions = [SEGMENT, *_dimensions(cube)]
    return _cells_select(cube, [], dimensions, range(len(cube.states)), source, of_values)


def rolled_select(cube: CubeDefinition, names: Collection[str], source: str) -> str | None:
    """DuckDB: the cells of some stored columns, merged over every dimension that isn't named.

    None where merging twice could give another answer than merging once (sums of floats) or isn't
    done by an aggregate of DuckDB's own (sketches, sets, moments).
    """
    states = [i for i in range(len(cube.states)) if f"s{i}" in names]
    if not all(_merges_exactly(cube.states[i]) for i in states):
        return None
    dimensions = [d for d in _dimensions(cube) if d in names]
    return _cells_select(cube, [], dimensions, states, source)


def cells_count(names: Collection[str], source: str) -> str:
    """DuckDB: about how many cells `rolled_select` gives."""
    dimensions = sorted(name for name in names if name.startswith("d"))
    if not dimensions:
        return "SELECT 1"
    return f"SELECT approx_count_distinct(hash({', '.join(dimensions)})) FROM {source}"


def _dimensions(cube: CubeDefinition) -> list[str]:
    return [f"d{i}" for i in range(len(cube.dimensions))]


def _merges_exactly(state: StoredState) -> bool:
    return bool(STATES[state.kind].merge) and not (state.kind == "sum" and state.type in FLOATING)


def _cells_select(
    cube: CubeDefinition,
    first: Sequence[str],
    dimensions: Sequence[str],
    states: Iterable[int],
    source: str,
    of_values: Collection[int] = (),
) -> str:
    items = [*first, *dimensions]
    for i in states:
        one = _of_values if i in of_values else _merged
        items.append(f"{one(cube, i, cube.states[i])} AS s{i}")
    text = f"SELECT {', '.join(items) or '1'} FROM {source}"
    if not dimensions:
        return f"{text} HAVING COUNT(*) > 0"  # of no cells comes no cell
    order = ", ".join(f"{d} NULLS FIRST" for d in dimensions)
    return f"{text} GROUP BY {', '.join(dimensions)} ORDER BY {order}"


def _merged(cube: CubeDefinition, index: int, state: StoredState) -> str:
    column = f"s{index}"
    merge = STATES[state.kind].merge
    if merge:
        if merge in ("MIN", "MAX"):
            column = as_rows_have_it(column, state.type, "duckdb")
        return f"CAST({merge}({column}) AS {duckdb_type(state.type)})"
    if state.kind == "set":
        return f"COALESCE(list_distinct(flatten(list({column}))), [])"
    if state.kind in ("bitmap", "hll", "kll"):
        return f"acc_{state.kind}_union(list({column}))"
    n, mean = (_companion(cube, state, kind) for kind in ("count", "mean"))
    common = f"(SUM({n} * {mean}) / NULLIF(SUM({n}), 0))"
    if state.kind == "mean":
        return common
    parts = f"list(struct_pack(n := {n}, m := {mean})) FILTER (WHERE {n} > 0)"
    between = f"list_sum(list_transform({parts}, lambda s: s.n * pow(s.m - {common}, 2)))"
    return f"(SUM({column}) + {between})"


def _of_values(_cube: CubeDefinition, index: int, state: StoredState) -> str:
    text = STATES[state.kind].build(f"s{index}", str(state.argument_type), "duckdb", state.size)
    return f"COALESCE({text}, [])" if state.kind == "set" else text


def _companion(cube: CubeDefinition, state: StoredState, kind: str) -> str:
    """The column of another state over the same argument and filter, however these are written."""
    wanted = state_key(kind, state.argument, state.where, cube.classes)
    for index, other in enumerate(cube.states):
        if state_key(other.kind, other.argument, other.where, cube.classes) == wanted:
            return f"s{index}"
    raise ValueError(f"the cube has {state.kind} without {kind}")


def stored_schema(cube: CubeDefinition, types: ColumnTypes) -> str:
    """The Spark schema text of a segment file, of columns of these types now."""
    return f"{SEGMENT} BIGINT, {cells_schema(cube, types)}"


def cells_schema(cube: CubeDefinition, types: ColumnTypes) -> str:
    """The Spark schema text of cells, of columns of these types now."""
    parts = [f"d{i} {_type_now(d.expr, types)}" for i, d in enumerate(cube.dimensions)]
    parts += [f"s{i} {s.type}" for i, s in enumerate(cube.states)]
    return ", ".join(parts)


def has_one_schema(cube: CubeDefinition, types: ColumnTypes) -> bool:
    """Whether `stored_schema` tells the types of all columns.

    States are kept in the types that the definition has, as are not dimensions: of one that is
    computed of a column of another type the type isn't known.
    """
    made = (d.expr for d in cube.dimensions if not isinstance(d.expr, Column))
    return not any(_changed(expr, types) for expr in made)


def loses_digits(cube: CubeDefinition, types: ColumnTypes) -> bool:
    """Whether a state is kept of a FLOAT that has become DOUBLE since the cube was made.

    States that cast each value to DOUBLE are the same for either.
    """
    return any(_is_of_floats(state, types) for state in cube.states)


def _is_of_floats(state: StoredState, types: ColumnTypes) -> bool:
    if state.where is None and isinstance(state.argument, Column) and state.type != "float":
        return False
    made = (e for e in (state.argument, state.where) if e is not None)
    return any("double" in _changed(expr, types) for expr in made)


def _changed(expr: Expr, types: ColumnTypes) -> set[str | None]:
    """The types that its columns have now, where the definition has others."""
    return {now for c in columns(expr) if (now := _type_now(c, types)) != c.type}


def _type_now(expr: Expr, types: ColumnTypes) -> str | None:
    if not isinstance(expr, Column):
        return expr.type
    return types.get((expr.occurrence, expr.field_id), expr.type)
