"""Which plan a statement got, for who asks while it runs: monitoring shows it.

Who wants to know says so for what its thread does within; elsewhere a plan costs a look at a
context variable. A statement that is planned anew tells of each plan, and the last one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelerator.planning.plans import Plan

    Watch = Callable[[str, Plan], None]

_WATCH: ContextVar[Watch | None] = ContextVar("accelerator_planned", default=None)


def tell(sql: str, plan: Plan) -> None:
    """The query, in Spark SQL, is going to be answered so."""
    watch = _WATCH.get()
    if watch is not None:
        watch(sql, plan)


@contextmanager
def observing(watch: Watch) -> Iterator[None]:
    """What is planned within, in this thread, is told to that function, which mustn't raise."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


def add_observer(watch: Watch) -> Token[Watch | None]:
    """As `told_to`, until `no_longer` is called, for who is told beside those that were before."""
    outer = _WATCH.get()
    if outer is None:
        return _WATCH.set(watch)

    def both(sql: str, plan: Plan) -> None:
        outer(sql, plan)
        watch(sql, plan)

    return _WATCH.set(both)


def remove_observer(token: Token[Watch | None]) -> None:
    """Ends what `also_told_to` began, in the same thread."""
    _WATCH.reset(token)
