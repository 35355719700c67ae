"""What looks after itself: what its log costs, how far it's behind, what it does twice or loses."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bench import (
    services_advisor,
    services_auto,
    services_daemon,
    services_indexes,
    services_log,
    services_statistics,
)
from bench.report import Report
from bench.steps import Steps

_PARTS: dict[str, Callable[[argparse.Namespace, Report], None]] = {
    "log": services_log.log,
    "lag": services_daemon.lag,
    "daemons": services_daemon.daemons,
    "killed": services_daemon.killed,
    "advisor": services_advisor.of_ssb,
    "advisor_ds": services_advisor.of_tpcds,
    "auto": services_auto.changed,
    "indexes": services_indexes.of_ssb,
    "statistics": services_statistics.of_lineorder,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m bench services`."""
    parser.add_argument("--json", type=Path, default=Path("build/services.json"))
    parser.add_argument("--only", help=f"parts, with commas: {','.join(_PARTS)}")
    services_log.add_arguments(parser)
    services_daemon.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Measures, and writes the report; 1 where anything was lost or built twice."""
    names = ("asked", "scale", "minutes", "commits", "seed")
    settings = {name: getattr(options, name) for name in names}
    report, steps = Report("services", options.json, settings), Steps(Console())
    for name in options.only.split(",") if options.only else _PARTS:
        with steps.step(f"Measure: {name}"):
            _PARTS[name](options, report)
        report.save()
    report.complete = not options.only
    report.save()
    for name, value in report.figures.items():
        print(f"{name}\t{value:g}")
    return int(bool(report.figures.get("lost") or report.figures.get("built_twice")))
