"""Trino's statements over a column, and the same over the column renamed: equal, or both refused.

A translation needs to know a column's kind, which a renaming may hide from it. No Trino is needed:
the two statements ask the same. A translation may refuse the renamed one alone, which is counted.
The session has a zone other than UTC, in which a wrong kind of time shows.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from random import Random

import accelerator
from accelerator.errors import AcceleratorError
from accelerator.query.statements.nodes import Query
from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from fuzz import values
from fuzz.oracle import FAILURES, Answer, raised
from fuzz.schema import Column, Table
from rewrite.client import ClientContext

GENERATOR = "door"
ZONE = "America/New_York"
_WORD = re.compile(r"\bx\b")
_ANY = ("x", "x IS NULL", "coalesce(x, x)", "nullif(x, x)", "CAST(x AS varchar)", "typeof(x)")
_TIMES = (
    *("year(x)", "quarter(x)", "month(x)", "day(x)", "day_of_week(x)", "extract(DAY FROM x)"),
    *("date_trunc('month', x)", "x + INTERVAL '1' DAY", "x - INTERVAL '2' MONTH"),
    *("date_add('day', 3, x)", "date_diff('day', x, x + INTERVAL '1' DAY)", "CAST(x AS date)"),
    *("CAST(x AS timestamp)", "date_format(x, '%Y-%m-%d %H:%i')", "x = CAST(x AS date)"),
)
_HOURS = (
    *("hour(x)", "minute(x)", "second(x)", "extract(HOUR FROM x)", "date_trunc('hour', x)"),
    *("date_trunc('day', x)", "x + INTERVAL '1' HOUR", "date_add('hour', 5, x)", "to_unixtime(x)"),
    "x AT TIME ZONE 'Asia/Tokyo'",
)
_NUMBERS = (
    *("floor(x)", "ceil(x)", "round(x)", "round(x, 1)", "abs(x)", "-x", "sign(x)", "truncate(x)"),
    *("x + 1", "x / 2", "x % 3", "x * 0.1", "x = 0.1", "x > 1.25", "x + REAL '0.1'"),
    *("CAST(x AS bigint)", "CAST(x AS double)", "CAST(x AS decimal(12, 3))", "sqrt(abs(x))"),
    "greatest(x, 2)",
)
_TEXTS = (
    *("length(x)", "upper(x)", "x || 'a'", "substr(x, 1, 2)", "strpos(x, 'a')", "reverse(x)"),
    *("x LIKE 'a%'", "trim(x)", "lpad(x, 3, '-')", "replace(x, 'a', 'b')", "x < 'b'"),
)
_FLAGS = ("NOT x", "x AND true", "if(x, 1, 2)", "CAST(x AS integer)")
_AGGREGATES = ("count(x)", "min(x)", "max(x)", "count(DISTINCT x)", "max_by(x, x)")
_SUMS = ("sum(x)", "avg(x)", "floor(avg(x))", "sum(x) / 2")
_FORMS = (
    "SELECT {op} AS v FROM (SELECT {x} AS c FROM {t}) q",
    "SELECT {op} AS v FROM (SELECT {x} FROM {t}) AS q(c)",
    "SELECT {op} AS v FROM (SELECT 1, {x} FROM {t}) AS q(n, c)",
    "WITH w(c) AS (SELECT {x} FROM {t}) SELECT {op} AS v FROM w",
    "WITH w AS (SELECT {x} AS c FROM {t}) SELECT {op} AS v FROM w",
    "SELECT {op} AS v FROM {t} AS r({all})",
    "SELECT {op} AS v FROM (SELECT * FROM (SELECT {x} AS c FROM {t}) a) b",
    "SELECT {op} AS v FROM (SELECT {x} AS c FROM {t} UNION ALL SELECT {x} FROM {t} WHERE 1 = 0) u",
    "WITH a(c) AS (SELECT {x} FROM {t}), b(d) AS (SELECT c FROM a) SELECT {opd} AS v FROM b",
    "SELECT v FROM (SELECT {op} AS v FROM (SELECT {x} AS c FROM {t}) q) z",
)
"""The column is called `c` in them, or `d` in `opd`; `all` are names of all the columns."""


@dataclass(frozen=True)
class Pair:
    """A statement over a column, and the same over the column renamed."""

    named: str
    renamed: str


@dataclass
class Door:
    """Asks pairs in a session of its own over the same Spark and store."""

    acc: Accelerator
    renamed_refused: int = 0
    _session: Accelerator | None = field(default=None, repr=False)

    def close(self) -> None:
        """Ends its session."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def check(self, pair: Pair) -> str:
        """Describes how the answers differ; empty if they are equal or the door refuses both."""
        mine, other = self._answer(pair.named), self._answer(pair.renamed)
        for sql, answer in ((pair.named, mine), (pair.renamed, other)):
            if answer.rows is None and answer.condition is None:
                return f"the door raised {answer.error}, which has no type\n{sql}"
        if mine.rows is not None and other.rows is not None:
            found = differ(other.rows, mine.rows)
        elif mine.rows is not None and other.refused:
            self.renamed_refused += 1
            return ""
        elif mine.rows is None and other.rows is None:
            return ""
        else:
            found = [f"by name: {mine.error or 'rows'}, renamed: {other.error or 'rows'}"]
        return "; ".join(found) and "\n".join(["; ".join(found), pair.named, pair.renamed])

    def _answer(self, sql: str) -> Answer:
        session = self._opened()
        client = ClientContext(
            catalog=session.services.context.catalog(),
            schema="fuzz",
            user="ann",
            time_zone=ZONE,
            version="476",
            now=dt.datetime(2020, 2, 28, 12, tzinfo=dt.UTC),
        )
        try:
            statement = session.queries.read(sql, "trino", client)
        except AcceleratorError as error:
            return Answer(None, f"{type(error).__name__}: {error}", "", refused=True)
        except FAILURES as error:
            return raised(error)
        try:
            assert isinstance(statement, Query)
            return Answer(session.queries.answer(statement).arrow())
        except FAILURES as error:
            return raised(error)

    def _opened(self) -> Accelerator:
        if self._session is None:
            spark = self.acc.spark.newSession()
            for name, value in self.acc.services.config.spark_conf.items():
                if spark.conf.isModifiable(name):
                    spark.conf.set(name, value)
            spark.conf.set("spark.sql.session.timeZone", ZONE)
            self._session = accelerator.attach(spark, store=self.acc.config.store)
        return self._session


def random_pair(r: Random, table: Table) -> Pair:
    """An operation on a random column, whose kind allows it mostly."""
    column = r.choice(table.columns)
    operation = r.choice(_operations(column))
    names = ", ".join("c" if one is column else f"c{n}" for n, one in enumerate(table.columns))
    named = f"SELECT {_on(operation, column.name)} AS v FROM {table.name}"
    renamed = r.choice(_FORMS).format(
        op=_on(operation, "c"),
        opd=_on(operation, "d"),
        x=column.name,
        t=table.name,
        all=names,
    )
    return Pair(named, renamed)


def _operations(column: Column) -> tuple[str, ...]:
    type_, found = column.type, (*_ANY, *_AGGREGATES)
    if type_ == "DATE":
        return (*found, *_TIMES * 2)
    if type_ in values.TIMES:
        return (*found, *_TIMES, *_HOURS * 2)
    if values.is_number(type_):
        exact = () if type_ in values.FLOATS else _SUMS
        return (*found, *_NUMBERS * 2, *exact)
    if type_ == "STRING":
        return (*found, *_TEXTS * 2)
    return (*found, *_FLAGS * 2)


def _on(operation: str, column: str) -> str:
    """The operation with the column's name in place of `x`, which is a word of its own in it."""
    parts = operation.split("'")
    parts[::2] = [_WORD.sub(column, part) for part in parts[::2]]  # what is between quotes stays
    return "'".join(parts)
