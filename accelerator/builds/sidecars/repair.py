"""What of an index is lost: bundles and sidecars that are gone from the store, or cut.

By one listing of the index's folder, names and sizes alone. Where it can't be listed, or a record
names a file elsewhere, nothing is taken for lost. What a lost file told of is told of no more, so
that the next build makes it anew; the rest stays.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from accelerator.artifacts.sidecars.records import divided
from accelerator.builds.loop import Offer
from accelerator.errors import StoreError
from accelerator.store import IndexRecord, SegmentRecord, Store

_log = logging.getLogger("accelerator")


def without_lost(store: Store, record: IndexRecord) -> Offer:
    """Ids of the index's records that go, and those that stand in their place.

    Of a data file with a lost bundle or sidecar nothing stays, since a build makes all of it.
    """
    built = store.table(record.table_uuid).of(record.id)
    lost = _lost(store, record, built)
    again = {(file.path, file.sequence_number) for one in lost for file in one.files}
    gone, kept = [one.id for one in lost], list[SegmentRecord]()
    for one in built if again else ():
        if one.id in gone:
            continue
        keys = {(file.path, file.sequence_number) for file in one.files}
        if keys & again:
            gone.append(one.id)
            kept += divided(one, [(keys - again, one.dimensions)])
    return gone, kept


def _lost(store: Store, record: IndexRecord, built: Sequence[SegmentRecord]) -> list[SegmentRecord]:
    if not built:
        return []
    try:
        folder, there = store.artifacts_of(record.table_uuid, record.id)
    except StoreError as error:
        _log.warning("whether index %s has lost files can't be told: %s", record.name, error)
        return []
    own = (one for one in built if one.path.startswith(folder))
    return [one for one in own if there.get(one.path) != one.bytes]
