"""README.md and docs/install.md do what they print: each block is run, here in this process.

`tests/bench/test_docs_run_from_wheel.py` runs them once more, where only the wheel is installed.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from accelerator.cli.main import main
from accelerator.iceberg.writes import sample_data
from accelerator.session import doctor
from bench.__main__ import BENCHES
from tests.support.snippets import (
    ELSEWHERE_MAX,
    HOUSE,
    LANGUAGES,
    PAGES,
    Snippet,
    SnippetError,
    failures,
    settings_file,
    snippets,
)

PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_block_says_how_it_is_run_and_few_need_another_machine() -> None:
    every = [one for page in PAGES for one in snippets(page)]
    assert len(every) >= 15
    assert {one.language for one in every} <= set(LANGUAGES)
    assert sum(bool(one.elsewhere) for one in every) <= ELSEWHERE_MAX


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_as_printed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCELERATOR_QUERY_LOG", "false")
    monkeypatch.setattr(doctor, "_requirements", lambda: iter(()))  # pip, of this environment
    if page != "README.md":  # which shows what the sample has
        monkeypatch.setattr(sample_data, "ROWS_A_MONTH", 100)
    wanted = sum(not one.elsewhere for one in snippets(page))
    done, failed = failures(page, tmp_path, _run)
    assert not failed, "\n".join(failed)
    assert done == wanted


def _run(one: Snippet, folder: Path) -> str:
    if one.language == "toml":
        words = ["doctor", "--config", str(settings_file(one, folder)), "--json"]
        return _printed(words)
    if one.language == "python":
        return _python(one.text)
    return "".join(_command(words) for words in _commands(one.text))


def _commands(text: str) -> list[list[str]]:
    """The words of each line; a line whose quotes stay open goes on in the next one."""
    found, waiting = list[list[str]](), ""
    for line in text.splitlines(keepends=True):
        waiting += line
        try:
            words = shlex.split(waiting, comments=True)
        except ValueError:
            continue
        waiting = ""
        found += [words] if words else []
    assert not waiting, waiting
    return found


def _command(words: list[str]) -> str:
    if words[:2] == ["pip", "install"]:
        for named in words[2:]:
            match = re.fullmatch(r"([a-z-]+)(?:\[([a-z,]+)\])?", named)
            if not match or match[1] != PROJECT["name"]:
                raise SnippetError(f"{named} isn't this distribution")
            if not set((match[2] or "all").split(",")) <= set(PROJECT["optional-dependencies"]):
                raise SnippetError(f"{named} has an extra that there isn't")
        return ""
    if words[0] != "accelerator":
        raise SnippetError(f"{words[0]} can't be run here")
    return _printed(words[1:])


def _printed(words: list[str]) -> str:
    ran = CliRunner().invoke(main, words)
    if ran.exit_code:
        raise SnippetError(f"{words}: {ran.output}{ran.exception!r}")
    return ran.output


def _python(text: str) -> str:
    if "pyspark" in text:  # of an attached session, which the other test starts
        compile(text, "block", "exec")
        return ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "block", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def test_a_package_index_can_show_the_readme() -> None:
    """It follows no relative link, and finds every page that the README names."""
    text = (HOUSE / "README.md").read_text(encoding="utf-8")
    assert not re.findall(r"\]\((?!https?://)|<img|\]\[", text)
    named = re.findall(r"`((?:docs/|[A-Z]+\.)[\w/.-]*)`", text)
    assert len(named) > 15
    assert [one for one in named if not (HOUSE / one).exists()] == []
    commands = re.findall(r"`make ([a-z]+)`", text)
    makefile = (HOUSE / "Makefile").read_text(encoding="utf-8")
    assert commands and all(f"\n{one}:" in makefile for one in commands)
    suites = re.findall(r"`python -m bench ([a-z]+)", text)
    assert len(suites) == 3 and set(suites) <= set(BENCHES)


def test_a_block_that_prints_something_else_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\necho\n```\n\n```text\n2 rows · 1.5 ms\n  b\n```\n\n"
        "<!-- elsewhere: a cloud -->\n```sh\nfly\n```\n\n```python\nraise\n```\n"
    )
    monkeypatch.setattr("tests.support.snippets.HOUSE", tmp_path)
    assert [one.elsewhere for one in snippets("page.md")] == ["", "", "a cloud", ""]

    def run(one: Snippet, folder: Path) -> str:
        if one.language == "python":
            raise SnippetError("it fails")
        return printed[-1]

    printed = []
    for text, fit in (("a\n2 rows · 31 ms\nb\nc", 2), ("2 rows · 31 ms\nc\nb", 1)):
        printed.append(text)
        done, failed = failures("page.md", tmp_path, run)
        assert (done, len(failed)) == (fit, 3 - fit)
        assert failed[-1] == "page.md:15: it fails"
    page.write_text("```sh\necho\n```\n  ```sh\nnever found\n  ```\n")
    with pytest.raises(AssertionError, match="a fence that no block begins with"):
        snippets("page.md")
