"""Statements over every table: any catalog, store and width."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bench import everywhere_s3, everywhere_tables, wide
from bench.report import Report
from bench.steps import Steps


def _wide(
    folder: Path, tell: Callable[[str], None], _options: argparse.Namespace
) -> dict[str, float]:
    return wide.measure(folder, tell)


def _s3(
    folder: Path, tell: Callable[[str], None], _options: argparse.Namespace
) -> dict[str, float]:
    return everywhere_s3.measure(folder, tell)


_PARTS = {
    "tables": ("Tables that any catalog names", everywhere_tables.measure),
    "fixed": ("A count over 1,000 rows", everywhere_tables.fixed),
    "wide": (f"Tables of {', '.join(f'{w:,}' for w in wide.WIDTHS)} columns", _wide),
    "s3": ("Tables in S3, beside PyArrow's dataset", _s3),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--json", type=Path, default=Path("build/bench-everywhere.json"))
    parser.add_argument("--only", default=",".join(_PARTS), help="parts, with commas between")
    parser.add_argument("--rows", type=int, default=2_000_000, help="of flights")
    parser.add_argument("--scale", type=float, default=0.1, help="of SSB")
    parser.add_argument("--runs", type=int, default=5, help="of each statement")
    parser.add_argument("--folder", type=Path, help="where to work; by default a temporary folder")


def run(options: argparse.Namespace) -> int:
    """Measures one part after the other; what a part has measured is saved when it ends."""
    only = options.only.split(",")
    settings = {"widths": list(wide.WIDTHS), "rows": options.rows, "scale": options.scale}
    report = Report("everywhere", options.json, {**settings, "only": only})
    options.details = report.details
    folder = Path(tempfile.mkdtemp(prefix="bench-everywhere-", dir=options.folder))
    steps = Steps(Console())
    try:
        for name in only:
            text, measure = _PARTS[name]
            with steps.step(text) as tell:
                report.figures.update(measure(folder, tell, options))
            report.save()
    finally:
        shutil.rmtree(folder)
    report.complete = set(only) == set(_PARTS)
    report.save()
    for name, value in report.figures.items():
        steps.console.print(f"{name} {value:.4g}", highlight=False)
    return 0
