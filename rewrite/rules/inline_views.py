"""Views as derived tables in the statement's text.

Iceberg's view is its SELECT under the catalog and namespace that it was made in: bare names are
found there, and its columns are those of the SELECT by their places, under the names and types that
the view has. Spark refuses where a type is another one now; so only a view whose SELECT has just
the types that it was made with is read as that SELECT.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from sqlglot import TokenType, exp

from rewrite.bind.join_rows import bind_above
from rewrite.facts import At, Facts, ViewFacts
from rewrite.ir.block import Block
from rewrite.ir.expr import Column
from rewrite.parse.parse import parse
from rewrite.parse.with_definitions import Definitions
from rewrite.reason import DeclinedError
from rewrite.render.expressions import quote
from rewrite.rules.derived_tables import Answers, DerivedTable, nested
from rewrite.rules.merge_subqueries import flattened, over_rows
from rewrite.rules.splice.select_positions import is_defined
from rewrite.rules.splice.select_spans import Text

_DEPTH_MAX = 8
_CHARACTERS_MAX = 200_000
_NAMED = frozenset({"this", "db", "catalog", "alias"})
_INNER = "acc_view"
_NAME_PARTS = ("this", "db", "catalog")
"""The parts of a table's name in its node, last first."""


Views = Callable[[tuple[str, ...]], ViewFacts | None]
"""The view of a name; None where that's a table, or nothing known."""


def inlined(
    sql: str, tree: exp.Expression, views: Views, facts: Facts, zone: str | None = None
) -> str | None:
    """The statement over the tables of its views; None where it names no view.

    DeclinedError where a view, or how it's named, isn't understood; SqlglotError where its text
    can't be read.
    """
    return _Inlining(views, facts, zone).text(sql, tree, 0)


class _Inlining:
    def __init__(self, views: Views, facts: Facts, zone: str | None) -> None:
        self._views, self._facts, self._zone = views, facts, zone
        self._derived: dict[tuple[str, ...], str] = {}
        self._known: dict[tuple[str, ...], ViewFacts | None] = {}

    def text(self, sql: str, tree: exp.Expression, depth: int) -> str | None:
        defined = Definitions()
        named = ((node, _parts(node)) for node in tree.find_all(exp.Table))
        tables = [(n, parts) for n, parts in named if parts and not is_defined(n, defined)]
        self._facts.read_ahead([parts for _, parts in tables])
        found = [(n, view) for n, parts in tables if (view := self._view(parts)) is not None]
        if not found:
            return None
        if depth >= _DEPTH_MAX:
            raise _unsupported("Views over views, too many.")
        if any(column.args.get("db") for column in tree.find_all(exp.Column)):
            raise _unsupported("A column is named by its table's namespace.")
        changes = []
        for node, view in found:
            start, end = _place(node)
            alias = "" if node.alias else f" AS {quote(view.name[-1], 'spark')}"
            changes.append((start, end, f"({self._select(view, depth)}\n){alias}"))
        return _spliced(sql, changes)

    def _view(self, parts: tuple[str, ...]) -> ViewFacts | None:
        if parts not in self._known:
            self._known[parts] = self._views(parts)
        return self._known[parts]

    def _select(self, view: ViewFacts, depth: int) -> str:
        """The view's SELECT over tables of full names, with the view's columns as outputs."""
        if view.name not in self._derived:
            text, tree = qualified(view)
            inner = self.text(text, tree, depth + 1)
            if inner is not None:
                text, tree = inner, _select(inner)
            self._derived[view.name] = self._with_columns(text, tree, view)
        return self._derived[view.name]

    def _with_columns(self, text: str, tree: exp.Select, view: ViewFacts) -> str:
        block = self._bound(tree)
        outputs = [(output.name, output.expr.type) for output in block.outputs]
        wanted = [name for name, _ in view.columns]
        if any(isinstance(item.unalias(), exp.Star) or item.is_star for item in tree.expressions):
            text, names = _without_star(text, tree, block)
            outputs = outputs[: len(wanted)]
        else:
            names = [name or "" for name, _ in outputs]
        if [type_ for _, type_ in outputs] != [type_ for _, type_ in view.columns]:
            raise _unsupported("Its SELECT has other columns now.")
        if names == wanted:
            return text
        if "" in names or len({name.lower() for name in names}) < len(names):
            raise _unsupported("An output of its SELECT has no name of its own.")
        pairs = zip(names, wanted, strict=False)
        items = ", ".join(f"{quote(a, 'spark')} AS {quote(b, 'spark')}" for a, b in pairs)
        return f"SELECT {items} FROM ({text}\n) AS {_INNER}"

    def _bound(self, tree: exp.Expression) -> Block:
        """The SELECT, with the types of its outputs."""
        tree = flattened(tree)
        rows = over_rows(tree)
        split = nested(tree) if rows is None else None
        if split is None:
            return bind_above(rows or tree, self._facts, self._zone)
        answers = {name: self._answer(inner) for name, inner in split.inner.items()}
        for name, beside in split.beside.items():
            table = self._facts.table(beside.parts, At())
            if table is None:
                raise _unsupported(f"The table {'.'.join(beside.parts)} isn't known.")
            answers[name] = self._answer(beside.select(table.columns))
        return bind_above(split.outer, Answers(answers), self._zone)

    def _answer(self, tree: exp.Expression) -> DerivedTable:
        columns = []
        for output in self._bound(tree).outputs:
            if output.name is None or output.expr.type is None:
                raise _unsupported("A derived column's name or type.")
            columns.append((output.name, output.expr.type))
        return DerivedTable(columns)


def _parts(node: exp.Table) -> tuple[str, ...] | None:
    """The name; None of what can't name a view here: functions, and what is sampled or dated."""
    plain = isinstance(node.parent, (exp.From, exp.Join)) and _NAMED.issuperset(
        key for key, value in node.args.items() if value
    )
    if not plain or not all(isinstance(part, exp.Identifier) for part in node.parts):
        return None
    return tuple(part.name for part in node.parts)


def _place(node: exp.Table) -> tuple[int, int]:
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise _unsupported("It's given names for its columns.")
    first, last = node.parts[0].meta, node.parts[-1].meta
    if "start" not in first or "end" not in last:
        raise _unsupported("A name without a place.")
    return first["start"], last["end"] + 1


def _select(text: str) -> exp.Select:
    tree = parse(text)
    if not isinstance(tree, exp.Select):
        raise _unsupported("It isn't one SELECT.")
    return tree


def qualified(view: ViewFacts) -> tuple[str, exp.Select]:
    """Its SELECT with full names, and the tree of that text.

    The tree is changed as the text is, because parsing a long text again takes as long as before.
    """
    tree, changes, defined = _select(view.sql), [], Definitions()
    tables = [node for node in tree.find_all(exp.Table) if not is_defined(node, defined)]
    full: list[tuple[str, ...]] = []
    for node in tables:
        if not all(isinstance(part, exp.Identifier) for part in node.parts):
            raise _unsupported(f"It reads {node.sql(dialect='spark')[:60]}.")
        start, end = node.parts[0].meta["start"], node.parts[-1].meta["end"] + 1
        full.append(view.full(tuple(part.name for part in node.parts)))
        changes.append((start, end, ".".join(quote(part, "spark") for part in full[-1])))
    text = _spliced(view.sql, changes)
    if any(len(names) > len(_NAME_PARTS) for names in full):
        return text, _select(text)  # of more parts the parser makes a path
    _move(tree, changes)
    for node, names in zip(tables, full, strict=True):
        start, parts = node.parts[0].meta["start"], []
        for name in names:
            end = start + len(quote(name, "spark"))
            parts.append(exp.to_identifier(name, quoted=True))
            parts[-1].meta.update(start=start, end=end - 1)
            start = end + 1
        for key, part in zip(_NAME_PARTS, reversed(parts), strict=False):
            node.set(key, part)
    return text, tree


def _move(tree: exp.Expression, changes: Sequence[tuple[int, int, str]]) -> None:
    """Moves the places in the tree's nodes as `_spliced` moves the text."""
    ordered = sorted(changes)
    ends = [end for _, end, _ in ordered]
    moved = [0, *accumulate(len(text) - (end - start) for start, end, text in ordered)]
    for node in tree.walk():
        for key in ("start", "end") if node.meta else ():
            if key in node.meta:
                node.meta[key] += moved[bisect_right(ends, node.meta[key])]


def _without_star(text: str, tree: exp.Select, block: Block) -> tuple[str, list[str]]:
    """`SELECT *` with each column by its name, under a name of its own, and these names."""
    if len(tree.expressions) != 1 or tree.args.get("with_") is not None:
        raise _unsupported("It has a * among others.")
    items, names = [], []
    own = [output.name or "" for output in block.outputs]
    several = len({name.lower() for name in own}) < len(own)
    for number, output in enumerate(block.outputs):
        if not isinstance(output.expr, Column):
            raise _unsupported("It has a * of other than columns.")
        occurrence = block.occurrences[output.expr.occurrence]
        name = f"{_INNER}_{number}" if several else own[number]
        column = f"{quote(occurrence.alias, 'spark')}.{quote(output.expr.name, 'spark')}"
        items.append(f"{column} AS {quote(name, 'spark')}")
        names.append(name)
    start, end = Text(text).place_of(TokenType.STAR)
    star = tree.expressions[0]
    if isinstance(star, exp.Column):
        start = star.parts[0].meta["start"]
    return f"{text[:start]}{', '.join(items)}{text[end:]}", names


def _spliced(sql: str, changes: Sequence[tuple[int, int, str]]) -> str:
    for start, end, text in sorted(changes, reverse=True):
        sql = f"{sql[:start]}{text}{sql[end:]}"
        if len(sql) > _CHARACTERS_MAX:
            raise _unsupported("Its text is too long.")
    return sql


def _unsupported(detail: str) -> DeclinedError:
    return DeclinedError("view_unsupported", detail)
