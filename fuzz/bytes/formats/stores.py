"""The store's files: versions of the registry and of a table, chunks, leases, and segments.

Versions are read as `VersionedLog` reads them, by number, and then all of them is used: each cube's
and index's record, each segment's, and what stands in chunks.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from accelerator.engines.duckdb.engine import DuckDBEngine, parquet_scan
from accelerator.errors import EngineError, StoreError
from accelerator.store import IndexRecord, Store
from accelerator.store.files.files import StoreFiles
from accelerator.store.leases import leases_of
from accelerator.store.log.chunks import ChunkRef, Chunks, Damaged
from accelerator.store.log.registry import FOLDER, RegistryCodec, RegistryVersion
from accelerator.store.log.table_log import TableLog
from accelerator.store.log.versioned_log import VersionedLog
from fuzz.bytes.kinds import Format, Input, Step, WrongError
from fuzz.bytes.seals import version_sealed
from tests.accelerator.store.samples import TABLE, cube, segment

_ALLOWED = (Damaged, StoreError)


class _Held:
    """Files of a store, in memory; as many of `StoreFiles` as reading asks for."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def exists(self, path: str) -> bool:
        return path in self.files

    def list(self, prefix: str) -> list[str]:
        return sorted(path for path in self.files if path.startswith(prefix + "/"))

    def uri(self, path: str) -> str:
        return f"file:///s/{path}"


def _index(name: str) -> IndexRecord:
    return IndexRecord(
        "i" * 32, name, "lake.shop.sales", TABLE, "BLOOM", 3, "price", 1, {"bits_per_value": 10.5}
    )


@cache
def _written() -> dict[str, bytes]:
    """The files of a store that the product has written."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(folder)
        store.create_cube(cube())
        store.create_cube(cube("other", "d" * 32))
        store.create_index(_index("by_price"))
        log = store._table_log(TABLE)
        for number in range(3):
            log.log.commit(lambda v, n=number: v.changed("c" * 32, (), [segment(n + 1, n)]))  # type: ignore[misc]
        ref = log.chunks.write(_change(), 100)[0]
        store.close()
        found = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in Path(folder).rglob("*")
            if path.is_file()
        }
    found["ref"] = json.dumps([ref.name, ref.entries]).encode()
    return found


def _change() -> Any:
    from accelerator.store.log.chunks import Change, compact_json

    records = [segment(one, one) for one in range(5)]
    added = tuple((one.id, compact_json(one.to_json())) for one in records)
    return Change((7, 8), added)


def _newest(folder: str) -> Input:
    path, data = max((path, data) for path, data in _written().items() if path.startswith(folder))
    return Input(data, None, path)


def _registry_samples() -> Sequence[Input]:
    return [_newest(FOLDER)]


def _registry_steps(given: Input) -> Iterable[Step]:
    yield partial(_registry, given)


def _registry(given: Input) -> Any:
    files = cast(StoreFiles, _Held({given.context: given.data}))
    log = VersionedLog(files, FOLDER, RegistryCodec(), RegistryVersion())
    found = log.read(int(given.context.rpartition("v")[2][:20]))
    for one in found.cubes.values():
        if not isinstance(one.sql, str) or not isinstance(one.name, str):
            raise WrongError("a cube whose texts are none")
    return found.to_text(), sorted(found.owned)


def _table_samples() -> Sequence[Input]:
    return [_newest(f"tables/{TABLE}/versions")]


def _table_steps(given: Input) -> Iterable[Step]:
    yield partial(_table, given)


def _table(given: Input) -> Any:
    files = cast(StoreFiles, _Held({given.context: given.data}))
    log = TableLog(
        files,
        TABLE,
        lambda uri: uri,
        max_age_s=0,
        clock=lambda: 0.0,
        sleep=lambda _: None,
        now_ms=lambda: 1,
    )
    found = log.log.read(int(given.context.rpartition("v")[2][:20]))
    told = []
    for name, state in sorted(found.cubes.items()):
        told.append((name, [repr(one) for one in state.load().ordered()], state.text))
    return told, found.floor, found.clean


def _chunk_samples() -> Sequence[Input]:
    files = _written()
    name, entries = json.loads(files["ref"])
    (path,) = (path for path in files if path.endswith(f"{name}.jsonl"))
    return [Input(files[path], None, (path, name, entries))]


def _chunk_steps(given: Input) -> Iterable[Step]:
    """Under the checksum of a version that was made to fit."""
    path, name, entries = given.context
    chunks = Chunks(cast(StoreFiles, _Held({path: given.data})), path.rpartition("/")[0])
    ref = ChunkRef(name, entries, len(given.data), hashlib.sha256(given.data).hexdigest())
    yield lambda: repr(chunks.read(ref))
    yield lambda: repr(chunks.read_records(ref, {}))


def _lease_samples() -> Sequence[Input]:
    one = f"{7:020d}-{1_750_000_000_000:015d}-{'a' * 32}-3.json"
    return [Input(one.encode()), Input(b"\n".join([one.encode()] * 3))]


def _lease_steps(given: Input) -> Iterable[Step]:
    """Names of files, as a listing has them."""
    names = given.data.decode(errors="surrogateescape").split("\n")
    files = _Held({f"tables/{TABLE}/pins/{name}": b"" for name in names})
    yield lambda: repr(leases_of(cast(StoreFiles, files), TABLE)) if names else None


def _segment_samples() -> Sequence[Input]:
    table = pa.table(
        {
            "segment": pa.array([n % 3 for n in range(300)], pa.int64()),
            "d0": pa.array([None if n % 9 == 0 else f"name {n % 17}" for n in range(300)]),
            "d1": pa.array([n % 40 for n in range(300)], pa.int32()),
            "s0": pa.array(list(range(300)), pa.int64()),
            "s1": pa.array([n / 7 for n in range(300)], pa.float64()),
            "s2": pa.array([bytes([n % 200]) for n in range(300)], pa.binary()),
        }
    )
    found = []
    for how in ({"compression": "zstd"}, {"compression": "snappy", "row_group_size": 100}):
        sink = io.BytesIO()
        pq.write_table(table, sink, **how)
        found.append(Input(sink.getvalue()))
    return found


@cache
def _engine() -> tuple[DuckDBEngine, str, Iterator[int]]:
    folder = tempfile.mkdtemp(prefix="fuzz-bytes")
    return DuckDBEngine(threads=1, memory=512_000_000, folders=(folder,)), folder, itertools.count()


def _segment_steps(given: Input) -> Iterable[Step]:
    """As covers read segments; under a new name each, since DuckDB may keep what it has read."""
    engine, folder, numbers = _engine()
    path = Path(folder) / f"{next(numbers)}.parquet"
    path.write_bytes(given.data)
    scan = parquet_scan([str(path)])
    grouped = (
        f"SELECT d0, sum(s0) AS a, max(s1) AS b, count(*) AS n FROM {scan}"
        " WHERE segment IN (0, 1) AND d1 > 7 GROUP BY d0 ORDER BY ALL"
    )
    try:
        yield partial(_ran, engine, grouped)
        yield partial(_ran, engine, f"SELECT * FROM {scan}")
    finally:
        _gone.append(path)
        while len(_gone) > 8:
            _gone.pop(0).unlink(missing_ok=True)


_gone: list[Path] = []


def _ran(engine: DuckDBEngine, sql: str) -> Any:
    try:
        found = engine.run(sql)
    except EngineError as error:
        if "FATAL" in str(error) or "invalidated" in str(error):
            _engine.cache_clear()
            raise WrongError(f"the engine is of no more use: {error}") from error
        raise
    found.validate(full=True)
    return repr(found.to_pylist())


FORMATS = (
    Format(
        "registry version",
        _registry_samples,
        _registry_steps,
        _ALLOWED,
        sealed=True,
        repaired=version_sealed,
    ),
    Format(
        "table version",
        _table_samples,
        _table_steps,
        _ALLOWED,
        sealed=True,
        repaired=version_sealed,
    ),
    Format("chunk", _chunk_samples, _chunk_steps, _ALLOWED),
    Format("leases", _lease_samples, _lease_steps, _ALLOWED),
    Format("segment", _segment_samples, _segment_steps, (EngineError,)),
)
