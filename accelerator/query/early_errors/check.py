"""Raises the error of a statement that is surely wrong, with Spark's class, place and what is near.

Promise: it raises only what Spark raises for the same statement; what isn't sure passes.
"""

from __future__ import annotations

import sys

from msgspec.structs import replace

from accelerator.errors import (
    AcceleratorError,
    ParameterError,
    StatementError,
    UnknownColumnError,
    UnknownFunctionError,
    UnknownTableError,
)
from accelerator.query.statements.catalog import BEGINNINGS, FORMS
from accelerator.query.statements.nearly_ours import nearly_ours
from accelerator.query.statements.nodes import Other, Query, Statement
from accelerator.query.statements.parse import vacuum_fault
from accelerator.query.virtual_tables.spark_views import SUFFIX
from rewrite.analysis.misuse import ALIAS, CAST, UNBOUND, misuse, unbound
from rewrite.analysis.syntax_errors import Fault, syntax_fault
from rewrite.analysis.unknown_names import (
    TABLE,
    CatalogTables,
    Unknown,
    unknown_name,
    unknown_target,
)
from rewrite.identifiers.qualified_name import joined
from rewrite.text.printable import one_line, shortened
from rewrite.text.suggestions import did_you_mean

_NAME_MAX = 120
_PARSING = (
    *("INVALID_STATEMENT_OR_CLAUSE", "PARSE_SYNTAX_ERROR", "UNCLOSED_BRACKETED_COMMENT"),
    *("_LEGACY_ERROR_TEMP_0064",),
)
_EXCEPTIONS = {
    **dict.fromkeys(_PARSING, "ParseException"),
    CAST: "NumberFormatException",
    "UNSUPPORTED_FEATURE.CREATE_PIPELINE_DATASET_QUERY_EXECUTION": "UnsupportedOperationException",
}
"""Spark's exceptions that aren't AnalysisException, by the class of the error."""
_MEND = "mend the statement"
_AT = f"{_MEND} at the mark"
_FAULTS = {ALIAS: UnknownColumnError, UNBOUND: ParameterError}
_KINDS: dict[str, tuple[type[AcceleratorError], str, str]] = {
    "function": (UnknownFunctionError, "there is no function", "SHOW FUNCTIONS lists them"),
    "table": (UnknownTableError, "there is no table", "SHOW TABLES IN a namespace lists them"),
    "column": (UnknownColumnError, "there is no column", "DESCRIBE a table lists its columns"),
}


def check(statement: Statement, tables: CatalogTables) -> None:
    """The typed error, where Spark surely has one for a statement that is left to it."""
    if isinstance(statement, Query):
        if SUFFIX in statement.bare.lower():
            return  # a table of files, which is ours
        if not statement.translated:
            raise_fault(syntax_fault(statement.bare) or unbound(statement.bare))
        unknown = unknown_name(statement.bare, tables)
        if unknown is not None and statement.translated:  # its place is one of another text
            unknown = replace(unknown, at=None)
        raise_unknown(unknown)
        raise_fault(misuse(statement.bare, tables, placed=not statement.translated))
    elif isinstance(statement, Other):
        own = vacuum_fault(statement.sql)
        if own is not None:
            raise own
        raise_fault(nearly_ours(statement.sql, tables))
        raise_fault(syntax_fault(statement.sql, tuple(BEGINNINGS), [form.words for form in FORMS]))
        raise_unknown(unknown_target(statement.sql, tables))
    else:
        _check_table(statement, tables)


def _check_table(statement: Statement, tables: CatalogTables) -> None:
    """A statement of ours is left to Spark where its table isn't one of Iceberg."""
    table = getattr(statement, "table", None)
    if table is not None and tables.is_absent(table):
        raise_unknown(Unknown("table", joined(table), None, TABLE, tables.near(table)))


def raise_fault(fault: Fault | None) -> None:
    """The fault of the syntax as an error, if there is one."""
    if fault is not None:
        kind = _FAULTS.get(fault.error_class, StatementError)
        raise sparks_too(kind, fault.error_class)(
            fault.message,
            hint=did_you_mean(fault.suggestions) or fault.hint or (_AT if fault.at else _MEND),
            error_class=fault.error_class,
            at=fault.at,
            suggestions=fault.suggestions,
        )


def raise_unknown(unknown: Unknown | None) -> None:
    """The name that nobody knows as an error, if there is one; `placed` may find its place."""
    if unknown is not None:
        kind, told, otherwise = _KINDS[unknown.what]
        raise sparks_too(kind, unknown.error_class)(
            f"{told} {_line(unknown.name)}",
            hint=did_you_mean(unknown.suggestions) or otherwise,
            error_class=unknown.error_class,
            at=unknown.at,
            suggestions=unknown.suggestions,
            unknown=unknown.name,
        )


def _line(name: str) -> str:
    """A name in a message: without what moves a cursor, and not all of a long one."""
    return shortened(one_line(name), _NAME_MAX)


def sparks_too(kind: type[AcceleratorError], error_class: str) -> type[AcceleratorError]:
    """The error's class, which is Spark's for the same error as well where that is loaded.

    Who catches Spark's error for a statement has imported it.
    """
    home = sys.modules.get("pyspark.errors")
    sparks = getattr(home, _EXCEPTIONS.get(error_class, "AnalysisException"), None)
    if sparks is None:
        return kind
    members = {"__doc__": kind.__doc__, "getCondition": lambda error: error.error_class}
    return type(kind.__name__, (kind, sparks), members)
