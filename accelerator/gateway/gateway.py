"""The gateway itself: what each statement goes through, whatever protocol it came by.

What is asked → who may → how many at once → what is kept of it → a worker. Nothing here speaks
HTTP. Promises: a statement that fails takes nothing along; equal statements that run at once are
run once; what a policy or a file of users says counts from the moment it was read.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from accelerator.common.config.config import Config
from accelerator.common.records.as_dict import as_dict
from accelerator.errors import AcceleratorError, UntranslatedError
from accelerator.gateway.access.audit import Audit, Decision
from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.access.files.watched import Reloaded, Watched
from accelerator.gateway.access.grants import GATEWAY, Object, UserAccess
from accelerator.gateway.access.login.tls import Tls
from accelerator.gateway.access.login.users import User, Users
from accelerator.gateway.access.policy import Policy
from accelerator.gateway.access.roles import SYSTEM, enabled_roles
from accelerator.gateway.admission.admission import Admission, AdmissionSlot, Limit, Who
from accelerator.gateway.admission.memory_estimates import Estimates
from accelerator.gateway.monitoring.history import (
    SHOWN_MAX,
    History,
    HistoryFilter,
    StatementRecord,
    slow_line,
)
from accelerator.gateway.monitoring.kill import Ending
from accelerator.gateway.monitoring.prometheus import MonitoredParts, Monitoring
from accelerator.gateway.monitoring.query_log import opened
from accelerator.gateway.monitoring.query_log import record as logged
from accelerator.gateway.monitoring.timeline import Timeline
from accelerator.gateway.monitoring.tracing import Tracing
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.statements.answer_cache import EncodedAnswer
from accelerator.gateway.statements.answers import LONG, Answering
from accelerator.gateway.statements.statement import Page, Pages, Statement
from accelerator.gateway.statements.unread import Unread
from accelerator.gateway.trino.json.encode import encode, pages
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.nodes import ClientSession, Request
from accelerator.gateway.trino.requests.parse import request
from accelerator.gateway.trino.session_properties import PROPERTIES, Wishes, changes
from accelerator.gateway.trino.types import columns
from accelerator.gateway.workers.messages import Header, rows_of
from accelerator.gateway.workers.pool.maintenance import Maintenance
from accelerator.gateway.workers.pool.pool import OF_ONE, Frame, Pool, PoolSettings
from accelerator.gateway.workers.pool.warming import Warming
from accelerator.services.maintenance.daemon import Schedule

_log = logging.getLogger("accelerator.gateway")
_INLINE_CELLS = 2000
"""So few values are written as JSON at once; more in a thread, so that others don't wait."""
_AT_HAND_BYTES = 128 * 1024
"""Answers of fewer bytes that are kept are kept as JSON, too."""
_SWEEP_S, _UNREAD_S = 2.0, 0.25
_ACCESSES_MAX = 4096
_NO_POLICY = Policy.none()
_EXPLAINED_MS = 100.0
"""How a statement that took longer was answered is asked for at once: the worker may forget it."""
_EXPLAINED_AT_ONCE = 4
_FLUSH_S = 2.0
_READ_S = 20.0
"""The last page of a statement may be asked for again for so long."""
_NO_HEADERS: Mapping[str, str] = {}
_OF_PREPARED = ("EXECUTE", "DESCRIBE", "DESC", "EXPLAIN")
_WORD = re.compile(r"\s*([A-Za-z_]+)")
_RESULT = pa.schema([("result", pa.bool_())])
_DONE = b"[[true]]"
"""What Trino answers to a statement without rows: JDBC's driver fails where there is no column."""
VERSION = "476"
"""The release of Trino's whose protocol this is: clients choose by it what they send."""

NODE = "gateway"
"""How it's called as the one node of itself."""

Read = tuple[Request | None, Wishes]
"""What a statement asks for, and how its client wants it; None: its text is long, and not read."""


class Gateway:
    """Belongs to one event loop; `start` before anything else."""

    def __init__(self, config: Config, settings: GatewaySettings, file: Path | None = None) -> None:
        """`file` has the settings. ConfigError where the users, or the policy, can't be read."""
        self.config, self.settings = config, settings
        self.users = None if settings.users is None else Users.load(settings.users)
        self.audit = None if settings.audit_log is None else Audit(settings.audit_log)
        self.tls = None
        if settings.tls_certificate is not None and settings.tls_key is not None:
            self.tls = Tls(settings.tls_certificate, settings.tls_key)
        self._policy = _policy(settings.policy)
        started = PoolSettings(
            settings.workers_started,
            settings.threads,
            settings.time_zones,
            {"version": VERSION},
            settings.worker_silence_s,
            settings.pattern_timeout_s,
            settings.worker_memory_bytes,
            settings.jvm_memory_bytes,
            settings.worker_cgroup,
            settings.queue_timeout_s,
            settings.private_files(file),
        )
        self.pool = Pool(config, started)
        self._accesses_of: Policy | None = None
        self._accesses: dict[tuple[User, frozenset[str] | None], UserAccess] = {}
        self.answering = Answering(config, settings, self.pool)
        self.admission = Admission(self._limits(), wait_max_s=settings.queue_timeout_s)
        self.estimates = Estimates(settings.statement_memory_bytes)
        self.maintenance = self._maintenance()
        self.warming = Warming(self.pool) if settings.spark == "warm" else None
        self.started = time.time()
        self.address = ""
        """Where clients find it, once it listens."""
        self.history = History(settings.history_max)
        self.log = opened(config) if config.query_log and not config.store_read_only else None
        self.timeline = Timeline()
        self.monitoring = Monitoring(
            MonitoredParts(
                self.started,
                self.pool,
                self.answering.cache,
                self.admission,
                self.history,
                self.maintenance,
                self.tls,
                self.broken_files,
            )
        )
        self.tracing = Tracing.of(settings.tracing_endpoint)
        self._explaining: set[asyncio.Task[StatementRecord]] = set()
        self.statements: dict[str, Statement] = {}
        self._ending = Ending(self.statements, self.history)
        self.unread = Unread(self.statements, settings.unread_bytes_max, settings.unread_max)
        self._numbers = itertools.count()
        self._encoders = ThreadPoolExecutor(2, thread_name_prefix="encoder")
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Starts the workers; NoWorkerError where none can open its session."""
        await asyncio.to_thread(self.answering.cache.delete_left)
        await self.pool.start()
        self._tasks = [
            asyncio.create_task(self._sweep()),
            asyncio.create_task(self._bound_unread()),
        ]
        if self.maintenance is not None:
            self._tasks.append(asyncio.create_task(self.maintenance.run()))
        if self.warming is not None:
            self._tasks.append(asyncio.create_task(self.warming.run()))
        self.monitoring.start()

    async def close(self) -> None:
        """Ends all statements and workers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for statement in list(self.statements.values()):
            statement.cancel()
        for explaining in self._explaining:
            explaining.cancel()
        self.monitoring.close()
        await self.pool.close()
        if self.tracing is not None:
            await asyncio.to_thread(self.tracing.close)
        self.answering.close()
        if self.users is not None:
            self.users.close()
        for log in (self.audit, self.log):
            if log is not None:
                await asyncio.to_thread(log.close)
        self._encoders.shutdown(wait=False, cancel_futures=True)

    def _maintenance(self) -> Maintenance | None:
        settings = self.settings
        if not settings.maintenance or self.config.store_read_only:
            return None
        schedule = Schedule(
            settings.maintenance_interval_s,
            full_every=settings.maintenance_full_every,
            snapshots=settings.maintenance_snapshots,
            refresh=settings.maintenance_refresh,
        )
        return Maintenance(self.pool, schedule)

    # Who asks

    def access(self, user: User, enabled: frozenset[str] | None = None) -> UserAccess:
        """What the user may do, with all of their roles or with those that are enabled."""
        policy = self.policy
        if policy is not self._accesses_of:
            self._accesses_of, self._accesses = policy, {}
        known = self._accesses.get((user, enabled))
        if known is None:
            if len(self._accesses) >= _ACCESSES_MAX:
                self._accesses.clear()
            known = self._accesses[user, enabled] = policy.access(user, enabled)
        return known

    def rights(self, statement: Statement) -> UserAccess:
        """What the statement may do: what its user may with the role that its client has set."""
        return self.access(statement.user, statement.enabled)

    def sees_all(self, access: UserAccess) -> bool:
        """Returns whether these rights show everybody's statements, by SQL or on the page.

        With users and without a policy they don't: no rule says that users see each other's.
        """
        alone = self.users is not None and self._policy is None
        return access.may("metrics", GATEWAY) and not alone

    def log_of(self, user: User, access: UserAccess) -> str | None:
        """Returns the user whose logged statements these rights show; None: everybody's."""
        return None if self.sees_all(access) else user.name

    @property
    def policy(self) -> Policy:
        """The newest policy that could be read."""
        return _NO_POLICY if self._policy is None else self._policy.value

    def impersonated(self, asking: User, name: str, address: str = "") -> User:
        """The user as whom `asking` wants to ask; AccessDeniedError where they may not."""
        if name == asking.name:
            return asking
        if self.users is None and self._policy is None:
            return User(name)
        # Where there are users and no policy nobody has said that one may ask as another.
        may = self.access(asking).may("impersonate", Object("user", (name,)))
        allowed = may and self._policy is not None
        self.decided(asking.name, address, "impersonate", f"user {name}", allowed=allowed)
        if not allowed:
            raise AccessDeniedError(
                "the user may not ask as another one",
                hint="leave out the session's user, or allow impersonate in the policy",
            )
        known = None if self.users is None else self.users.named(name)
        return known or User(name)

    def decided(self, user: str, address: str, action: str, object: str, *, allowed: bool) -> None:
        """Records a decision that isn't about a statement, if there is an audit log."""
        if self.audit is not None:
            self.audit.record(Decision(user, address, action, object, allowed))

    # Statements

    async def submit(
        self,
        sql: str,
        client: ClientSession,
        user: User,
        principal: str,
        address: str = "",
        headers: Mapping[str, str] = _NO_HEADERS,
        *,
        arrow: bool = False,
    ) -> Statement:
        """Begins a statement; what is wrong with it is its own error.

        `principal` is who was known by a password, to whom the pages are given; `user` as whom
        they ask. One whose answer is kept has ended already. A trace that the `headers` name is
        continued. With `arrow` the pages are Arrow's.
        """
        number = next(self._numbers)
        statement = Statement(sql, client, user, principal, number, address, arrow=arrow)
        read = self._read(statement)
        page = None if isinstance(read, AcceleratorError) else await self._cached(statement, *read)
        self.history.record(statement)
        if self.tracing is not None:
            self.tracing.began(statement, headers)
        self.statements[statement.id] = statement
        if page is None:
            statement.begin(self._pages(statement, read), self._finished)
        else:
            statement.end(page, self._finished)
        return statement

    def _read(self, statement: Statement) -> Read | AcceleratorError:
        """What the statement asks for, and how; or why that can't be told.

        Rates are asked first: who sends too many isn't worth reading. A long text is read later.
        """
        sql, client = statement.sql, statement.client
        try:
            self.admission.passing(self._who(statement))
            wishes = Wishes.of(client.properties, self.config.timeout_s)
            statement.is_long = _size(sql, client) > LONG
            asked = None if statement.is_long else request(sql, client)
            if asked is not None:
                self._take(statement, asked)
            return asked, wishes
        except AcceleratorError as error:
            return error

    def _take(self, statement: Statement, asked: Request) -> None:
        """Takes what runs for the statement, and its roles; RoleNotFoundError."""
        if isinstance(asked, nodes.RunStatement) and not asked.placed:
            statement.runs = asked.sql
        if not isinstance(asked, nodes.SetRole):  # which mends a role that is no more
            statement.enabled = enabled_roles(statement.user, statement.client.roles)

    async def _cached(
        self, statement: Statement, asked: Request | None, wishes: Wishes
    ) -> Page | None:
        """The one page of an answer that is kept; None where it has to be made."""
        if statement.arrow or asked is None:
            return None
        key = await self.answering.key(statement, asked, wishes, self.rights(statement))
        entry = None if key is None else await self.answering.cached(key, statement)
        if key is None or entry is None:
            return None
        parametric = statement.client.parametric_datetime
        known = entry.made.get(parametric)
        if known is None:
            if len(entry.bodies) > 1 or len(entry.bodies[0]) > _AT_HAND_BYTES:
                return None
            rows = rows_of(entry.bodies[0])
            named = columns(rows.schema, entry.about.get("names"), parametric_datetime=parametric)
            data = encode(rows, parametric_datetime=parametric)
            known = entry.made[parametric] = EncodedAnswer(named, data)
            self.answering.cache.grown(key)
        figures = statement.figures
        figures.cached, figures.metrics = True, entry.metrics
        figures.tables = list(entry.versions)
        statement.columns = known.columns
        statement.update_type = entry.about.get("update_type")
        return Page(known.data, entry.rows, is_last=True)

    def _who(self, statement: Statement) -> Who:
        """Returns whom limits count: who logged in, in whosever name the statement is asked."""
        user, client = statement.user, statement.client
        if self.users is not None and statement.principal != user.name:
            user = self.users.named(statement.principal) or User(statement.principal)
        return Who(user.name, user.roles, user.groups, client.source, frozenset(client.client_tags))

    def statement_of(self, id: str, slug: str, principal: str | None) -> Statement | None:
        """The statement of that id, for who knows its slug and, where there are users, began it."""
        statement = self.statements.get(id)
        if statement is None or not statement.belongs_to(slug, principal):
            return None
        return statement

    def drop_read(self, statement: Statement) -> None:
        """Its client has all of it, and no address to ask for a page again."""
        self.statements.pop(statement.id, None)

    def forget(self, statement: Statement) -> None:
        """Nobody will ask for its pages any more."""
        statement.cancel()
        self.statements.pop(statement.id, None)

    def _finished(self, statement: Statement) -> None:
        self._audited(statement)
        record = self.history.ended(statement)
        if self.log is not None:
            self.log.add(logged(record))
        if self.admission.minds_memory and not record.cached and record.state == "FINISHED":
            self.estimates.learn(statement, record.bytes_read + record.bytes)
        self.monitoring.ended(record)
        failed = record.state != "FINISHED"
        self.timeline.ended(time.time(), record.elapsed_ms, failed=failed, cached=record.cached)
        if self.tracing is not None:
            self.tracing.ended(record)
        if self.settings.slow_s and record.elapsed_ms > 1000 * self.settings.slow_s:
            _log.warning("slow statement %s", _in_one_line(slow_line(record)))
        is_slow = record.elapsed_ms > _EXPLAINED_MS and not record.cached
        if record.number and is_slow and len(self._explaining) < _EXPLAINED_AT_ONCE:
            task = asyncio.create_task(self.explained(record))
            self._explaining.add(task)
            task.add_done_callback(self._explaining.discard)

    async def explained(self, record: StatementRecord) -> StatementRecord:
        """With how it's answered, where a worker knows that still; else as it was."""
        if record.explanation is None and record.number:
            record.explain(await self.pool.explained(record.worker, record.number))
        return record

    def broken_files(self) -> dict[str, bool]:
        """Which of its files can't be used as they are now, so that older contents count."""
        files = {"users": self.users, "policy": self._policy, "certificate": self.tls}
        return {what: one.error is not None for what, one in files.items() if one is not None}

    def _decided_of(
        self, statement: Statement, action: str, object: str, *, allowed: bool = True
    ) -> None:
        if self.audit is not None:
            user, login, id = statement.user.name, statement.principal, statement.id
            address = statement.address
            self.audit.record(Decision(user, address, action, object, allowed, id, login))

    def _audited(self, statement: Statement) -> None:
        """Records a line for each need of the statement: at least one for each statement."""
        error, rulings = statement.error, statement.figures.rulings
        refused = rulings.refused if error is not None else None
        if refused is None and error is not None and error.code == AccessDeniedError.code:
            refused = "statement", error.message
        if refused is not None:
            self._decided_of(statement, *refused, allowed=False)
            return
        needs = list(rulings.allowed) or [
            ("read", str(Object.table(name))) for name in statement.figures.tables
        ]
        if rulings.more:
            needs.append(("statement", f"{rulings.more} more needs"))
        if error is None and statement.update_type:
            needs.append((statement.update_type, ""))
        elif not needs:
            needs.append(("statement", "" if error is None else error.code))
        for need in needs:
            self._decided_of(statement, *need)

    async def _sweep(self) -> None:
        """Gives up what no client has asked for in a while; reads files that have changed."""
        while True:
            await asyncio.sleep(_SWEEP_S)
            now = time.monotonic()
            self.timeline.running(time.time(), self.history.running)
            for statement in list(self.statements.values()):
                limit = _READ_S if statement.is_read else self.settings.client_timeout_s
                if not statement.waiting and now - statement.asked > limit:
                    self.forget(statement)
            self._reload()

    async def _bound_unread(self) -> None:
        """Gives up what waits for clients that don't come, if it's too much."""
        while True:
            await asyncio.sleep(_UNREAD_S)
            self.unread.bound()

    def _reload(self) -> None:
        """A file that has changed counts; a broken one is told, and the one before stays."""
        files = (("users", self.users), ("policy", self._policy), ("certificate", self.tls))
        for what, watched in files:
            found = Reloaded() if watched is None else watched.reloaded()
            if found.error is not None:
                _log.error("the %s stay as they were: %s", what, found.error)
            if found.changed:
                _log.info("the %s were read anew", what)
                if what == "policy":
                    self.admission.reload(self._limits())

    def _limits(self) -> tuple[Limit, ...]:
        given = self.policy.limits
        if given is not None:
            return given
        most, waiting = self.settings.statements_max, self.settings.queue_max
        share = [math.ceil(OF_ONE * count) for count in (most, waiting)]
        return (
            Limit(name="all statements", concurrent=most, queued=waiting),
            Limit(name="each user", per="user", concurrent=share[0], queued=share[1]),
        )

    async def _pages(self, statement: Statement, read: Read | AcceleratorError) -> Pages:
        """All pages of a statement."""
        if isinstance(read, AcceleratorError):
            raise read
        (asked, wishes), figures = read, statement.figures
        page = None if asked is None else self._page_at_once(statement, asked)
        if page is not None:
            yield page
            return

        def report_turn(slot: AdmissionSlot) -> None:
            figures.activity = f"waits for its turn, {slot.position} in the queue"

        memory = self.estimates.of(statement) if self.admission.minds_memory else 0
        who = self._who(statement)
        async with self.admission.slot(who, memory=memory, told=report_turn, passed=True):
            figures.began, figures.state, figures.activity = time.time(), "PLANNING", ""
            if asked is None:
                asked = await self.answering.read(statement, who.user)
                self._take(statement, asked)
                self.history.record(statement)
                page = self._page_at_once(statement, asked)
                if page is not None:
                    yield page
                    return
            key = await self.answering.key(statement, asked, wishes, self.rights(statement))
            job = partial(self._job, statement, asked, wishes)
            if self.log is not None and _asks_for_log(asked):
                await asyncio.to_thread(self.log.flush, _FLUSH_S)
            async with aclosing(self.answering.frames(statement, asked, key, job)) as frames:
                async for frame in frames:
                    figures.state = "RUNNING"
                    if isinstance(asked, nodes.UseSchema):  # there is such a schema
                        continue
                    async with aclosing(self._of_frame(statement, frame)) as made:
                        async for page in made:
                            yield page
        if isinstance(asked, nodes.UseSchema):
            self._change(statement, asked)
            yield Page(_DONE, 1, is_last=True)

    def _page_at_once(self, statement: Statement, asked: Request) -> Page | None:
        """The page of a request about the session, which takes no worker; None for others."""
        if isinstance(asked, nodes.Refused):
            raise UntranslatedError(f"{asked.what} isn't supported", hint=asked.hint)
        if statement.arrow and isinstance(asked, nodes.OfSession | nodes.KillQuery):
            raise UntranslatedError(
                "a query of the API has no session", hint="ask by Trino's protocol"
            )
        if isinstance(asked, nodes.KillQuery):
            self._kill(statement, asked)
        elif isinstance(asked, nodes.OfSession) and not isinstance(asked, nodes.UseSchema):
            self._change(statement, asked)
        else:
            return None
        return Page(_DONE, 1, is_last=True)

    def may_end(self, principal: str, access: UserAccess, *, by: str, of: str) -> bool:
        """Whether who has logged in may end a statement that `by` began in the name of `of`.

        Their own they may, and those of users whom the policy lets them end.
        """
        if principal and principal == by:
            return True
        return self._policy is not None and access.may("kill", Object("user", (of,)))

    def _kill(self, statement: Statement, asked: nodes.KillQuery) -> None:
        def may_end(by: str, of: str) -> bool:
            return self.may_end(statement.principal, self.rights(statement), by=by, of=of)

        def report(allowed: bool) -> None:
            self._decided_of(statement, "kill", f"statement {asked.id}", allowed=allowed)

        self._ending.end(asked.id, asked.message, may_end, report)
        statement.update_type, statement.columns = "CALL", columns(_RESULT)

    def _change(self, statement: Statement, asked: nodes.OfSession) -> None:
        if isinstance(asked, nodes.SetAuthorization) and asked.user is not None:
            self.impersonated(statement.user, asked.user, statement.address)
        if isinstance(asked, nodes.SetRole):
            chosen = asked.role if asked.role in ("ALL", "NONE") else f"ROLE{{{asked.role}}}"
            enabled_roles(statement.user, {asked.catalog or SYSTEM: chosen})
        found = changes(asked, statement.client)
        statement.headers, statement.update_type = found.headers, found.update_type
        statement.columns = columns(_RESULT)

    async def _of_frame(self, statement: Statement, frame: Frame) -> Pages:
        """Its rows as pages; the last one of the last frame is the last of all."""
        parametric = statement.client.parametric_datetime
        rows = rows_of(frame.body)
        if statement.columns is None:
            about = frame.header
            statement.update_type = about.get("update_type")
            names = about.get("names")
            statement.columns = columns(rows.schema, names, parametric_datetime=parametric)
            statement.names = names
        if frame.is_last:
            statement.figures.metrics = frame.header["metrics"]
            statement.figures.tables = [tuple(one) for one in frame.header.get("tables", ())]
        if statement.arrow:
            yield Page(bytes(frame.body), rows.num_rows, frame.is_last)
            return
        if rows.num_rows * max(1, rows.num_columns) <= _INLINE_CELLS:
            if rows.num_rows or frame.is_last:
                data = encode(rows, parametric_datetime=parametric)
                yield Page(data, rows.num_rows, frame.is_last)
            return
        pieces = list(pages(rows.to_batches(), self.settings.page_bytes))
        loop = asyncio.get_running_loop()
        for number, piece in enumerate(pieces, 1):
            encoded = partial(encode, piece, parametric_datetime=parametric)
            data = await loop.run_in_executor(self._encoders, encoded)
            yield Page(data, piece.num_rows, frame.is_last and number == len(pieces))

    def _job(self, statement: Statement, asked: Request, wishes: Wishes) -> Header:
        client = statement.client
        session = [
            [one.name, client.properties.get(one.name, one.default), one.default, one.type, one.doc]
            for one in PROPERTIES.values()
        ]
        return {
            **nodes.to_dict(asked),
            "client": as_dict(client) | {"user": statement.user.name},
            "login": self._who(statement).user,
            "access": self.rights(statement).to_json(),
            "log_of": self._seen_of(statement),
            "timeout_s": wishes.timeout_s,
            "accelerate": wishes.accelerate,
            "facts": {
                "session": session,
                "roles": sorted(statement.user.roles),
                "enabled": sorted(
                    statement.user.roles if statement.enabled is None else statement.enabled
                ),
                "queries": self._runtime(statement, asked),
                "nodes": [self._node()],
            },
        }

    def _node(self) -> dict[str, Any]:
        """For `system.runtime.nodes`, where there is this one alone."""
        return {
            "node_id": NODE,
            "http_uri": self.address,
            "node_version": VERSION,
            "coordinator": True,
            "state": "active",
            "node_groups": [],
        }

    def _seen_of(self, statement: Statement) -> str | None:
        return self.log_of(statement.user, self.rights(statement))

    def _runtime(self, statement: Statement, asked: Request) -> list[dict[str, Any]]:
        """The newest statements, for `system.runtime.queries`, of which the user may know."""
        if not isinstance(asked, nodes.RunStatement) or "runtime" not in asked.sql.lower():
            return []
        of = self._seen_of(statement)
        return [
            {
                "query_id": one.id,
                "state": "FAILED" if one.state == "CANCELLED" else one.state,
                "user": one.user,
                "source": one.source or None,
                "query": one.sql,
                "queued_time_ms": one.queued_ms,
                "analysis_time_ms": int(one.planning_ms),
                "planning_time_ms": int(one.planning_ms),
                "created": one.created,
                "end": one.created + one.elapsed_ms / 1000 if one.is_over else None,
                "error_code": one.error or None,
            }
            for one in self.history.newest()(HistoryFilter(of=of, limit=SHOWN_MAX))
        ]


def _size(sql: str, client: ClientSession) -> int:
    """Characters of the text, with those of the longest prepared statement if it may name one.

    Who begins with a comment may: dialects differ in where comments end.
    """
    word = _WORD.match(sql)
    if word is not None and word[1].upper() not in _OF_PREPARED:
        return len(sql)
    return len(sql) + max(map(len, client.prepared.values()), default=0)


def _asks_for_log(asked: Request) -> bool:
    """Whether it may read the query log, into which what has ended is written first."""
    sql = asked.sql.lower() if isinstance(asked, nodes.RunStatement | nodes.Explain) else ""
    return "query_log" in sql or "queries" in sql


def _in_one_line(found: dict[str, Any]) -> str:
    """As JSON of ASCII alone, so that no text in it is taken for another line of a log."""
    return json.dumps(found)


def _policy(path: str | None) -> Watched[Policy] | None:
    if path is None:
        return None
    file = Path(path)
    return Watched([file], lambda: Policy.load(file))
