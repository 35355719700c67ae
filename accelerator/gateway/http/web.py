"""The gateway's web page at /ui/, the JSON that it shows, and figures for Prometheus at /metrics.

All of it only reads. Whoever may ask statements sees their own; those whom the policy allows
`metrics` on the gateway see all, and the gateway's figures. Promises: nothing of a client is ever
part of a page's text, only of JSON; a browser runs no script but ours, loads nothing from
elsewhere, and shows the page in no other one's frame. `docs/reference/gateway-monitoring.md` has
the paths.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from accelerator.common.records.as_dict import as_dict
from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.access.grants import GATEWAY
from accelerator.gateway.access.login.users import User
from accelerator.gateway.admission.admission import LimitUse
from accelerator.gateway.gateway import Gateway
from accelerator.gateway.monitoring.history import SHOWN_MAX, STATES, HistoryFilter, StatementRecord
from accelerator.gateway.monitoring.prometheus import resident
from accelerator.gateway.monitoring.timeline import STEP_S
from accelerator.version import VERSION
from rewrite.text.printable import one_line

Principal = Callable[[web.Request], Awaitable[User]]
_FOLDER = Path(__file__).parent / "page"
_TYPES = {
    "index.html": "text/html",
    "page.css": "text/css",
    "page.js": "text/javascript",
    "uPlot.min.css": "text/css",
    "uPlot.iife.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""The page's files: these, and no others."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every response here."""
_SPANS = (300, 900, 3600)
_TEXT_MAX = 200
_WORTH_BYTES = 2048


class Web:
    """The routes of one gateway; `principal` says who asks, or raises what tells them to log in."""

    def __init__(self, gateway: Gateway, principal: Principal) -> None:
        self._gateway, self._principal = gateway, principal

    def routes(self) -> list[web.RouteDef]:
        """Returns the routes for the gateway's application."""
        own = [
            web.get("/ui/api/statements", self._reporting_errors(self._statements)),
            web.get("/ui/api/statements/{id}", self._reporting_errors(self._statement)),
            web.get("/ui/api/figures", self._reporting_errors(self._figures)),
            web.get("/ui/{name}", self._reporting_errors(self._file)),
            web.get("/ui/", self._reporting_errors(self._file)),
            web.get("/metrics", self._reporting_errors(self._metrics)),
        ]
        moved = [web.get(path, _to_page) for path in ("/", "/ui")]
        return own + moved

    def _reporting_errors(
        self, handler: Callable[[web.Request], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(asked: web.Request) -> web.StreamResponse:
            try:
                response = await handler(asked)
            except web.HTTPException as error:
                error.headers.update(HEADERS)
                raise
            response.headers.update(HEADERS)
            body = response.body
            if isinstance(body, bytes) and len(body) > _WORTH_BYTES:
                response.enable_compression()
            return response

        return handle

    def _sees_all(self, user: User) -> bool:
        """Returns whether the user sees everybody's statements."""
        return self._gateway.sees_all(self._gateway.access(user))

    def _sees_figures(self, user: User) -> bool:
        """Returns whether the user sees the gateway's figures."""
        return self._gateway.access(user).may("metrics", GATEWAY)

    async def _file(self, asked: web.Request) -> web.Response:
        await self._principal(asked)
        name = asked.match_info.get("name", "index.html")
        if name not in _TYPES:
            raise web.HTTPNotFound(text="there is no such page")
        return web.Response(body=_content(name), content_type=_TYPES[name], charset="utf-8")

    async def _statements(self, asked: web.Request) -> web.Response:
        """Those that run and those that ended, the newest first."""
        user = await self._principal(asked)
        history, query = self._gateway.history, asked.query
        sees_all = self._sees_all(user)
        wanted = HistoryFilter(
            of=None if sees_all else user.name,
            user=query.get("user", "")[:_TEXT_MAX],
            state=_state(query.get("state", "")),
            text=query.get("text", "")[:_TEXT_MAX],
            limit=_number(query.get("limit", "100"), SHOWN_MAX),
        )
        changes = history.changes
        if query.get("changes") == str(changes) and not history.running:
            return web.Response(status=204)
        found = await asyncio.to_thread(_selected, history.newest(), wanted)
        return json_response({"changes": changes, "now": time.time(), "statements": found})

    async def _statement(self, asked: web.Request) -> web.Response:
        """One statement, with how it's answered."""
        user = await self._principal(asked)
        record = self._gateway.history.find(asked.match_info["id"])
        sees_all = self._sees_all(user)
        if record is None or not (sees_all or record.is_of(user.name)):
            raise web.HTTPNotFound(text="there is no such statement, or not any more")
        record = await self._gateway.explained(record)
        shown = record.to_dict(sees_all=sees_all, whole=True)
        made = self._gateway.history.find(record.made_by) if record.made_by else None
        if made is not None:  # the same words under the same rights
            explained = await self._gateway.explained(made)
            shown["explanation"] = explained.explained_to(sees_all=sees_all)
        return json_response(shown | {"now": time.time()})

    async def _figures(self, asked: web.Request) -> web.Response:
        """Of the gateway as a whole; to others than those who may see all, who they are alone."""
        user = await self._principal(asked)
        gateway, now = self._gateway, time.time()
        all_of_it = self._sees_figures(user)
        found: dict[str, Any] = {
            "now": now,
            "user": _line(user.name) if gateway.users is not None else "",
            "all": all_of_it,
            "version": VERSION,
            "up_s": now - gateway.started,
        }
        if all_of_it:
            span = _number(asked.query.get("span", "900"), _SPANS[-1])
            found |= self._whole(now, span)
        return json_response(found)

    def _whole(self, now: float, span_s: int) -> dict[str, Any]:
        gateway = self._gateway
        cache, load, settings = gateway.answering.cache, gateway.admission.load, gateway.settings
        return {
            "span_s": span_s,
            "step_s": STEP_S,
            "timeline": gateway.timeline.to_dict(now, span_s),
            "recent": gateway.timeline.summary(now, span_s),
            "running": load.running,
            "queued": load.queued,
            "remembered": len(gateway.history),
            "turned_away": dict(load.turned_away),
            "limits": [_use(one) for one in gateway.admission.uses()],
            "workers": [
                as_dict(one) | {"memory_bytes": resident(one.pid)} for one in gateway.pool.states()
            ],
            "threads": gateway.pool.settings.threads,
            "restarts": gateway.pool.restarts,
            "retries": gateway.pool.retries,
            "cache": {
                "on": cache.is_on,
                "answers": len(cache),
                "memory_bytes": cache.memory_bytes,
                "memory_max": settings.cache_bytes,
                "disk_bytes": cache.disk_bytes,
                "disk_max": settings.cache_disk_bytes,
                "hits": cache.hits,
                "misses": cache.misses,
                "stale": cache.stale,
            },
            "lag_ms": round(1000 * gateway.monitoring.lag_s, 3),
            "certificate_days": None if gateway.tls is None else gateway.tls.days_left,
            "spark_failed": "" if gateway.warming is None else gateway.warming.failed,
            "broken": [one for one, error in gateway.broken_files().items() if error],
        }

    async def _metrics(self, asked: web.Request) -> web.Response:
        if not self._gateway.settings.metrics_open:
            user = await self._principal(asked)
            if not self._sees_figures(user):
                raise AccessDeniedError("the user may not see the gateway's figures")
        body, content_type = self._gateway.monitoring.text(asked.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})


def _selected(
    select: Callable[[HistoryFilter], list[StatementRecord]], wanted: HistoryFilter
) -> list[dict[str, Any]]:
    sees_all = wanted.of is None
    return [one.to_dict(sees_all=sees_all) for one in select(wanted)]


async def _to_page(_asked: web.Request) -> web.StreamResponse:
    raise web.HTTPFound("/ui/", headers=HEADERS)


@lru_cache(maxsize=len(_TYPES))
def _content(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()


def json_response(value: object) -> web.Response:
    """The value as JSON."""
    return web.Response(body=orjson.dumps(value), content_type="application/json")


def gzipped(asked: web.Request, response: web.Response) -> web.Response:
    """The response, compressed if it's large and its client takes that."""
    is_large = isinstance(response.body, bytes) and len(response.body) > _WORTH_BYTES
    if is_large and "gzip" in asked.headers.get("Accept-Encoding", ""):
        response.enable_compression(web.ContentCoding.gzip)
    return response


def _use(one: LimitUse) -> dict[str, Any]:
    limit = one.limit
    return {
        "name": limit.name,
        "per": limit.per,
        "key": _line(one.key),
        "running": one.running,
        "queued": one.queued,
        "memory_bytes": one.memory_bytes,
        "concurrent_max": limit.concurrent,
        "queued_max": limit.queued,
        "per_minute_max": limit.per_minute,
        "memory_max": limit.memory_bytes,
    }


def _line(name: str) -> str:
    return one_line(name[:_TEXT_MAX])


def _number(text: str, most: int) -> int:
    """A whole number from 1 on; a page asks for no other one."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) > 0):
        raise web.HTTPBadRequest(text="that is no number")
    return min(int(text), most)


def _state(text: str) -> str:
    if text not in ("", "running", "cached") and text.upper() not in STATES:
        raise web.HTTPBadRequest(text="there is no such state")
    return text
