"""The map of the rooms is true: docs/rooms.md and docs/rooms.svg are what the code gives."""

from __future__ import annotations

import re

import pytest

from bench.imports import HOUSE, Sources, declared_layers
from bench.rooms import PAGE, PICTURE, page, picture

RENEW = "python -m bench.rooms makes the map anew"


@pytest.fixture(scope="module")
def sources() -> Sources:
    """The product's modules, parsed once."""
    return Sources.read()


def test_the_map_is_as_the_code(sources: Sources) -> None:
    layers = declared_layers()
    assert PAGE.read_text() == page(sources, layers), RENEW
    assert PICTURE.read_text() == picture(sources, layers), RENEW


def test_no_import_runs_up(sources: Sources) -> None:
    assert [
        *(arrow for one in declared_layers() for arrow in one.back_arrows(sources.imports))
    ] == []


def test_every_path_in_the_architecture_is_there() -> None:
    text = (HOUSE / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`((?:[\w]+/)+(?:\w+\.(?:py|md|toml))?)", text))
    assert len(named) > 30
    roots = (HOUSE, HOUSE / "accelerator")
    assert [path for path in sorted(named) if not any((r / path).exists() for r in roots)] == []


def test_class_names_mean_one_thing(sources: Sources) -> None:
    homes: dict[str, list[str]] = {}
    for module, name in sources.classes():
        homes.setdefault(name, []).append(module)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}
