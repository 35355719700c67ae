"""Appends to real tables: once for a key, all or nothing, whoever commits meanwhile."""

from __future__ import annotations

import datetime
import decimal
import sys
import threading
import uuid
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.expressions import EqualTo, IsNull
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    UUIDType,
)
from pyiceberg.utils.datetime import datetime_to_micros

import accelerator
from accelerator.iceberg.errors import CatalogReadOnlyError, ManifestError
from accelerator.iceberg.io import local_path
from accelerator.iceberg.writes import append as table_append
from accelerator.iceberg.writes.errors import (
    AppendConflictError,
    AppendKeyError,
    AppendUnknownError,
    AppendUnsupportedError,
    IngestError,
    IngestSchemaError,
)
from accelerator.iceberg.writes.partition import partitioned
from accelerator.services.ingest import append as ingest
from accelerator.services.ingest.append import append
from accelerator.services.ingest.conform import Conform
from rewrite.errors import UnknownTableError
from tests.gateway.support import catalog_of

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "city", StringType()),
    NestedField(3, "k", IntegerType()),
    NestedField(4, "at", TimestampType()),
)
NAME = ("lake", "shop", "t")


def rows(n, first=0):
    at = datetime.datetime(2026, 1, 1)
    return pa.table(
        {
            "id": pa.array(range(first, first + n), pa.int64()),
            "city": [("Köln", "a/b=c", None)[i % 3] for i in range(n)],
            "k": pa.array([i % 5 for i in range(n)], pa.int64()),
            "at": pa.array([at + datetime.timedelta(hours=8 * (i % 9)) for i in range(n)]),
        }
    )


class World:
    def __init__(self, folder):
        self.folder = folder
        self.catalog = catalog_of(folder / "lake")
        self.catalog.create_namespace("shop")
        self.session = accelerator.open(str(folder / "lake"))
        self.number = 0

    def table(self, *fields, **properties):
        self.catalog.create_table(
            "shop.t", SCHEMA, partition_spec=PartitionSpec(*fields), properties=properties
        )

    def append(self, table, key="key", digest="d", **more):
        self.number += 1
        path = self.folder / f"upload{self.number}"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
        return append(self.session.services.lake, NAME, path, key, digest, **more)

    def held(self):
        table = self.catalog.load_table("shop.t").scan().to_arrow()
        return sorted(table.to_pylist(), key=lambda row: row["id"])

    def files(self):
        return sorted(Path(self.folder).rglob("*.parquet"))

    def snapshots(self):
        return self.catalog.load_table("shop.t").metadata.snapshots


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.session.close()
    made.catalog.engine.dispose()


PARTITIONED = {
    "plain": (),
    "by value": (PartitionField(2, 1000, IdentityTransform(), "city"),),
    "by two": (
        PartitionField(4, 1000, DayTransform(), "day"),
        PartitionField(3, 1001, IdentityTransform(), "k"),
    ),
}


@pytest.mark.parametrize("fields", PARTITIONED.values(), ids=PARTITIONED)
def test_rows_are_appended_once_for_their_key(world, fields):
    world.table(*fields)
    first = world.append(rows(40), "one")
    assert (first.rows, first.repeated) == (40, False)
    again = world.append(rows(40), "one")
    assert again.repeated
    assert again.snapshot_id == first.snapshot_id
    assert (again.rows, again.files, again.bytes) == (first.rows, first.files, first.bytes)
    world.append(rows(3, 40), "two")
    assert world.append(rows(40), "one").repeated
    assert world.held() == rows(40).to_pylist() + rows(3, 40).to_pylist()
    with pytest.raises(AppendKeyError):
        world.append(rows(1, 99), "one", "other digest")
    found = world.session.query("SELECT count(*) AS n FROM shop.t").arrow()
    assert found.to_pylist() == [{"n": 43}]


def test_small_portions_are_one_commit(world):
    world.table(*PARTITIONED["by value"])
    assert world.append(rows(50), portion_bytes=300).files > 10
    assert len(world.snapshots()) == 1
    assert world.held() == rows(50).to_pylist()


def test_nothing_is_committed_of_no_rows(world):
    world.table()
    assert world.append(rows(0)).snapshot_id is None
    assert not world.snapshots()


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (rows(20).drop_columns("id"), IngestSchemaError),
        (rows(20).append_column("more", pa.nulls(20)), IngestSchemaError),
        (rows(20).set_column(2, "k", pa.array([1] * 19 + [2**40])), IngestSchemaError),
        (rows(20).set_column(0, "id", pa.array([1] * 19 + [None], pa.int64())), IngestSchemaError),
    ],
)
def test_what_is_wrong_leaves_no_file(world, table, error):
    world.table()
    with pytest.raises(error):
        world.append(table, portion_bytes=100)
    assert not world.files()
    assert not world.snapshots()


def test_a_damaged_list_of_manifests_is_never_given_to_pyiceberg(world, monkeypatch):
    """Its decoder takes the lengths in the list for true."""
    world.table()
    world.append(rows(3))
    path = Path(local_path(world.snapshots()[-1].manifest_list))
    monkeypatch.setattr(Snapshot, "manifests", lambda *_: pytest.fail("PyIceberg reads it"))
    path.write_bytes(path.read_bytes()[:-40])
    before = world.files()
    with pytest.raises(ManifestError, match=r"cut off|behind|should"):
        world.append(rows(3, 3), "another")
    assert world.files() == before
    assert len(world.snapshots()) == 1


def test_one_that_is_stopped_leaves_no_file(world):
    world.table()

    def check():
        if world.files():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.append(rows(50), portion_bytes=100, check=check)
    assert not world.files()
    assert not world.snapshots()


def test_too_many_partitions_are_refused(world, monkeypatch):
    monkeypatch.setattr(table_append, "PARTITIONS_MAX", 10)
    world.table(PartitionField(1, 1000, IdentityTransform(), "id"))
    world.append(rows(10))
    before = world.files()
    with pytest.raises(IngestError, match="partitions"):
        world.append(rows(11), "two")
    assert world.files() == before


def test_tables_that_are_not_written_here(world):
    with pytest.raises(UnknownTableError):
        world.append(rows(1))
    for properties, why in (
        ({"write.format.default": "avro"}, "avro"),
        ({"accelerator.published.cube": "c"}, "PUBLISH CUBE"),
    ):
        world.table(**properties)
        with pytest.raises(AppendUnsupportedError, match=why):
            world.append(rows(1))
        world.catalog.drop_table("shop.t")
    world.table()
    lake = world.session.services.lake.catalogs["lake"]
    lake.set_properties(NAME[1:], {"write.py-location-provider.impl": "no.such.Class"})
    with pytest.raises(AppendUnsupportedError, match="a class of Python"):
        world.append(rows(1))


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("write.parquet.page-row-limit", "-1", AppendUnsupportedError),
        ("write.parquet.row-group-limit", "0", AppendUnsupportedError),
        ("write.parquet.page-size-bytes", "9" * 30, AppendUnsupportedError),
        ("write.parquet.compression-codec", "none of them", CatalogReadOnlyError),
        ("write.metadata.metrics.default", "none of them", CatalogReadOnlyError),
    ],
)
def test_what_properties_do_not_allow_leaves_no_file(world, name, value, error):
    world.table()
    world.session.services.lake.catalogs["lake"].set_properties(NAME[1:], {name: value})
    with pytest.raises(error):
        world.append(rows(20), portion_bytes=100)
    assert not world.files()
    assert not world.snapshots()


def test_a_table_names_no_class_that_is_imported(world):
    imported = "this.s"  # Python's own module that prints
    world.table()
    lake = world.session.services.lake.catalogs["lake"]
    lake.set_properties(NAME[1:], {"py-io-impl": imported, "s3.endpoint": "http://elsewhere"})
    assert world.append(rows(2)).rows == 2
    assert "this" not in sys.modules
    assert not {"py-io-impl", "s3.endpoint"} & set(lake.loaded(NAME[1:]).io.properties)


def test_partitions_that_are_not_computed_here(world):
    world.catalog.create_table(
        "shop.t",
        Schema(NestedField(1, "x", DoubleType())),
        partition_spec=PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "x")),
    )
    with pytest.raises(AppendUnsupportedError, match="floating"):
        world.append(pa.table({"x": [float("nan")]}))


def test_a_partition_of_a_column_that_was_dropped_moves_no_value(world):
    """Of format 1 the field stays, as void; PyIceberg would put the city under it."""
    world.table(
        PartitionField(3, 1000, IdentityTransform(), "k"),
        PartitionField(2, 1001, IdentityTransform(), "city"),
        **{"format-version": "1"},
    )
    with world.catalog.load_table("shop.t").update_spec() as change:
        change.remove_field("k")
    assert world.append(rows(6)).rows == 6
    with world.catalog.load_table("shop.t").update_schema() as change:
        change.delete_column("k")
    with pytest.raises(AppendUnsupportedError, match="column was dropped"):
        world.append(rows(6).drop_columns("k"), "another")


LEAST = {
    "int": (IntegerType(), -(2**31)),
    "long": (LongType(), -(2**63)),
    "decimal": (DecimalType(29, 2), decimal.Decimal("-999999999999999999999999999.99")),
}


@pytest.mark.parametrize("kind", LEAST)
def test_values_whose_truncated_ones_no_type_holds_are_refused(world, kind):
    type_, least = LEAST[kind]
    width = 7
    world.catalog.create_table(
        "shop.t",
        Schema(NestedField(1, "p", type_)),
        partition_spec=PartitionSpec(PartitionField(1, 1000, TruncateTransform(width), "cut")),
    )
    column = world.catalog.load_table("shop.t").schema().as_arrow().field("p").type
    with pytest.raises(IngestSchemaError, match="column p is of no partition"):
        world.append(pa.table({"p": pa.array([least], column)}))
    step = decimal.Decimal("0.01") if kind == "decimal" else 1
    with decimal.localcontext(prec=50):
        assert world.append(pa.table({"p": pa.array([least + width * step], column)})).rows == 1


def test_a_client_s_own_batches_are_cut(world, monkeypatch):
    sizes = []
    wanted = Conform.batch

    def batch(self, sent):
        sizes.append(sent.num_rows)
        return wanted(self, sent)

    monkeypatch.setattr(Conform, "batch", batch)
    monkeypatch.setattr(ingest, "_PIECE_ROWS", 3)
    world.table()
    assert world.append(rows(20)).rows == 20
    assert max(sizes) == 3
    assert [row["id"] for row in world.held()] == list(range(20))


def test_refusals_tell_no_password(world, monkeypatch):
    world.table()

    def refuse():
        raise OSError("db://me:hidden1@host\nrefused")

    Meddler(monkeypatch, world, refuse)
    with pytest.raises(AppendUnknownError) as found:
        world.append(rows(2))
    assert "hidden1" not in found.value.message
    assert len(found.value.message.splitlines()) == 1


TRANSFORMS = st.sampled_from(
    [
        *((4, one) for one in (YearTransform(), MonthTransform(), DayTransform(), HourTransform())),
        *((field, BucketTransform(4)) for field in (1, 2, 3, 4)),
        *((field, TruncateTransform(2)) for field in (1, 2, 3)),
        *((field, IdentityTransform()) for field in (1, 2, 3, 4)),
        (2, VoidTransform()),
    ]
)
VALUES = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1),
        st.one_of(st.none(), st.text(max_size=4)),
        st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)),
        st.one_of(st.none(), st.datetimes()),
    ),
    max_size=30,
)


@settings(deadline=None, max_examples=150)
@given(st.lists(TRANSFORMS, min_size=1, max_size=3), VALUES)
def test_each_row_is_in_the_partition_of_its_values(transforms, values):
    spec = PartitionSpec(
        *(
            PartitionField(source, 1000 + number, transform, f"p{number}")
            for number, (source, transform) in enumerate(transforms)
        )
    )
    names = [one.name for one in SCHEMA.fields]
    columns = [pa.array([row[i] for row in values], target().field(i).type) for i in range(4)]
    table = pa.Table.from_arrays(columns, names=names).append_column(
        "place", pa.array(range(len(values)), pa.int64())
    )
    seen, keys = [], set()
    for key, part in partitioned(spec, SCHEMA, table, 10**6):
        assert key.partition not in keys
        keys.add(key.partition)
        places = part.column("place").to_pylist()
        assert places == sorted(places)
        seen += places
        for place in places:
            for (source, transform), found in zip(transforms, key.partition, strict=True):
                value = values[place][source - 1]
                if isinstance(value, datetime.datetime):
                    value = datetime_to_micros(value)
                wanted = transform.transform(SCHEMA.find_field(source).field_type)(value)
                assert found == wanted
    assert sorted(seen) == list(range(len(values)))


class Meddler:
    """Does something right before each commit of PyIceberg's."""

    def __init__(self, monkeypatch, world, *acts):
        self.acts = list(acts)
        catalog = world.session.services.lake.catalogs["lake"]._open()
        real = catalog.commit_table

        def commit(*given):
            act = self.acts.pop(0) if self.acts else None
            after = act() if act is not None else None
            found = real(*given)
            if after is not None:
                after()
            return found

        monkeypatch.setattr(catalog, "commit_table", commit)


def test_another_commit_is_no_harm(world, monkeypatch):
    world.table()

    def other():
        world.catalog.load_table("shop.t").append(rows(2, 100).cast(target()))

    Meddler(monkeypatch, world, other, other)
    assert world.append(rows(5)).rows == 5
    assert world.held() == [
        *rows(5).to_pylist(),
        *(rows(2, 100).to_pylist()[i // 2] for i in range(4)),
    ]


def target():
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return schema_to_pyarrow(SCHEMA, include_field_ids=False)


def test_a_key_belongs_to_its_user(world):
    world.table()
    assert not world.append(rows(3), "one", "a", user="ann").repeated
    assert world.append(rows(3), "one", "a", user="ann").repeated
    # Neither a repetition nor other rows: another user's key is another key.
    assert not world.append(rows(3, 10), "one", "a", user="bob").repeated
    assert not world.append(rows(3, 20), "one", "b", user="").repeated
    for user, digest in (("ann", "a"), ("bob", "a"), ("", "b")):
        assert world.append(rows(3), "one", digest, user=user).repeated
        with pytest.raises(AppendKeyError):
            world.append(rows(3), "one", "other", user=user)
    assert len(world.held()) == 9
    told = [one.summary.additional_properties for one in world.snapshots()]
    assert len({one[table_append.OWNER] for one in told}) == 3
    assert not [one for one in told if "ann" in str(one) or "bob" in str(one)]


def test_keys_of_version_1_are_everybodys(world, monkeypatch):
    world.table()
    first = Transaction.update_snapshot

    def without_owner(self, properties):
        return first(self, {k: v for k, v in properties.items() if k != table_append.OWNER})

    with monkeypatch.context() as before:
        before.setattr(Transaction, "update_snapshot", without_owner)
        world.append(rows(3), "one", "a")
    for user in ("ann", "bob", ""):
        assert world.append(rows(3), "one", "a", user=user).repeated
        with pytest.raises(AppendKeyError):
            world.append(rows(3), "one", "b", user=user)
    assert len(world.held()) == 3


def test_the_owner_is_as_the_format_says():
    text = b'["\\u00e4nn", "key-0001"]'
    assert (
        table_append.owner_of("\u00e4nn", "key-0001") == blake2b(text, digest_size=16).hexdigest()
    )


def test_the_same_append_by_another_process_counts_once(world, monkeypatch):
    world.table()
    Meddler(monkeypatch, world, lambda: world.append(rows(5)) and None)
    found = world.append(rows(5))
    assert found.repeated
    assert world.held() == rows(5).to_pylist()
    assert len(world.files()) == 1


def test_others_that_keep_committing_are_told_and_leave_no_file(world, monkeypatch):
    monkeypatch.setattr(table_append, "_WAIT_S", 0.0)
    world.table()

    def fail():
        raise CommitFailedException("no")

    Meddler(monkeypatch, world, *[fail] * 50)
    with pytest.raises(AppendConflictError):
        world.append(rows(5))
    assert not world.files()


def test_a_changed_table_is_a_conflict(world, monkeypatch):
    world.table()

    def change():
        with world.catalog.load_table("shop.t").update_schema() as update:
            update.add_column("new", StringType())
        raise CommitFailedException("no")

    Meddler(monkeypatch, world, change)
    with pytest.raises(AppendConflictError, match="columns"):
        world.append(rows(5))
    assert not world.files()


def test_a_lost_answer_is_looked_up(world, monkeypatch):
    world.table()

    def lose():
        def after():
            raise OSError("the line is dead")

        return after

    def refuse():
        raise OSError("the line is dead")

    Meddler(monkeypatch, world, lose, refuse)
    assert world.append(rows(5)).rows == 5
    assert world.held() == rows(5).to_pylist()
    with pytest.raises(AppendUnknownError):
        world.append(rows(5, 50), "two")
    assert len(world.files()) == 2  # the second one might still be committed
    assert not world.append(rows(5, 50), "two").repeated
    assert world.append(rows(5, 50), "two").repeated
    assert len(world.held()) == 10


def test_rows_that_were_committed_stay_whatever_is_raised(world, monkeypatch):
    """Ctrl-C as the catalog answers: the snapshot holds the files by then."""
    world.table()
    commit = Transaction.commit_transaction

    def interrupted(self):
        commit(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(Transaction, "commit_transaction", interrupted)
    with pytest.raises(KeyboardInterrupt):
        world.append(rows(9))
    monkeypatch.undo()
    assert world.held() == rows(9).to_pylist()
    assert world.append(rows(9)).repeated


def test_a_refusal_is_told_without_a_file(world, monkeypatch):
    from pyiceberg.exceptions import ForbiddenError

    world.table()

    def refuse():
        raise ForbiddenError("not you")

    Meddler(monkeypatch, world, refuse)
    with pytest.raises(CatalogReadOnlyError, match="not you"):
        world.append(rows(5))
    assert not world.files()


def test_many_at_once_are_each_appended_once(world):
    world.table()
    done = []

    def go(number):
        done.append(world.append(rows(10, 10 * (number // 2)), f"key {number // 2}"))

    threads = [threading.Thread(target=go, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(done) == 6
    assert sum(one.repeated for one in done) == 3
    assert [row["id"] for row in world.held()] == list(range(30))


TYPED = {
    "date": (DateType(), [datetime.date(1969, 12, 31), datetime.date(2026, 1, 1), None]),
    "timestamp": (TimestampType(), [datetime.datetime(1969, 12, 31, 23), None]),
    "decimal": (DecimalType(9, 2), [decimal.Decimal("-1.50"), decimal.Decimal("7.00"), None]),
    "binary": (BinaryType(), [b"\x00/", b"", None]),
    "boolean": (BooleanType(), [True, False, None]),
    "uuid": (UUIDType(), [uuid.UUID(int=1), uuid.UUID(int=2**127), None]),
    "text": (StringType(), ["a=b/ü%2F", "", None]),
}


@pytest.mark.parametrize("kind", TYPED)
def test_partitions_by_values_of_any_type_are_found_again(world, kind):
    type_, values = TYPED[kind]
    world.catalog.create_table(
        "shop.t",
        Schema(NestedField(1, "p", type_), NestedField(2, "n", LongType())),
        partition_spec=PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "p")),
    )
    column = pa.array(values * 2, pa.uuid() if kind == "uuid" else None)
    sent = pa.table({"p": column, "n": list(range(2 * len(values)))})
    assert world.append(sent).files == len(values)
    table = world.catalog.load_table("shop.t")
    for value in values if kind != "uuid" else ():  # PyIceberg finds none, whoever wrote it
        wanted = IsNull("p") if value is None else EqualTo("p", value)
        found = table.scan(row_filter=wanted).to_arrow().to_pylist()
        assert [row["p"] for row in found] == [value, value]
    found = world.session.query("SELECT p, count(*) AS n FROM shop.t GROUP BY p").arrow()
    assert sorted(map(str, found["p"].to_pylist())) == sorted(map(str, values))
    assert set(found["n"].to_pylist()) == {2}
