"""Queries of other dialects as Spark SQL; what isn't surely the same there is refused.

sqlglot writes a statement of one dialect in another, but a construct that it doesn't know it hands
on as it is, and some that it knows mean something else there. So a tree is translated only where
all of its nodes, with all of their parts, are listed here, and what differs is written out: where
NULLs sort, what `/` is of two integers, what divides by zero. Types are Spark's: the digits of
decimals, what an average is. The page is `docs/reference/dialects.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import cast

from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewrite.client import SPARK, TRINO, ClientContext, Translated
from rewrite.dialects import subtotals
from rewrite.dialects.client_spark import completed_spark
from rewrite.dialects.output_names import output_names
from rewrite.dialects.qualify_names import completed, is_timed, replace_session_functions
from rewrite.dialects.refusal import has_part, refusal_of, unlisted
from rewrite.dialects.rule import LOOSE, Context, Rule, UnsureMeaningError, checked_growth
from rewrite.dialects.scopes import ABSENT, BOTH, RESOLVED, Scopes
from rewrite.dialects.tokens import checked_tokens, hinting_clients
from rewrite.dialects.trino import allow_list, rules
from rewrite.dialects.trino.hidden_outputs import ordered_by_outputs
from rewrite.dialects.trino.syntax_errors import check_words, untranslated
from rewrite.dialects.trino.time_zones import Zones
from rewrite.dialects.value_kinds import Columns, Kinds
from rewrite.errors import UntranslatedError
from rewrite.parse.bounds import TooDeepError
from rewrite.parse.parse import UnsureError, parse
from rewrite.parse.to_spark_sql import spark_text
from rewrite.text.spark_keywords import words

_FAILS = (SqlglotError, AttributeError, LookupError, RecursionError, TypeError)

_QUERY = ("with_", "order", "limit", "offset")
_BINARY = ("this", "expression")
_PARTS: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.Select: ("expressions", "from_", "joins", "where", "group", "having", "distinct", *_QUERY),
    **dict.fromkeys((exp.Union, exp.Except, exp.Intersect), (*_BINARY, "distinct", *_QUERY)),
    **dict.fromkeys((exp.From, exp.Where, exp.Having, exp.Exists, exp.Paren, exp.Not), ("this",)),
    **dict.fromkeys((exp.Neg, exp.Null, exp.Boolean, exp.Abs, exp.Ceil, exp.Floor), ("this",)),
    **dict.fromkeys((exp.Lower, exp.Upper, exp.Sum, exp.Min, exp.Max), ("this",)),
    **dict.fromkeys((exp.Avg, exp.CountIf, exp.LogicalAnd, exp.LogicalOr), ("this",)),
    **dict.fromkeys((exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance), ("this",)),
    **dict.fromkeys((exp.VariancePop, exp.ApproxDistinct, exp.Ntile), ("this",)),
    **dict.fromkeys((exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfYear), ("this",)),
    **dict.fromkeys((exp.Quarter, exp.Hour, exp.Minute, exp.DataTypeParam), ("this",)),
    **dict.fromkeys((exp.FirstValue, exp.LastValue, exp.Var), ("this",)),
    **dict.fromkeys((exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist), ()),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _BINARY),
    **dict.fromkeys((exp.And, exp.Or, exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Nullif), _BINARY),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ, exp.Filter, exp.Extract), _BINARY),
    **dict.fromkeys((exp.Is, exp.Like, exp.ILike), (*_BINARY, "negate")),
    **dict.fromkeys((exp.With, exp.GroupingSets, exp.Rollup, exp.Cube), ("expressions",)),
    **dict.fromkeys((exp.Order, exp.Tuple, exp.Distinct, exp.Grouping), ("expressions",)),
    **dict.fromkeys((exp.Subquery, exp.Alias), ("this", "alias")),
    exp.CTE: ("this", "alias", "materialized"),
    **dict.fromkeys((exp.Cast, exp.TryCast), ("this", "to", "safe")),
    **dict.fromkeys((exp.DateTrunc, exp.TimestampTrunc), ("this", "unit")),
    **dict.fromkeys((exp.Lag, exp.Lead), ("this", "offset", "default")),
    exp.Join: ("this", "on", "using", "side", "kind"),
    exp.Group: ("expressions", "grouping_sets", "rollup", "cube"),
    exp.Ordered: ("this", "desc", "nulls_first"),
    **dict.fromkeys((exp.Limit, exp.Offset), ("expression",)),
    exp.Fetch: ("direction", "count", "limit_options"),
    exp.LimitOptions: ("rows",),
    exp.Table: ("this", "db", "catalog", "alias", "version"),
    exp.TableAlias: ("this", "columns"),
    exp.Version: ("this", "kind", "expression"),
    exp.Values: ("expressions", "alias"),
    exp.Column: ("this", "table", "db", "catalog"),
    exp.Identifier: ("this", "quoted"),
    exp.Dot: _BINARY,
    exp.Star: (),
    exp.Literal: ("this", "is_string"),
    exp.In: ("this", "expressions", "query"),
    exp.Between: ("this", "low", "high"),
    exp.Window: ("this", "partition_by", "order", "spec", "over"),
    exp.WindowSpec: ("kind", "start", "start_side", "end", "end_side"),
    exp.DataType: ("this", "expressions", "nested"),
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true", "false"),
    exp.Coalesce: ("this", "expressions"),
    exp.Div: (*_BINARY, "typed", "safe"),
    exp.DPipe: (*_BINARY, "safe"),
    exp.Concat: ("expressions", "safe", "coalesce"),
    exp.Substring: ("this", "start", "length"),
    exp.Count: ("this", "expressions", "big_int"),
    exp.Interval: ("this", "unit"),
    exp.Length: ("this", "binary"),
    exp.TsOrDsToDate: ("this",),
}
"""What may stand in a statement of every dialect, and which parts it may have."""

_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_EXTRACTED = frozenset({"YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "DOY"})
_INTERVALS = frozenset({"YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_OF_SESSIONS = words("""
    current_catalog current_database current_date current_time current_timestamp current_user
    grouping__id localtimestamp session_user user
""")
"""What Spark takes for a function, in quotes as well, where there is no such column."""
_OF_ALL = frozenset({"mysql", "clickhouse", "starrocks"})
"""To these STDDEV and VARIANCE are those of a whole population."""
_WITHOUT_ZONE = frozenset({"trino", "duckdb", "postgres"})
"""Their TIMESTAMP is Spark's TIMESTAMP_NTZ."""
_INEXACT = frozenset({"clickhouse"})
"""Their constants with a point are doubles."""
_TO_ZERO = frozenset({"mysql", "starrocks"})
"""What divides by zero is NULL to them."""
_NUMERIC = frozenset({"postgres"})
"""Sums of BIGINTs and what EXTRACT gives are NUMERIC to them."""
_INPUTS_FIRST = frozenset({"postgres", "duckdb", "mysql", "starrocks"})
"""To them a name inside an expression of ORDER BY is a column of FROM before it's an output."""
_OF_BYTES = frozenset({"clickhouse"})
"""Their texts' functions count bytes, or know the letters of ASCII alone."""


def translated(sql: str, dialect: str, columns: Columns) -> str:
    """The query as Spark SQL; what is no query, or can't be read, as it stands.

    `columns` is asked for tables' columns if these decide. UntranslatedError for what isn't surely
    the same in Spark, StatementError for Trino's that isn't read, StatementTooDeepError beyond a
    bound.
    """
    if dialect == SPARK:
        return sql
    refused = f"the statement isn't translated from {dialect}"
    try:
        tree = parse(sql, dialect)
    except (TooDeepError, UnsureError) as error:
        if _QUERY_BEGINS.match(sql) is None:
            return sql
        raise untranslated(error, sql, refused) from error
    except SqlglotError as error:
        if dialect != TRINO or _QUERY_BEGINS.match(sql) is None:
            return sql
        raise untranslated(error, sql, refused, of_trino=True) from error
    if not isinstance(tree, (exp.Query, exp.Values)):
        return sql
    try:
        return _Translation(tree, dialect, columns, sql).text()
    except _FAILS as error:
        raise untranslated(error, sql, refused) from error


@hinting_clients()
def translated_for(
    client: ClientContext,
    sql: str,
    dialect: str,
    columns: Columns,
    catalogs: Collection[str],
    engine_zone: str | None = None,
) -> Translated:
    """A client's query as Spark SQL, in which each table is one of `catalogs` by its full name.

    `engine_zone` is the time zone of Spark's session; None if it's the client's.
    StatementError if it can't be read, UntranslatedError if it's no query, or isn't surely the
    same; errors of names as in `completed`.
    """
    if dialect == SPARK:
        return Translated(*completed_spark(client, sql, catalogs))
    refused = f"the statement isn't translated from {dialect} for a client"
    try:
        tree = parse(sql, dialect)
        if not isinstance(tree, (exp.Query, exp.Values)):
            raise UntranslatedError(f"{refused}: it isn't a query", hint="queries are")
        tables = completed(tree, dialect, client, catalogs)
        timed, tree = is_timed(tree), replace_session_functions(tree, client)
        names = output_names(tree, columns)
        zones = client.time_zone, engine_zone
        made = _Translation(tree, dialect, columns, sql, zones)
        made.is_renamable = names is not None
        made.check_names()
        return Translated(made.text(), tables, names, timed)
    except _FAILS as error:
        raise untranslated(error, sql, refused, of_trino=dialect == TRINO) from error


class _Translation:
    def __init__(
        self,
        tree: exp.Expression,
        dialect: str,
        columns: Columns,
        sql: str,
        zones: tuple[str | None, str | None] = (None, None),
    ) -> None:
        self._tree, self._dialect, self.is_renamable = tree, dialect, False
        self._sql, self._tokens = sql, checked_tokens(sql, dialect)
        is_trino = dialect == TRINO
        self._kinds = Kinds(
            exact=dialect not in _INEXACT, numeric=dialect in _NUMERIC, is_trino=is_trino
        )
        self._parts = {**_PARTS, **rules.PARTS} if is_trino else _PARTS
        self._own: Mapping[type[exp.Expr], Rule] = rules.RULES if is_trino else {}
        found = Zones(self._kinds, *zones)
        self._context = Context(self._kinds, found, rules.decimals(self._tokens))
        if any(map(_needs_columns, tree.walk())):
            Scopes(columns, self._kinds, found, is_trino=is_trino).mark(tree)
        self._rules: Mapping[type[exp.Expr], Callable[[exp.Expression], exp.Expression | None]] = {
            exp.Join: self._join,
            exp.Fetch: self._fetch,
            exp.Limit: self._first,
            exp.Offset: self._first,
            exp.Add: self._add,
            exp.Sub: self._add,
            exp.Grouping: self._grouping,
            exp.Like: self._like,
            exp.ILike: self._like,
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
            exp.Extract: self._extract,
            exp.DateTrunc: self._trunc,
            exp.TimestampTrunc: self._trunc,
            exp.Interval: self._interval,
            exp.Substring: self._substring,
            exp.Length: self._length,
            exp.Stddev: self._spread,
            exp.Variance: self._spread,
            exp.Count: self._count,
            exp.Distinct: self._distinct,
            exp.Literal: self._literal,
            exp.Div: self._div,
            exp.Mod: self._mod,
            exp.Alias: self._alias,
            exp.Select: self._select,
            exp.CTE: self._cte,
            exp.Tuple: self._tuple,
            exp.DPipe: self._pipe,
            exp.Concat: self._concat,
            exp.WindowSpec: self._frame,
            exp.In: self._in,
            exp.Between: self._compared,
            exp.Order: self._order,
            **dict.fromkeys((exp.Rollup, exp.Cube, exp.GroupingSets), self._subtotals),
            **dict.fromkeys((exp.Except, exp.Intersect), self._set),
            **dict.fromkeys(_COMPARISONS, self._compared),
            **dict.fromkeys((exp.Lower, exp.Upper), self._letters),
            **dict.fromkeys((exp.FirstValue, exp.LastValue), self._first_value),
        }

    def check_names(self) -> None:
        """UntranslatedError for a name that is nobody's, and to Spark a function of its session."""
        for node in self._tree.find_all(exp.Column):
            name = node.name.lower()
            is_absent = node.meta_get(RESOLVED) == ABSENT
            if len(node.parts) == 1 and name in _OF_SESSIONS and is_absent:
                raise self._refused(node, "no column has that name, and to Spark it's a function")

    def text(self) -> str:
        if self._dialect == TRINO:
            check_words(self._sql, self._tokens, self._tree)
        nodes = [cast(exp.Expression, node) for node in self._tree.walk()]
        for node in nodes:
            self._check_parts(node)
        if self._dialect == TRINO:
            for node in nodes:
                self._check_alike(node)
        zoned = self._dialect == TRINO and any(isinstance(one, _ZONED) for one in nodes)
        written = [one.copy() for one in _outputs(self._tree)] if zoned else []
        if self._dialect in _TOTALLED and self._replace_selects(nodes, subtotals.totalled):
            nodes = [cast(exp.Expression, node) for node in self._tree.walk()]
        if self._dialect == TRINO and self._replace_selects(nodes, self._ordered):
            nodes = [cast(exp.Expression, node) for node in self._tree.walk()]
        for node in reversed(nodes):  # operands before what stands over them
            found = self._translated(node)
            if found is not None and found is not node:
                node.replace(_closed(found, node))
        self._check_shown(written)
        for name in self._tree.find_all(exp.Identifier):
            if not name.this.isascii():  # Spark takes such letters only in backticks
                name.set("quoted", True)
        return spark_text(self._tree)

    def _ordered(self, select: exp.Select, *, is_renamable: bool) -> exp.Expression | None:
        return ordered_by_outputs(select, self._context, is_renamable=is_renamable)

    def _replace_selects(
        self, nodes: Sequence[exp.Expression], rule: Callable[..., exp.Expression | None]
    ) -> bool:
        """Puts what the rule makes of a SELECT in its place; whether there was any."""
        found = False
        for node in reversed([one for one in nodes if isinstance(one, exp.Select)]):
            try:
                free = self.is_renamable and node is self._tree
                united = checked_growth(rule(node, is_renamable=free))
            except UnsureMeaningError as error:
                raise self._refused(node, str(error), error.hint) from error
            if united is None:
                continue
            found = True
            if node is self._tree:
                self._tree = united
            elif node is not united:
                inside = isinstance(node.parent, exp.SetOperation)
                node.replace(exp.Subquery(this=united) if inside else united)
        return found

    def _check_alike(self, node: exp.Expression) -> None:
        """The operands' kinds are ones for which the node means the same in Spark."""
        try:
            allow_list.check(node, self._context)
        except UnsureMeaningError as error:
            raise self._refused(node, str(error), error.hint) from error

    def _check_shown(self, written: Sequence[exp.Expression]) -> None:
        """Moments of the answer are shown in UTC."""
        zones = self._context.zones
        outputs = list(_outputs(self._tree)) if zones.foreign else []
        for output, original in zip(outputs, written, strict=True) if outputs else ():
            zone = zones.of(output) if self._kinds.of(output) == "moment" else None
            if zone in zones.foreign:
                raise self._refused(
                    original, f"it's shown in {zone}, and Spark's times have no zone", _UNZONED
                )

    def _translated(self, node: exp.Expression) -> exp.Expression | None:
        """What stands in its place, by a rule of the dialect's own or the one of all."""
        own, rule = self._own.get(type(node)), self._rules.get(type(node))
        try:
            found = None if own is None else checked_growth(own(node, self._context))
        except UnsureMeaningError as error:
            raise self._refused(node, str(error), error.hint) from error
        return rule(node) if found is None and rule is not None else found

    def _refused(self, node: exp.Expr, why: str, hint: str = "") -> UntranslatedError:
        return refusal_of(node, self._sql, self._tokens, self._dialect, why, hint)

    def _check_parts(self, node: exp.Expr) -> None:
        parts = self._parts.get(type(node))
        if parts is None:
            raise self._refused(node, unlisted(node))
        for name, value in node.args.items():
            if value and name not in parts:
                raise self._refused(node, has_part(name))
        if isinstance(node, exp.SetOperation):
            for part in _BINARY:
                branch = node.args[part]
                if not isinstance(branch, exp.Subquery) and branch.args.get("with_"):
                    raise self._refused(branch, "it's a branch with WITH", "put parentheses")
        if isinstance(node, _TESTS):
            for part in ("this", "expression", "low", "high"):
                if isinstance(node.args.get(part), (*_TESTS, exp.Connector, exp.Not)):
                    raise self._refused(node, "what is first isn't known", "put parentheses")

    # What a node must be beyond its parts, and what stands in its place

    def _join(self, node: exp.Expression) -> None:
        side, kind = (str(node.args.get(k) or "").upper() for k in ("side", "kind"))
        if side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "INNER", "OUTER", "CROSS"):
            raise self._refused(node, f"it's a {side} {kind} join")
        if side and self._dialect == "clickhouse":
            raise self._refused(node, "rows without a partner may have other values than NULL")

    def _fetch(self, node: exp.Expression) -> exp.Expression:
        count = node.args.get("count")
        return exp.Limit(expression=count or exp.Literal.number(1))

    def _first(self, node: exp.Expression) -> None:
        number = node.args.get("expression")
        if not isinstance(number, exp.Literal) or not number.name.isdigit():
            raise self._refused(node, "only constant numbers of rows are")

    def _add(self, node: exp.Expression) -> None:
        """Days of a date, and what is between two, are of other types in each dialect."""
        left, right = node.args["this"], node.args["expression"]
        if isinstance(left, exp.Interval) or isinstance(right, exp.Interval):
            return
        kinds = {self._kinds.of(left), self._kinds.of(right)}
        numbers = kinds & _NUMBERS
        # What isn't known may be a date, which only some take for a number.
        odd = {None, "other", "array", "map", "row"} & kinds
        unsure = bool(odd) and self._dialect in _OF_ALL and numbers <= {"whole"}
        if not numbers or "date" in kinds or unsure:
            raise self._refused(
                node, "whether both sides are numbers isn't known", "write INTERVAL '3' DAY"
            )

    def _grouping(self, node: exp.Expression) -> None:
        if len(node.expressions) != 1:
            raise self._refused(node, "only that of one key is")

    def _like(self, node: exp.Expression) -> None:
        pattern = node.args["expression"]
        if not isinstance(pattern, exp.Literal) or "\\" in pattern.name:
            raise self._refused(node, "only constant patterns without a backslash are")

    def _cast(self, node: exp.Expression) -> exp.Expression | None:
        to, operand = node.args["to"], node.this
        type_, constant = to.this, isinstance(operand, exp.Literal) and operand.is_string
        if type_ is exp.DataType.Type.DATE:
            if constant and not _DATE.match(operand.name):
                raise self._refused(node, "it isn't a date")
            return _typed("DATE", operand) if constant else None
        # To ClickHouse what is cut off isn't rounded.
        scaled = type_ is exp.DataType.Type.DECIMAL and len(to.expressions) == 2
        scaled = scaled and self._dialect != "clickhouse"
        if type_ is exp.DataType.Type.DOUBLE or scaled:
            return None
        kind = self._kinds.of(operand)
        if type_ in _INTEGERS and kind in ("whole", "string"):
            return None
        if type_ in self._texts() and not to.expressions and kind in ("whole", "string", "date"):
            return None
        zoned = type_ is exp.DataType.Type.TIMESTAMPTZ
        pattern = _DATE if zoned else _TIME
        if constant and type_ in _TIMES and self._dialect in _WITHOUT_ZONE:
            if not pattern.match(operand.name):
                raise self._refused(node, "it isn't a time without a zone")
            return _typed(_TIMES[type_], operand)
        raise self._refused(node, "what is cast to that type may be rounded or written otherwise")

    def _texts(self) -> frozenset[object]:
        """CHAR is a text of one letter, but to some."""
        whole = self._dialect in ("mysql", "duckdb")
        return _TEXTS | {exp.DataType.Type.CHAR} if whole else _TEXTS

    def _extract(self, node: exp.Expression) -> None:
        if node.name.upper() not in _EXTRACTED:
            raise self._refused(node, "that part isn't counted alike, or has another type")

    def _trunc(self, node: exp.Expression) -> None:
        unit = node.args.get("unit")
        if unit is None or unit.name.upper() not in _UNITS:
            raise self._refused(node, "that unit isn't known to be the same")

    def _interval(self, node: exp.Expression) -> None:
        unit, number = node.args.get("unit"), node.this
        known = isinstance(number, exp.Literal) and number.name.lstrip("-").isdigit()
        if not known or unit is None or unit.name.upper().removesuffix("S") not in _INTERVALS:
            raise self._refused(node, "only constant numbers of one unit are")
        unit.set("this", unit.name.upper().removesuffix("S"))

    def _substring(self, node: exp.Expression) -> None:
        start, length = node.args.get("start"), node.args.get("length")
        numbers = [one for one in (start, length) if one is not None]
        plain = all(isinstance(one, exp.Literal) and one.name.isdigit() for one in numbers)
        if any(one.args.get("is_string") for one in numbers):
            plain = False
        self._letters(node)
        if start is None or not plain or start.name == "0":
            raise self._refused(node, "only constant places from 1 on are")

    def _length(self, node: exp.Expression) -> None:
        written = str(node.meta.get("written"))
        if node.args.get("binary") or (self._dialect == "clickhouse" and written == "length"):
            raise self._refused(node, "it counts bytes there", "write CHAR_LENGTH")

    def _spread(self, node: exp.Expression) -> None:
        if self._dialect in _OF_ALL and "samp" not in str(node.meta.get("written")):
            raise self._refused(node, "it's that of a whole population", "write …_POP or …_SAMP")

    def _count(self, node: exp.Expression) -> exp.Expression | None:
        if node.this is None:
            return exp.Count(this=exp.Star())
        return None

    def _distinct(self, node: exp.Expression) -> None:
        if any(isinstance(one, (exp.Tuple, exp.Paren)) for one in node.expressions):
            raise self._refused(node, "rows as values are counted otherwise")

    def _literal(self, node: exp.Expression) -> exp.Expression | None:
        if node.args.get("is_string") or node.name.isdigit() or self._dialect not in _INEXACT:
            return None
        return exp.Var(this=f"{node.name}D")

    def _div(self, node: exp.Expression) -> exp.Expression | None:
        left, right = node.args["this"], node.args["expression"]
        if self._dialect in _TO_ZERO:
            return exp.Div(this=left.copy(), expression=_not_zero(right))
        if not node.args.get("typed"):
            return exp.Div(this=left.copy(), expression=right.copy())
        kinds = {self._kinds.of(left), self._kinds.of(right)}
        if kinds == {"whole"}:
            return exp.paren(exp.IntDiv(this=left.copy(), expression=right.copy()))
        if not kinds & {"decimal", "double", "real"}:
            raise self._refused(
                node,
                "whether both sides are integers isn't known",
                "cast one side to DOUBLE or DECIMAL, or both to BIGINT",
            )
        return exp.Div(this=left.copy(), expression=right.copy())

    def _mod(self, node: exp.Expression) -> exp.Expression | None:
        if self._dialect not in _TO_ZERO:
            return None
        return exp.Mod(this=node.this.copy(), expression=_not_zero(node.args["expression"]))

    def _alias(self, node: exp.Expression) -> None:
        """ClickHouse takes a name for the output before it takes it for a column."""
        if not isinstance(node.parent, exp.Select):
            raise self._refused(node, "it's a name inside an expression")
        if self._dialect != "clickhouse":
            return
        own, name = node.this, node.alias.lower()
        if isinstance(own, exp.Column) and own.name.lower() == name:
            return
        order = node.parent.args.get("order")
        for column in node.parent.find_all(exp.Column):
            inside = order is not None and column.find_ancestor(exp.Order) is order
            if column.name.lower() == name and not column.table and not inside:
                raise self._refused(node, "the name may be the output's or a column's")

    def _select(self, node: exp.Expression) -> None:
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.expressions:
            raise self._refused(node, "it has DISTINCT ON")
        with_ = node.args.get("with_")
        if with_ is not None and with_.args.get("recursive"):
            raise self._refused(node, "it has WITH RECURSIVE")

    # Where an operator or a clause is read otherwise

    def _cte(self, node: exp.Expression) -> None:
        node.set("materialized", None)

    def _tuple(self, node: exp.Expression) -> None:
        """Rows are values to Spark: NULL in one is equal to NULL."""
        above = node.parent
        if isinstance(above, exp.In) and above.args.get("query") and node.arg_key == "this":
            return
        if isinstance(above, exp.Group) and not node.expressions:
            return
        if not isinstance(above, (exp.Values, exp.GroupingSets, exp.Rollup, exp.Cube)):
            raise self._refused(node, "rows as values are compared otherwise")

    def _pipe(self, node: exp.Expression) -> exp.Expression | None:
        """To Spark alone it's an operator as + is."""
        self._check_texts(node, (node.this, node.expression))
        for part in ("this", "expression"):
            if isinstance(node.args[part], (exp.Add, exp.Sub)):
                node.set(part, exp.paren(node.args[part].copy()))
        return None

    def _concat(self, node: exp.Expression) -> None:
        self._check_texts(node, node.expressions)
        if node.args.get("coalesce"):
            texts = [
                exp.cast(one.copy(), "string", dialect=SPARK)
                if self._kinds.of(one) in ("whole", "date")
                else one
                for one in node.expressions
            ]
            node.set("expressions", texts)

    def _check_texts(self, node: exp.Expression, operands: Iterable[exp.Expression]) -> None:
        for one in operands:
            known = self._kinds.of(one) in ("whole", "string", "date")
            if not known and not isinstance(one, exp.Null) and self._dialect != "trino":
                raise self._refused(node, "how its parts are written as texts isn't known")

    def _frame(self, node: exp.Expression) -> None:
        if str(node.args.get("kind") or "ROWS").upper() not in ("ROWS", "RANGE"):
            raise self._refused(node, "Spark's frames are of ROWS or RANGE")

    def _in(self, node: exp.Expression) -> None:
        """ClickHouse leaves NULL out of what a value may be in."""
        self._compared(node)
        if self._dialect != "clickhouse":
            return
        constant = all(isinstance(one, exp.Literal) for one in node.expressions)
        above = node.parent
        while isinstance(above, (exp.And, exp.Paren)):
            above = above.parent
        if node.args.get("query") is None and constant:
            return
        if not isinstance(above, exp.Where):
            raise self._refused(node, "NULL may be among the values")

    def _compared(self, node: exp.Expression) -> None:
        """MySQL compares a date with a text that has a time as times."""
        names = ("this", "expression", "low", "high")
        sides = [node.args.get(name) for name in names]
        sides = [one for one in (*sides, *(node.args.get("expressions") or ())) if one is not None]
        timed = any(
            isinstance(one, exp.Literal) and one.is_string and len(one.name) > _DATE_LENGTH
            for one in sides
        )
        if timed and self._dialect in _TO_ZERO and "date" in map(self._kinds.of, sides):
            raise self._refused(node, "there a date is compared with it as a time")

    def _order(self, node: exp.Expression) -> None:
        """Inside an expression Spark takes a name for an output's, others for a column's."""
        select = node.parent
        if not isinstance(select, exp.Select) or self._dialect not in _INPUTS_FIRST:
            return
        own = {
            one.alias.lower()
            for one in select.expressions
            if isinstance(one, exp.Alias)
            and not (
                isinstance(one.this, exp.Column) and one.this.name.lower() == one.alias.lower()
            )
        }
        for item in node.expressions:
            if isinstance(item.this, exp.Column):
                continue
            for column in item.find_all(exp.Column):
                name = column.name.lower()
                if not column.table and name in own and column.meta_get(RESOLVED) == BOTH:
                    raise self._refused(item, "the name may be the output's or a column's")

    def _subtotals(self, node: exp.Expression) -> None:
        if self._dialect == "clickhouse":
            raise self._refused(node, "keys that are left out may have other values than NULL")

    def _set(self, node: exp.Expression) -> None:
        if self._dialect == "clickhouse" and not node.args.get("distinct"):
            raise self._refused(node, "how often a row is left isn't alike", "write DISTINCT")

    def _letters(self, node: exp.Expression) -> None:
        if self._dialect in _OF_BYTES:
            raise self._refused(node, "it's one of bytes there")

    def _first_value(self, node: exp.Expression) -> None:
        if self._dialect == "clickhouse":
            raise self._refused(node, "NULL is passed over there")


def _outputs(tree: exp.Expr | None) -> Iterator[exp.Expression]:
    """What stands in the columns of a query's answer; of set operations in all branches."""
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if isinstance(tree, exp.SetOperation):
        yield from _outputs(tree.this)
        yield from _outputs(tree.expression)
    elif isinstance(tree, exp.Select):
        yield from tree.expressions


def _closed(found: exp.Expression, node: exp.Expr) -> exp.Expression:
    """The same, in parentheses if it's an operator beside others in the place of none."""
    above = node.parent
    if isinstance(above, exp.Paren) or isinstance(found, exp.Paren) or isinstance(node, LOOSE):
        return found
    return exp.paren(found) if isinstance(above, LOOSE) and isinstance(found, LOOSE) else found


def _needs_columns(node: exp.Expr) -> bool:
    """Whether what the columns of tables are decides the node's meaning."""
    is_of_session = isinstance(node, exp.Column) and node.name.lower() in _OF_SESSIONS
    return is_of_session or type(node) not in _UNTYPED


def _typed(word: str, literal: exp.Expression) -> exp.Expression:
    """A constant with its type in front, as Spark's own."""
    return exp.Var(this=f"{word} {literal.sql(dialect=SPARK)}")


def _not_zero(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Literal) and node.name.strip("0."):
        return node.copy()
    return cast(exp.Expression, exp.func("NULLIF", node.copy(), exp.Literal.number(0)))


_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_TESTS = (*_COMPARISONS, exp.Is, exp.Like, exp.ILike, exp.In, exp.Between)
_QUERY_BEGINS = re.compile(
    r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(?:select|with|values|from|table)\b",
    re.IGNORECASE | re.DOTALL,
)
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?![\d-])")
_DATE_LENGTH = len("2024-01-31")
_TIME = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:[ T]\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.\d{1,6})?)?)?$")
_INTEGERS = frozenset(
    {
        exp.DataType.Type.TINYINT,
        exp.DataType.Type.SMALLINT,
        exp.DataType.Type.INT,
        exp.DataType.Type.BIGINT,
    }
)
_TEXTS: frozenset[object] = frozenset({exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR})
_TIMES = {
    exp.DataType.Type.TIMESTAMP: "TIMESTAMP_NTZ",
    exp.DataType.Type.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
    exp.DataType.Type.TIMESTAMPTZ: "TIMESTAMP",
}
_NUMBERS = frozenset({"whole", "decimal", "double", "real"})
_TOTALLED = frozenset({"trino", "postgres", "duckdb"})
"""To these the empty one of several grouping sets is a row if there are no rows."""
_UNTYPED = frozenset(
    {
        *(exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Identifier, exp.Column, exp.Star),
        *(exp.Literal, exp.Limit, exp.Offset, exp.Fetch, exp.Order, exp.Ordered),
    }
)
"""Nodes that no kind matters to: a statement of these alone is translated without its columns."""
_ZONED = (exp.AtTimeZone, exp.UnixToTime, exp.FromISO8601Timestamp, exp.Anonymous)
"""What may show a moment in another zone."""
_UNZONED = "CAST it AS TIMESTAMP to show that zone's clock"
