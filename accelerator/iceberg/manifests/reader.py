"""The bytes of a manifest, or of a list of manifests, decoded by whichever way costs less.

The interpreter is one, and Python can run it or numba's compiled code: that is fast, but must be
imported and loaded first. So the first files of a process are run by Python until that has taken
what numba's start would have, and all others are run compiled: at worst a process pays twice what
the better choice would have cost.

Measured, in processor time: Python 3 MB/s of decompressed bytes, compiled code 150 to 600 MB/s;
numba's start 0.5 s (import 0.2 s, loading the compiled code 0.3 s). The very first call after an
installation compiles for some 5 s more, once; the code is then kept on disk.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from accelerator.iceberg.errors import CatalogError, ManifestError
from accelerator.iceberg.io import METADATA_BYTES_MAX, Inputs, read_bytes
from accelerator.iceberg.manifests import interpreter
from accelerator.iceberg.manifests.avro_container import Container, damaged, read_container
from accelerator.iceberg.manifests.columns import ManifestColumns
from accelerator.iceberg.manifests.decoder import (
    ListedManifest,
    OutgrownError,
    decode_entries,
    decode_list,
    decode_summaries,
)
from accelerator.iceberg.manifests.manifest_file import ManifestFile

# Decompressed bytes that Python runs over before numba is worth its start.
SMALL_BYTES = 1 << 20
SMALL_ROWS = 1 << 13
"""With more entries Python takes long whatever their bytes."""
_MACHINE = "accelerator.iceberg.manifests.compiled"


class _Spent:
    """How many bytes Python has run over in this process."""

    def __init__(self) -> None:
        self._bytes = 0
        self._lock = threading.Lock()

    def affords(self, size: int) -> bool:
        """Whether it may run over so many more; notes them if so."""
        with self._lock:
            if _MACHINE in sys.modules or self._bytes + size > SMALL_BYTES:
                return False
            self._bytes += size
            return True


_spent = _Spent()


def read_manifest(inputs: Inputs, manifest: ManifestFile) -> ManifestColumns:
    """The live files of the manifest.

    Raises:
        ManifestError: it's damaged, or of a kind that isn't known.
        CatalogError: it can't be read.
    """
    what = f"the manifest {manifest.manifest_path}"
    data = _bytes_of(inputs, what, manifest.manifest_path, manifest.manifest_length)
    return decode_manifest(data, manifest)


def decode_manifest(data: bytes, manifest: ManifestFile) -> ManifestColumns:
    """The live files of the manifest with those bytes; ManifestError as for `read_manifest`."""
    with _named(f"the manifest {manifest.manifest_path}"):
        container = read_container(data)
        _check_rows(container, manifest)
        with suppress(OutgrownError):
            return decode_entries(container, manifest, _machine(container))
        return decode_entries(container, manifest, _compiled())


def read_list(inputs: Inputs, path: str) -> tuple[ManifestFile, ...]:
    """The manifests that the list at that path names, in its order; errors as for a manifest."""
    what = f"the list of manifests {path}"
    data = _bytes_of(inputs, what, path, None)
    with _named(what):
        container = read_container(data)
        return decode_list(container, _machine(container))


def read_summaries(inputs: Inputs, path: str) -> Iterator[ListedManifest]:
    """The same manifests with rows and ranges of partitions; errors as for a manifest."""
    what = f"the list of manifests {path}"
    data = _bytes_of(inputs, what, path, None)
    with _named(what):
        container = read_container(data)
        yield from decode_summaries(container, _machine(container))


def sized(inputs: Inputs, location: str, size: int | None) -> bytes:
    """The file's bytes; ManifestError where it hasn't so many, of which no more are read."""
    most = METADATA_BYTES_MAX if size is None else min(max(size, 0), METADATA_BYTES_MAX)
    try:
        data = read_bytes(inputs, location, most)
    except ValueError as error:
        raise damaged(f"{error}") from error
    if size is not None and len(data) != size:
        raise damaged(f"{location} has {len(data):,} bytes, and {size:,} are told of it")
    return data


def _bytes_of(inputs: Inputs, what: str, path: str, size: int | None) -> bytes:
    try:
        return sized(inputs, path, size)
    except OSError as error:
        hint = "check that the file is there and may be read"
        raise CatalogError(f"{what} can't be read: {error}", hint=hint) from error


def _machine(container: Container) -> Any:
    """What runs over that much."""
    if container.rows <= SMALL_ROWS and _spent.affords(len(container.data)):
        return interpreter
    return _compiled()


def _compiled() -> Any:
    from accelerator.iceberg.manifests.compiled import COMPILED

    return COMPILED


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Says in errors which manifest or list it is."""
    try:
        yield
    except ManifestError as error:
        message = error.message.replace("the manifest", what, 1)
        raise ManifestError(message, hint=error.hint) from error


def _check_rows(container: Container, manifest: ManifestFile) -> None:
    """ManifestError where there are more entries than the manifest list counts, if it does."""
    counts = (
        manifest.added_files_count,
        manifest.existing_files_count,
        manifest.deleted_files_count,
    )
    if None not in counts and container.rows > sum(one or 0 for one in counts):
        raise damaged(f"it has {container.rows:,} entries, more than its list counts")
