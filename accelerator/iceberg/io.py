"""Bytes of Iceberg metadata: local paths by plain `open`, everything else by PyIceberg's FileIO.

PyIceberg's own FileIO for local files imports PyArrow's dataset half (0.4 s), which a statement
that is answered from a cube never needs; so local metadata and manifests are read without it. Paths
are taken literally: Iceberg writes them as text and doesn't percent-decode them.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

from pyiceberg.io import FileIO, InputFile, InputStream, load_file_io

from accelerator.common.file_uri import path_of
from accelerator.common.safe_files import open_file

METADATA_BYTES_MAX = 1 << 29
"""Of one file of a table's or view's metadata, or one list of manifests, decompressed as well."""


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


def inputs_for(location: str, properties: Mapping[str, str]) -> Inputs:
    """The cheapest reader of the files beside that location."""
    return LocalInputs() if local_path(location) is not None else file_io(location, properties)


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
    """The JSON of a table's or view's metadata file; one whose name says so is compressed."""
    data = read_bytes(inputs_for(location, properties), location)
    return gunzipped(data) if location.endswith(".gz.metadata.json") else data


def gunzipped(data: bytes, size_max: int = METADATA_BYTES_MAX) -> bytes:
    """The bytes without gzip; ValueError where they are more."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        plain = stream.read(size_max + 1)
    if len(plain) > size_max:
        raise ValueError(f"more than {size_max:,} bytes when decompressed")
    return plain


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
