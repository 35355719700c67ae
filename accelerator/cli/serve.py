"""`accelerator serve`: a gateway in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import sys

import click

from accelerator.cli.options import CliOptions, common
from accelerator.cli.session import exit_code, say_json, say_plainly, settings_of
from accelerator.cli.terminal import say


@click.command("serve")
@click.option("--host", metavar="ADDRESS", help="Listen there instead of at the setting's.")
@click.option("--port", type=click.IntRange(0, 65535), help="The same of the port; 0: a free one.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes that run statements.")
@click.option("--no-refresh", is_flag=True, help="Leave cubes and indexes as they are.")
@common
def serve_command(
    host: str | None,
    port: int | None,
    workers: int | None,
    no_refresh: bool,
    *,
    options: CliOptions,
) -> None:
    """Serve Trino's protocol, for BI tools: they connect to it as to Trino.

    The table [gateway] of the configuration file has its settings. Clients that ask by a name of
    the gateway, or through a proxy, need its settings hosts and trusted_proxies. SIGTERM or Ctrl-C
    ends it: what runs has half a minute to come to its end; a second one doesn't wait.
    """
    import logging

    from accelerator.common.log_lines import log_to_stderr

    try:
        # Without the packages of the extra there is nothing to serve with.
        from accelerator.gateway.serving import serve
        from accelerator.gateway.settings import GatewaySettings, check_place, named_file

        config = settings_of(options.warehouse, options.config)
        settings = GatewaySettings.load(
            options.config,
            host=host,
            port=port,
            workers=workers,
            maintenance_refresh=False if no_refresh else None,
        )
        file = named_file(options.config)
        if file is not None:
            check_place(file, config)
        log_to_stderr(logging.INFO)
        serve(config, settings, ready=lambda url: _ready(url, as_json=options.json), file=file)
    except BaseException as error:
        found = _missing(error) if isinstance(error, ImportError) else error
        code = exit_code(found, say_json if options.json else say_plainly)
        if code is None:
            raise
        sys.exit(code)


def _missing(error: ImportError) -> BaseException:
    """What is to be installed, where that is it."""
    from accelerator.errors import ConfigError

    if error.name not in ("aiohttp", "argon2", "orjson"):
        return error
    return ConfigError(
        f"the gateway needs the package {error.name}",
        hint="pip install 'lakehouse-accelerator[gateway]'",
    )


def _ready(url: str, *, as_json: bool) -> None:
    import json

    say(
        json.dumps({"url": url})
        if as_json
        else f"Listening at {url}; clients of Trino connect there."
    )
