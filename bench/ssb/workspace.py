"""A scale's data on disk: generated files and a warehouse with the loaded tables and the cubes.

Everything lies under `build/bench/ssb-<scale>/` and is used again when it is whole. A marker is
written last; a warehouse without it was interrupted and is made anew.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from bench.s3_server import S3Server
from bench.ssb.cubes import CUBES, constraints
from bench.ssb.generate import MARKER, generate
from bench.ssb.load import load
from bench.ssb.queries import NAMESPACE
from bench.steps import Steps

BUILD = Path("build")
# Spark's own progress bar would fight with ours.
SPARK_CONF = {"spark.ui.showConsoleProgress": "false"}


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where the files of one scale are."""

    scale: float
    root: Path

    @classmethod
    def of(cls, scale: float, build: Path = BUILD) -> Workspace:
        """The workspace of a scale under `build/bench/`."""
        return cls(scale, (build / "bench" / f"ssb-{scale:g}").resolve())

    @property
    def parquet(self) -> Path:
        """The generator's files."""
        return self.root / "parquet"

    @property
    def warehouse(self) -> Path:
        """What `accelerator.open` opens."""
        return self.root / "warehouse"

    @property
    def loaded(self) -> Path:
        """Written when all tables are loaded: a copy of the generator's marker."""
        return self.warehouse / "ssb-loaded.json"

    def is_loaded(self) -> bool:
        """Whether the warehouse holds exactly the generated data."""
        made = self.parquet / MARKER
        if not (made.exists() and self.loaded.exists()):
            return False
        return self.loaded.read_bytes() == made.read_bytes()


def open_loaded(
    workspace: Workspace, steps: Steps, s3: str | None = None
) -> accelerator.Accelerator:
    """Generates and loads what isn't there yet, declares the constraints, opens the warehouse.

    With the address of an S3 server warehouse and store are there, made anew.
    """
    with steps.step(f"Generate SSB at scale {workspace.scale:g}") as tell:
        generate(
            workspace.parquet,
            workspace.scale,
            report=lambda table, done, total: tell(f"{table}: {done:,} of {total:,} rows"),
        )
    loaded = s3 is None and workspace.is_loaded()
    if s3 is not None:
        acc = _open_on_s3(workspace.root / "s3", s3)
    else:
        if not loaded:
            shutil.rmtree(workspace.warehouse, ignore_errors=True)
        workspace.warehouse.mkdir(parents=True, exist_ok=True)
        acc = accelerator.open(workspace.warehouse, create=True, spark_conf=SPARK_CONF)
    if not loaded:
        with steps.step("Start Spark (the first time it downloads the Iceberg runtime)"):
            acc.spark.sparkContext.setLogLevel("ERROR")
        with steps.step("Load the five tables into Iceberg by Spark") as tell:
            load(acc.spark, workspace.parquet, tell)
        if s3 is None:
            shutil.copyfile(workspace.parquet / MARKER, workspace.loaded)
    with steps.step("Declare the primary and foreign keys (not enforced)"):
        declare_constraints(acc)
    return acc


def _open_on_s3(folder: Path, endpoint: str) -> accelerator.Accelerator:
    """Opens an empty warehouse in the server's bucket; only its catalog is in the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    properties, uri = S3Server(endpoint).catalog_properties, f"sqlite:///{folder / 'catalog.db'}"
    SqlCatalog("lake", uri=uri, **properties).engine.dispose()
    return accelerator.open(
        catalog_name="lake",
        catalog_uri=uri,
        catalog_properties=properties,
        segment_cache_folder=str(folder / "copies"),
        spark_conf=SPARK_CONF,
    )


def declare_constraints(acc: accelerator.Accelerator) -> None:
    """Adds the keys that aren't declared yet."""
    shown: dict[str, str] = {}
    for table, name, statement in constraints():
        if table not in shown:
            rows = acc.query(f"SHOW CONSTRAINTS ON {NAMESPACE}.{table}").fetchall()
            shown[table] = repr(rows)
        if repr(name) not in shown[table]:
            acc.query(statement)


def cube_sizes(acc: accelerator.Accelerator) -> dict[str, int]:
    """Bytes of each cube of ours that exists, as SHOW CUBES tells them."""
    ours = {cube.name for cube in CUBES}
    rows = acc.query("SHOW CUBES").arrow().to_pylist()
    sizes = {}
    for row in rows:
        name = str(row.get("cube", row.get("name"))).rpartition(".")[2]
        if name in ours:
            sizes[name] = int(row.get("bytes", row.get("size", 0)) or 0)
    return sizes


def build_missing_cubes(acc: accelerator.Accelerator, steps: Steps) -> None:
    """Creates or finishes each cube; a cube that is complete costs next to nothing."""
    existing = cube_sizes(acc)
    for cube in CUBES:
        dimensions = f"{len(cube.dimensions)} dimensions"
        with steps.step(f"Build and compact the cube {cube.name} ({dimensions})"):
            acc.query(f"BUILD CUBE {cube.name}" if cube.name in existing else cube.create())
            acc.query(f"COMPACT CUBE {cube.name}")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes the file, whole or not at all."""
    half = path.with_suffix(".part")
    half.write_text(json.dumps(content, indent=1))
    half.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file, or None where there is no whole one."""
    try:
        content = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return content if isinstance(content, dict) else None
