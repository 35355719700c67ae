"""The fenced blocks of README.md and docs/install.md, and how each is run as printed.

A page's blocks run in their order, in one folder: `sh` by a shell, `python` by Python, `toml` as
the settings of `accelerator doctor`, in which `/data` is that folder. A `text` block is what the
block before it prints. `<!-- elsewhere: what -->` before a block marks one that needs a server or a
cloud.
"""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from accelerator.iceberg.writes.sample_data import make_sample

HOUSE = Path(__file__).parents[2]
PAGES = ("README.md", "docs/install.md")
ELSEWHERE_MAX = 5
LANGUAGES = ("sh", "python", "toml", "text")
EXAMPLE_FOLDER = "/data"
_BLOCK = re.compile(
    r"(?:^<!-- elsewhere: (?P<elsewhere>[^\n]+) -->\n)?"
    r"^```(?P<language>[a-z]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_MEASURED = re.compile(r"\d[\d,]*(?:\.\d+)? (?:ms|s|B|kB|MB)\b")


@dataclass(frozen=True)
class Snippet:
    """One block; `elsewhere` is what it needs that no test has."""

    page: str
    line: int
    language: str
    text: str
    elsewhere: str = ""

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.page}:{self.line}"


Run = Callable[[Snippet, Path], str]
"""Runs a block in a folder; returns what it printed. SnippetError if it fails."""


class SnippetError(Exception):
    """A block failed."""


def snippets(page: str) -> list[Snippet]:
    """The page's blocks in their order."""
    text = (HOUSE / page).read_text(encoding="utf-8")
    found = [
        Snippet(
            page,
            text.count("\n", 0, match.start("language")) + 1,
            match["language"],
            match["text"],
            match["elsewhere"] or "",
        )
        for match in _BLOCK.finditer(text)
    ]
    fences = len(re.findall(r"^ {0,3}(?:```|~~~)", text, re.MULTILINE))
    assert fences == 2 * len(found), f"{page}: a fence that no block begins with"
    return found


def failures(page: str, folder: Path, run: Run) -> tuple[int, list[str]]:
    """Runs the page's blocks; the number of those that did as printed, and what failed."""
    done, failed, printed = 0, list[str](), ""
    for one in snippets(page):
        if one.elsewhere:
            continue
        try:
            if one.language == "text":
                _compare(one.text, printed)
            else:
                if one.language == "toml":
                    _provide(folder)
                printed = run(one, folder)
        except SnippetError as error:
            failed.append(f"{one.name}: {error}")
        else:
            done += 1
    return done, failed


def settings_file(one: Snippet, folder: Path) -> Path:
    """The block as a file, in which `/data` is the folder."""
    file = folder / "block.toml"
    file.write_text(one.text.replace(EXAMPLE_FOLDER, str(folder)), encoding="utf-8")
    return file


def _provide(folder: Path) -> None:
    """What the settings name: a warehouse's folder, and a database of a catalog `prod`."""
    if not (folder / "warehouse").exists():
        make_sample(folder / "warehouse")
        make_sample(folder / "lake-of-prod", catalog="prod")
        shutil.copy(folder / "lake-of-prod" / "catalog.db", folder / "meta.db")


def _compare(wanted: str, printed: str) -> None:
    """SnippetError unless all lines were printed in a row; sizes and times may differ."""
    lines, found = (_lines(text) for text in (wanted, printed))
    if not any(found[at : at + len(lines)] == lines for at in range(len(found))):
        raise SnippetError("\n".join(difflib.unified_diff(lines, found, "page", "run")))


def _lines(text: str) -> list[str]:
    found = (re.sub(r"\s+", " ", _MEASURED.sub("#", line)).strip() for line in text.splitlines())
    return [line for line in found if line]
