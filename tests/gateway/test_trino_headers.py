"""Headers of clients as sessions, and what clients are told: nothing gets out of its line."""

from __future__ import annotations

from urllib.parse import quote, quote_plus, unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from accelerator.gateway.trino.headers import (
    HeaderError,
    client_session,
    response_headers,
    time_zone,
)
from accelerator.gateway.trino.requests.nodes import ClientSession, SetRole

_NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,12}", fullmatch=True)
_TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)


def _session(*pairs, user="ann"):
    return client_session(CIMultiDict(pairs), user)


def test_what_java_clients_send():
    found = _session(
        ("X-Trino-User", "other"),
        ("x-trino-original-user", "bob"),
        ("X-Trino-Source", "trino-cli"),
        ("X-Trino-Catalog", "lake"),
        ("X-Trino-Schema", "shop"),
        ("X-Trino-Time-Zone", "Etc/UTC"),
        ("X-Trino-Language", "en-US"),
        ("X-Trino-Session", "a=1"),
        ("X-Trino-Session", "lake.b=x%2Cy+%3D"),
        ("X-Trino-Prepared-Statement", "s1=SELECT+%3F%2C+%27%2B%27"),
        ("X-Trino-Role", "system=ROLE%7Badmin%7D"),
        ("X-Trino-Client-Tags", "x, y,x"),
        ("X-Trino-Transaction-Id", "NONE"),
        ("X-Trino-Extra-Credential", "secret=1"),
        ("X-Trino-Client-Capabilities", "PATH,PARAMETRIC_DATETIME"),
    )
    assert found == ClientSession(
        user="ann",
        original_user="bob",
        source="trino-cli",
        catalog="lake",
        schema="shop",
        time_zone="UTC",
        language="en-US",
        client_tags=("x", "y"),
        roles={"system": "ROLE{admin}"},
        properties={"a": "1", "lake.b": "x,y ="},
        prepared={"s1": "SELECT ?, '+'"},
        capabilities=frozenset(("PATH", "PARAMETRIC_DATETIME")),
    )
    assert found.parametric_datetime


def test_what_pythons_client_sends():
    found = _session(
        ("X-Trino-Session", ""),
        ("X-Trino-Prepared-Statement", f"st_1={quote_plus('SELECT a = ?')},st_2=x"),
        ("X-Trino-Role", f"lake={quote('ROLE{a b}')},system=ALL"),
    )
    assert found.properties == {}
    assert found.prepared == {"st_1": "SELECT a = ?", "st_2": "x"}
    assert found.roles == {"lake": "ROLE{a b}", "system": "ALL"}
    assert _session() == ClientSession(user="ann")
    assert _session(("X-Trino-Transaction-Id", "t1")).transaction == "t1"


@given(st.dictionaries(_NAMES, _TEXTS, max_size=5), st.booleans())
def test_properties_and_statements_come_back(pairs, joined):
    parts = [f"{name}={quote_plus(value)}" for name, value in pairs.items()]
    for header, kind in (("Session", "properties"), ("Prepared-Statement", "prepared")):
        values = [", ".join(parts)] if joined else parts
        found = _session(*((f"X-Trino-{header}", value) for value in values))
        assert getattr(found, kind) == pairs


@given(st.dictionaries(_NAMES, _TEXTS, max_size=4), _TEXTS)
def test_what_clients_are_told_comes_back_and_stays_in_its_line(pairs, name):
    found = response_headers(set_session=pairs, added_prepare={name: name} | pairs)
    assert all(key.startswith("X-Trino-") for key, _ in found)
    assert all(value.isascii() and value.isprintable() for _, value in found)
    said = {}
    for key, value in found:
        one, _, other = value.partition("=")
        said.setdefault(key, {})[unquote_plus(one)] = unquote_plus(other)
    assert said.get("X-Trino-Set-Session", {}) == pairs
    assert said["X-Trino-Added-Prepare"] == {name: name} | pairs


@pytest.mark.parametrize("evil", ["a\r\nX: y", "a\nb", "a\x00", "\x7f", "a\x85b", "\ud800"])
def test_no_name_ends_a_header(evil):
    for key in ("set_catalog", "set_schema", "started_transaction", "set_authorization_user"):
        with pytest.raises(HeaderError):
            response_headers(**{key: evil})
    with pytest.raises(HeaderError):
        response_headers(set_role=SetRole("r", evil))
    with pytest.raises(HeaderError):
        response_headers(clear_session=[evil])
    with pytest.raises(HeaderError):
        response_headers(set_session={evil: "1"})


def test_all_that_clients_can_be_told():
    assert response_headers(
        set_catalog="lake",
        set_schema="schön",
        set_session={"lake.a": "x y,"},
        clear_session=["b"],
        added_prepare={"s": "SELECT 1"},
        deallocated_prepare=["t u"],
        started_transaction="id",
        clear_transaction=True,
        set_role=SetRole("a b"),
        set_authorization_user="ann",
        reset_authorization_user=True,
    ) == [
        ("X-Trino-Set-Catalog", "lake"),
        ("X-Trino-Set-Schema", "schön"),
        ("X-Trino-Set-Session", "lake.a=x+y%2C"),
        ("X-Trino-Clear-Session", "b"),
        ("X-Trino-Added-Prepare", "s=SELECT+1"),
        ("X-Trino-Deallocated-Prepare", "t+u"),
        ("X-Trino-Started-Transaction-Id", "id"),
        ("X-Trino-Clear-Transaction-Id", "true"),
        ("X-Trino-Set-Role", "system=ROLE%7Ba+b%7D"),
        ("X-Trino-Set-Authorization-User", "ann"),
        ("X-Trino-Reset-Authorization-User", "true"),
    ]
    assert response_headers(set_role=SetRole("ALL", "lake"))[0][1] == "lake=ALL"


@pytest.mark.parametrize(
    ("zone", "known"),
    [
        *(("UTC", "UTC"), ("Z", "UTC"), ("utc", "UTC"), ("+00:00", "UTC"), ("GMT", "UTC")),
        *(("+01:00", "+01:00"), ("-0530", "-05:30"), ("UTC+8", "+08:00"), ("+14", "+14:00")),
        *(("Europe/Berlin", "Europe/Berlin"), (" Asia/Shanghai ", "Asia/Shanghai")),
    ],
)
def test_zones(zone, known):
    assert time_zone(zone) == known


@pytest.mark.parametrize(
    "zone",
    ["", "Nowhere/City", "../../etc/passwd", "/etc/passwd", "+15:00", "+01:60", "America", "a\0b"],
)
def test_no_zones(zone):
    with pytest.raises(HeaderError, match="no time zone"):
        time_zone(zone)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Schema", "s"),
        ("Session", "a"),
        ("Session", "=1"),
        ("Session", "a.b.c=1"),
        ("Session", ".a=1"),
        ("Session", "a=%ff"),
        ("Session", "a%0Ab=1"),
        ("Session", ",".join(f"a{number}=1" for number in range(1001))),
        ("Session", "a" * 257 + "=1"),
        ("Source", "x" * 20_000),
        ("Prepared-Statement", "a=" + "x" * 2**20),
        ("Prepared-Statement", "a=%24zstd%3AKLUv"),
        ("Role", "system=admin"),
        ("Catalog", "a\x1b[2Jb"),
        ("Catalog", "a\udcffb"),
        ("Time-Zone", "Nowhere\x1b[2J"),
    ],
)
def test_bad_headers_are_named_and_not_echoed_as_they_are(name, value):
    with pytest.raises(HeaderError) as caught:
        _session((f"X-Trino-{name}", value))
    text = str(caught.value)
    assert name in text or "X-Trino-…" in text
    assert text.replace("\n", "").isprintable()
    assert len(text) < 400


def test_two_values_of_one_header():
    assert _session(("X-Trino-Catalog", "a"), ("X-Trino-Catalog", "a")).catalog == "a"
    with pytest.raises(HeaderError, match="more than once"):
        _session(("X-Trino-Catalog", "a"), ("X-Trino-Catalog", "b"))


@given(st.lists(st.tuples(st.sampled_from(["Session", "Role", "Prepared-Statement"]), _TEXTS)))
def test_whatever_is_sent_is_a_session_or_an_error(pairs):
    try:
        found = _session(*((f"X-Trino-{name}", value) for name, value in pairs))
    except HeaderError:
        return
    assert all(isinstance(one, str) for one in (*found.properties.values(), *found.prepared))
