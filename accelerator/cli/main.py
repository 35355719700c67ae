"""The command `accelerator`: a thin face of a session. Each command opens one, asks it, prints.

Nothing heavy is imported before a command needs it, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from accelerator.cli.advice import (
    analyze_command,
    apply_command,
    recommendations_command,
    results_command,
)
from accelerator.cli.formats import FORMATS, ROWS, check_terminal, print_rows
from accelerator.cli.options import CliOptions, common, one_statement, sql_input, statements
from accelerator.cli.passwords import password_command
from accelerator.cli.sample import sample_command
from accelerator.cli.serve import serve_command
from accelerator.cli.terminal import printing, say

if TYPE_CHECKING:
    from accelerator.query.results.result import Result
    from accelerator.session.session import Accelerator

ROWS_MAX = 1000
_SETTINGS = {"help_option_names": ["-h", "--help"], "terminal_width": 80}


def _print(
    answers: list[Result],
    options: CliOptions,
    rows_max: int = ROWS_MAX,
    *,
    vertical: bool = False,
    listing: bool = False,
) -> None:
    from accelerator.cli.output import answer_json, print_answer, print_json

    if options.json:
        documents = [answer_json(answer) for answer in answers]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    for answer in answers:
        print_answer(answer, rows_max, vertical=vertical, listing=listing)


class _Command(click.Command):
    """Its help may be printed where nothing can be written."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Reads what was given, which prints the help where that is asked for."""
        with printing():
            return super().make_context(*args, **more)


_HELP_MAX = 1000
_GROUPS = {
    "Begin": ("sample", "doctor"),
    "Ask": ("shell", "sql", "export", "explain", "why-not", "verify"),
    "Cubes and indexes": (
        "show",
        "build",
        "build-statistics",
        "compact",
        "validate",
        "undrop",
        "vacuum",
    ),
    "Advice": ("queries", "analyze", "recommendations", "apply", "results"),
    "Services": ("serve", "serve-maintenance", "password"),
}


class _ShellGroup(_Command, click.Group):
    """Without a command's name, the shell."""

    command_class = _Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options of no command's are the shell's."""
        own = {"-h", "--help", "--version"}
        if not ctx.resilient_parsing and (not args or (args[0][:1] == "-" and args[0] not in own)):
            args = ["shell", *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands in groups, each with the whole first sentence of its help."""
        ungrouped = dict.fromkeys(self.list_commands(ctx))
        for title, names in (*_GROUPS.items(), ("More", tuple(ungrouped))):
            rows = []
            for name in names:
                if name in ungrouped and (command := self.get_command(ctx, name)) is not None:
                    del ungrouped[name]
                    rows.append((name, command.get_short_help_str(limit=_HELP_MAX)))
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


@click.group(cls=_ShellGroup, context_settings=_SETTINGS)
@click.version_option(package_name="lakehouse-accelerator", message="%(prog)s %(version)s")
def main() -> None:
    """Answer SQL over Apache Iceberg tables from cubes, with plain Spark's answers.

    Without a command: the shell.
    """


_TIMEOUT = click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    help="Seconds that each query may take; by default the setting timeout_s.",
)
_CREATE = click.option("--create", is_flag=True, help="Make the warehouse if it isn't there.")


@main.command("shell")
@_TIMEOUT
@_CREATE
@common
def shell_command(timeout: float | None, create: bool, *, options: CliOptions) -> None:
    """Ask one statement after the other; .help says what else it knows.

    Where standard input is no terminal its statements are run, as by `accelerator sql`.
    """
    if _is_at_terminal() and not options.json:
        from accelerator.cli.shell.shell import run_shell

        sys.exit(run_shell(lambda: options.opened(create=create), timeout))
    from rewrite.text.first_look import split_statements

    found = split_statements(sys.stdin.read()) if sys.stdin is not None else []
    if not found:
        context = click.get_current_context()
        say((context.parent or context).get_help())
        sys.exit(2)
    _run(found, "json" if options.json else "table", ROWS_MAX, timeout, create, options)


def _is_at_terminal() -> bool:
    return all(one is not None and one.isatty() for one in (sys.stdin, sys.stdout))


@main.command("sql")
@sql_input
@click.option(
    "--format",
    "name",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How rows are printed; csv, arrow and parquet batch by batch.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=ROWS_MAX,
    show_default=True,
    help="Show at most so many rows of a table; 0: all.",
)
@_TIMEOUT
@_CREATE
@common
def sql_command(
    sql: str | None,
    file: TextIO | None,
    name: str,
    rows: int,
    timeout: float | None,
    create: bool,
    *,
    options: CliOptions,
) -> None:
    """Run SQL: queries, Spark's statements, and ours (CREATE CUBE and so on).

    Several statements, each ended by a semicolon, run in turn; the first that fails ends it.
    """
    _run(statements(sql, file), "json" if options.json else name, rows, timeout, create, options)


def _run(
    asked: list[str],
    name: str,
    rows: int,
    timeout: float | None,
    create: bool,
    options: CliOptions,
) -> None:
    """Each statement in turn; its rows in that format."""
    from rewrite.text.first_look import first_word

    options = options._replace(json=name == "json")
    if name in ("arrow", "parquet") and len(asked) > 1:
        raise click.UsageError(f"{name} holds the rows of one statement, not of {len(asked)}")
    with options.session(create=create, first=asked[0]) as session:
        check_terminal(name)
        if options.json:
            _print([session.query(one, timeout_s=timeout) for one in asked], options)
            return
        for one in asked:
            if name in ROWS:
                print_rows(name, session.stream(one, timeout_s=timeout))
            else:
                answers = [session.query(one, timeout_s=timeout)]
                is_list = first_word(one).text == "SHOW"
                _print(answers, options, rows, vertical=name == "vertical", listing=is_list)


@main.command("export")
@sql_input
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="The file: .parquet, .csv or .arrow; one that is there is replaced.",
)
@click.option(
    "--format",
    "name",
    type=click.Choice(ROWS),
    help="The file's format; by default its name says it.",
)
@common
def export_command(
    sql: str | None, file: TextIO | None, target: Path, name: str | None, *, options: CliOptions
) -> None:
    """Write a query's rows into a file, batch by batch.

    Rows of tables and joins, and groups, are written as they are computed, however many.
    """
    from accelerator.cli.export import export, format_of
    from accelerator.cli.output import print_json
    from accelerator.planning.plans.explain_tree import counted

    statement = one_statement(sql, file)
    chosen = format_of(target, name)
    began = time.monotonic()
    with options.session(spin=False) as session, _counter() as tell:
        rows = export(session.stream(statement), target, chosen, tell)
    seconds = time.monotonic() - began
    if options.json:
        print_json({"file": str(target), "rows": rows, "seconds": round(seconds, 3)})
    else:
        say(f"{counted(rows, 'row')} into {target} in {seconds:.1f} s", err=True)


@contextmanager
def _counter() -> Iterator[Callable[[int], None]]:
    """Shows a growing number of rows on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _rows: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield lambda rows: status.update(f"{rows:,} rows")


@main.command("explain")
@sql_input
@click.option("--analyze", is_flag=True, help="Run it, and say what was read and how long it took.")
@common
def explain_command(
    sql: str | None, file: TextIO | None, analyze: bool, *, options: CliOptions
) -> None:
    """Say how a query would be answered; nothing runs unless it's analyzed."""
    statement = one_statement(sql, file)
    with options.session() as session:
        format = "json" if options.json else "text"
        say(session.explain(statement, format=format, analyze=analyze))


@main.command("why-not")
@sql_input
@common
def why_not_command(sql: str | None, file: TextIO | None, *, options: CliOptions) -> None:
    """Say why cubes aren't used for a query: each reason once, with all that it holds for."""
    from accelerator.cli.output import print_json

    statement = one_statement(sql, file)
    with options.session() as session:
        found = session.why_not(statement)
    if options.json:
        print_json(found)
        return
    for one in found:
        nearest = " (the nearest)" if one["nearest"] and one["cube"] else ""
        say(f"{one['cube'] or 'all cubes'}{nearest}: {one['reason']} [{one['code']}]")
        for line in (one["ddl"], one["cost"]):
            if line:
                say(f"  {line}")
    if not found:
        say("no cube was refused; accelerator explain shows what answers it", err=True)


@main.command("verify")
@sql_input
@common
def verify_command(sql: str | None, file: TextIO | None, *, options: CliOptions) -> None:
    """Run a query both ways and compare the answers; exit code 1 if they differ."""
    from accelerator.cli.output import print_json, print_verification

    statement = one_statement(sql, file)
    with options.session() as session:
        found = session.verify(statement)
    if options.json:
        from accelerator.common.records.as_dict import as_dict  # imports msgspec

        print_json(as_dict(found))
    else:
        print_verification(found)
    sys.exit(1 if found.equal is False else 0)


SHOWN = {
    **{one: one.upper() for one in ("cubes", "indexes", "constraints", "statistics")},
    "recycle-bin": "RECYCLE BIN",
    "queries": "QUERIES",
    "recommendations": "RECOMMENDATIONS",
    "results": "ADVICE RESULTS",
}
"""What `show` lists, and the words behind SHOW; the last three are commands, too."""


@main.command("show")
@click.argument("what", type=click.Choice(tuple(SHOWN)))
@click.argument("table", required=False)
@common
def show_command(what: str, table: str | None, *, options: CliOptions) -> None:
    """List cubes, indexes, constraints, statistics, queries or advice, of all tables or of one.

    `statistics` needs a table, `queries` takes none.
    """
    if what == "statistics" and not table:
        raise click.UsageError("name the table whose statistics to show")
    if what == "queries" and table:
        raise click.UsageError("queries aren't listed by table: leave it out")
    with options.session() as session:
        on = f" ON {table}" if table else ""
        answers = [session.query(f"SHOW {SHOWN[what]}{on}")]
        _print(answers, options, listing=True)


@main.command("queries")
@click.option(
    "--hours", type=click.FloatRange(min=0), help="Those of so many hours; by default of any time."
)
@click.option(
    "--limit",
    type=click.IntRange(0, 100_000),
    default=100,
    show_default=True,
    help="At most so many, the newest first.",
)
@common
def queries_command(hours: float | None, limit: int, *, options: CliOptions) -> None:
    """List what was asked lately, by whichever process: the query log of the store."""
    since = "" if hours is None else f" SINCE {hours:f} HOURS"
    with options.session() as session:
        answers = [session.query(f"SHOW QUERIES{since} LIMIT {limit}")]
        _print(answers, options, 0, listing=True)


@main.command("build")
@click.argument("cubes", nargs=-1)
@click.option("--index", "indexes", multiple=True, help="Build this index; may be given again.")
@click.option("--table", help="Build every cube and index on this table.")
@common
def build_command(
    cubes: tuple[str, ...], indexes: tuple[str, ...], table: str | None, *, options: CliOptions
) -> None:
    """Build what the named cubes and indexes lack; what is built already stays."""
    from accelerator.cli.output import print_json
    from accelerator.common.progress import progress_for

    if not cubes and not indexes and not table:
        raise click.UsageError("name the cubes or indexes to build, or give --table")
    began = time.monotonic()
    with options.session(spin=False) as session:
        names = [*cubes, *(_column(session, f"SHOW CUBES ON {table}", "cube") if table else ())]
        more = _column(session, f"SHOW INDEXES ON {table}", "index") if table else ()
        built = [*indexes, *more]
        for build, wanted in ((session.build, names), (session.build_index, built)):
            for name in dict.fromkeys(wanted):  # each once
                progress = progress_for(sys.stderr)
                try:
                    build(name, progress=progress)
                finally:
                    progress.finish()
    seconds = time.monotonic() - began
    if options.json:
        print_json({"cubes": names, "indexes": built, "seconds": round(seconds, 3)})
    else:
        say(f"built {', '.join([*names, *built]) or 'nothing'} in {seconds:.1f} s", err=True)


@main.command("build-statistics")
@click.argument("table")
@click.option("--column", "columns", multiple=True, help="Only this one; may be given again.")
@common
def build_statistics_command(table: str, columns: tuple[str, ...], *, options: CliOptions) -> None:
    """Sketch a table's columns: distinct values, quantiles, heavy hitters.

    After an append only the new files are read. SHOW STATISTICS shows what was found.
    """
    from accelerator.cli.output import print_json
    from accelerator.common.progress import progress_for

    began = time.monotonic()
    with options.session(spin=False) as session:
        progress = progress_for(sys.stderr)
        try:
            built = session.build_statistics(table, columns=columns, progress=progress)
        finally:
            progress.finish()
    seconds = time.monotonic() - began
    if options.json:
        from accelerator.common.records.as_dict import as_dict  # imports msgspec

        print_json({**as_dict(built), "seconds": round(seconds, 3)})
        return
    for note in built.notes:
        say(note, err=True)
    what = f"{len(built.columns)} columns of snapshot {built.snapshot_id}"
    say(f"{what}: {built.mode}, {built.files_read} files read in {seconds:.1f} s", err=True)


@main.command("compact")
@click.argument("cubes", nargs=-1, required=True)
@common
def compact_command(cubes: tuple[str, ...], *, options: CliOptions) -> None:
    """Merge the small segments of the named cubes."""
    from accelerator.query.statements.constraint import quoted

    with options.session() as session:
        _print([session.query(f"COMPACT CUBE {quoted(cube)}") for cube in cubes], options)


_MARKS = {"ok": "ok     ", "warning": "warning", "error": "error  "}


@main.command("doctor")
@common
def doctor_command(*, options: CliOptions) -> None:
    """Check Java, packages, catalogs and store; exit code 1 if something stands in the way."""
    from accelerator.cli.output import print_json
    from accelerator.session.doctor import examine

    found = []
    for one in examine(options.session_itself):
        found.append(one)
        if not options.json:
            say(f"{_MARKS[one.status]}  {one.check}: {one.said}")
            if one.hint:
                say(f"         {one.hint}")
    failed = any(one.status == "error" for one in found)
    if options.json:
        from accelerator.common.records.as_dict import as_dict  # imports msgspec

        print_json({"ok": not failed, "findings": [as_dict(one) for one in found]})
    sys.exit(1 if failed else 0)


@main.command("undrop")
@click.argument("cube")
@click.option("--as", "new_name", help="Another name, where the old one is in use again.")
@common
def undrop_command(cube: str, new_name: str | None, *, options: CliOptions) -> None:
    """Bring a dropped cube back from the recycle bin, built as it was."""
    from accelerator.query.statements.constraint import quoted

    under = f" AS {quoted(new_name)}" if new_name else ""
    with options.session() as session:
        _print([session.query(f"UNDROP CUBE {quoted(cube)}{under}")], options)


@main.command("vacuum")
@click.argument("table")
@click.option("--full", is_flag=True, help="Find orphans of dead builds too, by listing.")
@click.option(
    "--retain-hours",
    type=click.FloatRange(min=0),
    help="Keep what became garbage since then; by default the setting vacuum_retain_hours.",
)
@click.option(
    "--snapshots", is_flag=True, help="Expire the table's own old snapshots first; starts Spark."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@common
def vacuum_command(
    table: str,
    full: bool,
    retain_hours: float | None,
    snapshots: bool,
    dry_run: bool,
    *,
    options: CliOptions,
) -> None:
    """Delete what nobody needs any more of a table's cubes.

    No data file is touched without --snapshots.
    """
    words = f"VACUUM {table}{' FULL' if full else ''}{' SNAPSHOTS' if snapshots else ''}"
    if retain_hours is not None:
        words += f" RETAIN {retain_hours:f} HOURS"
    with options.session() as session:
        _print([session.query(words + (" DRY RUN" if dry_run else ""))], options)


@main.command("serve-maintenance")
@click.option(
    "--interval-minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="From one round to the next.",
)
@click.option(
    "--jitter",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="Share of it by which rounds come sooner or later, at random.",
)
@click.option(
    "--full-every",
    type=click.IntRange(min=0),
    default=24,
    show_default=True,
    help="Find orphans too in the first of so many rounds; 0: never.",
)
@click.option(
    "--snapshots", is_flag=True, help="Expire the tables' own old snapshots too; starts Spark."
)
@click.option(
    "--metrics",
    metavar="[HOST:]PORT",
    help="Serve figures for Prometheus at /metrics; without HOST for this machine only. Other names"
    " of this server stand in the setting hosts of [gateway].",
)
@click.option("--no-refresh", is_flag=True, help="Leave cubes and indexes as they are.")
@click.option(
    "--once",
    is_flag=True,
    help="One round, and the builds that are due; then leave, with exit code 1 if one failed.",
)
@common
def serve_maintenance_command(
    interval_minutes: float,
    jitter: float,
    full_every: int,
    snapshots: bool,
    metrics: str | None,
    no_refresh: bool,
    once: bool,
    *,
    options: CliOptions,
) -> None:
    """Look after the store until SIGTERM or Ctrl-C: vacuum its tables, round by round.

    Cubes and indexes are brought up to date, as ALTER CUBE or ALTER INDEX … SET REFRESH says.
    Several of these may run over one store.
    """
    from accelerator.cli.maintenance import serve
    from accelerator.gateway.settings import GatewaySettings
    from accelerator.services.maintenance.daemon import Schedule

    schedule = Schedule(
        interval_minutes * 60, jitter, full_every, snapshots, refresh=not no_refresh
    )
    with options.session(spin=False) as session:
        rounds = 1 if once else None
        hosts = () if metrics is None else GatewaySettings.load(options.config).hosts
        sound = serve(
            session, schedule, rounds=rounds, metrics=metrics, hosts=hosts, as_json=options.json
        )
    sys.exit(0 if sound or not once else 1)


@main.command("validate")
@click.argument("table")
@click.argument("constraint", required=False)
@common
def validate_command(table: str, constraint: str | None, *, options: CliOptions) -> None:
    """Check a table's constraints on its data; exit code 1 if one doesn't hold."""
    from accelerator.query.statements.constraint import quoted

    with options.session() as session:
        shown = f"SHOW CONSTRAINTS ON {table}"
        names = [constraint] if constraint else _column(session, shown, "name")
        answers = [
            session.query(f"ALTER TABLE {table} VALIDATE CONSTRAINT {quoted(name)}")
            for name in names
        ]
        held = all(all(one.arrow().column("ok").to_pylist()) for one in answers)
        if answers or options.json:
            _print(answers, options)
        else:
            say(f"{table} has no constraints", err=True)
    sys.exit(0 if held else 1)


main.command("password")(password_command)
main.add_command(serve_command)
main.add_command(sample_command)
for _one in (analyze_command, recommendations_command, apply_command, results_command):
    main.add_command(_one)


def _column(session: Accelerator, sql: str, name: str) -> list[str]:
    """One column of an answer."""
    values: list[str] = session.query(sql).arrow()[name].to_pylist()
    return values


if __name__ == "__main__":
    main()
