"""Texts that tables, registries and folders keep: properties, definitions, settings.

A property that can't be read is one with a problem, never an error; a definition and a file of
settings are refused by the errors that their callers catch.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from accelerator.artifacts.relate import declaration as relate
from accelerator.artifacts.relate.declaration import Field, Join, RelateColumn, RelateKeyColumn
from accelerator.common.config.config import Config
from accelerator.errors import ConfigError
from accelerator.query.statements import constraint as constraints
from accelerator.query.statements.constraint import Constraint
from accelerator.services.clustering.order import PROPERTY, Order, OrderKey
from accelerator.services.clustering.ranks import Ranking
from cubes.definition import from_dict, to_dict
from cubes.sql.build import merge_select, missing_select, segments_select, stored_schema
from fuzz.bytes.kinds import Format, Input, Step, WrongError
from rewrite.facts import At, Facts, TableFacts
from rewrite.ir.expr import Call, Column, Literal
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Renderer
from tests.cubes.star import Star, cube

_SQL = (
    "SELECT f.g, d.name, date_trunc('MONTH', ts) m, CASE WHEN c > 1.50 THEN 'a' END z,"
    " count(*) n, sum(c) s, avg(x) FILTER (WHERE dt >= DATE '2020-01-31') a,"
    " approx_percentile(v, 0.5) p FROM f LEFT JOIN d ON f.k = d.k"
    " WHERE ts < '2020-02-01 00:00:00Z' AND i IN (1, 2) AND g LIKE 'x%' GROUP BY 1, 2, 3, 4"
)


def _text(value: str) -> Input:
    return Input(value.encode())


def _relates() -> Sequence[Input]:
    step = Join(("lake", "d", "a"), "uuid-a", (RelateKeyColumn(0, Field(1, "k"), Field(2, "a k")),))
    more = (
        RelateKeyColumn(1, Field(3, "ok"), Field(1, "k")),
        RelateKeyColumn(1, Field(4, "p"), Field(5, "q")),
    )
    path = (step, Join(("lake", "d", "o"), "uuid-o", more))
    price = Column(1, 7, "price", "int")
    total = Call("+", (price, Literal("5", "int")), "int")
    columns = (
        RelateColumn("land", -7, path, Field(6, "land")),
        RelateColumn("total", -8, path, relate.NO_FIELD, expression=total),
    )
    return [_text(relate.to_property(one)) for one in columns]


def _relate_steps(given: Input) -> Iterable[Step]:
    yield partial(_relate, given.data.decode(errors="replace"))


def _relate(text: str) -> Any:
    """As a statement takes it: its steps, its columns, and its expression as SQL."""
    found = relate.from_property("c", text)
    if found.problem:
        return None
    if found.id >= 0 or not found.path:
        raise WrongError("a relate column that can't be")
    told = repr((found.related, found.columns))
    if found.expression is None:
        return told
    try:
        sql = Renderer("spark", lambda one: f"c{one.field_id}").text(found.expression)
    except (DeclinedError, ValueError):
        return told
    return told + sql


def _constraint_samples() -> Sequence[Input]:
    fact, there = Star.tables["f"], Star.tables["d"]
    own = (fact.columns[0],)
    keys = (
        (Constraint("pk", "primary_key", ("k",)), None, ()),
        (Constraint("fk", "foreign_key", ("k",), ("d",), ("k",), rely=True), there, own),
    )
    return [
        _text(constraints.to_property(one, own, there_, partners)) for one, there_, partners in keys
    ]


def _constraint_steps(given: Input) -> Iterable[Step]:
    yield partial(_constraint, given.data.decode(errors="replace"))


class _Pin(Facts):
    """The star's tables."""

    def table(self, name: tuple[str, ...], at: At) -> TableFacts | None:
        del at
        return Star.tables.get(name[-1]) if name else None


def _constraint(text: str) -> Any:
    found = constraints.from_property("k", text, Star.tables["f"], _Pin())
    if found.kind == "unknown":
        return None
    return found.definition() + found.problem + repr(found)


@cache
def _order() -> tuple[Order, tuple[Ranking, ...]]:
    keys = (OrderKey(1, "a", "bigint"), OrderKey(2, "b", "string"), OrderKey(3, "c", "double"))
    values = (
        pa.array(range(500), pa.int64()),
        pa.array([f"name {n}" for n in range(500)]),
        pa.array([n / 3 for n in range(500)], pa.float64()),
    )
    ranks = tuple(Ranking.of(one, key.ranked_as) for one, key in zip(values, keys, strict=True))
    return Order("uuid", "hilbert", keys), ranks


def _orders() -> Sequence[Input]:
    order, ranks = _order()
    return [_text(order.to_property(ranks))]


def _order_steps(given: Input) -> Iterable[Step]:
    yield partial(_ranked, given.data.decode(errors="replace"))


def _ranked(text: str) -> Any:
    """Bounds are taken, and rows ranked by them."""
    order, _ = _order()
    found = order.rankings({PROPERTY: text})
    if not found:
        return None
    rows = (
        pa.array([None, -5, 3, 499, 10**12], pa.int64()),
        pa.array([None, "", "name 3", "zz", "name"]),
        pa.array([None, float("nan"), 0.5, -1.0, float("inf")], pa.float64()),
    )
    told = []
    for one, values in zip(found, rows, strict=True):
        ranks = one.ranks(values, 16)
        if ranks.dtype != np.uint64 or len(ranks) != len(values) or ranks.max() >= 1 << 16:
            raise WrongError(f"ranks that can't be: {ranks}")
        told.append(ranks.tolist())
    return told


def _definitions() -> Sequence[Input]:
    return [Input(b"", json.loads(json.dumps(to_dict(cube(_SQL)))))]


def _definition_steps(given: Input) -> Iterable[Step]:
    yield partial(_definition, given.facts)


def _definition(facts: Any) -> Any:
    """As the registry's reader takes it; what is read can be written as SQL, or declines."""
    if not isinstance(facts, dict):
        raise ValueError("the registry makes an object of it")
    found = from_dict(facts)
    if found != from_dict(json.loads(json.dumps(to_dict(found)))):
        raise WrongError("what is read isn't what is written")
    sources = [f"t{at}" for at in range(len(found.tables))]
    try:
        texts = (
            segments_select(found, sources),
            missing_select(found, found.edges, sources),
            merge_select(found, "acc_cells", 7),
            stored_schema(found, {}),
        )
    except DeclinedError:
        return "declined"
    return repr(texts)


_TOML = """
session_time_zone = "UTC"
duckdb_threads = 2
duckdb_memory = "1GB"
"""


def _toml_samples() -> Sequence[Input]:
    return [_text(_TOML), _text("guard_rows_max = 5\nenabled = true\n")]


@cache
def _warehouse() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz-bytes"))


def _toml_steps(given: Input) -> Iterable[Step]:
    yield partial(_toml, given.data)


def _toml(data: bytes) -> Any:
    """As a warehouse's own file is read."""
    (_warehouse() / "accelerator.toml").write_bytes(data)
    found = Config.load(None, {}, warehouse=str(_warehouse()))
    return repr(found)


FORMATS = (
    Format("relate property", _relates, _relate_steps, (), text=True),
    Format("constraint property", _constraint_samples, _constraint_steps, (), text=True),
    Format("clustering property", _orders, _order_steps, (), text=True),
    Format("cube definition", _definitions, _definition_steps, (ValueError,)),
    Format("settings of a warehouse", _toml_samples, _toml_steps, (ConfigError,)),
)
