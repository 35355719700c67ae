"""No answer contains anything of a table that its reader may not read, or whether it exists."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

import accelerator
from accelerator.common.config.config import Config
from accelerator.errors import AcceleratorError
from accelerator.gateway import serving
from accelerator.gateway.access.login.users import User
from accelerator.gateway.access.policy import Policy
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.parse import request
from accelerator.gateway.workers.run_statement import Asking, StatementJob, Telling
from tests.gateway import gateway_doors as doors
from tests.gateway.gateway_doors import CATALOG, NOTHING, RIGHTS, SCHEMA, Asker, Door

pytestmark = pytest.mark.served


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """The warehouse, the policy's file, and the configuration of both catalogs."""
    folder = tmp_path_factory.mktemp("doors")
    warehouse = doors.made_warehouse(folder / "warehouse")
    policy = folder / "policy.toml"
    policy.write_text(doors.policy())
    config = Config.load(None, warehouse=str(warehouse), catalogs=doors.further_catalog(folder))
    return warehouse, policy, config


@pytest.fixture(scope="module")
def gateway(lake):
    _, policy, config = lake
    with serving.start(config, workers=1, maintenance=False, policy=str(policy)) as found:
        host, port = found.url.removeprefix("http://").split(":")
        yield host, int(port)


def _check(found):
    told = {name: [one[:600] for one in what] for name, what in found.leaks.items()}
    assert not told
    assert not found.malformed


def test_no_door_leaks(gateway):
    found = doors.walked(*gateway, one_in=5)
    assert found.asked > 150
    _check(found)


@pytest.mark.long
def test_no_door_leaks_with_any_right(gateway):
    found = doors.walked(*gateway)
    assert found.asked >= 400
    _check(found)


OWNERS = (
    *("show create table", "show stats", "describe", "partitions", "properties", "snapshots"),
    *("table comment", "all cubes", "all indexes", "all constraints", "all relate columns"),
    *("queries", "catalogs", "open properties", "open snapshots", "open create", "api open"),
    *("api table", "api open/snapshots"),
)


def test_the_owner_is_told_all_but_passwords(gateway):
    """The secrets can be read by somebody, or their absence would prove nothing."""
    asker = Asker(*gateway, doors.OWNER)
    asker.ask(Door(f"SELECT '{doors.SECRETS['statement of another user']}'"), doors.VAULT)
    texts = [asker.ask(doors.DOORS[one], doors.VAULT).texts for one in OWNERS]
    texts.append(asker.ask(doors.DOORS["show create view"], doors.VIEW).texts)
    asker.close()
    told = "\n".join(texts)
    lacking = {what for what, secret in doors.SECRETS.items() if secret not in told}
    assert lacking - {"constant of a cube"} == {
        "password",
        "password of an address",
        "secret of a summary",
    }


def test_a_catalog_that_is_hidden_is_as_one_that_is_not_there(gateway):
    asker = Asker(*gateway, RIGHTS["no rule"].user)
    try:
        for text in (
            f"SELECT * FROM {{t}}.{SCHEMA}.x",
            f"SHOW TABLES FROM {{t}}.{SCHEMA}",
            "SHOW SCHEMAS FROM {t}",
            f"OPTIMIZE {{t}}.{SCHEMA}.x SORT BY (k)",
            f"DESCRIBE {{t}}.{SCHEMA}.x",
            f"USE {{t}}.{SCHEMA}",
        ):
            hidden, lacking = (
                asker.ask(Door(text), one).compared for one in (doors.SECRETS["catalog"], "nowhere")
            )
            assert hidden == lacking, text
    finally:
        asker.close()


FORBIDDEN_BY_NAME = ("write only", "change only", "deny read", "no rule")


class _Recorder:
    """What is asked of a catalog, by method and the names in its arguments."""

    def __init__(self, reader, monkeypatch):
        self.calls = []
        for name in ("pointer", "view", "is_absent", "within", "namespaces"):
            monkeypatch.setattr(reader, name, self._recorded(name, getattr(reader, name)))

    def _recorded(self, name, method):
        def recorded(*given):
            self.calls.append((name, *(one for one in given if isinstance(one, tuple))))
            return method(*given)

        return recorded

    def taken(self, name):
        """The calls since the last time, with `it` for the name."""
        found, self.calls = self.calls, []
        return json.dumps(found).replace(name, "it")


def test_a_forbidden_table_is_refused_after_the_work_of_one_that_is_not_there(lake, monkeypatch):
    warehouse, policy, _ = lake
    rules, asking = Policy.load(policy), Asking({"version": "1"})
    client = nodes.ClientSession(user="x", catalog=CATALOG, schema=SCHEMA)
    with accelerator.open(str(warehouse)) as session:
        recorder = _Recorder(session.services.lake.catalogs[CATALOG], monkeypatch)
        for of in FORBIDDEN_BY_NAME:
            right = RIGHTS[of]
            access = rules.access(User(right.user))

            def work(door, table, access=access):
                asked = request(door.text.replace("{t}", table), client)
                job = StatementJob(asked, client, access, telling=Telling(True), log_of="x")
                with suppress(AcceleratorError):
                    asking.answer(session, job)
                return recorder.taken(table)

            for name, door in doors.DOORS.items():
                if door.method != "SQL" or not door.has_target or not right.is_asked(door):
                    continue
                if right.sees and (" system." in door.text or "_schema." in door.text):
                    continue  # who sees the name may know that it's there
                if right.sees and door.is_name:
                    continue
                with suppress(AcceleratorError):  # texts that aren't read
                    assert work(door, right.target) == work(door, NOTHING), (name, of)
