"""TPC-H's and TPC-DS's tables as Parquet, their queries, and the way of both into Iceberg.

TPC-H's tables come from `tpchgen-cli`, TPC-DS's and the queries of both, with the parameters of
their validation runs, from extensions of DuckDB. These are made for one release of DuckDB, another
one than ours; so an environment of its own generates under `build/bench/`, once. Another process
does it all: nothing of that release is imported here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog

from bench.environments import Environment
from bench.steps import Tell

_PACKAGES = (
    "duckdb==1.5.5",
    "duckdb-extension-tpch==1.5.5",
    "duckdb-extension-tpcds==1.5.5",
    "tpchgen-cli==4.0.0",
)
_BUILD = Path(__file__).parents[2] / "build" / "bench"
_FACT_FILES, _FACT_ROWS = 3, 10_000
_GENERATE = """
import glob, importlib, json, pathlib, subprocess, sys
import duckdb
suite, scale, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
home = pathlib.Path(importlib.import_module(f"duckdb_extension_{suite}").__file__).parent
found = glob.glob(str(home / "**" / "*.duckdb_extension"), recursive=True)
con = duckdb.connect()
con.execute(f"LOAD '{found[0]}'")
if suite == "tpch":
    maker = pathlib.Path(sys.executable).parent / "tpchgen-cli"
    subprocess.run([maker, "parquet", "-s", scale, "-o", folder, "--overwrite"], check=True)
else:
    con.execute(f"CALL dsdgen(sf={scale})")
    for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        con.execute(f"COPY {name} TO '{folder / name}.parquet' (FORMAT parquet)")
queries = dict(con.execute(f"SELECT query_nr, query FROM {suite}_queries()").fetchall())
(folder / "queries.json").write_text(json.dumps(queries))
"""
_CUBE = re.compile(r"^(CREATE CUBE (\w+)\s[^;]+);", re.MULTILINE)
# An alias in double quotes, which are Spark's quotes of texts.
_QUOTED_ALIAS = re.compile(r'(?<=\bAS )"([^"]*)"', re.IGNORECASE)

_DS_SCALE_MIN = 0.01


@dataclass(frozen=True, slots=True)
class Suite:
    """One of the two benchmarks at one scale: where its files are. `name` is its namespace too."""

    short: str
    name: str
    title: str
    scale: float
    root: Path

    @classmethod
    def of(cls, short: str, scale: float) -> Suite:
        """TPC-H, in short `h`, or TPC-DS, in short `ds`; under `build/bench/`.

        SystemExit for a scale of TPC-DS at which DuckDB's generator never ends.
        """
        if short == "ds" and scale < _DS_SCALE_MIN:
            raise SystemExit(f"TPC-DS can't be generated below scale {_DS_SCALE_MIN:g}")
        name, title = f"tpc{short}", f"TPC-{short.upper()}"
        return cls(short, name, title, scale, _BUILD / f"{name}-{scale:g}")

    @property
    def warehouse(self) -> Path:
        """What `accelerator.open` opens."""
        return self.root / "warehouse"

    @property
    def tables(self) -> list[Path]:
        """The Parquet file of each table."""
        return sorted((self.root / "parquet").glob("*.parquet"))

    @property
    def cubes(self) -> dict[str, str]:
        """The CREATE CUBE statements by the cube's name."""
        text = (Path(__file__).parent / f"{self.name}.sql").read_text(encoding="utf-8")
        return {name: sql for sql, name in _CUBE.findall(text)}

    def generate(self) -> None:
        """Makes tables and queries where they aren't there; CalledProcessError where it can't."""
        folder = self.root / "parquet"
        if (folder / "queries.json").exists():
            return
        folder.mkdir(parents=True, exist_ok=True)
        env = Environment(_BUILD / "tpc-env")
        env.install(*_PACKAGES)
        env.run("-c", _GENERATE, self.name, f"{self.scale:g}", str(folder.absolute()))

    def queries(self) -> dict[int, str]:
        """The statements by number, in Spark's words and without the semicolon."""
        told = json.loads((self.root / "parquet" / "queries.json").read_text())
        return {
            int(n): _QUOTED_ALIAS.sub(r"`\1`", text.strip().rstrip("; \n"))
            for n, text in told.items()
        }

    def load(self, catalog: Catalog, tell: Tell) -> None:
        """The tables into Iceberg, facts in several data files; a table that is there stays."""
        catalog.create_namespace_if_not_exists(self.name)
        known = {name for _, name in catalog.list_tables(self.name)}
        for path in self.tables:
            if path.stem not in known:
                tell(path.stem)
                rows = _plain_texts(pq.read_table(path))
                table = catalog.create_table((self.name, path.stem), schema=rows.schema)
                for part in _parts(rows):
                    table.append(part)


def catalog_of(name: str, warehouse: Path) -> SqlCatalog:
    """The catalog in a warehouse that `accelerator.open` opens."""
    uri = f"sqlite:///{warehouse / 'catalog.db'}"
    return SqlCatalog(name, uri=uri, warehouse=warehouse.as_uri())


def _parts(rows: pa.Table) -> list[pa.Table]:
    """What becomes one data file each."""
    if rows.num_rows < _FACT_ROWS:
        return [rows]
    size = -(-rows.num_rows // _FACT_FILES)
    return [rows.slice(start, size) for start in range(0, rows.num_rows, size)]


def _plain_texts(rows: pa.Table) -> pa.Table:
    """With texts of the type that Iceberg's writer knows."""
    plain = [f.with_type(pa.string()) if f.type == pa.string_view() else f for f in rows.schema]
    return rows.cast(pa.schema(plain))
