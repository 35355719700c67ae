"""What must hold between answers: ours and plain Spark's, and ours among themselves.

Names and types are equal, and rows as bags: integers, decimals, texts and times exactly, floats to
a part in 10^9 (NaN equals NaN). What ORDER BY sorts by comes in the same order; rows that tie under
a LIMIT may be others. Estimates are within a seventh. If plain Spark raises, so do we, and the
reverse. Our error is Spark's, with the same condition, or a typed one of ours. Nothing fails inside
if plain Spark answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from accelerator.errors import AcceleratorError
from accelerator.planning.plans import PlainPlan
from accelerator.services.verification.compare import differ, differ_sorted
from accelerator.session.session import Accelerator
from fuzz.select import Select

FAILURES = (
    *(AcceleratorError, PySparkException, Py4JError, pa.ArrowException, ArithmeticError),
    *(AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError),
)
"""What a statement may raise: by us, Spark or Arrow, or by a mistake of ours."""
_ESTIMATE = 1 / 7
_SHOWN = 8
_ASKS = 40
_FAILED = ("planning_failed", "engine_failed", "metadata_unavailable")
"""Codes of failures inside: the answer is plain Spark's, and still there is a mistake of ours."""


@dataclass(frozen=True)
class Answer:
    """The rows, or the error that came instead."""

    rows: pa.Table | None
    error: str = ""
    condition: str | None = ""
    """Spark's condition of the error; "" if it is a typed error of ours, None of any other."""
    refused: bool = False
    """Whether a translation refuses the statement."""

    def __str__(self) -> str:
        if self.rows is None:
            return self.error
        names = ", ".join(f"{f.name} {f.type}" for f in self.rows.schema)
        shown = self.rows.slice(0, _SHOWN)
        rows = [str(tuple(c[i].as_py() for c in shown.columns)) for i in range(shown.num_rows)]
        more = [f"… {self.rows.num_rows} rows"] if self.rows.num_rows > _SHOWN else []
        return "\n".join([f"({names})", *rows, *more])


@dataclass(frozen=True)
class Asked:
    """One statement's outcome; `found` says how the answers differ, if they do.

    `declined` is the code of the reason where it's left to plain Spark.
    """

    rewritten: bool
    found: str = ""
    mine: Answer | None = None
    plain: Answer | None = None
    declined: str = ""

    @property
    def raised(self) -> tuple[bool, ...]:
        """Who has raised, us and plain Spark."""
        return tuple(
            answer is not None and bool(answer.error) for answer in (self.mine, self.plain)
        )


@dataclass(frozen=True)
class Oracle:
    """Asks a session both ways."""

    acc: Accelerator

    def ask(self, made: Select, *, by_spark: bool = False, always: bool = False) -> Asked:
        """Ours and plain Spark's, of what is planned to be rewritten or fails in planning.

        The rest goes to plain Spark as it stands, so it's run only where it's to be `always`.
        `by_spark` asks for our plan run by Spark.
        """
        sql, failed = made.text, ""
        try:
            plan = self.acc.plan(sql)[0]
        except FAILURES as error:
            mine, plain = raised(error), self._plain(sql)
            return Asked(False, _differ(made, mine, plain), mine, plain, "raised")
        rewritten = not isinstance(plan, PlainPlan)
        declined = plan.declined.code if isinstance(plan, PlainPlan) else ""
        if isinstance(plan, PlainPlan) and plan.declined.code in _FAILED:
            failed = plan.declined.sentence
        if not (rewritten or failed or always):
            return Asked(False, declined=declined)
        try:
            if by_spark:
                mine = Answer(self.acc.sql(sql).toArrow())
            else:
                result = self.acc.query(sql)
                rewritten, mine = result.metrics.rewritten, Answer(result.arrow())
                fallback = result.metrics.fallback or ""
                failed = fallback if fallback.startswith(_FAILED) else ""
        except FAILURES as error:
            mine = raised(error)
        plain = self._plain(sql)
        return Asked(rewritten, _differ(made, mine, plain) or failed, mine, plain, declined)

    def partition(self, source: str, where: str) -> str:
        """The sentence of what doesn't hold between counts of a predicate's rows, or nothing.

        NoREC: as many rows pass WHERE as a sum over all rows says. TLP: those that pass it, its
        NOT, and its IS NULL are all rows. Where plain Spark gives the very counts, it's Spark whose
        own choice of files breaks the rule (`plain_pruning`).
        """
        said = [where, f"NOT ({where})", f"({where}) IS NULL"]
        texts = [f"SELECT count(*) AS n FROM {source}"]
        texts += [f"SELECT count(*) AS n FROM {source} WHERE {p}" for p in said]
        texts.append(f"SELECT sum(CASE WHEN {where} THEN 1 ELSE 0 END) AS n FROM {source}")
        counts = []
        for text in texts:
            try:
                counts.append(self.acc.query(text).arrow()["n"][0].as_py())
            except FAILURES as error:
                return f"{text} raised {_said(error)}" if self._plain(text).rows is not None else ""
        found = _broken(counts)
        return found if found and [self._counted(text) for text in texts] != counts else ""

    def _counted(self, sql: str) -> int | None:
        rows = self._plain(sql).rows
        return None if rows is None else rows["n"][0].as_py()

    def command(self, sql: str, *, refused: bool) -> str:
        """Describes the fault if a statement of ours is refused and may not be, or the reverse."""
        try:
            self.acc.query(sql)
        except FAILURES as error:
            answer = raised(error)
            if answer.condition is None:
                return f"a statement of ours raised {answer.error}, which has no type"
            return "" if refused else f"a listing raised {answer.error}"
        return "it isn't refused" if refused else ""

    def minimal(self, made: Select, seen: Asked, *, by_spark: bool = False) -> Select:
        """The statement with all taken away that its difference, `seen`, doesn't need."""
        asks = _ASKS
        while True:
            for less in made.smaller():
                if not asks:
                    return made
                asks -= 1
                asked = self.ask(less, by_spark=by_spark, always=True)
                if asked.found and asked.raised == seen.raised:
                    made = less
                    break
            else:
                return made

    def _plain(self, sql: str) -> Answer:
        try:
            return Answer(self.acc.services.plain_table(sql))
        except FAILURES as error:
            return raised(error)


def _broken(counts: Sequence[int | None]) -> str:
    """What doesn't hold between counts of all rows, of three predicates', and a sum over all."""
    rows, passed, failed, unknown = (count or 0 for count in counts[:4])
    if rows != passed + failed + unknown:
        return f"{rows} rows are {passed} TRUE, {failed} FALSE, {unknown} NULL"
    if passed != (counts[4] or 0):
        return f"{passed} rows pass, {counts[4]} by a sum"
    return ""


def variant(r: Random) -> Random:
    """A source of constants of its own, told by `r`."""
    return Random(r.randrange(2**32))


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]


def raised(error: Exception) -> Answer:
    """The error in place of rows, with its condition."""
    condition: str | None = None
    if isinstance(error, PySparkException):
        condition = error.getCondition() or ""
    elif isinstance(error, AcceleratorError):
        condition = ""
    elif isinstance(error, Py4JError):
        condition = "INTERNAL_ERROR"
    return Answer(None, _said(error), condition)


def _errors_differ(mine: Answer, plain: Answer) -> str:
    """Describes how two errors differ; a typed error of ours equals any of Spark's."""
    if mine.condition is None:
        return f"ours raised {mine.error}, which has no type; Spark raised {plain.error}"
    if mine.condition and plain.condition and mine.condition != plain.condition:
        return f"ours raised {mine.error}, Spark raised {plain.error}"
    return ""


def _differ(made: Select, mine: Answer, plain: Answer) -> str:
    if mine.rows is None or plain.rows is None:
        if mine.rows is None and plain.rows is None:
            return _errors_differ(mine, plain)
        return f"ours raised {mine.error}" if mine.rows is None else f"Spark raised {plain.error}"
    estimates = [n for n, o in enumerate(made.outputs) if o.estimate and made.wrap == "{}"]
    exact = [n for n in range(plain.rows.num_columns) if n not in estimates]
    places = [s.output for s in made.order]
    if made.limit is None or made.total:
        found = differ(mine.rows, plain.rows, compared=exact)
    else:
        found = differ(mine.rows, plain.rows, compared=())
    if places and not found:
        kept = [*exact, *places] if made.limit else places
        found = differ_sorted(_picked(mine.rows, kept), _picked(plain.rows, kept), keys=len(places))
    if not found and (made.limit is None or made.total):
        keys = [n for n in exact if made.wrap == "{}" and made.outputs[n].exact]
        found = _estimates_differ(mine.rows, plain.rows, keys, estimates)
    return "; ".join(found)


def _picked(rows: pa.Table, places: list[int]) -> pa.Table:
    return pa.table([rows.column(n) for n in places], names=[f"c{n}" for n in range(len(places))])


def _estimates_differ(
    mine: pa.Table, plain: pa.Table, exact: list[int], estimates: list[int]
) -> list[str]:
    """Rows are paired by their exact columns, those that tie in any way."""
    both = []
    for table in (mine, plain):
        picked = [table.column(n).to_pylist() for n in (*exact, *estimates)]
        rows = list(zip(*picked, strict=True))
        both.append(sorted(rows, key=lambda row: (repr(row[: len(exact)]), row[len(exact) :])))
    found = []
    for row, other in zip(*both, strict=True):
        for a, b in zip(row[len(exact) :], other[len(exact) :], strict=True):
            if abs(a - b) > max(2, b * _ESTIMATE):
                found.append(f"{row[: len(exact)]}: about {a} for about {b}")
    return found
