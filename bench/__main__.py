"""`python -m bench <name>`: runs one of the benches. Each tells its options with `--help`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

from bench import (
    demo,
    everywhere,
    first_minutes,
    house,
    indexes,
    metadata,
    planner,
    relate,
    services,
    store,
    suite,
)
from bench.everyday import run as everyday
from bench.gateway import run as gateway
from bench.reach import run as reach
from bench.ssb import run as ssb
from bench.tpc import run as tpc


@dataclass(frozen=True, slots=True)
class Entry:
    """A bench: what it measures, how its options are declared, how it runs (the exit code)."""

    measures: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


BENCHES: dict[str, Entry] = {
    "demo": Entry("a first look: the SSB queries both ways", demo.add_arguments, demo.run),
    "firstminutes": Entry(
        "install, imports, first steps, mistakes", first_minutes.add_arguments, first_minutes.run
    ),
    "suite": Entry("the tests: how long, how many, which faults", suite.add_arguments, suite.run),
    "gateway": Entry("Trino's protocol: speed, tools", gateway.add_arguments, gateway.run),
    "house": Entry("our own code: rooms, imports, walks", house.add_arguments, house.run),
    "services": Entry("what looks after itself: lag, loss", services.add_arguments, services.run),
    "store": Entry("the store at size: vacuum, commits", store.add_arguments, store.run),
    "everywhere": Entry("any catalog, very wide tables", everywhere.add_arguments, everywhere.run),
    "everyday": Entry("300 everyday statements in process", everyday.add_arguments, everyday.run),
    "metadata": Entry("answers from manifests at size", metadata.add_arguments, metadata.run),
    "indexes": Entry("indexes: builds, filters, searches", indexes.add_arguments, indexes.run),
    "planner": Entry("planning TPC-DS beside 200 cubes", planner.add_arguments, planner.run),
    "reach": Entry("statements that are answered no longer", reach.add_arguments, reach.run),
    "relate": Entry("relate columns on SSB, no cubes", relate.add_arguments, relate.run),
    "tpc": Entry("TPC-H and TPC-DS from cubes: each query", tpc.add_arguments, tpc.run),
    "ssb": Entry("the 13 SSB queries: speed, size, build", ssb.add_arguments, ssb.run),
}


def main(arguments: list[str] | None = None) -> int:
    """Runs the bench that the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = parser.add_subparsers(dest="name", required=True)
    for name, entry in BENCHES.items():
        entry.add_arguments(names.add_parser(name, help=entry.measures))
    options = parser.parse_args(arguments)
    return BENCHES[options.name].run(options)


if __name__ == "__main__":
    sys.exit(main())
