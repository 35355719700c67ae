"""A share of the queries is also run plain, in the background; what is wrong is switched off.

Nothing here changes an answer, nor makes one wait: what comes faster than it can be compared is
dropped, and counted. What differed is kept with both plans.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections import Counter, deque
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from accelerator.common.records.as_dict import as_dict
from rewrite.client import SPARK

if TYPE_CHECKING:
    from accelerator.query.pipeline import Queries
    from accelerator.services.verification.compare import Verification

_log = logging.getLogger("accelerator")
_WAITING_MAX = 16
_KEPT = 100
_AGAIN_S = 0.05
_INTERRUPTED_S = 1.0


class Difference(Struct, frozen=True):
    """A query whose answers differed: `accelerated` is the plan as JSON values, `plain` Spark's.

    `disabled` are the cubes and indexes that were switched off for it, by kind and name; where
    there is none, `unattributed` says why.
    """

    sql: str
    differences: tuple[str, ...]
    accelerated: dict[str, Any]
    plain: str
    disabled: tuple[str, ...]
    unattributed: str | None = None


class Sampling:
    """Of one session.

    `counts` are those of `equal`, `different`, `undecided`, `failed` and `dropped` statements, and
    of the cubes and indexes that were `disabled`; by VERIFY, too.
    """

    def __init__(self, queries: Queries, share: float, random: Random | None = None) -> None:
        self._queries, self._share = queries, share
        self._random = random or Random()
        self.counts: Counter[str] = Counter()
        self.found: deque[Difference] = deque(maxlen=_KEPT)
        self._waiting: queue.Queue[str] = queue.Queue(_WAITING_MAX)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._comparing: set[int] = set()  # threads whose queries are a comparison's own

    def offer(self, sql: str) -> None:
        """Compares the query's answers sometime, if it's drawn. Returns at once."""
        if not self._share or self._random.random() >= self._share:
            return
        if threading.get_ident() in self._comparing:
            return
        try:
            self._waiting.put_nowait(sql)
        except queue.Full:
            self.counts["dropped"] += 1
            return
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._work, name="sampling", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Until all that was drawn has been compared."""
        self._waiting.join()

    def close(self, interrupt: Callable[[], None]) -> None:
        """Ends what is being compared, by `interrupt`, and begins nothing more."""
        self._closed.set()
        thread = self._thread
        while thread is not None and thread.is_alive():
            interrupt()  # lost on a statement that is only about to begin
            thread.join(_INTERRUPTED_S)

    def _work(self) -> None:
        while not self._closed.is_set():
            try:
                sql = self._waiting.get(timeout=_AGAIN_S)
            except queue.Empty:
                continue
            try:
                self.compared(sql)
            except Exception as error:  # the query has its answer; this is only a look behind it
                self.counts["failed"] += 1
                _log.warning("a query couldn't be compared with plain Spark: %s", error)
            finally:
                self._waiting.task_done()

    def compared(self, sql: str) -> Verification:
        """The query's answers compared now; how they differ is counted, kept and logged."""
        thread = threading.get_ident()
        self._comparing.add(thread)
        try:
            return self._compared(sql)
        finally:
            self._comparing.discard(thread)

    def _compared(self, sql: str) -> Verification:
        from accelerator.services.verification.compare import verify

        queries = self._queries
        plan = queries.plan(queries.read(sql, SPARK))[0]
        outcome = verify(queries, sql)
        if outcome.equal is None:
            self.counts["undecided"] += 1
            return outcome
        self.counts["equal" if outcome.equal else "different"] += 1
        if outcome.equal:
            return outcome
        self.counts["disabled"] += len(outcome.disabled)
        plain = queries.services.plain_table(f"EXPLAIN EXTENDED {sql}").column(0)[0].as_py()
        told = outcome.differences, plan.to_dict(), plain
        found = Difference(sql, *told, outcome.disabled, outcome.unattributed)
        self.found.append(found)
        _log.error("an answer differs from plain Spark's: %s", json.dumps(as_dict(found)))
        return outcome
