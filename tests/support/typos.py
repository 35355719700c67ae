"""What people mistype: `tests/accelerator/typos/typos.toml`, and a small warehouse to do so in."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from tests.support.pristine import catalog_of

FILE = Path(__file__).parents[1] / "accelerator" / "typos" / "typos.toml"


@dataclass(frozen=True)
class Typo:
    """One entry of the file; its words are explained there."""

    name: str
    sql: str
    kind: str
    at: str
    closest: str
    spark: str
    opens: bool

    @property
    def line(self) -> int:
        """Of the word below which the mark stands, from 1."""
        return self.sql.count("\n", 0, self.sql.index(self.at)) + 1

    @property
    def column(self) -> int:
        """Of the same, from 1."""
        start = self.sql.index(self.at)
        return start - self.sql.rfind("\n", 0, start)


def typos() -> list[Typo]:
    """All of the file."""
    found = tomllib.loads(FILE.read_text())["typo"]
    return [
        Typo(
            one["name"],
            one["sql"].strip("\n"),
            one["class"],
            one["at"],
            one.get("closest", ""),
            one.get("spark", one["class"]),
            one.get("opens", False),
        )
        for one in found
    ]


def fill(catalog: SqlCatalog) -> None:
    """The tables that the file names."""
    catalog.create_namespace("shop")
    sales = pa.table(
        {"store": pa.array([1, 2], pa.int32()), "amount": pa.array([5, 7]), "region": ["a", "b"]}
    )
    stores = pa.table({"id": pa.array([1, 2], pa.int32()), "city": ["x", "y"]})
    catalog.create_table("shop.sales", sales.schema).append(sales)
    catalog.create_table("shop.stores", stores.schema).append(stores)


def warehouse(folder: Path) -> Path:
    """The tables, the cube and the index that the file names, in that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    catalog = catalog_of(folder)
    fill(catalog)
    catalog.engine.dispose()
    with accelerator.open(folder) as session:
        session.query(
            "CREATE CUBE sales_by_region AS"
            " SELECT region, sum(amount) AS s FROM shop.sales GROUP BY region"
        )
        session.query("CREATE INDEX store_bloom ON shop.sales USING BLOOM (store)")
    return folder
