"""Log records as single lines: no client's text begins a line of its own, or moves a cursor."""

from __future__ import annotations

import logging

from rewrite.text.printable import one_line

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_STACKS = logging.Formatter()


class LineFormatter(logging.Formatter):
    """Formats a record, with its traceback, as one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return one_line(super().format(record))


def in_one_line(record: logging.LogRecord) -> bool:
    """Makes the record's message one line, and its traceback a part of it; a filter for loggers.

    The records of a gateway within another program are lines, too, for any formatter there.
    """
    text = record.getMessage()
    if record.exc_info:
        text = f"{text}\n{_STACKS.formatException(record.exc_info)}"
    record.msg, record.args = one_line(text), ()
    record.exc_info = record.exc_text = None
    return True


def log_to_stderr(level: int) -> None:
    """Writes this process's records to stderr: ours from the level on, others' if they warn.

    For a process of our own, whose log this is.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(_FORMAT))
    logging.getLogger().addHandler(handler)
    logging.getLogger("accelerator").setLevel(level)
    logging.captureWarnings(capture=True)
