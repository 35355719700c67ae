"""The API over HTTP: who asks, what they give, what a worker answers, and what errors look like.

Everything is checked by the models of `routes.ROUTES`. Promises: each answer is of the document,
errors too; nothing here reads a catalog or a store.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import orjson
from aiohttp import web
from pydantic import BaseModel, ValidationError

from accelerator.errors import AcceleratorError
from accelerator.gateway.access.check import denied
from accelerator.gateway.access.errors import AccessDeniedError, TooManyAttemptsError
from accelerator.gateway.access.grants import Object
from accelerator.gateway.access.login.users import User
from accelerator.gateway.admission.admission import RateLimitedError, Who
from accelerator.gateway.gateway import Gateway
from accelerator.gateway.http.api import problems
from accelerator.gateway.http.api.openapi import document
from accelerator.gateway.http.api.queries import streamed
from accelerator.gateway.http.api.routes import ARROW, BASE, ROUTES, Route
from accelerator.gateway.http.api.started_runs import Started
from accelerator.gateway.http.api.uploads import Uploads
from accelerator.gateway.http.origins import HostError, OriginError
from accelerator.gateway.http.web import HEADERS, Principal, gzipped
from accelerator.gateway.statements.statement import WorkerError
from accelerator.gateway.trino.errors import TrinoError, trino_error
from accelerator.gateway.workers.api import models as m
from accelerator.gateway.workers.api.errors import MediaError, RequestError, RequestTimeoutError
from accelerator.gateway.workers.messages import Header

_log = logging.getLogger("accelerator.gateway")
_JSON = "application/json"
_BODY_MAX = 64 * 1024
_BODY_S, _ANSWER_S, _TURN_S = 10.0, 120.0, 30.0
_KEPT_HEADERS = ("WWW-Authenticate", "Allow", "Retry-After")
_AGAIN_LATER, _RETRY_AFTER_S = (429, 503), "1"
"""Statuses whose clients ask again, and after how many seconds unless the error says more."""
_CODES = {401: "login", 404: "not_found", 405: "method", 413: "upload_too_large"}
_ERRORS = (AcceleratorError, OSError, web.HTTPException, TimeoutError)
_T = TypeVar("_T", bound=BaseModel)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Api:
    """Of one gateway; `principal` says who asks, or raises what tells them to log in."""

    def __init__(self, gateway: Gateway, principal: Principal) -> None:
        self._gateway, self._principal = gateway, principal
        settings = gateway.settings
        self._uploads = Uploads(settings.upload_bytes_max, settings.upload_folder)
        self._started = Started(gateway.pool)
        self._document = orjson.dumps(document())
        self._ending = False

    def routes(self) -> list[web.RouteDef]:
        """For the gateway's application."""
        made = [web.get(f"{BASE}/openapi.json", self._describe, allow_head=False)]
        for route in ROUTES:
            path, handler = f"{BASE}{route.path}", self._handler(route)
            if route.method == "GET":
                made.append(web.get(path, handler, allow_head=False))
            else:
                made.append(web.post(path, handler))
        return made

    def refuse_new(self) -> None:
        """From now on requests are told to come back."""
        self._ending = True

    async def close(self) -> None:
        """Ends the runs that were started here."""
        await self._started.close()

    async def _describe(self, asked: web.Request) -> web.StreamResponse:
        return _response(asked, self._document)

    def _handler(self, route: Route) -> Handler:
        async def handle(asked: web.Request) -> web.StreamResponse:
            response = await answer(asked)
            self._gateway.monitoring.api_answered(route.name, response.status)
            return response

        async def answer(asked: web.Request) -> web.StreamResponse:
            user = None
            try:
                if self._ending:
                    raise web.HTTPServiceUnavailable(text="the gateway ends")
                user = await self._principal(asked)
                if route.sort == "query":
                    query = await self._body(asked, m.QueryModel)
                    return await streamed(self._gateway, asked, user, query)
                body = await self._answered(route, asked, user)
            except _ERRORS as error:
                if isinstance(error, web.HTTPException) and error.status < 400:
                    raise
                return self._failed(route, asked, user, error)
            response = _response(asked, body, route.status)
            if route.sort == "start":
                response.headers["Location"] = f"{BASE}/runs/{orjson.loads(body)['id']}"
            return response

        return handle

    async def _answered(self, route: Route, asked: web.Request, user: User) -> bytes:
        """The answer's body."""
        gateway = self._gateway
        who = Who(user.name, user.roles, user.groups, "api")
        gateway.admission.passing(who)
        path = _validated(route.in_path, dict(asked.match_info), "path")
        query = _validated(route.query, _once(asked), "query")
        headers = _validated(route.headers, _headers(route, asked), "header")
        if isinstance(path, m.RunPath):
            path = m.RunPath(run=self._started.newest(path.run))
        job: Header = {
            "call": route.name,
            "access": gateway.access(user).to_json(),
            "user": user.name,
            "log_of": gateway.log_of(user, gateway.access(user)),
            "path": path.model_dump(by_alias=True),
            "query": query.model_dump(by_alias=True),
            "body": {},
        }
        if route.sort == "append" and isinstance(path, m.TablePath):
            assert isinstance(headers, m.AppendHeaders)
            body = await self._append(asked, user, path, who, job | {"body": {"key": headers.key}})
        elif route.sort == "start":
            body = await self._start(asked, route, who, job)
        else:
            body = await self._worker_answer(job, who, _ANSWER_S)
        self._decided(route, asked, user, allowed=True)
        return body

    async def _worker_answer(self, job: Header, who: Who, limit_s: float | None) -> bytes:
        """What a worker answers; WorkerError with what it says is wrong."""
        async with (
            self._gateway.admission.slot(who, passed=True, wait_max_s=_TURN_S),
            asyncio.timeout(limit_s),
            aclosing(self._gateway.pool.run(job, again=True)) as frames,
        ):
            async for frame in frames:
                if frame.kind == "rows":
                    return bytes(frame.body)
                raise WorkerError(TrinoError.from_dict(frame.header.get("error")))
        raise AssertionError

    async def _append(
        self, asked: web.Request, user: User, path: m.TablePath, who: Who, job: Header
    ) -> bytes:
        """Takes the rows, and has a worker append them: twice is as once, for the key."""
        table = Object("table", (path.catalog, path.schema_, path.table))
        if not self._gateway.access(user).may("write", table):  # before anything is read
            raise denied("write", table)
        _check_media(asked, ARROW)
        async with self._uploads.receive(asked, user.name) as upload:
            given = {"file": str(upload.file), "digest": upload.digest}
            return await self._worker_answer(job | {"body": job["body"] | given}, who, None)

    async def _start(self, asked: web.Request, route: Route, who: Who, job: Header) -> bytes:
        """Starts the work in a process of its own; its run as it is then."""
        assert route.body is not None
        body = await self._body(asked, route.body)
        run = await self._started.start(job | {"body": body.model_dump(by_alias=True)})
        found = job | {"call": "get_run", "path": {"run": run}}
        return await self._worker_answer(found, who, _ANSWER_S)

    async def _body(self, asked: web.Request, model: type[_T]) -> _T:
        """The body as the model has it."""
        _check_media(asked, _JSON)
        most = _BODY_MAX
        if model is m.QueryModel:
            most = self._gateway.settings.statement_bytes_max
        try:
            async with asyncio.timeout(_BODY_S):
                text = bytearray()
                while len(text) <= most and (more := await asked.content.readany()):
                    text += more
        except TimeoutError:
            raise RequestTimeoutError("the body took too long to come") from None
        except (web.RequestPayloadError, ConnectionError) as error:
            raise RequestError("the body broke off", hint="send it again") from error
        if len(text) > most:
            raise web.HTTPRequestEntityTooLarge(max_size=most, actual_size=len(text))
        try:
            return model.model_validate_json(bytes(text))
        except ValidationError as error:
            raise _wrong("body", error) from error

    def _failed(
        self, route: Route, asked: web.Request, user: User | None, error: BaseException
    ) -> web.Response:
        """The error's response; one that was refused is audited."""
        found, headers = _error(error)
        if found.code == AccessDeniedError.code and user is not None:
            self._decided(route, asked, user, allowed=False)
        return _problem(found, headers)

    def _decided(self, route: Route, asked: web.Request, user: User, *, allowed: bool) -> None:
        of = "/".join(asked.match_info.values())
        self._gateway.decided(
            user.name, asked.remote or "", f"api {route.name}", of, allowed=allowed
        )


@web.middleware
async def problem_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers paths without a route, and requests of other sites, by problems, too."""
    if not request.path.startswith(f"{BASE}/"):
        return await handler(request)
    try:
        return await handler(request)
    except (web.HTTPException, HostError, OriginError) as error:
        if isinstance(error, web.HTTPException) and error.status < 400:
            raise
        found, headers = _error(error)
        return _problem(found, headers)


def _error(error: BaseException) -> tuple[TrinoError, Mapping[str, str]]:
    """What is told of an error, and headers that go with it."""
    if isinstance(error, WorkerError):
        return error.told, {}
    if isinstance(error, RateLimitedError | TooManyAttemptsError):
        return trino_error(error), {"Retry-After": str(max(1, math.ceil(error.retry_after_s)))}
    if isinstance(error, web.HTTPException):
        code = _CODES.get(error.status)
        if code is None:
            code = {403: "access_denied", 503: "gateway_busy"}.get(error.status, "request_invalid")
        kept = {k: v for k, v in error.headers.items() if k in _KEPT_HEADERS}
        return TrinoError(code, (error.text or error.reason).splitlines()[0]), kept
    if isinstance(error, TimeoutError):
        return TrinoError("statement_timeout", "the answer took too long"), {}
    return trino_error(error), {}


def _problem(found: TrinoError, headers: Mapping[str, str]) -> web.Response:
    made = problems.problem(found)
    if made.status >= 500:
        _log.warning("a request of the API failed: %s: %s", found.code, found.message)
    body = made.model_dump_json().encode()
    wait = {"Retry-After": _RETRY_AFTER_S} if made.status in _AGAIN_LATER else {}
    return web.Response(
        body=body,
        status=made.status,
        headers=HEADERS | wait | dict(headers) | {"Content-Type": problems.TYPE},
    )


def _response(asked: web.Request, body: bytes, status: int = 200) -> web.Response:
    made = web.Response(body=body, status=status, content_type=_JSON, headers=HEADERS)
    return gzipped(asked, made)


def _validated(model: type[_T], values: Mapping[str, Any], where: str) -> _T:
    """The parameters as the model has them; RequestError."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise _wrong(where, error) from error


def _wrong(where: str, error: ValidationError) -> RequestError:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    at = ".".join(map(str, first["loc"]))
    return RequestError(
        f"the {where} isn't as it should be: {f'{at}: ' if at else ''}{first['msg']}",
        hint=f"{BASE}/openapi.json has what each operation takes",
    )


def _once(asked: web.Request) -> dict[str, str]:
    """The parameters of the query; RequestError where one is given twice."""
    found: dict[str, str] = {}
    for name, value in asked.query.items():
        if name in found:
            raise RequestError(f"the parameter {name} is given twice", hint="give it once")
        found[name] = value
    return found


def _headers(route: Route, asked: web.Request) -> dict[str, str]:
    """The headers that the route has parameters for."""
    fields = (one.alias or name for name, one in route.headers.model_fields.items())
    return {name: asked.headers[name] for name in fields if name in asked.headers}


def _check_media(asked: web.Request, wanted: str) -> None:
    """MediaError where the body is of another type, or encoded."""
    if asked.content_type != wanted:
        raise MediaError("the body is of another type", hint=f"send it as Content-Type: {wanted}")
    if asked.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise MediaError("the body comes without Content-Encoding", hint="send it as it is")
