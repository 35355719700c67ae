"""The `schema` of DuckDB's `read_parquet`: columns by field ids, and structs' fields by theirs.

Columns are called `f1`, `f2`, … by their ids, so are fields. A struct is read with only the fields
that a statement names. DuckDB reads a field that a file lacks as NULL. Whether a struct itself is
NULL doesn't depend on the fields that the file has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from accelerator.engines.duckdb.engine import text_literal
from accelerator.iceberg.rows.nested_fields import read_path
from rewrite.facts import ColumnFacts
from rewrite.reason import DeclinedError
from rewrite.render.expressions import duckdb_type, quote
from rewrite.types import FLOATING

Path = tuple[ColumnFacts, ...]


class ScanColumns(Struct, frozen=True):
    """The columns of a scan: the schema as a MAP in SQL, the items of SELECT, their names."""

    schema: str
    items: tuple[str, ...]
    names: tuple[str, ...]


def scan_columns(paths: Sequence[Path]) -> ScanColumns | None:
    """Returns the texts for columns, each the path of structs to it; None if DuckDB has no type."""
    wanted: dict[int, _Field] = {}
    try:
        for path in paths:
            found = read_path(path)
            if found is None:
                return None
            _add(wanted, found)
        names = tuple(map(name_of, paths))
        items = tuple(f"{_value(path)} AS {quote(name_of(path), 'duckdb')}" for path in paths)
        return ScanColumns(_map(wanted), items, names)
    except DeclinedError:
        return None


def name_of(path: Path) -> str:
    """Returns the full name of the column."""
    return ".".join(one.name for one in path)


class _Field(Struct, frozen=True):
    type: str
    inside: dict[int, _Field]

    def duckdb(self) -> str:
        """Returns DuckDB's type."""
        if not self.inside:
            return duckdb_type(self.type)
        fields = (f"f{number} {field.duckdb()}" for number, field in self.inside.items())
        return f"STRUCT({', '.join(fields)})"


def _add(fields: dict[int, _Field], path: Path) -> None:
    for column in path:
        fields = fields.setdefault(column.field_id, _Field(column.type, {})).inside


def _map(fields: Mapping[int, _Field]) -> str:
    return f"MAP {{{', '.join(_entry(number, field) for number, field in fields.items())}}}"


def _entry(number: int, field: _Field) -> str:
    inside = f", children: {_map(field.inside)}" if field.inside else ""
    type_ = text_literal(field.duckdb())
    return f"{number}: {{name: 'f{number}', type: {type_}, default_value: NULL{inside}}}"


def _value(path: Path) -> str:
    first, *inside = path
    text = f"f{first.field_id}" + "".join(f"['f{one.field_id}']" for one in inside)
    if path[-1].type in FLOATING:
        nan = f"CAST('nan' AS {duckdb_type(path[-1].type)})"
        text = f"CASE WHEN isnan({text}) THEN {nan} ELSE {text} END"
    return text
