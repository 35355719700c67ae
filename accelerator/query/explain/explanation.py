"""EXPLAIN and WHY NOT: how a statement is answered, what that rests on, and why not otherwise.

One value has the facts; text, JSON and HTML are three ways to show it. Each reason stands once,
with all that it holds for. The JSON's format is `docs/formats/explain.md`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from sqlglot.errors import SqlglotError

from accelerator.common.records.as_dict import as_dict
from accelerator.common.statement_metrics import Metrics
from accelerator.engines.choice import Estimate
from accelerator.planning.plans import Plan
from accelerator.planning.plans.candidate import Attempt, decoding_line
from accelerator.planning.plans.cover_value import SEGMENT
from accelerator.planning.plans.explain_tree import ExplainStep, counted, size
from accelerator.query.explain.html import as_html
from accelerator.query.explain.suggest_index import SuggestedIndex
from accelerator.query.guards.scan_estimate import ScanEstimate
from rewrite.client import SPARK
from rewrite.parse.bounds import tokens_of
from rewrite.reason import Declined
from rewrite.text.printable import one_line, shortened

FORMAT = 1
_HEAD, _LINE, _LEFT = 60, 160, 64
"""Characters of the statement, of any text in the tree, and of what notes stand beside."""
_LABEL, _NAMES, _PHRASE = 11, 12, 300
_ENGINES = {"duckdb": "DuckDB in process", "spark": "Spark"}
_OF_FLOATS = "float_order"
_OF_COVERAGE = frozenset(
    {"cover_unavailable", "files_changed", "schema_changed", "dimension_changed"}
)
"""What a build mends."""
OF_DEFINITION = frozenset(
    {
        *("aggregate_not_in_cube", "column_not_in_cube", "cubes_none", "fact_not_in_query"),
        *("join_differs", "join_not_counted", "predicate_not_implied", "table_not_in_cube"),
    }
)
"""What another cube mends."""


class Able(Struct, frozen=True):
    """A candidate that answers too, and what it would read."""

    name: str
    bytes: int
    files_raw: int

    def text(self) -> str:
        """E.g. `sales (2.9 MB, 1 file raw)`."""
        raw = f", {counted(self.files_raw, 'file')} raw" if self.files_raw else ""
        return f"{self.name} ({size(self.bytes)}{raw})"


class Unable(Struct, frozen=True):
    """Candidates that don't answer for one reason; without names it holds for all."""

    names: tuple[str, ...]
    code: str
    phrase: str
    reason: str
    nearest: bool = False
    ddl: str | None = None
    cost: str | None = None

    def text(self) -> str:
        """E.g. `sales, orders: no sum(price) stored [aggregate_not_in_cube]`."""
        names = ", ".join(self.names[:_NAMES])
        if len(self.names) > _NAMES:
            names += f" and {len(self.names) - _NAMES:,} more"
        phrase = shortened(self.phrase, _PHRASE)
        return f"{names}{': ' if names else ''}{phrase} [{self.code}]"

    def row(self) -> dict[str, Any]:
        """As WHY NOT tells it."""
        return {
            "cube": ", ".join(self.names) or None,
            "code": self.code,
            "reason": self.reason,
            "nearest": self.nearest,
            "ddl": self.ddl,
            "cost": self.cost,
        }


class Suggestion(Struct, frozen=True):
    """A statement by which this one would be answered from a cube.

    Its build reads `reads` bytes once. Then about `then` bytes answer, where that is known.
    """

    ddl: str
    reads: int | None = None
    then: int | None = None
    lacking: str = ""
    """What has to be installed before it can be built; empty if nothing has to be."""

    def cost(self, now: int | None) -> str | None:
        """In words; `now` are the bytes that are read without it."""
        if self.reads is None:
            return None
        told = f"its build reads {size(self.reads)} once"
        if self.then is None or now is None:
            return f"{told}; EXPLAIN CREATE CUBE tells how many bytes answer then"
        return f"{told}; then about {size(self.then)} answer instead of {size(now)}"


class Ran(Struct, frozen=True):
    """What EXPLAIN ANALYZE has seen: the answer's figures, and milliseconds by stage."""

    rows: int
    metrics: Metrics
    stages: tuple[tuple[str, float], ...]

    def lines(self) -> list[str]:
        """For people."""
        found = self.metrics
        engine = _ENGINES.get(found.engine, found.engine)
        read = [counted(found.files_read, "file"), size(found.bytes_read)]
        if found.row_groups_read:
            read.append(counted(found.row_groups_read, "row group"))
        whole = found.planning_ms + found.execution_ms
        lines = [f"{counted(self.rows, 'row')} in {whole:.1f} ms by {engine}"]
        if found.rewritten:
            lines.append(f"{', '.join(read)} read")
        if found.fallback:
            lines.append(f"plain, because {found.fallback}")
        stages = ", ".join(f"{name} {ms:.1f}" for name, ms in self.stages)
        known = " (the plan was known)" if found.plan_cached else ""
        return [*lines, f"ms: {stages}{known}"]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        stages = {name: round(ms, 3) for name, ms in self.stages}
        return {"rows": self.rows, "metrics": self.metrics.to_dict(), "stages_ms": stages}


class Explanation(Struct, frozen=True):
    """The facts of one statement's plan. `plain` is what plain Spark would read at most."""

    sql: str
    plan: Plan
    plain: ScanEstimate | None = None
    estimate: Estimate | None = None
    suggested: Suggestion | None = None
    ran: Ran | None = None
    spark_is_set: bool = False
    index: SuggestedIndex | None = None
    beside: tuple[tuple[str, Declined], ...] = ()
    """Tables of which PyIceberg reads local files, not DuckDB, with the reason."""

    @property
    def bytes(self) -> int | None:
        """Bytes of files that are read, as far as that is known before it runs."""
        if self.plan.refused() is not None:
            return None
        return bytes_read(self.plan)

    def able(self) -> tuple[Able, ...]:
        """Who answers too."""
        found = dict[str, Able]()
        for leaf in self.plan.leaves():
            for one in leaf.tried:
                if one.cube not in leaf.used() and one.declined is None:
                    found.setdefault(one.cube, Able(one.cube, one.bytes, one.uncovered))
        return tuple(found.values())

    def unable(self) -> tuple[Unable, ...]:
        """Who doesn't answer, by reason; the one that came nearest stands first."""
        groups: dict[tuple[str, str], list[str]] = {}
        phrases: dict[tuple[str, str], str] = {}
        built: dict[tuple[str, str], str] = {}
        for name, is_cube, declined, phrase, reason in self._declined():
            key = declined.code, reason
            names = groups.setdefault(key, [])
            phrases[key] = phrase
            names += [name] if name and name not in names else []
            if is_cube and declined.code in _OF_COVERAGE:
                built.setdefault(key, f"BUILD CUBE {name}")
        reasons = [(one.code, one.sentence) for one in self._unaided()]
        wanted = next((key for key in reasons if key in groups), None)
        if self.suggested is None and (wanted is None or wanted[0] in OF_DEFINITION):
            # No cube is proposed that would answer: another reason stands in the way.
            wanted = next((key for key in groups if key[0] == _OF_FLOATS), wanted)
        found = []
        for key, names in groups.items():
            near = key == wanted
            ddl, cost = built.get(key), None
            if near and ddl is None and self.suggested is not None:
                ddl, cost = self.suggested.ddl, self.suggested.cost(self._now())
                if self.suggested.lacking:
                    ddl, cost = None, self.suggested.lacking
            found.append(Unable(tuple(names), key[0], phrases[key], key[1], near, ddl, cost))
        return tuple(sorted(found, key=lambda one: not one.nearest))

    def _now(self) -> int | None:
        """Bytes that are read today."""
        if self.bytes is not None:
            return self.bytes
        return None if self.plain is None else self.plain.bytes

    def _unaided(self) -> list[Declined]:
        """Why nothing but rows answers, of the statement or of its parts."""
        plans = (self.plan, *self.plan.leaves())
        return [one for plan in plans if (one := plan.unaided()) is not None]

    def _unused_attempts(self) -> Iterator[tuple[Plan, Attempt]]:
        """What was tried and isn't used, beside the part for which it was."""
        plan = self.plan
        yield from ((plan, one) for one in plan.tried if one.cube not in plan.used())
        for leaf in plan.leaves():
            if leaf is not plan:
                yield from ((leaf, one) for one in leaf.tried if one.cube not in leaf.used())

    def _declined(self) -> Iterator[tuple[str, bool, Declined, str, str]]:
        """Name, whether it's a cube's, and why it isn't used, in short and whole."""
        tried = [one for _, one in self._unused_attempts()]
        told = {one.declined for one in tried}
        for refused in dict.fromkeys(one for one in self._unaided() if one not in told):
            yield "", False, refused, refused.phrase, refused.sentence
        seen = set()
        for one in tried:
            if one.declined is not None:
                seen.add(one.cube)
                declined = one.declined
                yield one.cube, one.is_cube, declined, declined.phrase, declined.sentence
        for name, passed in self.plan.passed():
            if name not in seen:
                of = Declined(passed.code, passed.detail)
                yield name, passed.source == SEGMENT, of, passed.phrase(), passed.sentence()

    def why_not(self) -> list[dict[str, Any]]:
        """A row for each reason; see `Unable.row`."""
        rows = [one.row() for one in self.unable()]
        for one in self.able():
            would = f"It would read {one.bytes:,}, {one.files_raw} files raw."
            reason = f"{Declined('dearer').sentence} {would}"
            found = Unable((one.name,), "dearer", "", reason)
            rows.append(found.row())
        self._add_index(rows)
        if not rows:
            engine = _ENGINES.get(self.plan.engine, self.plan.engine)
            answered = Declined("answered", f"By {engine}.")
            rows.append(Unable((), answered.code, answered.phrase, answered.sentence).row())
        return rows

    def _add_index(self, rows: list[dict[str, Any]]) -> None:
        """The index that would help: at the reason that it mends, else as a row of its own."""
        index = self.index
        if index is None:
            return
        for row in rows:
            if row["code"] == _OF_FLOATS and index.kind == "BOUNDS":
                row["ddl"] = row["ddl"] or index.ddl
                return
        lacks = Declined("index_none", index.detail)
        found = Unable((), lacks.code, lacks.phrase, lacks.sentence, ddl=index.ddl)
        rows.append(found.row())

    def text(self) -> str:
        """For people, in a terminal."""
        lines = _tree(self._root())
        for label, told in self._labelled():
            space = " " * _LABEL
            for number, line in enumerate(told):
                lines.append(f"{space if number else label.ljust(_LABEL)}{one_line(line)}")
        return "\n".join(lines)

    def _root(self) -> ExplainStep:
        return ExplainStep(head(self.sql), self._cost(), self.plan.steps())

    def _cost(self) -> str:
        """E.g. `204 kB instead of 12.9 MB · DuckDB in process`."""
        engine = _ENGINES.get(self.plan.engine, self.plan.engine)
        plan, plain, now = self.plan, self.plain, self.bytes
        refused = plan.refused()
        if refused is not None and refused.code == "not_a_query":
            return "no query"
        if now is None:
            read = "" if plain is None else f"up to {size(plain.bytes)} · "
            return f"{read}plain {engine}"
        instead = "" if plain is None else f" instead of {size(plain.bytes)}"
        if plain is not None and now == plain.bytes:
            instead = ", as plain Spark"
        elif plain is not None and now > plain.bytes:  # by columns, or by what nobody leaves out
            instead = f", plain Spark {size(plain.bytes)}"
        if self.plan.inner_selects():  # of the rest nobody knows
            return f"{size(now)} and what {engine} reads of the rest{instead}"
        return f"{size(now)}{instead} · {engine}"

    def _labelled(self) -> Iterator[tuple[str, list[str]]]:
        """What stands below the tree, by label."""
        plan, decoding = self.plan, self.plan.decoding()
        if plan.refused() is None and (declined := plan.not_in_process()) is not None:
            yield "by Spark", [f"{declined.phrase} [{declined.code}]"]
        elif plan.refused() is None and plan.engine == "spark" and self.spark_is_set:
            yield "by Spark", ["the setting `engine` is spark"]
        yield (
            "PyIceberg",
            [f"reads {table}: {why.sentence} [{why.code}]" for table, why in self.beside],
        )
        yield "rests on", plan.rests_on()
        if decoding is not None and decoding.manifests:
            yield "manifests", [decoding_line(decoding)]
        if self.estimate is not None:
            yield "engines", [self.estimate.line()]
        able, unable = self.able(), self.unable()
        yield "also can", [", ".join(one.text() for one in able)] if able else []
        yield "because", [one.text() for one in unable if not one.names]
        yield "cannot", [one.text() for one in unable if one.names]
        mends = [one for one in unable if one.ddl or one.cost][:1]
        yield "suggested", [line for one in mends for line in (one.ddl, one.cost) if line]
        if self.ran is not None:
            yield "ran", self.ran.lines()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, by `docs/formats/explain.md`."""
        return {
            "format": FORMAT,
            "statement": self.sql,
            **self.plan.to_dict(),
            "bytes_read": self.bytes,
            "plain": None if self.plain is None else as_dict(self.plain),
            "estimate": None if self.estimate is None else as_dict(self.estimate),
            "steps": [one.to_dict() for one in self.plan.steps()],
            "rests_on": self.plan.rests_on(),
            "read_by_pyiceberg": [
                {"table": table, "code": why.code, "reason": why.sentence}
                for table, why in self.beside
            ],
            "also_can": [as_dict(one) for one in self.able()],
            "cannot": [as_dict(one) for one in self.unable()],
            "ran": None if self.ran is None else self.ran.to_dict(),
        }

    def json(self) -> str:
        """One JSON document."""
        return json.dumps(self.to_dict(), indent=2)


class Explained(str):
    """A plan's text, which a notebook shows as HTML."""

    __slots__ = ("explanation", "shown_as")
    explanation: Explanation
    shown_as: str

    def __new__(cls, explanation: Explanation, format: str = "text") -> Explained:
        """As `text` or `json`."""
        made = super().__new__(cls, explanation.json() if format == "json" else explanation.text())
        made.explanation, made.shown_as = explanation, format
        return made

    def _repr_html_(self) -> str | None:
        if self.shown_as != "text":
            return None
        return as_html(str(self), self.explanation.plan.leaves())

    def __reduce__(self) -> Any:
        return str, (str(self),)


def bytes_read(plan: Plan) -> int:
    """Of files, as far as that is known before it runs; 0 of the plain statement."""
    return sum(leaf.figures().bytes_read for leaf in plan.leaves())


def head(sql: str) -> str:
    """The beginning of a statement: what it selects, on one line."""
    text = " ".join(sql.split())
    try:
        tokens = tokens_of(text, SPARK)
    except SqlglotError:
        return shortened(text, _HEAD)
    depth = 0
    for token in tokens:
        kind = token.token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth == 0 and kind == "FROM" and token.start:
            return shortened(text[: token.start].rstrip(), _HEAD)
    return shortened(text, _HEAD)


def _tree(root: ExplainStep) -> list[str]:
    """The lines of a tree, with notes in a column of their own."""
    rows = list(_rows(root, "", ""))
    width = max((len(left) for left, note in rows if note and len(left) <= _LEFT), default=0)
    return [f"{left.ljust(width)}  {note}".rstrip() if note else left for left, note in rows]


def _rows(step: ExplainStep, before: str, below: str) -> Iterator[tuple[str, str]]:
    yield f"{before}{shortened(one_line(step.text), _LINE)}", one_line(step.note)
    for number, one in enumerate(step.below, start=1):
        last = number == len(step.below)
        marks = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _rows(one, below + marks[0], below + marks[1])
