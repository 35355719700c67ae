"""What all commands take: the warehouse, settings, how to answer; and where the SQL comes from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from accelerator.cli.session import Opener, open_session, session_of, settings_of
from accelerator.cli.terminal import spinning
from accelerator.errors import ConfigError

if TYPE_CHECKING:
    from accelerator.session.session import Accelerator


class CliOptions(NamedTuple):
    """Options of every command; a tuple, so that its help doesn't import msgspec (10 ms)."""

    opener: Opener
    warehouse: str | None
    config: str | None
    json: bool
    is_own: bool = False
    """Whether the session is opened as a user's command opens it."""

    @contextmanager
    def session(
        self, *, create: bool = False, spin: bool = True, first: str = ""
    ) -> Iterator[Accelerator]:
        """The session to ask, closed at the end; its errors end the process.

        With `create` over a warehouse that is made if it isn't there. With `spin` a terminal shows
        what Spark does. `first` is the statement that runs first: what is surely wrong with it
        needs no session.
        """

        def opened() -> Accelerator:
            if first and self.is_own:
                from accelerator.session.early_check import check_early

                check_early(settings_of(self.warehouse, self.config), first)
            return self.opened(create=create)

        with session_of(opened, as_json=self.json) as session:
            if not spin:
                yield session
                return
            with spinning(lambda: session.activity):
                yield session

    def opened(self, *, create: bool = False) -> Accelerator:
        """The session itself."""
        return self.opener(self.warehouse, self.config, create)

    def session_itself(self) -> Accelerator:
        """The session, for who looks into it. ConfigError where none is named."""
        try:
            return self.opened()
        except click.UsageError as error:
            hint = "for example: accelerator doctor --warehouse /data/warehouse"
            raise ConfigError(error.message, hint=hint) from error


def common(command: Callable[..., None]) -> Callable[..., None]:
    """The options that every command takes, handed on as one value."""

    @click.option(
        "--warehouse",
        envvar="ACCELERATOR_WAREHOUSE",
        show_envvar=True,
        help="Folder or URI of the warehouse; by default the one of accelerator.toml here.",
    )
    @click.option("--config", type=click.Path(), help="TOML file with settings.")
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document, of errors too.")
    @click.option("-v", "--verbose", is_flag=True, help="Show what Spark says.")
    @click.pass_context
    @wraps(command)
    def call(
        context: click.Context,
        /,
        *,
        warehouse: str | None,
        config: str | None,
        as_json: bool,
        verbose: bool,
        **rest: object,
    ) -> None:
        settings: dict[str, Any] = {"spark_output": "shown"} if verbose else {}
        opener: Opener = context.obj or partial(open_session, **settings)
        own = context.obj is None
        command(options=CliOptions(opener, warehouse, config, as_json, own), **rest)

    return call


def sql_input(command: Callable[..., None]) -> Callable[..., None]:
    """A statement as an argument, from a file, or from standard input."""
    command = click.option(
        "-f", "--file", type=click.File(encoding="utf-8"), help="Read the SQL from it; -: stdin."
    )(command)
    return click.argument("sql", required=False)(command)


def statements(sql: str | None, file: TextIO | None) -> list[str]:
    """Those that were given; UsageError for none."""
    from rewrite.text.first_look import split_statements

    if sql is not None and file is not None:
        raise click.UsageError("give the SQL as an argument or by --file, not both")
    if sql is None and file is None and (sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError("give the SQL as an argument, by --file, or on standard input")
    stream = file if file is not None else sys.stdin
    text = sql if sql is not None else stream.read()
    found = split_statements(text)
    if not found:
        raise click.UsageError("there is no statement in the SQL")
    return found


def one_statement(sql: str | None, file: TextIO | None) -> str:
    """The only one that was given; UsageError for none, or several."""
    found = statements(sql, file)
    if len(found) > 1:
        raise click.UsageError(f"give one statement, not {len(found)}")
    return found[0]
