"""What stands in the way of a session, before anybody has asked a statement.

Each check says in a sentence what it found, and what to do where that isn't well. Nothing is
changed, but for one file in the store that is deleted again; no JVM is started.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from accelerator.common.config.value_kinds import is_off
from accelerator.engines.spark.catalogs.java import check_warehouse
from accelerator.engines.spark.jvm.java import check_java, find_java
from accelerator.engines.spark.session.settings import EXECUTOR_CACHE, caches_deletes
from accelerator.errors import AcceleratorError, ConfigError
from accelerator.query.early_errors.locate import named_catalogs
from accelerator.session.package_check import NAMES, faults, sharing
from accelerator.store.files.files import open_files

if TYPE_CHECKING:
    from accelerator.session.session import Accelerator

Status = Literal["ok", "warning", "error"]
_PACKAGES = ("duckdb", "pyarrow", "pyiceberg", "sqlglot", "pyspark")
_FREE_MIN = 1 << 30
_WORKER_S = 60.0
_VERSION = ".".join(map(str, sys.version_info[:2]))
_NEEDED = (
    "import accelerator, cubes, indexes, pyarrow, pyiceberg, sys;"
    " print('.'.join(map(str, sys.version_info[:2])))"
)
_PANDAS = re.compile(r"pandas\s*\(?([<>=!~][^;)]*?)\)?\s*;.*\bspark\b")
_PANDAS_BEYOND = 3
_CONFLICT = re.compile(r" has requirement ")
_ANSI = "spark.sql.ansi.enabled"


class Finding(Struct, frozen=True):
    """What one check found; `hint` says what to do where it isn't `ok`."""

    check: str
    status: Status
    said: str
    hint: str = ""


def examine(opened: Callable[[], Accelerator]) -> Iterator[Finding]:
    """All checks in their order; what needs a session is left out where none can be opened."""
    yield Finding("python", "ok", f"Python {sys.version.split()[0]} at {sys.executable}")
    yield from _packages()
    yield from _requirements()
    yield from _names()
    yield _java()
    yield _workers()
    try:
        session = opened()
    except AcceleratorError as error:
        yield Finding("settings", "error", error.message, error.hint or "")
        return
    with session:
        yield Finding("settings", "ok", f"the session's catalog is {session.config.catalog_name}")
        yield _ansi(session)
        yield from _executor_cache(session)
        yield from _catalogs(session)
        yield _store(session)
        yield _duckdb(session)


def _packages() -> Iterator[Finding]:
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    pandas = _pandas()
    yield Finding("packages", "ok", ", ".join([*found, *([f"pandas {pandas}"] if pandas else [])]))
    if int(pandas.partition(".")[0] or 0) >= _PANDAS_BEYOND and "pyspark" not in missing:
        yield Finding(
            "packages",
            "warning",
            f"pandas {pandas} beside PySpark: createDataFrame of a frame makes the text nan of"
            " missing texts",
            "pip install 'pandas<3', or give createDataFrame a table of Arrow",
        )
    for name in missing:
        yield Finding(
            "packages",
            "warning",
            f"{name} isn't installed",
            "statements that only Spark answers fail: pip install 'lakehouse-accelerator[spark]'",
        )


def _pandas() -> str:
    """The version of pandas, with the range that [spark] changes it to; empty without pandas."""
    try:
        installed, wanted = version("pandas"), requires("lakehouse-accelerator") or []
    except PackageNotFoundError:
        return ""
    ranges = [match[1] for one in wanted if (match := _PANDAS.match(one))]
    return f"{installed}{f' ([spark] needs {ranges[0]})' if ranges else ''}"


def _names() -> Iterator[Finding]:
    found = faults()
    yield from (Finding("names", "error", sentence, hint) for sentence, hint in found)
    others = [] if found else sharing()
    for name, release in others:
        yield Finding(
            "names",
            "warning",
            f"{name} {release} has files in the same folders as this distribution",
            f"whichever was installed last works: install {name} into an environment of its own",
        )
    if not found and not others:
        yield Finding("names", "ok", f"{', '.join(NAMES)} are this distribution's")


def _requirements() -> Iterator[Finding]:
    """Packages whose version another distribution, or this one, doesn't allow."""
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "pip", "check", "--disable-pip-version-check"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_WORKER_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    lines = ran.stdout.splitlines() if ran.returncode == 1 else []
    for line in (one for one in lines if _CONFLICT.search(one)):
        yield Finding(
            "requirements",
            "warning",
            line,
            "choose a version that both allow, or use an environment for each of them",
        )


def _java() -> Finding:
    try:
        check_java()
    except AcceleratorError as error:
        hint = f"{error.hint}; without it all is answered that needs no Spark"
        return Finding("java", "error" if find_spec("pyspark") else "warning", error.message, hint)
    return Finding("java", "ok", f"Java at {find_java()}")


def _workers() -> Finding:
    """Spark's Python workers, which build cubes' sketches and indexes."""
    named = os.environ.get("PYSPARK_PYTHON")
    if not named or shutil.which(named) == sys.executable:
        return Finding("workers", "ok", "Spark's workers on this machine run this Python")
    hint = f"unset PYSPARK_PYTHON, or set it to a Python that has this package: {sys.executable}"
    what = f"PYSPARK_PYTHON, {named},"
    try:
        ran = subprocess.run(
            [named, "-c", _NEEDED],
            capture_output=True,
            text=True,
            check=False,
            timeout=_WORKER_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("workers", "error", f"{what} can't be run: {error}", hint)
    if ran.returncode:
        said = (ran.stderr.strip().splitlines() or ["it fails"])[-1]
        return Finding("workers", "error", f"{what} lacks what builds need: {said}", hint)
    if ran.stdout.strip() != _VERSION:
        said = f"{what} is Python {ran.stdout.strip()}, and this is Python {_VERSION}"
        return Finding("workers", "error", said, hint)
    return Finding("workers", "ok", f"Spark's workers run {named}, which has this package")


def _ansi(session: Accelerator) -> Finding:
    if is_off(session.config.spark_conf.get(_ANSI, "true")):
        return Finding(
            "ansi",
            "error",
            "ANSI is off, so that nothing is accelerated",
            f"take {_ANSI} out of spark_conf: without it Spark answers errors by NULLs",
        )
    return Finding("ansi", "ok", "ANSI is on")


def _executor_cache(session: Accelerator) -> Iterator[Finding]:
    """Nothing unless the settings turn on what a session of ours turns off."""
    given = {EXECUTOR_CACHE: "false"} | dict(session.config.spark_conf)
    if caches_deletes(given):
        yield Finding(
            "executor_cache",
            "warning",
            "Spark caches equality deletes: rows that they delete come back once a column that"
            " they compare was widened",
            f"take {EXECUTOR_CACHE} out of spark_conf",
        )


def _catalogs(session: Accelerator) -> Iterator[Finding]:
    for name, error in session.services.lake.reachable():
        if error is None:
            yield from _answering(session, name)
        else:
            yield Finding("catalog", "error", error.message, error.hint or "")


def _answering(session: Accelerator, name: str) -> Iterator[Finding]:
    """Reports on a catalog that answers: whether its name and its warehouse are right."""
    wrong = []
    others = session.services.lake.misnamed().get(name)
    if others:
        said = f"the catalog {name} has no tables"
        wrong.append(Finding("catalog", "warning", said, named_catalogs(name, others)))
    settings = next(one for one in session.services.lake.settings if one.name == name)
    try:
        check_warehouse(settings)
    except ConfigError as error:
        status: Status = "error" if find_spec("pyspark") else "warning"
        wrong.append(Finding("catalog", status, error.message, error.hint or ""))
    yield from wrong or [Finding("catalog", "ok", f"the catalog {name} answers")]


def _store(session: Accelerator) -> Finding:
    config = session.config
    where = f"the store {config.store_root}"
    try:
        session.services.store.registry(fresh=True)
        if config.store_read_only:
            return Finding("store", "ok", f"{where} can be read; this session doesn't write")
        files = open_files(config.store_root, config.store_options)
        probe = f"doctor-{uuid.uuid4().hex}"
        files.create(probe, b"")
        files.delete([probe])
    except AcceleratorError as error:
        return Finding("store", "error", f"{where}: {error.message}", error.hint or "")
    (root,) = session.services.store.folders
    if not session.services.store.is_local:
        where = f"{where}, with copies of its segments in {root},"
        if not _may_be_made(Path(root)):
            said = f"{where} can't be read in process: the folder isn't writable"
            return Finding("store", "error", said, "set segment_cache_folder to another folder")
    if Path(root).is_dir():
        free = shutil.disk_usage(root).free
        if free < _FREE_MIN:
            return Finding(
                "store",
                "warning",
                f"{where} can be written, and its disk has {free >> 20} MiB left",
                "VACUUM … FULL deletes what nobody needs; or set store to another disk",
            )
    return Finding("store", "ok", f"{where} can be read and written")


def _may_be_made(folder: Path) -> bool:
    """Reports whether files can be written to the folder, once it's made."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _duckdb(session: Accelerator) -> Finding:
    try:
        session.services.duckdb.run("SELECT 1")
    except AcceleratorError as error:
        return Finding("duckdb", "error", error.message, error.hint or "")
    return Finding("duckdb", "ok", "DuckDB runs, and may spill to disk")
