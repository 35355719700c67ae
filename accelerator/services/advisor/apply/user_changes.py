"""Notes what people do to cubes and indexes, so that the advisor never undoes it.

A name proves little: a cube comes back under another one, and another cube takes its own. So an act
is of an id and of a definition. Promise: an act that can't be noted fails no statement.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from accelerator.errors import StoreError
from accelerator.services.advisor.workload.digests import record_digest
from accelerator.store import CubeRecord, IndexRecord
from accelerator.store.journals import ledger
from accelerator.store.journals.ledger import Act, ActKind

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

_log = logging.getLogger("accelerator")


def note(services: Services, kind: ActKind, *records: CubeRecord | IndexRecord) -> None:
    """Writes down that a person does that to them; before it's done, if it ends them."""
    if not records:
        return
    now_ms = time.time_ns() // 1_000_000
    acts = [Act(o.id, kind, record_digest(services, o), o.name, now_ms) for o in records]
    try:
        ledger.change(services.store.files, lambda known: known.with_acts(acts))
    except StoreError as error:
        names = ", ".join(one.name for one in records)
        _log.warning("the advisor won't know that %s was %s: %s", names, kind, error.message)
