"""TPC-DS: its tables as Parquet and its 99 queries, by the generator that is DuckDB's extension.

The extension is made for one release of DuckDB, another one than ours; so an environment of its own
generates under `build/bench/tpcds-<scale>/`, once. Another process does it all: nothing of that
release is imported here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from bench.steps import Tell

NAMESPACE = "tpcds"
_PACKAGES = ("duckdb==1.5.5", "duckdb-extension-tpcds==1.5.5")
_BUILD = Path("build") / "bench"
_GENERATE = """
import glob, json, pathlib, sys
import duckdb, duckdb_extension_tpcds
scale, folder = float(sys.argv[1]), pathlib.Path(sys.argv[2])
home = pathlib.Path(duckdb_extension_tpcds.__file__).parent
found = glob.glob(str(home / "**" / "*.duckdb_extension"), recursive=True)
con = duckdb.connect()
con.execute(f"LOAD '{found[0]}'")
con.execute(f"CALL dsdgen(sf={scale})")
for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall():
    con.execute(f"COPY {name} TO '{folder / name}.parquet' (FORMAT parquet)")
queries = dict(con.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall())
(folder / "queries.json").write_text(json.dumps(queries))
"""


@dataclass(frozen=True, slots=True)
class TpcDs:
    """Where the files of one scale are."""

    scale: float
    root: Path

    @classmethod
    def of(cls, scale: float) -> TpcDs:
        """Those under `build/bench/`."""
        return cls(scale, (_BUILD / f"tpcds-{scale:g}").resolve())

    @property
    def warehouse(self) -> Path:
        """What `accelerator.open` opens."""
        return self.root / "warehouse"

    @property
    def tables(self) -> list[Path]:
        """The Parquet file of each table."""
        return sorted((self.root / "parquet").glob("*.parquet"))

    def generate(self) -> None:
        """Makes tables and queries where they aren't there; CalledProcessError where it can't."""
        folder = self.root / "parquet"
        if (folder / "queries.json").exists():
            return
        folder.mkdir(parents=True, exist_ok=True)
        env = _BUILD / "tpcds-env"
        python = env / "bin" / "python"
        if not python.exists():
            _run(sys.executable, "-m", "venv", str(env))
        _run(str(python), "-m", "pip", "install", "--quiet", *_PACKAGES)
        _run(str(python), "-c", _GENERATE, str(self.scale), str(folder))

    def queries(self) -> dict[int, str]:
        """The statements by number, without the semicolon."""
        told = json.loads((self.root / "parquet" / "queries.json").read_text())
        return {int(number): text.strip().rstrip(";") for number, text in told.items()}

    def load(self, spark: SparkSession, tell: Tell) -> None:
        """The tables into Iceberg; a table that is there stays."""
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {NAMESPACE}")
        known = {row.tableName for row in spark.sql(f"SHOW TABLES IN {NAMESPACE}").collect()}
        for path in self.tables:
            if path.stem not in known:
                tell(path.stem)
                frame = spark.read.parquet(path.as_uri())
                frame.writeTo(f"{NAMESPACE}.{path.stem}").using("iceberg").create()


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
