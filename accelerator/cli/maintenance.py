"""The daemon's face: a line for each table that had garbage or failed, each refresh, each advice.

The first SIGTERM or Ctrl-C lets the running vacuum end, and a build soon, with what it had
finished; a second Ctrl-C ends both where they are, which does no harm either.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any

from accelerator.cli.terminal import say
from accelerator.common.records.as_dict import as_dict
from rewrite.text.printable import one_line

if TYPE_CHECKING:
    from accelerator.services.advisor.report import Advised
    from accelerator.services.maintenance.daemon import Schedule, Vacuumed
    from accelerator.services.refresh.service import Refreshed
    from accelerator.session.session import Accelerator


def serve(
    session: Accelerator,
    schedule: Schedule,
    *,
    rounds: int | None,
    metrics: str | None,
    hosts: Sequence[str] = (),
    as_json: bool,
) -> bool:
    """Runs until it's told to stop, or so many rounds; whether no vacuum and no build failed."""
    failed = False

    def telling(
        lines: Callable[[Any], Iterable[str]], name: Callable[[Any], str]
    ) -> Callable[[Any], None]:
        def tell(done: Vacuumed | Refreshed | Advised) -> None:
            nonlocal failed
            failed |= done.error is not None
            if as_json:
                say(json.dumps(as_dict(done), ensure_ascii=False))
                return
            for line in lines(done):
                say(line)
            if done.error is not None:
                say(f"{name(done)}: {done.error}", err=True)

        return tell

    stop = threading.Event()
    with stopped_by_signals(stop):
        session.maintain(
            schedule,
            telling(partial(_vacuumed, all_of_them=rounds is not None), lambda done: done.table),
            stop=stop,
            rounds=rounds,
            metrics=metrics,
            hosts=hosts,
            tell_refresh=telling(_refreshed, lambda done: f"{done.kind} {done.artifact}"),
            tell_advice=telling(advised_lines, lambda _done: "advisor"),
        )
    return not failed


def _vacuumed(done: Vacuumed, *, all_of_them: bool) -> Iterator[str]:
    if done.error is None and (done.files or all_of_them):
        size = f", {done.bytes:,} bytes" if done.bytes else ""
        how = f"{'full vacuum' if done.full else 'vacuum'}, {done.requests} requests"
        yield f"{done.table}: {done.files:,} files deleted{size} ({how})"


def _refreshed(done: Refreshed) -> Iterator[str]:
    if done.error is None:
        twice = f", {done.twice:,} in vain" if done.twice else ""
        left = ", more to come" if done.left else ""
        yield f"{done.kind} {done.artifact}: {done.files:,} data files built{twice}{left}"


def advised_lines(done: Advised) -> Iterator[str]:
    """A line for each thing that was done, then one for what wasn't."""
    for step in done.steps:
        if step.error is None:
            yield one_line(f"advisor: {step.action} {step.name} ({step.seconds:.1f} s)")
    waiting = sum(n for why, n in (done.skipped or {}).items() if why != "applied")
    if done.advised and not done.steps:
        left = f", {waiting:,} of them not applied" if waiting else ""
        yield f"advisor: {done.advised:,} advised{left}"


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Sets `stop` on SIGTERM and the first Ctrl-C, if this is the main thread.

    A thread sets it. The handler itself interrupts the main thread, which may own the event's lock
    just then: setting the event there would wait for ever.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals: SimpleQueue[int] = SimpleQueue()  # its put may interrupt any call, itself too
    seen: set[int] = set()

    def handle(number: int, frame: FrameType | None) -> None:
        if seen and number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        seen.add(number)
        signals.put(number)

    def listen() -> None:
        if signals.get():
            stop.set()

    listener = threading.Thread(target=listen, name="signals", daemon=True)
    listener.start()
    before = {one: signal.signal(one, handle) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        signals.put(0)
        listener.join()
