"""Random histories of real tables, each vacuumed at its end: no snapshot of any loses a file.

Folders, names and write paths are drawn as in `table_histories`; Spark makes the changes and runs
Iceberg's procedures over files that are all old enough to be deleted.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator.errors import VacuumRefusedError
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.support.pristine import catalog_of
from tests.support.table_histories import FOLDERS, PATHS, STEPS, canonical, is_under

pytestmark = [pytest.mark.spark, pytest.mark.slow]
LIVE = True
HISTORIES = int(os.environ.get("TESTS_HISTORIES", "40"))
NAMES = ("a", "ab", "b")


class History:
    """The tables of one seed, in a folder of their own; `ever` has the folders that each used."""

    def __init__(self, warehouse: SparkWarehouse, seed: int) -> None:
        self.warehouse, self.chance = warehouse, random.Random(seed)
        self.catalog = catalog_of(warehouse.root)
        self.prefix = f"h{seed}_"
        self.base = f"{warehouse.root}/histories/{seed}"
        self.ever: dict[str, set[str]] = {}
        self.doubtful = False
        steps = [*STEPS, "import", "register"]
        for what in ("create", *(self.chance.choice(steps) for _ in range(8))):
            name = self.chance.choice(list(self.ever)) if self.ever else ""
            if what == "create" or not name:
                free = [one for one in NAMES if one not in self.ever]
                if free:
                    self.create(self.chance.choice(free))
            else:
                getattr(self, f"_{what}", lambda _name: None)(name)

    def name(self, name: str) -> str:
        return f"lake.d.{self.prefix}{name}"

    def sql(self, text: str) -> None:
        self.warehouse.sql(text)

    def create(self, name: str) -> None:
        folder = f"d/{name}" if self.chance.random() < 0.6 else self.chance.choice(FOLDERS)
        location = f"{self.base}/{folder}".rstrip("/")
        self.sql(f"CREATE TABLE {self.name(name)} (k INT) USING iceberg LOCATION '{location}'")
        self.ever[name] = {canonical(location)}
        self._append(name)

    def _append(self, name: str) -> None:
        self.sql(f"INSERT INTO {self.name(name)} VALUES (1)")

    def _rewrite(self, name: str) -> None:
        self.sql(f"INSERT OVERWRITE {self.name(name)} VALUES (2)")

    def _rename(self, name: str) -> None:
        free = [one for one in NAMES if one not in self.ever]
        if free:
            self.sql(f"ALTER TABLE {self.name(name)} RENAME TO d.{self.prefix}{free[0]}")
            self.ever[free[0]] = self.ever.pop(name)
            if self.chance.random() < 0.7:
                self.create(name)

    def _drop(self, name: str) -> None:
        self.sql(f"DROP TABLE {self.name(name)}")
        del self.ever[name]

    def _move(self, name: str) -> None:
        location = f"{self.base}/{self.chance.choice(FOLDERS)}".rstrip("/")
        self.sql(f"ALTER TABLE {self.name(name)} SET LOCATION '{location}'")
        self.ever[name].add(canonical(location))

    def _path(self, name: str) -> None:
        key, path = self.chance.choice(PATHS), f"{self.base}/{self.chance.choice(FOLDERS)}/p"
        self.sql(f"ALTER TABLE {self.name(name)} SET TBLPROPERTIES ('{key}' = '{path}')")
        self.ever[name].add(canonical(path))
        self._append(name)

    def _unset(self, name: str) -> None:
        for key in PATHS:
            self.sql(f"ALTER TABLE {self.name(name)} UNSET TBLPROPERTIES IF EXISTS ('{key}')")

    def _tag(self, name: str) -> None:
        self.sql(f"ALTER TABLE {self.name(name)} CREATE OR REPLACE TAG kept")

    def _short_log(self, name: str) -> None:
        key = "write.metadata.previous-versions-max"
        self.sql(f"ALTER TABLE {self.name(name)} SET TBLPROPERTIES ('{key}' = '1')")

    def _import(self, name: str) -> None:
        source = self.chance.choice(list(self.ever))
        file = next(iter(self.files(source)), None)
        if file is not None:
            self.warehouse.sql(
                f"CALL lake.system.add_files(table => 'd.{self.prefix}{name}', source_table =>"
                f" '`parquet`.`{Path(file).parent}`', check_duplicate_files => false)"
            )
            self.doubtful = True

    def _register(self, name: str) -> None:
        free = [one for one in NAMES if one not in self.ever]
        if free:
            location = self.warehouse.pinned(f"{self.prefix}{name}").metadata_location
            self.sql(
                f"CALL lake.system.register_table(table => 'd.{self.prefix}{free[0]}',"
                f" metadata_file => '{location}')"
            )
            self.ever[free[0]] = set(self.ever[name])

    def files(self, name: str) -> list[str]:
        """The data files of the newest snapshot."""
        table = self.catalog.load_table(f"d.{self.prefix}{name}")
        found = [one.file.file_path for one in table.scan().plan_files()]
        return [one.removeprefix("file:") for one in found]

    def needed(self, name: str) -> set[str]:
        """All that the table's snapshots name, by PyIceberg, and its newest metadata file."""
        table = self.catalog.load_table(f"d.{self.prefix}{name}")
        found = {table.metadata_location}
        for snapshot in table.metadata.snapshots:
            found.add(snapshot.manifest_list)
            for manifest in snapshot.manifests(table.io):
                found.add(manifest.manifest_path)
                entries = manifest.fetch_manifest_entry(table.io)
                found |= {one.data_file.file_path for one in entries}
        return set(map(canonical, found))


@pytest.fixture(scope="module")
def outcomes() -> Iterator[Counter[str]]:
    """What came of the vacuums; once all histories have run, each outcome came up."""
    found: Counter[str] = Counter()
    yield found
    if found["histories"] == HISTORIES >= 40:
        assert all(found[one] for one in ("refused", "shared, vacuumed", "vacuumed")), found


@pytest.mark.parametrize("first", range(0, HISTORIES, 4))
def test_no_snapshot_loses_a_file(
    spark_warehouse: SparkWarehouse, tmp_path: Path, outcomes: Counter[str], first: int
) -> None:
    spark_warehouse.spark.conf.set("spark.sql.shuffle.partitions", "2")
    with spark_warehouse.attach(store=str(tmp_path / "store"), vacuum_retain_hours=0) as acc:
        for seed in range(first, min(first + 4, HISTORIES)):
            history = History(spark_warehouse, seed)
            for name in history.ever:
                _vacuum(acc, history, name, outcomes)
            for name in list(history.ever):
                history._drop(name)
            outcomes["histories"] += 1


def _vacuum(acc: Accelerator, history: History, name: str, outcomes: Counter[str]) -> None:
    """Vacuums one table, of which every file is old enough to go."""
    pinned = history.warehouse.pinned(f"{history.prefix}{name}")
    folder = canonical(pinned.location)
    orphan = Path(folder) / "data" / "planted.parquet"
    orphan.parent.mkdir(parents=True, exist_ok=True)
    orphan.write_bytes(b"nobody's")
    old = time.time() - 4 * 24 * 3600
    for file in Path(history.base).rglob("*"):
        os.utime(file, (old, old))
    others = {one: history.needed(one) for one in history.ever if one != name}
    shared = history.doubtful or any(
        is_under(one, folder) or is_under(folder, one)
        for other in others
        for one in history.ever[other]
    )
    try:
        acc.vacuum(history.name(name), full=True, snapshots=True, retain_hours=0)
    except VacuumRefusedError:
        assert shared and orphan.exists(), name
        outcomes["refused"] += 1
    else:
        assert not orphan.exists(), name
        outcomes["shared, vacuumed" if shared else "vacuumed"] += 1
    for other, needed in {**others, name: history.needed(name)}.items():
        lost = [one for one in needed if not Path(one).exists()]
        assert not lost, (history.prefix, name, other)
