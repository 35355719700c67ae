"""The bytes of a manifest, decoded by whichever of two decoders costs less.

PyIceberg's reader needs nothing but is slow; numba's interpreter is fast but must be imported and
loaded first. So the first manifests of a process go to PyIceberg's until it has spent what numba's
start would have cost, and all others to numba's: at worst a process pays twice what the better
choice would have cost. Both make the same columns of every manifest.

Measured, in processor time: PyIceberg's 4 MB/s of decompressed bytes, numba's 150 to 600 MB/s;
numba's start 0.5 s (import 0.2 s, loading the compiled code 0.3 s). The very first call after an
installation compiles for some 5 s more, once; the code is then kept on disk.
"""

from __future__ import annotations

import sys
import threading

from pyiceberg.manifest import ManifestFile

from accelerator.iceberg.errors import ManifestError
from accelerator.iceberg.manifests.columns import ManifestColumns
from accelerator.iceberg.manifests.container import Container, damaged, read_container
from accelerator.iceberg.manifests.entries import UnfitError, decode_small

# Decompressed bytes of manifests that PyIceberg's reader takes before numba is worth its start.
SMALL_BYTES = 1 << 21
_KERNEL = "accelerator.iceberg.manifests.kernel"


class _Spent:
    """How many bytes PyIceberg's reader has had in this process."""

    def __init__(self) -> None:
        self._bytes = 0
        self._lock = threading.Lock()

    def affords(self, size: int) -> bool:
        """Whether so many more may go to it; notes them if so."""
        with self._lock:
            if _KERNEL in sys.modules or self._bytes + size > SMALL_BYTES:
                return False
            self._bytes += size
            return True


_spent = _Spent()


def decode_manifest(data: bytes, manifest: ManifestFile) -> ManifestColumns:
    """The live files of the manifest with those bytes.

    Raises:
        ManifestError: the bytes are damaged, or of a kind that isn't known.
    """
    try:
        container = read_container(data)
        _check_rows(container, manifest)
        if _spent.affords(len(container.data)):
            try:
                return decode_small(container, manifest)
            except UnfitError:
                pass  # the other decoder has the last word
        from accelerator.iceberg.manifests.avro import decode_compiled

        return decode_compiled(container, manifest)
    except ManifestError as error:
        message = error.message.replace("the manifest", f"the manifest {manifest.manifest_path}", 1)
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
