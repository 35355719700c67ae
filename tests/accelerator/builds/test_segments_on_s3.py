"""Cubes whose store is on S3, built and read in process, without Spark.

Strategy: tables and store are on a real S3 server in this process (`s3_server.py`), whose requests
tests harm. The catalog's keys are the store's too, since nobody gives others. What cubes answer is
compared with the same statement over the rows, asked in a session without cubes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.errors import AcceleratorError, StoreError
from accelerator.session.doctor import examine
from accelerator.store.files import object_store
from accelerator.store.files.files import open_files
from tests.accelerator.store.s3_server import (
    VENDED,
    HarmfulDoor,
    make_bucket,
    options_of,
    serving,
)

CUBE = (
    "CREATE CUBE c AS SELECT g, at, count(*) AS n, sum(v) AS s, min(x) AS lo, count(DISTINCT v) AS"
    " k FROM d.t GROUP BY g, at"
)
ASKED = (
    "SELECT g, at, count(*) AS n, sum(v) AS s, min(x) AS lo, count(DISTINCT v) AS k FROM d.t"
    " GROUP BY g, at ORDER BY g NULLS FIRST, at"
)


class Bucket:
    """A bucket with one table and the store, and the sessions over it."""

    def __init__(self, door: HarmfulDoor, endpoint: str, name: str, folder: Path) -> None:
        self.door, self.folder = door, folder
        keys = options_of(endpoint)
        self.properties = {
            "warehouse": f"s3://{name}/files",
            "s3.endpoint": endpoint,
            "s3.region": "us-east-1",
            "s3.access-key-id": keys["aws_access_key_id"],
            "s3.secret-access-key": keys["aws_secret_access_key"],
        }
        self.uri = f"sqlite:///{folder / 'shop.db'}"
        self.files = open_files(f"s3://{name}/files/.accelerator", keys)
        self.catalog = SqlCatalog("shop", uri=self.uri, **self.properties)
        self.catalog.create_namespace("d")
        rows = self.rows(0, 6)
        self.catalog.create_table("d.t", rows.schema)
        self.append(0, 6)
        self.append(6, 11)

    @staticmethod
    def rows(first: int, after: int) -> pa.Table:
        numbers = range(first, after)
        return pa.table(
            {
                "g": [None if n % 5 == 0 else f"g'{n % 3}" for n in numbers],
                "at": pa.array([n % 2 * 3_600_000_000 for n in numbers], pa.timestamp("us", "UTC")),
                "v": pa.array([n * 2**33 for n in numbers], pa.int64()),
                "x": pa.array([n / 4 for n in numbers], pa.float64()),
            }
        )

    def append(self, first: int, after: int) -> None:
        self.catalog.load_table("d.t").append(self.rows(first, after))

    def open(self, **settings: Any) -> Accelerator:
        given = {
            "catalog_name": "shop",
            "catalog_uri": self.uri,
            "catalog_properties": self.properties,
            "segment_cache_folder": str(self.folder / "copies"),
        }
        return accelerator.open(**{**given, **settings})

    def plain(self, sql: str) -> list[tuple[Any, ...]]:
        with self.open(store=str(self.folder / "no cubes")) as acc:
            found = acc.query(sql)
            assert found.metrics.cubes == ()
            return list(found)

    @property
    def segments(self) -> list[str]:
        return [path for path in self.files.list("tables") if path.endswith(".parquet")]

    @property
    def copies(self) -> list[Path]:
        return sorted((self.folder / "copies").glob("*"))


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[HarmfulDoor, str]]:
    with serving() as made:
        yield made


@pytest.fixture
def bucket(
    server: tuple[HarmfulDoor, str], tmp_path: Path, request: pytest.FixtureRequest, no_java: None
) -> Iterator[Bucket]:
    door, endpoint = server
    name = f"b{abs(hash(request.node.name)) % 10**9}"
    make_bucket(endpoint, name)
    made = Bucket(door, endpoint, name, tmp_path)
    yield made
    door.share, door.plan = 0.0, []
    made.catalog.engine.dispose()


def answered(acc: Accelerator, sql: str = ASKED) -> list[tuple[Any, ...]]:
    found = acc.query(sql)
    assert (found.metrics.cubes, found.metrics.fallback) == (("c",), None)
    return list(found)


def test_a_cube_in_a_warehouse_on_s3_is_built_kept_fresh_merged_and_read(bucket: Bucket) -> None:
    with bucket.open() as acc:
        acc.query(CUBE)
        assert len(bucket.segments) == 1
        assert answered(acc) == bucket.plain(ASKED)
        bucket.append(11, 14)
        found = acc.query(ASKED)
        assert found.metrics.cubes == ("c",) and list(found) == bucket.plain(ASKED)
        acc.query("BUILD CUBE c")
        assert len(bucket.segments) == 2
        assert answered(acc) == bucket.plain(ASKED)
        acc.query("COMPACT CUBE c")
        assert len(bucket.segments) == 3
        assert answered(acc) == bucket.plain(ASKED)
        (row,) = acc.query("SHOW CUBES").arrow().to_pylist()
        assert row["cube"] == "c"


def test_a_coarser_cube_is_made_of_a_finer_one(bucket: Bucket) -> None:
    with bucket.open() as acc:
        acc.query(CUBE)
        acc.query("CREATE CUBE coarse AS SELECT g, count(*) AS n, sum(v) AS s FROM d.t GROUP BY g")
        found = acc.query("SELECT g, sum(v) AS s FROM d.t GROUP BY g ORDER BY g")
        assert found.metrics.cubes == ("coarse",)
        assert list(found) == bucket.plain("SELECT g, sum(v) AS s FROM d.t GROUP BY g ORDER BY g")
        registry = acc.services.store.registry()
        record = registry.cubes["coarse"]
        (first, _) = acc.services.store.table(record.table_uuid).of(record.id)
        assert first.facts["derived_from"] == registry.cubes["c"].id


def test_segments_are_fetched_once_and_copies_may_go(bucket: Bucket) -> None:
    with bucket.open() as acc:
        acc.query(CUBE)
    expected = bucket.plain(ASKED)
    for copy in bucket.copies:
        copy.unlink()
    with bucket.open() as acc:
        acc.query("SELECT count(*) AS n FROM d.t")
        assert bucket.copies == []
        assert answered(acc) == expected
        (copy,) = bucket.copies
        assert copy.parent.stat().st_mode & 0o777 == 0o700
        bucket.door.counts.clear()
        assert answered(acc, f"{ASKED} LIMIT 100") == expected
        again = dict(bucket.door.counts)
        copy.unlink()
        assert answered(acc, f"{ASKED} LIMIT 101") == expected
        assert bucket.door.counts["GET"] > again.get("GET", 0)
    with bucket.open() as acc:  # of another process, say
        assert answered(acc) == expected


def test_a_copy_that_was_altered_is_fetched_anew(bucket: Bucket) -> None:
    with bucket.open() as acc:
        acc.query(CUBE)
    (copy,) = bucket.copies
    data = copy.read_bytes()
    copy.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    with bucket.open() as acc:
        assert answered(acc) == bucket.plain(ASKED)
        assert copy.read_bytes() == data
        copy.write_bytes(data[:50])
        assert answered(acc, f"{ASKED} LIMIT 100") == bucket.plain(ASKED)


def test_what_is_larger_than_the_cache_is_not_read_in_process(
    bucket: Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    with bucket.open() as acc:
        acc.query(CUBE)
    for copy in bucket.copies:
        copy.unlink()
    with bucket.open(segment_cache_bytes=100) as acc:
        with pytest.raises(AcceleratorError):  # Spark isn't there to answer
            acc.query(ASKED)
        assert list(acc.fallbacks) == ["engine_failed"]
        assert "more than segment_cache_bytes" in caplog.text


def test_what_is_larger_together_than_the_cache_is_not_fetched_again_and_again(
    bucket: Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    with bucket.open() as acc:
        acc.query(CUBE)
        bucket.append(11, 14)
        acc.query("BUILD CUBE c")
    sizes = [copy.stat().st_size for copy in bucket.copies]
    assert len(sizes) == 2
    for copy in bucket.copies:
        copy.unlink()
    with bucket.open(segment_cache_bytes=sum(sizes) - 1) as acc:
        with pytest.raises(AcceleratorError):  # Spark isn't there to answer
            acc.query(ASKED)
        assert "more than segment_cache_bytes" in caplog.text and bucket.copies == []
    with bucket.open(segment_cache_bytes=sum(sizes)) as acc:
        assert answered(acc) == bucket.plain(ASKED)


@pytest.mark.parametrize("harm", ["refused", "unheard", "twice"])
def test_requests_that_fail_now_and_then_lose_nothing(bucket: Bucket, harm: str) -> None:
    expected = bucket.plain(ASKED)
    with bucket.open() as acc:
        bucket.door.plan = ["", harm] * 20
        acc.query(CUBE)
        bucket.door.plan = []
        for copy in bucket.copies:
            copy.unlink()
        bucket.door.plan = ["", harm] * 20
        assert answered(acc) == expected


def test_a_download_that_breaks_off_gives_no_fewer_rows(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bucket.open() as acc:
        acc.query(CUBE)
    expected = bucket.plain(ASKED)
    monkeypatch.setattr(object_store, "_RETRIES", {"max_retries": 0})
    for number in range(1, 12):
        for copy in bucket.copies:
            copy.unlink()
        with bucket.open() as acc:
            bucket.door.plan = [""] * number + ["cut"] * 3
            try:
                found = list(acc.query(ASKED))
            except AcceleratorError as error:
                assert error.hint
            else:
                assert found == expected
            bucket.door.plan = []
    with bucket.open() as acc:
        assert answered(acc) == expected


def test_keys_that_have_expired_are_a_typed_error_and_lose_no_segment(bucket: Bucket) -> None:
    token = {"aws_access_key_id": VENDED, "aws_session_token": "t"}
    keys = {**dict(bucket.files.options), **token}
    bucket.door.tokens.add("t")
    with bucket.open(store_options=keys) as acc:
        acc.query(CUBE)
        assert answered(acc) == bucket.plain(ASKED)
        for copy in bucket.copies:
            copy.unlink()
        bucket.door.tokens.clear()
        with pytest.raises(AcceleratorError) as raised:  # Spark isn't there to answer
            acc.query(f"{ASKED} LIMIT 100")
        assert raised.value.hint
        bucket.append(11, 14)
        with pytest.raises(StoreError, match=r"s3://.+ (can't be used|refuses access)"):
            acc.query("BUILD CUBE c")
    with bucket.open() as acc:
        found = acc.query(ASKED)
        assert found.metrics.cubes == ("c",) and list(found) == bucket.plain(ASKED)


def test_a_segment_that_is_gone_is_built_anew(bucket: Bucket) -> None:
    with bucket.open() as acc:
        acc.query(CUBE)
        bucket.files.delete(bucket.segments)
        for copy in bucket.copies:
            copy.unlink()
        acc.query("BUILD CUBE c")
        assert answered(acc) == bucket.plain(ASKED)


def test_a_full_vacuum_leaves_what_is_named_and_nothing_else(bucket: Bucket) -> None:
    with bucket.open() as acc:
        acc.query(CUBE)
        kept = bucket.segments
        table = acc.services.store.registry().cubes["c"].table_uuid
        bucket.files.create(f"tables/{table}/cubes/{'a' * 32}/{'b' * 32}/cells.parquet", b"left")
        assert len(bucket.segments) == len(kept) + 1
        acc.query("VACUUM d.t FULL RETAIN 0 HOURS")
        assert bucket.segments == kept
        assert answered(acc) == bucket.plain(ASKED)


def test_doctor_says_where_the_store_and_its_copies_are(bucket: Bucket, tmp_path: Path) -> None:
    with bucket.open() as acc:
        (found,) = (one for one in examine(lambda: acc) if one.check == "store")
        assert found.status == "ok" and str(bucket.folder / "copies") in found.said
    (tmp_path / "a file").touch()
    with bucket.open(segment_cache_folder=str(tmp_path / "a file" / "copies")) as acc:
        (found,) = (one for one in examine(lambda: acc) if one.check == "store")
        assert found.status == "error" and "segment_cache_folder" in found.hint
    with (
        bucket.open(segment_cache_folder=str(tmp_path / "a file" / "copies")) as acc,
        pytest.raises(AcceleratorError, match="can't be written"),
    ):
        acc.query(CUBE)
