"""A share of the queries is also run plain, in the background; a cube that differs is switched off.

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
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

from accelerator import explain
from accelerator.errors import AcceleratorError
from accelerator.plan import ComposedPlan, CoverPlan, Plan
from accelerator.verification import verify
from rewrite.dialects import SPARK

if TYPE_CHECKING:
    from accelerator.session import Accelerator

_log = logging.getLogger("accelerator")
_WAITING_MAX = 16
_KEPT = 100
_AGAIN_S = 0.05
_INTERRUPTED_S = 1.0


@dataclass(frozen=True, slots=True)
class Difference:
    """A query whose answers differed: `accelerated` is the plan as JSON values, `plain` Spark's.

    `disabled` are the cubes that were switched off for it.
    """

    sql: str
    differences: tuple[str, ...]
    accelerated: dict[str, Any]
    plain: str
    disabled: tuple[str, ...]


class Sampling:
    """Of one session.

    `counts` are those of `equal`, `different`, `undecided`, `failed` and `dropped`.
    """

    def __init__(self, session: Accelerator, share: float, random: Random | None = None) -> None:
        self._session, self._share = session, share
        self._random = random or Random()
        self.counts: Counter[str] = Counter()
        self.found: deque[Difference] = deque(maxlen=_KEPT)
        self._waiting: queue.Queue[str] = queue.Queue(_WAITING_MAX)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def offer(self, sql: str) -> None:
        """Compares the query's answers sometime, if it's drawn. Returns at once."""
        if not self._share or self._random.random() >= self._share:
            return
        if threading.current_thread() is self._thread:
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
                self._compare(sql)
            except Exception as error:  # the query has its answer; this is only a look behind it
                self.counts["failed"] += 1
                _log.warning("a query couldn't be compared with plain Spark: %s", error)
            finally:
                self._waiting.task_done()

    def _compare(self, sql: str) -> None:
        session = self._session
        plan = session.plan(sql, dialect=SPARK)[0]
        outcome = verify(session, sql)
        if outcome.equal is None:
            self.counts["undecided"] += 1
            return
        self.counts["equal" if outcome.equal else "different"] += 1
        if outcome.equal:
            return
        plain = session.plain_table(f"EXPLAIN EXTENDED {sql}").column(0)[0].as_py()
        names = sorted(_cubes(plan))
        disabled = tuple(name for name in names if self._disable(name, outcome.differences[0]))
        found = Difference(sql, outcome.differences, explain.as_dict(plan), plain, disabled)
        self.found.append(found)
        _log.error("an answer differs from plain Spark's: %s", json.dumps(asdict(found)))

    def _disable(self, name: str, why: str) -> bool:
        record = self._session.store.registry(fresh=True).cubes.get(name)
        if record is None:
            return False
        why = f"An answer differed from plain Spark's: {why}"
        try:
            self._session.store.update_cube(replace(record, disabled=why))
        except AcceleratorError as error:
            _log.error("cube %s can't be switched off: %s", name, error)
            return False
        return True


def _cubes(plan: Plan) -> set[str]:
    parts = plan.parts if isinstance(plan, ComposedPlan) else (plan,)
    return {p.cube for p in parts if isinstance(p, CoverPlan) and p.cube is not None}
