"""Joins that aren't read: counts from bitmaps alone, and just the rows that are selected.

Strategy: a fact of several files beside a dimension with NULLs and a chain behind it, some facts
without a partner. Each statement is plain Spark's answer; the plan says which tables it can do
without. Then rows are deleted, dimensions change and keys stand twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

_SMALL_GROUPS = (
    "'write.parquet.row-group-size-bytes'='4096',"
    "'write.parquet.row-group-check-min-record-count'='50',"
    "'write.parquet.row-group-check-max-record-count'='50'"
)


class Shop:
    """`f` of 3 files, `d` of 40 keys (5 never used, facts have 5 without a partner), `o` of 4."""

    def __init__(self, wh: SparkWarehouse, acc: Accelerator) -> None:
        self.wh, self.acc, self.both = wh, acc, Differential(acc)
        self.f = self._table("id BIGINT, k INT, v BIGINT, x DOUBLE", _SMALL_GROUPS)
        self.d = self._table("k INT, name STRING, region STRING, ok INT")
        self.o = self._table("ok INT, land STRING")
        self.wh.sql(
            f"INSERT INTO {self.d} SELECT CAST(id AS INT), concat('n', id),"
            " CASE WHEN id % 5 > 0 THEN concat('r', id % 5) END, CAST(id % 6 AS INT)"
            " FROM range(0, 40, 1, 1)"
        )
        self.wh.sql(f"INSERT INTO {self.o} VALUES (0, 'a'), (1, 'b'), (2, NULL), (3, 'c')")
        for number in range(3):
            self.wh.sql(
                f"INSERT INTO {self.f} SELECT id, CAST(5 + (id * 7 + {number}) % 40 AS INT),"
                " id % 100, id / 8 FROM range("
                f"{number * 600}, {number * 600 + 600}, 1, 1)"
            )
        key = f"ON {self.f}.k = {self.d}.k"
        for name in ("name", "region"):
            acc.execute(f"ALTER TABLE {self.f} ADD RELATE COLUMN {name} FROM {self.d}.{name} {key}")
        acc.execute(
            f"ALTER TABLE {self.f} ADD RELATE COLUMN land FROM {self.o}.land"
            f" {key} AND {self.d}.ok = {self.o}.ok"
        )
        acc.execute(f"ALTER TABLE {self.f} ADD RELATE COLUMN ok FROM {self.d}.ok {key}")
        acc.execute(f"CREATE INDEX ok_{self.f.rpartition('.')[2]} ON {self.f} USING BLOOM (ok)")
        for name in ("name", "region", "land"):
            acc.execute(
                f"CREATE INDEX {name}_{self.f.rpartition('.')[2]} ON {self.f}"
                f" USING BITMAP ({name}) WITH (rows = true)"
            )

    def _table(self, columns: str, properties: str = "") -> str:
        return f"lake.d.{self.wh.table(columns, properties=properties)}"

    def sql(self, text: str) -> str:
        """With the tables' names for `{f}`, `{d}` and `{o}`."""
        return text.format(f=self.f, d=self.d, o=self.o)

    def told(self, query: str) -> dict[str, Any]:
        """What explain says."""
        found: dict[str, Any] = json.loads(self.acc.explain(query, format="json"))
        return found

    def gone(self, query: str) -> list[str]:
        """The tables that aren't read."""
        manifests = self.told(query).get("manifests") or {}
        names = {self.d: "d", self.o: "o"}
        return sorted(names[one] for one in manifests.get("joins_left_out", []))


@pytest.fixture(scope="module")
def shop(
    spark_warehouse: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    store = str(tmp_path_factory.mktemp("joins") / "store")
    with spark_warehouse.attach(store=store) as acc:
        yield Shop(spark_warehouse, acc)


_JOIN = " FROM {f} f JOIN {d} d ON f.k = d.k"
_CHAIN = _JOIN + " JOIN {o} o ON d.ok = o.ok"
_LEFT = " FROM {f} f LEFT JOIN {d} d ON f.k = d.k"
_UNUSED = "SELECT sum(v) AS s" + _LEFT + " WHERE f.id < 500"
_ALONE = (
    ("SELECT count(*)" + _JOIN + " WHERE d.region = 'r1'", "d"),
    ("SELECT count(*)" + _JOIN, "d"),
    ("SELECT d.region, count(*) AS n" + _JOIN + " GROUP BY d.region", "d"),
    ("SELECT d.region, count(d.name) AS n" + _LEFT + " GROUP BY d.region", "d"),
    ("SELECT max(d.name) AS m, count(DISTINCT d.region) AS n" + _JOIN, "d"),
    ("SELECT o.land, d.region, count(*) AS n" + _CHAIN + " GROUP BY o.land, d.region", ""),
    ("SELECT d.region, count(*) AS n" + _CHAIN + " WHERE o.land <> 'a' GROUP BY d.region", "do"),
    ("SELECT count(*) FROM {f} f WHERE k IN (SELECT k FROM {d} WHERE region IN ('r1','r2'))", "d"),
    ("SELECT count(*)" + _LEFT + " WHERE d.region IS NULL", "d"),
    ("SELECT DISTINCT d.region" + _JOIN + " WHERE d.name LIKE 'n1%'", "d"),
)
"""Answered without any data file."""
_SELECTED = (
    ("SELECT sum(v) AS s, max(x) AS m" + _JOIN + " WHERE d.region = 'r1'", "d"),
    ("SELECT count(*)" + _JOIN + " WHERE d.region = 'r1' AND f.v > 50", "d"),
    ("SELECT id, v" + _JOIN + " WHERE d.name IN ('n7', 'n39') AND v < 30", "d"),
    ("SELECT sum(v) AS s" + _CHAIN + " WHERE o.land = 'b' AND d.region = 'r2'", "do"),
    ("SELECT d.name, sum(v) AS s" + _CHAIN + " WHERE o.land = 'b' GROUP BY d.name", "o"),
    ("SELECT f.k, sum(v) AS s" + _JOIN + " WHERE NOT (d.name = 'n9') GROUP BY f.k", "d"),
    ("SELECT d.k, sum(v) AS s" + _JOIN + " WHERE d.region IS NULL GROUP BY d.k", "d"),
    (_UNUSED, "d"),
    ("SELECT sum(v) AS s" + _JOIN + " WHERE d.ok = 3", ""),  # a Bloom filter knows no rows
    (
        "SELECT id FROM {f} f WHERE EXISTS (SELECT 1 FROM {d} d WHERE d.k = f.k AND name = 'n8')",
        "d",
    ),
)
"""Answered from just the rows that are selected."""


def _check(shop: Shop, *, gone: bool = True) -> None:
    shop.both.changed()
    for cases, alone in ((_ALONE, True), (_SELECTED, False)):
        queries = [shop.sql(text) for text, _ in cases]
        shop.both.check(queries, rewritten=None, spark=queries[3:5])
        for query, (_, wanted) in zip(queries, cases, strict=True):
            if gone:
                assert "".join(shop.gone(query)) == wanted, shop.acc.explain(query)
                files = shop.acc.query(query).metrics.files_read
                assert not (alone and wanted) or files == 0, query


def test_joins_that_are_not_read(shop: Shop) -> None:
    _check(shop)


def test_after_deletes(shop: Shop) -> None:
    shop.wh.sql(f"DELETE FROM {shop.f} WHERE id % 11 = 3")
    _check(shop)


@pytest.mark.long
def test_after_changes_of_the_dimension(shop: Shop) -> None:
    shop.wh.sql(f"UPDATE {shop.d} SET region = 'r9' WHERE k IN (7, 8)")
    _check(shop, gone=False)
    shop.wh.sql(f"INSERT INTO {shop.d} VALUES (900, 'new', 'r1', 1)")
    shop.acc.execute(f"BUILD ALL ON {shop.f}")
    _check(shop)


def test_after_a_row_without_a_name(shop: Shop) -> None:
    """Then a NULL may be a partner's own."""
    shop.wh.sql(f"INSERT INTO {shop.d} VALUES (901, NULL, NULL, NULL)")
    shop.acc.execute(f"BUILD ALL ON {shop.f}")
    count = shop.sql("SELECT count(*)" + _JOIN)
    shop.both.changed()
    shop.both.check([count], rewritten=None, spark=[count])
    assert shop.gone(count) == []


def test_keys_that_stand_twice(shop: Shop) -> None:
    """No partner is the only one any more."""
    shop.wh.sql(f"INSERT INTO {shop.d} VALUES (9, 'twice', 'r4', 1), (10, NULL, 'r1', 1)")
    _check(shop, gone=False)
    queries = [shop.sql(text) for text, _ in (*_ALONE, *_SELECTED)]
    left = shop.sql(_UNUSED)
    shop.both.check([left], rewritten=None)
    assert {tuple(shop.gone(query)) for query in (*queries, left)} == {()}
