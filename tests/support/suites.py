"""Suites of statements as pytest sees them: one test for each statement and state.

A test is called `LINE-STATE`, as in `tests/statements/traps.slt::12-covered`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.extent import FULL
from tests.support.statements import Block, Run, Suite, expected_of, read
from tests.support.worlds import FOLDER, statements


class SuiteFile(pytest.File):
    """A suite: its world and session are there while its tests run."""

    run: Run | None = None

    def collect(self) -> Iterator[pytest.Item]:
        suite: Suite = read(self.path)
        states = suite.states or tuple(statements(FOLDER / f"{suite.world}.sql"))
        for state in states:
            for block in suite.asked:
                if not block.expectation(state):
                    continue
                name = f"{block.line}-{state}"
                item = StatementItem.from_parent(self, name=name, block=block, state=state)
                item.add_marker(pytest.mark.spark)
                yield item

    def setup(self) -> None:
        self.run = Run(read(self.path), by_spark=FULL)

    def teardown(self) -> None:
        if self.run is not None:
            self.run.close()
            self.run = None


class StatementItem(pytest.Item):
    """One statement at one state."""

    def __init__(self, *, block: Block, state: str, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self.block, self.state = block, state

    def runtest(self) -> None:
        parent = self.parent
        assert isinstance(parent, SuiteFile) and parent.run is not None
        parent.run.go_to(self.state)
        told, differences = parent.run.ask(self.block)
        expected = expected_of(self.block, self.state)
        if differences or told != expected:
            raise StatementError([f"answered by {told}, expected {expected}", *differences])

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:  # type: ignore[override]
        if isinstance(excinfo.value, StatementError):
            title = f"{self.block.title}\n" if self.block.title else ""
            return f"{title}{self.block.text}\n" + "\n".join(map(str, excinfo.value.args[0]))
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[object, int, str]:
        title = self.block.title or self.block.text.splitlines()[0]
        return self.path, self.block.line - 1, f"{self.name} {title[:80]}"


class StatementError(AssertionError):
    """A statement whose answer, or what gave it, is other than it should be."""
