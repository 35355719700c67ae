"""What Spark raised, as a record: the class among PySpark's own, the condition, the message."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import errors as spark_errors
from pyspark.errors import PySparkException

from tests.support.recording.records import Record

_PARAMETERS = 50


def recorded(ask: Callable[[], pa.Table], about: str) -> Record:
    """The answer, or Spark's error in its place."""
    try:
        return Record(ask(), None, about)
    except PySparkException as error:
        told = {
            "class": type(error).__name__,
            "message": str(error),
            "condition": error.getCondition(),
            "state": error.getSqlState(),
            "parameters": dict(list((error.getMessageParameters() or {}).items())[:_PARAMETERS]),
        }
        return Record(None, told, about)
    except Py4JError as error:
        return Record(None, {"class": "Py4JError", "message": str(error)}, about)


def given(record: Record) -> pa.Table | None:
    """The answer; raises what was raised."""
    if record.error is not None:
        raise made(record)
    return record.table


def made(record: Record) -> Exception:
    """The error anew: of the same class of PySpark's, with the same condition and message."""
    told = record.error or {}
    message = str(told.get("message", ""))
    kind = getattr(spark_errors, str(told.get("class")), None)
    if not isinstance(kind, type) or not issubclass(kind, PySparkException):
        return Py4JError(message)
    error = kind(message=message)
    error._errorClass = told.get("condition")
    error._messageParameters = told.get("parameters") or {}
    error.getSqlState = lambda: told.get("state")
    return error
