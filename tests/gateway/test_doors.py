"""No request tells who may not read a table what is in it, or whether it is there."""

from __future__ import annotations

import pytest

from accelerator.config import Config
from accelerator.gateway import serving
from tests.gateway import doors

pytestmark = pytest.mark.served


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    folder = tmp_path_factory.mktemp("doors")
    warehouse = doors.made_warehouse(folder / "warehouse")
    (folder / "policy.toml").write_text(doors.policy())
    config = Config.load(
        None, warehouse=str(warehouse), catalogs=doors.further_catalog(folder)
    )
    with serving.start(
        config, workers=1, maintenance=False, policy=str(folder / "policy.toml")
    ) as found:
        yield found


def test_no_door_leaks(gateway):
    host, port = gateway.url.removeprefix("http://").split(":")
    found = doors.walked(host, int(port))
    assert found.asked >= 400
    told = {name: [one[:600] for one in what] for name, what in found.leaks.items()}
    assert not told
