"""Random statements of counts, bounds and group keys over a table, each asked both ways.

How often the manifests answer is counted, so that no test can pass by declining.
"""

from __future__ import annotations

import random

from accelerator.common.statement_metrics import Metrics
from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator

COLUMNS = "a INT, b BIGINT, d DATE, c DECIMAL(10,2), t TIMESTAMP, s STRING, f DOUBLE, o BOOLEAN"
ROWS = (
    "SELECT CAST(id + {first} AS INT), CASE WHEN id % 7 < {nulls} THEN NULL ELSE id - 20 END,"
    " date_add(DATE '2024-02-27', CAST(id % 4 AS INT)), CAST(id / 8 - 3 AS DECIMAL(10,2)),"
    " timestamp_seconds(id * 5000), CASE WHEN id % 5 = 0 THEN NULL ELSE concat('x', id % 9) END,"
    " CASE id % 6 WHEN 0 THEN double('NaN') WHEN 1 THEN NULL WHEN 2 THEN -0.0D ELSE id / 4 END,"
    " id % 3 = 0 FROM range({rows})"
)
_AGGREGATES = (
    *("count(*)", "count(a)", "count(b)", "count(s)", "count(f)", "count(o)", "count(1)"),
    *("min(a)", "max(b)", "min(d)", "max(c)", "min(t)", "max(d)", "min(b) + 1", "max(a) - min(a)"),
    *("count(DISTINCT d)", "max(s)", "min(f)", "sum(a)", "max(o)"),
)
_KEYS = ("d", "o", "s", "year(d)", "b", "c")
_PREDICATES = (
    *("a >= 40", "a < 0", "a BETWEEN 10 AND 90", "a IN (1, 2, 500)", "a <> 7", "b IS NULL"),
    *("b IS NOT NULL", "b > 5", "NOT (b > 5)", "b <= -30 OR a > 60", "d = '2024-02-28'"),
    *("d <> DATE '2024-02-28'", "d > '2024-02-27' AND a < 1000", "c > 2", "c >= 1.25"),
    *("c = 0.125", "s = 'x3'", "s > 'x'", "s < 'x0'", "s IS NULL", "f > 2.5D", "NOT (f > 2.5D)"),
    *("f = 0.0D", "f IS NOT NULL", "1 < a", "a = NULL", "NOT (a IN (3, NULL))", "o", "NOT o"),
    *("a > 3000000000", "b >= 2.5", "d IN ('2024-02-27', '2024-02-29')", "s LIKE 'x%'"),
    *("TRUE", "FALSE OR a > 0", "a = b", "a + 1 > 0", "s >= 'x8' AND s <= 'x8'"),
)


class Asked:
    """A table, statements about it, and how often the manifests spared files."""

    def __init__(self, wh, acc: Accelerator, table: str, seed: int) -> None:
        self.wh, self.acc, self.table = wh, acc, table
        self.random = random.Random(seed)
        self.asked = self.answered = 0

    def statement(self) -> str:
        r = self.random
        chosen = r.sample(_AGGREGATES[:16] if r.random() < 0.8 else _AGGREGATES, r.randint(1, 3))
        items = [f"{text} AS m{i}" for i, text in enumerate(chosen)]
        key = r.choice(_KEYS) if r.random() < 0.4 else None
        where = " AND ".join(r.sample(_PREDICATES, r.choice([0, 1, 1, 1, 2])))
        sql = f"SELECT {', '.join(([f'{key} AS k'] if key else []) + items)} FROM {self.table}"
        sql += f" WHERE {where}" if where else ""
        return sql + (f" GROUP BY {key}" if key else "")

    def ask(self, sql: str) -> Metrics:
        mine = self.acc.query(sql)
        assert differ(mine.arrow(), self.wh.spark.sql(sql).toArrow()) == [], sql
        self.asked += 1
        self.answered += mine.metrics.rewritten
        return mine.metrics

    def some(self, number: int) -> None:
        for _ in range(number):
            self.ask(self.statement())


def append(asked: Asked, first: int, rows: int = 40, nulls: int = 1) -> None:
    text = ROWS.format(first=first, rows=rows, nulls=nulls)
    asked.wh.sql(f"INSERT INTO {asked.table} {text}")
