"""Registers the set functions in a Spark session, where SQL can't merge a state by itself.

They travel to executors by value, so executors need numpy, pyarrow, pyroaring and datasketches,
not this package.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf

from accelerator.engines import sketches

_TYPES = {"BLOB": "binary", "BIGINT": "bigint", "DOUBLE": "double"}


def register(session: SparkSession) -> None:
    """Makes the `acc_…` functions callable in the session's SQL; again is no error."""
    cloudpickle.register_pickle_by_value(sketches)
    for name, function in sketches.FUNCTIONS.items():
        if not function.duckdb_only:
            session.udf.register(name, _udf(function))


def _udf(function: sketches.Function) -> Any:
    @arrow_udf(_TYPES[function.result])  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    def of_lists(*columns: pa.Array) -> pa.Array:  # the hints choose the kind of function
        return function.arrow(*columns)

    return of_lists
