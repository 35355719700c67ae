"""Errors by Trino's names: none of ours is forgotten, and what a pipe brings is checked."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator import errors
from accelerator.common.records.as_dict import as_dict
from accelerator.gateway.trino.errors import (
    _OF_SPARK,
    _OF_STATES,
    NAMES,
    NUMBERS,
    TrinoError,
    failure,
    name_of,
    trino_error,
)
from rewrite.text.source_position import place_of

_ROOT = Path(__file__).parents[2]


def _codes():
    """The codes of all errors in the sources, by class."""
    for path in [*(_ROOT / "accelerator").rglob("*.py"), *(_ROOT / "rewrite").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ClassDef) or not node.name.endswith("Error"):
                continue
            for line in node.body:
                is_code = isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "code"
                if is_code and isinstance(line.value, ast.Constant):
                    yield node.name, line.value.value


def test_long_names_are_not_repeated_at_length():
    message = f"there is no table {'x' * 5000}, or {'y' * 400} and {'z' * 401}"
    found = trino_error(errors.UnknownTableError(message, hint="a" * 100_000))
    assert len(found.message) < 1300 and len(found.hint) == 400
    assert f"{'x' * 399}…" in found.message and f"{'y' * 400} and " in found.message
    assert found.message.endswith("z…")


def test_each_code_of_ours_has_a_name_of_trinos():
    found = dict(_codes())
    assert {"GuardError", "HeaderError", "CatalogError", "NotBuiltError"} <= found.keys()
    assert {code for code in found.values() if code not in NAMES} == set()
    names = {*NAMES.values(), *_OF_SPARK.values(), *(name for _, name in _OF_STATES)}
    assert names <= NUMBERS.keys()


@pytest.mark.parametrize(
    ("error", "name", "number", "type_"),
    [
        (errors.UnknownTableError("x"), "TABLE_NOT_FOUND", 46, "USER_ERROR"),
        (errors.UnknownColumnError("x"), "COLUMN_NOT_FOUND", 47, "USER_ERROR"),
        (errors.UntranslatedError("x"), "NOT_SUPPORTED", 13, "USER_ERROR"),
        (errors.StatementError("x"), "SYNTAX_ERROR", 1, "USER_ERROR"),
        (errors.BytesGuardError("x"), "EXCEEDED_SCAN_LIMIT", 131081, "INSUFFICIENT_RESOURCES"),
        (errors.StatementTimeoutError("x"), "EXCEEDED_TIME_LIMIT", 131075, None),
        (errors.CancelledError("x"), "USER_CANCELED", 3, "USER_ERROR"),
        (errors.StoreError("x"), "GENERIC_INTERNAL_ERROR", 65536, "INTERNAL_ERROR"),
        (KeyboardInterrupt(), "USER_CANCELED", 3, None),
        (ValueError("x"), "GENERIC_INTERNAL_ERROR", 65536, None),
        (
            Exception("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n\nJVM stacktrace:\nx"),
            "DIVISION_BY_ZERO",
            8,
            None,
        ),
        (Exception("[CAST_INVALID_INPUT] x SQLSTATE: 22018"), "INVALID_CAST_ARGUMENT", 9, None),
        (
            Exception("[UNRESOLVED_COLUMN.WITH_SUGGESTION] x SQLSTATE: 42703"),
            "COLUMN_NOT_FOUND",
            47,
            None,
        ),
        (Exception("[NEW_CONDITION] x SQLSTATE: 42P01"), "TABLE_NOT_FOUND", 46, None),
        (Exception("[NEW_CONDITION] x SQLSTATE: 22999"), "INVALID_FUNCTION_ARGUMENT", 7, None),
        (Exception("[NEW_CONDITION] x SQLSTATE: XX000"), "GENERIC_INTERNAL_ERROR", 65536, None),
    ],
)
def test_names_and_numbers(error, name, number, type_):
    found = failure(TrinoError.from_dict(json.loads(json.dumps(as_dict(trino_error(error))))))
    assert (found["errorName"], found["errorCode"]) == (name, number)
    assert type_ is None or found["errorType"] == type_
    assert found["failureInfo"]["type"] == type(error).__name__


def test_places_hints_and_secrets():
    error = errors.UnknownColumnError(
        "no column regoin at s3://me:pw123@host/x?token=abcdef",
        hint="did you mean region?",
        at=place_of("SELECT\n  regoin", 9, 15),
    )
    found = failure(trino_error(error))
    assert found["errorLocation"] == {"lineNumber": 2, "columnNumber": 3}
    assert found["message"] == (
        "line 2:3: no column regoin at s3://me:***@host/x?token=***. Hint: did you mean region?"
    )
    assert "errorLocation" not in failure(trino_error(errors.StatementError("x")))


def test_java_stacks_and_controls_stay_away():
    text = "[UNSUPPORTED_FEATURE.X] not \x1b[2J so\n\tat org.Foo.bar(Foo.java:1)\n\t... 3 more"
    found = trino_error(Exception(text))
    assert found.error_class == "UNSUPPORTED_FEATURE.X"
    assert found.message == "not \\u001b[2J so"
    assert len(trino_error(ValueError("x" * 100_000)).message) < 10_000


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
)
_FIELDS = st.sampled_from(["code", "message", "hint", "line", "column", "error_class", "kind"])


@given(st.dictionaries(_FIELDS, _JSON) | _JSON)
def test_whatever_a_pipe_brings_is_an_error_that_clients_read(value):
    found = failure(TrinoError.from_dict(value))
    assert found["message"]
    assert found["errorName"] in NUMBERS
    json.dumps(found)


def test_what_is_told_comes_back():
    error = trino_error(
        errors.StatementError("a", hint="b", at=place_of("abc", 1, 2), error_class="C")
    )
    assert TrinoError.from_dict(as_dict(error)) == error
    assert name_of(error) == "SYNTAX_ERROR"
