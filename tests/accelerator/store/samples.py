"""Small records for the store's tests."""

from __future__ import annotations

from accelerator.store import CoveredFile, CubeRecord, EdgeCount, SegmentRecord

TABLE = "0f0e0d0c-0b0a-4908-8706-050403020100"
DIMENSION = "11111111-2222-4333-8444-555555555555"


def cube(name: str = "sales", id: str = "c" * 32, **changes) -> CubeRecord:
    return CubeRecord(
        **{
            "id": id,
            "name": name,
            "table": "lake.shop.sales",
            "table_uuid": TABLE,
            "sql": "SELECT day, sum(price) FROM lake.shop.sales GROUP BY day",
            "dialect": "spark",
            "created_ms": 1_750_000_000_000,
            "settings": (("session_time_zone", "UTC"),),
            "definition": {"dimensions": ["day"], "größe": [1, 2.5, None]},
            **changes,
        }
    )


def file(number: int, deletes_key: str = "") -> CoveredFile:
    return CoveredFile(f"file:///w/data/{number}.parquet", number, deletes_key, 100, 4096)


def segment(id: int, *numbers: int, cube_id: str = "c" * 32, **changes) -> SegmentRecord:
    return SegmentRecord(
        **{
            "id": id,
            "cube_id": cube_id,
            "path": f"file:///w/.accelerator/{id}.parquet",
            "rows": 7,
            "bytes": 512,
            "files": tuple(file(number) for number in numbers),
            "dimensions": ((1, DIMENSION, 42), (2, DIMENSION, None)),
            "edges": (EdgeCount(0, 0, True), EdgeCount(1, None, None)),
            "fields": ((TABLE, 3, "decimal(10,2)", False), (DIMENSION, 1, "int", True)),
            "facts": {"bounds": {"day": [18262, 18300]}},
            **changes,
        }
    )
