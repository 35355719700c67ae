"""`accelerator sample`: a warehouse to try statements on, and which to try first."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from accelerator.cli.terminal import say, spinning

_TRY = (
    'accelerator sql --warehouse {folder} "SELECT count(*), max(sold_on) FROM shop.sales"',
    'accelerator explain --warehouse {folder} "SELECT sum(quantity) FROM shop.sales"',
    "accelerator shell --warehouse {folder}",
)


@click.command("sample")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, of errors too.")
def sample_command(folder: Path, as_json: bool) -> None:
    """Make a warehouse with sample tables in a new folder, without Java or a download.

    shop.sales has 1.2 million rows in 12 files, shop.stores and shop.products describe them:
    20 MB. Remove the folder to remove all of it.
    """
    from accelerator.cli.output import print_json
    from accelerator.cli.session import exit_code, say_json, say_plainly
    from accelerator.iceberg.writes.sample_data import make_sample

    step = ""

    def tell(text: str) -> None:
        nonlocal step
        step = text

    try:
        with spinning(lambda: step):
            rows = make_sample(folder, tell)
    except BaseException as error:
        code = exit_code(error, say_json if as_json else say_plainly)
        if code is None:
            raise
        sys.exit(code)
    if as_json:
        print_json({"warehouse": str(folder.absolute()), "rows": {"shop.sales": rows}})
        return
    say(f"shop.sales ({rows:,} rows), shop.stores and shop.products are in {folder}. Try next:")
    for line in _TRY:
        say(f"  {line.format(folder=shlex.quote(str(folder)))}")
