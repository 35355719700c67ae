"""DataFrames that are handed out, and what must stay as long as Spark may read them.

A frame is lazy, and so is every frame that is derived from it, of which Python sees nothing: but
all of them hold the relations that the first one reads. So these are watched, by weak references of
the JVM. Promise: leases end some time after the last relation that needs them is collected, and by
`close` at the latest; where a relation can't be watched, by `close`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field

from accelerator.engines.spark.jvm.errors import Java, JvmError, java_errors
from accelerator.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from accelerator.engines.spark.engine import SparkEngine
    from accelerator.engines.spark.jvm.classes import Jvm

_log = logging.getLogger("accelerator")
_READS = {"LogicalRelation": "relation", "DataSourceV2Relation": "table", "LogicalRDD": "rdd"}
"""Of a plan's leaves that read something: what every copy of such a leaf shares."""
_READS_NOTHING = ("LocalRelation", "OneRowRelation", "Range")
_SWEPT_AFTER_S = 60.0
"""How long a frame that nobody can read any more may hold its leases while queries are asked."""


class _LeasedFrame(Struct, eq=False):
    leases: ExitStack
    references: list[Java] = field(default_factory=list)


class HeldFrames:
    """The leases of a session's frames; threads share it."""

    def __init__(self) -> None:
        self._held: list[_LeasedFrame] = []
        self._queue: Java = None
        self._lock = threading.Lock()
        self._swept = time.monotonic()

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, engine: SparkEngine, frame: DataFrame, leases: ExitStack) -> None:
        """Keeps the leases as long as the frame, or one that is derived from it, may be read."""
        with self._lock:
            held = _LeasedFrame(leases)
            self._held.append(held)
            # Without a JVM they're kept until the session ends.
            with suppress(JvmError, EngineError), java_errors():
                held.references = self._watched(engine.jvm, frame)
        self.sweep()

    def sweep_in_passing(self) -> None:
        """`sweep`, where a frame is held and the last one is a minute ago; costs nothing else.

        A lease that can't be ended is logged: whoever asks has an answer already.
        """
        if self._held and time.monotonic() - self._swept >= _SWEPT_AFTER_S:
            try:
                with java_errors():
                    self.sweep()
            except JvmError as error:
                _log.warning("what a frame held can't be given back: %s", error)

    def sweep(self) -> None:
        """Ends the leases of frames that nobody can read any more; one call where none is."""
        self._swept = time.monotonic()
        with self._lock:
            if self._queue is None:
                return
            ended: list[_LeasedFrame] = []
            with suppress(JvmError), java_errors():
                if self._any_collected():
                    ended = [one for one in self._held if _is_over(one)]
            self._held = [one for one in self._held if one not in ended]
        _end(ended)

    def close(self) -> None:
        """Ends all of them."""
        with self._lock:
            held, self._held = self._held, []
        _end(held)

    def _watched(self, jvm: Jvm, frame: DataFrame) -> list[Java]:
        """A weak reference to each relation; none where there is one that can't be watched."""
        if self._queue is None:
            self._queue = jvm.new("java.lang.ref.ReferenceQueue")
        leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
        found = []
        for number in range(leaves.size()):
            leaf = leaves.apply(number)
            kind = str(leaf.getClass().getSimpleName())
            if kind in _READS:
                relation = getattr(leaf, _READS[kind])()
                found.append(jvm.new("java.lang.ref.WeakReference", relation, self._queue))
            elif kind not in _READS_NOTHING:
                return []
        return found

    def _any_collected(self) -> bool:
        found = False
        while self._queue.poll() is not None:
            found = True
        return found


def _end(held: Iterable[_LeasedFrame]) -> None:
    """Ends the leases of all of them, though some can't be; the last error comes out."""
    with ExitStack() as all_:
        for one in held:
            all_.push(one.leases)


def _is_over(held: _LeasedFrame) -> bool:
    """Whether all that it reads is collected; what isn't watched never is."""
    return bool(held.references) and all(one.refersTo(None) for one in held.references)
