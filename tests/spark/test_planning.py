"""Which files may match, against Iceberg's own planning and against the rows themselves.

Strategy: tables whose partitionings change from commit to commit, with and without statistics of
columns, hold NULL, NaN, values before 1970 and long texts; random predicates are judged by us, by
`planFiles` of Iceberg's Java library, and by Spark over every row. Invariants: a file that holds a
match is kept, and a file that Iceberg leaves out isn't kept unless it holds one. (Iceberg holds no
NaN to be above a number, as Spark does.) What is said of all rows of a file holds for them.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from accelerator.iceberg.pruning import predicates as pruning_predicates
from accelerator.iceberg.pruning.predicates import judge
from rewrite.ir.expr import Call, Column, Expr, Literal

pytestmark = pytest.mark.spark
LIVE = True

TYPES = {
    "a": "int",
    "b": "bigint",
    "d": "date",
    "c": "decimal(10,2)",
    "t": "timestamp",
    "n": "timestamp_ntz",
    "s": "string",
    "f": "double",
    "o": "boolean",
}
COLUMNS = ", ".join(f"{name} {type_}" for name, type_ in TYPES.items())
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_JSON = {"=": "eq", "<>": "not-eq", "<": "lt", "<=": "lt-eq", ">": "gt", ">=": "gt-eq"}


@dataclass(frozen=True)
class Constant:
    """A constant as Spark, Iceberg's JSON and our expressions write it."""

    sql: str
    json: Any
    literal: Literal


@dataclass(frozen=True)
class Predicate:
    """One predicate, three times."""

    sql: str
    json: Any
    expr: Expr


def _value(r: random.Random, type_: str) -> Any:
    match type_:
        case "int" | "bigint":
            return r.choice([r.randint(-30, 30), r.randint(-5, 5), 0])
        case "date":
            return date(1970, 1, 1) + timedelta(days=r.choice([r.randint(-800, 800), 0, -1, 31]))
        case "decimal(10,2)":
            return r.randint(-3000, 3000)
        case "timestamp" | "timestamp_ntz":
            seconds = r.choice([r.randint(-9_000_000, 9_000_000), r.randint(-9000, 9000), 0, -3600])
            return _EPOCH + timedelta(seconds=seconds)
        case "string":
            return r.choice(["", "x", "xy", "xyz1", "xyz2", "é", "éé", "ééé", "y" * 20, "z"])
        case "double":
            return r.choice([-1.5, 0.0, 2.25, 7.0])
    return r.random() < 0.5


def _constant(value: Any, type_: str) -> Constant:
    match type_:
        case "date":
            text = value.isoformat()
            return Constant(f"DATE '{text}'", text, Literal(text, "date"))
        case "decimal(10,2)":
            text = f"{'-' if value < 0 else ''}{abs(value) // 100}.{abs(value) % 100:02}"
            return Constant(f"{text}BD", text, Literal(text, "decimal(10,2)"))
        case "timestamp" | "timestamp_ntz":
            text = value.strftime("%Y-%m-%dT%H:%M:%S")
            micros = int((value - _EPOCH).total_seconds()) * 1_000_000
            zone = "+00:00" if type_ == "timestamp" else ""
            kind = "TIMESTAMP" if type_ == "timestamp" else "TIMESTAMP_NTZ"
            return Constant(f"{kind} '{text}'", text + zone, Literal(str(micros), type_))
        case "string":
            return Constant(f"'{value}'", value, Literal(value, "string"))
        case "double":
            return Constant(f"{value}D", value, Literal(str(value), "double"))
        case "boolean":
            return Constant(str(value), value, Literal(str(value).lower(), "boolean"))
    return Constant(str(value), value, Literal(str(value), "int"))


def _simple(r: random.Random, name: str) -> Predicate:
    type_ = TYPES[name]
    column = Column(0, list(TYPES).index(name) + 1, name, type_)
    kind = r.choice(["compare", "compare", "compare", "in", "in", "null", "like", "not in"])
    if kind == "null":
        found = Predicate(
            f"{name} IS NULL",
            {"type": "is-null", "term": name},
            Call("is_null", (column,), "boolean"),
        )
        return found if r.random() < 0.5 else _not(found)
    if kind == "like" and type_ == "string":
        start = r.choice(["x", "xy", "xyz", "é", "yyyy", "q"])
        found = Predicate(
            f"{name} LIKE '{start}%'",
            {"type": "starts-with", "term": name, "value": start},
            Call("like", (column, Literal(f"{start}%", "string")), "boolean"),
        )
        return found if r.random() < 0.7 else _not(found)
    if kind in ("in", "not in"):
        many = r.choice([2, 3, 150]) if type_ in ("int", "string", "decimal(10,2)") else 2
        values = [_constant(_value(r, type_), type_) for _ in range(many)]
        found = Predicate(
            f"{name} IN ({', '.join(one.sql for one in values)})",
            {"type": "in", "term": name, "values": [one.json for one in values]},
            Call("in", (column, *(one.literal for one in values)), "boolean"),
        )
        return found if kind == "in" else _not(found)
    op, value = r.choice(list(_JSON)), _constant(_value(r, type_), type_)
    return Predicate(
        f"{name} {op} {value.sql}",
        {"type": _JSON[op], "term": name, "value": value.json},
        Call(op, (column, value.literal), "boolean"),
    )


def _not(one: Predicate) -> Predicate:
    return Predicate(
        f"NOT ({one.sql})", {"type": "not", "child": one.json}, Call("not", (one.expr,), "boolean")
    )


def _predicate(r: random.Random, depth: int = 2) -> Predicate:
    if depth == 2 and r.random() < 0.1:
        return _simple(r, "f")  # alone: NaN may be kept for it
    if depth == 0 or r.random() < 0.5:
        return _simple(r, r.choice([name for name in TYPES if name != "f"]))
    left, right = _predicate(r, depth - 1), _predicate(r, depth - 1)
    if "f " in f"{left.sql} {right.sql}":
        return left
    op = r.choice(["and", "or"])
    found = Predicate(
        f"({left.sql}) {op} ({right.sql})",
        {"type": op, "left": left.json, "right": right.json},
        Call(op, (left.expr, right.expr), "boolean"),
    )
    return found if r.random() < 0.8 else _not(found)


def _rows(r: random.Random) -> str:
    """A few rows that are near each other, or all NULL in some columns."""
    nulls = {name for name in TYPES if r.random() < 0.2}
    base = {name: _value(r, type_) for name, type_ in TYPES.items()}
    rows = []
    for _ in range(r.randint(1, 3)):
        texts = []
        for name, type_ in TYPES.items():
            value = base[name] if r.random() < 0.7 else _value(r, type_)
            text = _constant(value, type_).sql
            if name == "f" and r.random() < 0.2:
                text = "double('NaN')"
            gone = name in nulls or r.random() < 0.1
            texts.append(f"CAST(NULL AS {type_})" if gone else f"CAST({text} AS {type_})")
        rows.append(f"({', '.join(texts)})")
    return ", ".join(rows)


def _instants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants of instants are microseconds here; the binder has none yet."""
    plain = pruning_predicates._value

    def value(literal: Literal, type_: str) -> Any:
        instant = literal.type == type_ and type_ in ("timestamp", "timestamp_ntz")
        return int(literal.value) if instant else plain(literal, type_)

    monkeypatch.setattr(pruning_predicates, "_value", value)


@pytest.mark.long
@pytest.mark.parametrize(
    ("version", "metrics", "specs"),
    [
        (2, "none", ["bucket(4, a)", "truncate(2, s)", "days(t)", "c"]),
        pytest.param(
            *(1, "counts", ["truncate(10, a)", "months(d)", "bucket(3, s)", "hours(n)", "o"]),
            marks=pytest.mark.slow,
        ),
        (2, "full", ["years(t)", "bucket(5, c)", "truncate(7, b)", "d", "bucket(4, d)"]),
        pytest.param(
            *(
                2,
                "truncate(2)",
                ["truncate(50, c)", "bucket(3, t)", "s", "years(d)", "f", "days(d)"],
            ),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_no_fewer_than_match_and_no_more_than_iceberg(
    spark_warehouse, monkeypatch, version: int, metrics: str, specs: list[str]
) -> None:
    _instants(monkeypatch)
    wh, r = spark_warehouse, random.Random(f"{version}{metrics}!")
    name = f"planned_{version}_{metrics[:4]}"
    wh.sql(
        f"CREATE TABLE lake.d.{name} ({COLUMNS}) USING iceberg TBLPROPERTIES ("
        f"'format-version'='{version}', 'write.metadata.metrics.default'='{metrics}')"
    )
    table = f"lake.d.{name}"
    in_use: list[str] = []
    for spec in ("", *specs):
        if spec:
            wh.sql(f"ALTER TABLE {table} ADD PARTITION FIELD {spec}")
            in_use.append(spec)
        if len(in_use) > 2:
            wh.sql(f"ALTER TABLE {table} DROP PARTITION FIELD {in_use.pop(0)}")
        for _ in range(2):
            wh.sql(f"INSERT INTO {table} VALUES {', '.join(_rows(r) for _ in range(3))}")
    predicates = [_predicate(r) for _ in range(150)]
    truth = _truth(wh, table, predicates)
    statistics = wh.pinned(name).statistics()
    paths = [f.path for f in statistics.source.live(statistics.rows >= 0)]
    assert len(paths) > 15
    left_out = 0
    for predicate, rows in zip(predicates, truth, strict=True):
        verdict = judge([predicate.expr], statistics)
        kept = {p for p, none in zip(paths, verdict.none_true, strict=True) if not none}
        matching = {path for path in paths if True in rows[path]}
        assert matching <= kept, predicate.sql
        assert kept <= _planned(wh, table, predicate) | matching, predicate.sql
        for flags, allowed in (
            (verdict.all_true, {True}),
            (verdict.all_false, {False}),
            (verdict.none_false, {True, None}),
        ):
            for path in (p for p, said in zip(paths, flags, strict=True) if said):
                assert rows[path] <= allowed, (predicate.sql, path)
        left_out += len(paths) - len(kept)
    assert left_out > len(predicates)


def _truth(wh, table: str, predicates: list[Predicate]) -> list[dict[str, set[bool | None]]]:
    """Of each predicate, the values that it has in each file."""
    found: list[dict[str, set[bool | None]]] = []
    for first in range(0, len(predicates), 50):
        part = predicates[first : first + 50]
        items = ", ".join(
            f"collect_set(coalesce(CAST({p.sql} AS STRING), 'null')) AS p{i}"
            for i, p in enumerate(part)
        )
        rows = wh.sql(f"SELECT _file AS path, {items} FROM {table} GROUP BY _file")
        values = {"true": True, "false": False, "null": None}
        found += [
            {row.path: {values[one] for one in row[f"p{i}"]} for row in rows}
            for i in range(len(part))
        ]
    return found


def _planned(wh, table: str, predicate: Predicate) -> set[str]:
    """The files that Iceberg's Java library plans to read."""
    jvm = wh.spark._jvm
    loaded = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
        wh.spark._jsparkSession, table
    )
    parser = jvm.org.apache.iceberg.expressions.ExpressionParser
    expression = parser.fromJson(json.dumps(predicate.json), loaded.schema())
    tasks = loaded.newScan().filter(expression).planFiles()
    try:
        found = tasks.iterator()
        paths = set()
        while found.hasNext():
            paths.add(found.next().file().location())
        return paths
    finally:
        tasks.close()
