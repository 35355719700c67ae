"""Bytes of Iceberg metadata: local paths by plain `open`, everything else by PyIceberg's FileIO.

PyIceberg's own FileIO for local files imports PyArrow's dataset half (0.4 s), which a statement
that is answered from a cube never needs; so local metadata and manifests are read without it. Paths
are taken literally: Iceberg writes them as text and doesn't percent-decode them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

from pyiceberg.io import FileIO, InputFile, InputStream, load_file_io


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
        rest = location.removeprefix("file:")
        return rest[2:] if rest.startswith("//") else rest
    return None if "://" in location else location


def inputs_for(location: str, properties: Mapping[str, str]) -> Inputs:
    """The cheapest reader of the files beside that location."""
    return LocalInputs() if local_path(location) is not None else file_io(location, properties)


def file_io(location: str, properties: Mapping[str, str]) -> FileIO:
    """PyIceberg's FileIO for the files beside that location."""
    return load_file_io(properties=dict(properties), location=location)


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
        return cast(InputStream, Path(self.location).open("rb"))
