"""Plans, reasons and names of cubes on the page and in the log; stars in rules."""

from __future__ import annotations

import pyarrow as pa
import pytest
from argon2 import PasswordHasher

from accelerator.common.config.config import Config
from accelerator.gateway.access.grants import Grant, Object, UserAccess
from accelerator.gateway.access.login.users import User
from accelerator.gateway.gateway import Gateway
from accelerator.gateway.monitoring.history import HistoryFilter, StatementRecord
from accelerator.gateway.monitoring.query_log import record
from accelerator.gateway.settings import GatewaySettings
from accelerator.store.journals.query_log.visibility import own, shown_to

LOG = pa.table(
    {
        "user": ["ann", "ann", "bob"],
        "process": ["gateway"] * 3,
        "cubes": pa.array([["open", "hidden"], None, ["hidden"]], pa.list_(pa.string())),
        "indexes": pa.array([["hidden"], [], []], pa.list_(pa.string())),
    }
)


def _ended(*, is_private):
    return StatementRecord(
        id="1",
        user="ann",
        principal="ann",
        state="FINISHED",
        created=1.0,
        written="SELECT 1",
        sql_length=8,
        cubes=("hidden",),
        reason="cubes_none: No cube. Of hidden.",
        is_private=is_private,
        explanation={"text": "cube hidden", "private": is_private},
    )


def test_a_private_plan_is_for_those_who_see_everything():
    private = _ended(is_private=True)
    found = private.to_dict(sees_all=False, whole=True)
    assert "hidden" not in str(found) and found["explanation"] is None
    assert private.to_dict(sees_all=True, whole=True)["explanation"] == {"text": "cube hidden"}
    assert "hidden" in str(private.to_dict(sees_all=True))
    assert "hidden" in str(_ended(is_private=False).to_dict(sees_all=False, whole=True))


def test_a_private_plan_is_not_found_by_its_words():
    assert not HistoryFilter(of="ann", text="hidden").holds(_ended(is_private=True))
    assert HistoryFilter(of="ann", text="hidden").holds(_ended(is_private=False))
    assert HistoryFilter(text="hidden").holds(_ended(is_private=True))


def test_the_log_keeps_the_code_of_a_private_reason():
    private, shown = (record(_ended(is_private=one)) for one in (True, False))
    assert (private.reason, private.reason_text) == ("cubes_none", None)
    assert (shown.reason, shown.reason_text) == ("cubes_none", "No cube. Of hidden.")
    assert private.cubes == ("hidden",)  # services count by it how often a cube answers


def test_a_reader_of_the_log_reads_names_of_cubes_that_they_may_know_of():
    with shown_to("ann", lambda _kind, name: name != "hidden"):
        found = own(LOG, "ann")
    assert found["cubes"].to_pylist() == [["open"], None]
    assert found["indexes"].to_pylist() == [[], []]
    assert found.schema == LOG.schema
    with shown_to("ann"):
        assert own(LOG, "ann")["cubes"].to_pylist() == [["open", "hidden"], None]


@pytest.mark.parametrize(
    ("pattern", "allowed", "others"),
    [
        ("shop", ["shop"], ["shop.eu", "shops"]),
        ("*", ["shop", "eu"], ["shop.eu"]),
        ("shop.*", ["shop.eu"], ["shop", "shop.eu.old"]),
        ("*.*", ["shop.eu"], ["shop", "shop.eu.old"]),
        ("s*p", ["shop"], ["s.p", "shop.p"]),
    ],
)
def test_a_star_stays_in_its_level_where_it_allows(pattern, allowed, others):
    access = UserAccess.of([Grant("allow", "read", "table", ("lake", pattern, "*"))])

    def reads(namespace):
        return access.may("read", Object.table(("lake", *namespace.split("."), "t")))

    assert [one for one in (*allowed, *others) if reads(one)] == allowed
    assert [one for one in (*allowed, *others) if access.sees("lake", one)] == allowed


def test_a_star_crosses_levels_where_it_denies():
    access = UserAccess.of(
        [
            Grant("allow", "read", "table", ("lake", "shop.eu", "*")),
            Grant("deny", "read", "table", ("lake", "shop*", "*")),
        ]
    )
    assert not access.may("read", Object.table(("lake", "shop", "eu", "t")))


def test_with_users_and_no_policy_each_sees_their_own(tmp_path):
    users, policy = tmp_path / "users.toml", tmp_path / "policy.toml"
    users.write_text(f'[users.ann]\npassword = "{PasswordHasher().hash("x")}"\n')
    users.chmod(0o600)
    policy.write_text('[[rule]]\nallow = ["metrics"]\nusers = ["boss"]\n')
    config = Config.load(None, warehouse=str(tmp_path))
    for given, everybody, sees_all in (
        ({}, "ann", True),
        ({"users": str(users)}, "ann", False),
        ({"users": str(users), "policy": str(policy)}, "ann", False),
        ({"users": str(users), "policy": str(policy)}, "boss", True),
        ({"policy": str(policy)}, "boss", True),
    ):
        gateway = Gateway(config, GatewaySettings(**given))
        assert gateway.sees_all(gateway.access(User(everybody))) is sees_all, given
