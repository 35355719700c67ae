"""A cube's way through the recycle bin on real tables: the same answer, and nothing rebuilt."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator.errors import CubeNotFoundError
from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from accelerator.store import local_path

pytestmark = pytest.mark.spark
LIVE = True


class Shop:
    """A table of two files and a built cube on it."""

    def __init__(self, wh, acc: Accelerator) -> None:
        self.wh, self.acc = wh, acc
        self.table = f"lake.d.{wh.table('g INT, v INT')}"
        self.select = f"SELECT g, count(*) AS n, sum(v) AS s FROM {self.table} GROUP BY g"
        self.append()
        self.append()
        acc.query(f"CREATE CUBE sales AS {self.select}")
        self.uuid = acc.services.store.registry().cubes["sales"].table_uuid

    def append(self) -> None:
        self.wh.sql(
            f"INSERT INTO {self.table} SELECT CAST(id % 3 AS INT), CAST(id AS INT)"
            " FROM range(0, 50, 1, 1)"
        )

    def check(self) -> tuple[str, ...]:
        """The cubes that answered; always as plain Spark does."""
        answer = self.acc.query(self.select)
        assert differ(answer.arrow(), self.acc.services.plain_table(self.select)) == []
        return answer.metrics.cubes

    @property
    def segments(self) -> set[int]:
        """Those of the store, whose files are all there."""
        found = self.acc.services.store.table(self.uuid).segments.values()
        assert {local_path(one.path) for one in found if one.rows} <= self.artifacts
        return {one.id for one in found}

    @property
    def artifacts(self) -> set[str]:
        root = Path(local_path(self.acc.config.store_root))
        return {str(path) for path in root.glob("tables/*/cubes/*/*/*.parquet")}

    def rows(self, sql: str) -> list[dict[str, object]]:
        return self.acc.query(sql).arrow().to_pylist()


@pytest.fixture
def shop(spark_warehouse, tmp_path: Path) -> Iterator[Shop]:
    with spark_warehouse.attach(store=str(tmp_path / "store"), vacuum_versions_min=1) as acc:
        yield Shop(spark_warehouse, acc)


def test_an_undropped_cube_answers_with_nothing_rebuilt(shop: Shop) -> None:
    segments = shop.segments
    assert len(segments) == 2
    assert shop.check() == ("sales",)
    shop.acc.query("DROP CUBE sales")
    assert shop.check() == ()
    assert shop.rows("SHOW CUBES") == []
    (shown,) = shop.rows("SHOW RECYCLE BIN")
    assert shown["name"] == "sales" and shown["bytes"] > 0
    shop.append()  # what comes meanwhile isn't covered, and read raw
    shop.acc.query(f"VACUUM {shop.table} FULL RETAIN 0 HOURS")
    assert shop.segments == segments
    shop.acc.query("UNDROP CUBE sales AS again")
    assert shop.check() == ("again",)
    assert shop.segments == segments
    (built,) = shop.rows("BUILD CUBE again")
    assert (built["files"], len(shop.segments)) == (1, 3)
    assert shop.check() == ("again",)


def test_a_cube_past_its_time_is_gone_with_its_files(shop: Shop, tmp_path: Path) -> None:
    with shop.wh.attach(store=str(tmp_path / "store"), recycle_bin_hours=0.3 / 3600) as other:
        other.query("DROP CUBE sales")
    time.sleep(0.4)
    for _ in range(2):  # the first ends the cube, the next deletes what that made garbage
        shop.acc.query(f"VACUUM {shop.table} RETAIN 0 HOURS")
        time.sleep(0.01)
    assert shop.artifacts == set()
    assert shop.rows("SHOW RECYCLE BIN") == []
    with pytest.raises(CubeNotFoundError):
        shop.acc.query("UNDROP CUBE sales")
    assert shop.check() == ()


def test_a_published_table_goes_with_the_drop_and_is_published_again(shop: Shop) -> None:
    shop.acc.query("PUBLISH CUBE sales AS lake.d.shop_bin")
    shop.acc.query("DROP CUBE sales")
    assert not shop.wh.spark.catalog.tableExists("lake.d.shop_bin")
    shop.wh.sql("CREATE TABLE lake.d.shop_bin (mine INT) USING iceberg")
    shop.acc.query("UNDROP CUBE sales")
    shop.append()
    shop.acc.query("BUILD CUBE sales")  # publishes nothing
    assert shop.wh.spark.table("lake.d.shop_bin").columns == ["mine"]
    (published,) = shop.rows("PUBLISH CUBE sales AS lake.d.shop_bin_again")
    found = shop.wh.spark.sql(f"SELECT * EXCEPT (row_count) FROM {published['table']}").toArrow()
    assert differ(found, shop.acc.services.plain_table(shop.select)) == []
    for name in ("shop_bin", "shop_bin_again"):
        shop.wh.sql(f"DROP TABLE lake.d.{name}")


def test_a_drop_that_ends_early_leaves_no_table_that_nobody_knows(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (published,) = shop.rows("PUBLISH CUBE sales AS lake.d.shop_bin_early")

    class Ended(BaseException):
        """The end of the process."""

    def end(*_: object, **_more: object) -> None:
        raise Ended

    for step in ("recycle_cube", "drop_cube"):
        force = " FORCE" if step == "drop_cube" else ""
        with monkeypatch.context() as patch, pytest.raises(Ended):
            patch.setattr(shop.acc.services.store, step, end)
            shop.rows(f"DROP CUBE sales{force}")
        assert not shop.wh.spark.catalog.tableExists(str(published["table"]))
        assert shop.check() == ("sales",)
        shop.append()
        shop.rows("BUILD CUBE sales")
        assert shop.wh.spark.catalog.tableExists(str(published["table"]))
    shop.rows("DROP CUBE sales FORCE")
    assert not shop.wh.spark.catalog.tableExists(str(published["table"]))
