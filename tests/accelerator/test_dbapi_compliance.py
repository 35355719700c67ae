"""The public suite of PEP 249, `dbapi-compliance`, whole: no test of it is left out.

What it writes, Spark would: PyIceberg does in its place, so that nothing here waits for a JVM. What
it reads is answered in process. Two of its tests have to be written by each driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import dbapi20
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from sqlglot import exp

from accelerator import dbapi
from accelerator.query.runtime.services import Services
from rewrite.parse.parse import parse
from tests.support.pristine import catalog_of


class _Writer:
    """CREATE TABLE, INSERT and DROP TABLE of texts, with the parameters in their places."""

    def __init__(self, catalog: SqlCatalog) -> None:
        self.catalog = catalog

    def run(self, sql: str) -> pa.Table:
        tree = parse(sql)
        table = tree.find(exp.Table)
        assert table is not None
        name = tuple(part.name for part in table.parts)
        if isinstance(tree, exp.Create):
            columns = [(one.name, pa.string()) for one in tree.find_all(exp.ColumnDef)]
            self.catalog.create_table(name, pa.schema(columns))
        elif isinstance(tree, exp.Insert):
            rows = [[_value(one) for one in row.expressions] for row in tree.find_all(exp.Tuple)]
            made = self.catalog.load_table(name)
            columns = [list(column) for column in zip(*rows, strict=True)]
            made.append(pa.table(columns, schema=made.schema().as_arrow()))
        else:
            assert isinstance(tree, exp.Drop)
            if not self.catalog.table_exists(name):
                raise dbapi.ProgrammingError("there is no such table")
            self.catalog.drop_table(name)
        return pa.table({})


def _value(literal: exp.Expression) -> str | None:
    if isinstance(literal, exp.Null):
        return None
    if isinstance(literal, exp.Cast):
        assert isinstance(literal.this, exp.HexString)
        return bytes.fromhex(literal.this.name).decode()
    assert literal.is_string
    return literal.name


class TestPep249(dbapi20.DatabaseAPI20Test):
    """Its tests, over tables of a namespace."""

    driver: ClassVar[Any] = dbapi
    table_prefix = "d.dbapi20test_"
    ddl1 = f"create table {table_prefix}booze (name varchar(20))"
    ddl2 = f"create table {table_prefix}barflys (name varchar(20), drink varchar(30))"
    xddl1 = f"drop table {table_prefix}booze"
    xddl2 = f"drop table {table_prefix}barflys"

    @pytest.fixture(autouse=True)
    def _warehouse(
        self, tmp_path: Path, no_java: None, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[None]:
        catalog = catalog_of(tmp_path)
        catalog.create_namespace("d")
        writer = _Writer(catalog)
        monkeypatch.setattr(Services, "plain_table", lambda _, sql: writer.run(sql))
        monkeypatch.setattr(self, "connect_args", (str(tmp_path),))
        yield
        catalog.engine.dispose()

    def test_nextset(self) -> None:
        """A statement has one answer, so that there is no such method."""
        assert not hasattr(self._connect().cursor(), "nextset")

    def test_setoutputsize(self) -> None:
        """It does nothing."""
        cursor = self._connect().cursor()
        cursor.setoutputsize(1)
        assert cursor.description is None
