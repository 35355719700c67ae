"""What was applied of advice, and by whom, as the store keeps it: a file, the newest counts.

Each change is a file of the next number with all that is known, made by a conditional put, so that
no change of another process is lost. Nothing that is read is trusted: a file that can't be one is
passed over, and the one before it counts. `docs/formats/applied.md`.
"""

from __future__ import annotations

import json
import logging
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Struct, convert, field
from msgspec.structs import replace

from accelerator.common.records.as_dict import as_dict
from accelerator.common.records.bounds import Count, LongText, Number, ShortText, UnixMs
from accelerator.errors import UNFIT, StoreConflictError, StoreError
from accelerator.store.files.files import StoreFiles
from accelerator.store.journals.medians import MedianRange

FOLDER = "applied/v1"
VERSION = 1
KEPT = 3
"""Files that are kept; older ones go when one is written."""
ENTRIES_MAX, SHAPES_MAX, ACTS_MAX = 500, 2_000, 2_000
UNPAID = "it didn't pay: "
"""What the reason of a drop begins with where that is why."""
_BYTES_MAX = 4 * 1024**2
_TRIES = 20
_PAUSE_S = 0.005
"""At most so long, and twice as long each time, is waited for others to be done."""
_PATH = re.compile(rf"{FOLDER}/(00\d{{18}})\.json", re.ASCII)
_log = logging.getLogger("accelerator")

_V = TypeVar("_V")
Key = Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
_OF_SHAPES = Meta(max_length=SHAPES_MAX)
By = Literal["auto", "hand"]
State = Literal["begun", "done", "failed"]
ActKind = Literal["dropped", "undropped", "altered"]


class AppliedAdvice(Struct, frozen=True):
    """One recommendation that was applied, as it was then; `key` is the entry's own.

    `artifact_id` is the id of the cube or index that was made or dropped. Times are Unix time in
    milliseconds. `gain_ms` a day, `bytes`, `build_s` are what was promised, `built_s` is what its
    build took. `reason` says why it was advised, of one that failed why it did. `begun` ones are
    the advisor's own: a process that ended before may have made a part of them.
    """

    key: Key
    id: Annotated[str, Meta(max_length=32)]
    action: Annotated[str, Meta(max_length=64)]
    table: LongText
    table_uuid: ShortText
    name: LongText
    by: By
    state: State
    began_ms: UnixMs
    ended_ms: UnixMs = 0
    artifact_id: ShortText = ""
    digest: ShortText = ""
    gain_ms: Number = 0.0
    bytes: Count = 0
    build_s: Number = 0.0
    built_s: Number = 0.0
    reason: LongText = ""

    @property
    def creates(self) -> bool:
        """Whether it made something, rather than dropped it."""
        return not self.drops

    @property
    def drops(self) -> bool:
        """Whether it dropped something."""
        return self.action.startswith("DROP ")


class Act(Struct, frozen=True):
    """A person's act on the cube or index of that id, by a statement of their own, and its time.

    `digest` is that of its definition, empty if that couldn't be read; `name` is the one that it
    had from then on.
    """

    id: ShortText
    kind: ActKind
    digest: ShortText
    name: LongText
    at_ms: UnixMs


class AdviceLedger(Struct, frozen=True):
    """All that was applied, the oldest first; `number` is its file's.

    `raw_ms` has what a statement took without cubes and indexes, by the log's shapes: the median of
    its runs when something was applied last. `raw_runs` has how many runs these were, and the times
    beside the median; older releases write none. `vain_ms` has when something was dropped that was
    made for a shape, and didn't pay, in Unix ms: what was asked before speaks for nothing any more.
    `acts` are what people did themselves, the oldest first: of each id and kind the last one.
    """

    number: int = 0
    entries: Annotated[tuple[AppliedAdvice, ...], Meta(max_length=ENTRIES_MAX)] = ()
    raw_ms: Annotated[Mapping[ShortText, Number], _OF_SHAPES] = field(default_factory=dict)
    vain_ms: Annotated[Mapping[ShortText, UnixMs], _OF_SHAPES] = field(default_factory=dict)
    raw_runs: Annotated[Mapping[ShortText, tuple[Count, Number, Number]], _OF_SHAPES] = field(
        default_factory=dict
    )
    acts: Annotated[tuple[Act, ...], Meta(max_length=ACTS_MAX)] = ()

    def with_entry(self, entry: AppliedAdvice) -> AdviceLedger:
        """With that entry, in the place of the one of its key if there is one.

        Of too many the oldest ones go whose work has ended.
        """
        if any(one.key == entry.key for one in self.entries):
            made = tuple(entry if one.key == entry.key else one for one in self.entries)
        else:
            made = (*self.entries, entry)
        extra = len(made) - ENTRIES_MAX
        ended = [one.key for one in made if one.state != "begun"][: max(extra, 0)]
        return replace(self, entries=tuple(one for one in made if one.key not in ended))

    def without(self, key: str) -> AdviceLedger:
        """Without the entry of that key."""
        return replace(self, entries=tuple(one for one in self.entries if one.key != key))

    def with_raw(
        self,
        raw_ms: Mapping[str, float],
        raw_runs: Mapping[str, tuple[int, float, float]] = MappingProxyType({}),
    ) -> AdviceLedger:
        """Returns the ledger with these times, beside as many earlier ones as it may have."""
        times = _newest_of(raw_ms, self.raw_ms)
        runs = _newest_of(raw_runs, {k: v for k, v in self.raw_runs.items() if k not in raw_ms})
        return replace(self, raw_ms=times, raw_runs={k: v for k, v in runs.items() if k in times})

    def before(self, shape: str) -> MedianRange | None:
        """Returns the time of a shape's statement without cubes and indexes; None if unknown."""
        middle = self.raw_ms.get(shape)
        if middle is None:
            return None
        runs, low, high = self.raw_runs.get(shape, (0, middle, middle))
        return MedianRange(runs, min(low, middle), middle, max(high, middle))

    def with_acts(self, acts: Iterable[Act]) -> AdviceLedger:
        """Returns the ledger with these acts, which replace those of the same id and kind."""
        found = {(one.id, one.kind): one for one in self.acts}
        for one in acts:
            found.pop((one.id, one.kind), None)
            found[one.id, one.kind] = one
        return replace(self, acts=tuple(found.values())[-ACTS_MAX:])

    def acted(self, *kinds: ActKind) -> dict[str, Act]:
        """The acts of these kinds by the id that they're of, of each id the last one."""
        return {one.id: one for one in self.acts if one.kind in kinds}

    def with_vain(self, shapes: Iterable[str], at_ms: int) -> AdviceLedger:
        """With these shapes, for which something was made in vain until then."""
        return replace(self, vain_ms=_newest_of(dict.fromkeys(shapes, at_ms), self.vain_ms))


def _newest_of(new: Mapping[str, _V], old: Mapping[str, _V]) -> dict[str, _V]:
    merged = {**new, **{key: value for key, value in old.items() if key not in new}}
    return dict(list(merged.items())[:SHAPES_MAX])


def encoded(ledger: AdviceLedger) -> bytes:
    """The file's bytes."""
    value = as_dict(ledger) | {"version": VERSION}
    del value["number"]
    return json.dumps(value, ensure_ascii=True, sort_keys=True).encode()


def decoded(data: bytes, file_number: int = 0) -> AdviceLedger:
    """The inverse of `encoded`; ValueError, TypeError or LookupError for anything else."""
    raw = json.loads(data)
    if raw["version"] != VERSION:
        raise ValueError(f"version {str(raw['version'])[:20]}")
    return replace(convert(raw, AdviceLedger), number=file_number)


def read(files: StoreFiles) -> AdviceLedger:
    """What was applied; StoreError where the store can't be read.

    A file that is damaged is passed over with a line in the log `accelerator`. Where none is left,
    nothing is known to be the advisor's own, which it therefore leaves alone.
    """
    for _ in range(_TRIES):
        found = _newest(files, _listed(files))
        if found is not None:
            return found
    raise StoreConflictError(
        "what was applied changes faster than it can be read", hint="try again"
    )


def change(files: StoreFiles, changed: Callable[[AdviceLedger], AdviceLedger]) -> AdviceLedger:
    """Makes the next file of what is known; `changed` is asked anew where another was first.

    It may be asked again after its change was made, by what is known then: it has to give the same.

    StoreConflictError where others always are; StoreError where the store can't be written.
    """
    for tried in range(_TRIES):
        if tried:
            time.sleep(random.uniform(0, _PAUSE_S * 2 ** min(tried, 6)))
        listed = _listed(files)  # before it's read, so that the number of any later one is taken
        following = max(listed.values(), default=0) + 1
        known = _newest(files, listed)
        if known is None:
            continue
        made = changed(known)
        path = f"{FOLDER}/{following:020d}.json"
        data = encoded(made)
        if len(data) > _BYTES_MAX:
            raise StoreError(
                f"what was applied has {len(data):,} bytes",
                hint=f"delete {FOLDER} of the store: nothing but results is lost",
            )
        if not files.create(path, data):
            continue
        listed = _listed(files)
        # One that paused may make a number that was deleted: then there is a later one.
        if max(listed.values(), default=0) != following:
            files.delete([path])
            continue
        files.delete([one for one, old in listed.items() if old <= following - KEPT])
        return replace(made, number=following)
    raise StoreConflictError(
        "what was applied couldn't be written down: others always were first",
        hint="try again",
    )


def _listed(files: StoreFiles) -> dict[str, int]:
    """The ledger's files, with their numbers."""
    found = ((path, _PATH.fullmatch(path)) for path in files.list(FOLDER))
    return {path: int(match[1]) for path, match in found if match is not None}


def _newest(files: StoreFiles, listed: Mapping[str, int]) -> AdviceLedger | None:
    """The newest of these files that can be read; None where others have let all of them go."""
    gone = False
    for path, found in sorted(listed.items(), reverse=True):
        try:
            if files.size(path) > _BYTES_MAX:
                raise ValueError("it's too large")
            return decoded(files.read_range(path, 0, _BYTES_MAX), found)
        except FileNotFoundError:
            gone = True
        except UNFIT as error:
            _log.warning("%s is passed over: %s", path, error)
    return None if gone else AdviceLedger()
