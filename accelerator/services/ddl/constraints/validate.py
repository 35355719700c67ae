"""VALIDATE CONSTRAINT: counts on the data what breaks a declared key, with example keys.

Promises: every table is read at the snapshot that one pin gave, and the report names it. The check
is Spark SQL text; who runs it is the caller's. NULLs are SQL's: a primary key forbids them, UNIQUE
and FOREIGN KEY (MATCH SIMPLE) leave out rows that hold one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from msgspec import Struct

from accelerator.errors import ConstraintError, UnknownTableError
from accelerator.query.statements.constraint import Constraint
from rewrite.facts import At
from rewrite.identifiers.quoting import backticked

if TYPE_CHECKING:
    from accelerator.iceberg import Lake, Pin, PinnedTable

EXAMPLES_MAX = 5
TRIES = 3


class Example(Struct, frozen=True):
    """A key that breaks the constraint, how many rows have it, and how it does."""

    key: tuple[object, ...]
    rows: int
    problem: Literal["null", "duplicate", "not_found"]

    def sentence(self) -> str:
        """E.g. `(7, 'x'): duplicate, 2 rows`."""
        key = ", ".join("NULL" if part is None else _literal(part) for part in self.key)
        rows = f"{self.rows} row{'' if self.rows == 1 else 's'}"
        return f"({key}): {self.problem.replace('_', ' ')}, {rows}"


def _literal(part: object) -> str:
    return repr(part) if isinstance(part, str | bytes) else str(part)


class Validation(Struct, frozen=True):
    """What a check found.

    `violations` counts rows: those with a NULL in a primary key, those beyond the first of a key
    that must be unique, those whose foreign key isn't found. `snapshot_ids` has, by table name, the
    snapshot that was read (None: the table has
    no rows yet).
    """

    constraint: Constraint
    checked_rows: int
    violations: int
    examples: tuple[Example, ...]
    snapshot_ids: Mapping[str, int | None]

    @property
    def ok(self) -> bool:
        """Whether the data keep the constraint."""
        return not self.violations

    def row(self) -> dict[str, object]:
        """As VALIDATE CONSTRAINT answers; the table is the first that was read."""
        return {
            "table": next(iter(self.snapshot_ids)),
            "constraint": self.constraint.name,
            "ok": self.ok,
            "checked_rows": self.checked_rows,
            "violations": self.violations,
            "examples": [example.sentence() for example in self.examples],
            "snapshot_ids": json.dumps(dict(self.snapshot_ids)),
        }


def validate(
    lake: Lake, table: tuple[str, ...], constraint: Constraint, run: Callable[[str], pa.Table]
) -> Validation:
    """Checks a constraint of the table on its data; `run` answers Spark SQL."""
    if constraint.problem:
        raise ConstraintError(
            f"the constraint {constraint.name} can't be checked: {constraint.problem}",
            hint="drop it, and declare it anew if it still holds",
        )
    for _attempt in range(TRIES):
        pin = lake.pin()
        found = _check(pin, table, constraint, run)
        # What was read at its newest state may have moved on meanwhile; it hardly ever has.
        loose = [name for name, keys in _keys(table, constraint) if not _fixed(pin, name, keys)]
        if all(_pinned(lake.pin(), name).snapshot == _pinned(pin, name).snapshot for name in loose):
            return found
    raise ConstraintError(
        f"{'.'.join(table)} changed while {constraint.name} was checked, {TRIES} times",
        hint="check it again when nothing is written to the table",
    )


def _check(
    pin: Pin, table: tuple[str, ...], constraint: Constraint, run: Callable[[str], pa.Table]
) -> Validation:
    pinned = [_pinned(pin, name) for name, _ in _keys(table, constraint)]
    counted = _counted_keys(pin, pinned[0], constraint)
    if constraint.references is not None:
        counted += "\n" + _partner_join(pin, pinned[1], constraint)
    rows, violations = _row(run(_summary_sql(constraint, counted)))
    examples = run(_examples_sql(constraint, counted)).to_pylist() if violations else []
    found = tuple(_example(row, len(constraint.columns)) for row in examples)
    snapshot_ids = {one.facts.name: one.facts.snapshot_id for one in pinned}
    return Validation(constraint, int(rows or 0), int(violations or 0), found, snapshot_ids)


def _keys(
    table: tuple[str, ...], constraint: Constraint
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The tables that are read, with their key columns."""
    own = (table, constraint.columns)
    there = constraint.references
    return [own] if there is None else [own, (there, constraint.references_columns)]


def _pinned(pin: Pin, table: tuple[str, ...]) -> PinnedTable:
    pinned = pin.pinned(table)
    if pinned is None:  # dropped since the constraint was read
        raise UnknownTableError(f"there is no Iceberg table {'.'.join(table)}", hint="check it")
    return pinned


def _row(table: pa.Table) -> tuple[int | None, int | None]:
    first, second = table.to_pylist()[0].values()
    return first, second


def _example(row: Mapping[str, object], keys: int) -> Example:
    *key, rows, problem = row.values()
    assert len(key) == keys and isinstance(rows, int)
    assert problem in ("null", "duplicate", "not_found")
    return Example(tuple(key), rows, problem)


def _counted_keys(pin: Pin, table: PinnedTable, constraint: Constraint) -> str:
    """FROM over each distinct key with its rows: columns k0… and n."""
    columns = [backticked(column) for column in constraint.columns]
    named = ", ".join(f"{column} AS k{i}" for i, column in enumerate(columns))
    source = _source(pin, table, constraint.columns)
    return f"FROM (SELECT {named}, COUNT(*) AS n FROM {source} GROUP BY {', '.join(columns)}) AS c"


def _partner_join(pin: Pin, table: PinnedTable, constraint: Constraint) -> str:
    """Joins each key to itself among what it refers to: columns r0…, NULL where it isn't there."""
    columns = constraint.references_columns
    named = ", ".join(f"{backticked(column)} AS r{i}" for i, column in enumerate(columns))
    equal = " AND ".join(f"c.k{i} = r.r{i}" for i in range(len(columns)))
    source = _source(pin, table, columns)
    return f"LEFT JOIN (SELECT DISTINCT {named} FROM {source}) AS r ON {equal}"


def _source(pin: Pin, table: PinnedTable, names: tuple[str, ...]) -> str:
    """The pinned rows as Spark SQL."""
    name = ".".join(backticked(part) for part in table.parts)
    snapshot_id = table.facts.snapshot_id
    if snapshot_id is None:
        return f"(SELECT * FROM {name} WHERE FALSE) AS t"
    as_of = f" VERSION AS OF {snapshot_id}" if _fixed(pin, table.parts, names) else ""
    return f"{name}{as_of} AS t"


def _fixed(pin: Pin, table: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Whether the columns can be read as of the pinned snapshot, not only at the newest state.

    Spark reads a snapshot under the schema that it was written with. A column that was added or
    renamed since isn't there by its name, and Iceberg 1.12 fails to filter by its old one ("Cannot
    find field").
    """
    facts = _pinned(pin, table).facts
    if facts.snapshot_id is None:
        return True
    then = pin.table(table, At(snapshot_id=facts.snapshot_id))
    return then is not None and all(then.column(one) == facts.column(one) for one in names)


def _summary_sql(constraint: Constraint, counted: str) -> str:
    broken = f"CASE WHEN {_breaks(constraint)} THEN {_rows(constraint)} ELSE 0 END"
    return (
        f"SELECT CAST(SUM(c.n) AS BIGINT) AS checked, CAST(SUM({broken}) AS BIGINT) AS broken\n"
        f"{counted}"
    )


def _examples_sql(constraint: Constraint, counted: str) -> str:
    keys = ", ".join(f"c.k{i}" for i in range(len(constraint.columns)))
    if constraint.kind == "foreign_key":
        problem = "'not_found'"
    else:
        problem = f"CASE WHEN {_has_null(constraint)} THEN 'null' ELSE 'duplicate' END"
    return (
        f"SELECT {keys}, CAST(c.n AS BIGINT) AS n, {problem} AS problem\n{counted}\n"
        f"WHERE {_breaks(constraint)}\nORDER BY c.n DESC, {keys} LIMIT {EXAMPLES_MAX}"
    )


def _has_null(constraint: Constraint) -> str:
    return "(" + " OR ".join(f"c.k{i} IS NULL" for i in range(len(constraint.columns))) + ")"


def _breaks(constraint: Constraint) -> str:
    """Whether a counted key breaks the constraint."""
    null = _has_null(constraint)
    if constraint.kind == "primary_key":
        return f"({null} OR c.n > 1)"
    return f"(NOT {null} AND {'r.r0 IS NULL' if constraint.references else 'c.n > 1'})"


def _rows(constraint: Constraint) -> str:
    """How many of the key's rows count as violations."""
    if constraint.kind == "foreign_key":
        return "c.n"
    return f"CASE WHEN {_has_null(constraint)} THEN c.n ELSE c.n - 1 END"
