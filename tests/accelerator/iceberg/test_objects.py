"""Tables in S3, read by obstore's ranges: what is asked for, what is checked, what fails.

Strategy: a real S3 server in this process behind a door that counts and harms requests; tables that
PyIceberg wrote, read by DuckDB's own reader and by row groups.
Invariants: the rows are those that PyArrow reads, or there is an error; never fewer rows. Bytes
that aren't needed aren't asked for.
"""

from __future__ import annotations

import json
import threading
import time
import uuid

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.common.interrupts import looking
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.engines.duckdb.table_scan import table_scan, with_scans
from accelerator.errors import CancelledError, EngineError
from accelerator.iceberg import CatalogSettings, Lake
from accelerator.iceberg.catalogs.readers import Pointer
from accelerator.iceberg.catalogs.rest import TableAnswer, TableBrief
from accelerator.iceberg.errors import NeedsSparkError, ObjectStoreError
from accelerator.iceberg.objects import stores
from accelerator.iceberg.objects.inputs import ObjectInputs, ObjectStream
from accelerator.iceberg.objects.object_file import ObjectFile
from accelerator.iceberg.rows.row_groups import GroupReader
from rewrite.ir.expr import Column
from tests.accelerator.store.s3_server import KEYS, VENDED, serving

_ROWS, _GROUP, _FILES = 40_000, 10_000, 3
_SUM = "SELECT name, sum(number) AS total FROM t GROUP BY name ORDER BY name"


@pytest.fixture(scope="module")
def server():
    with serving() as made:
        yield made


class World:
    """A bucket with a table of three files, each of four row groups."""

    def __init__(self, door, endpoint, folder):
        self.door, self.bucket = door, f"b{uuid.uuid4().hex[:12]}"
        self.client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **KEYS)
        self.client.create_bucket(Bucket=self.bucket)
        self.properties = {
            "uri": f"sqlite:///{folder / 'c.db'}",
            "warehouse": f"s3://{self.bucket}/lake",
            "s3.endpoint": endpoint,
            "s3.region": "us-east-1",
            "s3.access-key-id": KEYS["aws_access_key_id"],
            "s3.secret-access-key": KEYS["aws_secret_access_key"],
        }
        catalog = SqlCatalog("lake", **self.properties)
        catalog.create_namespace("d")
        options = {"write.parquet.row-group-limit": str(_GROUP)}
        table = None
        for number in range(_FILES):
            rows = _rows(number)
            table = table or catalog.create_table("d.t", rows.schema, properties=options)
            table.append(rows)
        self.engine = DuckDBEngine()
        self.rows = pa.concat_tables(map(_rows, range(_FILES)))

    def pinned(self, **properties):
        settings = CatalogSettings("lake", "sql", {**self.properties, **properties})
        return Lake([settings], "lake", lambda: ("d",)).pin().pinned(("lake", "d", "t"))

    def ask(self, sql, columns, tag="", pinned=None):
        pinned = pinned or self.pinned()
        scan = table_scan(pinned, columns, pinned.live_files(), "t", self.engine, tag)
        return self.engine.run(with_scans({"t": scan.text}, sql), scan.tables, tag=tag)

    def totals(self, **options):
        return self.ask(_SUM, ["name", "number"], **options)

    @property
    def expected(self):
        totals = self.rows.group_by("name").aggregate([("number", "sum")]).sort_by("name")
        return [(one["name"], one["number_sum"]) for one in totals.to_pylist()]

    def data(self):
        """What was sent of data files."""
        return [one for one in self.door.sent if one[0].endswith(".parquet")]

    def key(self, number=0):
        return self.pinned().live_files()[number].path.removeprefix(f"s3://{self.bucket}/")

    def body(self, key):
        return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()


def _rows(number):
    ids = pa.array(range(number * _ROWS, (number + 1) * _ROWS), pa.int64())
    values = [(one * 7919) % 100_003 for one in range(_ROWS)]
    return pa.table(
        {
            "id": ids,
            "name": pa.array([f"n{one % 5}" for one in range(_ROWS)]),
            "number": pa.array(values, pa.int64()),
            "text": pa.array([f"{one:020}" for one in values]),
        }
    )


@pytest.fixture
def world(server, tmp_path, monkeypatch):
    door, endpoint = server
    monkeypatch.setattr(stores, "_RETRY_S", 3.0)
    made = World(door, endpoint, tmp_path)
    door.sent.clear()
    door.counts.clear()
    yield made
    door.reads = None
    door.released.set()
    door.tokens.clear()
    made.engine.close()


def test_only_columns_that_are_asked_for_are_read_and_once(world):
    found = world.totals()
    assert list(zip(*found.to_pydict().values(), strict=True)) == world.expected
    footers = [one for one in world.data() if one[1].startswith("bytes=-")]
    chunks = [one for one in world.data() if one not in footers]
    assert len(footers) == _FILES and len(chunks) <= 2 * _FILES * _ROWS // _GROUP
    assert sum(size for *_, size in chunks) == _stored(world, ("name", "number"))
    assert "HEAD" not in world.door.counts
    world.door.sent.clear()
    assert world.totals() == found
    assert world.data() == []  # small ranges are kept


def _stored(world, names):
    """Bytes of those columns' chunks."""
    total = 0
    for number in range(_FILES):
        footer = pq.read_metadata(pa.BufferReader(world.body(world.key(number))))
        for group in range(footer.num_row_groups):
            chunks = map(footer.row_group(group).column, range(footer.num_columns))
            total += sum(c.total_compressed_size for c in chunks if c.path_in_schema in names)
    return total


def test_row_groups_that_bounds_rule_out_are_not_read(world):
    found = world.ask("SELECT sum(number) AS s FROM t WHERE id = 25000", ["id", "number"])
    assert found["s"].to_pylist() == [(25_000 * 7919) % 100_003]
    chunks = [one for one in world.data() if not one[1].startswith("bytes=-")]
    assert len(chunks) <= 2 and len({key for key, *_ in chunks}) == 1


def test_the_bytes_of_a_statement_are_what_the_store_sent_for_data_files(world):
    with world.engine.stoppable("a"):
        world.totals(tag="a")
        assert world.engine.objects_read("a") == sum(size for *_, size in world.data())
    assert world.engine.objects_read("a") is None
    with world.engine.stoppable("b"):
        world.totals(tag="b")
        assert world.engine.objects_read("b") == 0


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT sum(number) AS s FROM d.t WHERE id = 25000", ("id", "number")),
        ("SELECT text FROM d.t WHERE id = 25000", ("id", "text")),
        ("SELECT id, text FROM d.t ORDER BY id DESC LIMIT 3", ("id", "text")),
    ],
)
def test_a_session_reports_the_bytes_that_were_sent(world, tmp_path, sql, names):
    properties = dict(world.properties)
    with accelerator.open(
        catalog_uri=properties.pop("uri"),
        catalog_name="lake",
        catalog_properties=properties,
        store=str(tmp_path / "store"),
    ) as session:
        result = session.query(sql)
        assert result.metrics.engine == "duckdb" and result.fetchall()
    assert result.metrics.bytes_read == sum(size for *_, size in world.data())
    chunks = sum(size for _, sent, size in world.data() if not sent.startswith("bytes=-"))
    assert chunks <= _stored(world, names) / 4


def test_row_groups_are_read_by_ranges_too(world):
    pinned = world.pinned()
    columns = [Column(0, 1, "id", "bigint"), Column(0, 4, "text", "string")]
    reader = GroupReader(pinned, columns, lambda: None)
    file = reader.open(pinned.live_files()[:1])[0]
    table, numbers = file.sought(2, columns)
    first = table["id"][0].as_py()
    assert table.num_rows == len(numbers) == _GROUP
    assert table.equals(world.rows.select(["id", "text"]).slice(first, _GROUP))
    assert reader.counted.bytes == sum(size for *_, size in world.data())


def test_other_paths_stay_shut(world):
    world.totals()
    for path in ("acc://lane/0/other.parquet", "acc://lane/../x.parquet", "/etc/hostname"):
        with pytest.raises(EngineError, match=r"No files|Cannot access"):
            world.engine.run(f"SELECT * FROM read_parquet('{path}')")


def test_a_file_of_another_size_is_not_read(world):
    key = world.key()
    world.client.put_object(Bucket=world.bucket, Key=key, Body=world.body(key) + b"PAR1")
    with pytest.raises(NeedsSparkError, match="bytes, its manifest states"):
        world.totals()


def test_a_file_that_is_replaced_after_its_footer_was_read_is_not_read_on(world):
    world.totals()
    key = world.key()
    body = bytearray(world.body(key))
    body[len(body) // 2] ^= 1
    world.client.put_object(Bucket=world.bucket, Key=key, Body=bytes(body))
    with pytest.raises(NeedsSparkError, match="was replaced since it was first read"):
        world.ask("SELECT max(text) AS m FROM t", ["text"])
    assert world.totals().num_rows == 5  # from memory: the rows of the snapshot


def test_a_file_that_is_gone(world):
    world.client.delete_object(Bucket=world.bucket, Key=world.key())
    with pytest.raises(FileNotFoundError, match="is gone"):
        world.totals()


@pytest.mark.parametrize("harm", ["refused", "cut"])
def test_a_store_that_fails_twice_is_asked_again(world, harm):
    left, lock = [harm, harm], threading.Lock()

    def reads(key):
        with lock:
            return left.pop() if key.endswith(".parquet") and left else ""

    world.door.reads = reads
    found = world.totals()
    assert list(zip(*found.to_pydict().values(), strict=True)) == world.expected
    assert not left


@pytest.mark.parametrize("harm", ["refused", "cut"])
def test_a_store_that_fails_for_good_is_given_up(world, harm):
    asked = []

    def reads(key):
        asked.append(key)
        return harm if key.endswith(".parquet") else ""

    world.door.reads = reads
    with pytest.raises(ObjectStoreError, match=r"can't be read|cut off") as caught:
        world.totals()
    assert caught.value.hint
    assert len(asked) <= 3 + _FILES * (2 + stores._RETRIES_MAX)


def test_a_store_that_fails_in_the_middle_of_a_scan(world):
    world.totals()  # footers are known
    world.door.reads = lambda key: "refused" if key.endswith(".parquet") else ""
    with world.engine.stoppable("a"), pytest.raises(ObjectStoreError) as caught:
        world.ask("SELECT max(text) AS m FROM t", ["text"], tag="a")
    assert "503" in str(caught.value) and "Traceback" not in str(caught.value)
    world.door.reads = None
    assert world.ask("SELECT max(text) AS m FROM t", ["text"])["m"].to_pylist() == [
        max(world.rows["text"].to_pylist())
    ]


def test_a_store_that_does_not_answer_is_cancelled(world):
    pinned = world.pinned()
    world.totals(pinned=pinned)
    world.door.released.clear()
    stuck = threading.Event()

    def reads(key):
        stuck.set()
        return "stuck"

    world.door.reads = reads

    def stop():
        stuck.wait()
        world.engine.interrupt("a")

    stopping = threading.Thread(target=stop)
    stopping.start()
    with world.engine.stoppable("a"), pytest.raises(CancelledError):
        world.ask("SELECT max(text) AS m FROM t", ["text"], tag="a", pinned=pinned)
    assert not world.door.released.is_set()  # it still doesn't answer
    stopping.join()


def test_credentials_that_have_expired_are_named(world):
    world.door.tokens.add("old")
    pinned = world.pinned(**{"s3.access-key-id": VENDED, "s3.session-token": "old"})
    assert world.totals(pinned=pinned).num_rows == 5
    world.door.tokens.remove("old")
    with world.engine.stoppable("a"), pytest.raises(ObjectStoreError, match=r"refuses") as caught:
        world.ask("SELECT max(text) AS m FROM t", ["text"], tag="a", pinned=pinned)
    assert "credentials may have expired" in (caught.value.hint or "")
    world.door.tokens.add("new")
    fresh = world.pinned(**{"s3.access-key-id": VENDED, "s3.session-token": "new"})
    assert world.ask("SELECT max(text) AS m FROM t", ["text"], pinned=fresh).num_rows == 1


@pytest.mark.parametrize(
    ("sql", "names"), [(_SUM, ["name", "number"]), ("SELECT count(*) AS n FROM t", ["id"])]
)
def test_cached_bytes_are_not_for_credentials_that_the_store_refuses(world, sql, names):
    world.door.tokens.add("theirs")
    theirs = world.pinned(**{"s3.access-key-id": VENDED, "s3.session-token": "theirs"})
    assert len(theirs.live_files()) == _FILES
    world.door.tokens.remove("theirs")
    rows = world.ask(sql, names)
    with world.engine.stoppable("a"), pytest.raises(ObjectStoreError, match=r"refuses"):
        world.ask(sql, names, tag="a", pinned=theirs)
    assert world.ask(sql, names) == rows
    world.door.tokens.add("theirs")
    world.door.sent.clear()
    assert world.ask(sql, names, pinned=theirs) == rows
    assert len(world.data()) <= _FILES  # ends of those that are opened first; all else is cached
    assert all(sent.startswith("bytes=-") for _, sent, _ in world.data())


def test_ranges_that_nobody_waits_for_are_not_read(world):
    keys = [f"x{number}" for number in range(3)]
    for key in keys:
        world.client.put_object(Bucket=world.bucket, Key=key, Body=bytes(3_000_000))
    bucket = stores.open_bucket(world.bucket, world.properties)
    assert not isinstance(bucket, str)
    file = ObjectFile(bucket, "x0", f"s3://{world.bucket}/x0", 3_000_000)
    world.door.released.clear()
    world.door.reads = lambda _key: "stuck"

    def cancel():
        raise CancelledError("the statement was cancelled")

    with looking(cancel), pytest.raises(CancelledError):
        file.read_all([(start, start + 10) for start in range(0, 3_000_000, 30_000)])
    world.door.sent.clear()
    world.door.reads = None
    world.door.released.set()
    other = ObjectFile(bucket, "x1", f"s3://{world.bucket}/x1", 3_000_000)
    other.read_all([(start, start + 10) for start in range(0, 3_000_000, 30_000)])
    assert len([key for key, *_ in world.door.sent if key.endswith("x0")]) <= 32


@pytest.mark.parametrize("key", ["a b/ü.x", "k=a%3Ab/c+d&e.x", "a#b?c*d[e]'f\".x"])
def test_keys_are_taken_literally(world, key):
    world.client.put_object(Bucket=world.bucket, Key=key, Body=b"0123456789")
    inputs = ObjectInputs(world.properties)
    with inputs.new_input(f"s3://{world.bucket}/{key}").open() as stream:
        assert bytes(stream.read(4)) == b"0123"
        stream.seek(-3, 2)
        assert bytes(stream.read()) == b"789"
        assert bytes(stream.read(5)) == b""


@pytest.mark.parametrize("key", ["a//b", "./b", "a/../b", "/a"])
def test_keys_that_obstore_lacks_are_pyicebergs(world, key):
    assert ObjectInputs(world.properties).object(f"s3://{world.bucket}/{key}") is None


@pytest.mark.parametrize("bucket", ["host:80#", "host?", "a@host", "..", "%68ost", "b\n", ""])
def test_a_bucket_that_would_be_another_host_is_not_asked(bucket):
    assert stores.bucket_and_key(f"s3://{bucket}/t/x.parquet") is None
    assert stores.bucket_and_key("s3://My_bucket.1-x/t/x.parquet") == (
        "My_bucket.1-x",
        "t/x.parquet",
    )


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"py-io-impl": "x.Y"}, "the catalog sets py-io-impl"),
        ({"s3.signer": "S3V4RestSigner"}, "the catalog sets s3.signer"),
        ({"client.role-arn": "arn:x"}, "the catalog sets client.role-arn"),
        ({"s3.force-virtual-addressing": "true"}, "force-virtual-addressing"),
        ({"s3.secret-access-key": ""}, "a key without its secret"),
    ],
)
def test_buckets_that_pyiceberg_reaches(world, properties, why):
    assert why in str(stores.open_bucket(world.bucket, {**world.properties, **properties}))


def test_a_profiles_credentials_are_pyicebergs(world, monkeypatch, tmp_path):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    named = {"s3.endpoint": world.properties["s3.endpoint"], "s3.region": "us-east-1"}
    assert not isinstance(stores.open_bucket(world.bucket, named), str)
    (tmp_path / "credentials").write_text("[default]\n")
    assert "profile" in str(stores.open_bucket(world.bucket, named))


@pytest.mark.parametrize(
    "variables",
    [
        {"AWS_SESSION_TOKEN": "environment"},
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
        {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"},
        {"AWS_SKIP_SIGNATURE": "true"},
        {"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"},
    ],
)
def test_a_catalogs_own_settings_are_not_mixed_with_the_environments(world, monkeypatch, variables):
    """PyIceberg takes a catalog's key, token and address, and none of these variables."""
    world.client.put_object(Bucket=world.bucket, Key="x", Body=b"0123456789")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    requests, app = [], world.door.app
    monkeypatch.setattr(
        world.door, "app", lambda env, start: requests.append(env) or app(env, start)
    )
    with ObjectInputs(world.properties).new_input(f"s3://{world.bucket}/x").open() as stream:
        assert bytes(stream.read(4)) == b"0123"
    assert all("HTTP_X_AMZ_SECURITY_TOKEN" not in one for one in requests)
    assert all("Credential=k/" in one["HTTP_AUTHORIZATION"] for one in requests) and requests


def test_the_environments_key_comes_with_its_token(world, monkeypatch):
    world.client.put_object(Bucket=world.bucket, Key="x", Body=b"0123456789")
    world.door.tokens.add("environment")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", VENDED)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "environment")
    named = {"s3.endpoint": world.properties["s3.endpoint"], "s3.region": "us-east-1"}
    with ObjectInputs(named).new_input(f"s3://{world.bucket}/x").open() as stream:
        assert bytes(stream.read(4)) == b"0123"


def test_what_obstore_cannot_open_is_pyicebergs(world, monkeypatch):
    monkeypatch.setenv("AWS_CHECKSUM_ALGORITHM", "none-such")
    assert "checksum" in str(stores.open_bucket(world.bucket, world.properties))


@pytest.mark.parametrize(
    ("properties", "resolved", "region"),
    [
        ({}, "eu-west-1", "eu-west-1"),
        ({"s3.region": "r"}, "eu-west-1", "r"),
        ({"s3.region": "r", "s3.resolve-region": "true"}, "eu-west-1", "eu-west-1"),
        ({"s3.endpoint": "https://s3.eu-west-1.amazonaws.com"}, "eu-west-1", "eu-west-1"),
        ({"s3.endpoint": "http://127.0.0.1:9"}, "eu-west-1", "us-east-1"),
        ({}, None, "us-east-1"),
    ],
)
def test_a_buckets_region(monkeypatch, properties, resolved, region):
    def resolve(_bucket):
        if resolved is None:
            raise OSError("no network")
        return resolved

    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.setattr("pyarrow.fs.resolve_s3_region", resolve)
    keys = {"s3.access-key-id": uuid.uuid4().hex, "s3.secret-access-key": "s"}
    bucket = stores.open_bucket("b", {**keys, **properties})
    assert bucket.store.config["region"] == region


def test_secrets_are_in_no_repr():
    secrets = {"s3.access-key-id": "k", "s3.secret-access-key": "hidden", "s3.region": "r"}
    brief = TableBrief(
        "s3://b/t/1.metadata.json", secrets, [{"prefix": "s3://b", "config": secrets}]
    )
    answer = TableAnswer(brief, json.dumps(secrets).encode(), None, ("d", "t"))
    for shown in (stores.open_bucket("b", secrets), brief, answer, Pointer("l", secrets)):
        assert "hidden" not in repr(shown)


def test_ranges_side_by_side_are_one_request(world):
    world.client.put_object(Bucket=world.bucket, Key="x", Body=bytes(range(256)) * 1000)
    bucket = stores.open_bucket(world.bucket, world.properties)
    assert not isinstance(bucket, str)
    file = ObjectFile(bucket, "x", f"s3://{world.bucket}/x", 256_000)
    world.door.sent.clear()
    stream = ObjectStream(file)
    stream.fetch([(0, 10), (20, 30), (100_000, 100_002)])
    assert sorted(sent for _, sent, _ in world.door.sent) == ["bytes=0-29", "bytes=100000-100001"]
    stream.seek(20)
    assert bytes(stream.read(10)) == bytes(range(20, 30))
    assert len(world.door.sent) == 2


def test_it_waits_no_longer_than_its_timeouts_say(world):
    """A server that accepts and is silent: the request ends by itself."""
    bucket = stores.open_bucket(world.bucket, {**world.properties, "s3.request-timeout": "0.2"})
    assert not isinstance(bucket, str)
    world.door.released.clear()
    world.door.reads = lambda _key: "stuck"
    since = time.monotonic()
    with pytest.raises(ObjectStoreError):
        ObjectFile(bucket, "x", "s3://b/x", 10).read(0, 5)
    assert time.monotonic() - since < 60


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("s3://b/k", None),
        ("gs://b/k", "gs isn't tried with obstore"),
        ("s3://b//k", "obstore can't name the key of s3://b//k"),
    ],
)
def test_why_pyiceberg_reads_an_object(world, location, why):
    assert stores.why_unread(location, world.properties) == why
    told = stores.why_unread("s3://b/k", {**world.properties, "client.profile-name": "p"})
    assert told == "the catalog sets client.profile-name"
