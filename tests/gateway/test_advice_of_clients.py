"""Advice through a gateway, asked by Trino's Python client: analyzed, shown, applied, measured."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import trino
from trino.auth import BasicAuthentication
from trino.exceptions import TrinoUserError

import accelerator
from accelerator.common.config.config import Config
from accelerator.gateway import serving
from accelerator.gateway.access.login.passwords import hash_password
from tests.accelerator.services.advisor.asked_lake import log
from tests.gateway.support import made_warehouse

pytestmark = pytest.mark.served

SQL = "SELECT city, sum(amount) AS s FROM lake.shop.sales GROUP BY city"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory) -> Path:
    made = made_warehouse(tmp_path_factory.mktemp("advice") / "warehouse")
    with accelerator.open(made) as acc:
        log(acc, (SQL, 50), ms=900.0)
    return made


def asked(url: str, sql: str, **more) -> list[dict]:
    given = {"user": "ann", "catalog": "lake", "schema": "shop", **more}
    with closing(trino.dbapi.connect(host=url, **given)) as connection:
        cursor = connection.cursor()
        cursor.execute(sql)
        rows = cursor.fetchall()
        return [dict(zip([one[0] for one in cursor.description], row, strict=True)) for row in rows]


def test_from_a_log_to_a_gain(warehouse):
    with serving.start(Config.load(None, warehouse=str(warehouse)), workers=1) as running:
        (one,) = asked(running.url, "ANALYZE sales WITH (bytes = '1MB')")
        assert one["action"] == "CREATE CUBE" and one["status"] == "open"
        assert asked(running.url, "SHOW RECOMMENDATIONS ON sales") == [one]
        (done,) = asked(running.url, f"APPLY RECOMMENDATION {one['id']}")
        assert done["cube"] == one["cube"]
        assert asked(running.url, "SHOW RECOMMENDATIONS")[0]["status"] == "applied"
        assert len(asked(running.url, SQL)) == 4
        (result,) = asked(running.url, "SHOW ADVICE RESULTS ON sales")
        assert (result["name"], result["by"], result["status"]) == (one["cube"], "hand", "in use")
        assert result["promised_ms_per_day"] == one["gain_ms_per_day"]
        with pytest.raises(TrinoUserError, match="there is no recommendation"):
            asked(running.url, "APPLY RECOMMENDATION r000000000000")
        with pytest.raises(TrinoUserError, match="exists"):
            asked(running.url, f"APPLY RECOMMENDATION {one['id']}")
        with pytest.raises(TrinoUserError, match="budget is nothing"):
            asked(running.url, "ANALYZE sales WITH (bytes = 0)")
    with accelerator.open(warehouse) as acc:  # the gateway has written its log
        (result,) = acc.advice_results("lake.shop.sales")
        assert result.runs == 1 and result.before_ms == 900.0
        assert result.gain_ms is not None and result.gain_ms > 0


def test_rights(warehouse, tmp_path):
    users, policy = tmp_path / "users.toml", tmp_path / "policy.toml"
    words = "".join(f'[users.{n}]\npassword = "{hash_password("pw")}"\n' for n in ("ann", "bob"))
    users.write_text(words)
    users.chmod(0o600)
    policy.write_text(
        '[[rule]]\nusers = ["ann", "bob"]\nallow = ["read"]\ntables = ["lake.shop.*"]\n'
        '[[rule]]\nusers = ["ann"]\nallow = ["metrics"]\n'
    )
    given = {"users": str(users), "policy": str(policy), "insecure": True}
    with serving.start(Config.load(None, warehouse=str(warehouse)), workers=1, **given) as running:

        def as_(user: str, sql: str) -> list[dict]:
            session = {"user": user, "auth": BasicAuthentication(user, "pw")}
            return asked(running.url, sql, allow_insecure_auth=True, **session)

        assert as_("ann", "ANALYZE sales") is not None
        assert as_("ann", "SHOW ADVICE RESULTS ON sales") is not None
        words = ("ANALYZE sales", "SHOW RECOMMENDATIONS ON sales", "SHOW ADVICE RESULTS ON sales")
        for sql in (*words, "APPLY RECOMMENDATIONS FOR sales"):
            with pytest.raises(TrinoUserError, match="the right metrics on the gateway"):
                as_("bob", sql)
        with pytest.raises(TrinoUserError, match="it can't be told whether you may"):
            as_("ann", "SHOW ADVICE RESULTS")
