"""A dimension that is too large to be looked up is refused, before any of it is read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.errors import RelateColumnError
from accelerator.relate import dimensions


def test_more_rows_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with accelerator.open(tmp_path / "w") as acc:
        assert acc.query("SHOW RELATE COLUMNS").arrow().num_rows == 0
        (tmp_path / "w").mkdir(exist_ok=True)
        properties = {
            "uri": f"sqlite:///{tmp_path / 'w' / 'catalog.db'}",
            "warehouse": f"file://{tmp_path / 'w'}/",
        }
        catalog = SqlCatalog("lake", **properties)
        catalog.create_namespace("d")
        for name, rows in (
            ("fact", pa.table({"k": [1, 2]})),
            ("dim", pa.table({"k": [1], "a": [5]})),
        ):
            catalog.create_table(f"d.{name}", rows.schema).append(rows)
        add = "ALTER TABLE d.fact ADD RELATE COLUMN a FROM d.dim.a ON fact.k = dim.k"
        monkeypatch.setattr(dimensions, "_ROWS_MAX", 0)
        with pytest.raises(RelateColumnError, match="more than 0 ") as raised:
            acc.query(add)
        assert "memory" in raised.value.hint
        monkeypatch.undo()
        acc.query(add)
        assert acc.query("SHOW RELATE COLUMNS").arrow()["status"].to_pylist() == ["ok"]
