"""SELECTs of windows over groups as SELECTs of windows over a derived table of the groups.

A window of `SELECT g, rank() OVER (ORDER BY sum(v)) … GROUP BY g` is computed over the groups that
HAVING has left, so that the groups may come from a SELECT of their own: its keys and aggregates are
columns of it, and what stands above them reads these. The text changes in these places alone. What
is cut out must read as it did: its clauses are compared as trees.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from rewrite.bind.calls.known_words import is_aggregate
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.rules.splice.select_spans import Text

_PASSES_MAX = 8
_KEY, _VALUE = "acc_key_", "acc_value_"
_CLAUSES = frozenset(
    {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset"}
)
_OF_GROUPS = ("from_", "joins", "where", "group", "having")
_CLAUSES_ABOVE = ("order", "limit", "offset")
_GROUPED = (
    *(exp.Group, exp.Column, exp.Identifier, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple),
    exp.Paren,
)
_WINDOWED = (
    *(exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Count, exp.Rank, exp.DenseRank, exp.RowNumber),
    *(exp.Ntile, exp.PercentRank, exp.CumeDist, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue),
)
_ABOVE = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Alias, exp.Paren),
    *(exp.Window, exp.WindowSpec, exp.Order, exp.Ordered, exp.Case, exp.If, exp.Coalesce),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg, exp.And, exp.Or, exp.Not),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.Is, exp.Between),
    *(exp.In, exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Abs, exp.Round),
    *(exp.Lower, exp.Upper, exp.Concat, exp.DPipe, exp.Substring, exp.Nullif),
)
"""What may stand above groups; anything else may be an aggregate that isn't known as one."""
_ENDS = frozenset({TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET})


def unfolded(text: Text) -> Text | None:
    """The statement with every such SELECT rewritten; None where there is none.

    SqlglotError where the text can't be read.
    """
    found, left = text, set[str]()
    for _ in range(_PASSES_MAX):
        changed = _once(found, left)
        if changed is None:
            break
        found = changed
    return None if found is text else found


def _once(whole: Text, left: set[str]) -> Text | None:
    """With the first such SELECT rewritten that isn't among those `left` as they are."""
    try:
        for first, last in whole.selects():
            start, end = whole.span(first, last)
            fragment = whole.sql[start:end]
            if fragment in left or not whole.has_own(TokenType.OVER, first, last):
                continue
            found = _Fragment.of(fragment, named=(start, end) != whole.span_of_all())
            if found is not None:
                left.add(found.rstrip())  # its windows are over a derived table
                return Text(f"{whole.sql[:start]}{found}{whole.sql[end:]}")
            left.add(fragment)
    except DeclinedError:
        return None
    return None


class _Change(Struct, frozen=True):
    start: int
    end: int
    column: str


class _Fragment:
    """One SELECT, from its first word to its last."""

    @classmethod
    def of(cls, sql: str, *, named: bool) -> str | None:
        """Its new text; None where it isn't one of windows over groups that are understood.

        `named`: each of its outputs must have a name of its own, since others may use it.
        """
        try:
            tree = parse(sql)
            return cls(sql, tree, named).text() if isinstance(tree, exp.Select) else None
        except (SqlglotError, DeclinedError):
            return None

    def __init__(self, sql: str, tree: exp.Select, named: bool) -> None:
        self._sql, self._tree, self._named = sql, tree, named
        self._keys: dict[str, exp.Column] = {}
        self._values: dict[str, str] = {}
        self._changes: list[_Change] = []

    @cached_property
    def _tokens(self) -> Text:
        return Text(self._sql)

    def text(self) -> str | None:
        tree = self._tree
        if any(value and key not in _CLAUSES for key, value in tree.args.items()):
            return None
        if tree.args.get("from_") is None or not any(i.find(exp.Window) for i in tree.expressions):
            return None
        self._read_keys()
        self._check_having()
        for item in tree.expressions:
            self._item(item)
        order = tree.args.get("order")
        outputs = {i.alias_or_name.lower() for i in tree.expressions}
        for one in order.expressions if order is not None else ():
            self._above(one, outputs)
        if not self._values and not self._keys:
            return None
        return self._written()

    def _read_keys(self) -> None:
        group = self._tree.args.get("group")
        if group is None:
            return
        if group.args.get("all") or any(not isinstance(n, _GROUPED) for n in group.walk()):
            raise _unclear()
        for column in group.find_all(exp.Column):
            known = self._keys.setdefault(column.name.lower(), column)
            if not _is_same(known, column):
                raise _unclear()

    def _check_having(self) -> None:
        """An output's name in HAVING isn't one inside."""
        having = self._tree.args.get("having")
        aliases = {i.alias.lower() for i in self._tree.expressions if isinstance(i, exp.Alias)}
        for column in having.find_all(exp.Column) if having is not None else ():
            if column.name.lower() in aliases:
                raise _unclear()

    def _item(self, item: exp.Expression) -> None:
        if self._named and not isinstance(item, (exp.Alias, exp.Column)):
            raise _unclear()
        if not isinstance(item, exp.Column):
            self._above(item)
            return
        start, end = self._place(item)
        name = item.parts[-1].meta
        own = self._sql[name["start"] : name["end"] + 1]
        self._changes.append(_Change(start, end, f"{self._key(item)} AS {own}"))

    def _above(self, root: exp.Expr, outputs: frozenset[str] | set[str] = frozenset()) -> None:
        """Notes what changes in an expression; in ORDER BY names of `outputs` stay."""
        waiting: list[exp.Expr] = [root]
        while waiting:
            node = waiting.pop()
            inner = node.this if isinstance(node, exp.Filter) else node
            if is_aggregate(inner) or isinstance(inner, (exp.Grouping, exp.GroupingId)):
                self._changes.append(self._value(inner, filtered=node is not inner))
                continue
            if not isinstance(node, _ABOVE):
                raise _unclear()
            if isinstance(node, exp.Column):
                if not node.table and node.name.lower() in outputs:
                    continue
                start, end = self._place(node)
                self._changes.append(_Change(start, end, self._key(node)))
                continue
            if isinstance(node, exp.Window):
                own: exp.Expr = node.this
                if not isinstance(own, _WINDOWED) or node.args.get("alias"):
                    raise _unclear()
                waiting += [one for one in node.iter_expressions() if id(one) != id(own)]
                waiting += own.iter_expressions()
                continue
            waiting += node.iter_expressions()

    def _key(self, column: exp.Column) -> str:
        known = self._keys.get(column.name.lower())
        if known is None or not _is_same(known, column):
            raise _unclear()
        return f"{_KEY}{list(self._keys).index(column.name.lower())}"

    def _value(self, call: exp.Expr, *, filtered: bool) -> _Change:
        start = call.meta.get("start")
        if start is None or call.find(exp.Select) is not None:
            raise _unclear()
        end = self._tokens.end_of_call(start, filtered=filtered)
        column = self._values.setdefault(self._sql[start:end], f"{_VALUE}{len(self._values)}")
        return _Change(start, end, column)

    def _place(self, column: exp.Column) -> tuple[int, int]:
        parts = [part.meta for part in column.parts]
        if any("start" not in part for part in parts):
            raise _unclear()
        return parts[0]["start"], parts[-1]["end"] + 1

    def _written(self) -> str | None:
        from_, tail = self._tokens.clauses(TokenType.FROM, _ENDS)
        named = [f"{self._text_of(c)} AS {_KEY}{i}" for i, c in enumerate(self._keys.values())]
        named += [f"{text} AS {name}" for text, name in self._values.items()]
        inner = f"SELECT {', '.join(named)} {self._sql[from_:tail].rstrip()}"
        groups = parse(inner)
        if any(groups.args.get(key) != self._tree.args.get(key) for key in _OF_GROUPS):
            raise _unclear()
        head = self._changed(0, from_)
        text = f"{head}FROM ({inner}) AS acc_groups {self._changed(tail, len(self._sql))}"
        above = parse(text)
        same = all(bool(above.args.get(k)) == bool(self._tree.args.get(k)) for k in _CLAUSES_ABOVE)
        return text if same and len(above.expressions) == len(self._tree.expressions) else None

    def _text_of(self, column: exp.Column) -> str:
        start, end = self._place(column)
        return self._sql[start:end]

    def _changed(self, start: int, end: int) -> str:
        """That part of the text with its changes."""
        text, done = "", start
        for change in sorted(self._changes, key=lambda c: c.start):
            if start <= change.start and change.end <= end:
                text += self._sql[done : change.start] + change.column
                done = change.end
        return text + self._sql[done:end]


def _is_same(one: exp.Column, other: exp.Column) -> bool:
    """Whether the names may mean one column: qualifiers that both have are equal."""
    pairs = zip(reversed(one.parts), reversed(other.parts), strict=False)
    return all(a.name.lower() == b.name.lower() for a, b in pairs)


def _unclear() -> DeclinedError:
    return DeclinedError("block_unsupported", "A window over groups that isn't understood.")
