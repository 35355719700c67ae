"""Columns that samples are made of, and what indexes on them are asked."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, BinaryIO, cast

import pyarrow as pa

from accelerator.artifacts.sidecars.probe import reads_of
from indexes.domains import to_domain
from indexes.kind import Blob, IndexedColumn, Read
from indexes.kinds import KINDS
from indexes.question import Among, Compare, IsNull, Like, Question, Tokens, Within

WORDS = ("alpha", "Beta", "gamma", "größe", "中文", "delta", "x1", "omega")


@dataclass(frozen=True, slots=True)
class Sampled:
    """A column's values, and what is asked of its indexes."""

    column: IndexedColumn
    values: pa.Array
    questions: tuple[Question, ...]


def numbers(rows: int = 900, distinct: int = 120, step: int = 7_919) -> Sampled:
    """Whole numbers with NULLs, in three row groups."""
    r = Random(rows)
    values = [None if r.random() < 0.1 else r.randrange(distinct) * step for _ in range(rows)]
    third = rows // 3
    asked = (
        IsNull(),
        Among((0, step, 5 * step)),
        Among((1,)),
        Among(tuple(range(0, 60 * step, step))),
        Compare("<", 40 * step),
        Compare(">=", 3),
        Within(10 * step, 60 * step, low_open=True),
    )
    column = IndexedColumn("bigint", (third, third, rows - 2 * third))
    return Sampled(column, pa.array(values, pa.int64()), asked)


def scattered(rows: int = 900, seed: int = 0) -> Sampled:
    """Whole numbers in heaps far apart, so that ranges between them are empty."""
    r = Random(f"{rows}/{seed}")
    values = [r.randrange(40) << 41 | r.getrandbits(12) for _ in range(rows)]
    wide = 40 << 40
    asked = (
        Within(0, wide),
        Within(wide, wide + 1_000),
        Among((values[0], 5)),
        Among(tuple(range(0, wide, wide // 40))),
        Compare("<", -7),
        Compare(">=", wide),
    )
    return Sampled(IndexedColumn("bigint", (rows,)), pa.array(values, pa.int64()), asked)


def names(rows: int = 300, seed: int = 0) -> Sampled:
    """Texts that begin alike and go on by chance."""
    r = Random(f"{rows}/{seed}")
    values = [f"name-{chr(97 + r.randrange(26)) * 3}{r.randrange(20)}" for _ in range(rows)]
    asked = (
        Within(b"name-b", b"name-cc"),
        Compare("<", b"name"),
        Compare(">", b"name-zz"),
        Among((values[0].encode(), b"x")),
        Like(("name-a",), starts=True),
        Like(("me-",)),
        Tokens(("name",)),
    )
    return Sampled(IndexedColumn("string", (rows,)), pa.array(values), asked)


def floats(rows: int = 600) -> Sampled:
    """Floats with NaN and both zeros."""
    r = Random(rows)
    some = (0.0, -0.0, float("nan"), float("inf"), 1.5, -2.25)
    values = [r.choice((*some, r.random())) for _ in range(rows)]
    asked = (Among((0.0, 1.5)), Compare(">", 0.5), Within(-3.0, 0.1))
    return Sampled(IndexedColumn("double", (rows,)), pa.array(values, pa.float64()), asked)


def texts(rows: int = 700, words: int = 4) -> Sampled:
    """Texts of some words, with NULLs."""
    r = Random(rows)
    values = [
        None if r.random() < 0.05 else " ".join(r.choice(WORDS) for _ in range(r.randrange(words)))
        for _ in range(rows)
    ]
    asked = (
        IsNull(),
        Among((b"alpha", b"alpha gamma", b"nothing")),
        Compare("<", b"delta"),
        Within(b"al", b"om"),
        Like(("alp",), starts=True),
        Like(("amm", "ome")),
        Like(("lta",), ends=True, folded=True),
        Tokens(("alpha",)),
        Tokens(("beta", "gamma"), folded=True),
        Tokens(("中文",), folded=True),
    )
    return Sampled(IndexedColumn("string", (rows // 2, rows - rows // 2)), pa.array(values), asked)


def few(rows: int = 70_000) -> Sampled:
    """More rows than fit into two bytes, so that sets are written as roaring bitmaps and runs."""
    r = Random(rows)
    values, value = [], 0
    for row in range(rows):
        if row % 3_000 == 0:
            value = r.randrange(4)
        values.append(r.randrange(4) if 20_000 < row < 29_000 and r.random() < 0.5 else value)
    asked = (IsNull(), Among((1,)), Compare("<=", 2), Among((0, 3)))
    return Sampled(IndexedColumn("int", (rows,)), pa.array(values, pa.int32()), asked)


def blobs(sampled: Sampled, kind: str, **options: Any) -> Sequence[Blob]:
    """What the kind builds of the column."""
    found = KINDS[kind]
    builder = found.builder(sampled.column, found.options(sampled.column.type, options))
    values, at = to_domain(sampled.values, sampled.column.type), 0
    for rows in sampled.column.row_groups:
        builder.add(values.slice(at, rows))
        at += rows
    return builder.finish()


def reading(data: bytes) -> Read:
    """Reads of a file with these bytes, as the product reads local ones."""
    file = _file()
    file.seek(0)
    file.truncate()
    file.write(data)
    file.flush()
    return reads_of(file)


@cache
def _file() -> BinaryIO:
    """Of this process."""
    return cast(BinaryIO, tempfile.TemporaryFile())
