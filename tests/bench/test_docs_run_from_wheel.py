"""README.md and docs/install.md run as printed where nothing but the wheel is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench.snippets import run_page
from tests.support.snippets import HOUSE, PAGES, snippets


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    words = ["-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(HOUSE)]
    subprocess.run([sys.executable, *words, "--disable-pip-version-check"], check=True)
    return next(folder.glob("*.whl"))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(1800)
@pytest.mark.skipif(shutil.which("java") is None, reason="Java isn't installed")
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_as_printed_in_an_empty_environment(
    page: str, tmp_path: Path, wheel: Path
) -> None:
    failed: list[str] = []
    done = run_page(page, tmp_path / "page", wheel, failed)
    assert not failed, "\n".join(failed)
    assert done == sum(not one.elsewhere for one in snippets(page))
