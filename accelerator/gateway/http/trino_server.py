"""Trino's protocol over HTTP: the paths, who asks, what a response says.

What is wrong with a statement is an answer of the protocol; other statuses are for what is no
statement of anybody: 400 and 413 what can't be read, 401 and 429 who isn't known, 403 pages of
other sites, 421 hosts that aren't the gateway, 404 and 410 what isn't there any more, 503 a gateway
that ends, which clients ask again.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import re
import ssl
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from accelerator.errors import AcceleratorError
from accelerator.gateway.access.errors import AccessDeniedError, TooManyAttemptsError
from accelerator.gateway.access.login.users import User
from accelerator.gateway.gateway import VERSION as TRINO_VERSION
from accelerator.gateway.gateway import Gateway
from accelerator.gateway.http.api.server import Api, problem_middleware
from accelerator.gateway.http.connections import ConnectionRunner
from accelerator.gateway.http.origins import HostError, OriginError, Origins
from accelerator.gateway.http.web import HEADERS, Web, gzipped, json_response
from accelerator.gateway.statements.statement import NoSuchPageError, Page, Statement
from accelerator.gateway.trino.errors import failure
from accelerator.gateway.trino.headers import HeaderError, check_user, client_session
from accelerator.gateway.trino.response import StatementStats, document
from accelerator.version import VERSION

_log = logging.getLogger("accelerator.gateway")
_NUMBER = re.compile(r"[0-9]{1,12}")
_STATEMENT = "/v1/statement"
_PAGE = _STATEMENT + "/executing/{id}/{slug}/{token}"
_JSON = "application/json"
_BODY_S = 30.0
"""A client may send its statement for so long."""
_IDLE_S = 75.0
"""A connection on which nothing comes for so long is closed."""
_READS_FIRST = re.compile(r"Trino (?:Python Client|JDBC Driver)/|trino-cli\b")
"""Clients that read rows, and errors, of the response to a POST; those for Go and JavaScript would
lose them, since Trino has none there."""
_HEADERS = {
    name: HEADERS[name]
    for name in ("Cache-Control", "Cross-Origin-Resource-Policy", "X-Content-Type-Options")
}


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """The HTTP side of one gateway; belongs to its event loop."""

    def __init__(self, gateway: Gateway, *, tls: ssl.SSLContext | None = None) -> None:
        self._gateway, self._tls = gateway, tls
        self._origins = Origins(gateway.settings, gateway.monitoring.request_refused)
        self._app = web.Application(
            client_max_size=gateway.settings.statement_bytes_max,
            middlewares=[_report_errors, problem_middleware, self._origins.middleware],
        )
        self._app.add_routes(
            [
                web.post(_STATEMENT, self._post),
                web.get(_PAGE, self._get, allow_head=False),
                web.head(_PAGE, self._head),
                web.delete(_PAGE, self._delete),
                web.delete("/v1/query/{id}", self._kill),
                web.get("/v1/info", self._info),
                web.get("/v1/info/state", self._state),
                web.get("/v1/status", self._state),
            ]
        )
        self._app.add_routes(Web(gateway, self.principal).routes())
        self._api = Api(gateway, self.principal)
        self._app.add_routes(self._api.routes())
        self._app.on_response_prepare.append(_add_headers)
        self._runner: web.AppRunner | None = None
        self._ending = False

    @property
    def app(self) -> web.Application:
        """To which others add their pages, before it starts."""
        return self._app

    async def start(self) -> int:
        """Listens; the port. OSError where it can't."""
        settings = self._gateway.settings
        limit = settings.header_bytes_max
        self._runner = ConnectionRunner(
            self._app,
            access_log=None,
            logger=_log,
            handle_signals=False,
            max_line_size=limit,
            max_field_size=limit,
            auto_decompress=False,
            keepalive_timeout=_IDLE_S,
            shutdown_timeout=2.0,
        )
        await self._runner.setup()
        site = web.TCPSite(
            self._runner, settings.host, settings.port, ssl_context=self._tls, backlog=1024
        )
        await site.start()
        port = int(self._runner.addresses[0][1])
        scheme = "http" if self._tls is None else "https"
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._gateway.address = f"{scheme}://{host}:{port}"
        return port

    def refuse_new(self) -> None:
        """From now on new statements are told to come back."""
        self._ending = True
        self._api.refuse_new()

    async def close(self) -> None:
        """Listens no more, and ends what the API has started."""
        await self._api.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def principal(self, asked: web.Request) -> User:
        """Who asks, by their password; where there are no users, whoever they say."""
        given = _basic(asked.headers.get("Authorization", ""))
        users = self._gateway.users
        if users is None:
            name = asked.headers.get("X-Trino-User") or (given[0] if given else "")
            check_user(name)
            return User(name)
        found = None
        if given is not None:
            check_user(given[0])
            try:
                found = await users.check(*given, asked.remote or "")
            except TooManyAttemptsError:
                self._gateway.monitoring.login_failed(held_up=True)
                raise
        if found is None:
            if given is not None:
                name = given[0]
                self._gateway.monitoring.login_failed()
                self._gateway.decided(name, asked.remote or "", "login", "", allowed=False)
            raise _unknown("the name or the password is wrong" if given else "log in first")
        return found

    async def _post(self, asked: web.Request) -> web.StreamResponse:
        if self._ending:
            raise web.HTTPServiceUnavailable(headers={"Retry-After": "1"})
        principal = await self.principal(asked)
        text = await _text(asked)
        name = asked.headers.get("X-Trino-User") or principal.name
        if not name:
            raise _bad("the header X-Trino-User is missing")
        check_user(name)
        client = client_session(asked.headers, name)
        gateway = self._gateway
        user = gateway.impersonated(principal, client.user, asked.remote or "")
        statement = await gateway.submit(
            text, client, user, principal.name, asked.remote or "", asked.headers
        )
        page = None
        if _READS_FIRST.match(asked.headers.get("User-Agent", "")):
            page, _ = await statement.page(statement.next_token, gateway.settings.first_answer_s)
        if page is not None and page.is_last:
            gateway.drop_read(statement)
        return self._response(asked, statement, page)

    async def _get(self, asked: web.Request) -> web.StreamResponse:
        statement = await self._named(asked)
        token = asked.match_info["token"]
        if not _NUMBER.fullmatch(token):
            raise _gone("there is no such page")
        page, _ = await statement.page(int(token), self._gateway.settings.poll_s)
        return self._response(asked, statement, page)

    async def _head(self, asked: web.Request) -> web.StreamResponse:
        statement = await self._named(asked)
        statement.asked = time.monotonic()
        return web.Response(status=200)

    async def _delete(self, asked: web.Request) -> web.StreamResponse:
        self._gateway.forget(await self._named(asked))
        return web.Response(status=204)

    async def _kill(self, asked: web.Request) -> web.StreamResponse:
        """Go's and JavaScript's clients end statements so, by their ids alone, ended ones too.

        Of a statement that they may not end nothing is told, nor does it end.
        """
        principal = await self.principal(asked)
        found = self._gateway.statements.get(asked.match_info["id"])
        gateway = self._gateway
        if found is not None and gateway.may_end(
            principal.name, gateway.access(principal), by=found.principal, of=found.user.name
        ):
            gateway.forget(found)
        return web.Response(status=204)

    async def _info(self, _asked: web.Request) -> web.StreamResponse:
        up = time.time() - self._gateway.started
        return json_response(
            {
                "nodeVersion": {"version": TRINO_VERSION},
                "environment": "accelerator",
                "coordinator": True,
                "starting": False,
                "uptime": f"{up:.2f}s",
                "acceleratorVersion": VERSION,
            }
        )

    async def _state(self, _asked: web.Request) -> web.StreamResponse:
        return json_response("SHUTTING_DOWN" if self._ending else "ACTIVE")

    async def _named(self, asked: web.Request) -> Statement:
        principal = await self.principal(asked)
        id, slug = asked.match_info["id"], asked.match_info["slug"]
        name = principal.name if self._gateway.users is not None else None
        found = self._gateway.statement_of(id, slug, name)
        if found is None:
            raise web.HTTPNotFound(text="there is no such statement, or not any more")
        return found

    def _response(
        self, asked: web.Request, statement: Statement, page: Page | None
    ) -> web.Response:
        base = _base(asked)
        over = page is not None and page.is_last
        error = statement.error if over else None
        own = f"{base}{_STATEMENT}/executing/{statement.id}/{statement.slug}/"
        body = document(
            statement.id,
            f"{base}/ui/#{statement.id}",
            next_uri=None if over else f"{own}{statement.next_token}",
            columns=statement.columns,
            data=page.data if page is not None else None,
            stats=_stats(statement),
            error=None if error is None else failure(error),
            update_type=statement.update_type,
        )
        response = web.Response(body=body, content_type=_JSON)
        for name, value in statement.headers if over and error is None else ():
            response.headers.add(name, value)
        return gzipped(asked, response)


@web.middleware
async def _report_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What is wrong is told as a status with a text in one line."""
    try:
        return await handler(request)
    except web.HTTPException:
        raise
    except TooManyAttemptsError as error:
        wait = {"Retry-After": str(max(1, round(error.retry_after_s)))}
        raise web.HTTPTooManyRequests(text=_line(error), headers=wait) from error
    except HostError as error:
        raise web.HTTPMisdirectedRequest(text=_line(error)) from error
    except (AccessDeniedError, OriginError) as error:
        raise web.HTTPForbidden(text=_line(error)) from error
    except NoSuchPageError as error:
        raise _gone(_line(error)) from error
    except HeaderError as error:
        raise _bad(_line(error)) from error


def _line(error: AcceleratorError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message


async def _text(asked: web.Request) -> str:
    """The statement."""
    if asked.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise web.HTTPUnsupportedMediaType(text="a statement comes without Content-Encoding")
    try:
        if asked.content.is_eof():  # it has come with its headers
            return (await asked.read()).decode()
        async with asyncio.timeout(_BODY_S):
            return (await asked.read()).decode()
    except TimeoutError:
        raise web.HTTPRequestTimeout(text="the statement took too long to come") from None
    except (web.RequestPayloadError, ConnectionError):
        raise _bad("the statement broke off") from None
    except UnicodeDecodeError:
        raise _bad("the statement isn't UTF-8") from None


def _basic(header: str) -> tuple[str, str] | None:
    """Name and password of a header of Basic authentication; None for another one."""
    scheme, _, given = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        pair = base64.b64decode(given.strip(), validate=True)
    except ValueError:  # no base64, or not even ASCII
        return None
    try:
        text = pair.decode()
    except UnicodeDecodeError:  # Java's and Python's clients send Latin-1
        text = pair.decode("latin-1")
    name, colon, password = text.partition(":")
    return (name, password) if colon else None


def _base(asked: web.Request) -> str:
    """Returns the gateway's address as the client called it; `Origins` has checked the host."""
    return f"{asked.scheme}://{asked.host}"


async def _add_headers(_asked: web.Request, response: web.StreamResponse) -> None:
    """Adds the headers of every response, so that nobody stores, sniffs or embeds it."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)


def _bad(text: str) -> web.HTTPException:
    return web.HTTPBadRequest(text=text)


def _gone(text: str) -> web.HTTPException:
    return web.HTTPGone(text=text)


def _unknown(text: str) -> web.HTTPException:
    return web.HTTPUnauthorized(text=text, headers={"WWW-Authenticate": 'Basic realm="Trino"'})


def _stats(statement: Statement) -> StatementStats:
    figures = statement.figures
    metrics = figures.metrics
    return StatementStats(
        state=figures.state,
        elapsed_ms=figures.elapsed_ms,
        queued_ms=figures.queued_ms,
        planning_ms=int(metrics.get("planning_ms", 0)),
        wall_ms=figures.elapsed_ms - figures.queued_ms,
        rows=figures.rows,
        bytes_read=int(metrics.get("bytes_read", 0)),
        physical_bytes=int(metrics.get("bytes_read", 0)),
    )
