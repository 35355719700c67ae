"""Bounds the texts that a query of virtual tables makes, before DuckDB runs it.

Twenty nested `replace` make ten to the twentieth letters of one, and DuckDB's memory limit doesn't
count the texts of the rows that it works on. So each text is measured: how long can it become if
all columns have the longest text of the tables? Promise: no measure is too short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from accelerator.errors import StatementError

MADE_MAX = 128 * 1024
"""Bytes of all texts that are made of one row; DuckDB works on 2,048 rows at once."""
_NUMBER = 64
"""Bytes of a number, a time or a boolean as a text, at most."""
_WIDEST = 3
"""Bytes of a letter in the other case, at most, for one byte."""
_GROWING = (exp.Concat, exp.DPipe, exp.Replace)
_Lengths = Mapping[str, int]


class TextGrowthError(StatementError):
    """The query could make texts that are too long."""

    code = "statement_texts_too_long"


def check_growth(tree: exp.Expression, tables: Iterable[pa.Table]) -> None:
    """TextGrowthError if texts that the query makes of the tables' rows can be too long."""
    if tree.find(*_GROWING) is None:
        return
    longest = max((_longest(column) for table in tables for column in table.columns), default=0)
    _Growth(max(longest, _NUMBER)).query(tree, {}, 0)


def _longest(column: pa.ChunkedArray) -> int:
    """Returns the length in bytes of the column's longest value as a text."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return int(pc.max(pc.binary_length(column)).as_py() or 0)
    if pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        return _NUMBER
    return max((4 * len(str(value)) for value in column.to_pylist()), default=0)


class _Growth:
    """The measure of one query: how long its texts can be, and all that are made together."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._made = 0

    def query(self, node: exp.Expr, named: _Lengths, outer: int) -> int:
        """Returns the length of the query's longest output; `named` has those of WITH.

        `outer` is the length of the longest column around a subquery.
        """
        if isinstance(node, (exp.Subquery, exp.Paren)):
            return self.query(node.this, named, outer)
        within = node.args.get("with_")
        for one in [] if within is None else within.expressions:
            named = {**named, one.alias.lower(): self.query(one.this, named, outer)}
        if isinstance(node, exp.SetOperation):
            longest = max(self.query(one, named, outer) for one in _sides(node))
            return max(longest, self._others(node, ("order",), longest, {}, named))
        if isinstance(node, exp.Values):
            return self._longest_of(node.expressions, outer, {}, named)
        if not isinstance(node, exp.Select):
            return self._longest
        return self._select(node, named, outer)

    def _select(self, node: exp.Select, named: _Lengths, outer: int) -> int:
        froms = node.args.get("from_")
        joins = node.args.get("joins") or []
        sources = [one.this for one in [froms, *joins] if one is not None]
        columns = max([outer, *(self._source(one, named, outer) for one in sources)])
        aliases: dict[str, int] = {}  # DuckDB lets later parts name them
        longest = 0
        for one in node.expressions:
            length = self._value(one, columns, aliases, named)
            longest = max(longest, length)
            if isinstance(one, exp.Alias):
                name = one.alias.lower()
                aliases[name] = max(length, aliases.get(name, 0))
        parts = ("where", "group", "having", "order", "distinct")
        self._others(node, parts, columns, aliases, named)
        self._longest_of([one.args.get("on") for one in joins], columns, aliases, named)
        return longest

    def _others(
        self, node: exp.Expr, parts: Iterable[str], columns: int, aliases: _Lengths, named: _Lengths
    ) -> int:
        return self._longest_of([node.args.get(one) for one in parts], columns, aliases, named)

    def _source(self, node: exp.Expr, named: _Lengths, outer: int) -> int:
        if isinstance(node, exp.Table):
            is_name = len(node.parts) == 1
            return named.get(node.name.lower(), self._longest) if is_name else self._longest
        return self.query(node, named, outer)

    def _longest_of(
        self,
        nodes: Iterable[exp.Expr | None],
        columns: int,
        aliases: _Lengths,
        named: _Lengths,
    ) -> int:
        found = [self._value(one, columns, aliases, named) for one in nodes if one is not None]
        return max(found, default=0)

    def _value(self, node: exp.Expr, columns: int, aliases: _Lengths, named: _Lengths) -> int:
        """Returns how long the expression's text can be."""
        if isinstance(node, exp.Literal):
            return len(node.name.encode())
        if isinstance(node, exp.Column):
            alias = 0 if node.table else aliases.get(node.name.lower(), 0)
            return max(columns, alias)
        if isinstance(node, exp.Star):
            return columns
        if isinstance(node, (exp.Query, exp.Values)):
            return self.query(node, named, max([columns, *aliases.values()]))
        if isinstance(node, (exp.And, exp.Or, exp.DPipe)):
            parts = list(node.flatten())
        elif isinstance(node, exp.Replace):
            given = (node.this, node.expression, node.args.get("replacement"))
            parts = [one for one in given if one is not None]
        else:
            parts = list(node.iter_expressions())
        lengths = [self._value(one, columns, aliases, named) for one in parts]
        if isinstance(node, exp.DPipe):  # each sign makes a text of its own
            made = lengths[0]
            for length in lengths[1:]:
                made += length
                self._make(made)
            return made
        if isinstance(node, exp.Concat):
            return self._make(sum(lengths))
        if isinstance(node, exp.Replace):
            return self._make(_replaced(node, lengths))
        longest = max(lengths, default=0)
        if isinstance(node, (exp.Lower, exp.Upper)) and not isinstance(
            node.this, (exp.Lower, exp.Upper)
        ):
            return _WIDEST * longest
        return max(longest, _NUMBER) if isinstance(node, (exp.Cast, exp.Func)) else longest

    def _make(self, length: int) -> int:
        """Counts a text that is made; TextGrowthError if it's one too many."""
        self._made += length
        if self._made > max(MADE_MAX, 4 * self._longest):
            raise TextGrowthError(
                "the query isn't run over tables of metadata: `replace`, `concat` and `||` could"
                f" make more than {MADE_MAX:,} bytes of texts of a row",
                hint="nest fewer of them; put the texts together in the client",
            )
        return length


def _replaced(node: exp.Replace, lengths: list[int]) -> int:
    """Returns the length if the whole text is the pattern again and again.

    `lengths` are those of the text, the pattern and the replacement.
    """
    text, old, *new = lengths
    if not isinstance(node.expression, exp.Literal) or not old:
        old = 1
    return max(text, text // old * sum(new) + text % old)


def _sides(node: exp.SetOperation) -> list[exp.Expr]:
    """Returns the queries of a chain of UNION, EXCEPT or INTERSECT, however many they are."""
    found: list[exp.Expr] = []
    waiting: list[exp.Expr] = [node.this, node.expression]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.SetOperation) and not any(map(one.args.get, ("with_", "order"))):
            waiting += [one.this, one.expression]
        else:
            found.append(one)
    return found
