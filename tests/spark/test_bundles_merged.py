"""Many small builds of an index leave few bundles: those are merged, and answers stay."""

from __future__ import annotations

import pytest

from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

KINDS = {"bloom": ("BLOOM", "id"), "range": ("RANGE", "id"), "bounds": ("BOUNDS", "x")}


def test_small_bundles_become_one(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    none = "'write.metadata.metrics.column.x'='none'"
    table = f"lake.d.{wh.table('id BIGINT, x DOUBLE, s STRING', properties=none)}"

    def append(number: int) -> None:
        rows = f"range({number * 50}, {number * 50 + 50}, 1, 1)"
        wh.sql(f"INSERT INTO {table} SELECT id * 7919 % 10007, id / 3, 'm' || id % 7 FROM {rows}")

    append(0)
    for name, (kind, column) in KINDS.items():
        acc.execute(f"CREATE INDEX merged_{name} ON {table} USING {kind} ({column})")
    acc.execute(f"CREATE INDEX merged_s ON {table} USING BITMAP (s)")
    uuid = wh.pinned(table.rsplit(".", 1)[1]).facts.uuid
    for number in range(1, 8):
        append(number)
        acc.execute(f"BUILD ALL ON {table}")
    records = acc.services.store.registry(fresh=True).indexes
    for name in (*KINDS, "s"):
        built = acc.services.store.table(uuid).of(records[f"merged_{name}"].id)
        bundles = [one for one in built if one.is_bundle]
        assert [len(one.files) for one in bundles] == [8], name
    assert sum(not one.is_bundle for one in built) == 8  # sidecars of the bitmaps
    queries = [
        f"SELECT * FROM {table} WHERE id = 7919",
        f"SELECT * FROM {table} WHERE id BETWEEN 100 AND 120",
        f"SELECT s FROM {table} WHERE x > 120.5",
        f"SELECT s, count(*) FROM {table} GROUP BY s",
    ]
    same = Differential(acc)
    same.check(queries)
    assert acc.query(queries[0]).metrics.files_read == 1
    assert acc.query(queries[2]).metrics.files_read == 1
    assert acc.query(queries[3]).metrics.files_read == 0
    append(8)
    acc.execute(f"BUILD ALL ON {table}")
    acc.execute(f"VACUUM {table}")
    same.changed()
    same.check(queries)
