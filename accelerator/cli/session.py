"""Opens the session of a command, and closes it.

Errors become two lines on standard error, or one JSON document on standard output, and an exit
code: 1 for a failure, 130 when cancelled.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from accelerator.cli.terminal import say
from accelerator.errors import AcceleratorError, CancelledError, StatementTimeoutError

if TYPE_CHECKING:
    from accelerator.common.config.config import Config
    from accelerator.session.session import Accelerator

EXIT_CANCELLED = 130
_STACK = re.compile(r"\s+(at |\.\.\. \d+ more|Suppressed: )")


_NONE: Mapping[str, Any] = {}
Opener = Callable[[str | None, str | None, bool], "Accelerator"]
"""Of the warehouse, the file of settings, and whether a warehouse is made that isn't there."""


def open_session(
    warehouse: str | None, config_file: str | None, create: bool, **settings: Any
) -> Accelerator:
    """An embedded session; without a warehouse, the one that `accelerator.toml` here names."""
    try:
        return _opened(settings_of(warehouse, config_file, settings), create)
    finally:
        gc.freeze()
        gc.enable()


def _opened(config: Config, create: bool) -> Accelerator:
    from accelerator.session.opening import open_loaded

    opened = open_loaded(config, create=create)
    opened.source = opened.source or "accelerator cli"
    return opened


def settings_of(
    warehouse: str | None, config_file: str | None, settings: Mapping[str, Any] = _NONE
) -> Config:
    """The settings of such a session; UsageError where no warehouse is named."""
    from accelerator.common.config.config import ENV_FILE, ENV_PREFIX, FILE_NAME, Config

    if warehouse is None and config_file is None:
        if Path(FILE_NAME).is_file():
            return Config.load_here(**settings)
        named = (ENV_FILE, f"{ENV_PREFIX}CATALOG_URI", f"{ENV_PREFIX}CATALOG_TYPE")
        if not os.environ.keys() & set(named):
            raise click.UsageError(
                f"which warehouse? give --warehouse or --config, set {ENV_PREFIX}WAREHOUSE,"
                f" {ENV_PREFIX}CATALOG_URI or {ENV_FILE}, or work where an {FILE_NAME} is"
            )
    return Config.load(config_file, warehouse=warehouse, **settings)


@contextmanager
def session_of(
    open_it: Callable[[], Accelerator], *, as_json: bool = False
) -> Iterator[Accelerator]:
    """The session for one command; leaves the process with what went wrong, if anything did.

    That is said on standard error, or as the one JSON document of standard output.
    """
    session: Accelerator | None = None
    try:
        session = open_it()
        yield session
    except BaseException as error:
        code = exit_code(error, say_json if as_json else say_plainly)
        if code is None:
            raise
        if code == EXIT_CANCELLED and session is not None:
            session.cancel()
        sys.exit(code)
    finally:
        if session is not None:
            session.close()


Tell = Callable[[str, str, AcceleratorError | None], None]
"""Of an error's code and message, and the error itself where it's one of ours."""


def say_plainly(code: str, message: str, error: AcceleratorError | None = None) -> None:
    """Some lines on standard error: what is wrong, where in the statement, what to do."""
    say(message if code == "cancelled" else f"error [{code}]: {message}", err=True)
    if error is not None:
        for line in error.located.splitlines():
            say(f"  {line}", err=True)
        if error.hint:
            say(f"hint: {error.hint}", err=True)


def say_json(code: str, message: str, error: AcceleratorError | None = None) -> None:
    """A JSON document on standard output, in one line."""
    import json

    told: dict[str, Any] = {"code": code, "message": message, "hint": None}
    if error is not None:
        told |= {"code": error.code, "hint": error.hint or None}
        places = {"error_class": error.error_class, "line": error.line, "column": error.column}
        told |= {key: value for key, value in places.items() if value}
        told |= {"suggestions": list(error.suggestions)} if error.suggestions else {}
    say(json.dumps({"error": told}, ensure_ascii=False))


def exit_code(error: BaseException, tell: Tell = say_plainly) -> int | None:
    """Says what went wrong; None where it's for others to say."""
    timed_out = isinstance(error, StatementTimeoutError)
    if not timed_out and (isinstance(error, CancelledError) or _was_interrupted(error)):
        tell("cancelled", "cancelled", None)
        return EXIT_CANCELLED
    if isinstance(error, AcceleratorError):
        tell(error.error_class or error.code, error.message, error)
        return 1
    if isinstance(error, _spark_errors()):
        tell("spark", _java_message(str(error)), None)
        return 1
    return None


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind it: cancelling Spark's job raises an error of its own on top."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _spark_errors() -> tuple[type[BaseException], ...]:
    """What Spark itself refuses; nothing is imported for it, since only a loaded Spark raises."""
    known = (("pyspark.errors", "PySparkException"), ("py4j.protocol", "Py4JError"))
    return tuple(getattr(sys.modules[home], name) for home, name in known if home in sys.modules)


def _java_message(text: str) -> str:
    """The message without Java's stack; the innermost cause of a chain, which says most."""
    said = "\n".join(line for line in text.splitlines() if not _STACK.match(line))
    causes = [part.strip() for part in said.split("Caused by: ")[1:]]
    return causes[-1] if causes else said.strip()
