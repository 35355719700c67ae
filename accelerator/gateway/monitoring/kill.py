"""CALL system.runtime.kill_query: one statement ends another one, whose client is told why."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from accelerator.errors import AcceleratorError
from accelerator.gateway.monitoring.history import History
from accelerator.gateway.statements.statement import Statement
from rewrite.text.printable import one_line

MayEnd = Callable[[str, str], bool]
"""Whether somebody may end what the first began in the name of the second."""


class StatementNotFoundError(AcceleratorError):
    """There is no statement of that id, or none that whoever asks may know of."""

    code = "statement_not_found"


class StatementEndedError(AcceleratorError):
    """The statement of that id has ended, so that nobody can end it."""

    code = "statement_ended"


class Ending:
    """Of one gateway: the statements that run or whose pages are kept, and what is remembered."""

    def __init__(self, statements: Mapping[str, Statement], history: History) -> None:
        self._statements, self._history = statements, history

    def end(self, id: str, message: str, may_end: MayEnd, told: Callable[[bool], None]) -> None:
        """Ends the statement of that id; `told` hears whether that's allowed, where there is one.

        StatementNotFoundError where there is none, or it may not be ended by who asks;
        StatementEndedError where it doesn't run.
        """
        found = self._statements.get(id)
        if found is not None:
            allowed = may_end(found.principal, found.user.name)
            told(allowed)
        else:
            record = self._history.find(id)
            allowed = record is not None and may_end(record.principal, record.user)
            if record is not None:
                told(allowed)
        if not allowed:
            raise StatementNotFoundError(f"Target query not found: {one_line(id)}")
        if found is None or not found.kill(message):
            raise StatementEndedError(f"Target query is not running: {one_line(id)}")
