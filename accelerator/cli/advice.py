"""`accelerator analyze`, `recommendations`, `apply` and `results`: what pays, by the query log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from accelerator.cli.options import CliOptions, common
from accelerator.cli.terminal import say

if TYPE_CHECKING:
    from accelerator.query.results.result import Result


@click.command("analyze")
@click.argument("table", required=False)
@click.option(
    "--bytes", "size", metavar="SIZE", help="What all cubes and indexes may take, e.g. 512MB."
)
@click.option(
    "--build-minutes", type=click.FloatRange(min=0, min_open=True), help="What builds may take."
)
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), help="So many days of the log count."
)
@click.option(
    "--keep-days",
    type=click.FloatRange(min=0),
    help="What wasn't of use for so long may be advised away.",
)
@common
def analyze_command(
    table: str | None,
    size: str | None,
    build_minutes: float | None,
    days: float | None,
    keep_days: float | None,
    *,
    options: CliOptions,
) -> None:
    """Say which cubes, indexes and orders of a table, or of all, would pay, and what doesn't.

    The advice is kept; nothing is made or dropped before it's applied.
    """
    told = {"build_minutes": build_minutes, "days": days, "keep_days": keep_days}
    given = [f"{name} = {value:f}" for name, value in told.items() if value is not None]
    if size is not None:
        given.append("bytes = '{}'".format(size.replace("'", "")))
    budget = f" WITH ({', '.join(given)})" if given else ""
    with options.session() as session:
        _print(session.query(f"ANALYZE {table or 'WORKLOAD'}{budget}"), options)


@click.command("recommendations")
@click.argument("table", required=False)
@common
def recommendations_command(table: str | None, *, options: CliOptions) -> None:
    """List what was advised last, and what of it was done."""
    with options.session() as session:
        on = f" ON {table}" if table else ""
        _print(session.query(f"SHOW RECOMMENDATIONS{on}"), options)


@click.command("apply")
@click.argument("ids", nargs=-1)
@click.option("--table", help="All that is open for this table.")
@common
def apply_command(ids: tuple[str, ...], table: str | None, *, options: CliOptions) -> None:
    """Do what was advised: make and drop cubes and indexes; orders by their id alone."""
    from accelerator.cli.output import answer_json, print_answer, print_json
    from accelerator.query.statements.constraint import quoted

    if bool(ids) == bool(table):
        raise click.UsageError("name the recommendations, or the table by --table")
    words = [f"APPLY RECOMMENDATION {quoted(one)}" for one in ids]
    if table:
        words.append(f"APPLY RECOMMENDATIONS FOR {table}")
    with options.session() as session:
        answers = [session.query(one) for one in words]
        if options.json:
            print_json([answer_json(one) for one in answers])
        else:
            for answer in answers:
                print_answer(answer, 0)


@click.command("results")
@click.argument("table", required=False)
@common
def results_command(table: str | None, *, options: CliOptions) -> None:
    """List what was applied, with what it promised and what it gained since."""
    from accelerator.cli.output import answer_json, print_json
    from rewrite.text.printable import one_line

    with options.session() as session:
        on = f" ON {table}" if table else ""
        answer = session.query(f"SHOW ADVICE RESULTS{on}")
        if options.json:
            print_json(answer_json(answer))
            return
        rows = answer.arrow().to_pylist()
        for row in rows:
            say(one_line(f"{row['action']} {row['name']}  ({row['status']}, by {row['by']})"))
            say(one_line(f"    {_came_of(row)}"))
        if not rows:
            say("nothing was applied", err=True)


def _came_of(row: Mapping[str, Any]) -> str:
    from accelerator.planning.plans.explain_tree import size

    if row["gain_ms_per_day"] is None:
        return row["reason"] or f"frees {size(row['promised_bytes'])}"
    gained, promised = row["gain_ms_per_day"] / 1000, row["promised_ms_per_day"] / 1000
    told = (
        f"spares {gained:,.1f} s a day of {promised:,.1f} s promised, in {row['days']:.1f} days"
        f" answered {row['runs']:,} of {row['statements']:,} statements"
    )
    if row["before_ms"] is not None:
        told += f", in {row['now_ms']:,.0f} ms each instead of {row['before_ms']:,.0f}"
    if row["verdict"] is not None:
        told += f": it {row['verdict']}"
    if row["bytes"] is not None:
        told += f"; takes {size(row['bytes'])} of {size(row['promised_bytes'])} promised"
    return f"{told}; built in {row['build_s']:.0f} s of {row['promised_build_s']:.0f}"


def _print(answer: Result, options: CliOptions) -> None:
    from accelerator.cli.output import answer_json, print_json
    from rewrite.text.printable import one_line

    if options.json:
        print_json(answer_json(answer))
        return
    rows = answer.arrow().to_pylist()
    for row in rows:
        if row["action"] == "NOTE":
            say(f"note: {one_line(row['reason'])}", err=True)
            continue
        say(
            one_line(
                f"{row['id']}  {row['action']} {row['name'] or row['table']}  ({row['status']})"
            )
        )
        say(one_line(f"    {_figures(row)}"))
        say(one_line(f"    {row['ddl']}"))
    if not any(row["action"] != "NOTE" for row in rows):
        say("nothing is advised", err=True)


def _figures(row: Mapping[str, Any]) -> str:
    from accelerator.planning.plans.explain_tree import size

    if row["action"].startswith("DROP "):
        return f"{row['reason']}; frees {size(row['bytes'])}"
    return (
        f"{row['reason']}; spares {row['gain_ms_per_day'] / 1000:,.1f} s a day"
        f" ({row['gain_share']:.0%}), takes {size(row['bytes'])}, {row['build_s']:.0f} s to build"
    )
