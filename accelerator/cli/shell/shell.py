"""`accelerator shell`: statements typed on a terminal, one after the other.

Promises: the session opens while one types; Ctrl-C stops what runs and stays, Ctrl-D leaves; what
fails is told and the shell goes on; nothing is written into the working directory.
"""

from __future__ import annotations

import shutil
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, completion_is_selected
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from accelerator.cli.formats import FORMATS, ROWS, check_terminal, print_rows
from accelerator.cli.pager import page
from accelerator.cli.session import exit_code
from accelerator.cli.shell.history import ShellHistory, history_file
from accelerator.cli.terminal import say, spinning, without_ctrl_c
from accelerator.errors import ConfigError
from accelerator.version import VERSION
from rewrite.text.first_look import first_word, is_ended, split_statements

if TYPE_CHECKING:
    from accelerator.cli.shell.completion import CompletionNames
    from accelerator.session.session import Accelerator

_PROMPT, _MORE = "accelerator> ", "          -> "
_ROWS_MAX = 1000
_SAID_MIN = 20
"""Characters of a line of .help, however narrow the terminal is."""
_VERTICAL = r"\G"
"""Ends a statement whose rows are shown vertically, as in MySQL's client."""
_QUIT = ("exit", "quit")
_CHANGES = frozenset({"ALTER", "CREATE", "DROP", "USE", "UNDROP"})


class _CannotOpenError(Exception):
    """The warehouse can't be opened: its cause is what is to be told."""


def run_shell(open_it: Callable[[], Accelerator], timeout_s: float | None) -> int:
    """Reads and runs statements until Ctrl-D; the exit code."""
    say(f"accelerator {VERSION} · statements end with ; · .help for commands, Ctrl-D leaves")
    shell = _ShellSession(open_it, timeout_s)
    try:
        return shell.loop()
    finally:
        shell.close()


class _ShellSession:
    """Its settings, and the session once that is open."""

    def __init__(self, open_it: Callable[[], Accelerator], timeout_s: float | None) -> None:
        self._format, self._timing, self._pager = "table", True, True
        self._timeout_s = timeout_s
        self._opened: Future[Accelerator] = Future()
        threading.Thread(target=self._open, args=(open_it,), name="open", daemon=True).start()

    def loop(self) -> int:
        """The exit code, once the user leaves or the warehouse can't be opened."""
        while True:
            try:
                if self._opened.done():
                    self._session()
                with (
                    without_ctrl_c()
                ):  # at the prompt it's a key; around it there's nothing to stop
                    text = self._prompt.prompt()
                self._done(text)
            except KeyboardInterrupt:  # what was typed is left, or what ran has been stopped
                continue
            except EOFError:
                return 0
            except _CannotOpenError as error:
                cause = error.__cause__
                if isinstance(cause, click.ClickException):
                    cause.show()
                    return cause.exit_code
                code = exit_code(cause) if cause is not None else None
                if code is None:
                    raise
                return code

    def close(self) -> None:
        """Ends the session, if there is one."""
        if self._opened.done() and self._opened.exception() is None:
            self._opened.result().close()

    def _open(self, open_it: Callable[[], Accelerator]) -> None:
        try:
            self._opened.set_result(open_it())
        except BaseException as error:  # raised again where it's needed
            self._opened.set_exception(error)
            self._wake()

    def _wake(self) -> None:
        """The prompt ends where there is no session to ask."""
        loop = self._prompt.app.loop
        if loop is not None:
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(self._give_up)

    def _give_up(self) -> None:
        if self._prompt.app.is_running:
            self._prompt.app.exit(exception=_CannotOpenError())

    def _session(self) -> Accelerator:
        try:
            return self._opened.result()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise _CannotOpenError from error

    # What is typed

    @cached_property
    def _prompt(self) -> PromptSession[str]:
        keys = KeyBindings()

        @keys.add("enter", filter=Condition(self._is_whole) & ~completion_is_selected)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("enter", filter=completion_is_selected)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.complete_state = None

        return PromptSession(
            FormattedText([("bold", _PROMPT)]),
            multiline=True,
            prompt_continuation=_MORE,
            key_bindings=keys,
            history=ShellHistory(history_file()),
            completer=_Late(self),
            complete_in_thread=True,
            complete_while_typing=False,
            enable_suspend=True,
        )

    def _is_whole(self) -> bool:
        """Whether Enter sends what was typed, instead of beginning another line."""
        text, _ = _without_vertical(self._prompt.default_buffer.text.strip())
        return not text or text.startswith(".") or text.lower() in _QUIT or is_ended(text)

    @cached_property
    def names(self) -> CompletionNames:
        """Of the session's tables, for completion."""
        from accelerator.cli.shell.completion import CompletionNames

        return CompletionNames(self._session)

    # What is done

    def _done(self, text: str) -> None:
        text = text.strip()
        if text.rstrip(";").strip().lower() in _QUIT:
            raise EOFError
        try:
            if text.startswith("."):
                self._command(text.rstrip(";").split())
                return
            text, is_vertical = _without_vertical(text)
            for statement in split_statements(text):
                self._run(statement, "vertical" if is_vertical else self._format)
        except (_CannotOpenError, EOFError):
            raise
        except BaseException as error:
            if exit_code(error) is None:
                raise

    def _run(self, statement: str, name: str) -> None:
        """Runs it, and shows its rows in the format of that name."""
        with spinning(self._activity):
            session = self._session()
            if name in ROWS:
                print_rows(name, session.stream(statement, timeout_s=self._timeout_s))
            else:
                answer = session.query(statement, timeout_s=self._timeout_s)
        if first_word(statement).text in _CHANGES:
            self.names.forget()
        if name not in ROWS:
            self._show(answer, name, listing=first_word(statement).text == "SHOW")

    def _show(self, answer: Any, name: str, *, listing: bool) -> None:
        from accelerator.cli.output import answer_json, print_json
        from accelerator.common.display import fitting, footer, not_shown, table_text, vertical_text

        if name == "json":
            print_json(answer_json(answer))
            return
        table, others = answer.arrow(), list[str]()
        if listing and name != "vertical":
            table, others = fitting(table)
        if name == "vertical" and table.num_rows:
            self._print(vertical_text(table, _ROWS_MAX))
        elif table.num_columns:
            self._print(table_text(table, _ROWS_MAX))
        if others:
            say(not_shown(others, "\\G instead of ; shows all"))
        if table.num_rows > _ROWS_MAX:
            say(f"{table.num_rows - _ROWS_MAX:,} more rows: .format csv gives all")
        if self._timing:
            say(footer(table.num_rows, answer.metrics.to_dict()))

    def _print(self, text: str) -> None:
        if self._pager:
            page(text)
        else:
            say(text)

    def _activity(self) -> str:
        return self._opened.result().activity if self._opened.done() else "opening"

    # Its commands

    def _command(self, words: Sequence[str]) -> None:
        name, *rest = words
        known = COMMANDS.get(name)
        if known is None:
            raise ConfigError(f"there is no command {name}", hint=".help lists those that are")
        act, example, _ = known
        if not act(self, *rest):
            raise ConfigError(f"{name} can't be given that", hint=f"for example: {example}")

    def _help(self, *rest: str) -> bool:
        columns = shutil.get_terminal_size().columns
        width = max(len(example) for _, example, _ in COMMANDS.values())
        for _, example, said in COMMANDS.values():
            first, *others = textwrap.wrap(said, max(_SAID_MIN, columns - width - 2))
            say(f"{example:{width}}  {first}")
            for line in others:
                say(f"{'':{width}}  {line}")
        say("Tab completes, Ctrl-C stops what runs, Ctrl-D leaves.")
        return not rest

    def _tables(self, *rest: str) -> bool:
        import pyarrow as pa

        from accelerator.common.display import table_text

        wanted = (rest[0] if rest else "").lower()
        with spinning(lambda: "reading the catalogs"):
            tables = self.names.tables(fresh=True)
            shown = [one for one in map(self.names.written, tables) if wanted in one.lower()]
        self._print(table_text(pa.table({"table": shown}), 0) if shown else "no tables")
        return len(rest) < 2

    def _schema(self, *rest: str) -> bool:
        import pyarrow as pa

        from accelerator.common.display import table_text
        from rewrite.identifiers.qualified_name import parts_of

        if len(rest) != 1:
            return False
        self.names.forget()
        with spinning(lambda: "reading the catalog"):
            columns = self.names.columns(parts_of(rest[0]))
        if columns is None:
            raise ConfigError(
                f"there is no Iceberg table {rest[0]}",
                hint=f"Spark may know it: DESCRIBE {rest[0]};",
            )
        names, types = [one for one, _ in columns], [one for _, one in columns]
        self._print(table_text(pa.table({"column": names, "type": types}), 0))
        return True

    def _set_format(self, *rest: str) -> bool:
        if len(rest) != 1 or rest[0] not in FORMATS:
            return False
        check_terminal(rest[0])
        self._format = rest[0]
        return True

    def _set_timing(self, *rest: str) -> bool:
        self._timing = rest != ("off",)
        return rest in (("on",), ("off",))

    def _set_pager(self, *rest: str) -> bool:
        self._pager = rest != ("off",)
        return rest in (("on",), ("off",))

    def _set_timeout(self, *rest: str) -> bool:
        from accelerator.query.runtime.cancellation import check_limit

        try:
            (seconds,) = map(float, rest)
        except ValueError:
            return False
        check_limit(seconds)
        self._timeout_s = seconds
        return True

    def _leave(self, *_rest: str) -> NoReturn:
        raise EOFError


def _without_vertical(text: str) -> tuple[str, bool]:
    r"""Returns the statements that `\G` ends, with a semicolon in its place, and whether it does.

    >>> _without_vertical(r"SELECT 1 \G"), _without_vertical(r"SELECT '\G")
    (('SELECT 1 ;', True), ("SELECT '\\G", False))
    """
    ended = f"{text.removesuffix(_VERTICAL)};"
    if text.endswith(_VERTICAL) and is_ended(ended):
        return ended, True
    return text, False


class _Late(Completer):
    """The completer, once it's wanted: what it imports isn't waited for before."""

    def __init__(self, shell: _ShellSession) -> None:
        self._shell = shell

    @cached_property
    def _words(self) -> Completer:
        from accelerator.cli.shell.completion import Words

        return Words(self._shell.names, COMMANDS)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        yield from self._words.get_completions(document, complete_event)


COMMANDS: dict[str, tuple[Callable[..., bool], str, str]] = {
    ".format": (
        _ShellSession._set_format,
        ".format csv",
        f"how rows are shown: {', '.join(FORMATS[:4])}; \\G instead of ; shows one vertically",
    ),
    ".help": (_ShellSession._help, ".help", "this list"),
    ".pager": (_ShellSession._set_pager, ".pager off", "whether long answers are shown by $PAGER"),
    ".quit": (_ShellSession._leave, ".quit", "leave"),
    ".schema": (_ShellSession._schema, ".schema shop.orders", "columns of a table and their types"),
    ".tables": (
        _ShellSession._tables,
        ".tables orders",
        "tables of the catalogs that are named so",
    ),
    ".timeout": (
        _ShellSession._set_timeout,
        ".timeout 30",
        "seconds that a query may take; 0: no limit",
    ),
    ".timing": (
        _ShellSession._set_timing,
        ".timing off",
        "the line on rows, time, engine and cube",
    ),
}
"""What does it, an example, and what it's for."""
