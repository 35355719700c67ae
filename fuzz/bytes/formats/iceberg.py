"""Iceberg's own files: manifests, lists of them, their cache, deletes and views.

Both decoders of manifests take the same bytes and must tell the same of them.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    PartitionFieldSummary,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionField
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    NestedField,
    StringType,
)
from pyiceberg.view.metadata import ViewMetadata
from pyroaring import BitMap64

from accelerator.iceberg.catalogs.manifest_summaries import bound_text
from accelerator.iceberg.catalogs.views import ViewPointer
from accelerator.iceberg.errors import CatalogError, ManifestError, read_errors
from accelerator.iceberg.io import decompressed
from accelerator.iceberg.manifests import interpreter
from accelerator.iceberg.manifests.avro_container import Container, read_container
from accelerator.iceberg.manifests.cache_file import Identity, encode, file_of, read_file
from accelerator.iceberg.manifests.columns import ManifestColumns
from accelerator.iceberg.manifests.compiled import COMPILED
from accelerator.iceberg.manifests.decoder import decode_entries, decode_list, decode_summaries
from accelerator.iceberg.rows.equality_deletes import delete_file
from accelerator.iceberg.rows.position_deletes import PositionDeletes
from accelerator.iceberg.tables.data_file import DeleteRef, LiveFile
from fuzz.bytes.kinds import Format, Input, Step, WrongError
from fuzz.bytes.seals import vector_sealed
from tests.accelerator.iceberg.avro_writer import Layout, Writer
from tests.accelerator.iceberg.manifests import entry, listed, pyiceberg_manifest, told

_ROWS = 200_000
_FIELDS_MAX = 8
_PATH = "file:///w/data/1.parquet"


class Served:
    """Files by their locations, in place of a warehouse."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def new_input(self, location: str) -> Any:
        """See `io.Inputs`."""
        if location not in self._files:
            raise FileNotFoundError(location)
        return SimpleNamespace(open=lambda: io.BytesIO(self._files[location]))


def _entries(rows: int, **more: Any) -> list[dict[str, Any]]:
    return [
        entry(
            file_path=f"{_PATH}-{at}",
            partition=(at, f"p{at}"),
            record_count=10 + at,
            value_counts={1: 10 + at, 2: 10},
            null_value_counts={1: 0} if at else None,
            lower_bounds={1: at.to_bytes(8, "little"), 2: b"a" * at},
            upper_bounds={1: (at + 9).to_bytes(8, "little")},
            split_offsets=[4] * at,
            **more,
        )
        for at in range(rows)
    ]


def _manifests() -> Sequence[Input]:
    partition = ((1000, "int"), (1001, "string"))
    layouts = (
        Layout(partition=partition),
        Layout(partition=partition, blocks=3, pieces=True, unknown=True, seed=3),
        Layout(partition=partition, avro_maps=True, null_last=True),
        Layout(partition=partition, codec="deflate", version=1),
        Layout(partition=partition, codec="snappy"),
        Layout(partition=partition, codec="zstandard", blocks=2),
    )
    return [Input(Writer(one).file(_entries(5))) for one in layouts]


def _manifest_steps(given: Input) -> Iterable[Step]:
    yield partial(_both, given.data)


def _both(data: bytes) -> Any:
    """What the decoder tells by both machines, which is the same."""
    manifest, container = listed(length=len(data)), read_container(data)
    return _alike(lambda machine: repr(_told(decode_entries(container, manifest, machine))))


def _alike(decode: Callable[[Any], str]) -> str:
    found = [_tried(decode, machine) for machine in (interpreter, COMPILED)]
    if repr(found[0]) != repr(found[1]):
        raise WrongError("the two machines tell different things")
    if isinstance(found[1], ManifestError):
        raise found[1]
    return found[1]


def _tried(decode: Callable[[Any], str], machine: Any) -> str | ManifestError:
    try:
        return decode(machine)
    except ManifestError as error:
        return error


def _told(columns: ManifestColumns) -> Any:
    for name in ("record_count", "size_bytes"):
        known = getattr(columns, name).drop_null().to_pylist()
        if any(one < 0 for one in known):
            raise WrongError(f"{name} below 0")
    return told(columns)


def _lists() -> Sequence[Input]:
    found = []
    for version in (1, 2):
        manifests = [
            pyiceberg_manifest(
                manifest_path=f"file:///w/m{at}.avro",
                manifest_length=4_000 + at,
                sequence_number=at,
                min_sequence_number=at,
                added_snapshot_id=77,
                added_files_count=3,
                partitions=[
                    PartitionFieldSummary(bool(at % 2), None, b"\1\0\0\0", b"\5\0\0\0"),
                    PartitionFieldSummary(False, False, b"abc", b"abd"),
                ],
            )
            for at in range(4)
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/list.avro"
            output = PyArrowFileIO().new_output(path)
            how: Any = (version, output, 77, None, 9, "null")
            with write_manifest_list(*how) as writer:
                writer.add_manifests(manifests)
            found.append(Input(Path(path).read_bytes()))
    return found


def _list_steps(given: Input) -> Iterable[Step]:
    yield partial(_list, given.data)
    yield partial(_ranges, given.data)


def _ranges(data: bytes) -> Any:
    container = read_container(data)
    return _alike(lambda machine: _ranged(container, machine))


def _ranged(container: Container, machine: Any) -> str:
    """Every range of a partition, which the product makes for the table's own fields alone."""
    found = [
        (one.manifest, dict(one.row_counts), list(islice(one.summaries, _FIELDS_MAX)))
        for one in decode_summaries(container, machine)
    ]
    for _, _, summaries in found:
        for one in summaries:
            _bound_of(one.lower_bound)
            _bound_of(one.upper_bound)
    return repr(found)


def _bound_of(raw: bytes | None) -> None:
    """A bound of any type is a text, or the list is damaged."""
    field = PartitionField(1, 1000, IdentityTransform(), "p")
    for kind in (IntegerType(), StringType(), DateType(), DecimalType(38, 2), BooleanType()):
        with suppress(ManifestError):
            bound_text(raw, field, kind)


def _list(data: bytes) -> Any:
    container = read_container(data)
    return _alike(lambda machine: _named(container, machine))


def _named(container: Container, machine: Any) -> str:
    found = decode_list(container, machine)
    for one in found:
        if not isinstance(one.manifest_path, str) or not isinstance(one.manifest_length, int):
            raise WrongError("a manifest without a path or a length")
        Identity.of(one)
    return repr(found)


@cache
def _folder() -> Path:
    """Of this process; the system's own cleaning ends it."""
    return Path(tempfile.mkdtemp(prefix="fuzz-bytes"))


def _cached() -> Sequence[Input]:
    found = []
    for one in _manifests()[:2]:
        manifest = listed(length=len(one.data))
        columns = decode_entries(read_container(one.data), manifest, COMPILED)
        found.append(Input(encode(Identity.of(manifest), columns), None, one.data))
    return found


def _cache_steps(given: Input) -> Iterable[Step]:
    yield partial(_cache, given)


def _cache(given: Input) -> Any:
    """As `ManifestCache` reads a file of its folder; what is damaged is decoded anew."""
    manifest = listed(length=len(given.context))
    identity, folder = Identity.of(manifest), _folder()
    file_of(folder, identity).write_bytes(given.data)
    found = read_file(
        folder,
        identity,
        lambda: decode_entries(read_container(given.context), manifest, COMPILED),
    )
    return None if found is None else repr(_told(found))


_SECTION = re.compile(r'\["[^"]+",(\d+),(\d+),"([0-9a-f]{32})"\]')


def _cache_sealed(_: Random, data: bytes) -> bytes:
    """The digests of the sections and of the directory, as its length finds it."""
    end = len(data) - 32
    size = int.from_bytes(data[end : end + 8], "little") if end >= 0 else -1
    if not 0 <= size <= end:
        return data
    text = data[end - size : end].decode(errors="replace")

    def sealed(match: re.Match[str]) -> str:
        start, length = int(match[1]), int(match[2])
        if start > len(data) or length > len(data):
            return match[0]
        return match[0].replace(match[3], _digest(data[start : start + length]).hex())

    body = _SECTION.sub(sealed, text).encode()
    body = body[:size].ljust(size)
    return data[: end - size] + body + data[end : end + 8] + _digest(body) + data[-8:]


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _file(deletes: Sequence[DeleteRef]) -> LiveFile:
    return LiveFile(_PATH, 1, 4096, _ROWS, "parquet", 0, tuple(deletes))


def _vectors() -> Sequence[Input]:
    found = []
    for positions in (
        BitMap64([0, 5, 77, 199_999]),
        BitMap64(range(10, 9_000)),
        BitMap64([*range(0, 190_000, 3), 199_000]),
    ):
        if len(positions) == 8_990:
            positions.run_optimize()
        payload = b"\xd1\xd3\x39\x64" + positions.serialize()
        framed = vector_sealed(Random(0), len(payload).to_bytes(4, "big") + payload + bytes(4))
        found.append(
            Input(framed, {"content_size": len(framed), "rows": len(positions)}, len(framed))
        )
    return found


def _vector_steps(given: Input) -> Iterable[Step]:
    yield partial(_vector, given)


def _vector(given: Input) -> Any:
    """The manifest tells the size; where it's the same lie, the file's own is taken."""
    facts = given.facts if isinstance(given.facts, dict) else {}
    if not all(isinstance(facts.get(one), int) for one in ("content_size", "rows")):
        raise ValueError("no reference to a vector")
    size = facts["content_size"]
    if size == given.context:  # the sound one's: the manifest says what the file then has
        size = len(given.data)
    if abs(size) >= 1 << 63 or abs(facts["rows"]) >= 1 << 63:  # Avro has no larger numbers
        raise ValueError("no reference to a vector")
    ref = DeleteRef("p", "dv", 2, facts["rows"], 0, size)
    return _positions(PositionDeletes(cast(Any, Served({"p": given.data}))), ref)


def _positions(deletes: PositionDeletes, ref: DeleteRef) -> Any:
    found = deletes.of(_file([ref]))
    if len(found) and not 0 <= found.min() <= found.max() < _ROWS:
        raise WrongError("positions that the file hasn't")
    if len(found) > max(_ROWS, ref.record_count):
        raise WrongError("more positions than rows")
    return sorted(found.tolist())


def _written(table: pa.Table) -> Sequence[Input]:
    """The table as Parquet, as several writers have it."""
    found = []
    for how in ({"compression": "none"}, {"compression": "zstd"}, {"use_dictionary": False}):
        sink = io.BytesIO()
        pq.write_table(table, sink, **how)
        found.append(Input(sink.getvalue()))
    return found


def _position_files() -> Sequence[Input]:
    table = pa.table(
        {
            "file_path": pa.array([_PATH] * 60 + ["file:///w/other"] * 40),
            "pos": pa.array(range(100), pa.int64()),
        }
    )
    return _written(table)


def _position_steps(given: Input) -> Iterable[Step]:
    deletes = PositionDeletes(cast(Any, Served({"p.parquet": given.data})))
    yield partial(_positions, deletes, DeleteRef("p.parquet", "position", 2, 100))


_DELETED = Schema(NestedField(1, "i", IntegerType()), NestedField(2, "s", StringType()))
_DELETED_ROWS = 100


def _value_files() -> Sequence[Input]:
    ids = ({b"PARQUET:field_id": b"1"}, {b"PARQUET:field_id": b"2"})
    schema = pa.schema(
        [pa.field("i", pa.int32(), True, ids[0]), pa.field("s", pa.string(), True, ids[1])]
    )
    texts = [f"t{n % 7}" if n % 5 else None for n in range(_DELETED_ROWS)]
    numbers = pa.array(range(_DELETED_ROWS), pa.int32())
    return _written(pa.table([numbers, pa.array(texts)], schema=schema))


def _value_steps(given: Input) -> Iterable[Step]:
    ref = DeleteRef("v.parquet", "equality", 2, _DELETED_ROWS, equality_ids=(1, 2))
    yield partial(_values, cast(Any, Served({"v.parquet": given.data})), ref)


def _values(inputs: Any, ref: DeleteRef) -> Any:
    found = delete_file(inputs, ref, _DELETED)
    if found.num_rows != ref.record_count or found.column_names != ["i", "s"]:
        raise WrongError("other rows than the manifest says")
    return found.to_pylist()


_VIEW = {
    "view-uuid": "fa6506c3-7681-40c8-86dc-e36561f83385",
    "format-version": 1,
    "location": "file:///w/v",
    "properties": {"comment": "of sales"},
    "current-version-id": 1,
    "versions": [
        {
            "version-id": 1,
            "timestamp-ms": 1573518431292,
            "schema-id": 1,
            "default-catalog": "lake",
            "default-namespace": ["d"],
            "summary": {"engine-name": "Spark"},
            "representations": [
                {"type": "sql", "sql": "SELECT count(1) c FROM base", "dialect": "spark"}
            ],
        }
    ],
    "schemas": [
        {
            "schema-id": 1,
            "type": "struct",
            "fields": [
                {"id": 1, "name": "c", "required": False, "type": "long"},
                {
                    "id": 2,
                    "name": "l",
                    "required": False,
                    "type": {
                        "type": "list",
                        "element-id": 3,
                        "element": "string",
                        "element-required": False,
                    },
                },
            ],
        }
    ],
    "version-log": [{"timestamp-ms": 1573518431292, "version-id": 1}],
}


def _view_samples() -> Sequence[Input]:
    ViewMetadata.model_validate(_VIEW)
    return [Input(json.dumps(_VIEW).encode())]


def _view_steps(given: Input) -> Iterable[Step]:
    yield partial(_view, given.data)


def _view(data: bytes) -> Any:
    """As a view's metadata file is read."""
    path = _folder() / "v.metadata.json"
    path.write_bytes(data)
    found = ViewPointer(f"file://{path}", {}).parse()
    return None if found.sql is None else repr(found)


def _zipped() -> Sequence[Input]:
    return [Input(gzip.compress(json.dumps(_VIEW).encode() * times)) for times in (1, 50)]


def _unzipped(data: bytes) -> Any:
    """As compressed metadata of tables and views is read."""
    with read_errors("the metadata", "mend it"):
        return hashlib.sha256(decompressed(data, "gzip", 1 << 20)).hexdigest()


def _zipped_steps(given: Input) -> Iterable[Step]:
    yield partial(_unzipped, given.data)


_STATEMENT = (CatalogError, OSError, ValueError)
"""What a statement declines with: any error does, and these are typed or of files."""

FORMATS = (
    Format("manifest", _manifests, _manifest_steps, (ManifestError,)),
    Format("manifest list", _lists, _list_steps, (ManifestError,)),
    Format(
        "manifest cache",
        _cached,
        _cache_steps,
        (ManifestError,),
        sealed=True,
        repaired=_cache_sealed,
    ),
    Format(
        "deletion vector",
        _vectors,
        _vector_steps,
        _STATEMENT,
        sealed=True,
        repaired=vector_sealed,
    ),
    Format("position deletes", _position_files, _position_steps, _STATEMENT),
    Format("equality deletes", _value_files, _value_steps, _STATEMENT),
    Format("view metadata", _view_samples, _view_steps, (CatalogError,), text=True),
    Format("compressed metadata", _zipped, _zipped_steps, (CatalogError,)),
)
