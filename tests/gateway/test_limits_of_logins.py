"""Limits count who logged in: asking in the name of others gives no more turns."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from accelerator.common.config.config import Config
from accelerator.gateway.access.login.users import User
from accelerator.gateway.admission.admission import RateLimitedError, Who
from accelerator.gateway.gateway import Gateway
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.statements.statement import Statement
from accelerator.gateway.trino.requests.nodes import ClientSession

POLICY = """
[[rule]]
allow = ["read", "impersonate"]
users = ["*"]
tables = ["*.*.*"]
whom = ["*"]

[[limit]]
name = "each user"
per = "user"
groups = ["bi"]
per_minute = 3
"""


@pytest.fixture
def gateway(tmp_path):
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("secret")
    users, policy = tmp_path / "users.toml", tmp_path / "policy.toml"
    users.write_text(
        f'[users.bob]\npassword = "{cheap}"\ngroups = ["bi"]\nroles = ["clerk"]\n'
        f'[users.ann]\npassword = "{cheap}"\ngroups = ["boss"]\n'
    )
    users.chmod(0o600)
    policy.write_text(POLICY)
    made = Gateway(Config.load(None), GatewaySettings(users=str(users), policy=str(policy)))
    yield made
    made.users.close()


def statement(gateway, principal, name):
    asking = gateway.users.named(principal) or User(principal)
    client = ClientSession(user=name, source="bi", client_tags=("x",))
    return Statement("SELECT 1", client, gateway.impersonated(asking, name), principal, 0)


def test_the_names_and_groups_are_those_of_the_login(gateway):
    clerk = Who("bob", frozenset({"clerk"}), frozenset({"bi"}), "bi", frozenset({"x"}))
    for name in ("bob", "ann", "nobody"):
        assert gateway._who(statement(gateway, "bob", name)) == clerk
    assert gateway._who(statement(gateway, "ann", "bob")).groups == {"boss"}


def test_other_names_give_no_other_rate(gateway):
    def passed(principal, name):
        found = gateway._read(statement(gateway, principal, name))
        return not isinstance(found, RateLimitedError)

    names = ("bob", "ann", "x", "y", "z")
    assert [passed("bob", name) for name in names] == [True, True, True, False, False]
    assert all(passed("ann", name) for name in names), "the limit is of groups that ann isn't in"


def test_without_users_the_name_that_a_client_says_counts():
    gateway = Gateway(Config.load(None), GatewaySettings())
    one = Statement("SELECT 1", ClientSession(user="ann"), User("ann"), "ann", 0)
    assert gateway._who(one) == Who("ann")
