"""Compares two recordings, statement by statement.

A statement is lost if the earlier code answered it and today's code leaves it to plain Spark,
refuses it or fails. Rows that the process answered and Spark has to finish now are lost as well.
A cube, an index or a manifest whose answer Spark finishes still answers.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Recording = Sequence[Mapping[str, Any]]
_ANSWERS = frozenset(("cube", "index", "manifest", "metadata", "rows"))
Key = tuple[str, str, str, str, int]


class AllowanceError(ValueError):
    """The file of allowed losses is unreadable or incomplete; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """A statement whose earlier answer was wrong, and the rows that prove it."""

    suite: str
    statement: str
    counter_example: str
    states: tuple[str, ...] = ()

    def covers(self, lost: Mapping[str, Any]) -> bool:
        """Decides whether the entry explains that loss."""
        same = self.suite == lost["suite"] and _words(self.statement) == _words(lost["statement"])
        return same and (not self.states or lost["state"] in self.states)


def read_allowances(path: Path) -> list[Allowance]:
    """Reads the file's entries; AllowanceError if an entry is incomplete."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("statement", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise AllowanceError(f"{path} can't be read: {error}") from error
    found = []
    for number, entry in enumerate(entries, 1):
        missing = [n for n in ("suite", "sql", "counter_example") if not entry.get(n)]
        if missing:
            raise AllowanceError(f"statement {number} of {path} lacks {', '.join(missing)}")
        states = tuple(entry.get("states", ()))
        found.append(Allowance(entry["suite"], entry["sql"], entry["counter_example"], states))
    return found


@dataclass(slots=True)
class Comparison:
    """The differences between two recordings, and the counts of each source of statements."""

    lost: list[dict[str, Any]] = field(default_factory=list)
    gained: list[dict[str, Any]] = field(default_factory=list)
    changed: list[dict[str, Any]] = field(default_factory=list)
    reasons_changed: list[dict[str, Any]] = field(default_factory=list)
    missing: list[dict[str, Any]] = field(default_factory=list)
    sources: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def unexplained(self) -> list[dict[str, Any]]:
        """The losses that no counter-example explains."""
        return [one for one in self.lost if "counter_example" not in one]

    def counts(self) -> dict[str, int | float]:
        """Flat figures over all sources."""
        sums: Counter[str] = Counter()
        for counted in self.sources.values():
            sums.update(counted)
        found: dict[str, int | float] = {
            "lost": len(self.lost),
            "lost_unexplained": len(self.unexplained),
            "gained": len(self.gained),
            "changed": len(self.changed),
            "reasons_changed": len(self.reasons_changed),
            "missing": len(self.missing),
            "new": sums["new"],
            "statements": sums["statements"],
            "answered_before": sums["answered_before"],
            "answered_now": sums["answered_now"],
        }
        for when in ("before", "now"):
            answered = sums[f"answered_{when}"]
            found[f"share_{when}"] = answered / sums["statements"] if sums["statements"] else 0.0
        return found


def compare(before: Recording, now: Recording, allowed: Iterable[Allowance] = ()) -> Comparison:
    """Compares the statements of the base tree; statements of today's tree alone count as new.

    A statement that today's recording lacks is missing, and lost if it was answered before.
    """
    found, entries = Comparison(), list(allowed)
    base = _keyed(one for one in now if not one["own"])
    for key, one in _keyed(before).items():
        counts = found.sources.setdefault(one["source"], Counter())
        other = base.get(key)
        counts["statements"] += 1
        counts[f"before: {one['by']}"] += 1
        counts["answered_before"] += answered(one)
        if other is None:
            other = {**one, "by": "missing", "code": "", "spark": False}
            found.missing.append(_difference(one, other))
        counts[f"now: {other['by']}"] += 1
        counts["answered_now"] += answered(other)
        _sort(found, counts, one, other)
    for lost in found.lost:
        entry = next((each for each in entries if each.covers(lost)), None)
        if entry is not None:
            lost["counter_example"] = entry.counter_example
    known = {key[:-1] for key in _keyed(before)}
    for key, one in _keyed(one for one in now if one["own"]).items():
        if key[:-1] in known:
            continue  # an unchanged line of a suite that has changed
        counts = found.sources.setdefault(one["source"], Counter())
        counts["new"] += 1
        counts["new_answered"] += answered(one)
    return found


def answered(one: Mapping[str, Any]) -> bool:
    """Decides whether a cube, an index, metadata or the process answers the statement."""
    return one["by"] in _ANSWERS


def words_of(one: Mapping[str, Any]) -> str:
    """Writes an outcome in words: `rows cubes_none`, `cube by spark`, `plain may_raise`."""
    return " ".join(filter(None, (one["by"], one["code"], "by spark" if one["spark"] else "")))


def _sort(
    found: Comparison, counts: Counter[str], one: Mapping[str, Any], other: Mapping[str, Any]
) -> None:
    difference = _difference(one, other)
    left_process = not one["spark"] and other["by"] == "rows" and other["spark"]
    if answered(one) and (not answered(other) or left_process):
        found.lost.append(difference)
        counts["lost"] += 1
    elif answered(other) and not answered(one):
        found.gained.append(difference)
        counts["gained"] += 1
    elif (one["by"], one["spark"]) != (other["by"], other["spark"]):
        found.changed.append(difference)
        counts["changed"] += 1
    elif one["code"] != other["code"]:
        found.reasons_changed.append(difference)


def _difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    place = {name: one[name] for name in ("source", "suite", "state", "statement")}
    return place | {"before": words_of(one), "after": words_of(other), "reason": other["code"]}


def _keyed(recording: Iterable[Mapping[str, Any]]) -> dict[Key, Mapping[str, Any]]:
    """Indexes outcomes by source, suite, state and text; a text that appears twice has a number."""
    found: dict[Key, Mapping[str, Any]] = {}
    times: Counter[tuple[str, str, str, str]] = Counter()
    for one in recording:
        place = (one["source"], one["suite"], one["state"], one["statement"])
        found[*place, times[place]] = one
        times[place] += 1
    return found


def _words(sql: str) -> str:
    return " ".join(sql.split())
