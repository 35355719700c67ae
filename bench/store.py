"""The store at size: what a vacuum asks for, what a commit costs, what a million deletions take.

The figures are those of the product's aims: requests per version with garbage, against a vacuum
that lists and reads every version; the memory and speed of removing a million artifacts on the
local disk; a commit's latency and bytes at a million segments against ten.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from rich.console import Console

from accelerator.store import CoveredFile, Retention, SegmentRecord, Store
from accelerator.store.files.files import StoreFiles, open_files
from accelerator.store.vacuum.retention import DELETE_MAX, CountedFiles, Report
from bench.report import Report as Figures
from bench.steps import Steps

TABLE = "0f0e0d0c-0b0a-4908-8706-050403020100"
CUBE = "c" * 32
LATER_MS = 10**9
SMALL = 10
AT_ONCE = 50_000
NOW_MS = 1_750_000_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--json", type=Path, default=Path("build/bench-store.json"))
    parser.add_argument("--versions", type=int, default=100_000)
    parser.add_argument("--artifacts", type=int, default=1_000_000)
    parser.add_argument("--segments", type=int, default=1_000_000)
    parser.add_argument("--commits", type=int, default=300)
    parser.add_argument("--folder", type=Path, help="where to work; by default a temporary folder")


def run(options: argparse.Namespace) -> int:
    """Measures everything, one after the other."""
    settings = {
        name: getattr(options, name) for name in ("versions", "artifacts", "segments", "commits")
    }
    figures = Figures("store", options.json, settings)
    folder = Path(tempfile.mkdtemp(prefix="bench-store-", dir=options.folder))
    steps = Steps(Console())
    parts = (
        (_requests, f"Vacuum {options.versions:,} versions, by the chain and by listing"),
        (_commits, f"Commit to {options.segments:,} segments and to {SMALL}"),
        (_deletes, f"Delete {options.artifacts:,} artifacts"),
    )
    try:
        for measure, what in parts:
            began = time.perf_counter()
            with steps.step(what):
                measure(options, folder, figures)
            figures.details[f"{measure.__name__[1:]}_s"] = round(time.perf_counter() - began, 1)
            figures.save()
    finally:
        shutil.rmtree(folder)
    figures.complete = True
    figures.save()
    for name, value in figures.figures.items():
        print(f"{name:40} {value:,.4g}")
    return 0


def segment(number: int, uri: str = "file:///w/.accelerator") -> SegmentRecord:
    """A segment as a cube of two dimensions in a star has it."""
    path = f"file:///w/shop/orders/data/part-{number:012d}.parquet"
    return SegmentRecord(
        id=number,
        cube_id=CUBE,
        path=f"{uri}/{number}.parquet",
        rows=1000,
        bytes=65_536,
        files=(CoveredFile(path, number, "", 100_000, 4_194_304),),
        dimensions=((1, TABLE, 42),),
        fields=((TABLE, 3, "decimal(10,2)", False), (TABLE, 4, "int", False)),
        settings=(("time_zone", "UTC"),),
        facts={"file_bytes": 65_536},
    )


def _requests(options: argparse.Namespace, _folder: Path, figures: Figures) -> None:
    """Many versions, garbage in each hundredth, in an object store in memory."""
    files = open_files("memory:///")
    now = [NOW_MS]
    store = Store(files, now_ms=lambda: now[0])
    uri = files.uri(f"tables/{TABLE}/cubes/{CUBE}/job")
    for number in range(1, options.versions + 1):
        gone = [number - 1] if number % 100 == 0 else []
        store.add_segments(TABLE, [segment(number, uri)], replaces=gone)
    now[0] += LATER_MS
    garbage, listed = _lister(files)
    report = Store(files, now_ms=lambda: now[0]).vacuum(TABLE, Retention(0, versions_min=1))
    figures.figures["vacuum_requests_per_garbage_version"] = report.requests / garbage
    figures.figures["lister_requests_per_garbage_version"] = listed / garbage
    figures.details["vacuum"] = [
        (line.action, line.what, line.reason, line.files) for line in report.lines
    ]
    figures.details["garbage_versions"] = garbage


def _lister(files: StoreFiles) -> tuple[int, int]:
    """The baseline: lists the versions and reads each; how many have garbage, and its requests."""
    report = Report(TABLE, dry_run=True)
    counted = CountedFiles(files, report)
    garbage = dead = 0
    paths = counted.list(f"tables/{TABLE}/versions")
    for path in paths:
        state = json.loads(counted.read(path))["state"]
        found = len(state["garbage"]["artifacts"]) + len(state["garbage"]["chunks"])
        garbage, dead = garbage + bool(found), dead + found
    return garbage, report.requests - (-(dead + len(paths)) // DELETE_MAX)


class _Written:
    """Files that count the bytes of each commit."""

    def __init__(self, files: StoreFiles) -> None:
        self._files, self.bytes = files, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._files, name)

    def create(self, path: str, data: bytes) -> bool:
        self.bytes += len(data)
        return self._files.create(path, data)


def _commits(options: argparse.Namespace, folder: Path, figures: Figures) -> None:
    """One segment more, at few segments and at many, in turns, on the local disk."""
    took: dict[int, list[float]] = {}
    sizes: dict[int, list[int]] = {}
    stores = {}
    for count in (SMALL, options.segments):
        files = _Written(open_files(str(folder / f"commits-{count}")))
        store = Store(cast(StoreFiles, files))
        for part in _parts(count):
            store.add_segments(TABLE, [segment(number) for number in part])
        stores[count], took[count], sizes[count] = (files, store), [], []
    for step in range(options.commits):
        for count, (files, store) in stores.items():
            files.bytes, began = 0, time.perf_counter()
            store.add_segments(TABLE, [segment(10**9 + step)])
            took[count].append(time.perf_counter() - began)
            sizes[count].append(files.bytes)
    medians = {count: statistics.median(times) for count, times in took.items()}
    figures.figures["commit_growth"] = medians[options.segments] / medians[SMALL]
    figures.figures["commit_ms_few"] = medians[SMALL] * 1000
    figures.figures["commit_ms_many"] = medians[options.segments] * 1000
    figures.figures["commit_ms_many_worst"] = max(took[options.segments]) * 1000
    figures.figures["commit_bytes"] = int(statistics.median(sizes[options.segments]))
    figures.figures["commit_bytes_worst"] = max(sizes[options.segments])


def _deletes(options: argparse.Namespace, folder: Path, figures: Figures) -> None:
    """Dead artifacts on the local disk, removed by a process that does nothing else."""
    root = folder / "deletes"
    store = Store.open(str(root), now_ms=lambda: NOW_MS)
    artifacts = root / "tables" / TABLE / "cubes" / CUBE / "job"
    artifacts.mkdir(parents=True)
    for part in _parts(options.artifacts):
        for number in part:
            (artifacts / f"{number}.parquet").touch()
        ones = [segment(number, artifacts.as_uri()) for number in part]
        store.add_segments(TABLE, ones)
        store.remove_segments(TABLE, part)
    code = f"from bench.store import vacuum_alone; vacuum_alone({str(root)!r})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    left = sum(1 for _ in artifacts.iterdir())
    figures.figures["vacuum_peak_mb"] = found["peak_mb"]
    figures.figures["vacuum_deletes_per_s"] = (options.artifacts - left) / found["seconds"]
    figures.details["vacuum_alone"] = found | {"left": left}


def vacuum_alone(root: str) -> None:
    """The child's part: one vacuum, then its time, memory and requests as JSON."""
    store = Store.open(root, now_ms=lambda: NOW_MS + LATER_MS)
    began = time.perf_counter()
    report = store.vacuum(TABLE, Retention(0, versions_min=1))
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "peak_mb": _peak_mb(), "requests": report.requests}))


def _peak_mb() -> float:
    """This process's own peak; on Linux `getrusage` counts its parent's before `exec` too."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**10


def _parts(count: int) -> Iterator[range]:
    for start in range(1, count + 1, AT_ONCE):
        yield range(start, min(count + 1, start + AT_ONCE))
