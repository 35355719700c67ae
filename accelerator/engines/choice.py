"""Which engine reads rows, with engine `auto`: the one that should be done first.

Example: 40 GB to read, DuckDB on 8 cores, Spark on 200. Here DuckDB's cores read as fast as a file
that was made for it says, each of Spark's a sixth of that, and a job of Spark's begins after 0.2 s:
so Spark. A Spark on this machine's own cores never reads faster, however much there is.

What fits in `_SURE` is DuckDB's without a thought. Files that DuckDB doesn't read itself become
Arrow rows in memory, so of tables elsewhere than on this machine's disks it gets no more than
`Config.given_bytes_max`. A `duckdb_bytes_max` that somebody set is the only limit.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from accelerator.common.files.safe_files import open_file
from accelerator.iceberg.io import local_path

if TYPE_CHECKING:
    from accelerator.common.config.config import Config
    from accelerator.engines.spark.lazy_engine import SparkSource
    from accelerator.iceberg import PinnedTable

_SURE = 256 * 1024**2
_JOB_S = 0.2
"""Of a job of Spark's before it reads: planning and tasks."""
_START_S, _CORES_UNKNOWN = 10.0, 64
"""Of a Spark elsewhere that hasn't been started yet."""
_CORES_FOR_ONE = 6.0
"""So many cores of Spark's read what one of DuckDB's does; `bench tpc --no-cubes` measures it."""
_ROWS = 1_000_000
_RATE_S = 5.0
"""A measured rate beyond any doubt of the clock's; the file is read again and again until then."""
_ASSUMED = 3e8
"""Of a machine on which nothing can be measured."""
_FORMAT = 1
_RATES = (1e6, 1e11)
"""Bytes in a second that a machine may have; anything else in the file is damage."""


class Estimate(Struct, frozen=True):
    """Seconds that either engine should take, and on how many of its cores."""

    size: int
    duckdb_s: float
    spark_s: float
    spark_cores: int

    def line(self) -> str:
        """For EXPLAIN."""
        return (
            f"{self.size / 1e9:.1f} GB to read: about {self.duckdb_s:.1f} s by DuckDB in this"
            f" process, {self.spark_s:.1f} s by Spark on {self.spark_cores} cores"
        )


class EngineChoice:
    """Of one session; threads share it."""

    def __init__(self, config: Config, spark: SparkSource, kept: Path | None) -> None:
        """`kept` is the folder where this machine's rate is kept, if there is one."""
        self._config, self._spark, self._kept = config, spark, kept
        self._rate: float | None = None

    def in_process(self, size: int, tables: Sequence[PinnedTable]) -> bool:
        """Whether DuckDB reads so many bytes of these tables."""
        config = self._config
        if config.engine != "auto":
            return config.engine == "duckdb"
        if config.duckdb_bytes_max:
            return size <= config.duckdb_bytes_max
        if size <= _SURE:
            return True
        if any(local_path(table.location) is None for table in tables):
            return size <= config.given_bytes_max
        _, cores = self._of_spark()
        if cores <= _CORES_FOR_ONE * self._threads():
            return True
        found = self._estimated(size)
        return found.duckdb_s <= found.spark_s

    def estimate(self, size: int) -> Estimate | None:
        """What was compared; None where nothing was."""
        if self._config.engine != "auto" or self._config.duckdb_bytes_max or size <= _SURE:
            return None
        return self._estimated(size)

    def _estimated(self, size: int) -> Estimate:
        begins, cores = self._of_spark()
        each = self.rate()
        spark = begins + size / (each / _CORES_FOR_ONE * cores)
        return Estimate(size, size / (each * self._threads()), spark, cores)

    def _threads(self) -> int:
        return self._config.duckdb_threads or os.cpu_count() or 1

    def _of_spark(self) -> tuple[float, int]:
        """Seconds until it reads, and its cores."""
        if self._spark.started:
            return _JOB_S, max(1, self._spark.engine().parallelism)
        if self._config.spark_master.startswith("local["):
            return _START_S, os.cpu_count() or 1
        return _START_S, _CORES_UNKNOWN

    def rate(self) -> float:
        """Bytes of Parquet that one core of this machine's reads in a second, with DuckDB.

        Measured once for a machine and a release of DuckDB's, in a second or two.
        """
        if self._rate is None:
            import duckdb

            machine = f"{platform.node()} {os.cpu_count()} duckdb-{duckdb.__version__}"
            file = None if self._kept is None else self._kept / "machine.json"
            self._rate = _read(file, machine)
            if self._rate is None:
                try:
                    self._rate = measured_rate()
                    _write(file, machine, self._rate)
                except (OSError, duckdb.Error):  # a full disk
                    self._rate = _ASSUMED
        return self._rate


def cache_folder(config: Config) -> Path | None:
    """Beside the store, for what can be made again; None where that isn't a folder to write to."""
    root = local_path(config.store_root)
    return None if root is None or config.store_read_only else Path(root).absolute() / "cache"


def measured_rate(clock: Callable[[], float] = time.perf_counter) -> float:
    """Reads a made file of a million rows on one core; bytes in a second."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="accelerator-") as folder:
        path = f"{folder}/rows.parquet"
        with duckdb.connect(config={"threads": "1"}) as connection:
            connection.execute(
                "COPY (SELECT hash(range) % 1000 AS k, hash(range + 1)::DOUBLE / 1e9 AS x,"
                " (hash(range + 2) % 100000)::INTEGER AS v, 'name ' || hash(range + 3) % 50000 AS s"
                f" FROM range({_ROWS})) TO '{path}' (FORMAT parquet)"
            )
            size, best, until = Path(path).stat().st_size, _RATE_S, clock() + _RATE_S / 10
            while True:
                since = clock()
                connection.execute(
                    "SELECT k, sum(x), max(v), min(s) FROM read_parquet(?) GROUP BY k", [path]
                ).fetchall()
                best = min(best, clock() - since)
                if clock() >= until:
                    break
    return min(max(size / best, _RATES[0]), _RATES[1])


def _read(file: Path | None, machine: str) -> float | None:
    """What is kept of that machine; None where there's nothing, or nothing that can be it."""
    if file is None:
        return None
    try:
        with open_file(str(file)) as opened:
            found: Any = json.loads(opened.read(4096))
        rate = found["rate"] if (found["format"], found["machine"]) == (_FORMAT, machine) else None
        low, high = _RATES
        return rate if isinstance(rate, float) and low <= rate <= high else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _write(file: Path | None, machine: str, rate: float) -> None:
    if file is None:
        return
    told = json.dumps({"format": _FORMAT, "machine": machine, "rate": rate})
    with suppress(OSError):  # the store may be full or read-only: it's measured again
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
        try:
            with os.fdopen(handle, "w") as out:
                out.write(told)
            Path(draft).replace(file)
        except OSError:
            Path(draft).unlink(missing_ok=True)
