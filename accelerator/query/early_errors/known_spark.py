"""Whether the Spark that would be started for a statement is the one that is known here.

Its grammar, functions and names are Spark's and Iceberg's own as long as nobody has configured
others, and no session of the process has views or functions. Where that isn't sure, Spark is asked.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from accelerator.engines.session_settings import HARMLESS
from rewrite.text.spark_keywords import VERSION

if TYPE_CHECKING:
    from accelerator.common.config.config import Config

_ADDS = (
    *("spark.api.", "spark.connect.", "spark.driver.default", "spark.driver.extra"),
    *("spark.jars", "spark.plugins"),
    *("spark.remote", "spark.sql.catalog.", "spark.sql.catalogImplementation"),
    *("spark.sql.extensions", "spark.sql.hive.", "spark.submit."),
)
"""Beginnings of settings that may bring classes, catalogs, functions or another grammar."""
_QUIET = ("spark.sql.session.timeZone",)
_ELSEWHERE = (
    *("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE", "SPARK_SUBMIT_OPTS"),
    *("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"),
)
"""Variables that may bring another Spark, or settings of this one."""
_DEFAULTS = "spark-defaults.conf"
_OWN_ARGUMENTS = ("", "pyspark-shell")
_NUMBER = re.compile(r"__version__[^=]*=\s*['\"](\d+)\.(\d+)")


def is_known(config: Config, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether nothing of settings, environment and process makes another Spark of it."""
    if any(_may_add(name) for name in config.spark_conf):
        return False
    if any(environment.get(name) for name in _ELSEWHERE):
        return False
    if environment.get("PYSPARK_SUBMIT_ARGS", "").strip() not in _OWN_ARGUMENTS:
        return False
    home = _pyspark_home()
    return not _has_defaults(environment, home) and _is_version_known(home) and not _runs()


def is_release_known() -> bool:
    """Returns whether the installed PySpark has the words and types that are listed here."""
    return _is_version_known(_pyspark_home())


def _may_add(name: str) -> bool:
    if name.startswith(_ADDS):
        return True
    return name.startswith("spark.sql.") and not name.startswith((*HARMLESS, *_QUIET))


def _pyspark_home() -> Path | None:
    """The folder of the package; None where there is none, which is then known well enough."""
    try:
        found = find_spec("pyspark")
    except (ImportError, ValueError):  # of one that was made without a file
        found = None
    return Path(found.origin).parent if found is not None and found.origin else None


def _has_defaults(environment: Mapping[str, str], home: Path | None) -> bool:
    """Whether a file of settings is found where Spark looks for one."""
    told = environment.get("SPARK_CONF_DIR", "")
    homes = [Path(one) for one in (environment.get("SPARK_HOME", ""), home) if one]
    folders = [Path(told)] if told else [one / "conf" for one in homes]
    return any((folder / _DEFAULTS).is_file() for folder in folders)


def _is_version_known(home: Path | None) -> bool:
    """Whether the words of that release are all known."""
    if home is None:
        return True
    try:
        found = _NUMBER.search((home / "version.py").read_text())
    except (OSError, UnicodeDecodeError):
        return False
    return found is not None and (int(found[1]), int(found[2])) <= VERSION


def _runs() -> bool:
    """Whether a session runs in this process: one of ours would share its views and functions."""
    package = sys.modules.get("pyspark")
    context = getattr(package, "SparkContext", None)
    return getattr(context, "_active_spark_context", None) is not None
