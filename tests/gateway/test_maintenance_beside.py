"""The store's maintenance beside a gateway."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

import accelerator
from accelerator.common.config.config import Config
from accelerator.gateway.workers.pool import maintenance
from accelerator.gateway.workers.pool.maintenance import Maintenance
from accelerator.gateway.workers.pool.pool import Frame, Pool, PoolSettings
from accelerator.services.maintenance.daemon import Schedule
from tests.accelerator.services.advisor.asked_lake import log
from tests.gateway.support import catalog_of, made_warehouse, sales

pytestmark = pytest.mark.served


def rounds(kept):
    return kept.exporter.registry.get_sample_value(
        "accelerator_maintenance_rounds_total", {"outcome": "good"}
    )


def test_a_worker_of_its_own_maintains_the_store_and_is_followed_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr(maintenance, "_PAUSE_S", 0.05)
    warehouse = made_warehouse(tmp_path / "warehouse")

    async def run():
        config = Config.load(None, warehouse=str(warehouse))
        pool = Pool(config, PoolSettings(workers=1, gateway={"version": "476"}))
        await pool.start()
        pids = []
        made = pool._start

        async def noted(**given):
            worker = await made(**given)
            pids.append(worker.pid)
            return worker

        pool._start = noted
        kept = Maintenance(pool, Schedule(interval_s=0.01))
        task = asyncio.create_task(kept.run())
        try:
            while not rounds(kept):
                await asyncio.sleep(0.01)
            os.kill(pids[0], signal.SIGKILL)
            before = rounds(kept)
            while len(pids) < 2 or rounds(kept) <= before:
                await asyncio.sleep(0.01)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await pool.close()

    asyncio.run(asyncio.wait_for(run(), 60))


def test_cubes_follow_their_tables_and_it_is_told(tmp_path):
    warehouse = made_warehouse(tmp_path / "warehouse")
    with accelerator.open(warehouse) as acc:
        acc.query("CREATE CUBE c AS SELECT city, count(*) AS n FROM shop.sales GROUP BY city")
        acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    catalog = catalog_of(warehouse)
    catalog.load_table("shop.sales").append(sales(10))
    catalog.engine.dispose()

    async def run():
        config = Config.load(None, warehouse=str(warehouse), refresh_poll_s=0.05)
        pool = Pool(config, PoolSettings(workers=1, gateway={"version": "476"}))
        await pool.start()
        kept = Maintenance(pool, Schedule())
        value = kept.exporter.registry.get_sample_value
        task = asyncio.create_task(kept.run())
        try:
            while not value("accelerator_refresh_files_total"):
                await asyncio.sleep(0.01)
            while value("accelerator_refresh_lag_seconds", {"artifact": "cube c"}) != 0:
                await asyncio.sleep(0.01)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await pool.close()

    asyncio.run(asyncio.wait_for(run(), 60))
    with accelerator.open(warehouse) as acc:
        (row,) = acc.query("SHOW CUBES").arrow().to_pylist()
        assert (row["status"], row["lag_s"]) == ("complete", 0)


def test_the_advisor_runs_beside_it_and_is_told(tmp_path):
    warehouse = made_warehouse(tmp_path / "warehouse")
    sql = "SELECT city, sum(amount) AS s FROM lake.shop.sales GROUP BY city"
    with accelerator.open(warehouse) as acc:
        log(acc, (sql, 50), ms=900.0)

    async def run():
        config = Config.load(None, warehouse=str(warehouse), advisor="auto")
        pool = Pool(config, PoolSettings(workers=1, gateway={"version": "476"}))
        await pool.start()
        kept = Maintenance(pool, Schedule())
        value = kept.exporter.registry.get_sample_value
        task = asyncio.create_task(kept.run())
        try:
            while not value("accelerator_advisor_runs_total", {"outcome": "good"}):
                await asyncio.sleep(0.01)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await pool.close()
        assert value("accelerator_advisor_applied_total", {"action": "CREATE CUBE"}) == 1
        assert value("accelerator_advisor_in_use") == 1
        assert value("accelerator_advisor_promised_ms_per_day") > 0

    asyncio.run(asyncio.wait_for(run(), 60))
    with accelerator.open(warehouse) as acc:
        assert acc.query(sql).metrics.cubes


def test_what_a_worker_tells_that_cant_be_read_is_passed_over(caplog):
    kept = Maintenance(None, Schedule())
    kept._hear({"advised": {"steps": [{"odd": 1}]}})
    assert "can't be read" in caplog.text


def test_a_build_that_needs_spark_is_given_a_worker_that_has_it(monkeypatch):
    monkeypatch.setattr(maintenance, "_PAUSE_S", 0.01)
    asked = []

    class Workers:
        async def maintained(self, _schedule, *, spark=False):
            asked.append(spark)
            if not spark:
                error = {"kind": "SparkElsewhereError", "code": "spark_elsewhere", "message": "m"}
                yield Frame("error", {"kind": "error", "error": error}, b"")
            else:
                await asyncio.Event().wait()

    async def run():
        task = asyncio.create_task(Maintenance(Workers(), Schedule()).run())
        while len(asked) < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(asyncio.wait_for(run(), 30))
    assert asked == [False, True]
