"""Errors as Trino's clients know them: names and numbers of Trino's own, for each of ours.

A worker tells of an error by a `TrinoError`, which is plain JSON; the gateway makes the protocol's
`error` of it. Promise: every error has a code of Trino's, a message of one or more whole sentences
with the hint in it, and no secret that stands in an address; what comes through a pipe is checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from accelerator.common.redaction import redacted
from accelerator.errors import AcceleratorError
from accelerator.gateway.trino.spark_errors import spark_error, without_stack
from rewrite.text.printable import printable, shortened

NUMBERS: Mapping[str, int] = {
    "GENERIC_USER_ERROR": 0,
    "SYNTAX_ERROR": 1,
    "USER_CANCELED": 3,
    "PERMISSION_DENIED": 4,
    "NOT_FOUND": 5,
    "FUNCTION_NOT_FOUND": 6,
    "INVALID_FUNCTION_ARGUMENT": 7,
    "DIVISION_BY_ZERO": 8,
    "INVALID_CAST_ARGUMENT": 9,
    "ALREADY_EXISTS": 12,
    "NOT_SUPPORTED": 13,
    "INVALID_SESSION_PROPERTY": 14,
    "CONSTRAINT_VIOLATION": 16,
    "TRANSACTION_CONFLICT": 17,
    "NUMERIC_VALUE_OUT_OF_RANGE": 19,
    "UNKNOWN_TRANSACTION": 20,
    "NOT_IN_TRANSACTION": 21,
    "SUBQUERY_MULTIPLE_ROWS": 28,
    "QUERY_REJECTED": 31,
    "QUERY_TEXT_TOO_LARGE": 35,
    "ADMINISTRATIVELY_KILLED": 38,
    "TYPE_NOT_FOUND": 43,
    "CATALOG_NOT_FOUND": 44,
    "SCHEMA_NOT_FOUND": 45,
    "TABLE_NOT_FOUND": 46,
    "COLUMN_NOT_FOUND": 47,
    "ROLE_NOT_FOUND": 48,
    "TABLE_ALREADY_EXISTS": 50,
    "DUPLICATE_NAMED_QUERY": 53,
    "MISSING_CATALOG_NAME": 56,
    "MISSING_SCHEMA_NAME": 57,
    "TYPE_MISMATCH": 58,
    "INVALID_LITERAL": 59,
    "AMBIGUOUS_NAME": 62,
    "MISSING_GROUP_BY": 64,
    "MISSING_OVER": 66,
    "NESTED_AGGREGATION": 67,
    "EXPRESSION_NOT_AGGREGATE": 73,
    "INVALID_ARGUMENTS": 76,
    "INVALID_PARAMETER_USAGE": 80,
    "GENERIC_INTERNAL_ERROR": 65_536,
    "SERVER_SHUTTING_DOWN": 65_545,
    "SERVER_STARTING_UP": 65_548,
    "CONFIGURATION_INVALID": 65_559,
    "CONFIGURATION_UNAVAILABLE": 65_560,
    "GENERIC_INSUFFICIENT_RESOURCES": 131_072,
    "QUERY_QUEUE_FULL": 131_074,
    "EXCEEDED_TIME_LIMIT": 131_075,
    "EXCEEDED_LOCAL_MEMORY_LIMIT": 131_079,
    "EXCEEDED_SCAN_LIMIT": 131_081,
}
"""Trino's names of errors, and their numbers, which tell of the type as well."""
_INTERNAL = "GENERIC_INTERNAL_ERROR"
_TYPES = ("USER_ERROR", "INTERNAL_ERROR", "INSUFFICIENT_RESOURCES")
_TYPE_SIZE = 65_536

NAMES: Mapping[str, str] = {
    "access_denied": "PERMISSION_DENIED",
    "advice_invalid": "INVALID_ARGUMENTS",
    "advice_not_found": "NOT_FOUND",
    "advice_stale": "NOT_FOUND",
    "append_conflict": "TRANSACTION_CONFLICT",
    "append_key_used": "INVALID_ARGUMENTS",
    "append_unknown": _INTERNAL,
    "append_unsupported": "NOT_SUPPORTED",
    "build_failed": _INTERNAL,
    "call_arguments": "INVALID_ARGUMENTS",
    "cancelled": "USER_CANCELED",
    "catalog_missing": "MISSING_CATALOG_NAME",
    "catalog_read_only": "NOT_SUPPORTED",
    "catalog_unavailable": "CONFIGURATION_UNAVAILABLE",
    "catalog_unknown": "CATALOG_NOT_FOUND",
    "clustering_failed": _INTERNAL,
    "column_unknown": "COLUMN_NOT_FOUND",
    "config_invalid": "CONFIGURATION_INVALID",
    "constraint_invalid": "INVALID_ARGUMENTS",
    "cube_definition_unsupported": "NOT_SUPPORTED",
    "cube_exists": "ALREADY_EXISTS",
    "cube_not_found": "NOT_FOUND",
    "cursor_gone": "NOT_FOUND",
    "dialect_untranslated": "NOT_SUPPORTED",
    "engine_failed": _INTERNAL,
    "equality_deletes_need_spark": _INTERNAL,
    "error": _INTERNAL,
    "function_argument": "INVALID_FUNCTION_ARGUMENT",
    "function_unknown": "FUNCTION_NOT_FOUND",
    "gateway_busy": "QUERY_QUEUE_FULL",
    "gateway_unreachable": _INTERNAL,
    "guard": "GENERIC_INSUFFICIENT_RESOURCES",
    "guard_bytes": "EXCEEDED_SCAN_LIMIT",
    "guard_cross_join": "GENERIC_INSUFFICIENT_RESOURCES",
    "guard_files": "EXCEEDED_SCAN_LIMIT",
    "guard_partition": "GENERIC_INSUFFICIENT_RESOURCES",
    "guard_rows": "EXCEEDED_SCAN_LIMIT",
    "guard_sort": "GENERIC_INSUFFICIENT_RESOURCES",
    "guard_unreadable": "GENERIC_INSUFFICIENT_RESOURCES",
    "header_invalid": "GENERIC_USER_ERROR",
    "host_unknown": "GENERIC_USER_ERROR",
    "index_exists": "ALREADY_EXISTS",
    "index_invalid": "INVALID_ARGUMENTS",
    "index_not_found": "NOT_FOUND",
    "internal": _INTERNAL,
    "killed": "ADMINISTRATIVELY_KILLED",
    "login": "PERMISSION_DENIED",
    "manifest_unreadable": _INTERNAL,
    "may_raise": _INTERNAL,
    "memory_exceeded": "EXCEEDED_LOCAL_MEMORY_LIMIT",
    "method": "NOT_SUPPORTED",
    "no_worker": "SERVER_STARTING_UP",
    "not_built_yet": "NOT_SUPPORTED",
    "not_found": "NOT_FOUND",
    "object_store_unavailable": _INTERNAL,
    "origin_foreign": "PERMISSION_DENIED",
    "output_failed": _INTERNAL,
    "page_not_there": "NOT_FOUND",
    "parameters_invalid": "INVALID_PARAMETER_USAGE",
    "prepared_not_found": "NOT_FOUND",
    "query_log_invalid": "INVALID_ARGUMENTS",
    "queue_full": "QUERY_QUEUE_FULL",
    "queue_timeout": "QUERY_QUEUE_FULL",
    "rate_limited": "GENERIC_INSUFFICIENT_RESOURCES",
    "refused": "NOT_SUPPORTED",
    "relate_invalid": "INVALID_ARGUMENTS",
    "relate_key_not_unique": "CONSTRAINT_VIOLATION",
    "request_invalid": "INVALID_ARGUMENTS",
    "request_media": "INVALID_ARGUMENTS",
    "request_timeout": "GENERIC_USER_ERROR",
    "results_unread": "GENERIC_INSUFFICIENT_RESOURCES",
    "role_not_found": "ROLE_NOT_FOUND",
    "row_raised": _INTERNAL,
    "rows_need_spark": _INTERNAL,
    "run_busy": "TRANSACTION_CONFLICT",
    "run_ended": "NOT_SUPPORTED",
    "run_not_found": "NOT_FOUND",
    "schema_missing": "MISSING_SCHEMA_NAME",
    "schema_unknown": "SCHEMA_NOT_FOUND",
    "selection_schema_unsupported": _INTERNAL,
    "selection_unsupported": _INTERNAL,
    "session_closed": "SERVER_SHUTTING_DOWN",
    "session_property_invalid": "INVALID_SESSION_PROPERTY",
    "snapshot_unknown": "INVALID_ARGUMENTS",
    "spark_elsewhere": _INTERNAL,
    "spark_missing": "NOT_SUPPORTED",
    "statement_ended": "NOT_SUPPORTED",
    "statement_ended_worker": _INTERNAL,
    "statement_invalid": "SYNTAX_ERROR",
    "statement_not_found": "NOT_FOUND",
    "statement_texts_too_long": "NOT_SUPPORTED",
    "statement_too_deep": "QUERY_TEXT_TOO_LARGE",
    "statement_timeout": "EXCEEDED_TIME_LIMIT",
    "statistics_failed": _INTERNAL,
    "store_conflict": "TRANSACTION_CONFLICT",
    "store_unavailable": _INTERNAL,
    "table_not_iceberg": "NOT_SUPPORTED",
    "table_replaced": "TABLE_NOT_FOUND",
    "table_unreadable": "NOT_SUPPORTED",
    "table_unknown": "TABLE_NOT_FOUND",
    "too_many_attempts": "GENERIC_INSUFFICIENT_RESOURCES",
    "upload_invalid": "INVALID_ARGUMENTS",
    "upload_schema": "TYPE_MISMATCH",
    "upload_storage": "GENERIC_INSUFFICIENT_RESOURCES",
    "upload_too_large": "QUERY_TEXT_TOO_LARGE",
    "vacuum_refused": "NOT_SUPPORTED",
    "value_unrepresentable": "NOT_SUPPORTED",
    "worker_lost": _INTERNAL,
    "worker_message": _INTERNAL,
    "workload_empty": "NOT_FOUND",
}
"""Trino's name for each code of ours; a code that is new belongs here."""
_OF_SPARK: Mapping[str, str] = {
    "AMBIGUOUS_COLUMN_OR_FIELD": "AMBIGUOUS_NAME",
    "AMBIGUOUS_REFERENCE": "AMBIGUOUS_NAME",
    "ARITHMETIC_OVERFLOW": "NUMERIC_VALUE_OUT_OF_RANGE",
    "BINARY_ARITHMETIC_OVERFLOW": "NUMERIC_VALUE_OUT_OF_RANGE",
    "CANNOT_CAST_DATATYPE": "TYPE_MISMATCH",
    "CANNOT_PARSE_DECIMAL": "INVALID_CAST_ARGUMENT",
    "CANNOT_PARSE_TIMESTAMP": "INVALID_CAST_ARGUMENT",
    "CAST_INVALID_INPUT": "INVALID_CAST_ARGUMENT",
    "CAST_OVERFLOW": "NUMERIC_VALUE_OUT_OF_RANGE",
    "CONVERSION_INVALID_INPUT": "INVALID_CAST_ARGUMENT",
    "DATATYPE_MISMATCH": "TYPE_MISMATCH",
    "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION": "NUMERIC_VALUE_OUT_OF_RANGE",
    "DIVIDE_BY_ZERO": "DIVISION_BY_ZERO",
    "DUPLICATED_CTE_NAMES": "DUPLICATE_NAMED_QUERY",
    "GROUP_BY_AGGREGATE": "NESTED_AGGREGATION",
    "INTERVAL_DIVIDED_BY_ZERO": "DIVISION_BY_ZERO",
    "INVALID_NUMERIC_LITERAL_RANGE": "INVALID_LITERAL",
    "INVALID_TYPED_LITERAL": "INVALID_LITERAL",
    "MISSING_AGGREGATION": "EXPRESSION_NOT_AGGREGATE",
    "MISSING_GROUP_BY": "MISSING_GROUP_BY",
    "NESTED_AGGREGATE_FUNCTION": "NESTED_AGGREGATION",
    "NUMERIC_OUT_OF_SUPPORTED_RANGE": "NUMERIC_VALUE_OUT_OF_RANGE",
    "NUMERIC_VALUE_OUT_OF_RANGE": "NUMERIC_VALUE_OUT_OF_RANGE",
    "OPERATION_CANCELED": "USER_CANCELED",
    "REMAINDER_BY_ZERO": "DIVISION_BY_ZERO",
    "SCALAR_SUBQUERY_TOO_MANY_ROWS": "SUBQUERY_MULTIPLE_ROWS",
    "SCHEMA_NOT_FOUND": "SCHEMA_NOT_FOUND",
    "TABLE_OR_VIEW_ALREADY_EXISTS": "TABLE_ALREADY_EXISTS",
    "TABLE_OR_VIEW_NOT_FOUND": "TABLE_NOT_FOUND",
    "UNABLE_TO_ACQUIRE_MEMORY": "EXCEEDED_LOCAL_MEMORY_LIMIT",
    "UNRECOGNIZED_SQL_TYPE": "TYPE_NOT_FOUND",
    "UNRESOLVED_COLUMN": "COLUMN_NOT_FOUND",
    "UNRESOLVED_FIELD": "COLUMN_NOT_FOUND",
    "UNRESOLVED_ROUTINE": "FUNCTION_NOT_FOUND",
    "VIEW_NOT_FOUND": "TABLE_NOT_FOUND",
    "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE": "MISSING_OVER",
}
"""By the first part of Spark's conditions."""
_OF_STATES = (
    ("22003", "NUMERIC_VALUE_OUT_OF_RANGE"),
    ("22012", "DIVISION_BY_ZERO"),
    ("22", "INVALID_FUNCTION_ARGUMENT"),
    ("21", "SUBQUERY_MULTIPLE_ROWS"),
    ("0A", "NOT_SUPPORTED"),
    ("42601", "SYNTAX_ERROR"),
    ("42703", "COLUMN_NOT_FOUND"),
    ("42883", "FUNCTION_NOT_FOUND"),
    ("42P01", "TABLE_NOT_FOUND"),
    ("42K09", "TYPE_MISMATCH"),
    ("42", "GENERIC_USER_ERROR"),
    ("53", "GENERIC_INSUFFICIENT_RESOURCES"),
    ("54", "GENERIC_INSUFFICIENT_RESOURCES"),
)
"""By the beginnings of SQL states, longer ones first."""
_STATE = re.compile(r"\bSQLSTATE: ([0-9A-Z]{5})\b")
_OF_MISTAKES = {
    "INVALID_ARGUMENTS": "snapshot_unknown",
    "INVALID_FUNCTION_ARGUMENT": "function_argument",
}
"""Our code for a mistake that Spark, or Iceberg's library, reports without a condition."""
_MESSAGE_MAX = 8_000
_WORD_MAX = 256
_NAME_MAX = 400
"""Characters of a word in a message: paths of files have as many."""
_LONG = re.compile(rf"\S{{{_NAME_MAX + 1},}}")
_PLACE_MAX = 2**31 - 1


class TrinoError(Struct, frozen=True):
    """An error as plain JSON. `kind` is its class's name, `error_class` Spark's condition, if any.

    `line` and `column` count from 1, and are None together.
    """

    code: str
    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None
    error_class: str = ""
    kind: str = ""

    @classmethod
    def from_dict(cls, value: object) -> TrinoError:
        """From a pipe, of which nothing is trusted: what isn't as it should be is left out."""
        if not isinstance(value, Mapping):
            return cls("internal", "the error that was told can't be read")

        def text(key: str, most: int) -> str:
            found = value.get(key)
            return shortened(found, most) if isinstance(found, str) else ""

        def place(key: str) -> int | None:
            found = value.get(key)
            if not isinstance(found, int) or isinstance(found, bool):
                return None
            return found if 0 < found <= _PLACE_MAX else None

        line, column = place("line"), place("column")
        if line is None or column is None:
            line = column = None
        return cls(
            text("code", _WORD_MAX) or "internal",
            text("message", _MESSAGE_MAX) or "the error that was told has no message",
            text("hint", _MESSAGE_MAX),
            line,
            column,
            text("error_class", _WORD_MAX),
            text("kind", _WORD_MAX),
        )


def trino_error(error: BaseException) -> TrinoError:
    """What is told of an error. One that is neither ours nor Spark's is internal, with its text."""
    kind = type(error).__name__
    if isinstance(error, AcceleratorError):
        line, column = error.line, error.column
        if line is None or column is None:
            line = column = None
        message, hint = _clean(error.message), _clean(error.hint)
        return TrinoError(error.code, message, hint, line, column, error.error_class, kind)
    found = spark_error(str(error))
    if found is not None:
        code = "spark" if not found.name else _OF_MISTAKES[found.name]
        return TrinoError(code, _clean(found.message), error_class=found.condition, kind=kind)
    text = without_stack(str(error))
    if isinstance(error, KeyboardInterrupt):
        return TrinoError("cancelled", "the statement was cancelled", kind=kind)
    if isinstance(error, MemoryError):
        return TrinoError(
            "memory_exceeded", "the statement needs more memory than there is", kind=kind
        )
    return TrinoError("internal", _clean(f"{kind}: {text}" if text else kind), kind=kind)


def name_of(error: TrinoError) -> str:
    """Trino's name of it: by Spark's condition, our code, or the SQL state in its message."""
    found = _OF_SPARK.get(error.error_class.partition(".")[0]) or NAMES.get(error.code)
    if found is not None:
        return found
    state = _STATE.search(error.message)
    known = (name for begins, name in _OF_STATES if state and state[1].startswith(begins))
    return next(known, _INTERNAL)


def failure(error: TrinoError) -> dict[str, Any]:
    """The protocol's `error`."""
    name = name_of(error)
    number, message = NUMBERS[name], _sentences(error)
    info: dict[str, Any] = {
        "type": error.kind or error.code,
        "message": message,
        "suppressed": [],
        "stack": [],
    }
    found: dict[str, Any] = {
        "message": message,
        "errorCode": number,
        "errorName": name,
        "errorType": _TYPES[number // _TYPE_SIZE],
    }
    if error.line is not None and error.column is not None:
        place = {"lineNumber": error.line, "columnNumber": error.column}
        found["errorLocation"] = place
        info["errorLocation"] = place
    found["failureInfo"] = info
    return found


def _sentences(error: TrinoError) -> str:
    """The place, the message and the hint, as a person reads them in a client."""
    place = f"line {error.line}:{error.column}: " if error.line is not None else ""
    message = error.message if error.message.startswith("line ") else place + error.message
    if not error.hint:
        return message
    stop = "" if message.endswith((".", "!", "?")) else "."
    return f"{message}{stop} Hint: {error.hint}"


def _clean(text: str) -> str:
    """Removes secrets and controls, and cuts names that a client has made up."""
    shown = _LONG.sub(lambda found: shortened(found[0], _NAME_MAX), printable(redacted(text, {})))
    return shortened(shown, _MESSAGE_MAX)
