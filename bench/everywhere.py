"""Statements over every table: any catalog, store and width. So far: wide tables, and S3."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from rich.console import Console

from bench import killed_builds, wide
from bench.report import Report
from bench.steps import Steps

_Measure = Callable[[Path, Callable[[str], None]], Mapping[str, float]]
_PARTS: dict[str, tuple[str, _Measure]] = {
    "wide": (f"Tables of {', '.join(f'{w:,}' for w in wide.WIDTHS)} columns", wide.measure)
}


_KILLS = "Builds on S3 that are killed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--json", type=Path, default=Path("build/bench-everywhere.json"))
    parser.add_argument("--folder", type=Path, help="where to work; by default a temporary folder")
    parser.add_argument(
        "--kills", type=int, default=killed_builds.BUILDS, help="so many builds are killed"
    )


def run(options: argparse.Namespace) -> int:
    """Measures one part after the other; what a part has measured is saved when it ends."""
    report = Report("everywhere", options.json, {"widths": list(wide.WIDTHS)})
    folder = Path(tempfile.mkdtemp(prefix="bench-everywhere-", dir=options.folder))
    steps = Steps(Console())
    try:
        kills: _Measure = partial(killed_builds.measure, builds=options.kills)
        for text, measure in [*_PARTS.values(), (_KILLS, kills)]:
            with steps.step(text) as tell:
                report.figures.update(measure(folder, tell))
            report.save()
    finally:
        shutil.rmtree(folder)
    report.complete = True
    report.save()
    for name, value in report.figures.items():
        steps.console.print(f"{name} {value:.4g}", highlight=False)
    return 0
