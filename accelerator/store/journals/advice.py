"""What was advised, as the store keeps it: one immutable file for each analysis, the newest counts.

Nothing that is read is trusted: a file of another shape, or with texts or numbers that can't be, is
passed over, and a line in the log `accelerator` counts it. What a DDL says is checked again by who
applies it. `docs/formats/advice.md`.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct, convert, field
from msgspec.structs import replace

from accelerator.common.records.as_dict import as_dict
from accelerator.common.records.bounds import (
    MANY_MAX,
    TEXT_MAX,
    Count,
    LongText,
    Number,
    ShortText,
    UnixMs,
)
from accelerator.errors import UNFIT, StoreError
from accelerator.store.files.entries import is_draft
from accelerator.store.files.files import StoreFiles

FOLDER = "advice/v1"
VERSION = 2
READ = (1, 2)
"""Versions that are read; the first knew cubes alone."""
KEPT = 16
"""Files that are kept; older ones go when one is written."""
_BYTES_MAX = 4 * 1024**2
_SAMPLES_MAX = 8
DDL_MAX = TEXT_MAX
"""Characters of a DDL: one of more could be written, and not read."""
_PATH = re.compile(rf"{FOLDER}/(\d{{8}}T\d{{12}})-([0-9a-f]{{16}})\.json", re.ASCII)
_FORMAT = "%Y%m%dT%H%M%S%f"
_log = logging.getLogger("accelerator")

Action = Literal[
    "CREATE CUBE",
    "ADD RELATE COLUMN",
    "CREATE INDEX",
    "OPTIMIZE",
    "DROP CUBE",
    "DROP INDEX",
    "DROP RELATE COLUMN",
]
ACTIONS: tuple[Action, ...] = get_args(Action)
"""In the order in which they're done; a relate column is there before an index on it."""
_FIRST: tuple[Action, ...] = ("CREATE CUBE", "DROP CUBE")
Id = Annotated[str, Meta(pattern=r"\Ar[0-9a-f]{12}\Z")]
Sql = Annotated[str, Meta(max_length=DDL_MAX)]
_MANY = Meta(max_length=MANY_MAX)


class Recommendation(Struct, frozen=True):
    """One thing to do. `id` follows from what it does, so the same one has the same.

    `table` is the fact's full name. `gain_ms` is what it spares in a day beside the others that are
    advised, `gain_share` its part of all that the workload takes. `bytes` and `build_s` are what it
    takes, of a drop what it frees. `statements` are finished runs that it serves, some of their
    texts `samples`. `cube_id` is that of a cube to drop, `digest` that of the meaning of what is to
    be made: a cube, an index, a relate column or an order. `shapes` of a drop are those of the
    statements that it was there for.

    Of these `cube`, `index` and `relate` name the one that it's about, the others are empty.
    `object_id` is that of an index or relate column to drop. `needs` are ids of others that come
    first: the relate column that an index is on.
    """

    id: Id
    action: Action
    table: LongText
    table_uuid: ShortText
    cube: LongText
    ddl: Sql
    reason: LongText
    gain_ms: Number = 0.0
    gain_share: Number = 0.0
    bytes: Count = 0
    build_s: Number = 0.0
    statements: Count = 0
    samples: Annotated[tuple[Sql, ...], Meta(max_length=_SAMPLES_MAX)] = ()
    cube_id: ShortText = ""
    digest: ShortText = ""
    index: LongText = ""
    relate: LongText = ""
    object_id: ShortText = ""
    needs: Annotated[tuple[Id, ...], Meta(max_length=8)] = ()
    shapes: Annotated[tuple[ShortText, ...], _MANY] = ()

    @property
    def name(self) -> str:
        """Of the cube, index or relate column that it's about; empty of an order."""
        return self.cube or self.index or self.relate


class Advice(Struct, frozen=True):
    """One analysis. `scope` is the table's uuid, empty of all tables.

    `statements` were looked at, of the last `days` of the log; `left_out` says how many gave
    nothing, by reason. `total_ms` is what the workload takes in a day, `served_ms` what of that is
    spared by the cubes that are advised or stay. `notes` are for people. `by_itself`: nobody asked.
    """

    made_ms: UnixMs
    scope: ShortText
    table: LongText
    bytes_max: Count
    build_s_max: Number
    statements: Count = 0
    days: Number = 0.0
    total_ms: Number = 0.0
    served_ms: Number = 0.0
    left_out: Annotated[Mapping[ShortText, Count], _MANY] = field(default_factory=dict)
    notes: Annotated[tuple[LongText, ...], _MANY] = ()
    recommendations: Annotated[tuple[Recommendation, ...], _MANY] = ()
    by_itself: bool = False

    @property
    def made(self) -> datetime:
        """When it was made."""
        return datetime.fromtimestamp(self.made_ms / 1000, UTC)


def encoded(advice: Advice) -> bytes:
    """The file's bytes."""
    return json.dumps({"version": VERSION, **as_dict(advice)}, ensure_ascii=True).encode()


def decoded(data: bytes) -> Advice:
    """The inverse of `encoded`; ValueError, TypeError or LookupError for anything else."""
    raw = json.loads(data)
    version = raw["version"]
    if isinstance(version, bool) or version not in READ:
        raise ValueError(f"version {str(version)[:20]}")
    advice = convert(raw, Advice)
    if version == 1 and any(one.action not in _FIRST for one in advice.recommendations):
        raise ValueError("an action that isn't known")
    return advice


def write(files: StoreFiles, advice: Advice) -> str:
    """Keeps it, and lets the oldest ones go; its path. StoreError where that can't be.

    Of what would be too large fewer samples are kept.
    """
    time = advice.made.strftime(_FORMAT)
    path = f"{FOLDER}/{time}-{secrets.token_hex(8)}.json"
    data = _fitting(advice)
    if data is None:
        raise StoreError(
            f"the advice has more than {_BYTES_MAX:,} bytes, or {MANY_MAX:,} recommendations",
            hint="analyze one table after the other",
        )
    files.create(path, data)
    files.delete(_paths(files)[KEPT:])
    return path


def _fitting(advice: Advice) -> bytes | None:
    """The file's bytes, of fewer samples where they'd be too many; None where none fit."""
    if len(advice.recommendations) > MANY_MAX:
        return None
    for most in (_SAMPLES_MAX, 1, 0):
        some = (replace(one, samples=one.samples[:most]) for one in advice.recommendations)
        data = encoded(replace(advice, recommendations=tuple(some)))
        if len(data) <= _BYTES_MAX:
            return data
    return None


def read(files: StoreFiles) -> list[Advice]:
    """All that are kept, the newest first; StoreError where the store can't be listed."""
    found, skipped = [], 0
    for path in _paths(files)[:KEPT]:
        try:
            if files.size(path) > _BYTES_MAX:
                raise ValueError("it's too large")
            found.append(decoded(files.read_range(path, 0, _BYTES_MAX)))
        except FileNotFoundError:  # another process let it go
            continue
        except (StoreError, *UNFIT) as error:
            skipped += 1
            _log.info("%s is passed over: %s", path, error)
    if skipped:
        _log.warning("%d files of advice were passed over", skipped)
    return sorted(found, key=lambda one: -one.made_ms)


def newest(
    kept: Iterable[Advice], table_uuid: str | None = None
) -> list[tuple[Advice, Recommendation]]:
    """What holds now, of one table or of all: of each table what was said of it last."""
    said: set[str] = set()
    found = []
    for advice in kept:
        own = [
            one
            for one in advice.recommendations
            if one.table_uuid not in said and table_uuid in (None, one.table_uuid)
        ]
        found += [(advice, one) for one in own]
        if not advice.scope:
            break
        said.add(advice.scope)
    return found


def _paths(files: StoreFiles) -> list[str]:
    """Those of advice, the newest first."""
    paths = [one.path for one in files.entries(FOLDER) if not is_draft(one.path)]
    return sorted((path for path in paths if _PATH.fullmatch(path)), reverse=True)
