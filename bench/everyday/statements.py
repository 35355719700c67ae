"""The 300 statements: 15 kinds of 20, a file of `sql/` for each kind.

A statement is a template, whose literals are drawn anew for each round. Blank lines separate the
statements of a file; the file begins with a comment. A statement runs in the time zone UTC, or in
the zone that the line above it names.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import sqlglot
from sqlglot import exp

from bench import flights
from bench.everyday import requests
from bench.ssb import words

KINDS = (
    *("arithmetic", "conditionals", "texts", "text_parts", "date_arithmetic", "clock_times"),
    *("calendar", "casts", "statistics", "aggregate_expressions", "group_by_all"),
    *("float_groups", "order_by_expressions", "column_lists", "nested_fields"),
)
SQL = Path(__file__).with_name("sql")
UTC = "UTC"
_ZONE = "-- zone: "
_SEED = 51


@dataclass(frozen=True, slots=True)
class Statement:
    """A template of a kind, its number in the kind's file, and the time zone that it runs in."""

    kind: str
    number: int
    template: str
    zone: str = UTC

    @property
    def name(self) -> str:
        """The kind and the number, as figures and details name the statement."""
        return f"{self.kind}/{self.number:02d}"

    def text(self, run: int, rows: int) -> str:
        """Returns the text of a round over so many flights; a round always has the same text."""
        rng = random.Random(f"{_SEED}/{self.name}/{run}")
        return self.template.format(**literals(rng, rows))


def statements() -> list[Statement]:
    """Reads the statements of all kinds, in the order of `KINDS`."""
    return [statement for kind in KINDS for statement in _of_kind(kind)]


def _of_kind(kind: str) -> Iterator[Statement]:
    _, *blocks = (SQL / f"{kind}.sql").read_text(encoding="utf-8").strip().split("\n\n")
    for number, block in enumerate(blocks, 1):
        first, _, rest = block.partition("\n")
        if first.startswith(_ZONE):
            yield Statement(kind, number, rest, first.removeprefix(_ZONE))
        else:
            yield Statement(kind, number, block)


def literals(rng: random.Random, rows: int) -> Mapping[str, str | int | float]:
    """Draws a value for each placeholder; `rows` is the number of flights."""
    moment = requests.FIRST + dt.timedelta(hours=rng.randrange(24, 24 * (requests.DAYS - 2)))
    return {
        **flights.literals(rng, rows),
        "request": rng.randrange(requests.rows_beside(rows)),
        "moment": str(moment),
        "moment_after": str(moment + dt.timedelta(days=1)),
        "log_day": str(moment.date()),
        "level": rng.choice(requests.LEVELS),
        "service": rng.choice(requests.SERVICES),
        "status": rng.choice((204, 301, 404, 429, 500)),
        "country": rng.choice(tuple(requests.PLACES)),
        "place": rng.choice([city for city, *_ in requests.PLACES.values()]),
        "browser": rng.choice(requests.BROWSERS),
        "browser_version": rng.randrange(95, 135),
        "host": requests.host(rng.randrange(requests.HOSTS)),
        "person": rng.choice(requests.FIRST_NAMES).lower(),
        "ms": rng.randrange(40, 2000) / 4,
        "price": f"{rng.randrange(500, 15_000) / 100:.2f}",
        "bytes": rng.randrange(1000, 800_000),
        "year": rng.randrange(1992, 1998),
        "region": rng.choice(tuple(words.REGIONS)),
        "nation": rng.choice(words.NATIONS),
        "city": rng.choice(words.CITIES),
        "segment": rng.choice(words.MKTSEGMENTS),
        "category": rng.choice(words.CATEGORIES),
        "brand": rng.choice(words.BRANDS),
        "color": rng.choice(words.COLORS),
        "mode": rng.choice(words.SHIPMODES),
        "priority": rng.choice(words.PRIORITIES),
        "discount": rng.randrange(0, 9),
        "quantity": rng.randrange(5, 40),
        "key": rng.randrange(1, 300),
        "few": rng.randrange(1, 40),
        "digit": rng.randrange(1, 10),
        "number": f"{rng.randrange(requests.HOSTS):03d}",
        "top": rng.randrange(5, 26),
        "days": rng.randrange(1, 31),
        "hours": rng.randrange(1, 24),
        "minutes": rng.randrange(5, 91),
        "months": rng.randrange(1, 12),
    }


def order_by(text: str) -> tuple[int, ...]:
    """Returns the places of a text's ORDER BY keys in its result; other keys are left out."""
    tree = sqlglot.parse_one(text, dialect="spark")
    assert isinstance(tree, exp.Query)
    order, names = tree.args.get("order"), tree.named_selects
    places = []
    for key in order.expressions if order else ():
        if isinstance(key.this, exp.Literal):
            places.append(int(key.this.this) - 1)
        elif isinstance(key.this, exp.Column) and key.this.name in names:
            places.append(names.index(key.this.name))
    return tuple(places)
