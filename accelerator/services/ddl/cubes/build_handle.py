"""What a build gives its caller: how far it is, a way to cancel it, a way to wait for it.

A cancelled build stops within moments and keeps what it had committed. A build of a published cube
also brings the published table up to date.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from accelerator.builds.segments.builder import Built
from accelerator.common.interrupts import interruptible
from accelerator.common.progress import Progress, SilentProgress
from accelerator.errors import AcceleratorError
from accelerator.services import publish
from accelerator.store import CubeRecord
from rewrite.text.printable import some_of

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

_INSIST_S = 0.2


class _FileCounter:
    """Counts a build's files, and tells another reporter too."""

    def __init__(self, other: Progress | None) -> None:
        self.done, self.total = 0, 0
        self._other: Progress = other or SilentProgress()

    def start(self, total: int, what: str) -> None:
        """See `Progress.start`."""
        self.done, self.total = 0, total
        self._other.start(total, what)

    def advance(self, n: int = 1) -> None:
        """See `Progress.advance`."""
        self.done += n
        self._other.advance(n)

    def finish(self) -> None:
        """See `Progress.finish`."""
        self._other.finish()


class Build:
    """A running or finished build."""

    def __init__(self, name: str, progress: Progress | None = None) -> None:
        self.name = name
        self._counted = _FileCounter(progress)
        self._cancelled = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._result: Built | None = None
        self._error: BaseException | None = None
        self._interrupt: Callable[[], None] = lambda: None

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._ended.is_set()

    @property
    def progress(self) -> tuple[int, int]:
        """Data files that are built and committed, and those that the build set out to do."""
        return self._counted.done, self._counted.total

    def __repr__(self) -> str:
        done, total = self.progress
        state = "runs" if not self.done else "failed" if self._error is not None else "done"
        return f"<Build of {some_of([self.name])}: {done} of {total} data files, {state}>"

    def cancel(self) -> None:
        """Stops the build; what it has committed stays. `wait` then raises CancelledError."""
        self._cancelled.set()
        if self._thread is not None:
            threading.Thread(target=self._insist, name=f"cancel {self.name}", daemon=True).start()

    def _insist(self) -> None:
        """Interrupts until the build has ended: a job may be about to start, which none stops."""
        self._interrupt()
        while not self._ended.wait(_INSIST_S):
            self._interrupt()

    def wait(self, timeout: float | None = None) -> Built:
        """What was built; raises what stopped it, TimeoutError if it isn't done in time."""
        if self._thread is not None:
            self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        if self._result is None or not self.done:
            raise TimeoutError(f"the build of {self.name} is still running")
        return self._result

    def run(self, services: Services, record: CubeRecord) -> None:
        """Does the work, and keeps what came of it."""
        try:
            interrupt = services.cancellation.interrupt
            with services.cancellation.tracked() as tag, interruptible(lambda: interrupt(tag)):
                self._interrupt = lambda: interrupt(tag)
                publish.check_refresh(services, record)
                (self._result,) = services.builder.build(
                    [record], progress=self._counted, cancelled=self._cancelled, tag=tag
                )
                publish.refresh(services, record.name)
        except BaseException as error:
            self._error = error
            if not isinstance(error, AcceleratorError) and self._thread is None:
                raise
        finally:
            self._ended.set()

    def start(self, services: Services, record: CubeRecord) -> None:
        """Does the work in the background."""
        self._thread = threading.Thread(
            target=self.run, args=(services, record), name=f"build {self.name}", daemon=True
        )
        self._thread.start()


def start_build(services: Services, name: str, *, wait: bool, progress: Progress | None) -> Build:
    """Builds what the cube lacks, here or in the background."""
    record, build = services.store.registry().named(name), Build(name, progress)
    if wait:
        build.run(services, record)
        build.wait()
    else:
        build.start(services, record)
    return build
