"""Bytes of a table's files: local ones by plain `open`, S3's by obstore, others by PyIceberg.

PyIceberg's own FileIO for local files imports PyArrow's dataset half (0.4 s). A statement that is
answered from a cube never needs it, so local metadata and manifests are read without it. Paths are
literal: Iceberg writes them as text and doesn't percent-decode them.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from pyiceberg.io import FileIO, InputFile, InputStream, load_file_io

from accelerator.common.files.file_uri import path_of
from accelerator.common.files.safe_files import open_file

if TYPE_CHECKING:
    from accelerator.iceberg.objects.inputs import ObjectStream
    from accelerator.iceberg.objects.object_file import ObjectFile

METADATA_BYTES_MAX = 1 << 29
"""Of one file of a table's or view's metadata, or one list of manifests, decompressed as well."""
_CHUNK = 1 << 16
_HDFS = ("hdfs", "viewfs")


class Inputs(Protocol):
    """What reading metadata asks of a FileIO."""

    def new_input(self, location: str) -> InputFile:
        """The file at that location, not opened yet."""
        ...


def local_path(location: str) -> str | None:
    """The path of a `file:` location or plain path; None for every other scheme.

    >>> [local_path(text) for text in ("file:/a b", "file:///a%20b", "/a", "s3://a/b")]
    ['/a b', '/a%20b', '/a', None]
    """
    if location.startswith("file:"):
        return path_of(location)
    return None if "://" in location else location


def inputs_for(
    location: str, properties: Mapping[str, str], count: Callable[[int], None] = lambda _size: None
) -> Inputs:
    """The cheapest reader of the files beside that location.

    `count` is given the number of bytes that an object store sends.
    """
    if local_path(location) is not None:
        return LocalInputs()
    from accelerator.iceberg.objects.inputs import ObjectInputs  # imports obstore

    return ObjectInputs(properties, count)


def object_file(inputs: Inputs, location: str, size: int) -> ObjectFile | None:
    """The object of that size at the location; None for what isn't read by obstore."""
    found = getattr(inputs, "object", None)
    return None if found is None else cast("ObjectFile | None", found(location, size))


def object_stream(inputs: Inputs, location: str, size: int) -> ObjectStream | None:
    """The stream of an object of that size; None for what isn't read by obstore."""
    stream = getattr(inputs, "stream", None)
    return None if stream is None else cast("ObjectStream | None", stream(location, size))


def reading_hint(location: str, otherwise: str) -> str:
    """Returns what a user can do about a file that can't be read."""
    if location.partition("://")[0] not in _HDFS:
        return otherwise
    return (
        "files in HDFS are read in process with Hadoop's libhdfs: set JAVA_HOME, HADOOP_HOME and"
        " CLASSPATH; without it Spark answers, and nothing can be built"
    )


def file_io(location: str, properties: Mapping[str, str]) -> FileIO:
    """PyIceberg's FileIO for the files beside that location."""
    return load_file_io(properties=dict(properties), location=location)


def read_bytes(inputs: Inputs, location: str, size_max: int = METADATA_BYTES_MAX) -> bytes:
    """All bytes of the file; ValueError where it has more, of which no more are read."""
    with inputs.new_input(location).open() as stream:
        data = bytes(stream.read(size_max + 1))
    if len(data) > size_max:
        raise ValueError(f"{location} has more than {size_max:,} bytes")
    return data


def read_metadata(location: str, properties: Mapping[str, str]) -> bytes:
    """The JSON of a table's or view's metadata file, which its name may call compressed."""
    data = read_bytes(inputs_for(location, properties), location)
    packed = location.endswith(".gz.metadata.json")
    return decompressed(data, "gzip", METADATA_BYTES_MAX) if packed else data


class ExpandedError(ValueError):
    """Bytes become more than they may when they're decompressed."""


def decompressed(data: bytes, codec: str, size_max: int) -> bytes:
    """The plain bytes of `null`, raw `deflate`, `gzip`, `snappy` or `zstd`; hardly more are made.

    Raises:
        ExpandedError: there are more.
        ValueError: they're damaged, or cut off.
    """
    unpack = _UNPACK.get(codec) or partial(_streamed, codec)
    try:
        plain = unpack(data, size_max + 1)
    except (EOFError, OSError, ValueError, zlib.error) as error:
        raise ValueError(f"they can't be decompressed: {error}") from error
    if plain is None or len(plain) > size_max:
        raise ExpandedError(f"more than {size_max:,} bytes when decompressed")
    return plain


def _inflated(data: bytes, most: int) -> bytes:
    """Bytes behind the end are passed over: PyIceberg leaves some of zlib's there."""
    inflating = zlib.decompressobj(-15)
    plain = inflating.decompress(data, most)
    if len(plain) < most and not inflating.eof:
        raise ValueError("they're cut off")
    return plain


def _gunzipped(data: bytes, most: int) -> bytes:
    """Zeros behind the end are padding, which Arrow's reader takes for damage."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        return stream.read(most)


def _unsnapped(data: bytes, most: int) -> bytes | None:
    import pyarrow as pa

    size = 0
    for place, byte in enumerate(data[:5]):  # the first bytes tell the size of the rest
        size |= (byte & 127) << (7 * place)
        if byte < 128:
            break
    return pa.Codec("snappy").decompress(data, size, asbytes=True) if size < most else None


def _streamed(codec: str, data: bytes, most: int) -> bytes:
    """Reads a stream, since writers that stream don't report the size of the plain bytes."""
    import pyarrow as pa

    plain = bytearray()
    with pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
        while len(plain) < most and (part := stream.read(_CHUNK)):
            plain += part
    return bytes(plain)


_UNPACK: Mapping[str, Callable[[bytes, int], bytes | None]] = {
    "null": lambda data, _most: data,
    "deflate": _inflated,
    "gzip": _gunzipped,
    "snappy": _unsnapped,
}


class LocalInputs:
    """Opens local files; other schemes in the same table go to PyIceberg."""

    def new_input(self, location: str) -> InputFile:
        """The file at that location, not opened yet."""
        path = local_path(location)
        return file_io(location, {}).new_input(location) if path is None else _LocalInput(path)


class _LocalInput(InputFile):
    """One local file."""

    def __len__(self) -> int:
        return Path(self.location).stat().st_size

    def exists(self) -> bool:
        return Path(self.location).exists()

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - PyIceberg's signature
        return cast(InputStream, open_file(self.location))
