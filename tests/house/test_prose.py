"""Sentences and names that break the rules of prose: there may be fewer from commit to commit."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

from tests.house.prose import HOME, Fault, faults, files

LEFT = Path(__file__).parent / "prose_left.json"


def test_the_faults_that_are_left_only_shrink() -> None:
    """`UPDATE_PROSE=1` writes the list anew if no count grows."""
    found: dict[str, Counter[str]] = {}
    for path in files():
        root = path.relative_to(HOME).parts[0]
        found.setdefault(root, Counter()).update(fault.rule for fault in faults(path))
    left = json.loads(LEFT.read_text())
    grown = [
        f"{root}: {rule}: {count}, at most {left.get(root, {}).get(rule, 0)}"
        for root, counts in found.items()
        for rule, count in counts.items()
        if count > left.get(root, {}).get(rule, 0)
    ]
    hint = "python -m tests.house.prose --since HEAD lists the faults of changed lines"
    assert not grown, f"{grown}\n{hint}"
    if os.environ.get("UPDATE_PROSE"):
        LEFT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    elif found != left:
        raise AssertionError("fewer faults than listed: UPDATE_PROSE=1 pytest tests/house")


def test_each_rule_finds_its_faults(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        '"""Of a thing. Nobody tells."""\n\n\ndef told():\n    """Returns 1."""\n'
        f'    raise ValueError(f"{{1}} None where {"long " * 30}.")\n'
    )
    page = tmp_path / "page.md"
    page.write_text("# Of which\n\nFiles, of which two are left.\n\n```\nof which\n```\n")
    assert sorted(fault.rule for fault in faults(module)) == [
        "a thing without its name",
        "a verb of several meanings",
        "first word",
        "name",
        "over 30 words",
        "where for if",
    ]
    assert [*faults(page)] == [
        Fault(3, "of which", "Files, of which two are left."),
        Fault(3, "a verb of several meanings", "Files, of which two are left."),
    ]
