"""The tests' own rules: modules of tests stand alone, and each file has a name of its own."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("*.py"))
# In whatever form: `from tests.a.test_b import c`, `from .test_b import c`, `import test_b`, ….
IMPORT = re.compile(
    r"^\s*(?:from|import)\s.*?\btest_\w+(?=[\w.]*(?:\s+import\b|\s*,|\s+as\b|\s*$))", re.M
)


def test_no_test_module_imports_another():
    """What two of them need stands in `tests/support/`, or in a module beside them."""
    found = []
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for match in IMPORT.finditer(text):
            line = text.count("\n", 0, match.end()) + 1
            found.append(f"{path.relative_to(TESTS)}:{line}: {match[0].strip()}")
    assert not found


def test_no_two_test_files_share_a_name():
    """So that a name alone says which is meant."""
    places = defaultdict(list)
    for path in FILES:
        if path.name not in ("conftest.py", "__init__.py"):
            places[path.name].append(str(path.parent.relative_to(TESTS)))
    assert not {name: where for name, where in places.items() if len(where) > 1}
