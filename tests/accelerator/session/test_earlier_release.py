"""What commit fa2a29b wrote works unchanged: its warehouse and store, a lease of a process that was
killed, and its settings. The warehouse's tables name their files by an absolute path.
"""

from __future__ import annotations

import fcntl
import tarfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

import accelerator
from accelerator.common.config.config import Config
from accelerator.gateway.settings import GatewaySettings
from bench.imports import Sources
from tests.support.pristine import catalog_of

EARLIER = Path(__file__).parent / "earlier"
PLACE = Path("/tmp/lakehouse-accelerator-fa2a29b")


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Path]:
    """The warehouse under the path at which it was made; one test at a time has it."""
    with tarfile.open(EARLIER / "fa2a29b.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    with PLACE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        PLACE.unlink(missing_ok=True)
        PLACE.symlink_to(tmp_path / PLACE.name)
        yield PLACE / "lake"
        PLACE.unlink()


def test_the_store_of_an_earlier_release_answers(lake: Path) -> None:
    with accelerator.open(lake) as acc:
        by_store = acc.query("SELECT store, count(*) AS n FROM shop.sales GROUP BY store")
        assert sorted(by_store) == [(0, 12), (1, 9), (2, 9)]
        assert by_store.metrics.cubes
        by_region = acc.query(
            "SELECT region, count(*) AS n FROM shop.sales"
            " JOIN shop.stores ON sales.store = stores.store GROUP BY region"
        )
        assert sorted(by_region) == [("north", 12), ("south", 18)]
        assert by_region.metrics.cubes == ("by_region",)
        needle = acc.query("SELECT id FROM shop.sales WHERE id = 17")
        assert needle.fetchall() == [(17,)] and needle.metrics.files_read == 1
        assert {row[0]: row[3] for row in acc.query("SHOW INDEXES")} == {
            "by_city": "city",
            "by_id": "id",
            "by_region_index": "region",
        }
        assert acc.query("SHOW RELATE COLUMNS ON shop.sales").fetchall()
        assert acc.query("SHOW RECOMMENDATIONS").fetchall()
        assert len(acc.query("SHOW QUERIES").fetchall()) > 10
        acc.query("UNDROP CUBE dropped")
        by_city = acc.query("SELECT city, count(*) AS n FROM shop.sales GROUP BY city")
        assert sorted(by_city, key=str) == [("Berlin", 12), ("Köln", 9), (None, 9)]
        assert by_city.metrics.cubes
        assert not acc.spark_started


def test_the_store_of_an_earlier_release_goes_on(lake: Path) -> None:
    """It's built further, and a vacuum leaves what the killed process' lease protects."""
    leases = [path.name for path in lake.glob(".accelerator/tables/*/pins/*")]
    assert len(leases) == 1
    with accelerator.open(lake, query_log=True) as acc:
        table = catalog_of(lake).load_table("shop.sales")
        table.append(table.scan(row_filter="id < 2").to_arrow())
        acc.query("BUILD CUBE by_store")
        acc.query("BUILD INDEX by_city")
        acc.query("COMPACT CUBE by_store")
        acc.query("VACUUM shop.sales")
        found = acc.query("SELECT store, sum(amount) AS s FROM shop.sales GROUP BY store")
        assert sorted(found)[0][1] == Decimal("97.50") and found.metrics.cubes == ("by_store",)
        assert not acc.spark_started
    modules = [name.encode() for name in Sources.read().files if name.count(".") > 1]
    for file in (lake / ".accelerator").rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert [name for name in modules if name in data] == []


def test_the_settings_of_an_earlier_release_load() -> None:
    file = EARLIER / "fa2a29b.toml"
    loaded = Config.load(file, env={})
    assert loaded.vacuum_delete_threads == 4
    assert GatewaySettings.load(file).queue_max == 1000
