"""Decides which HTTP requests the gateway serves, by their host and the page that sent them.

A browser sends requests for any site's page, with the visitor's login and from the visitor's
network. A site can also point its own host name at the gateway. So a request is served only if its
host is a name of the gateway and if no page of another site sent it. Drivers send no `Origin`.
Promises: the check precedes every route, the login and the body; headers of proxies count only
from `trusted_proxies`; no text of a request is in an error unless it is a well-formed host.
`docs/decisions/0051-one-check-for-every-route.md` has the reasons.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from aiohttp import HttpVersion11, web
from aiohttp.typedefs import Middleware

from accelerator.common.http_hosts import (
    Host,
    OwnNames,
    bracketed,
    is_loopback,
    parsed_host,
    plain_address,
)
from accelerator.errors import AcceleratorError
from accelerator.gateway.settings import GatewaySettings

_log = logging.getLogger("accelerator.gateway")
_PORTS = {"http": 80, "https": 443}
_OF_PROGRAMS = "/v1/"
"""Under it nothing is for people, so no link of another site leads there."""
_HOPS_MAX = 16
"""So many proxies in a row are looked at."""
_OWN_PAGES = ("none", "same-origin")
_FORWARDED = ("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Proto")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HostError(AcceleratorError):
    """The request names a host that isn't the gateway."""

    code = "host_unknown"


class OriginError(AcceleratorError):
    """A page of another site sent the request."""

    code = "origin_foreign"


class _Sender(NamedTuple):
    """The client of a request and the address that it called, as a trusted proxy reports them."""

    remote: str
    scheme: str
    host: Host


class Origins:
    """The check of one gateway; `refused` is called with `host` or `origin` for each refusal."""

    def __init__(
        self, settings: GatewaySettings, refused: Callable[[str], None] = lambda _reason: None
    ) -> None:
        self._refused = refused
        self._names = OwnNames(settings.host, settings.hosts)
        self._proxies = tuple(map(ipaddress.ip_network, settings.trusted_proxies))
        self._warned = False

    @property
    def middleware(self) -> Middleware:
        """The middleware, for the place next to the routes."""

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await handler(self.checked(request))

        return check

    def checked(self, request: web.Request) -> web.Request:
        """Returns the request with the client, scheme and host that a trusted proxy reports.

        Raises:
            HostError: its host is no name of the gateway.
            OriginError: a page of another site sent it.
            web.HTTPBadRequest: it has several hosts, or none though its version needs one.
        """
        try:
            return self._checked(request)
        except AcceleratorError as error:
            self._refused("host" if isinstance(error, HostError) else "origin")
            raise

    def _checked(self, request: web.Request) -> web.Request:
        local = _local(request)
        given = request.headers.getall("Host", [])
        if len(given) > 1 or (not given and request.version >= HttpVersion11):
            raise web.HTTPBadRequest(text="the request needs one Host header")
        # Only programs ask without a host: every browser sends one.
        host = self._own(given[0], local) if given else local
        is_plain = bool(given)
        if given and request.host != given[0]:  # the request line has a whole URL
            self._own(bracketed(request.host or ""), local)
            is_plain = False
        sender = self._forwarded(request, host, local)
        self._check_sender(request, sender or _Sender("", request.scheme, host), local)
        if sender is not None:
            return request.clone(
                rel_url=request.rel_url,
                remote=sender.remote,
                scheme=sender.scheme,
                host=str(sender.host),
            )
        return request if is_plain else request.clone(rel_url=request.rel_url, host=str(host))

    def _own(self, text: str, local: Host) -> Host:
        """Returns the host that the text names; HostError unless it's the gateway."""
        host = parsed_host(text)
        if host is None:
            raise HostError(
                "the request's host is no host name", hint="ask by the gateway's name or address"
            )
        if not self._is_own(host.name, local):
            raise HostError(
                f"the host {host.name} is no name of this gateway",
                hint=f'if it is one, add "{host.name}" to the setting hosts in [gateway]',
            )
        return host

    def _is_own(self, name: str, local: Host) -> bool:
        return self._names.has(name, local.name)

    def _forwarded(self, request: web.Request, host: Host, local: Host) -> _Sender | None:
        """Returns what a trusted proxy reports of the request; None for other senders."""
        headers = request.headers
        if not any(name in headers for name in _FORWARDED):
            return None
        peer = request.remote or ""
        if not self._is_proxy(peer):
            if not self._warned:
                self._warned = True
                _log.warning(
                    "X-Forwarded headers of %s are ignored; if it is your proxy, add it to"
                    " trusted_proxies in [gateway]",
                    peer,
                )
            return None
        called = _last(request, "X-Forwarded-Host")
        host = self._own(called, local) if called else host
        scheme = _last(request, "X-Forwarded-Proto").lower()
        scheme = scheme if scheme in _PORTS else request.scheme
        port = _last(request, "X-Forwarded-Port")
        if host.port is None and re.fullmatch("[0-9]{1,5}", port) and int(port) != _PORTS[scheme]:
            host = Host(host.name, int(port))
        return _Sender(self._client(request, peer), scheme, host)

    def _client(self, request: web.Request, peer: str) -> str:
        """Returns the client's address: the last of `X-Forwarded-For` that is no trusted proxy."""
        client = peer
        hops = ",".join(request.headers.getall("X-Forwarded-For", [])).rsplit(",", _HOPS_MAX)
        for hop in reversed(hops[-_HOPS_MAX:]):
            host = parsed_host(hop.strip()) or parsed_host(bracketed(hop.strip()))
            if host is None or not plain_address(host.name) or not self._is_proxy(client):
                break
            client = host.name
        return client

    def _is_proxy(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(plain_address(address) or "")
        except ValueError:
            return False
        return any(found in network for network in self._proxies)

    def _check_sender(self, request: web.Request, called: _Sender, local: Host) -> None:
        """OriginError if a page of another site sent the request."""
        headers = request.headers
        sites = headers.getall("Sec-Fetch-Site", [])
        if any(site not in _OWN_PAGES for site in sites) and not _is_visit(request):
            raise OriginError(
                "a page of another site sent this request",
                hint="send it from the gateway's own page, or from a program",
            )
        origins = headers.getall("Origin", [])
        if origins and not (len(origins) == 1 and self._is_own_page(origins[0], called, local)):
            raise OriginError(
                "the request's Origin is no address of this gateway",
                hint="if it is one, add its host to the setting hosts in [gateway], or have the"
                " proxy pass the Host header on",
            )

    def _is_own_page(self, origin: str, called: _Sender, local: Host) -> bool:
        """Whether the origin is the gateway, as the browser sees it."""
        scheme, _, rest = origin.lower().partition("://")
        page = parsed_host(rest)
        if page is None or scheme not in _PORTS or not self._is_own(page.name, local):
            return False
        if called.scheme == "https" and scheme != "https":
            return False
        host = called.host
        if page.name != host.name and page.name in self._names.given and page.port is None:
            return True  # a proxy at the usual port has replaced the Host header
        if is_loopback(page.name) and not is_loopback(host.name):
            return False  # another server, on the visitor's machine
        default = _PORTS[scheme]
        return (page.port or default) == (host.port or default)


def _local(request: web.Request) -> Host:
    """Returns the address to which the client has connected."""
    address = request.get_extra_info("sockname") or ("", 0)
    return Host(plain_address(str(address[0])) or "", int(address[1]))


def _is_visit(request: web.Request) -> bool:
    """Whether somebody follows a link: the other site can't read the page, and no GET changes."""
    headers = request.headers
    return (
        request.method == "GET"
        and not request.path.startswith(_OF_PROGRAMS)
        and headers.get("Sec-Fetch-Mode") == "navigate"
        and headers.get("Sec-Fetch-Dest", "document") == "document"
    )


def _last(request: web.Request, header: str) -> str:
    """Returns the header's last value: the one that the nearest proxy wrote."""
    return request.headers.getall(header, [""])[-1].rpartition(",")[2].strip()
