"""Who sees runs that the API starts: who started them, may read their tables, or may start them."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

import accelerator
from accelerator import client
from accelerator.client import ApiError
from accelerator.common.config.config import Config
from accelerator.gateway import serving
from accelerator.gateway.access.grants import UserAccess
from accelerator.gateway.workers.api.errors import RunNotFoundError
from accelerator.gateway.workers.api.models import Paging, RunPath
from accelerator.gateway.workers.api.runs import RunsOf
from accelerator.store.journals.run import FinishedRun
from accelerator.store.journals.run_history import RunHistory
from tests.gateway.support import made_warehouse

POLICY = """
[[rule]]
allow = ["read", "change"]
users = ["boss"]
tables = ["lake.*.*"]
[[rule]]
allow = ["manage"]
users = ["boss"]
cubes = ["*"]
indexes = ["*"]
[[rule]]
allow = ["change"]
users = ["kim"]
tables = ["lake.shop.sales"]
"""


@pytest.fixture
def gateway(tmp_path):
    warehouse = made_warehouse(tmp_path / "warehouse")
    with accelerator.open(str(warehouse)) as acc:
        acc.query("CREATE INDEX of_sales ON shop.sales USING BLOOM (city)")
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    users = (f'[users.{one}]\npassword = "{cheap.hash("pw")}"\n' for one in ("boss", "kim", "eve"))
    for name, text in (("users", "".join(users)), ("policy", POLICY)):
        (tmp_path / f"{name}.toml").write_text(text)
        (tmp_path / f"{name}.toml").chmod(0o600)
    files = {one: str(tmp_path / f"{one}.toml") for one in ("users", "policy")}
    config = Config.load(None, warehouse=str(warehouse))
    with serving.start(config, workers=1, maintenance=False, **files) as found:
        yield found


def _of(gateway, user):
    return client.connect(gateway.url, user=user, password="pw")


def _lacks(user, run):
    """Returns whether the user is told that there is no such run."""
    with pytest.raises(ApiError) as found:
        user.run(run.id)
    return (found.value.status, found.value.code) == (404, "run_not_found")


@pytest.mark.served
def test_who_may_do_a_run_or_started_it_sees_it(gateway):
    """Kim may change the table, not read it."""
    with _of(gateway, "boss") as boss, _of(gateway, "kim") as kim, _of(gateway, "eve") as eve:
        own = kim.start("vacuum", table="lake.shop.sales").wait(timeout_s=60)
        others = boss.start("vacuum", table="lake.shop.sales").wait(timeout_s=60)
        refresh = boss.start("refresh", index="of_sales").wait(timeout_s=60)
        assert (own.state, own.info["of"]) == ("done", "table lake.shop.sales")
        assert {one.id for one in kim.runs()} == {own.id, others.id}
        assert kim.run(others.id).state == "done"
        assert _lacks(kim, refresh)
        assert _lacks(eve, own)
        assert eve.runs() == []
        assert boss.run(own.id).state == "done"


def test_who_started_a_run_sees_it_though_they_may_not_start_it_any_more(tmp_path):
    """The cube of both runs is gone, and no user has a right; no user asked for the second run."""
    with accelerator.open(str(made_warehouse(tmp_path / "warehouse"))) as acc:
        history = RunHistory(acc.services.store.files)
        history.add("refresh-gone", 1, FinishedRun(began_ms=1, ended_ms=2), "kim")
        history.add("refresh-gone", 2, FinishedRun(began_ms=3, ended_ms=4))
        kim, eve, nobody = (RunsOf(acc.services, UserAccess(), one) for one in ("kim", "eve", ""))
        assert [one.id for one in kim.runs(Paging()).items] == ["refresh-gone:1"]
        assert eve.runs(Paging()).items == nobody.runs(Paging()).items == []
        path = RunPath(run="refresh-gone:1")
        assert kim.run(path).state == "done"
        with pytest.raises(RunNotFoundError):
            eve.run(path)
