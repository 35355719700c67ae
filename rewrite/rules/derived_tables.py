"""A SELECT over answers of others: derived tables, and the names that WITH defines.

Each SELECT that stands in FROM is a statement of its own; the one around it is over the columns of
their answers, and of tables that stand beside them. `docs/rewriting.md`, 1: blocks stand one above
the other, each is tried on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from sqlglot import exp

from rewrite.facts import At, ColumnFacts, Facts, TableFacts
from rewrite.reason import DeclinedError

_Tree = TypeVar("_Tree", bound=exp.Expression)
Query = exp.Select | exp.SetOperation
_NAME = "acc_answer_"
_TABLE = "acc_table_"
_INNER, _COLUMN = "acc_named", "acc_column_"
_NAMED, _PARTS_MAX = frozenset({"this", "db", "catalog", "alias"}), 3
SELECTS_MAX = 32
"""In one statement; what stands under a name of WITH counts each time it's read."""
_DEPTH_MAX = 8
"""So often a tree is changed by `repeated`."""
_RELATION = frozenset({"this", "alias"})
FOUND = ("acc_merged", "acc_rows")
"""Keys of `meta` for what `rules.merge_subqueries` has found of a relation."""


class Beside(Struct, frozen=True):
    """A table in a FROM with SELECTs; `names` are all that the SELECT around it says, None: `*`."""

    parts: tuple[str, ...]
    names: frozenset[str] | None

    def select(self, columns: Sequence[ColumnFacts]) -> exp.Select:
        """Its rows with the columns that are named, of those that it has; with one at least."""
        named = [c for c in columns if self.names is None or c.name.lower() in self.names]
        shown = [exp.Column(this=quoted(c.name)) for c in named or columns[:1]]
        reversed_ = [quoted(part) for part in reversed(self.parts)]
        table = exp.Table(**dict(zip(("this", "db", "catalog"), reversed_, strict=False)))
        return exp.Select(expressions=shown, from_=exp.From(this=table))


class Nested(Struct, frozen=True):
    """`outer` reads tables that stand for the answers of `inner`, by name, and for those `beside`.

    Each has the WITH that it needs; a name that WITH defines is one, however often it's read.
    """

    outer: exp.Select
    inner: Mapping[str, Query]
    beside: Mapping[str, Beside]


class DerivedTable(Struct, frozen=True):
    """What is known of an answer: its columns, as names with Spark's types.

    `unique`: places of columns in which no two rows agree; none of one row at most.
    """

    columns: Sequence[tuple[str, str]]
    unique: frozenset[int] | None = None

    def facts(self, name: str) -> TableFacts:
        """As a table of that name. DeclinedError where two columns have one name."""
        if len({column.lower() for column, _ in self.columns}) < len(self.columns):
            raise DeclinedError("name_ambiguous", "A derived table has two columns of one name.")
        own = tuple(ColumnFacts(i, n, t, False) for i, (n, t) in enumerate(self.columns))
        return TableFacts(name, name, None, 0, own)


class Answers(Facts):
    """Knows answers alone, by name; a column's place is its field id."""

    def __init__(self, answers: Mapping[str, DerivedTable]) -> None:
        self._answers = answers
        self._tables = {name: answer.facts(name) for name, answer in answers.items()}

    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        return self._tables.get(parts[0]) if len(parts) == 1 and at == At() else None

    def unique(self, parts: tuple[str, ...], at: At, field_ids: frozenset[int]) -> bool:
        known = self._answers[parts[0]].unique if self.table(parts, at) is not None else None
        return known is not None and known <= field_ids


def nested(tree: exp.Expression) -> Nested | None:
    """The statement as a SELECT over others; None where no SELECT stands in its FROM.

    DeclinedError where something else than tables stands there beside them.
    """
    if not isinstance(tree, exp.Select) or tree.args.get("from_") is None:
        return None
    items, nodes = defined(tree), relations(tree)
    selects = [meant(node, items) for node in nodes]
    if not any(selects):
        return None
    if sum(1 for _ in tree.find_all(exp.Select)) > SELECTS_MAX:
        raise DeclinedError("block_unsupported", f"More than {SELECTS_MAX} SELECTs in one.")
    instead: dict[int, exp.Expression | None] = {id(tree.args.get("with_")): None}
    inner: dict[str, Query] = {}
    names: dict[int, str] = {}
    tables: dict[str, tuple[str, ...]] = {}
    for node, found in zip(nodes, selects, strict=True):
        if found is None:
            name = f"{_TABLE}{len(tables)}"
            tables[name], instead[id(node)] = _parts(node), _table(name, node)
            continue
        select, visible = found
        name = names.setdefault(id(select), f"{_NAME}{len(names)}")
        if name not in inner:
            inner[name] = with_visible(select, visible)
        instead[id(node)] = _table(name, node)
    outer = copied(tree, instead)
    said = _named_columns(outer) if tables else None
    return Nested(outer, inner, {name: Beside(parts, said) for name, parts in tables.items()})


def _parts(node: exp.Expression) -> tuple[str, ...]:
    """The name of a table that is read as it is now."""
    parts, alias = node.parts if isinstance(node, exp.Table) else [], node.args.get("alias")
    plain = _NAMED.issuperset(key for key, value in node.args.items() if value)
    plain = plain and not (alias is not None and alias.args.get("columns"))
    if not 0 < len(parts) <= _PARTS_MAX or not all(isinstance(p, exp.Identifier) for p in parts):
        plain = False
    if not plain:
        raise DeclinedError("block_unsupported", "A join of something else with a derived table.")
    return tuple(part.name for part in parts)


def _named_columns(tree: exp.Select) -> frozenset[str] | None:
    """All columns' names in a SELECT, in lower case; None where it may mean some without them."""
    stars = (star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    natural = any(join.args.get("method") for join in tree.args.get("joins") or ())
    if natural or next(stars, None) is not None:
        return None
    using = (name for join in tree.args.get("joins") or () for name in join.args.get("using") or ())
    return frozenset(one.name.lower() for one in (*tree.find_all(exp.Column), *using))


def copied(tree: _Tree, instead: Mapping[int, exp.Expression | None]) -> _Tree:
    """A copy in which nodes are others `instead`, by their ids, or left out.

    sqlglot's own copies each token's place deeply, which takes most of its time. What a rule has
    found of a node (`FOUND`) is true of its copy, if nothing inside is another one.
    """
    root = tree.__class__()
    stack: list[tuple[exp.Expression, exp.Expression]] = [(tree, root)]
    changed: list[exp.Expression] = []

    def begun(node: exp.Expression, parent: exp.Expression) -> exp.Expression | None:
        if id(node) in instead:
            changed.append(parent)
            return instead[id(node)]
        made: exp.Expression = node.__class__()
        stack.append((node, made))
        return made

    while stack:
        node, made = stack.pop()
        if node.meta:
            made.meta.update(node.meta)
        for key, value in node.args.items():
            if isinstance(value, list):
                begin = [begun(v, made) if isinstance(v, exp.Expression) else v for v in value]
                made.set(key, begin)
            else:
                made.set(key, begun(value, made) if isinstance(value, exp.Expression) else value)
    _forget(changed)
    return root


def _forget(changed: Sequence[exp.Expression]) -> None:
    """Drops what rules have found of nodes that hold something else now."""
    seen: set[int] = set()
    for one in changed:
        above: exp.Expr | None = one
        while above is not None and id(above) not in seen:
            seen.add(id(above))
            for key in FOUND:
                above.meta.pop(key, None)
            above = above.parent


def repeated(
    once: Callable[[exp.Expression], exp.Expression | None], tree: exp.Expression
) -> exp.Expression:
    """The tree, changed so again and again; as it is where that gives None or declines."""
    for _ in range(_DEPTH_MAX):
        try:
            found = once(tree)
        except DeclinedError:
            return tree
        if found is None:
            return tree
        tree = found
    return tree


def relations(tree: exp.Select) -> list[exp.Expression]:
    """What stands in its FROM."""
    return [tree.args["from_"].this, *(join.this for join in tree.args.get("joins") or ())]


def defined(tree: Query) -> list[exp.CTE]:
    """The items of its WITH in order."""
    with_ = tree.args.get("with_")
    if with_ is None:
        return []
    items: list[exp.CTE] = with_.expressions
    if with_.args.get("recursive") or len({i.alias.lower() for i in items}) < len(items):
        raise DeclinedError("block_unsupported", "WITH RECURSIVE, or with a name twice.")
    return items


def meant(
    node: exp.Expression, defined: Sequence[exp.CTE]
) -> tuple[Query, Sequence[exp.CTE]] | None:
    """The query that a relation stands for, and what of the WITH it sees; None for a table."""
    if isinstance(node, exp.Table):
        if node.args.get("db") or not isinstance(node.this, exp.Identifier):
            return None
        name = node.name.lower()
        place = next((i for i, cte in enumerate(defined) if cte.alias.lower() == name), None)
        if place is None:
            return None
        cte, visible = defined[place], defined[:place]
        if any(v for k, v in cte.args.items() if k not in _RELATION):
            raise DeclinedError("block_unsupported", "WITH … AS with options.")
        source, aliases = cte.this, [cte.args.get("alias"), node.args.get("alias")]
    elif isinstance(node, exp.Subquery):
        visible = defined
        source, aliases = node.this, [node.args.get("alias")]
    else:
        return None
    if any(v for k, v in node.args.items() if k not in _RELATION):
        raise DeclinedError("block_unsupported", "A derived table that is sampled or turned.")
    while isinstance(source, exp.Subquery) and not any(
        v for k, v in source.args.items() if k != "this"
    ):
        source = source.this
    if not isinstance(source, Query):
        raise DeclinedError("block_unsupported", "A join in parentheses in FROM.")
    for alias in aliases:
        if alias is not None and alias.args.get("columns"):
            if alias.this is None:
                raise DeclinedError("block_unsupported", "Names for columns of what has no name.")
            source = _renamed(source, alias.args["columns"])
    return source, visible


def _renamed(query: Query, names: Sequence[exp.Identifier]) -> exp.Select:
    """A SELECT of its columns by their places, under these names.

    DeclinedError where their number is another one, or isn't seen.
    """
    inner = copied(query, {})
    first: exp.Expression = inner
    while isinstance(first, (exp.SetOperation, exp.Subquery)):
        first = first.this
    items = first.expressions if isinstance(first, exp.Select) else []
    if len(items) != len(names) or any(item.is_star for item in items):
        raise DeclinedError("block_unsupported", "A derived table with names for its columns.")
    named = [
        item
        if isinstance(item, (exp.Alias, exp.Column))
        else exp.Alias(this=item, alias=exp.to_identifier(f"{_COLUMN}{place}"))
        for place, item in enumerate(items)
    ]
    first.set("expressions", named)
    shown = [
        exp.Alias(
            this=exp.Column(this=quoted(item.alias_or_name)),
            alias=copied(name, {}),
        )
        for item, name in zip(named, names, strict=True)
    ]
    alias = exp.TableAlias(this=exp.to_identifier(_INNER))
    return exp.Select(expressions=shown, from_=exp.From(this=exp.Subquery(this=inner, alias=alias)))


def with_visible(select: Query, visible: Sequence[exp.CTE]) -> Query:
    """The query with what of the WITH around it, or of what that needs, it may name.

    Itself where that is nothing.
    """
    own = defined(select)
    if {cte.alias.lower() for cte in visible} & {cte.alias.lower() for cte in own}:
        raise DeclinedError("block_unsupported", "A name that two WITHs define.")
    wanted: list[exp.CTE] = []
    named = names_in(select) if visible else set()
    for cte in reversed(visible):
        if cte.alias.lower() in named:
            wanted.insert(0, cte)
            named |= names_in(cte)
    if not wanted:
        return select
    items = [copied(cte, {}) for cte in (*wanted, *own)]
    found = copied(select, {id(select.args.get("with_")): None})
    found.set("with_", exp.With(expressions=items))
    return found


def unread_queries(tree: exp.Expression) -> list[Query]:
    """The queries of its WITH that nothing reads; Spark refuses the statement for them, too."""
    items = defined(tree) if isinstance(tree, Query) else []
    if not items:
        return []
    named = names_in(copied(tree, {id(tree.args["with_"]): None}))
    found: list[Query] = []
    for place in reversed(range(len(items))):
        item = items[place]
        if item.alias.lower() not in named:
            query = meant(exp.Table(this=item.args["alias"].this), items[: place + 1])
            found += [] if query is None else [with_visible(*query)]
        named |= names_in(item)
    return found


def names_in(tree: exp.Expression) -> set[str]:
    """The names of one part of all relations in it."""
    return {table.name.lower() for table in tree.find_all(exp.Table) if not table.args.get("db")}


def _table(name: str, node: exp.Expression) -> exp.Table:
    """The relation that stands for a derived table, under the alias that it had."""
    alias = node.args.get("alias")
    named = alias.this if alias is not None else None
    if named is None and isinstance(node, exp.Table):
        named = node.this
    own = None if named is None else exp.TableAlias(this=named.copy())
    return exp.Table(this=exp.to_identifier(name), alias=own)


def quoted(name: str) -> exp.Identifier:
    """Returns a name in quotes."""
    return exp.to_identifier(name, quoted=True)
