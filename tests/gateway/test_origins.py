"""The check of single requests: their host, their origin and the headers of proxies."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl

import pytest
from aiohttp import HttpVersion10, HttpVersion11, web
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from yarl import URL

from accelerator.common.http_hosts import Host, configured_host, parsed_host
from accelerator.errors import ConfigError
from accelerator.gateway.http.origins import HostError, OriginError, Origins
from accelerator.gateway.settings import GatewaySettings

mocked = pytest.importorskip("aiohttp.test_utils")

FOREIGN = {"Sec-Fetch-Site": "cross-site"}


def request(
    *headers,
    method="GET",
    path="/v1/statement",
    peer="127.0.0.1",
    local="127.0.0.1",
    version=HttpVersion11,
    tls=False,
):
    """A request with these headers, each a pair; of port 8080."""

    class Transport(asyncio.Transport):
        def get_extra_info(self, name, default=None):
            known = {"peername": (peer, 50_000), "sockname": (local, 8080)}
            return known.get(name, default)

    return mocked.make_mocked_request(
        method,
        str(URL(path)),
        CIMultiDict(headers),
        version=version,
        transport=Transport(),
        sslcontext=ssl.create_default_context() if tls else None,
    )


def outcome(settings, *headers, **more):
    """`served`, or the code of the error."""
    try:
        Origins(settings).checked(request(*headers, **more))
    except (HostError, OriginError) as error:
        assert error.message and error.hint
        return error.code
    except web.HTTPBadRequest:
        return "bad"
    return "served"


LOCAL = GatewaySettings()
NAMED = GatewaySettings(hosts=("gw.example.com", "10.0.0.9", "Köln.example", "fd00::5"))
EVERYWHERE = GatewaySettings(host="0.0.0.0", insecure=True)
PROXIED = GatewaySettings(
    hosts=("gw.example.com",), trusted_proxies=("10.0.0.7", "10.1.0.0/16", "fd00::/8")
)


@pytest.mark.parametrize(
    ("host", "served"),
    [
        *((one, True) for one in ("localhost", "localhost:8080", "LocalHost.:9999", "127.0.0.1")),
        *((one, True) for one in ("127.8.9.1:1", "[::1]:8080", "[::ffff:127.0.0.1]", "[0:0::1]")),
        *((one, False) for one in ("evil.example", "evil.example:8080", "10.0.0.9", "")),
        *((one, False) for one in ("localhost.evil.example", "evil.localhost", "0.0.0.0:8080")),
        *((one, False) for one in ("localhost@evil", "evil@localhost", "localhost/x", "::1")),
        *((one, False) for one in ("localhost, evil", "localhost:80:80", "localhost:x", "[::1")),
        *((one, False) for one in ("localhost..", ".localhost", "127.1", "2130706433", "0x7f.1")),
        *((one, False) for one in ("loca\u017fhost", "\uff4cocalhost", "x" * 5000, "[127.0.0.1]x")),
    ],
)
def test_a_gateway_of_this_machine_has_its_loopback_names(host, served):
    assert outcome(LOCAL, ("Host", host)) == ("served" if served else "host_unknown")


@pytest.mark.parametrize(
    ("host", "served"),
    [
        *((one, True) for one in ("gw.example.com", "GW.Example.Com.:8443", "10.0.0.9:80")),
        *((one, True) for one in ("xn--kln-sna.example", "[fd00:0:0::5]:8080", "localhost")),
        *((one, False) for one in ("a.gw.example.com", "example.com", "10.0.0.8", "gw.example")),
    ],
)
def test_the_setting_adds_names(host, served):
    assert outcome(NAMED, ("Host", host)) == ("served" if served else "host_unknown")


@pytest.mark.parametrize(
    ("setting", "local", "host", "served"),
    [
        # A probe of an orchestrator names the address that it has connected to.
        ("0.0.0.0", "10.2.3.4", "10.2.3.4:8080", True),
        ("0.0.0.0", "10.2.3.4", "10.2.3.5:8080", False),
        ("0.0.0.0", "10.2.3.4", "0.0.0.0:8080", True),
        ("0.0.0.0", "10.2.3.4", socket.gethostname(), True),
        ("0.0.0.0", "10.2.3.4", "evil.example", False),
        ("::", "fd00::7", "[fd00::7]", True),
        ("::", "fe80::1%eth0", "[fe80::1]:8080", True),
        ("::", "::ffff:10.2.3.4", "10.2.3.4", True),
        ("::", "fd00::7", "[fd00::8]", False),
        ("10.2.3.4", "10.2.3.4", "10.2.3.4", True),
        ("10.2.3.4", "10.2.3.4", "0.0.0.0", False),
        ("10.2.3.4", "10.2.3.4", "localhost", True),
        ("lake.internal", "10.2.3.4", "lake.internal:8080", True),
        ("lake.internal", "10.2.3.4", "10.2.3.4", True),
        ("lake.internal", "10.2.3.4", "lake.evil", False),
    ],
)
def test_the_address_listened_on_counts(setting, local, host, served):
    settings = GatewaySettings(host=setting, insecure=True)
    found = outcome(settings, ("Host", host), local=local, peer="10.9.9.9")
    assert found == ("served" if served else "host_unknown")


def test_a_request_has_one_host_or_is_too_old_for_one():
    assert outcome(LOCAL) == "bad"
    assert outcome(LOCAL, ("Host", "localhost"), ("Host", "localhost")) == "bad"
    old = request(version=HttpVersion10)
    assert Origins(LOCAL).checked(old).host == "127.0.0.1:8080"
    assert outcome(LOCAL, ("Host", "evil.example"), version=HttpVersion10) == "host_unknown"
    old = request(("X-Forwarded-Proto", "https"), peer="10.0.0.7", version=HttpVersion10)
    found = Origins(PROXIED).checked(old)
    assert (found.scheme, found.host) == ("https", "127.0.0.1:8080")


def test_a_whole_url_in_the_request_line_is_checked_as_well():
    host = ("Host", "localhost:8080")
    assert outcome(LOCAL, host, path="http://evil.example/v1/info") == "host_unknown"
    found = Origins(LOCAL).checked(request(host, path="http://localhost:8080/v1/info?a=b%20c"))
    assert (found.host, found.path_qs) == ("localhost:8080", "/v1/info?a=b%20c")
    assert outcome(LOCAL, ("Host", "evil.example"), path="http://localhost/x") == "host_unknown"
    assert outcome(LOCAL, ("Host", "[::1]:8080"), path="http://[::1]:8080/v1/info") == "served"


@pytest.mark.parametrize(
    ("origin", "served"),
    [
        *((one, True) for one in ("http://localhost:8080", "https://127.0.0.1:8080")),
        *((one, True) for one in ("http://LOCALHOST:8080", "http://[::1]:8080")),
        *((one, False) for one in ("null", "", "http://evil.example", "http://evil.example:8080")),
        # Another server of this machine is another site.
        *((one, False) for one in ("http://localhost:3000", "http://localhost", "file://")),
        *((one, False) for one in ("http://localhost:8080/", "http://localhost:8080 null")),
        *((one, False) for one in ("localhost:8080", "ftp://localhost:8080", "http://a@localhost")),
        *((one, False) for one in ("chrome-extension://localhost", "http://localhost:8080,x")),
    ],
)
def test_an_origin_is_the_gateway_itself(origin, served):
    found = outcome(LOCAL, ("Host", "localhost:8080"), ("Origin", origin), method="POST")
    assert found == ("served" if served else "origin_foreign")


@pytest.mark.parametrize(
    ("host", "origin", "more", "served"),
    [
        # A proxy that ends TLS, and one that replaces the host.
        ("gw.example.com", "https://gw.example.com", {}, True),
        ("gw.example.com:443", "https://gw.example.com", {}, True),
        ("127.0.0.1:8080", "https://gw.example.com", {}, True),
        ("127.0.0.1:8080", "https://other.example.com", {}, False),
        ("10.0.0.9:8080", "http://gw.example.com:3000", {}, False),
        # Another port of the same machine is another site.
        ("gw.example.com:8080", "http://gw.example.com:9000", {}, False),
        ("gw.example.com:8080", "http://gw.example.com", {}, False),
        ("gw.example.com", "http://gw.example.com", {}, True),
        # Nobody has protected a page that came without TLS.
        ("gw.example.com", "http://gw.example.com", {"tls": True}, False),
        ("gw.example.com", "https://gw.example.com", {"tls": True}, True),
        # A server of the visitor's own machine.
        ("gw.example.com:8080", "http://localhost:8080", {}, False),
        ("gw.example.com:8080", "http://127.0.0.1:8080", {}, False),
    ],
)
def test_an_origin_has_the_port_that_the_client_called(host, origin, more, served):
    found = outcome(NAMED, ("Host", host), ("Origin", origin), **more)
    assert found == ("served" if served else "origin_foreign")


def test_two_origins_are_none():
    own = ("Origin", "http://localhost:8080")
    assert outcome(LOCAL, ("Host", "localhost:8080"), own, own) == "origin_foreign"


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "PUT"])
@pytest.mark.parametrize(
    ("site", "served"),
    [
        *((one, True) for one in ("none", "same-origin")),
        *((one, False) for one in ("cross-site", "same-site", "", "Same-Origin", "none, none")),
    ],
)
def test_a_browser_says_whose_page_sends(site, served, method):
    headers = ("Host", "localhost"), ("Sec-Fetch-Site", site)
    found = outcome(LOCAL, *headers, method=method, path="/ui/")
    assert found == ("served" if served else "origin_foreign")


@pytest.mark.parametrize(
    ("path", "method", "headers", "served"),
    [
        ("/ui/", "GET", {}, True),
        ("/", "GET", {"Sec-Fetch-Dest": "document"}, True),
        ("/ui", "GET", {}, True),
        ("/ui/", "GET", {"Sec-Fetch-Dest": "iframe"}, False),
        ("/ui/", "GET", {"Sec-Fetch-Mode": "no-cors"}, False),
        ("/ui/", "POST", {}, False),
        ("/ui/", "GET", {"Origin": "http://evil.example"}, False),
        ("/metrics", "GET", {}, True),
        ("/api/v1/openapi.json", "GET", {}, True),
        ("/api/v1/runs", "POST", {}, False),
        ("/v1/info", "GET", {}, False),
        ("/v1/statement/executing/a/b/1", "GET", {}, False),
    ],
)
def test_a_link_leads_to_what_people_read(path, method, headers, served):
    sent = {"Host": "localhost", **FOREIGN, "Sec-Fetch-Mode": "navigate", **headers}
    found = outcome(LOCAL, *sent.items(), method=method, path=path)
    assert found == ("served" if served else "origin_foreign")


# Proxies


def forwarded(peer, *headers, host="10.0.0.9:8080", settings=PROXIED):
    given = [("Host", host), *((f"X-Forwarded-{name}", value) for name, value in headers)]
    found = Origins(settings).checked(request(*given, peer=peer, local="10.0.0.9"))
    return f"{found.scheme}://{found.host}", found.remote


@pytest.mark.parametrize(
    ("headers", "address", "client"),
    [
        ([("Proto", "https")], "https://10.0.0.9:8080", "10.0.0.7"),
        ([("Host", "gw.example.com"), ("Proto", "HTTPS")], "https://gw.example.com", "10.0.0.7"),
        ([("Host", "GW.example.com:8443")], "http://gw.example.com:8443", "10.0.0.7"),
        (
            [("Host", "gw.example.com"), ("Proto", "https"), ("Port", "8443")],
            "https://gw.example.com:8443",
            "10.0.0.7",
        ),
        (
            [("Host", "gw.example.com"), ("Proto", "https"), ("Port", "443")],
            "https://gw.example.com",
            "10.0.0.7",
        ),
        ([("Proto", "gopher"), ("Port", "x")], "http://10.0.0.9:8080", "10.0.0.7"),
        ([("Proto", "http, https")], "https://10.0.0.9:8080", "10.0.0.7"),
        ([("For", "203.0.113.5")], "http://10.0.0.9:8080", "203.0.113.5"),
        ([("For", "1.1.1.1, 203.0.113.5, 10.1.2.3")], "http://10.0.0.9:8080", "203.0.113.5"),
        ([("For", "10.1.0.1, 10.1.0.2")], "http://10.0.0.9:8080", "10.1.0.1"),
        ([("For", "203.0.113.5:4711")], "http://10.0.0.9:8080", "203.0.113.5"),
        ([("For", "2001:DB8::1")], "http://10.0.0.9:8080", "2001:db8::1"),
        ([("For", "[2001:db8::1]:9"), ("For", "10.1.1.1")], "http://10.0.0.9:8080", "2001:db8::1"),
        ([("For", "203.0.113.5, x y")], "http://10.0.0.9:8080", "10.0.0.7"),
        ([("For", "localhost")], "http://10.0.0.9:8080", "10.0.0.7"),
        ([("For", ",".join(["10.1.0.1"] * 20_000))], "http://10.0.0.9:8080", "10.1.0.1"),
        ([("For", "")], "http://10.0.0.9:8080", "10.0.0.7"),
    ],
)
def test_a_trusted_proxy_reports_the_client(headers, address, client):
    assert forwarded("10.0.0.7", *headers) == (address, client)


def test_headers_of_others_do_not_count(caplog):
    headers = [("Proto", "https"), ("Host", "gw.example.com"), ("For", "1.2.3.4")]
    for peer in ("10.0.0.8", "127.0.0.1", "fe80::1%eth0"):
        assert forwarded(peer, *headers) == ("http://10.0.0.9:8080", peer)
    assert forwarded("10.0.0.7", *headers, settings=LOCAL)[0] == "http://10.0.0.9:8080"
    caplog.set_level(logging.WARNING)
    caplog.clear()
    origins = Origins(LOCAL)
    for _ in range(3):
        origins.checked(request(("Host", "localhost"), ("X-Forwarded-For", "1.2.3.4")))
    (line,) = caplog.messages
    assert "127.0.0.1" in line and "trusted_proxies" in line


def test_both_hosts_of_a_proxy_are_checked():
    """A rebound page on the proxy's own machine may send any header but Host and Origin."""
    for host, forwarded_host in (("evil.example", "localhost"), ("localhost", "evil.example")):
        with pytest.raises(HostError):
            forwarded("10.0.0.7", ("Host", forwarded_host), host=host)


def test_an_origin_is_compared_with_the_host_that_the_proxy_reports():
    def found(origin, *more):
        headers = ("Host", "127.0.0.1:8080"), ("Origin", origin), *more
        return outcome(PROXIED, *headers, peer="10.0.0.7")

    host = ("X-Forwarded-Host", "gw.example.com")
    https = ("X-Forwarded-Proto", "https")
    assert found("https://gw.example.com", host, https) == "served"
    assert found("http://gw.example.com", host, https) == "origin_foreign"
    assert found("https://gw.example.com:9000", host, https) == "origin_foreign"


# Settings and texts


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(
            ("hosts", one)
            for one in ("*", "*.example.com", "gw:8080", "http://gw", "a b", "[::1]:1")
        ),
        *(("trusted_proxies", one) for one in ("gw", "10.0.0.0/33", "10.0.0.1/8", "*")),
    ],
)
def test_a_setting_that_names_no_host_is_refused(key, value):
    with pytest.raises(ConfigError) as caught:
        GatewaySettings(**{key: ("localhost", value) if key == "hosts" else (value,)})
    assert value in caught.value.message and caught.value.hint


def test_settings_come_from_the_environment():
    env = {
        "ACCELERATOR_GATEWAY_HOSTS": "a.example, b",
        "ACCELERATOR_GATEWAY_TRUSTED_PROXIES": "::1",
    }
    found = GatewaySettings.load(env=env)
    assert (found.hosts, found.trusted_proxies) == (("a.example", "b"), ("::1",))


def test_refusals_are_counted_and_show_no_text_that_is_no_host():
    counted = []
    origins = Origins(LOCAL, counted.append)
    with pytest.raises(HostError) as caught:
        origins.checked(request(("Host", "<script>\nx")))
    assert "script" not in str(caught.value)
    with pytest.raises(HostError) as caught:
        origins.checked(request(("Host", "gw.example.com:1")))
    assert '"gw.example.com" to the setting hosts' in caught.value.hint
    with pytest.raises(OriginError) as caught:
        origins.checked(request(("Host", "localhost"), ("Origin", "http://evil.example")))
    assert "evil" not in str(caught.value)
    assert counted == ["host", "host", "origin"]


@given(st.text(max_size=40) | st.from_regex(r"[\[\]:a-f0-9.%-]{0,40}", fullmatch=True))
def test_any_text_is_a_host_in_one_spelling_or_none(text):
    found = parsed_host(text)
    if found is not None:
        assert parsed_host(str(found)) == found
        assert str(found).isascii() and str(found) == str(found).lower()
    assert outcome(LOCAL, ("Host", text)) in ("served", "host_unknown")
    assert outcome(LOCAL, ("Host", "localhost"), ("Origin", text)) == "origin_foreign"


def test_a_configured_host_has_no_port():
    assert configured_host("::1") == configured_host("[0::1]") == Host("::1")
    assert configured_host("Gw.Example.") == Host("gw.example")
