"""Starts a Spark session of our own, quietly: in the Spark that runs, or in a JVM of its own.

Promises: what the JVM says is kept in a file, and its end is in the error where the start fails;
nothing is left in the working directory.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from accelerator.common.redaction import is_secret, redacted
from accelerator.engines.spark.jvm.java import check_java
from accelerator.engines.spark.start import scratch
from accelerator.engines.spark.start.data_limit import limit_of_children
from accelerator.errors import EngineError

_CATALOG = "spark.sql.catalog."
_WAREHOUSE = "spark.sql.warehouse.dir"


def start(master: str, conf: Mapping[str, str], *, shown: bool) -> SparkSession:
    """A session with those settings; `shown`: what its JVM says isn't kept, but seen.

    EngineError where there is no Java for it, or it can't be started.
    """
    with limit_of_children():
        check_java()
    # Workers of a local cluster are started from Spark's folder, with this Python.
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    running = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if SparkContext._active_spark_context is not None and running is not None:
        return _beside(running, conf)
    # What the builder has stands on the JVM's command line, which every user of a machine may read.
    hidden = {key for key in conf if key.startswith(_CATALOG) and is_secret(key)}
    given = {"spark.app.name": "lakehouse-accelerator", "spark.master": master}
    given |= _workers_path(master)
    given |= {key: value for key, value in conf.items() if key not in hidden}
    try:
        _launch(given, shown=shown)
        builder = SparkSession.builder
        for key, value in (_places() | given).items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        if not shown:  # PySpark's own log of errors that are raised anyway
            for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
                logging.getLogger(name).disabled = True
        for key in hidden:  # a catalog is made when it's first asked
            session.conf.set(key, conf[key])
        return session
    except (Py4JError, PySparkException, RuntimeError) as error:
        raise _failed(error, conf, shown=shown) from error


def running_stage(session: SparkSession) -> str:
    """Which stage of a job Spark works on; empty where it works on none."""
    try:
        context = session.sparkContext
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(number) for number in tracker.getActiveJobsIds()]
        active = sorted(tracker.getActiveStageIds())
        for job in jobs:
            stages = sorted(job.stageIds) if job is not None else []
            for number in (one for one in active if one in stages):
                info = tracker.getStageInfo(number)
                tasks = f", {info.numCompletedTasks} of {info.numTasks} tasks" if info else ""
                return f"Spark: stage {stages.index(number) + 1} of {len(stages)}{tasks}"
    except (AttributeError, OSError, Py4JError):  # it's just being stopped
        return ""
    return "Spark: planning" if jobs else ""


def _launch(given: Mapping[str, str], *, shown: bool) -> None:
    """A JVM, where this process has none yet; it goes when the process does."""
    if SparkContext._gateway is not None:
        return
    conf = SparkConf(loadDefaults=False)
    for key, value in given.items():
        conf.set(key, value)
    with limit_of_children():
        if shown:
            SparkContext._ensure_initialized(conf=conf)
            return
        with scratch.log_file().open("ab") as file:
            streams: dict[str, Any] = {"stdout": file, "stderr": file}
            SparkContext._ensure_initialized(gateway=launch_gateway(conf, streams))


def _places() -> dict[str, str]:
    """Where Spark has what it would else have in the working directory; not where that's set."""
    if SparkConf().contains(_WAREHOUSE):  # by the machine's own defaults
        return {}
    return {_WAREHOUSE: (scratch.folder() / "warehouse").as_uri()}


def _failed(error: Exception, conf: Mapping[str, str], *, shown: bool) -> EngineError:
    advice = (
        "without a network, put the jars of spark.jars.packages into ~/.ivy2.5.2 or name them by"
        " spark.jars"
    )
    if shown:
        where = "its own messages stand above"
    else:
        said = redacted(scratch.last_words(), conf)
        where = f"its last words:\n{said}\n" if said else "it has said nothing"
    return EngineError(f"Spark can't be started: {error}", hint=f"{where}; {advice}")


def _workers_path(master: str) -> dict[str, str]:
    """Workers on this machine import the package from where it was imported here."""
    if not master.startswith("local"):
        return {}
    here = str(Path(__file__).parents[4])
    given = os.environ.get("PYTHONPATH")
    path = f"{here}{os.pathsep}{given}" if given else here
    return {"spark.executorEnv.PYTHONPATH": path}


def _beside(running: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """A session of its own catalogs and settings in the one Spark that a process can have."""
    session = running.newSession()
    for key, value in conf.items():
        if key.startswith(_CATALOG) or session.conf.isModifiable(key):
            session.conf.set(key, value)
    return session
