"""A constraint as a value, and as the table property that keeps it (`docs/formats/constraints.md`).

Reading never raises: a property of an unknown version, a column or table that is gone, become the
constraint's `problem`. Columns are found by field id, so renaming one changes nothing.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from msgspec import Struct

from accelerator.errors import UNFIT
from rewrite.errors import AcceleratorError
from rewrite.facts import At, ColumnFacts, Facts, TableFacts
from rewrite.identifiers.quoting import backticked

PREFIX = "accelerator.constraint."
FORMAT = 1
Kind = Literal["primary_key", "unique", "foreign_key", "unknown"]
WORDS: dict[Kind, str] = {
    "primary_key": "PRIMARY KEY",
    "unique": "UNIQUE",
    "foreign_key": "FOREIGN KEY",
    "unknown": "UNKNOWN",
}
_NEWEST = At()


class Constraint(Struct, frozen=True):
    """A declared key. `problem` says why it means nothing any more, e.g. since a column is gone.

    `kind` is `unknown` only where the property can't be read.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    references: tuple[str, ...] | None = None
    references_columns: tuple[str, ...] = ()
    rely: bool = False
    problem: str = ""

    def definition(self) -> str:
        """As in SQL, behind the name."""
        text = f"{WORDS[self.kind]} ({', '.join(map(quoted, self.columns))})"
        if self.references is not None:
            text += f" REFERENCES {'.'.join(map(quoted, self.references))}"
            if self.references_columns:
                text += f" ({', '.join(map(quoted, self.references_columns))})"
        return text + " NOT ENFORCED" + (" RELY" if self.rely else "")


def quoted(name: str) -> str:
    """The name as Spark SQL takes it, in backticks where it must be."""
    plain = name.isidentifier() and name.isascii()
    return name if plain else backticked(name)


def to_property(
    constraint: Constraint,
    columns: tuple[ColumnFacts, ...],
    there: TableFacts | None,
    partners: tuple[ColumnFacts, ...],
) -> str:
    """The property's value; `there` and `partners` are what a foreign key refers to."""
    value: dict[str, Any] = {  # JSON
        "version": FORMAT,
        "kind": constraint.kind,
        "columns": _columns_json(columns),
        "rely": constraint.rely,
    }
    if there is not None and constraint.references is not None:
        value["references"] = {
            "table": list(constraint.references),
            "uuid": there.uuid,
            "columns": _columns_json(partners),
        }
    return json.dumps(value, ensure_ascii=False)


def _columns_json(columns: tuple[ColumnFacts, ...]) -> list[dict[str, int | str]]:
    return [{"id": column.field_id, "name": column.name} for column in columns]


def from_property(name: str, text: str, facts: TableFacts, pin: Facts) -> Constraint:
    """The constraint that the property keeps, under the columns' current names."""
    try:
        raw = json.loads(text)
        if raw["version"] != FORMAT:
            return _unreadable(name, f"its format version is {raw['version']}, not {FORMAT}")
        kind: Kind = raw["kind"]
        if kind not in WORDS:
            return _unreadable(name, f"its kind is {kind!r}, which isn't known")
        columns, problem = _columns(raw["columns"], facts)
        constraint = Constraint(name, kind, columns, rely=bool(raw["rely"]), problem=problem)
        if kind != "foreign_key":
            return constraint
        return _with_references(constraint, raw["references"], pin)
    except UNFIT as error:
        return _unreadable(name, f"its property can't be read ({type(error).__name__}: {error})")


def _unreadable(name: str, problem: str) -> Constraint:
    return Constraint(name, "unknown", (), problem=problem)


# Raw values below are of any JSON type: `from_property` catches what doesn't fit.
def _columns(raw: list[dict[str, Any]], facts: TableFacts) -> tuple[tuple[str, ...], str]:
    """Current names, and what is wrong: a column that is gone keeps the name that it had."""
    by_id = {column.field_id: column.name for column in facts.columns}
    told = [(one["id"], _text(one["name"])) for one in raw]
    gone = [name for number, name in told if number not in by_id]
    names = tuple(by_id.get(number, name) for number, name in told)
    return names, f"{facts.name} has no column {', '.join(gone)} any more" if gone else ""


def _with_references(constraint: Constraint, raw: dict[str, Any], pin: Facts) -> Constraint:
    parts = tuple(map(_text, raw["table"]))
    names = tuple(_text(one["name"]) for one in raw["columns"])
    facts, problem = None, ""
    try:
        facts = pin.table(parts, _NEWEST)
    except AcceleratorError as error:  # this one is shown for all that
        problem = error.message
    if problem:
        pass
    elif facts is None:
        problem = f"there is no table {'.'.join(parts)} any more"
    elif facts.uuid != raw["uuid"]:
        problem = f"{facts.name} is another table than the one that it was declared for"
    else:
        names, problem = _columns(raw["columns"], facts)
    return Constraint(
        name=constraint.name,
        kind=constraint.kind,
        columns=constraint.columns,
        references=parts,
        references_columns=names,
        rely=constraint.rely,
        problem=constraint.problem or problem,
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value
