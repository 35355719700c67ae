"""The policy's file, what it makes of a user, and the value that goes to workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.errors import ConfigError
from accelerator.gateway.access.grants import ACTIONS, GATEWAY, KINDS_OF, Grant, Object, UserAccess
from accelerator.gateway.access.login.users import User
from accelerator.gateway.access.policy import AccessRule, Policy, PolicyNotBuiltError
from accelerator.gateway.access.roles import RoleNotFoundError, enabled_roles
from accelerator.gateway.admission.admission import Limit, Who

TEXT = """
[[rule]]
allow = ["read"]
users = ["*"]
tables = ["lake.shop.*", "lake.`a.b`.t", "lake.a.b.u"]

[[rule]]
deny = ["read", "change"]
users = ["*"]
tables = ["lake.*.salar*"]

[[rule]]
allow = ["read", "change", "manage"]
roles = ["engineer"]
groups = ["core*"]
tables = ["lake.*.*"]
cubes = ["shop_*"]
indexes = ["*"]

[[rule]]
allow = ["impersonate", "kill"]
users = ["superset"]
whom = ["bi_*"]

[[rule]]
allow = ["metrics"]
groups = ["operators"]

[[limit]]
name = "each"
per = "user"
concurrent = 3
queued = 0
per_minute = 10
memory_mb = 2
priority = 7
sources = ["bi*"]
"""
PAGE = Path(__file__).parents[2] / "docs/reference/access.md"
EVERY = User("eve")
ENGINEER = User("eve", frozenset({"engineer"}))


@pytest.fixture
def load(tmp_path):
    def loaded(text):
        path = tmp_path / "policy.toml"
        path.write_text(text)
        return Policy.load(path)

    return loaded


def _table(*parts):
    return Object.table(parts)


def test_what_rules_allow_and_deny(load):
    access = load(TEXT).access(EVERY)
    assert access.may("read", _table("lake", "shop", "orders"))
    assert access.may("read", _table("LAKE", "Shop", "ORDERS"))
    assert access.may("read", _table("lake", "a.b", "t"))
    assert access.may("read", _table("lake", "a", "b", "u"))
    for denied in (
        ("lake", "shop", "salaries"),
        ("lake", "shop", "SALARIES"),
        ("lake", "shop", "\u017falaries"),
        ("lake", "shop.x", "orders"),
        ("lake", "shopx", "orders"),
        ("lak", "shop", "orders"),
        ("lake", "orders"),
        ("\u017fhop", "shop", "orders"),
    ):
        assert not access.may("read", _table(*denied))
    assert not access.may("change", _table("lake", "shop", "orders"))
    assert not access.may("manage", Object("cube", ("shop_x",)))
    assert not access.may("metrics", GATEWAY)


def test_rules_add_up_and_denials_stay(load):
    policy = load(TEXT)
    access = policy.access(ENGINEER)
    assert access.may("change", _table("lake", "other", "t"))
    assert not access.may("change", _table("lake", "other", "salaries"))
    assert access.may("manage", Object("cube", ("shop_x",)))
    assert not access.may("manage", Object("cube", ("other",)))
    assert access.may("manage", Object("index", ("any",)))
    assert access == policy.access(User("x", groups=frozenset({"core7"})))
    superset = policy.access(User("superset"))
    assert superset.may("impersonate", Object("user", ("bi_1",)))
    assert not superset.may("impersonate", Object("user", ("BI_1",)))
    assert not superset.may("kill", Object("user", ("root",)))
    assert policy.access(User("o", groups=frozenset({"operators"}))).may("metrics", GATEWAY)
    assert not policy.access(User("SUPERSET")).may("kill", Object("user", ("bi_1",)))


def test_an_object_of_another_kind_is_never_allowed(load):
    access = load(TEXT).access(ENGINEER)
    assert not access.may("read", Object("cube", ("shop_x",)))
    assert not access.may("read", Object("table", ("lake", "shop")))
    assert not access.may("manage", Object("table", ("lake", "shop", "t")))


def test_listings(load):
    policy = load(
        TEXT + '[[rule]]\ndeny = ["read", "change"]\nusers = ["*"]\ntables = ["lake.hidden.*"]\n'
    )
    access, engineer = policy.access(EVERY), policy.access(ENGINEER)
    assert access.sees("lake")
    assert access.sees("LAKE")
    assert not access.sees("other")
    assert access.sees("lake", "shop")
    assert access.sees("lake", "a.b")
    assert not access.sees("lake", "elsewhere")
    assert engineer.sees("lake", "elsewhere")
    assert not engineer.sees("lake", "hidden")
    assert not engineer.sees("lake", "HIDDEN")
    assert engineer.sees("lake", "elsewhere", "t")
    assert not engineer.sees("lake", "elsewhere", "salaries")
    assert not UserAccess().sees("lake")
    assert UserAccess.all().sees("x", "y", "z")


def test_without_a_file_everything_is_allowed():
    access = Policy.none().access(EVERY)
    assert access == UserAccess.all()
    assert access.may("metrics", GATEWAY)
    assert access.may("read", _table("x", "y"))


def test_an_empty_file_allows_nothing(load):
    assert load("").access(EVERY) == UserAccess()


def test_limits(load):
    (limit,) = load(TEXT).limits
    assert limit == Limit(
        name="each",
        per="user",
        sources=("bi*",),
        concurrent=3,
        queued=0,
        per_minute=10,
        memory_bytes=2 * 1024 * 1024,
        priority=7,
    )
    assert limit.holds(Who("x", source="bi-tool"))
    assert not limit.holds(Who("x"))
    assert load("").limits is None


def _rule(text):
    return f'[[rule]]\nusers = ["*"]\n{text}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rules]]", "did you mean rule"),
        ("rule = 1", "list of tables"),
        ("[[rule]]", "either allow or deny"),
        (_rule(""), "either allow or deny"),
        (_rule("allow = ['read']\ndeny = ['read']\ntables = ['a.b.c']"), "either allow or deny"),
        ("[[rule]]\nallow = ['metrics']", "say whose it is"),
        ("[[rule]]\nallow = ['metrics']\nusers = []", "empty"),
        (_rule("allow = ['raed']\ntables = ['a.b.c']"), "did you mean read"),
        (_rule("allow = []"), "empty"),
        (_rule("allow = 'read'"), "list of texts"),
        (_rule("allow = ['read']"), "read needs tables"),
        (_rule("allow = ['manage']"), "manage needs cubes or indexes"),
        (_rule("allow = ['read']\ntables = ['a.b.c']\ncubes = ['x']"), "done to cubes"),
        (_rule("allow = ['metrics']\nwhom = ['x']"), "done to whom"),
        (_rule("allow = ['read']\ntable = ['a.b.c']"), "did you mean tables"),
        (_rule("allow = ['read']\ntables = ['b.c']"), "catalog, schema and table"),
        (_rule("allow = ['read']\ntables = ['*']"), "catalog, schema and table"),
        (_rule("allow = ['read']\ntables = ['a..c']"), "isn't a table's name"),
        (_rule("allow = ['read']\ntables = ['a.`b.c']"), "isn't a table's name"),
        (_rule("allow = ['read']\ntables = ['a.b.``']"), "catalog, schema and table"),
        (_rule(f"allow = ['read']\ntables = ['a.b.{'x' * 600}']"), "characters"),
        ("[[limit]]\nconcurrent = 1", "name: it must be a text"),
        ("[[limit]]\nname = 'x'", "limits nothing"),
        ("[[limit]]\nname = 'x'\nper = 'role'\nconcurrent = 1", "one of all, user"),
        ("[[limit]]\nname = 'x'\nconcurrent = 0", "from 1"),
        ("[[limit]]\nname = 'x'\nconcurrent = true", "whole number"),
        ("[[limit]]\nname = 'x'\nconcurent = 1", "did you mean concurrent"),
    ],
)
def test_what_is_wrong_in_the_file_is_told(load, text, said):
    with pytest.raises(ConfigError) as raised:
        load(text)
    assert said in str(raised.value)


@pytest.mark.parametrize("key", ["filter", "mask"])
def test_filters_and_masks_are_never_passed_over(load, key):
    with pytest.raises(PolicyNotBuiltError) as raised:
        load(_rule(f"allow = ['read']\ntables = ['a.b.c']\n{key} = 'x > 1'"))
    assert raised.value.code == "not_built_yet"


def test_the_page_can_be_taken_as_it_is(load):
    told = PAGE.read_text(encoding="utf-8")
    for name, kind in (("Policy", "[[rule]]"), ("Limits", "[[limit]]")):
        block = told.split(f"## {name}\n")[1].split("```toml\n")[1].split("```")[0]
        assert kind in block
        policy = load(block)
        assert policy.rules or policy.limits
    assert all(f"| `{action}` |" in told for action in ACTIONS)


PART = st.text(alphabet="ab*\u017f\u0130\u212a.` ", min_size=1, max_size=4)
PARTS = {"table": 3, "cube": 1, "index": 1, "user": 1, "gateway": 0}


@st.composite
def _grants(draw):
    action = draw(st.sampled_from(ACTIONS))
    kind = draw(st.sampled_from(KINDS_OF[action]))
    pattern = tuple(draw(PART) for _ in range(PARTS[kind]))
    return Grant(draw(st.sampled_from(["allow", "deny"])), action, kind, pattern)


@given(st.lists(_grants(), max_size=6), st.randoms())
def test_the_same_rules_are_one_value_with_one_fingerprint(grants, chance):
    one = UserAccess.of(grants)
    shuffled = [*grants, *grants[:2]]
    chance.shuffle(shuffled)
    other = UserAccess.of(shuffled)
    assert one == other
    assert one.fingerprint == other.fingerprint
    read = UserAccess.from_json(json.loads(json.dumps(one.to_json())))
    assert read == one
    assert read.fingerprint == one.fingerprint
    for grant in set(grants):
        fewer = UserAccess.of(g for g in grants if g != grant)
        assert fewer.fingerprint != one.fingerprint
    assert UserAccess.all().fingerprint != UserAccess().fingerprint


@given(st.lists(_grants(), max_size=6), st.tuples(PART, PART, PART))
def test_no_rule_more_that_denies_ever_allows(grants, name):
    object = Object("table", name)
    allows = [g for g in grants if g.effect == "allow"]
    if UserAccess.of(grants).may("read", object):
        assert UserAccess.of(allows).may("read", object)
        assert UserAccess.of(grants).sees(*name)
        assert UserAccess.of(grants).sees(name[0])
        assert UserAccess.of(grants).sees(name[0], name[1])
    denial = Grant("deny", "read", "table", name)
    if not any("*" in part for part in name):
        assert not UserAccess.of([*grants, denial]).may("read", object)


ROLES = st.frozensets(st.sampled_from(["r", "s", "t"]))


@given(
    st.lists(
        st.builds(AccessRule, st.lists(_grants(), max_size=3).map(tuple), roles=ROLES.map(tuple))
    ),
    ROLES,
    ROLES,
    st.tuples(PART, PART, PART),
)
def test_a_role_that_is_set_never_allows_more(rules, roles, enabled, name):
    policy, user, object = Policy(tuple(rules)), User("u", roles), Object("table", name)
    narrowed = policy.access(user, enabled)
    if narrowed.may("read", object):
        assert policy.access(user).may("read", object)
        assert policy.access(User("u", roles & enabled)).may("read", object)
    assert policy.access(user, roles) == policy.access(user)


def test_which_roles_count():
    user = User("u", frozenset(("a", "B c")))
    assert enabled_roles(user, {}) is None
    assert enabled_roles(user, {"system": "ALL", "lake": "NONE"}) is None
    assert enabled_roles(user, {"system": "NONE"}) == frozenset()
    assert enabled_roles(user, {"system": "ROLE{B c}"}) == {"B c"}
    for chosen in ({"system": "ROLE{A}"}, {"system": "ROLE{b c}"}, {"lake": "ROLE{a}"}):
        with pytest.raises(RoleNotFoundError):
            enabled_roles(user, chosen)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(JSON, st.sampled_from(["format", "everything", "grants"]), st.integers(0, 3))
def test_json_of_others_is_checked(value, key, place):
    for raw in (value, {"format": 1, "everything": False, "grants": [value]}):
        try:
            found = UserAccess.from_json(raw)
        except ConfigError:
            continue
        assert found == UserAccess()
        assert not found.everything
    whole = UserAccess.of([Grant("allow", "read", "table", ("a", "b", "c"))]).to_json()
    changed = {**whole, key: value}
    grants = [[*whole["grants"][0]]]
    grants[0][place] = value
    for raw in (changed, {**whole, "grants": grants}):
        try:
            found = UserAccess.from_json(raw)
        except ConfigError:
            continue
        assert found.everything is (raw["everything"] is True)
        assert json.loads(json.dumps(found.to_json())) == json.loads(json.dumps(raw))


@pytest.mark.parametrize(
    "raw",
    [
        {"format": 1, "everything": True, "grants": [["allow", "metrics", "gateway", []]]},
        {"format": 1, "everything": 1, "grants": []},
        {"format": True, "everything": True, "grants": []},
        {"format": 2, "everything": True, "grants": []},
        {"format": 1, "everything": True, "grants": [], "more": 1},
        {"format": 1, "everything": False, "grants": [["allow", "read", "cube", ["a"]]]},
        {"format": 1, "everything": False, "grants": [["allow", "read", "table", ["a"]]]},
        {"format": 1, "everything": False, "grants": [["may", "read", "table", ["a", "b", "c"]]]},
        {"format": 1, "everything": False, "grants": [["allow", ["read"], "table", []]]},
    ],
)
def test_json_that_is_nearly_right(raw):
    with pytest.raises(ConfigError):
        UserAccess.from_json(raw)
