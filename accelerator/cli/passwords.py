"""`accelerator password`: the hash that a users file has for a password."""

from __future__ import annotations

import sys

import click

from accelerator.cli.terminal import say
from accelerator.errors import ConfigError


@click.option("--stdin", is_flag=True, help="Read it from standard input, up to its first line.")
def password_command(stdin: bool) -> None:
    """Hash a password for the gateway's users file.

    It's asked for twice and isn't shown. What is printed goes behind `password =`.
    """
    from accelerator.gateway.access.login.passwords import BYTES_MAX, hash_password

    if stdin:
        given = sys.stdin.readline(BYTES_MAX + 2) if sys.stdin is not None else ""
        text = given.removesuffix("\n").removesuffix("\r")
    else:
        text = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    try:
        say(hash_password(text))
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
