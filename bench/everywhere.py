"""Statements over every table: any catalog, store and width. So far: wide tables and S3."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from rich.console import Console

from bench import everywhere_s3, wide
from bench.report import Report
from bench.steps import Steps

_PARTS = {
    "wide": (f"Tables of {', '.join(f'{w:,}' for w in wide.WIDTHS)} columns", wide.measure),
    "s3": ("Tables in S3, beside PyArrow's dataset", everywhere_s3.measure),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--json", type=Path, default=Path("build/bench-everywhere.json"))
    parser.add_argument("--only", choices=_PARTS, help="one part alone")
    parser.add_argument("--folder", type=Path, help="where to work; by default a temporary folder")


def run(options: argparse.Namespace) -> int:
    """Measures one part after the other; what a part has measured is saved when it ends."""
    report = Report("everywhere", options.json, {"widths": list(wide.WIDTHS)})
    folder = Path(tempfile.mkdtemp(prefix="bench-everywhere-", dir=options.folder))
    steps = Steps(Console())
    try:
        for name, (text, measure) in _PARTS.items():
            if options.only not in (None, name):
                continue
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
