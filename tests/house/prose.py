"""The rules of prose: which sentences and names of the product and its docs break them.

`python -m tests.house.prose [FILE…] [--since REV]` lists them, by default for everything; with
`--since`, only lines that were added since that commit.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).parents[2]
ROOTS = ("accelerator", "rewrite", "cubes", "indexes")
PAGES = ("docs/*.md", "docs/**/*.md", "README.md", "ARCHITECTURE.md")
WORDS_MAX = 30
SHOWN_MAX = 150

_FIRST_WORDS = re.compile(
    r"(of|by|as|with|what|whose|which|that|so|in|for|from|to|how|whether|where|without|under|over"
    r"|beside|those|who)\b",
    re.IGNORECASE,
)
_PHRASES = (
    ("of which", re.compile(r"\bof which\b", re.IGNORECASE)),
    ("where for if", re.compile(r"\b(None|True|False|empty|an error|NULL) where\b")),
    (
        "a thing without its name",
        re.compile(r"\b(none of which|whoever|whatever|nobody|somebody)\b", re.IGNORECASE),
    ),
    (
        "a verb of several meanings",
        re.compile(
            r"\b(is|are|was|were) (told|said|kept|held|left|taken|known|asked)\b"
            r"|\b(tells|says|stands|holds)\b",
            re.IGNORECASE,
        ),
    ),
)
_PARTICIPLES = re.compile(
    r"_?(told|asked|known|left|kept|made|taken|found|one|held|said|given|seen|tried|shown|wanted)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_CODE_BLOCK = re.compile(r"```.*?```", re.DOTALL)
_HUNK = re.compile(r"\+(\d+)(?:,(\d+))?")


@dataclass(frozen=True, slots=True)
class Fault:
    """A sentence or name at a line, and the rule that it breaks."""

    line: int
    rule: str
    text: str


def faults(path: Path) -> Iterator[Fault]:
    """Yields the faults of a Python file or a Markdown page."""
    text = path.read_text(encoding="utf-8")
    yield from _python_faults(ast.parse(text)) if path.suffix == ".py" else _page_faults(text)


def files() -> list[Path]:
    """Lists the product's modules and the pages of its docs."""
    modules = [path for root in ROOTS for path in (HOME / root).rglob("*.py")]
    return sorted({*modules, *(path for pattern in PAGES for path in HOME.glob(pattern))})


def _python_faults(tree: ast.Module) -> Iterator[Fault]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node)
            if docstring:
                line = node.body[0].lineno
                if _FIRST_WORDS.match(docstring):
                    yield Fault(line, "first word", docstring.splitlines()[0])
                yield from _text_faults(line, docstring)
            if not isinstance(node, ast.Module) and _PARTICIPLES.fullmatch(node.name):
                yield Fault(node.lineno, "name", node.name)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for given in (*node.exc.args, *(keyword.value for keyword in node.exc.keywords)):
                yield from _text_faults(node.lineno, _literal(given))


def _literal(node: ast.expr) -> str:
    """Returns the constant parts of a string; nothing for other expressions."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = [part.value for part in parts if isinstance(part, ast.Constant)]
    return " ".join(text for text in texts if isinstance(text, str))


def _page_faults(text: str) -> Iterator[Fault]:
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        in_code ^= line.lstrip().startswith("```")
        if not in_code and not line.lstrip().startswith(("```", "|", "#")):
            yield from _text_faults(number, line)


def _text_faults(line: int, text: str) -> Iterator[Fault]:
    for sentence in _SENTENCE_END.split(" ".join(_CODE_BLOCK.sub("", text).split())):
        for rule, pattern in _PHRASES:
            if pattern.search(sentence):
                yield Fault(line, rule, sentence)
        if len(sentence.split()) > WORDS_MAX and "|" not in sentence:
            yield Fault(line, f"over {WORDS_MAX} words", sentence)


def _added_lines(revision: str) -> dict[Path, set[int]]:
    """Returns the lines of each file that were added since a commit."""
    command = ["git", "diff", "-U0", revision, "--", "*.py", "*.md"]
    diff = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=True).stdout
    lines, path = defaultdict[Path, set[int]](set), HOME
    for row in diff.splitlines():
        if row.startswith("+++ "):
            path = HOME / row.removeprefix("+++ b/")
        elif row.startswith("@@") and (hunk := _HUNK.search(row)):
            start, count = int(hunk[1]), int(hunk[2] or 1)
            lines[path] |= set(range(start, start + count))
    return lines


def main() -> None:
    """Prints the faults and how many there are by rule."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--since", metavar="REV")
    options = parser.parse_args()
    added = None if options.since is None else _added_lines(options.since)
    counts = Counter[str]()
    for path in [file.absolute() for file in options.files] or files():
        if added is not None and path not in added:
            continue
        for fault in faults(path):
            # A docstring's faults carry its first line.
            near = range(fault.line, fault.line + 3)
            if added is None or not added[path].isdisjoint(near):
                counts[fault.rule] += 1
                print(
                    f"{path.relative_to(HOME)}:{fault.line}: {fault.rule}: {fault.text[:SHOWN_MAX]}"
                )
    print("; ".join(f"{rule}: {count:,}" for rule, count in counts.most_common()) or "no faults")


if __name__ == "__main__":
    main()
