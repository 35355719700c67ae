"""The store's maintenance beside a gateway."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from accelerator.config import Config
from accelerator.gateway import maintenance
from accelerator.gateway.maintenance import Maintenance
from accelerator.gateway.workers.pool import Pool, PoolSettings
from accelerator.maintenance.daemon import Schedule
from tests.gateway.support import made_warehouse

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
        made = pool._made

        async def noted(**given):
            worker = await made(**given)
            pids.append(worker.pid)
            return worker

        pool._made = noted
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
