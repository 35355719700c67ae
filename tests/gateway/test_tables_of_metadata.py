"""Trino's metadata tables behind a table's name: `"sales$partitions"`, `"sales$snapshots"`, …"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from accelerator.errors import AcceleratorError, UnknownTableError, UntranslatedError
from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.catalog import GatewayFacts, Metadata
from accelerator.gateway.trino.json.encode import encode
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.nodes import ClientSession
from accelerator.gateway.trino.types import columns
from accelerator.iceberg import CatalogSettings, Lake

_ANN = ClientSession(user="ann", catalog="lake", schema="shop")
_SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "city", StringType()),
    NestedField(3, "at", TimestamptzType()),
    NestedField(4, "price", DecimalType(10, 2)),
    NestedField(5, "ratio", DoubleType()),
    NestedField(6, "day", DateType()),
)
_SPEC = PartitionSpec(
    PartitionField(2, 1000, IdentityTransform(), "city"),
    PartitionField(6, 1001, IdentityTransform(), "at_day"),
)
_ARROW = _SCHEMA.as_arrow()
Row = dict[str, Any]


class Asked:
    """A warehouse of one catalog, and how it's asked."""

    def __init__(self, folder: Path) -> None:
        properties = {"uri": f"sqlite:///{folder / 'catalog.db'}", "warehouse": folder.as_uri()}
        self.catalog = SqlCatalog("lake", **properties)
        self.catalog.create_namespace("shop")
        self.metadata = Metadata(
            Lake([CatalogSettings("lake", "sql", properties)], "lake", tuple), version="476"
        )
        self.unread: set[str] = set()

    def made(self, name: str = "sales", spec: PartitionSpec = _SPEC) -> Table:
        """A table without rows."""
        return self.catalog.create_table(f"shop.{name}", _SCHEMA, partition_spec=spec)

    def ask(self, sql: str) -> pa.Table:
        """The answer to a query."""
        found = self.request(nodes.RunStatement(sql))
        assert found is not None
        return found

    def request(self, asked: nodes.Request) -> pa.Table | None:
        """The answer to a request."""
        return self.metadata.answer(asked, _ANN, _everything, GatewayFacts(), self._check)

    def rows(self, sql: str) -> list[Row]:
        """Its rows, which clients can be given."""
        found = self.ask(sql)
        assert columns(found.schema)
        assert encode(found, parametric_datetime=True) is not None
        return list(found.to_pylist())

    def _check(self, full: tuple[str, str, str]) -> None:
        if full[2] in self.unread:
            raise AccessDeniedError("there is no such table that you may read")


def _everything(catalog: str, schema: str | None, table: str | None) -> bool:
    return True


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """A warehouse of its own."""
    return Asked(tmp_path)


def _at(day: int, hour: int = 3) -> dt.datetime:
    return dt.datetime(2026, 1, day, hour, 5, 7, 123456, tzinfo=dt.UTC)


def _sale(id: int | None, city: str | None, day: int, price: str | None = "1.50") -> Row:
    value = None if price is None else Decimal(price)
    at = _at(day)
    return {"id": id, "city": city, "at": at, "price": value, "ratio": 0.5, "day": at.date()}


def _appended(table: Table, rows: list[Row]) -> None:
    table.append(pa.Table.from_pylist(rows, schema=_ARROW))


def test_partitions_have_counts_and_bounds(asked: Asked) -> None:
    table = asked.made()
    assert asked.rows('SELECT * FROM "sales$partitions"') == []
    _appended(table, [_sale(1, "Köln", 1), _sale(7, "Köln", 1, None), _sale(None, None, 2)])
    _appended(table, [_sale(-5, "Köln", 1, "-2.25")])
    found = asked.rows('SELECT * FROM shop."sales$partitions" ORDER BY record_count')
    assert [{k: v for k, v in one.items() if k != "total_size"} for one in found] == [
        {
            "partition": {"city": None, "at_day": dt.date(2026, 1, 2)},
            "record_count": 1,
            "file_count": 1,
            "data": {
                "id": {"min": None, "max": None, "null_count": 1, "nan_count": None},
                "at": {"min": _at(2), "max": _at(2), "null_count": 0, "nan_count": None},
                "price": {
                    "min": Decimal("1.50"),
                    "max": Decimal("1.50"),
                    "null_count": 0,
                    "nan_count": None,
                },
                "ratio": {"min": 0.5, "max": 0.5, "null_count": 0, "nan_count": None},
            },
        },
        {
            "partition": {"city": "Köln", "at_day": dt.date(2026, 1, 1)},
            "record_count": 3,
            "file_count": 2,
            "data": {
                "id": {"min": -5, "max": 7, "null_count": 0, "nan_count": None},
                "at": {"min": _at(1), "max": _at(1), "null_count": 0, "nan_count": None},
                "price": {
                    "min": Decimal("-2.25"),
                    "max": Decimal("1.50"),
                    "null_count": 1,
                    "nan_count": None,
                },
                "ratio": {"min": 0.5, "max": 0.5, "null_count": 0, "nan_count": None},
            },
        },
    ]
    sizes = sum(one.file.file_size_in_bytes for one in table.scan().plan_files())
    assert sum(one["total_size"] for one in found) == sizes
    text = 'SELECT partition.at_day AS d, file_count FROM "sales$partitions"'
    found = asked.rows(f"{text} ORDER BY 1 DESC LIMIT 1")
    assert found == [{"d": dt.date(2026, 1, 2), "file_count": 1}]
    named = 'SELECT p.partition.city FROM "sales$partitions" AS p'
    with pytest.raises(UntranslatedError):
        asked.ask(named)


def test_partitions_of_another_spec(asked: Asked) -> None:
    """A column by which files were partitioned has bounds once it's no partition any more."""
    table = asked.made()
    _appended(table, [_sale(1, "Köln", 1), _sale(2, None, 1)])
    with table.update_spec() as update:
        update.remove_field("city").add_field("id", IdentityTransform(), "id_part")
    _appended(table, [_sale(3, "Aachen", 1), _sale(3, "Zürich", 1)])
    found = asked.rows('SELECT * FROM "sales$partitions" ORDER BY record_count, file_count')
    assert list(found[0]["partition"]) == ["city", "at_day", "id_part"]
    cities = [(one["partition"]["city"], one["data"]["city"]) for one in found]
    assert sorted(cities, key=str) == sorted(
        [
            ("Köln", {"min": "Köln", "max": "Köln", "null_count": 0, "nan_count": None}),
            (None, {"min": None, "max": None, "null_count": 1, "nan_count": None}),
            (None, {"min": "Aachen", "max": "Zürich", "null_count": 0, "nan_count": None}),
        ],
        key=str,
    )
    assert [one["record_count"] for one in found] == [1, 1, 2]


def test_partitions_of_a_table_without_any(asked: Asked) -> None:
    table = asked.made(spec=PartitionSpec())
    _appended(table, [_sale(1, "a", 1), _sale(2, "b", 2)])
    (found,) = asked.rows('SELECT * FROM "sales$partitions"')
    assert list(found) == ["record_count", "file_count", "total_size", "data"]
    assert (found["record_count"], found["file_count"]) == (2, 1)
    assert found["data"]["city"] == {"min": "a", "max": "b", "null_count": 0, "nan_count": None}


_SALES = st.builds(
    _sale,
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([None, "a", "b", 'it\'s "c"']),
    st.integers(1, 3),
    st.sampled_from([None, "0.00", "-99999999.99", "12.34"]),
)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(appends=st.lists(st.lists(_SALES, min_size=1, max_size=6), max_size=3))
def test_partitions_sum_up_the_rows(
    tmp_path_factory: pytest.TempPathFactory, appends: list[list[Row]]
) -> None:
    """What is told of partitions is what their rows say."""
    asked = Asked(tmp_path_factory.mktemp("lake"))
    table = asked.made()
    expected: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    files: dict[tuple[Any, ...], int] = defaultdict(int)
    for rows in appends:
        _appended(table, rows)
        for key in {(one["city"], one["at"].date()) for one in rows}:
            files[key] += 1
        for one in rows:
            expected[one["city"], one["at"].date()].append(one)
    found = asked.rows('SELECT * FROM "sales$partitions"')
    assert len(found) == len(expected)
    for one in found:
        key = tuple(one["partition"].values())
        rows = expected[key]
        assert (one["record_count"], one["file_count"]) == (len(rows), files[key])
        for name in ("id", "price"):
            values = [row[name] for row in rows if row[name] is not None]
            told = one["data"][name]
            assert told["null_count"] == len(rows) - len(values)
            assert told["min"] == min(values, default=None)
            assert told["max"] == max(values, default=None)


def test_snapshots_history_and_refs(asked: Asked) -> None:
    table = asked.made()
    _appended(table, [_sale(1, "a", 1)])
    _appended(table, [_sale(2, "b", 1)])
    first, second = table.snapshots()
    table.manage_snapshots().create_tag(first.snapshot_id, "old").commit()
    found = asked.rows('SELECT * FROM "sales$snapshots" ORDER BY committed_at, parent_id')
    assert [one["snapshot_id"] for one in found] == [first.snapshot_id, second.snapshot_id]
    assert [one["parent_id"] for one in found] == [None, first.snapshot_id]
    assert {one["operation"] for one in found} == {"append"}
    assert found[0]["manifest_list"] == first.manifest_list
    assert dict(found[1]["summary"])["total-records"] == "2"
    assert found[0]["committed_at"] == dt.datetime.fromtimestamp(first.timestamp_ms / 1000, dt.UTC)
    types = asked.ask('SELECT * FROM "sales$snapshots"').schema
    assert types.field("committed_at").type == pa.timestamp("ms", tz="UTC")

    table.manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()
    history = asked.rows('SELECT * FROM "sales$history" ORDER BY made_current_at')
    assert [(one["snapshot_id"], one["is_current_ancestor"]) for one in history] == [
        (first.snapshot_id, True),
        (second.snapshot_id, False),
        (first.snapshot_id, True),
    ]
    refs = asked.rows('SELECT name, type, snapshot_id FROM "sales$refs" ORDER BY name')
    assert [tuple(one.values()) for one in refs] == [
        ("main", "BRANCH", first.snapshot_id),
        ("old", "TAG", first.snapshot_id),
    ]
    joined = (
        'SELECT h.snapshot_id, s.operation FROM "sales$history" h JOIN "sales$snapshots" s'
        " ON h.snapshot_id = s.snapshot_id WHERE h.is_current_ancestor = false"
    )
    assert asked.rows(joined) == [{"snapshot_id": second.snapshot_id, "operation": "append"}]


def test_manifests_properties_and_the_log_of_metadata(asked: Asked) -> None:
    table = asked.made()
    assert asked.rows('SELECT * FROM "sales$manifests"') == []
    _appended(table, [_sale(1, "b", 1), _sale(2, "a", 1), _sale(3, None, 2)])
    with table.transaction() as transaction:
        transaction.set_properties({"owner": "it's ann"})
    (found,) = asked.rows('SELECT * FROM "sales$manifests"')
    (manifest,) = table.current_snapshot().manifests(table.io)
    assert (found["path"], found["length"]) == (manifest.manifest_path, manifest.manifest_length)
    assert (found["content"], found["added_data_files_count"], found["added_rows_count"]) == (
        0,
        3,
        3,
    )
    assert found["partition_summaries"] == [
        {"contains_null": True, "contains_nan": False, "lower_bound": "a", "upper_bound": "b"},
        {
            "contains_null": False,
            "contains_nan": False,
            "lower_bound": "2026-01-01",
            "upper_bound": "2026-01-02",
        },
    ]
    assert asked.rows('SELECT * FROM "sales$properties" WHERE "key" = \'owner\'') == [
        {"key": "owner", "value": "it's ann"}
    ]
    log = asked.rows('SELECT * FROM "sales$metadata_log_entries"')
    assert [one["file"] for one in log] == [
        *(one.metadata_file for one in table.metadata.metadata_log),
        table.metadata_location,
    ]
    snapshot = table.current_snapshot().snapshot_id
    assert [one["latest_snapshot_id"] for one in log] == [None, snapshot, snapshot]
    assert [one["latest_sequence_number"] for one in log] == [None, 1, 1]


def test_a_commit_is_seen_at_once(asked: Asked) -> None:
    table = asked.made()
    for count in range(1, 4):
        _appended(table, [_sale(count, "a", 1)])
        assert asked.rows('SELECT count(*) AS n FROM "sales$snapshots"') == [{"n": count}]


def test_their_columns_are_shown(asked: Asked) -> None:
    asked.made()
    found = asked.request(nodes.TrinoShowColumns(("shop", "sales$partitions")))
    assert found is not None
    assert dict(zip(*(found.column(at).to_pylist() for at in (0, 1)), strict=True)) == {
        "partition": "row(city varchar, at_day date)",
        "record_count": "bigint",
        "file_count": "bigint",
        "total_size": "bigint",
        "data": "row(id row(min bigint, max bigint, null_count bigint, nan_count bigint),"
        " at row(min timestamp(6) with time zone, max timestamp(6) with time zone,"
        " null_count bigint, nan_count bigint),"
        " price row(min decimal(10,2), max decimal(10,2), null_count bigint, nan_count bigint),"
        " ratio row(min double, max double, null_count bigint, nan_count bigint))",
    }
    found = asked.request(nodes.TrinoShowColumns(("sales$snapshots",), "s%"))
    assert found is not None
    assert found.column("Type").to_pylist() == ["bigint", "map(varchar, varchar)"]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ('SELECT * FROM "nothing$snapshots"', UnknownTableError),
        ('SELECT * FROM "hidden$snapshots"', AccessDeniedError),
        ('SELECT * FROM "hidden$partitions"', AccessDeniedError),
        ('SELECT * FROM "sales$snapshots" JOIN sales ON true', UntranslatedError),
        ('SELECT * FROM "sales$snapshots", "sales$partitions"', UntranslatedError),
        ('SELECT * FROM "sales$files", "sales$snapshots"', UntranslatedError),
        ('SELECT * FROM "sales$snapshots" FOR VERSION AS OF 1', UntranslatedError),
    ],
)
def test_what_is_refused(asked: Asked, sql: str, error: type[AcceleratorError]) -> None:
    asked.made()
    asked.made("hidden")
    asked.unread = {"hidden"}
    with pytest.raises(error):
        asked.ask(sql)


def test_without_a_say_nobody_may_read(asked: Asked) -> None:
    asked.made()
    with pytest.raises(AccessDeniedError):
        asked.metadata.answer(nodes.RunStatement('SELECT * FROM "sales$refs"'), _ANN, _everything)


def test_a_name_of_with_is_no_table(asked: Asked) -> None:
    text = 'WITH "a$refs" AS (SELECT 1 AS x) SELECT * FROM "a$refs"'
    assert asked.request(nodes.RunStatement(text)) is None


def test_a_name_of_with_hides_no_table(asked: Asked) -> None:
    _appended(asked.made(), [_sale(1, "Köln", 1)])
    for name in ("virtual_0", "VIRTUAL_0", "virtual__0", "virtual_"):
        text = f"WITH {name} AS (SELECT 'x' AS name) SELECT r.name FROM \"sales$refs\" r, {name}"
        assert asked.rows(text) == [{"name": "main"}]
