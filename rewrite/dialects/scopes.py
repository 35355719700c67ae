"""Scopes of a statement: the meaning of each column, which follows names through every renaming.

One pass over the whole tree, before anything is translated. It resolves each column against the
tables, queries, WITH names and column lists that are visible there. It writes the column's meaning
into the node's `meta`, and the kinds of expressions over columns. A column whose
table isn't known has no kind, and rules refuse what depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from rewrite.dialects.trino.exact_types import common_type, mark
from rewrite.dialects.trino.time_zones import Zones
from rewrite.dialects.value_kinds import (
    ANY_STATE,
    KIND,
    ZONE,
    Columns,
    Kinds,
    Meaning,
    meaning_of_type,
)

RESOLVED = "resolved"
"""The key in a column's `meta` of how its name was resolved."""
ALIAS = "alias"
"""Only an output of the same SELECT has the name."""
ABSENT = "absent"
"""Nothing visible has the name."""
UNLIKE = "unlike"
"""The key in the `meta` of a set operation, or a join, whose columns have unlike kinds."""
OUTER = "outer"
"""Only a query around this one has the name."""
BOTH = "both"
"""An output of the same SELECT has the name, and a column of FROM has it, or may have it."""

Outputs = tuple[tuple[str, Meaning], ...] | None
"""The columns of a query by name; None if they aren't known."""
_Visible = Mapping[str, Outputs]
_UNKNOWN = Meaning()


class _Source(Struct, frozen=True):
    """A table, or a query, of FROM. `path` is the name that columns are qualified by."""

    path: tuple[str, ...]
    columns: Outputs


class _Scope(Struct):
    """The names that an expression sees: sources of FROM, outputs, and the query around it."""

    visible: _Visible
    outer: _Scope | None
    sources: list[_Source] = field(default_factory=list)
    outputs: list[tuple[str, Meaning, exp.Expr]] = field(default_factory=list)
    using: list[str] = field(default_factory=list)


class Scopes:
    """Resolves the columns of a statement."""

    def __init__(self, columns: Columns, kinds: Kinds, zones: Zones, *, is_trino: bool) -> None:
        """`columns` returns a table's columns with Spark's types, by the parts of its name."""
        self._columns, self._kinds, self._zones = columns, kinds, zones
        self._is_trino = is_trino

    def mark(self, tree: exp.Expr) -> Outputs:
        """Writes the meaning of each column into the tree; returns that of the query's columns."""
        return self._query(tree, {}, None)

    # Queries

    def _query(self, node: exp.Expr | None, visible: _Visible, outer: _Scope | None) -> Outputs:
        if node is None:
            return None
        visible = self._with(node, visible, outer)
        if isinstance(node, exp.Select):
            return self._select(node, visible, outer)
        if isinstance(node, exp.Values):
            return self._values(node, _Scope(visible, outer))
        if isinstance(node, exp.Subquery):
            found = self._query(node.this, visible, outer)
        elif isinstance(node, exp.SetOperation):
            found = self._set(node, visible, outer)
        else:
            return None
        self._ordered(node, found, visible, outer)
        return found

    def _with(self, node: exp.Expr, visible: _Visible, outer: _Scope | None) -> _Visible:
        with_ = node.args.get("with_")
        if not isinstance(with_, exp.With):
            return visible
        known = dict(visible)
        for one in with_.expressions:
            recursive = with_.args.get("recursive")
            found = None if recursive else self._query(one.this, known, outer)
            known[one.alias.lower()] = _renamed(one, found)
        return known

    def _set(self, node: exp.SetOperation, visible: _Visible, outer: _Scope | None) -> Outputs:
        left, right = (self._query(node.args[part], visible, outer) for part in _SIDES)
        if left is None or right is None or len(left) != len(right):
            node.meta[UNLIKE] = True
            return None
        united = [
            (name, self._united_at(node, [one, other]))
            for (name, one), (_, other) in zip(left, right, strict=True)
        ]
        return tuple(united)

    def _values(self, node: exp.Values, scope: _Scope) -> Outputs:
        rows: list[list[Meaning]] = []
        for row in node.expressions:
            cells = row.expressions if isinstance(row, exp.Tuple) else [row]
            for cell in cells:
                self._expression(cell, scope)
            rows.append([self._meaning(cell) for cell in cells])
        if not rows or any(len(row) != len(rows[0]) for row in rows):
            return None
        return tuple(("", self._united(column)) for column in zip(*rows, strict=True))

    def _select(self, node: exp.Select, visible: _Visible, outer: _Scope | None) -> Outputs:
        scope = _Scope(visible, outer)
        joins: list[exp.Join] = node.args.get("joins") or []
        from_ = node.args.get("from_")
        for source in [*([] if from_ is None else [from_.this]), *(one.this for one in joins)]:
            scope.sources.append(self._source(source, scope))
        for join in joins:
            for one in join.args.get("using") or ():
                scope.using.append(one.name.lower())
                self._united_at(join, list(_named(scope.sources, scope.using[-1])) or [_UNKNOWN])
            self._expression(join.args.get("on"), scope)
        found: list[tuple[str, Meaning]] | None = []
        for output in node.expressions:
            if output.is_star:
                starred = self._starred(output, scope)
                found = None if found is None or starred is None else [*found, *starred]
                continue
            self._expression(output, scope)
            name, meaning = output.alias_or_name.lower(), self._meaning(output)
            scope.outputs.append((name, meaning, output))
            if found is not None:
                found.append((name, meaning))
        for part in _CLAUSES:
            self._expression(node.args.get(part), scope)
        self._expression(node.args.get("order"), scope, ordered=True)
        return None if found is None else tuple(found)

    def _ordered(
        self, node: exp.Expr, outputs: Outputs, visible: _Visible, outer: _Scope | None
    ) -> None:
        """ORDER BY behind a set operation, or behind parentheses, sees the outputs alone."""
        scope = _Scope(visible, outer, [_Source((), outputs)])
        self._expression(node.args.get("order"), scope)

    # Sources

    def _source(self, node: exp.Expr, scope: _Scope) -> _Source:
        if isinstance(node, exp.Table):
            parts = tuple(part.name for part in node.parts)
            path = (node.alias.lower(),) if node.alias else tuple(one.lower() for one in parts)
            return _Source(path, _renamed(node, self._of_table(node, parts, scope.visible)))
        alias = node.alias.lower()
        if isinstance(node, exp.Unnest):
            found = self._unnested(node, scope)
        else:
            found = self._query(node, scope.visible, scope.outer)
        return _Source((alias,) if alias else (), _renamed(node, found))

    def _unnested(self, node: exp.Unnest, scope: _Scope) -> Outputs:
        """The column of one sequence of times."""
        for operand in node.expressions:
            self._expression(operand, scope)
        [first, *others] = node.expressions
        if others or not isinstance(first, exp.GenerateSeries):
            return None
        return (("", self._meaning(first.args["start"])),)

    def _of_table(self, node: exp.Table, parts: tuple[str, ...], visible: _Visible) -> Outputs:
        if len(parts) == 1 and parts[0].lower() in visible:
            return visible[parts[0].lower()]
        is_earlier = node.args.get("version") is not None
        columns = self._columns((*parts, ANY_STATE) if is_earlier else parts)
        if columns is None:
            return None
        found = [
            (name.lower(), meaning_of_type(type_, has_reals=self._is_trino))
            for name, type_ in columns.items()
        ]
        if is_earlier:  # its columns may have had other digits then
            found = [(name, replace(one, type=None)) for name, one in found]
        return tuple(found)

    def _starred(self, star: exp.Expr, scope: _Scope) -> Outputs:
        sources = scope.sources
        if isinstance(star, exp.Column):
            path = tuple(one.name.lower() for one in star.parts[:-1])
            sources = [one for one in sources if one.path[-len(path) :] == path]
            if len(sources) != 1:
                return None
            return sources[0].columns
        found: list[tuple[str, Meaning]] = []
        for name in scope.using:
            if all(name != known for known, _ in found):
                found.append((name, self._united(list(_named(sources, name)))))
        for source in sources:
            if source.columns is None:
                return None
            found += [one for one in source.columns if one[0] not in scope.using]
        return tuple(found)

    # Expressions

    def _expression(self, root: exp.Expr | None, scope: _Scope, *, ordered: bool = False) -> None:
        nodes: list[exp.Expr] = []
        waiting = [] if root is None else [root]
        while waiting:
            node = waiting.pop()
            nodes.append(node)
            if not isinstance(node, exp.Query):
                waiting += node.iter_expressions()
        for node in reversed(nodes):  # operands before what is made of them
            if isinstance(node, (exp.Query, exp.Values)):
                found = self._query(node, scope.visible, scope)
                if found is not None and len(found) == 1:
                    found[0][1].mark(node)
            elif isinstance(node, exp.Column):
                self._column(node, scope, ordered=ordered)
            elif not isinstance(node, _NO_VALUES):
                self._mark(node)

    def _mark(self, node: exp.Expr) -> None:
        kind = self._kinds.of(node)
        if kind is None:
            return
        node.meta[KIND] = kind
        zone = self._zones.of(node) if kind == "moment" else None
        if zone is not None:
            node.meta[ZONE] = zone
        if self._is_trino:
            mark(node)

    def _meaning(self, node: exp.Expr) -> Meaning:
        inner = node.this if isinstance(node, exp.Alias) else node
        return self._kinds.meaning(inner)

    def _united(self, meanings: Sequence[Meaning]) -> Meaning:
        """The meaning of a column that is made of several."""
        given = [one for one in meanings if one.kind != "nothing"] or list(meanings)
        type_ = common_type(one.type for one in given)
        alike = _alike(given)
        if alike is not None:
            return replace(alike, type=type_)
        kind = self._kinds.common(one.kind for one in given)
        return Meaning(kind if kind not in _SHAPED else None, type=type_)

    def _united_at(self, node: exp.Expr, meanings: Sequence[Meaning]) -> Meaning:
        """The same for the columns of several queries, which `node` brings together."""
        found = self._united(meanings)
        is_rounded = found.kind == "real" and any(one.kind in _EXACT for one in meanings)
        if found.kind is None or (is_rounded and self._is_trino):
            node.meta[UNLIKE] = True
        return found

    def _column(self, node: exp.Column, scope: _Scope, *, ordered: bool) -> None:
        if isinstance(node.this, exp.Star):
            return
        parts = tuple(part.name.lower() for part in node.parts)
        outputs = [one for one in scope.outputs if (one[0],) == parts]
        # An output that is the column itself is no other meaning of the name.
        others = [one for one in outputs if not _is_column(one[2], parts[-1])]
        found = _meaning_in(parts, scope)
        if outputs and (ordered or found is None):
            if others:
                node.meta[RESOLVED] = BOTH if found is not None else ALIAS
            self._united([one[1] for one in outputs]).mark(node)
            return
        if others:
            node.meta[RESOLVED] = BOTH
        above = scope.outer
        while found is None and above is not None:
            found = _meaning_in(parts, above)
            above = above.outer
            if found is not None:
                node.meta[RESOLVED] = OUTER
        if found is None:
            node.meta[RESOLVED] = ABSENT
        (found or _UNKNOWN).mark(node)


def _meaning_in(parts: tuple[str, ...], scope: _Scope) -> Meaning | None:
    """The meaning of a name among the sources; None if surely none of them has it."""
    for cut in range(len(parts) - 1, 0, -1):
        path = parts[:cut]
        sources = [one for one in scope.sources if one.path[-cut:] == path]
        meanings = [_field(one, parts[cut + 1 :]) for one in _named(sources, parts[cut])]
        if meanings:
            return _common(meanings)
    meanings = [_field(one, parts[1:]) for one in _named(scope.sources, parts[0])]
    return _common(meanings) if meanings else None


def _named(sources: Sequence[_Source], name: str) -> Iterator[Meaning]:
    """The columns of that name; one without a meaning for each source that isn't known."""
    for source in sources:
        if source.columns is None:
            yield _UNKNOWN
        else:
            yield from (meaning for known, meaning in source.columns if known == name)


def _field(meaning: Meaning, path: Sequence[str]) -> Meaning:
    for name in path:
        meaning = next((one for known, one in meaning.fields if known == name), _UNKNOWN)
    return meaning


def _common(meanings: Sequence[Meaning]) -> Meaning:
    return _alike(meanings) or _UNKNOWN


def _alike(meanings: Sequence[Meaning]) -> Meaning | None:
    """The meaning that all of these have; with the exact type if all have the same."""
    first = meanings[0]
    if all(one == first for one in meanings):
        return first
    bare = replace(first, type=None)
    return bare if all(replace(one, type=None) == bare for one in meanings) else None


def _renamed(node: exp.Expr, found: Outputs) -> Outputs:
    """The columns under the names that an alias lists."""
    alias = node.args.get("alias")
    names = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    if not names or found is None:
        return found
    if len(names) != len(found):
        return None
    renamed = zip(names, found, strict=True)
    return tuple((name.name.lower(), meaning) for name, (_, meaning) in renamed)


def _is_column(output: exp.Expr, name: str) -> bool:
    inner = output.this if isinstance(output, exp.Alias) else output
    return isinstance(inner, exp.Column) and inner.name.lower() == name


_SIDES = ("this", "expression")
_EXACT = frozenset({"whole", "decimal"})
"""Kinds that are doubles to Spark beside a REAL, and REALs to Trino."""
_CLAUSES = ("where", "group", "having", "qualify", "windows", "distinct")
_SHAPED = frozenset({"array", "map", "row", "other"})
"""Kinds that alone don't say what the values are."""
_NO_VALUES = (exp.Identifier, exp.DataType, exp.DataTypeParam, exp.Ordered, exp.Order, exp.Group)
