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
from typing import Any, Literal, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from accelerator.common.json_checks import MANY_MAX, TEXT_MAX
from accelerator.common.json_checks import count as _count
from accelerator.common.json_checks import number as _number
from accelerator.common.json_checks import some as _some
from accelerator.common.json_checks import text as _text
from accelerator.common.records import as_dict
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
_ID = re.compile(r"r[0-9a-f]{12}", re.ASCII)
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
_NEEDS_MAX = 8


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

    id: str
    action: Action
    table: str
    table_uuid: str
    cube: str
    ddl: str
    reason: str
    gain_ms: float = 0.0
    gain_share: float = 0.0
    bytes: int = 0
    build_s: float = 0.0
    statements: int = 0
    samples: tuple[str, ...] = ()
    cube_id: str = ""
    digest: str = ""
    index: str = ""
    relate: str = ""
    object_id: str = ""
    needs: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()

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

    made_ms: int
    scope: str
    table: str
    bytes_max: int
    build_s_max: float
    statements: int = 0
    days: float = 0.0
    total_ms: float = 0.0
    served_ms: float = 0.0
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    recommendations: tuple[Recommendation, ...] = ()
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
    items = _some(raw["recommendations"], list)
    read_one = _of_cubes if version == 1 else _recommendation
    return Advice(
        made_ms=_count(raw["made_ms"], 253_402_300_799_999),
        scope=_text(raw["scope"], 128),
        table=_text(raw["table"], 1024),
        bytes_max=_count(raw["bytes_max"]),
        build_s_max=_number(raw["build_s_max"]),
        statements=_count(raw["statements"]),
        days=_number(raw["days"]),
        total_ms=_number(raw["total_ms"]),
        served_ms=_number(raw["served_ms"]),
        left_out={_text(k, 128): _count(v) for k, v in _some(raw["left_out"], dict).items()},
        notes=tuple(_text(one, 1024) for one in _some(raw["notes"], list)),
        recommendations=tuple(map(read_one, items)),
        by_itself=raw.get("by_itself", False) is True,
    )


def _of_cubes(raw: Mapping[str, Any]) -> Recommendation:
    """One of the first version, which has cubes alone."""
    if raw["action"] not in _FIRST:
        raise ValueError("an action that isn't known")
    later: dict[str, Any] = {"index": "", "relate": "", "object_id": "", "needs": []}
    return _recommendation({**raw, **later})


def _recommendation(raw: Mapping[str, Any]) -> Recommendation:
    if raw["action"] not in ACTIONS:
        raise ValueError("an action that isn't known")
    if _ID.fullmatch(_text(raw["id"], 32)) is None:
        raise ValueError("an id that can't be one")
    samples = raw["samples"]
    if not isinstance(samples, list) or len(samples) > _SAMPLES_MAX:
        raise ValueError("too many samples")
    needs = _some(raw["needs"], list)
    if len(needs) > _NEEDS_MAX or any(_ID.fullmatch(_text(one, 32)) is None for one in needs):
        raise ValueError("ids that can't be")
    return Recommendation(
        id=raw["id"],
        action=raw["action"],
        table=_text(raw["table"], 1024),
        table_uuid=_text(raw["table_uuid"], 128),
        cube=_text(raw["cube"], 1024),
        ddl=_text(raw["ddl"]),
        reason=_text(raw["reason"], 1024),
        gain_ms=_number(raw["gain_ms"]),
        gain_share=_number(raw["gain_share"]),
        bytes=_count(raw["bytes"]),
        build_s=_number(raw["build_s"]),
        statements=_count(raw["statements"]),
        samples=tuple(map(_text, samples)),
        cube_id=_text(raw["cube_id"], 128),
        digest=_text(raw["digest"], 128),
        index=_text(raw["index"], 1024),
        relate=_text(raw["relate"], 1024),
        object_id=_text(raw["object_id"], 128),
        needs=tuple(needs),
        shapes=tuple(_text(one, 128) for one in _some(raw.get("shapes", []), list)),
    )


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
