"""The reference can't fall behind: each reason, setting, statement and command has its section.

`UPDATE_DOCS=1 pytest tests/house/test_docs.py` renews the commands' help in docs/reference/cli.md.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from accelerator.cli.main import main
from accelerator.cli.shell.shell import COMMANDS as SHELL
from accelerator.common.config.config import Config
from accelerator.gateway.settings import GatewaySettings
from accelerator.query.statements.catalog import EXAMPLES
from accelerator.query.statements.grammar import INDEX_KINDS
from rewrite.functions.table import BY_WORD
from rewrite.reason import REASONS

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = DOCS / "reference"
COMMANDS = ["", *sorted(main.commands)]
HELP = re.compile(r"```text\n\$ accelerator ?([a-z-]*) --help\n(.*?)```", re.DOTALL)


def _sections(page):
    parts = re.split(r"^## (.+)$", (REFERENCE / page).read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("code", REASONS)
def test_every_reason_has_a_section_that_says_something(code):
    assert len(_sections("reasons.md").get(f"`{code}`", "").strip()) > 40


def test_reasons_stand_in_order():
    headings = list(_sections("reasons.md"))
    assert headings == sorted(headings)


@pytest.mark.parametrize("one", Config.model_fields)
def test_every_setting_has_a_row(one):
    assert f"| `{one}` |" in (REFERENCE / "configuration.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("one", GatewaySettings.model_fields)
def test_every_setting_of_the_gateway_has_a_row(one):
    assert f"| `{one}` |" in (REFERENCE / "gateway.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("heading", EXAMPLES)
def test_every_statement_has_a_section_with_its_grammar_and_example(heading):
    section = _sections("sql.md").get(heading, "")
    assert f"```sql\n{EXAMPLES[heading]}\n```" in section
    assert section.count("```") - 2 * section.count("```text") == 4


def test_every_index_kind_is_named_among_the_clashes():
    clashes = _sections("sql.md")["Words that Spark has too"]
    assert {kind for kind in INDEX_KINDS if f"`{kind}`" in clashes} == INDEX_KINDS


@pytest.mark.parametrize("name", SHELL)
def test_every_command_of_the_shell_has_a_row(name):
    example = SHELL[name][1]
    assert example.startswith(name)
    assert f"| `{example}` | " in _sections("cli.md")["accelerator shell"]


BLOCK = re.compile(r"```(python|toml)\n(.*?)```", re.DOTALL)
SHOWN = [DOCS.parent / "README.md", DOCS / "install.md", REFERENCE / "configuration.md"]


@pytest.mark.parametrize("page", SHOWN, ids=lambda path: path.name)
def test_what_is_shown_can_be_taken_as_it_is(page, tmp_path):
    """Python that compiles, and settings that there are."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert blocks
    for language, text in blocks:
        if language == "python":
            compile(text, page.name, "exec")
        else:
            file = tmp_path / "shown.toml"
            file.write_text(text, encoding="utf-8")
            Config.load(file, env={})


def _help(command):
    arguments = [command, "--help"] if command else ["--help"]
    found = CliRunner().invoke(main, arguments, prog_name="accelerator")
    assert found.exit_code == 0
    return found.output


@pytest.mark.parametrize("command", COMMANDS)
def test_the_cli_page_has_the_help_of_each_command(command):
    path = REFERENCE / "cli.md"
    if os.environ.get("UPDATE_DOCS"):
        text = path.read_text(encoding="utf-8")
        path.write_text(HELP.sub(_renewed, text), encoding="utf-8")
    shown = dict(HELP.findall(path.read_text(encoding="utf-8")))
    assert shown.get(command) == _help(command)


def _renewed(match):
    command = match[1]
    return f"```text\n$ accelerator {command}{' ' if command else ''}--help\n{_help(command)}```"


def test_the_page_on_functions_has_each_of_the_table():
    page = (REFERENCE / "functions.md").read_text(encoding="utf-8")
    assert [word for word in BY_WORD if f"`{word}" not in page] == []


def test_the_index_lists_each_decision():
    folder = DOCS / "decisions"
    found = re.findall(r"\[(.+)\]\((\d.+)\)", (folder / "README.md").read_text(encoding="utf-8"))
    pages = sorted(folder.glob("[0-9]*.md"))
    assert len(pages) > 50 and [page for _, page in found] == [page.name for page in pages]
    for title, page in found:
        head = (folder / page).read_text(encoding="utf-8").partition("\n")[0]
        assert head.endswith(title), page


def test_links_between_pages_lead_somewhere():
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
