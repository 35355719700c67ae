"""Misuses of columns, aggregates and positions that Spark surely refuses, found without Spark.

Example: `SELECT store, sum(amount) FROM sales` doesn't group `store`. Promise: a fault has Spark's
class, and a statement that Spark answers has none. So only SELECTs are judged whose names are all
read here: over tables, without subqueries in FROM, windows or functions of rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewrite.analysis.syntax_errors import Fault
from rewrite.analysis.unknown_names import CatalogTables, LakeNames, is_given, is_read
from rewrite.parse.parse import parse, written_name
from rewrite.text.source_position import SourcePosition, place_of
from rewrite.text.spark_keywords import ARGUMENTS
from rewrite.text.spark_lexer import Token, scanned

CAST = "CAST_INVALID_INPUT"
UNBOUND = "UNBOUND_SQL_PARAMETER"
ALIAS = "UNRESOLVED_COLUMN.WITH_SUGGESTION"
_NO_BOOLEAN = "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"
_NO_OPERAND = "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"
_UNLIKE = "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"
_ARITY = "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"
_CHARACTERS_MAX = 20_000
_NO_NUMBER = re.compile(r"(?!inf|nan)[A-Za-z]+", re.IGNORECASE)
"""Texts that surely are no number to Spark."""
_AGGREGATES: tuple[type[exp.Expr], ...] = (exp.Avg, exp.Count, exp.Max, exp.Min, exp.Sum)
_OF_NUMBERS: tuple[type[exp.Expr], ...] = (exp.Avg, exp.Stddev, exp.StddevPop, exp.StddevSamp)
_OF_NUMBERS += (exp.Sum, exp.Variance, exp.VariancePop)
_NO_SUMS = ("boolean", "date")
_NESTED = ("array<", "map<", "struct<")
"""Types that no sum or average takes; texts and, of sums, timestamps are cast to numbers."""
_SHOWN = 60
_PASSED: tuple[type[exp.Expr], ...] = (
    *(exp.Alias, exp.Binary, exp.Case, exp.Cast, exp.If, exp.Unary),
)
"""Kinds of nodes that need each of their columns for each row."""
_CLAUSES = frozenset(
    ("distinct", "expressions", "from_", "from", "group", "having", "joins", "limit", "offset")
) | {"order", "where"}
_BEFORE_CALLS = frozenset(("SELECT", "DISTINCT", "ALL", "WHERE", "HAVING", "ON", "BY"))
_BEFORE_CALLS |= frozenset(("AND", "OR", "NOT", "WHEN", "THEN", "ELSE", "BETWEEN"))
_BEFORE_CALLS |= frozenset(("(", ",", "=", "+", "-", "*", "/", "%", "<", ">", "|"))
"""Tokens behind which a name with parentheses is surely a call, if expressions stand there."""
_OPENS = frozenset(("SELECT", "WHERE", "HAVING", "ON", "BY"))
"""Words behind which expressions stand, up to the clause's end."""
_ENDS = frozenset(("FROM", "JOIN", "WINDOW", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT"))
_ENDS |= frozenset(("LATERAL", "VALUES", "WITH", "USING", "PIVOT", "UNPIVOT", "TABLESAMPLE"))
_IN_CALLS = frozenset(("AS", "FOR", "FROM", "IN", "PLACING", "TO"))
"""Words that make of a call one of the grammar's own forms, as of `substring(x FROM 2)`."""
_LETTERS = "xyzabcdef"


def misuse(sql: str, tables: CatalogTables, *, placed: bool = True) -> Fault | None:
    """The first misuse in a query; without its place unless it's `placed`."""
    found = None if len(sql) > _CHARACTERS_MAX or "/*+" in sql else _misuse(sql, tables)
    return found if found is None or placed else replace(found, at=None)


def _misuse(sql: str, tables: CatalogTables) -> Fault | None:
    tokens = scanned(sql)
    if not tokens:
        return None
    arity = _wrong_arity(sql, tokens)
    if arity is not None:
        return arity
    try:
        tree = parse(sql)
    except (SqlglotError, RecursionError):
        return None
    if isinstance(tree, exp.SetOperation):
        uneven = _uneven(tree)
        if uneven is not None:
            return uneven
    if isinstance(tree, exp.Select) and _is_judged(tree):
        found = _tables_of(tree, tables)
        return None if found is None else _Select(sql, tree, found).fault()
    return None


def unbound(sql: str) -> Fault | None:
    """The first marker without a value: with values, literals are in the places of all.

    >>> unbound("SELECT 1 = ?").hint
    'give its value: params=[…]'
    """
    if ("?" not in sql and ":" not in sql) or len(sql) > _CHARACTERS_MAX:
        return None
    tokens = scanned(sql)
    try:
        tree = parse(sql)
    except (SqlglotError, RecursionError):
        return None
    if not tokens or not isinstance(tree, exp.Query):
        return None
    mark = next((one for one in tokens if one.key == "?"), None)
    named = next((one for one in tree.find_all(exp.Placeholder) if one.args.get("this")), None)
    name = named.name if named is not None else ""
    if mark is None and not name:
        return None
    if name:
        start = sql.find(f":{name}")
        at = place_of(sql, start, start + len(name) + 1) if start >= 0 else None
        what, hint = f"the parameter :{name}", f'params={{"{name}": …}}'
    else:
        assert mark is not None
        at, what, hint = place_of(sql, mark.start, mark.end), "a parameter ?", "params=[…]"
    return Fault(f"{what} has no value", at, (), UNBOUND, f"give its value: {hint}")


def _wrong_arity(sql: str, tokens: Sequence[Token]) -> Fault | None:
    """A call with more or fewer arguments than the function takes."""
    if tokens[0].key not in ("SELECT", "WITH", "(") or "|>" in sql:
        return None
    inside = [False]
    for place, (before, token) in enumerate(pairwise(tokens), start=1):
        if before.key == "(":
            inside.append(inside[-1])
        elif before.key == ")" and len(inside) > 1:
            inside.pop()
        elif before.key in _OPENS or before.key in _ENDS:
            inside[-1] = before.key in _OPENS
        called = tokens[place + 1].key == "(" if place + 1 < len(tokens) else False
        script = (before.key, token.key) == ("SELECT", "TRANSFORM")
        if not called or not inside[-1] or before.key not in _BEFORE_CALLS or script:
            continue
        taken = _argument_counts(token.key.lower())
        number = _arguments(tokens, place + 1) if taken and token.kind != "quoted" else None
        if number is not None and not _takes(taken, number):
            return _miscalled(sql, token, taken, number)
    return None


def _argument_counts(name: str) -> str:
    """Returns the key of the function in `ARGUMENTS`; empty if it isn't there."""
    return next((taken for taken, names in ARGUMENTS.items() if name in names), "")


def _takes(taken: str, number: int) -> bool:
    if "," in taken:
        return str(number) in taken.split(",")
    least, dash, most = taken.partition("-")
    if not dash:
        return number == int(taken)
    return int(least) <= number <= int(most or number)


def _miscalled(sql: str, token: Token, taken: str, number: int) -> Fault:
    name, at = token.key.lower(), place_of(sql, token.start, token.end)
    least, dash, most = taken.partition("-")
    if "," in taken:
        *others, last = taken.split(",")
        shown, fit = f"{', '.join(others)} or {last}", ""
    elif dash:
        shown = f"at least {least}" if number < int(least) else f"at most {most}"
        fit = least if number < int(least) else most
    else:
        shown = fit = taken
    shown += " argument" if shown.split()[-1] == "1" else " arguments"
    message = f"{name} takes {shown} and has {number}"
    fits = len(fit) > 0 and int(fit) <= len(_LETTERS)
    hint = f"write {name}({', '.join(_LETTERS[: int(fit)])})" if fits else "give it as many"
    return Fault(message, at, (), _ARITY, hint)


def _arguments(tokens: Sequence[Token], opened: int) -> int | None:
    """The number of arguments between a call's parentheses; None if that isn't clear."""
    depth = commas = 0
    for place in range(opened, len(tokens)):
        key = tokens[place].key
        depth += (key in ("(", "[")) - (key in (")", "]"))
        if key in ("<", "{", ";", "SELECT") or (depth == 1 and key in _IN_CALLS):
            return None
        named = key == "=" and place + 1 < len(tokens) and tokens[place + 1].key == ">"
        if named or (key == "*" and tokens[place - 1].key in ("(", ",", ".")):
            return None  # a star becomes as many arguments as there are columns
        commas += key == "," and depth == 1
        if depth == 0:
            behind = tokens[place + 1].key if place + 1 < len(tokens) else ""
            if behind == "WITHIN":
                return None  # the argument stands behind it
            return 0 if place == opened + 1 else commas + 1
    return None


def _uneven(tree: exp.SetOperation) -> Fault | None:
    """Queries of a set operation with unlike numbers of columns."""
    left, right = tree.this, tree.expression
    if tree.args.get("by_name") or not all(map(_is_counted, (left, right))):
        return None
    counts = len(left.expressions), len(right.expressions)
    if counts[0] == counts[1]:
        return None
    message = f"the first query has {counts[0]} columns, and the second one {counts[1]}"
    return Fault(message, None, (), "NUM_COLUMNS_MISMATCH", "select as many columns in both")


def _is_counted(query: exp.Expression) -> bool:
    """Decides whether it's a SELECT of mere columns and constants."""
    return isinstance(query, exp.Select) and all(
        isinstance(one.unalias(), (exp.Column, exp.Literal)) and not one.find(exp.Star)
        for one in query.expressions
    )


def _is_judged(select: exp.Select) -> bool:
    """Decides whether it is one SELECT without windows; that of EXISTS stands in no Subquery."""
    inner = any(one is not select for one in select.find_all(exp.Query, exp.Subquery))
    if inner or not is_read(select) or select.find(exp.Window) is not None:
        return False
    return all(name in _CLAUSES for name, value in select.args.items() if value)


def _tables_of(
    select: exp.Select, tables: CatalogTables
) -> list[tuple[exp.Table, LakeNames]] | None:
    """The tables of a SELECT; None if one isn't known, or renames columns."""
    found = []
    first = select.args.get("from_") or select.args.get("from")
    joins: list[exp.Join] = select.args.get("joins") or []
    for node in (first.this if first else None, *(one.this for one in joins)):
        parts = node.parts if isinstance(node, exp.Table) else []
        if not parts or not all(isinstance(one, exp.Identifier) for one in parts):
            return None
        alias = node.args.get("alias")
        known = tables.find(tuple(one.name for one in parts))
        if known is None or node.args.get("joins") or (alias and alias.args.get("columns")):
            return None
        found.append((node, known))
    plain = all(not (one.args.get("using") or one.args.get("method")) for one in joins)
    plain = plain and all(one.args.get("kind") in (None, "", "INNER", "CROSS") for one in joins)
    return found if plain else None


class _Select:
    """A SELECT over tables, with the columns of each."""

    def __init__(
        self, sql: str, select: exp.Select, tables: Sequence[tuple[exp.Table, LakeNames]]
    ) -> None:
        self._sql, self._select, self._tables = sql, select, tables
        self._outputs: list[exp.Expression] = select.expressions
        self._aliases = {one.alias.lower() for one in self._outputs if one.alias}
        self._columns = {name.lower() for _, known in tables for name in known.columns}
        self._names = {node.alias_or_name.lower() for node, _ in tables}

    def fault(self) -> Fault | None:
        """The first misuse, of places that Spark looks at first."""
        return (
            self._ambiguous()
            or self._position("group", "GROUP")
            or self._alias()
            or self._nested()
            or self._filter()
            or self._grouped_aggregate()
            or self._ungrouped()
            or self._types()
            or self._position("order", "ORDER")
            or self._no_number()
        )

    def _ambiguous(self) -> Fault | None:
        for part in (*self._outputs, self._select.args.get("where")):
            for column in part.find_all(exp.Column) if part is not None else ():
                name = column.name.lower()
                if len(column.parts) != 1 or name in self._aliases:
                    continue
                owners = [
                    node.alias_or_name
                    for node, known in self._tables
                    if name in map(str.lower, known.columns)
                ]
                if len(owners) > 1:
                    near = tuple(f"{one}.{column.name}" for one in owners)
                    message = f"{column.name} is a column of several tables"
                    return Fault(message, self._place(column), near, "AMBIGUOUS_REFERENCE")
        return None

    def _alias(self) -> Fault | None:
        """An alias of the SELECT list in WHERE, which is computed before that list."""
        where = self._select.args.get("where")
        outputs = {one.alias.lower(): one for one in self._outputs if one.alias}
        for column in where.find_all(exp.Column) if where is not None else ():
            name = column.name.lower()
            output = outputs.get(name)
            bare = len(column.parts) == 1 and isinstance(column.this, exp.Identifier)
            if not bare or output is None or name in self._columns or is_given(name):
                continue
            message = f"WHERE can't use {column.name}, which is an alias of the SELECT list"
            written = output.unalias().sql("spark")[:_SHOWN]
            hint = f"write {written} in its place in WHERE"
            if any(_aggregates(output)):
                hint = f"filter groups by HAVING {column.name} …, behind GROUP BY"
            return Fault(message, self._place(column), (), ALIAS, hint)
        return None

    def _types(self) -> Fault | None:
        """Operands of types that Spark surely refuses, as `sum` of a date."""
        where = self._select.args.get("where")
        if where is not None:
            kind = self._type(where.this)
            if kind and kind != "boolean":
                message = f"WHERE needs a condition, and {where.this.name} is of type {kind}"
                hint = f"compare it, for example {where.this.name} IS NOT NULL"
                return Fault(message, self._place(where.this), (), _NO_BOOLEAN, hint)
            for test in where.find_all(exp.EQ, exp.GT, exp.GTE, exp.LT, exp.LTE):
                pair = test.this, test.expression
                for column, other in (pair, pair[::-1]):
                    if self._type(column) == "date" and _number(other) is not None:
                        message = f"{column.name} is a date, and {other.this} is a number"
                        hint = f"compare it with a date: {column.name} = DATE '2026-03-01'"
                        return Fault(message, self._place(column), (), _UNLIKE, hint)
        for part in (*self._outputs, self._select.args.get("having")):
            for call in part.find_all(*_OF_NUMBERS) if part is not None else ():
                kind = self._type(call.this)
                moment = kind == "timestamp" and not isinstance(call, (exp.Avg, exp.Sum))
                if kind in _NO_SUMS or moment or kind.startswith(_NESTED):
                    word = written_name(call) if isinstance(call, exp.Expression) else None
                    name = word or call.key
                    message = f"{name} is of numbers, and {call.this.name} is of type {kind}"
                    hint = f"take a column of numbers, or count({call.this.name})"
                    if kind == "boolean":
                        hint = f"count_if({call.this.name}) counts the rows in which it is true"
                    return Fault(message, self._place(call.this), (), _NO_OPERAND, hint)
        return None

    def _type(self, node: exp.Expr) -> str:
        """The type of a bare column; empty if the node is anything else, or it isn't known."""
        if not isinstance(node, exp.Column) or not self._is_column(node):
            return ""
        name = node.name.lower()
        found = {known.types.get(name, "") for _, known in self._owners(node)}
        return found.pop() if len(found) == 1 else ""

    def _owners(self, column: exp.Column) -> list[tuple[exp.Table, LakeNames]]:
        """The tables whose column it can be."""
        table = column.table.lower()
        named = [pair for pair in self._tables if table in ("", pair[0].alias_or_name.lower())]
        return [p for p in named if column.name.lower() in map(str.lower, p[1].columns)]

    def _position(self, clause: str, word: str) -> Fault | None:
        found = self._select.args.get(clause)
        if found is None or any(one.find(exp.Star) for one in self._outputs if not _counts(one)):
            return None
        for item in found.expressions:
            position = _number(item.this if isinstance(item, exp.Ordered) else item)
            if position is None:
                continue
            count = len(self._outputs)
            if not 1 <= position <= count:
                message = f"{word} BY {position}: there are {count} columns"
                error = f"{word}_BY_POS_OUT_OF_RANGE"
                return Fault(message, None, (), error, f"take a number from 1 to {count}")
            if clause == "group" and any(_aggregates(self._outputs[position - 1])):
                message = f"GROUP BY {position}: that column is an aggregate"
                return Fault(message, None, (), "GROUP_BY_POS_AGGREGATE", "group by other columns")
        return None

    def _no_number(self) -> Fault | None:
        """Judges a WHERE that compares a number with a text that is no number.

        Iceberg is given the predicate, so that Spark computes it for a table without rows, too.
        A LIMIT 0 would leave it out.
        """
        where = self._select.args.get("where")
        test = where.this if where is not None else None
        compares = isinstance(test, (exp.EQ, exp.GT, exp.GTE, exp.LT, exp.LTE))
        if test is None or not compares or len(self._tables) != 1 or self._select.args.get("limit"):
            return None
        text, column = test.expression, test.this
        if isinstance(text, exp.Column):
            text, column = column, text
        known = self._tables[0][1]
        is_text = isinstance(text, exp.Literal) and text.is_string
        if not is_text or not isinstance(column, exp.Column) or not self._is_column(column):
            return None
        whole = known.types.get(column.name.lower()) in ("int", "bigint")
        if not whole or not _NO_NUMBER.fullmatch(text.this):
            return None
        message = f"the text '{text.this}' is no number, and {column.name} is one"
        hint = f"compare {column.name} with a number"
        return Fault(message, self._place(column), (), CAST, hint)

    def _nested(self) -> Fault | None:
        for output in self._outputs:
            for outer in _aggregates(output):
                if any(one is not outer for one in _aggregates(outer)):
                    message = "an aggregate has an aggregate as its argument"
                    hint = "compute the inner one in a subquery"
                    return Fault(message, None, (), "NESTED_AGGREGATE_FUNCTION", hint)
        return None

    def _filter(self) -> Fault | None:
        where = self._select.args.get("where")
        if where is None or not any(_aggregates(where)):
            return None
        message, hint = "WHERE has an aggregate", "filter groups by HAVING"
        return Fault(message, None, (), "INVALID_WHERE_CONDITION", hint)

    def _grouped_aggregate(self) -> Fault | None:
        group = self._select.args.get("group")
        if group is None or not any(True for one in group.expressions if any(_aggregates(one))):
            return None
        message, hint = "GROUP BY has an aggregate", "group by other columns"
        return Fault(message, None, (), "GROUP_BY_AGGREGATE", hint)

    def _ungrouped(self) -> Fault | None:
        group = self._select.args.get("group")
        groups = group is not None or self._select.args.get("having") is not None
        if not groups and not any(True for one in self._outputs if any(_aggregates(one))):
            return None
        grouped = self._grouped()
        if grouped is None:
            return None
        for output in self._outputs:
            if isinstance(output, exp.Star) and not any(output.args.values()):
                for name in self._tables[0][1].columns if len(self._tables) == 1 else ():
                    if name.lower() not in grouped:
                        column = exp.column(name)
                        return self._not_grouped(column, group is not None)
            for column in _columns(output):
                name = column.name.lower()
                if name not in grouped and name not in self._aliases and self._is_column(column):
                    return self._not_grouped(column, group is not None)
        return None

    def _not_grouped(self, column: exp.Column, group: bool) -> Fault:
        message = f"{column.name} is neither grouped nor in an aggregate"
        hint = f"add {column.sql('spark')} to GROUP BY, or write any_value({column.sql('spark')})"
        error = "MISSING_AGGREGATION" if group else "MISSING_GROUP_BY"
        return Fault(message, self._place(column), (), error, hint)

    def _grouped(self) -> set[str] | None:
        """The names of all columns in GROUP BY; None if they aren't all clear."""
        group = self._select.args.get("group")
        if group is None:
            return set()
        if any(value for name, value in group.args.items() if name != "expressions"):
            return None
        found: set[str] = set()
        for item in group.expressions:
            if not isinstance(item, (exp.Column, exp.Literal, exp.Binary, exp.Func)):
                return None  # GROUP BY ALL, ROLLUP (…) and the like
            if item.name.lower() == "all":
                return None  # the word, if no column has the name
            position = _number(item)
            if position is not None and not 1 <= position <= len(self._outputs):
                return None
            key = item if position is None else self._outputs[position - 1]
            names = {one.name.lower() for one in key.find_all(exp.Column)}
            for output in self._outputs:
                if output.alias and output.alias.lower() in names:
                    names |= {one.name.lower() for one in output.find_all(exp.Column)}
            found |= names
        return found

    def _is_column(self, column: exp.Column) -> bool:
        """Decides whether it's surely a column of one of the tables, and no field inside one."""
        parts = [one.name.lower() for one in column.parts]
        if len(parts) == 1:
            return parts[0] in self._columns
        qualified = parts[0] in self._names and parts[0] not in self._columns
        return len(parts) == 2 and qualified and parts[1] in self._columns

    def _place(self, column: exp.Column) -> SourcePosition | None:
        start = column.parts[0].meta_get("start")
        end = column.parts[-1].meta_get("end")
        if not isinstance(start, int) or not isinstance(end, int):
            return None
        return place_of(self._sql, start, end + 1)


def _counts(output: exp.Expression) -> bool:
    """Decides whether each star in it is that of `count(*)`."""
    return all(isinstance(one.parent, exp.Count) for one in output.find_all(exp.Star))


def _number(item: exp.Expr) -> int | None:
    digits = isinstance(item, exp.Literal) and not item.is_string and item.this.isdigit()
    return int(item.this) if digits else None


def _aggregates(node: exp.Expr) -> Iterator[exp.Expr]:
    return (one for one in node.find_all(*_AGGREGATES) if not one.args.get("expressions"))


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns that stand outside of every function."""
    if isinstance(node, exp.Column):
        if not isinstance(node.this, exp.Star):
            yield node
    elif isinstance(node, _PASSED) and not isinstance(node, (exp.Dot, exp.AggFunc)):
        for child in node.iter_expressions():
            yield from _columns(child)
