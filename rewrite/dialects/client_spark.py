"""A client's query in Spark SQL, with its names completed and nothing in it that reaches further.

Spark's grammar has parts that run programs (TRANSFORM), call Java (`reflect`) or read whatever file
is named. Promise: the text is written anew from a tree of listed nodes, its functions are listed
ones of Spark, and each of its tables is one of the given catalogs by its full name.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewrite.analysis.syntax_errors import syntax_fault
from rewrite.client import ClientContext, FullName
from rewrite.dialects.qualify_names import completed
from rewrite.errors import StatementError, UnknownFunctionError, UntranslatedError
from rewrite.parse.bounds import TooDeepError, too_deep
from rewrite.parse.parse import PARSER_FAILS, UnsureError, parse, written_name
from rewrite.parse.to_spark_sql import spark_text
from rewrite.text.printable import one_line, shortened
from rewrite.text.source_position import place_of
from rewrite.text.spark_keywords import FUNCTIONS, words
from rewrite.text.suggestions import closest, did_you_mean

_SPARK = "spark"
_SHOWN = 80
_NODES = (
    *(exp.Query, exp.Values, exp.Condition, exp.From, exp.Join, exp.Where, exp.Group, exp.Having),
    *(
        exp.Order,
        exp.Ordered,
        exp.Limit,
        exp.Offset,
        exp.Fetch,
        exp.LimitOptions,
        exp.With,
        exp.CTE,
    ),
    *(exp.Table, exp.TableAlias, exp.Identifier, exp.Alias, exp.Star, exp.Tuple, exp.Distinct),
    *(exp.GroupingSets, exp.Rollup, exp.Cube, exp.Window, exp.WindowSpec, exp.Filter, exp.Version),
    *(exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.Interval, exp.IntervalSpan, exp.Var),
    *(exp.Lateral, exp.TableSample, exp.Pivot, exp.Qualify, exp.Lambda, exp.If),
    *(exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup, exp.Subquery, exp.Escape, exp.All),
)
_REFUSED = (
    *(exp.CurrentUser, exp.SessionUser, exp.CurrentCatalog, exp.CurrentSchema),
    *(exp.Placeholder, exp.Parameter, exp.SessionParameter),
)
"""Conditions that aren't answered: what a session has, and parameters, for which none is given."""
_TOLD = words("""
    current_catalog current_database current_schema current_timezone current_user session_user user
    version
""")
"""Functions, also without parentheses, that tell of Spark's session instead of the client's."""
_REACHING = words("""
    input_file_block_length input_file_block_start input_file_name java_method reflect try_reflect
    identifier
""")
"""Functions that call Java, or tell where files are."""
_READERS = ("xpath", "from_xml", "schema_of_xml")
"""Beginnings of functions whose parser may read what a text names."""


def completed_spark(
    client: ClientContext, sql: str, catalogs: Collection[str]
) -> tuple[str, tuple[FullName, ...], None, bool]:
    """The query's text, its tables, no names of outputs, and that no moment is in the text.

    StatementError for a fault of the syntax, UntranslatedError for what a client may not ask;
    errors of names as in `completed`.
    """
    try:
        tree = parse(sql, _SPARK)
        if not isinstance(tree, (exp.Query, exp.Values)):
            raise UntranslatedError("the statement isn't a query", hint="queries are answered")
        for node in tree.walk():
            _check(node, sql)
        tables = completed(tree, _SPARK, client, catalogs)
        return spark_text(tree), tables, None, False
    except TooDeepError as error:
        raise too_deep(error) from error
    except RecursionError as error:
        raise too_deep(TooDeepError("Its operators are nested too deeply.")) from error
    except UnsureError as error:
        raise UntranslatedError(f"the statement isn't read: {error}", hint=_OTHERWISE) from error
    except PARSER_FAILS as error:
        raise _unread(sql) if isinstance(error, SqlglotError) else _refused(sql) from error


_OTHERWISE = "write it in another way, or in Trino's SQL: SET SESSION dialect = 'trino'"


def _check(node: exp.Expr, sql: str) -> None:
    if not isinstance(node, _NODES):
        raise _refused(node.sql(_SPARK))
    if isinstance(node, exp.Column) and len(node.parts) == 1:
        own = node.parts[0]
        if not own.args.get("quoted") and own.name.lower() in _TOLD:
            raise _refused(own.name, "name a column with its table, as t.user")
    if isinstance(node, _REFUSED):
        raise _refused(node.sql(_SPARK))
    name = written_name(cast(exp.Expression, node)) if isinstance(node, exp.Func) else None
    if name is None:
        return
    bare = name.removesuffix("(…)")
    if bare in _TOLD or bare in _REACHING or bare.startswith(_READERS):
        raise _refused(bare)
    if bare not in FUNCTIONS and not isinstance(node, (exp.Cast, exp.TryCast, exp.Any)):
        near = closest(bare, sorted(FUNCTIONS))
        start, end = node.meta_get("start"), node.meta_get("end")
        raise UnknownFunctionError(
            f"there is no function {one_line(bare)[:_SHOWN]}",
            hint=did_you_mean(near) or "Spark's built-in functions are known",
            at=None if start is None else place_of(sql, int(start), int(end) + 1),
            suggestions=near,
        )


def _refused(shown: str, hint: str = _OTHERWISE) -> UntranslatedError:
    text = shortened(" ".join(one_line(shown).split()), _SHOWN)
    return UntranslatedError(f"`{text}` isn't answered for a client", hint=hint)


def _unread(sql: str) -> StatementError:
    fault = syntax_fault(sql)
    if fault is None:
        return StatementError("the statement can't be read as Spark SQL", hint=_OTHERWISE)
    hint = did_you_mean(fault.suggestions) or "mend the statement at this place"
    return StatementError(fault.message, hint=hint, at=fault.at, suggestions=fault.suggestions)
