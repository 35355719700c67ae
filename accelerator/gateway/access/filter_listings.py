"""Listings of what somebody may know of: rows of SHOW about other objects are left out.

A row is about a table, and maybe about more: the tables that a cube joins, those that a constraint
refers to, those behind a relate column. It stays where all of them may be read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from accelerator.errors import AcceleratorError
from accelerator.gateway.access.check import dimensions, tables_of, tables_of_index
from accelerator.gateway.access.grants import Object, UserAccess
from accelerator.query.statements import nodes
from accelerator.query.statements.catalog import FORM_OF
from accelerator.query.statements.nodes import Statement
from accelerator.services.coverage.artifact import CUBE
from rewrite.identifiers.qualified_name import parts_of

if TYPE_CHECKING:
    import pyarrow as pa

    from accelerator.query.runtime.services import Services

Row = dict[str, Any]


def visible(
    statement: Statement, table: pa.Table, access: UserAccess, services: Services
) -> pa.Table:
    """The answer of a SHOW statement without the rows that aren't the asker's to know.

    A published table's name is left out where the table may not be read. Other answers stay.
    """
    if access.everything:
        return table
    if isinstance(statement, nodes.DropRelateColumn) and statement.if_exists:
        return table.slice(0, 0)  # a row would report that there was one
    if isinstance(statement, nodes.ShowCoverage):
        return _of_artifacts(table, _VisibleTables(access, services))
    form = FORM_OF.get(type(statement))
    if form is None or not form.lists:
        return table
    import pyarrow as pa

    seen = _VisibleTables(access, services)
    rows = list(filter(getattr(seen, form.lists), table.to_pylist()))
    for row in rows:
        if row.get("published") is not None and not seen.reads_named(row["published"]):
            row["published"] = None
    return pa.Table.from_pylist(rows, schema=table.schema)


def showable_to(access: UserAccess, services: Services) -> Callable[[str, str], bool]:
    """Returns a test of whether a user may know a cube or index: by `cubes` or `indexes`, and name.

    The first call of the test reads the registry.
    """
    seen: list[_VisibleTables] = []

    def knows(kind: str, name: str) -> bool:
        if not seen:
            seen.append(_VisibleTables(access, services))
        if kind == "cubes":
            return seen[0].cube({"cube": name})
        return seen[0].index({"index": name})

    return knows


def _of_artifacts(table: pa.Table, seen: _VisibleTables) -> pa.Table:
    """The rows of SHOW COVERAGE about cubes and indexes all of whose tables may be read.

    There may be a row for each data file, so each artifact is looked at once.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    is_cube = pc.equal(table["kind"], CUBE)
    of_cubes, of_indexes = table.filter(is_cube), table.filter(pc.invert(is_cube))
    cubes = [one for one in of_cubes["artifact"].unique().to_pylist() if seen.cube({"cube": one})]
    indexes = [
        one for one in of_indexes["artifact"].unique().to_pylist() if seen.index({"index": one})
    ]
    named = (pc.is_in(table["artifact"], pa.array(some, pa.string())) for some in (cubes, indexes))
    return table.filter(pc.if_else(is_cube, *named))


class _VisibleTables:
    """Decides for one asker about rows; a row of `catalog.py` names the method for its answer."""

    def __init__(self, access: UserAccess, services: Services) -> None:
        self._access, self._services = access, services
        self._pin = services.lake.pin()
        self._registry = services.store.registry()

    def reads(self, full: tuple[str, ...]) -> bool:
        return self._access.may("read", Object.table(full))

    def reads_named(self, name: str) -> bool:
        """The same of a full name as text; False where it isn't one."""
        try:
            return self.reads(parts_of(name))
        except AcceleratorError:
            return False

    def cube(self, row: Row) -> bool:
        record = self._registry.cubes.get(row["cube"])
        under = None if record is None else tables_of(record)
        return under is not None and all(map(self.reads, under))

    def dropped(self, row: Row) -> bool:
        found = next((one.cube for one in self._registry.bin if one.cube.id == row["id"]), None)
        under = None if found is None else tables_of(found)
        return under is not None and all(map(self.reads, under))

    def index(self, row: Row) -> bool:
        record = self._registry.indexes.get(row["index"])
        if record is None or not self.reads_named(record.table):
            return False
        return all(map(self.reads, tables_of_index(record, self._pin)))

    def constraint(self, row: Row) -> bool:
        there = row["references"]
        return self.reads_named(row["table"]) and (there is None or self.reads_named(there))

    def relate(self, row: Row) -> bool:
        if not self.reads_named(row["table"]):
            return False
        if row["name"] is None:  # of a table that can't be read its name is told alone
            return True
        pinned = self._pin.named(parts_of(row["table"]))
        return pinned is not None and all(map(self.reads, dimensions(pinned, row["name"])))
