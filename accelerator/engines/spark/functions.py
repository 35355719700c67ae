"""Registers our functions in a Spark session: set functions of cube states, and tests of tokens.

Set functions travel to executors by value, so executors need numpy, pyarrow, pyroaring and
datasketches, not this package; tests of tokens need it, as builds of indexes do.

What a session or its catalog has under the name of a test is the user's, and stays.
"""

from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf

from accelerator.engines import sketch_functions
from accelerator.engines.spark.session.state import OWN
from rewrite.bind.calls.known_words import OURS

_log = logging.getLogger("accelerator")
_TYPES = {"BLOB": "binary", "BIGINT": "bigint", "DOUBLE": "double"}


def register(session: SparkSession) -> None:
    """Makes the `acc_…` functions callable in the session's SQL; again is no error."""
    cloudpickle.register_pickle_by_value(sketch_functions)
    for name, function in sketch_functions.FUNCTIONS.items():
        if not function.duckdb_only:
            session.udf.register(name, _udf(function))


def _udf(function: sketch_functions.Function) -> Any:
    @arrow_udf(_TYPES[function.result])  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    def of_lists(*columns: pa.Array) -> pa.Array:  # the hints choose the kind of function
        return function.arrow(*columns)

    return of_lists


def register_tests(session: SparkSession) -> frozenset[str]:
    """Makes `has_token` and `match` callable in the session's SQL; the names that aren't free."""
    return frozenset(name for name in OURS if not _registered(session, name))


def _registered(session: SparkSession, name: str) -> bool:
    """Whether the name is ours now; a failure is logged, since no statement needs it yet."""
    try:
        return _register_test(session, name)
    except (PySparkException, Py4JError, TypeError) as error:
        _log.warning("%s can't be registered in Spark: %s", name, str(error).splitlines()[0])
        return False


def _register_test(session: SparkSession, name: str) -> bool:
    registry = session._jsparkSession.sessionState().functionRegistry()
    catalyst = session._jvm.org.apache.spark.sql.catalyst
    identifier = catalyst.FunctionIdentifier(name)
    known = registry.lookupFunction(identifier)
    if known.isDefined():
        return str(known.get().getUsage()) == OWN[name]
    if session.catalog.functionExists(name):
        return False
    session.udf.register(name, _test(name))
    builder = registry.lookupFunctionBuilder(identifier).get()
    registry.dropFunction(identifier)
    # By what it says of itself it's known again, by other sessions of this process too.
    texts = (OWN[name], "", "", "", "", "", "", "python_udf")
    info = catalyst.expressions.ExpressionInfo(builder.getClass().getName(), None, name, *texts)
    registry.registerFunction(identifier, info, builder)
    return True


def _test(name: str) -> Any:
    @arrow_udf("boolean")  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    def test(texts: pa.Array, needles: pa.Array) -> pa.Array:
        from indexes.text.token_search import TESTS

        return TESTS[name](texts, needles)

    return test
